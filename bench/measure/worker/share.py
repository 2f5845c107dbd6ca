"""A share of a swarm: one strategy crawls at each order, and reports its progress.

A user of Locust (``measure.swarm.strategy_user``) runs it as a program, a *strategy process*. Between ``crawl`` and its
answer, ``{"event": "pages", ...}`` is sent every second if there are new pages. At the end of its input the process
exits at once, even during a crawl.

``roots`` of the order describes the root URLs, of which there may be 19,000: page ``first`` and the ``count`` - 1 after
it, at the ``bases`` (addresses of its server) in turn.

A second thread makes the reports from the finished fetches of the frontier, so they add nothing to the path of a fetch.
Their CPU time is measured and is part of the outcome.
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
from collections.abc import Iterable, Sequence
from operator import attrgetter, sub
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from inflight.bench.measure.worker import Say, serve
from inflight.bench.measure.worker.crawl import StrategyPart, path_of, totals
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

REPORT_EVERY_S = 1.0
"""Interval of the reports in seconds."""
_EACH = 2048
"""Maximum number of fetches per report, which then holds the interpreter's lock for less than half a millisecond."""


class SharePart(StrategyPart):
    """Crawl repeatedly, each time with a new frontier."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        roots = root_urls(**order["roots"])
        super().__init__(order | {"job": order["job"] | {"roots": roots}}, say)
        self._reporter = Reporter(say)
        self._crawled = False

    def knobs(self) -> dict[str, Any]:
        """Return also whether gevent can have patched anything: patches of the parent process must not be inherited."""
        return super().knobs() | {"gevent": "gevent.monkey" in sys.modules, "pid": os.getpid()}

    def orders(self) -> Iterable[dict[str, Any]]:
        """Yield orders from a thread that also reports, and that ends the process at the end of the input."""
        orders = SimpleQueue[dict[str, Any]]()
        Thread(target=listen, args=(orders, self._reporter), daemon=True).start()
        return iter(orders.get, None)

    def crawl(self) -> dict[str, Any]:
        """Crawl once, and return the outcome."""
        if self._crawled:
            self.frontier = Frontier(self.job)
        self._crawled = True
        self._reporter.begin(self.frontier)
        timed = self.timed()
        self._reporter.end()
        crawled = {name: timed[name] for name in ("error", "cause", "cpu_ns")}
        return {"event": "crawled", **crawled, **outcome(self.frontier), "reporting_cpu_ns": self._reporter.cpu_ns}


def root_urls(bases: Sequence[str], first: int, count: int) -> tuple[str, ...]:
    """Return the URLs of ``count`` pages of the synthetic site from page ``first`` on, at these addresses in turn."""
    paths = (f"/p/{n}" if n else "/" for n in range(first, first + count))
    return tuple(bases[place % len(bases)] + path for place, path in enumerate(paths))


def outcome(frontier: Frontier) -> dict[str, Any]:
    """Return the counts and errors of a crawl, and a digest of its answer, which may be long."""
    fetches = frontier.finished
    pages = ((path_of(fetch), fetch.status, fetch.size) for fetch in fetches)
    return {
        **totals(frontier),
        "errors": dict(Counter(fetch.error for fetch in fetches if fetch.error is not None)),
        "digest": digest(pages),
    }


def digest(pages: Iterable[Sequence[Any]]) -> str:
    """Return a digest of pages, given as path, status and body bytes, that does not depend on their order."""
    lines = sorted(f"{path} {status} {size}\n" for path, status, size in pages)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def listen(orders: "SimpleQueue[dict[str, Any]]", reporter: "Reporter") -> None:
    """Receive orders, and report at intervals; end the process at the end of the input."""
    heard = b""
    while True:
        if select.select([0], [], [], REPORT_EVERY_S)[0]:
            data = os.read(0, 65536)
            if not data:
                os._exit(0)  # a crawl cannot be interrupted from another thread
            *lines, heard = (heard + data).split(b"\n")
            for line in lines:
                orders.put(json.loads(line))
        else:
            reporter.report()


class Reporter:
    """Report what a frontier has finished since the last report; ``cpu_ns`` is the CPU time of the reports."""

    def __init__(self, say: Say) -> None:
        self.cpu_ns = 0
        self._say = say
        self._lock = Lock()
        self._frontier: Frontier | None = None
        self._reported = 0

    def begin(self, frontier: Frontier) -> None:
        """Start to report a crawl."""
        with self._lock:
            self._frontier, self._reported, self.cpu_ns = frontier, 0, 0

    def end(self) -> None:
        """Report the rest of a crawl."""
        self.report()
        with self._lock:
            self._frontier = None

    def report(self) -> None:
        """Send the fetches that are new."""
        with self._lock:
            if self._frontier is None:
                return
            begin_ns = time.thread_time_ns()
            finished = self._frontier.finished
            while new := finished[self._reported : self._reported + _EACH]:
                self._say({"event": "pages", **fetch_figures(new)})
                self._reported += len(new)
            self.cpu_ns += time.thread_time_ns() - begin_ns


_STARTED, _FINISHED, _SIZE = attrgetter("started_ns"), attrgetter("finished_ns"), attrgetter("size")
"""Read a field of a fetch without Python code."""


def fetch_figures(fetches: Sequence[Fetch]) -> dict[str, Any]:
    """Return service times (base64 of native 64-bit nanoseconds), bytes and errors, with as little work as possible."""
    service_ns = array("q", map(sub, map(_FINISHED, fetches), map(_STARTED, fetches)))
    failed = Counter(str(fetch.error) for fetch in fetches if fetch.status is None)
    return {
        "service_ns": base64.b64encode(service_ns.tobytes()).decode(),
        "bytes": sum(map(_SIZE, fetches)),
        "failed": dict(failed),
    }


def service_times_ns(message: dict[str, Any]) -> "array[int]":
    """Return the service times of a report in nanoseconds, including those of failed fetches."""
    times = array("q")
    times.frombytes(base64.b64decode(message["service_ns"]))
    return times


if __name__ == "__main__":
    serve(SharePart)
