"""How a crawl follows redirects: by itself, once each, and not forever."""

from collections.abc import Callable

import pytest

from inflight.bench.conformance.crawling import crawl
from inflight.bench.conformance.servers import Exchange, Handler, Server, moved, page, response, site
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("redirects")

Serve = Callable[[Handler], Server]


def test_six_statuses_are_followed(strategy: Strategy, connection: str, serve: Serve) -> None:
    statuses = (300, 301, 302, 303, 307, 308)
    server = serve(site({f"/{status}": moved(f"/target{status}", status) for status in statuses}))

    crawled = crawl(strategy, *(f"{server.url}/{status}" for status in statuses), connection=connection)

    for status in statuses:
        found = crawled.pages[f"{server.url}/{status}"]
        assert (found.status, found.next_url) == (status, f"{server.url}/target{status}")
        assert crawled.outcomes()[f"/target{status}"] == 404


def test_other_statuses_are_not_followed(strategy: Strategy, serve: Serve) -> None:
    statuses = (200, 201, 304, 305, 306, 399, 404, 500)
    bare = b"HTTP/1.1 304 Bare\r\nLocation: /trap\r\n\r\n"
    answers = {f"/{status}": bare if status == 304 else response(status, Location="/trap") for status in statuses}
    server = serve(site(answers))

    crawled = crawl(strategy, *(server.url + path for path in answers))

    assert crawled.outcomes() == {f"/{status}": status for status in statuses}
    assert all((found.next_url, found.error) == (None, None) for found in crawled.pages.values())


LOCATIONS = {  # on page /a/b?n, for n = 0, 1, ...
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


def test_a_location_may_be_relative(strategy: Strategy, connection: str, serve: Serve) -> None:
    locations = list(LOCATIONS)

    def answer(exchange: Exchange) -> None:
        port = exchange.request.head.lower().partition("host: 127.0.0.1:")[2].partition("\r\n")[0]
        path, _, number = exchange.target.partition("?")
        is_start = path == "/a/b" and number.isdigit()
        exchange.send(moved(locations[int(number)].replace("PORT", port)) if is_start else page())

    server = serve(answer)
    starts = [f"/a/b?{n}" for n in range(len(locations))]

    crawled = crawl(strategy, *(server.url + start for start in starts), connection=connection)

    assert crawled.outcomes() == {**dict.fromkeys(starts, 302), **dict.fromkeys(LOCATIONS.values(), 200)}
    assert [crawled.pages[server.url + start].next_url for start in starts] == [
        server.url + target for target in LOCATIONS.values()
    ]


def test_a_redirect_to_nowhere_is_a_result(strategy: Strategy, serve: Serve) -> None:
    locations = (None, "", "https://127.0.0.1/trap", "mailto:trap@localhost", "http://[", "//user@h/", "http://a..b/")
    server = serve(site({f"/{n}": moved(location) for n, location in enumerate(locations)}))

    crawled = crawl(strategy, *(f"{server.url}/{n}" for n in range(len(locations))))

    assert crawled.outcomes() == {f"/{n}": 302 for n in range(len(locations))}
    assert all(found.error is None for found in crawled.pages.values())


def test_a_location_in_no_encoding_is_a_result(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({"/": b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n"}))

    crawled = crawl(strategy, f"{server.url}/")

    assert crawled.outcomes() == {"/": 302}
    assert crawled.pages[f"{server.url}/"].next_url is None


def test_a_redirect_to_a_foreign_host_is_not_followed(strategy: Strategy, serve: Serve) -> None:
    other = serve(site({}))
    server = serve(site({"/": moved(f"http://localhost:{other.port}/trap")}))

    crawled = crawl(strategy, f"{server.url}/")

    assert crawled.outcomes() == {"/": 302}
    assert crawled.pages[f"{server.url}/"].next_url == f"http://localhost:{other.port}/trap"
    assert other.observed().requests == []


def test_a_target_of_many_is_fetched_once(strategy: Strategy, connection: str, serve: Serve) -> None:
    many = {f"/{n}": moved("/target") for n in range(30)}
    server = serve(site({"/": page(*many), **many, "/target": page()}))

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=10, connection=connection)

    assert crawled.outcomes() == {"/": 200, **dict.fromkeys(many, 302), "/target": 200}
    assert server.observed().count("/target") == 1
    assert {found.next_url for url, found in crawled.pages.items() if url[-1].isdigit()} == {f"{server.url}/target"}


def test_a_target_that_is_linked_too_is_fetched_once(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({"/": page("/moved", "/target"), "/moved": moved("/target"), "/target": moved("/")}))

    assert crawl(strategy, f"{server.url}/").outcomes() == {"/": 200, "/moved": 302, "/target": 302}
    assert len(server.observed().requests) == 3


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_loop_of_redirects_is_walked_once(strategy: Strategy, length: int, serve: Serve) -> None:
    server = serve(site({f"/{n}": moved(f"/{(n + 1) % length}") for n in range(length)}))

    crawled = crawl(strategy, f"{server.url}/0")

    assert crawled.outcomes() == {f"/{n}": 302 for n in range(length)}
    assert all(found.error is None for found in crawled.pages.values())


@pytest.mark.parametrize("limit", [0, 1, 10])
def test_redirects_for_ever_end_at_the_limit(strategy: Strategy, connection: str, limit: int, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.send(moved(f"/{int(exchange.target[1:]) + 1}"))

    server = serve(answer)

    crawled = crawl(strategy, f"{server.url}/0", max_redirects=limit, connection=connection)

    errors = {url.rpartition("/")[2]: found.error for url, found in crawled.pages.items()}
    assert errors == {**{str(n): None for n in range(limit)}, str(limit): "redirect limit reached"}
    last = crawled.pages[f"{server.url}/{limit}"]
    assert (last.status, last.next_url) == (302, f"{server.url}/{limit + 1}")
    assert len(server.observed().requests) == limit + 1
