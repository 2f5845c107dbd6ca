"""A process that does the same crawl again and again, a turn each time it is told: what pytest-benchmark calls.

It is ``bench.measure.worker`` in all but its number of crawls, and talks with the controller in the same way::

    controller                                        worker
    {"strategy", "job", "lifetime_s", ...}
                                                      {"event": "ready", "knobs": {...}}
    {"do": "crawl"}
                                                      {"event": "crawled", "error": null, "cpu_ns", "makespan_ns", ...}
    {"do": "answer"}
                                                      {"event": "answer", "answer": [[path, status, size], ...]}
    end of input                                      exits

Garbage of the turn before is collected before the clocks are read, so that every turn begins alike.
"""

import gc
import json
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import strategies
from bench.measure.worker import knobs_of_strategy, last_line, take_order
from strategies.base import Job
from strategies.core.frontier import Frontier


def main() -> None:
    """Crawl as often as standard input asks for it."""
    say, order = take_order()
    job = Job.from_dict(order["job"])
    strategy = strategies.load(order["strategy"])
    say({"event": "ready", "knobs": knobs_of_strategy(order["strategy"], strategy.REQUIRES)})
    frontier = None
    for line in sys.stdin:
        if json.loads(line)["do"] == "answer":
            assert frontier is not None
            say({"event": "answer", "answer": answer(frontier)})
            continue
        frontier = None
        gc.collect()
        frontier = Frontier(job)
        turn = crawled(partial(strategy.crawl, job, frontier))
        say({"event": "crawled", **turn, **counts(frontier)})


def crawled(crawl: Callable[[], None]) -> dict[str, Any]:
    """Crawl once between two readings of the clocks; return the readings, and what was raised, if anything was."""
    error = None
    cpu_before_ns, begin_ns = time.process_time_ns(), time.perf_counter_ns()
    try:
        crawl()
    except BaseException as bug:  # noqa: BLE001  (it is reported, with its traceback, and ends the benchmark)
        traceback.print_exc()
        error = last_line(bug)
    end_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns() - cpu_before_ns
    return {"error": error, "cpu_ns": cpu_ns, "makespan_ns": end_ns - begin_ns}


def counts(frontier: Frontier) -> dict[str, int]:
    """Return how many pages there are, how many of them failed, how many tries it took, and the most in flight."""
    return {
        "pages": len(frontier.finished),
        "failed_pages": sum(fetch.status is None for fetch in frontier.finished),
        "tries": sum(fetch.tries for fetch in frontier.finished),
        "peak_in_flight": frontier.peak_in_flight,
    }


def answer(frontier: Frontier) -> list[list[Any]]:
    """Return what the last crawl brought: path, status (null for a failure) and body bytes of every page."""
    return [[fetch.url[len(fetch.origin.prefix) :], fetch.status, fetch.size] for fetch in frontier.finished]


if __name__ == "__main__":
    main()
