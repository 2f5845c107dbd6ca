"""The numbers of fetches, connections and threads of a crawl, as seen by the server and the process."""

import threading
from collections.abc import Callable, Sequence

import psutil
import pytest

from inflight.conformance import BrokenRuleError
from inflight.conformance.crawling import watched_loop
from inflight.conformance.servers import RESET, Scripts, page
from inflight.conformance.sites import KEPT, PER_FETCH
from inflight.conformance.subject import Subject
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.kept import MAX_KEPT
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("cap")

MANY_LOOKS = 30
"""Number of looks at a blocked event loop that are no accident.

Beside two busy processes at most one look was seen in each of 108 crawls of nine clients that do not block, and 34 to
238 in those with a call that blocks for 10 ms and more than four pages.
"""
BLOCKED = "a blocking call in a coroutine?"


def many(cap: int) -> tuple[int, Scripts]:
    """Return the number of pages, and a site with many links on one page."""
    return 1 + 3 * cap, {"/": page(*(f"/{n}" for n in range(3 * cap))), "*": (("seen", 1 + cap), page())}


def one_root(cap: int) -> tuple[int, Scripts]:
    """Return the number of pages, and a site whose first pages come one by one."""
    links = [f"/{n}" for n in range(2 * cap)]
    return 2 + 2 * cap, {"/": page("/first"), "/first": page(*links), "*": (("seen", 2 + cap), page())}


def retries(cap: int) -> tuple[int, Scripts]:
    """Return the number of pages, and a site where all but the first fail."""
    return 1 + 2 * cap, {"/": page(*(f"/{n}" for n in range(2 * cap))), "*": (("seen", 1 + cap), RESET)}


def late_work(cap: int) -> tuple[int, Scripts]:
    """Return the number of pages, and a site that leaves all workers but one without work for a while."""
    early, late = [f"/early{n}" for n in range(cap)], [f"/late{n}" for n in range(2 * cap)]
    scripts = {"/": page(*early), **dict.fromkeys(early, page("/turn")), "/turn": page(*late)}
    return 2 + 3 * cap, {**scripts, "*": (("seen", 2 + 2 * cap), page())}


@pytest.mark.parametrize(
    ("scripts", "cap", "use"),
    [
        (many, 1, KEPT),
        (many, 8, PER_FETCH),
        (many, 50, KEPT),
        *((each, 10, KEPT) for each in (one_root, retries, late_work)),
    ],
)
def test_cap_is_reached_and_never_exceeded(
    subject: Subject, scripts: Callable[[int], tuple[int, Scripts]], cap: int, use: str
) -> None:
    reachable = min(cap, subject.max_in_flight)
    number, pages = scripts(reachable)
    server = subject.serve(pages)

    with watched_loop() as looks:
        crawled = subject.crawl(f"{server.url}/", max_in_flight=cap, connection=use, max_tries=2)

    observed = server.observed()
    blocked = ", ".join(place for place, number in looks.items() if number >= MANY_LOOKS)
    peak = observed.peak_in_flight
    if peak < reachable:
        why = f"{BLOCKED} (event loop blocked in {blocked})" if blocked else "a pool at its limit?"
        raise BrokenRuleError("cap", f"{reachable} in flight", f"at most {peak} of {reachable} in flight: {why}")
    if blocked:
        raise BrokenRuleError("cap", "an event loop that waits for sockets only", f"it blocked in {blocked}: {BLOCKED}")
    assert observed.peak_in_flight == reachable, "in flight"
    assert crawled.peak_in_flight == reachable, "fetches started"
    assert len(crawled.pages) == number, "pages"
    assert crawled.tries() == {
        path: 1 if isinstance(found, int) else 2 for path, found in crawled.outcomes().items()
    }, "tries of"
    if scripts is not retries:
        assert len(observed.requests) == number, "requests"
        assert observed.connections == (reachable if use == KEPT else number), "connections"


@pytest.mark.rule("connections")
@pytest.mark.parametrize("cap", [1, 4])
def test_a_crawl_of_two_origins_keeps_its_connections(subject: Subject, cap: int) -> None:
    servers = [subject.serve({"*": page()}) for _ in range(2)]
    roots = [f"{server.url}/{n}" for n in range(20) for server in servers]

    crawled = subject.crawl(*roots, max_in_flight=cap, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    for server in servers:
        assert len(server.observed().requests) == 20, "requests"
        assert server.observed().connections <= cap, "connections"


class Watched(Frontier):
    """Counts how many descriptors and threads there are at most."""

    peak_descriptors = peak_threads = 0

    def start(self, fetch: Fetch) -> None:
        super().start(fetch)
        Watched.peak_threads = max(Watched.peak_threads, threading.active_count())

    def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
        Watched.peak_descriptors = max(Watched.peak_descriptors, psutil.Process().num_fds())
        return super().finish(fetch, response)


@pytest.mark.rule("connections")
@pytest.mark.usefixtures("local_names")
def test_a_crawl_of_many_origins_does_not_keep_a_connection_to_each(subject: Subject) -> None:
    subject.needs_shared_parser("keep a connection to each origin")
    server = subject.serve({"*": page()})
    roots = [f"http://{n}.test:{server.port}/" for n in range(2 * MAX_KEPT)]
    Watched.peak_descriptors, before = 0, psutil.Process().num_fds()

    crawled = subject.crawl(*roots, frontier=Watched, max_in_flight=2, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    # The event loop has some too.
    assert Watched.peak_descriptors <= before + MAX_KEPT + 2 + 8, "descriptors"


def test_there_are_never_more_threads_than_work(subject: Subject) -> None:
    server = subject.serve({"/": page(*(f"/{n}" for n in range(9)))})
    Watched.peak_threads = 0

    crawled = subject.crawl(f"{server.url}/", frontier=Watched, max_in_flight=200)

    assert len(crawled.pages) == 10, "pages"
    assert Watched.peak_threads <= 1 + 10, "threads"
