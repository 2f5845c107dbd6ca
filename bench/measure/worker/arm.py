"""An arm: one strategy crawls an endless site until the site has no more links.

The harness orders ``crawl``, and at the end ``report``, with the measuring windows of the arm.
"""

import signal
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

from inflight.bench.measure.worker import Say, has_lock, serve
from inflight.bench.measure.worker.crawl import StrategyPart, path_of, totals, worked
from inflight.strategies.core import record
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

if TYPE_CHECKING:
    from inflight.strategies.core.lag import Timer

FREED_BYTES = 1024 * 1024
"""Size of the block that each worker allocates and frees before it crawls."""
LAP_AT, PAGE_AT = 3, 9
"""Positions in a path of an endless site at which the numbers of the lap and of the page begin: /p/100000017."""


class ArmPart(StrategyPart):
    """One endless crawl and its report."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        if order["planted_loops"] is not None:
            plant(self.frontier, order["planted_loops"])
        self._busy_threads = order.get("busy_threads", 0)
        self._lag = order.get("lag")
        self._timer: Timer | None = None
        age_allocator()

    def crawl(self) -> dict[str, Any]:
        """Crawl until the site has no more links."""
        with computing(self._busy_threads), self._lagging():
            timed = self.timed()
        return {"event": "crawled", "error": timed["error"], "cause": timed["cause"]}

    def report(self, windows: Sequence[Sequence[int]], rest_ns: Sequence[int]) -> dict[str, Any]:
        """Return the counts of the whole crawl and of its windows; after each of these, the crawl came to rest."""
        late_ns = [] if self._timer is None else self._timer.lateness_ns(windows, rest_ns)
        late = {"lag": record.summary(late_ns)} if late_ns else {}
        counted = outcome(self.frontier, windows)
        return {"event": "outcome", "gil": has_lock(), **counted, **worked(self.job), **late}

    @contextmanager
    def _lagging(self) -> Iterator[None]:
        """Have a timer fire in the crawl, if the lag is asked for."""
        if self._lag is None:
            yield
            return
        from inflight.bench.measure.worker import lag  # strategies of older revisions have no timer

        with lag.timed(self.frontier, self._lag) as self._timer:
            yield


@contextmanager
def computing(threads: int) -> Iterator[None]:
    """Have this many threads compute in the block, until it ends or the process receives SIGUSR1."""
    if not threads:
        yield
        return
    stopped = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: stopped.set())
    busy = [threading.Thread(target=compute, args=(stopped,), daemon=True) for _ in range(threads)]
    for thread in busy:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in busy:
            thread.join()


def compute(stopped: threading.Event) -> None:
    """Run bytecode that never waits and never gives the global lock up by itself."""
    while not stopped.is_set():
        for _ in range(10_000):
            pass


def age_allocator() -> None:
    """Put the C allocator into the state of a process that has run for a while.

    Until a large block is freed, glibc maps every block of 128 KiB or more separately, with three page faults each
    (mallopt(3), M_MMAP_THRESHOLD: freeing a block raises the threshold to its size). asyncio reads into 256 KiB, so its
    pages would cost 1.7 times as much until a table of the frontier grows in mid-crawl.
    """
    bytes(FREED_BYTES)


def outcome(frontier: Frontier, windows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the counts of the whole crawl, its answer, and the service times of the fetches within the windows."""
    fetches = frontier.finished
    timed = within(fetches, windows)
    return {
        "windows": [seen(fetches, begin, end) for begin, end in windows],
        **totals(frontier),
        "service": record.summary([fetch.finished_ns - fetch.started_ns for fetch in timed]),
        "answer": laps(fetches),
    }


def laps(fetches: Iterable[Fetch]) -> list[list[Any]]:
    """Return the answer in short: [path of the first, number of laps, status, size] for each page.

    A page that came twice, missed a lap or differed between laps has a line for each fetch.
    """
    of_page: dict[str, list[Fetch]] = {}
    for fetch in fetches:
        of_page.setdefault(path_of(fetch)[PAGE_AT:], []).append(fetch)
    lines: list[list[Any]] = []
    for own in of_page.values():
        own.sort(key=lambda fetch: fetch.url)
        runs = [own] if _are_alike(own) else [[fetch] for fetch in own]
        lines += [[path_of(run[0]), len(run), run[0].status, run[0].size] for run in runs]
    return lines


def _are_alike(own: Sequence[Fetch]) -> bool:
    """Return whether these fetches of one page are from consecutive laps and have the same result."""
    if len({(fetch.status, fetch.size) for fetch in own}) > 1:
        return False
    numbers = [path_of(fetch)[LAP_AT:PAGE_AT] for fetch in own]
    return all(number.isdigit() for number in numbers) and list(map(int, numbers)) == list(
        range(int(numbers[0]), int(numbers[0]) + len(numbers))
    )


def seen(fetches: Sequence[Fetch], begin_ns: int, end_ns: int) -> list[int]:
    """Return the number of fetches finished in a window, and the times of the first and the last of them."""
    own = fetches[_place(fetches, begin_ns) : _place(fetches, end_ns)]
    return [len(own), own[0].finished_ns, own[-1].finished_ns] if own else [0, begin_ns, begin_ns]


def _place(fetches: Sequence[Fetch], at_ns: int) -> int:
    """Return how many fetches had finished at a time; they are in the order in which they finished."""
    return bisect_left(fetches, at_ns, key=lambda fetch: fetch.finished_ns)


def within(fetches: Iterable[Fetch], windows: Sequence[Sequence[int]]) -> list[Fetch]:
    """Return the fetches that started and finished within one window (nanoseconds, ascending)."""
    begins = [begin for begin, _ in windows]
    found = []
    for fetch in fetches:
        place = bisect_right(begins, fetch.started_ns) - 1
        if place >= 0 and fetch.finished_ns <= windows[place][1]:
            found.append(fetch)
    return found


def plant(frontier: Frontier, loops: int) -> None:
    """Make each page cost more CPU time: the known slowdown with which ``inflight selftest`` tests its detection.

    The work is a loop of fixed length at the call with which every model hands over a response, so it is the same in
    all.
    """
    finish = frontier.finish

    def slower(*arguments: Any) -> Any:
        for _ in repeat(None, loops):  # a range makes integers beyond 256, at twice the cost of those below
            pass
        return finish(*arguments)

    frontier.finish = slower  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    serve(ArmPart)
