"""A crawl: one strategy does one job, and the worker measures it. The base of all workers in which a strategy crawls.

``measure.crawl`` runs it as a program, and ``serve`` calls its methods in this order::

    __init__   imports the strategy      --> ready, with ``knobs``
    crawl      crawls between two readings of the clocks and of getrusage(2)  --> crawled
    (at rest)  the harness reads the memory of the process from outside
    report     computes all figures      --> outcome

The frontier (``strategies.core``) has the start and the end of each fetch, from which the figures are computed after
the crawl, so that nothing is computed while it is measured. ``arm``, ``counts``, ``share`` and ``crawl_worker`` extend
``StrategyPart``.
"""

import errno
import resource
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

from inflight import strategies
from inflight.bench.measure.worker import Say, WorkerPart, has_lock, knobs_of_interpreter, serve
from inflight.strategies.base import Job, Strategy
from inflight.strategies.core import record
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

BIN_NS = 10_000_000
"""Length of a bin of the timeline."""
SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL)
"""Errors of the system that say that a limit was reached."""
NO_THREAD = "can't start new thread"
"""Message of CPython's RuntimeError for a failed pthread_create(3), which has no errno."""


class StrategyPart(WorkerPart):
    """A part in which one strategy crawls."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self.job = Job.from_dict(order["job"])
        try:
            self.strategy = strategies.load(order["strategy"])
        except strategies.StrategyError as error:
            sys.exit(str(error))  # without a traceback: the harness quotes the last line
        self.frontier = Frontier(self.job)
        self._name = order["strategy"]

    def knobs(self) -> dict[str, Any]:
        """Return also the strategy and the versions of its requirements."""
        knobs = {"strategy": self._name, **knobs_of_interpreter(), "versions": _versions(self.strategy)}
        return knobs | _openssl(self.job)

    def timed(self) -> dict[str, Any]:
        """Crawl between two readings of the clocks; return the readings, and the exception if one was raised."""
        error = cause = None
        cpu_before_ns, begin_ns = _cpu_ns(), time.perf_counter_ns()
        try:
            self.strategy.crawl(self.job, self.frontier)
        except BaseException as bug:  # noqa: BLE001  (reported with its traceback; ends the trial)
            traceback.print_exc()
            error, cause = last_line(bug), cause_of(bug)
        end_ns, cpu_ns = time.perf_counter_ns(), _cpu_ns() - cpu_before_ns
        return {"error": error, "cause": cause, "begin_ns": begin_ns, "end_ns": end_ns, "cpu_ns": cpu_ns}


def _cpu_ns() -> int:
    """Return the CPU time of this process and of its children that have ended, as a model's have after its crawl."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + round((ended.ru_utime + ended.ru_stime) * 1e9)


class CrawlPart(StrategyPart):
    """One crawl and its report."""

    def crawl(self) -> dict[str, Any]:
        """Crawl once."""
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        self._timed = self.timed()
        self._after = resource.getrusage(resource.RUSAGE_SELF)
        return {"event": "crawled", "error": self._timed["error"], "cause": self._timed["cause"]}

    def report(self) -> dict[str, Any]:
        """Return the measurements and the answer."""
        return {
            "event": "outcome",
            "gil": has_lock(),
            **_usage(self._before, self._after, self._timed["cpu_ns"]),
            **_outcome(self.job, self.frontier, self._timed["begin_ns"], self._timed["end_ns"]),
            **worked(self.job),
        }


def _versions(strategy: Strategy) -> dict[str, str]:
    """Return the versions of what a strategy requires; of one from another place, also the checksum of its file."""
    files: dict[str, str] = getattr(strategy, "FILES", {})
    if not strategy.REQUIRES:
        return files
    from importlib.metadata import version

    return files | {name: version(name) for name in strategy.REQUIRES}


def _openssl(job: Job) -> dict[str, str]:
    """Return the version of the OpenSSL of this interpreter for a crawl of https; libraries may have another."""
    if not job.roots[0].startswith("https:"):
        return {}
    from ssl import OPENSSL_VERSION

    return {"openssl": OPENSSL_VERSION}


def worked(job: Job) -> dict[str, int]:
    """Return the CPU work per page, its cost, and the number of pages with it; nothing where there is none.

    The cost is measured after the crawl, in the same process: the same code runs up to a tenth faster or slower with
    another layout of memory, and the layout differs before the crawl.
    """
    if not job.work_units:
        return {}
    from inflight.strategies.core.work import (  # missing in strategies of older revisions
        consumed_pages,
        cost_ns,
    )

    return {"work_units": job.work_units, "work_ns": cost_ns(job.work_units), "worked_pages": consumed_pages()}


def _usage(before: resource.struct_rusage, after: resource.struct_rusage, cpu_ns: int) -> dict[str, int]:
    """Return the CPU time of the crawl as user and system time.

    ``cpu_ns`` is the sum of both, as ``timed`` has measured it: exact (CLOCK_PROCESS_CPUTIME_ID), of all threads and
    children, including those that have ended. ``before`` and ``after`` are readings of getrusage(2) just outside of
    that span, of this process without children. They may lag behind by a timer tick, so only the ratio of user to
    system time is taken from them. If neither has grown by a tick, all is user time.
    """
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    user_ns = round(cpu_ns * user / (user + system)) if user + system else cpu_ns
    return {"cpu_user_ns": user_ns, "cpu_system_ns": cpu_ns - user_ns}


def _outcome(job: Job, frontier: Frontier, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the figures of the finished fetches, and the answer, which is checked but not stored.

    ``begin_ns`` and ``end_ns`` are the readings of the clock around the crawl. A fetch is *warm* if it started after
    the first ``max_in_flight`` ones; a crawl of no more fetches has none.
    """
    fetches = frontier.finished
    spans_ns = [(fetch.started_ns, fetch.finished_ns) for fetch in fetches]
    full_ns = record.time_when_full([started for started, _ in spans_ns], job.max_in_flight)
    warm = [fetch for fetch in fetches if full_ns is not None and fetch.started_ns > full_ns]
    return {
        "makespan_ns": end_ns - begin_ns,
        "hole_ns": longest_pause_ns([finished for _, finished in spans_ns], (begin_ns, end_ns)),
        "peak_in_flight": frontier.peak_in_flight,
        "tries": sum(fetch.tries for fetch in fetches),
        "service": record.summary([finished - started for started, finished in spans_ns]),
        "response": record.summary([fetch.finished_ns - fetch.admitted_ns for fetch in fetches]),
        "steady_service": record.summary([fetch.finished_ns - fetch.started_ns for fetch in warm]),
        "steady": record.steady_state(spans_ns, job.max_in_flight),
        "timeline": record.timeline(spans_ns, begin_ns, BIN_NS),
        "answer": [[path_of(fetch), fetch.status, fetch.size, fetch.error] for fetch in fetches],
    }


def longest_pause_ns(ends_ns: Iterable[int], span_ns: Sequence[int]) -> int:
    """Return the longest time between two of these moments: the ends of fetches, and both ends of a span."""
    return max(after_ns - before_ns for before_ns, after_ns in pairwise(sorted([*span_ns, *ends_ns])))


def totals(frontier: Frontier) -> dict[str, int]:
    """Return the counts of a whole crawl."""
    fetches = frontier.finished
    return {
        "pages": len(fetches),
        "failed_pages": sum(fetch.status is None for fetch in fetches),
        "tries": sum(fetch.tries for fetch in fetches),
        "peak_in_flight": frontier.peak_in_flight,
    }


def path_of(fetch: Fetch) -> str:
    """Return the path of a fetch, which begins with a slash."""
    return fetch.url[len(fetch.origin.prefix) :]


def last_line(bug: BaseException) -> str:
    """Return an exception as one line; of a group, its first member."""
    return " ".join(traceback.format_exception_only(_first(bug))[-1].split())


def cause_of(bug: BaseException) -> Literal["limit"] | None:
    """Return whether a limit of this machine caused an exception; of a group, its first member."""
    bug = _first(bug)
    by_errno = isinstance(bug, OSError) and bug.errno in SHORT_OF
    return "limit" if by_errno or isinstance(bug, MemoryError) or str(bug) == NO_THREAD else None


def _first(bug: BaseException) -> BaseException:
    """Return an exception, or the first member of a group."""
    while isinstance(bug, BaseExceptionGroup):
        bug = bug.exceptions[0]
    return bug


if __name__ == "__main__":
    serve(CrawlPart)
