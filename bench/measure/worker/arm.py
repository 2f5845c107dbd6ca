"""An arm of a block: one strategy crawls an endless site until the site has no more links.

``measure.blocks.block`` runs it as a program, one for each arm, and orders ``crawl``, and at the end ``report``, with
the measuring windows of the arm (the parts of its turns that count) and its slices (the turns). Times are nanoseconds
of the monotonic clock, which both processes share. ``finished`` keeps and counts the fetches meanwhile.
"""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

from inflight.bench.measure.worker import Say, has_lock, serve
from inflight.bench.measure.worker.crawl import StrategyPart, worked
from inflight.bench.measure.worker.finished import Finished
from inflight.strategies.core import record
from inflight.strategies.core.frontier import Frontier

if TYPE_CHECKING:
    from inflight.strategies.core.lag import Timer

FREED_BYTES = 1024 * 1024
"""Size of the block of memory that each worker allocates and frees before it crawls."""


class ArmPart(StrategyPart):
    """One endless crawl and its report."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        if order["planted_loops"] is not None:
            plant(self.frontier, order["planted_loops"])
        self._busy_threads = order["busy_threads"]
        self._lag = order["lag"]
        self._timer: Timer | None = None
        self._finished = Finished(self.frontier, len(self.job.roots), sampled=order["sampled"])
        self.frontier.finished = self._finished  # type: ignore[assignment]
        age_allocator()

    def crawl(self) -> dict[str, Any]:
        """Crawl until the site has no more links."""
        with computing(self._busy_threads), self._lagging():
            timed = self.timed()
        return {"event": "crawled", "error": timed["error"], "cause": timed["cause"]}

    def report(self, windows: Sequence[Sequence[int]], slices: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the counts of the whole crawl and of its windows. A slice ends when the crawl has come to rest."""
        rest_ns = [end_ns for _, end_ns in slices]
        late_ns = self._timer.lateness_ns(windows, rest_ns) if self._timer else []
        late = {"lag": record.summary(late_ns)} if late_ns else {}
        self._finished.end()
        return {
            "event": "outcome",
            "gil": has_lock(),
            "windows": [self._finished.figures_between(begin_ns, end_ns) for begin_ns, end_ns in windows],
            **self._finished.totals(),
            "peak_in_flight": self.frontier.peak_in_flight,
            "hole_ns": self._finished.hole_ns(slices),
            "usual_ns": record.summary(list(self._finished.open_ns(slices))).get("p90_ns", 0),
            "service": record.summary(list(self._finished.service_ns(windows))),
            "answer": self._finished.answer(),
            **worked(self.job),
            **late,
        }

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


def plant(frontier: Frontier, loops: int) -> None:
    """Make each page cost more CPU time: the known slowdown with which ``inflight selftest`` tests its detection.

    ``loops`` is the number of iterations of an empty loop. The work is a loop of fixed length at the call with which
    every model hands over a response, so it is the same in all.
    """
    finish = frontier.finish

    def slower(*arguments: Any) -> Any:
        """Loop, and then finish."""
        for _ in repeat(None, loops):  # a range makes integers beyond 256, at twice the cost of those below
            pass
        return finish(*arguments)

    frontier.finish = slower  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    serve(ArmPart)
