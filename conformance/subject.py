"""A strategy under test: crawls with it, and what is right for it, by its HTTP stack and the limits of its library."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from inflight import strategies
from inflight.conformance import BrokenRuleError, exceptions
from inflight.conformance.crawling import Crawled, crawl, kind_of
from inflight.conformance.servers import Server, Servers
from inflight.conformance.sites import KEPT, PER_FETCH, RETRIED, SHORT_NS, Outcome, Row, Site
from inflight.strategies.core.page import Page
from inflight.strategies.core.work import consumed_pages

LIMITS = pytest.StashKey[dict[str, str]]()
"""The limits that showed in a test: path -> reason."""


class Subject:
    """The strategy of a test, and the servers that it crawls."""

    def __init__(self, name: str, servers: Servers, node: pytest.Item) -> None:
        described = strategies.describe(name)
        self.name, self.servers, self._node = name, servers, node
        self.strategy = strategies.load(name)
        self.is_shared = described.stack == "shared"
        self.requires = set(described.requires)
        self.max_in_flight = described.most_in_flight or 10**6
        """Maximum number of fetches that the model can keep in flight."""
        self.limits = exceptions.limits_of(name)
        self.leaks: list[str] = []
        """What the crawls have left behind."""
        self.tls_lack = described.tls_lack
        self.serve: Callable[..., Server] = servers.serve
        self.serve_tls: Callable[..., Server] = servers.serve_tls

    def crawl(self, *roots: str, **options: Any) -> Crawled:
        """Crawl from the roots, and check what holds for every crawl."""
        return crawl(self.strategy, *roots, leaks=self.leaks, **options)

    def needs_shared_parser(self, why: str) -> None:
        """Skip the test for a client with an HTTP stack of its own."""
        if not self.is_shared:
            pytest.skip(f"a client with an HTTP stack of its own may {why}")

    def needs_reach(self, what: str) -> None:
        """Skip the test for a strategy that does this in another process or interpreter."""
        if where := exceptions.OUT_OF_REACH.get(self.name):
            pytest.skip(f"it {what} {where}, where a test cannot change it")

    def needs_tls(self) -> None:
        """Skip the test for a strategy that cannot crawl https."""
        if self.tls_lack:
            pytest.skip(f"it {self.tls_lack}")

    def limited(self, paths: Iterable[str]) -> list[str]:
        """Return the paths at which the library has a limit."""
        return [path for path in paths if path in self.limits]

    def compare(self, observed: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Compare path by path, but for the limits of the library, which must show; a value may be a ``Row``."""
        right = {}
        for path, value in expected.items():
            row = value if isinstance(value, Row) else Row(b"", value)
            allowed = list(dict.fromkeys([row.expected, *(() if self.is_shared else row.own)]))
            is_right = path in observed and observed[path] in allowed
            if path not in self.limits:
                right[path] = (
                    observed[path] if is_right else " or ".join(map(str, allowed)) if allowed[1:] else allowed[0]
                )
            elif not is_right:
                self._node.stash.setdefault(LIMITS, {})[path] = self.limits[path]
            elif self.name in exceptions.LIMITS and row.expected != "timeout":
                reason = self.limits[path]
                pytest.fail(f"{path} is right, but is listed in exceptions.py as a limit of the library: {reason}")
        assert {path: value for path, value in observed.items() if path not in self.limits} == right

    def crawl_alone(self, url: str, **options: Any) -> Outcome:
        """Crawl only this URL, at which the library has a limit; return the outcome, or the class of an exception."""
        try:
            pages = self.crawl(url, **{**options, "timeout_ns": SHORT_NS}).pages
        except BrokenRuleError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever the library raises)
            return type(error).__name__
        return kind_of(pages[url].error) or pages[url].status

    def check_site(self, site: Site, connection: str) -> None:
        """Crawl a site, and check all that it says."""
        rows = site.rows()
        server = self.serve({})
        port = str(server.port).encode()
        scripts = {path: row.script for path, row in rows.items() if row.script}
        server.play(
            {path: each.replace(b"PORT", port) if isinstance(each, bytes) else each for path, each in scripts.items()}
        )
        limited = self.limited(scripts) if site.roots is None else []
        roots = [path for path in scripts if path not in limited] if site.roots is None else site.roots
        options = {
            "max_tries": 4,
            "connection": connection,
            **site.options,
            **({} if self.is_shared else site.own_options),
        }

        work_before = consumed_pages()
        crawled = self.crawl(*(server.url + path for path in roots), **options)
        responses = sum(page.status is not None for page in crawled.pages.values())
        consumed = consumed_pages() - work_before - 1
        assert consumed == (responses if "work_units" in options else 0), "calls of consume"

        observed, pages = server.observed(), crawled.by_path()
        alone = {path: self.crawl_alone(server.url + path, **options) for path in limited}
        self.compare(crawled.outcomes() | alone, rows)
        fields = {path: values for path, values in site.fields.items() if path not in self.limits}
        assert {path: _fields(pages[path], server, values) for path, values in fields.items()} == fields
        assert max((len(page.error or "") for page in pages.values()), default=0) <= 200, "length of an error"
        assert [request.target for request in observed.requests if "cookie:" in request.head.lower()] == [], "cookies"

        tries = {path: options["max_tries"] if found in RETRIED else 1 for path, found in crawled.outcomes().items()}
        is_smooth = not site.recovers and not any(page.error for page in pages.values())
        # Others may send a request again on another connection, which counts as no try.
        is_exact = self.is_shared and connection == PER_FETCH
        if is_exact and site.recovers:
            tries = dict.fromkeys(rows, options["max_tries"])
        if is_exact or not site.recovers:
            assert crawled.tries() == tries, "tries of"
        if is_exact or is_smooth:
            assert len(observed.requests) == sum(tries.values()), "requests"
            assert {path: observed.targets[path] for path in tries if path not in self.limits} == {
                path: number for path, number in tries.items() if path not in self.limits
            }, "requests of"
            if connection == PER_FETCH:
                assert observed.connections == len(observed.requests), "connections"
        if connection == KEPT and site.max_connections is not None:
            assert observed.connections <= site.max_connections, "connections"


def _fields(page: Page, server: Server, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields of a record, without the address of the server."""
    values = {name: getattr(page, name) for name in names}
    return {name: value.removeprefix(server.url) if isinstance(value, str) else value for name, value in values.items()}
