"""Checks of exercise 5. Open sockets are counted in this process, connections at the local site."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from types import ModuleType
from typing import Any

from lab import Wrong, descriptors, local_site, need

from inflight.bench.measure.server import Server
from inflight.fake_server.site import PageSpec, Site, SiteConfig

MANY = 20
SITE = Site(SiteConfig(pages=200, links=1, missing=0.2, redirects=0.2, faults=(("reset-mid", 0.3),)))
SPECS = [SITE.page(number) for number in range(1, SITE.config.pages)]
GOOD = [spec for spec in SPECS if spec.kind == "html" and spec.fault is None]
MISSING = [spec for spec in SPECS if spec.kind == "missing"][:MANY]
REDIRECTS = [spec for spec in SPECS if spec.location in {good.path for good in GOOD}][:MANY]
BROKEN = [spec for spec in SPECS if spec.fault][:MANY]


def pages_are_right(answer: ModuleType) -> None:
    """The client returns a page, None for a page that does not exist, and the target of a redirect."""
    with _client(answer) as (client, _):
        for spec in (GOOD[0], GOOD[1]):
            need(_get(client, spec) == SITE.body(spec.number), f"get returned a wrong body for {spec.path}.")
    with _client(answer) as (client, _):
        need(_get(client, MISSING[0]) is None, "get did not return None for a page that does not exist.")
    with _client(answer) as (client, _):
        need(_get(client, REDIRECTS[0]) == _body_behind(REDIRECTS[0]), "get did not follow a redirect to its page.")


def connections_are_kept(answer: ModuleType) -> None:
    """Twenty good pages take one connection."""
    with _client(answer) as (client, site):
        for spec in GOOD[:MANY]:
            _get(client, spec)
        opened = site.stats()["total_connections"]
    need(
        opened == 1,
        f"{MANY + 1} pages took {opened} connections. Closing each one leaks nothing, but a new connection costs a "
        "round trip per page. Keep the connections that are usable.",
    )


def missing_pages_leak_nothing(answer: ModuleType) -> None:
    """Pages that do not exist leave no socket open."""
    with _client(answer) as (client, _):
        _leaks_nothing(lambda: [_get(client, spec) for spec in MISSING], "that do not exist")
        _get(client, GOOD[0])


def redirects_leak_nothing(answer: ModuleType) -> None:
    """Redirects leave no socket open."""
    with _client(answer) as (client, _):
        _leaks_nothing(lambda: [_get(client, spec) for spec in REDIRECTS], "that redirect")
        need(_get(client, REDIRECTS[0]) == _body_behind(REDIRECTS[0]), "The last redirect did not lead to its page.")


def broken_answers_leak_nothing(answer: ModuleType) -> None:
    """Answers that break off raise an error, leave no socket open, and do not affect later pages."""
    with _client(answer) as (client, _):
        _leaks_nothing(lambda: [_breaks_off(client, spec) for spec in BROKEN], "whose answers broke off")


def _leaks_nothing(get_pages: Callable[[], Any], which: str) -> None:
    """Raise Wrong if more sockets are open, or more connections remembered, after some pages than before them."""
    before = descriptors(), _connections()
    get_pages()
    sockets, remembered = descriptors() - before[0], _connections() - before[1]
    more = f"{sockets} more sockets are" if sockets > 1 else "1 more socket is"
    need(
        sockets <= 0,
        f"After {MANY} pages {which}, {more} open than before. "
        + (
            "Where does `get` end for such a page, and what happens to the connection there?"
            if sockets >= MANY // 2
            else "That is not one per page. Was a new connection opened while the old one was not yet back in `idle`?"
        ),
    )
    need(
        remembered <= 0,
        f"After {MANY} pages {which}, their sockets are closed, but the client still holds {remembered} connections. "
        "That is a leak of memory: where are they stored?",
    )


def _breaks_off(client: Any, spec: PageSpec) -> None:
    """Ask for a page that breaks off, then for a good one. Raises Wrong unless only the first one is an error."""
    with suppress(OSError, HTTPException):
        page = client.get(spec.path)
        raise Wrong(f"The answer of {spec.path} breaks off. get must raise an error, but it returned {page!r:.40}.")
    try:
        page = client.get(GOOD[0].path)
    except (OSError, HTTPException) as error:
        page = error
    need(
        page == SITE.body(GOOD[0].number),
        f"After a page that broke off, a good page gave {page!r:.60}. Was the broken connection used again?",
    )


def _get(client: Any, spec: PageSpec) -> Any:
    """Return the page. Raises Wrong for an error, which no page has that is asked for here."""
    try:
        return client.get(spec.path)
    except (OSError, HTTPException) as error:
        message = f"get({spec.path!r}) failed with {type(error).__name__}. A connection can be used again only after "
        raise Wrong(f"{message}its answer was read to the end: was the body of the previous page read?") from error


def _body_behind(spec: PageSpec) -> bytes:
    number = SITE.number(spec.location or "")
    assert number is not None
    return SITE.body(number)


def _connections() -> int:
    gc.collect()
    return sum(isinstance(one, HTTPConnection) for one in gc.get_objects())


@contextmanager
def _client(answer: ModuleType) -> Iterator[tuple[Any, Server]]:
    """Make a client for a new local site. It has fetched one page, so that it has a connection to use again."""
    with local_site(SITE.config) as site:
        client = answer.Client("127.0.0.1", site.port)
        _get(client, GOOD[0])
        yield client, site
        client.close()
