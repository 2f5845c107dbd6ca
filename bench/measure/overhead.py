"""Measure what the harness adds to each fetch inside the worker: the frontier with and without measuring.

``python -m inflight.bench.measure.overhead`` runs both kinds over the same fetches in turns, and prints nanoseconds per
fetch, each the median of its turns, and those of an iteration of an empty loop, as it is planted in a side:
``{"with_ns": ..., "without_ns": ..., "loop_ns": ...}``. Without measuring, the frontier leaves out what no crawl needs:
when a fetch was started and finished, and the current and maximum number in flight. Any crawl needs deadlines (a
clock), the number of tries (retries) and the finished fetches (the result).
"""

import gc
import json
import time
from statistics import median

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

FETCHES = 5_000
TURNS = 41


class Measured(Frontier):
    """The frontier as it is, with a method to end a fetch."""

    def end(self, fetch: Fetch) -> None:
        """Note that a fetch has ended, as ``finish`` does."""
        self._end(fetch, self._clock())


class Unmeasured(Frontier):
    """A frontier that keeps only what a crawl needs."""

    def start(self, fetch: Fetch) -> None:
        """Note that a try begins now."""
        fetch.deadline_ns = self._clock() + self._timeout_ns
        fetch.tries += 1

    def end(self, fetch: Fetch) -> None:
        """Note that a fetch has ended."""
        self._end(fetch, 1)

    def _end(self, fetch: Fetch, now: int) -> None:
        if fetch.finished_ns:
            raise RuntimeError(f"{fetch.url} was finished twice")
        fetch.finished_ns = now
        self.finished.append(fetch)


def main() -> None:
    """Print the cost of a fetch with and without measuring."""
    job = Job(roots=tuple(f"http://127.0.0.1/{n}" for n in range(FETCHES)))
    gc.disable()
    costs: dict[str, list[float]] = {"with_ns": [], "without_ns": [], "loop_ns": []}
    for _ in range(TURNS):
        costs["with_ns"].append(book(Measured(job)))
        costs["without_ns"].append(book(Unmeasured(job)))
        costs["loop_ns"].append(turn(FETCHES))
    print(json.dumps({name: median(times) for name, times in costs.items()}))


def turn(number: int) -> float:
    """Run an empty loop; return the nanoseconds per iteration."""
    begin_ns = time.perf_counter_ns()
    for _ in range(number):
        pass
    return (time.perf_counter_ns() - begin_ns) / number


def book(frontier: Measured | Unmeasured) -> float:
    """Start and end every root; return the nanoseconds per fetch."""
    fetches = frontier.roots()
    start, end = frontier.start, frontier.end
    begin_ns = time.perf_counter_ns()
    for fetch in fetches:
        start(fetch)
    for fetch in fetches:
        end(fetch)
    return (time.perf_counter_ns() - begin_ns) / len(fetches)


if __name__ == "__main__":
    main()
