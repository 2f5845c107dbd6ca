"""The numbers of fetches, connections and threads of a crawl, as seen by the server and the process."""

import threading
from collections.abc import Callable, Sequence

import psutil
import pytest

from inflight.conformance.crawling import crawl
from inflight.conformance.servers import RESET, Server, page, seen
from inflight.strategies.base import Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.kept import MAX_KEPT
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("cap")

Serve = Callable[..., Server]


@pytest.mark.parametrize(("cap", "use"), [(1, "keep-alive"), (8, "per-fetch"), (50, "keep-alive")])
def test_cap_is_reached_and_never_exceeded(
    strategy: Strategy, most_in_flight: int, cap: int, use: str, serve: Serve
) -> None:
    reachable = min(cap, most_in_flight)
    server = serve({"*": (seen(reachable), page())})
    roots = [f"{server.url}/{n}" for n in range(3 * cap)]

    crawled = crawl(strategy, *roots, max_in_flight=cap, connection=use)

    observed = server.observed()
    assert observed.peak_in_flight == crawled.peak_in_flight == reachable
    assert len(observed.requests) == len(roots)
    assert observed.connections == (reachable if use == "keep-alive" else len(roots))


def test_cap_is_reached_from_one_root(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = 10
    reachable = min(cap, most_in_flight)
    server = serve(
        {
            "/": page("/first"),
            "/first": page(*(f"/{n}" for n in range(2 * cap))),
            "*": (seen(2 + reachable), page()),
        }
    )

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=cap)

    assert server.observed().peak_in_flight == crawled.peak_in_flight == reachable
    assert len(crawled.pages) == 2 + 2 * cap


def test_cap_is_not_exceeded_by_retries(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = 10
    reachable = min(cap, most_in_flight)
    server = serve({"*": (seen(reachable), RESET)})
    roots = [f"{server.url}/{n}" for n in range(2 * cap)]

    crawled = crawl(strategy, *roots, max_in_flight=cap, max_tries=2)

    assert server.observed().peak_in_flight == crawled.peak_in_flight == reachable
    assert set(crawled.tries().values()) == {2}


def test_late_work_is_taken_by_all_workers(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = min(6, most_in_flight)
    early, late = [f"/early{n}" for n in range(cap)], [f"/late{n}" for n in range(2 * cap)]
    server = serve(
        {
            **dict.fromkeys(early, page("/turn")),  # all others have nothing to do from here on
            "/turn": page(*late),
            "*": (seen(cap + 1 + cap), page()),
        }
    )

    crawled = crawl(strategy, *(server.url + path for path in early), max_in_flight=cap)

    assert crawled.outcomes() == dict.fromkeys([*early, "/turn", *late], 200)
    assert server.observed().peak_in_flight == cap
    assert server.observed().connections <= cap


@pytest.mark.rule("connections")
def test_kept_connections_are_used_again(strategy: Strategy, serve: Serve) -> None:
    server = serve({f"/{n}": page(f"/{n + 1}", f"/{n + 50}") for n in range(100)})

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=3)

    observed = server.observed()
    assert len(observed.requests) == len(crawled.pages) == 150
    assert observed.connections <= 3


@pytest.mark.rule("connections")
def test_per_fetch_mode_opens_a_connection_for_each_fetch(strategy: Strategy, serve: Serve) -> None:
    server = serve({f"/{n}": page(f"/{n + 1}", f"/{n + 10}") for n in range(30)})

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=3, connection="per-fetch")

    observed = server.observed()
    assert observed.connections == len(observed.requests) == len(crawled.pages)
    assert all("\r\nconnection: close\r\n" in request.head.lower() for request in observed.requests)


@pytest.mark.rule("connections")
@pytest.mark.parametrize("cap", [1, 4])
def test_a_crawl_of_two_origins_keeps_its_connections(strategy: Strategy, cap: int, serve: Serve) -> None:
    servers = [serve({"*": page()}) for _ in range(2)]
    roots = [f"{server.url}/{n}" for n in range(20) for server in servers]

    crawled = crawl(strategy, *roots, max_in_flight=cap, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    for server in servers:
        assert len(server.observed().requests) == 20
        assert server.observed().connections <= cap


class Watched(Frontier):
    """Notes how many descriptors are open at most."""

    peak_descriptors = 0

    def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
        Watched.peak_descriptors = max(Watched.peak_descriptors, psutil.Process().num_fds())
        return super().finish(fetch, response)


@pytest.mark.rule("connections")
@pytest.mark.usefixtures("local_names")
def test_a_crawl_of_many_origins_does_not_keep_a_connection_to_each(
    strategy: Strategy, is_shared: bool, serve: Serve
) -> None:
    if not is_shared:
        pytest.skip("a client with an HTTP stack of its own may keep a connection to each origin")
    server = serve({"*": page()})
    roots = [f"http://{n}.test:{server.port}/" for n in range(2 * MAX_KEPT)]
    Watched.peak_descriptors, before = 0, psutil.Process().num_fds()

    crawled = crawl(strategy, *roots, frontier=Watched, max_in_flight=2, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    assert Watched.peak_descriptors <= before + MAX_KEPT + 2 + 8, "the event loop has some too"


class CountingThreads(Frontier):
    """A frontier that notes how many threads there are whenever a fetch starts."""

    most = 0

    def start(self, fetch: Fetch) -> None:
        super().start(fetch)
        type(self).most = max(self.most, threading.active_count())


def test_there_are_never_more_threads_than_work(strategy: Strategy, serve: Serve) -> None:
    class Counting(CountingThreads):
        pass

    server = serve({"/": page(*(f"/{n}" for n in range(9)))})

    crawled = crawl(strategy, f"{server.url}/", frontier=Counting, max_in_flight=200)

    assert len(crawled.pages) == 10
    assert 1 <= Counting.most <= 1 + 10


@pytest.mark.rule("ends")
def test_a_cap_far_beyond_the_work_does_no_harm(strategy: Strategy, serve: Serve) -> None:
    server = serve({"/": page("/x"), "/x": page()})

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=2_000)

    assert crawled.outcomes() == {"/": 200, "/x": 200}
    assert server.observed().connections <= 2
