"""How a crawl follows redirects: by itself, once each, and not forever."""

from collections.abc import Callable

import pytest

from inflight.conformance.crawling import crawl
from inflight.conformance.expecting import Expect
from inflight.conformance.servers import Server, moved, page, response
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("redirects")

Serve = Callable[..., Server]


def test_six_statuses_are_followed_and_no_others(strategy: Strategy, serve: Serve) -> None:
    followed, others = (300, 301, 302, 303, 307, 308), (200, 201, 305, 306, 399, 404, 500)
    server = serve(
        {
            **{f"/{status}": moved(f"/target{status}", status) for status in followed},
            **{f"/{status}": response(status, Location="/trap") for status in others},
            "/304": b"HTTP/1.1 304 Bare\r\nLocation: /trap\r\n\r\n",
        }
    )
    starts = {f"/{status}": status for status in (*followed, *others, 304)}
    targets = {f"/{status}": f"{server.url}/target{status}" for status in followed}

    crawled = crawl(strategy, *(server.url + path for path in starts))

    assert crawled.outcomes() == {**starts, **{f"/target{status}": 404 for status in followed}}
    assert {path: crawled.pages[server.url + path].next_url for path in starts} == {
        path: targets.get(path) for path in starts
    }
    assert {found.error for found in crawled.pages.values()} == {None}


LOCATIONS = {  # of page /a/b?n, for n = 0, 1, ...
    "/x": "/x",
    "y": "/a/y",
    "../z": "/z",
    "?q": "/a/b?q",
    "f#y": "/a/f",
    "x y": "/a/x%20y",
    "/%41%7e": "/%41%7e",
    "/é": "/%C3%A9",
    "http://127.0.0.1:PORT/http": "/http",
    "//127.0.0.1:PORT/slashes": "/slashes",
}


def test_a_location_may_be_relative(strategy: Strategy, serve: Serve) -> None:
    server = serve()
    starts = {f"/a/b?{n}": location for n, location in enumerate(LOCATIONS)}
    redirects = {start: moved(location.replace("PORT", str(server.port))) for start, location in starts.items()}
    server.play({**redirects, "*": page()})

    crawled = crawl(strategy, *(server.url + start for start in starts))

    assert crawled.outcomes() == {**dict.fromkeys(starts, 302), **dict.fromkeys(LOCATIONS.values(), 200)}
    assert {start: crawled.pages[server.url + start].next_url for start in starts} == {
        start: server.url + LOCATIONS[location] for start, location in starts.items()
    }


NOWHERE = {
    "/without-location": moved(None),
    "/empty": moved(""),
    "/https": moved("https://127.0.0.1/trap"),
    "/mailto": moved("mailto:trap@localhost"),
    "/half-address": moved("http://["),
    "/user": moved("//user@h/"),
    "/two-dots": moved("http://a..b/"),
    "/no-encoding": b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n",
}


def test_a_redirect_to_nowhere_is_a_result(strategy: Strategy, expect: Expect, serve: Serve) -> None:
    server = serve(NOWHERE)

    crawled = crawl(strategy, *(server.url + path for path in NOWHERE))

    expect(crawled.outcomes(), dict.fromkeys(NOWHERE, 302))
    assert crawled.pages[f"{server.url}/no-encoding"].next_url is None


def test_a_redirect_to_a_foreign_host_is_not_followed(strategy: Strategy, serve: Serve) -> None:
    other = serve()
    server = serve({"/": moved(f"http://localhost:{other.port}/trap")})

    crawled = crawl(strategy, f"{server.url}/")

    assert crawled.outcomes() == {"/": 302}
    assert crawled.pages[f"{server.url}/"].next_url == f"http://localhost:{other.port}/trap"
    assert other.observed().requests == []


def test_a_target_of_many_is_fetched_once(strategy: Strategy, connection: str, serve: Serve) -> None:
    many = {f"/{n}": moved("/target") for n in range(30)}
    server = serve({"/": page(*many), **many, "/target": page()})

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=10, connection=connection)

    assert crawled.outcomes() == {"/": 200, **dict.fromkeys(many, 302), "/target": 200}
    assert server.observed().targets["/target"] == 1
    assert {found.next_url for url, found in crawled.pages.items() if url[-1].isdigit()} == {f"{server.url}/target"}


def test_a_loop_of_redirects_is_walked_once(strategy: Strategy, serve: Serve) -> None:
    loops = {f"/{length}/{n}": moved(f"/{length}/{(n + 1) % length}") for length in (1, 2, 5) for n in range(length)}
    server = serve({"/": page("/moved", "/1/0", "/2/0", "/5/0", "/5/2"), "/moved": moved("/"), **loops})

    crawled = crawl(strategy, f"{server.url}/")

    assert crawled.outcomes() == {"/": 200, "/moved": 302, **dict.fromkeys(loops, 302)}
    assert {found.error for found in crawled.pages.values()} == {None}
    assert len(server.observed().requests) == len(crawled.pages)


@pytest.mark.parametrize("limit", [0, 3])
def test_redirects_for_ever_end_at_the_limit(strategy: Strategy, limit: int, serve: Serve) -> None:
    server = serve({f"/{n}": moved(f"/{n + 1}") for n in range(limit + 2)})

    crawled = crawl(strategy, f"{server.url}/0", max_redirects=limit)

    errors = {url.rpartition("/")[2]: found.error for url, found in crawled.pages.items()}
    assert errors == {**{str(n): None for n in range(limit)}, str(limit): "redirect limit reached"}
    last = crawled.pages[f"{server.url}/{limit}"]
    assert (last.status, last.next_url) == (302, f"{server.url}/{limit + 1}")
    assert len(server.observed().requests) == limit + 1
