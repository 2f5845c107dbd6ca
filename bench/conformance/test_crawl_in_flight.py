"""The numbers of fetches, connections and threads of a crawl, as seen by the server and the process."""

import threading
from collections.abc import Callable

import pytest

from inflight.bench.conformance.crawling import crawl
from inflight.bench.conformance.servers import Exchange, Handler, Server, page, site
from inflight.strategies.base import Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("cap")

Serve = Callable[[Handler], Server]
CAPS = (1, 8, 50)


@pytest.mark.parametrize("cap", CAPS)
def test_cap_is_reached_and_never_exceeded(
    strategy: Strategy, most_in_flight: int, cap: int, connection: str, serve: Serve
) -> None:
    reachable = min(cap, most_in_flight)

    def answer(exchange: Exchange) -> None:
        exchange.wait_at_gate(reachable)
        exchange.send(page())

    server = serve(answer)
    roots = [f"{server.url}/{n}" for n in range(3 * cap)]

    crawled = crawl(strategy, *roots, max_in_flight=cap, connection=connection)

    observed = server.observed()
    assert observed.peak_in_flight == crawled.peak_in_flight == reachable
    assert len(observed.requests) == len(roots)
    if connection == "keep-alive":
        assert observed.connections == reachable
    else:
        assert observed.connections == len(roots)


def test_cap_is_reached_from_one_root(strategy: Strategy, most_in_flight: int, connection: str, serve: Serve) -> None:
    cap = 10
    reachable = min(cap, most_in_flight)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/":
            exchange.send(page("/first"))
        elif exchange.target == "/first":
            exchange.send(page(*(f"/{n}" for n in range(2 * cap))))
        else:
            exchange.wait_at_gate(reachable)
            exchange.send(page())

    server = serve(answer)

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=cap, connection=connection)

    assert server.observed().peak_in_flight == crawled.peak_in_flight == reachable
    assert len(crawled.pages) == 2 + 2 * cap


def test_cap_is_not_exceeded_by_retries(strategy: Strategy, most_in_flight: int, connection: str, serve: Serve) -> None:
    cap = 10
    reachable = min(cap, most_in_flight)

    def answer(exchange: Exchange) -> None:
        exchange.wait_at_gate(reachable)
        exchange.reset()

    server = serve(answer)
    roots = [f"{server.url}/{n}" for n in range(2 * cap)]

    crawled = crawl(strategy, *roots, max_in_flight=cap, connection=connection, max_tries=2)

    assert server.observed().peak_in_flight == crawled.peak_in_flight == reachable
    assert all(found.tries == 2 for found in crawled.pages.values())


def test_late_work_is_taken_by_all_workers(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = min(6, most_in_flight)

    def answer(exchange: Exchange) -> None:
        if exchange.target.startswith("/early"):
            exchange.send(page("/turn"))  # all others have nothing to do from here on
        elif exchange.target == "/turn":
            exchange.send(page(*(f"/late{n}" for n in range(2 * cap))))
        else:
            exchange.wait_at_gate(cap)
            exchange.send(page())

    server = serve(answer)

    crawled = crawl(strategy, *(f"{server.url}/early{n}" for n in range(cap)), max_in_flight=cap)

    assert set(crawled.outcomes().values()) == {200}
    assert server.observed().peak_in_flight == cap
    assert server.observed().connections <= cap


@pytest.mark.rule("connections")
def test_kept_connections_are_used_again(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({f"/{n}": page(f"/{n + 1}", f"/{n + 50}") for n in range(200)}))

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=3)

    observed = server.observed()
    assert len(observed.requests) == len(crawled.pages) > 100
    assert observed.connections <= 3


@pytest.mark.rule("connections")
def test_per_fetch_mode_opens_a_connection_for_each_fetch(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({f"/{n}": page(f"/{n + 1}", f"/{n + 10}") for n in range(30)}))

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=3, connection="per-fetch")

    observed = server.observed()
    assert observed.connections == len(observed.requests) == len(crawled.pages)
    assert all("\r\nconnection: close\r\n" in request.head.lower() for request in observed.requests)


class CountingThreads(Frontier):
    """A frontier that notes how many threads there are whenever a fetch starts."""

    most = 0

    def start(self, fetch: Fetch) -> None:
        super().start(fetch)
        type(self).most = max(self.most, threading.active_count())


def test_there_are_never_more_threads_than_work(strategy: Strategy, serve: Serve) -> None:
    class Counting(CountingThreads):
        pass

    server = serve(site({"/": page(*(f"/{n}" for n in range(9)))}))

    crawled = crawl(strategy, f"{server.url}/", frontier=Counting, max_in_flight=200)

    assert len(crawled.pages) == 10
    assert 1 <= Counting.most <= 1 + 10


@pytest.mark.rule("ends")
def test_a_cap_far_beyond_the_work_does_no_harm(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({"/": page("/x"), "/x": page()}))

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=2_000)

    assert crawled.outcomes() == {"/": 200, "/x": 200}
    assert server.observed().connections <= 2
