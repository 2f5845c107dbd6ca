"""The strategy process of a swarm: the worker of a trial, which says meanwhile what it has fetched.

It talks with the Locust user that has started it as ``bench.measure.worker`` does with the controller::

    Locust user                             strategy process
    {"strategy", "job", "roots", "lifetime_s"}
                                            {"event": "ready", "knobs": {...}}
    {"do": "crawl"}
                                            {"event": "pages", ...}        every second while there are new ones
                                            {"event": "crawled", ...}      at rest; "crawl" begins another one
    end of input                            exits at once, also in mid-crawl: nobody is left to answer to

``roots`` says how to make the root URLs, for there may be 19,000: page ``first`` and the ``count`` - 1 after it, at the
``bases`` in turn.

Its reports are made by a second thread, from what the frontier has finished: nothing is added to the path of a fetch.
What they cost is measured and part of the outcome.
"""

import base64
import hashlib
import json
import os
import select
import sys
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter, sub
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import strategies
from bench.measure.turn_worker import answer, counts, crawled
from bench.measure.worker import knobs_of_strategy, take_order
from strategies.base import Job
from strategies.core.frontier import Frontier
from strategies.core.page import Fetch

REPORT_EVERY_S = 1.0
_EACH = 2048
"""So many fetches are reported at a time: a report holds the interpreter's lock for less than half a millisecond."""

Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Crawl as often as standard input asks for it."""
    say, order = take_order()
    say = _one_at_a_time(say)
    job = Job.from_dict(order["job"] | {"roots": root_urls(**order["roots"])})
    strategy = strategies.load(order["strategy"])
    frontier: Frontier | None = Frontier(job)
    say({"event": "ready", "knobs": knobs_of_strategy(order["strategy"], strategy.REQUIRES) | own_knobs()})
    reporter, orders = Reporter(say), SimpleQueue[dict[str, Any]]()
    Thread(target=listen, args=(orders, reporter), daemon=True).start()
    while True:
        orders.get()
        frontier = frontier or Frontier(job)
        reporter.begin(frontier)
        turn = crawled(partial(strategy.crawl, job, frontier))
        reporter.end()
        say({"event": "crawled", **turn, **outcome(frontier), "reporting_cpu_ns": reporter.cpu_ns})
        frontier = None


def own_knobs() -> dict[str, Any]:
    """Say whether this process was patched: its parent is, by gevent, and must not have passed that on."""
    return {"gevent": "gevent" in sys.modules, "pid": os.getpid()}


def root_urls(bases: Sequence[str], first: int, count: int) -> tuple[str, ...]:
    """Return the URLs of so many pages of the synthetic site, at these addresses in turn."""
    paths = (f"/p/{n}" if n else "/" for n in range(first, first + count))
    return tuple(bases[place % len(bases)] + path for place, path in enumerate(paths))


def outcome(frontier: Frontier) -> dict[str, Any]:
    """Return what is left of a crawl: counts, errors, and a digest of the answer, which may be long."""
    errors = Counter(fetch.error for fetch in frontier.finished if fetch.error is not None)
    return counts(frontier) | {"errors": dict(errors), "digest": digest(answer(frontier))}


def digest(pages: Iterable[Sequence[Any]]) -> str:
    """Return one text for a set of pages, given as path, status and body bytes; the same whatever their order."""
    lines = sorted(f"{path} {status} {size}\n" for path, status, size in pages)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def listen(orders: "SimpleQueue[dict[str, Any]]", reporter: "Reporter") -> None:
    """Take orders, and report now and then; end the process when there is nobody left to give any."""
    heard = b""
    while True:
        if select.select([0], [], [], REPORT_EVERY_S)[0]:
            data = os.read(0, 65536)
            if not data:
                os._exit(0)  # a crawl cannot be interrupted from another thread, and nothing of it is wanted any more
            *lines, heard = (heard + data).split(b"\n")
            for line in lines:
                orders.put(json.loads(line))
        else:
            reporter.report()


class Reporter:
    """Say what a frontier has finished since the last report; ``cpu_ns`` is what that has cost in this crawl."""

    def __init__(self, say: Say) -> None:
        self.cpu_ns = 0
        self._say = say
        self._lock = Lock()
        self._frontier: Frontier | None = None
        self._reported = 0

    def begin(self, frontier: Frontier) -> None:
        """Report this crawl from now on."""
        with self._lock:
            self._frontier, self._reported, self.cpu_ns = frontier, 0, 0

    def end(self) -> None:
        """Report the rest of it."""
        self.report()
        with self._lock:
            self._frontier = None

    def report(self) -> None:
        """Say what is new."""
        with self._lock:
            if self._frontier is None:
                return
            begin_ns = time.thread_time_ns()
            finished = self._frontier.finished
            while new := finished[self._reported : self._reported + _EACH]:
                self._say({"event": "pages", **of_fetches(new)})
                self._reported += len(new)
            self.cpu_ns += time.thread_time_ns() - begin_ns


_STARTED, _FINISHED, _SIZE = attrgetter("started_ns"), attrgetter("finished_ns"), attrgetter("size")


def of_fetches(fetches: Sequence[Fetch]) -> dict[str, Any]:
    """Return service times (base64 of native 64-bit nanoseconds), bytes and errors, with as little work as may be."""
    service_ns = array("q", map(sub, map(_FINISHED, fetches), map(_STARTED, fetches)))
    failed = Counter(str(fetch.error) for fetch in fetches if fetch.status is None)
    return {
        "service_ns": base64.b64encode(service_ns.tobytes()).decode(),
        "bytes": sum(map(_SIZE, fetches)),
        "failed": dict(failed),
    }


def service_times_ns(message: dict[str, Any]) -> "array[int]":
    """Return the service times of a report, in nanoseconds; those of failed fetches are among them."""
    times = array("q")
    times.frombytes(base64.b64decode(message["service_ns"]))
    return times


def _one_at_a_time(say: Say) -> Say:
    """Return a way to speak that two threads can use."""
    lock = Lock()

    def safely(message: dict[str, Any]) -> None:
        with lock:
            say(message)

    return safely


if __name__ == "__main__":
    main()
