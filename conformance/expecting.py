"""What is right for a strategy: by its HTTP stack, and but for the limits of its library."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from inflight import strategies
from inflight.conformance import BrokenRuleError, exceptions
from inflight.conformance.crawling import SHORT_NS, Crawled, Outcome, Row, crawl, kind_of
from inflight.conformance.servers import Server
from inflight.strategies.base import Strategy

LIMITS = pytest.StashKey[dict[str, str]]()
"""The limits that showed in a test: path -> reason."""
UNNEEDED = "is listed in exceptions.py as a limit of the library"


class Expect:
    """Compare what a crawl found at each path with what is right for the strategy; limits of its library must show."""

    def __init__(self, strategy: Strategy, name: str, serve: Callable[..., Server], node: pytest.Item) -> None:
        described = strategies.describe(name)
        self.limits = exceptions.limits_of(name)
        self._is_own = described.stack == "own"
        self._is_strict = name in exceptions.LIMITS
        self._strategy, self._serve, self._node = strategy, serve, node
        self.server: Server
        """That of the last table."""

    def __call__(self, observed: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Compare, path by path; an expected value may be a ``Row``."""
        found, right = dict(observed), {}
        for path, value in expected.items():
            row = value if isinstance(value, Row) else Row((), value)
            allowed = list(dict.fromkeys([row.expected, *(row.own if self._is_own else ())]))
            is_right = path in found and found[path] in allowed
            if path not in self.limits:
                right[path] = found[path] if is_right else " or ".join(map(str, allowed)) if allowed[1:] else allowed[0]
            elif not is_right:
                self._node.stash.setdefault(LIMITS, {})[path] = self.limits[path]
            elif self._is_strict and row.expected != "timeout":
                pytest.fail(f"{path} is right, but {UNNEEDED}: {self.limits[path]}")
        assert {path: value for path, value in found.items() if path not in self.limits} == right

    def limited(self, paths: Iterable[str]) -> list[str]:
        """Return the paths at which the library has a limit."""
        return [path for path in paths if path in self.limits]

    def crawl(self, rows: Mapping[str, Row], **options: Any) -> Crawled:
        """Crawl all paths of a table at once, but those with limits alone and with a short deadline; and compare."""
        server = self.server = self._serve({path: row.script for path, row in rows.items()})
        limited = self.limited(rows)
        roots = [server.url + path for path in rows if path not in limited]
        crawled = crawl(self._strategy, *roots, **options)
        observed: dict[str, Outcome] = {path: found for path, found in crawled.outcomes().items() if path in rows}
        observed |= {path: self.alone(server.url + path, **options) for path in limited}
        self(observed, rows)
        return crawled

    def alone(self, url: str, **options: Any) -> Outcome:
        """Crawl only this URL, at which the library has a limit; return the outcome, or the class of an exception."""
        try:
            pages = crawl(self._strategy, url, **{**options, "timeout_ns": SHORT_NS}).pages
        except BrokenRuleError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever the library raises)
            return type(error).__name__
        return kind_of(pages[url].error) or pages[url].status
