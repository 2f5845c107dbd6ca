"""A crawl: one strategy does one job, and everything about it is measured.

The harness says ``crawl``, reads memory when the answer has come (the worker is at rest then), and says ``report``.
"""

import errno
import gc
import resource
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from inflight import strategies
from inflight.bench.measure.worker import Part, Say, knobs_of_interpreter, serve
from inflight.strategies.base import Job
from inflight.strategies.core import record
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

BIN_NS = 10_000_000
SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL)
NO_THREAD = "can't start new thread"
"""What CPython says of a failed pthread_create(3), as a plain RuntimeError without the errno."""


class StrategyPart(Part):
    """A part in which one strategy crawls."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self.job = Job.from_dict(order["job"])
        self.strategy = strategies.load(order["strategy"])
        self.frontier = Frontier(self.job)
        self._name = order["strategy"]

    def knobs(self) -> dict[str, Any]:
        """Return also which strategy crawls here, and with what."""
        return {
            "strategy": self._name,
            **knobs_of_interpreter(),
            "selector": _selector(),
            "versions": _versions(self.strategy.REQUIRES),
        }

    def timed(self) -> dict[str, Any]:
        """Crawl between two readings of the clocks; return what was raised, if anything was, and the readings."""
        error = cause = None
        cpu_before_ns, begin_ns = time.process_time_ns(), time.perf_counter_ns()
        try:
            self.strategy.crawl(self.job, self.frontier)
        except BaseException as bug:  # noqa: BLE001  (it is reported, with its traceback, and ends the trial)
            traceback.print_exc()
            error, cause = last_line(bug), cause_of(bug)
        end_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns() - cpu_before_ns
        return {"error": error, "cause": cause, "begin_ns": begin_ns, "end_ns": end_ns, "cpu_ns": cpu_ns}


class Crawl(StrategyPart):
    """One crawl, and its report."""

    def crawl(self) -> dict[str, Any]:
        """Let the strategy do its job."""
        self._pauses = GcPauses()
        with self._pauses.watched():
            self._before = resource.getrusage(resource.RUSAGE_SELF)
            self._timed = self.timed()
            self._after = resource.getrusage(resource.RUSAGE_SELF)
        return {"event": "crawled", "error": self._timed["error"], "cause": self._timed["cause"]}

    def report(self) -> dict[str, Any]:
        """Return what was measured, and the answer."""
        return {
            "event": "outcome",
            **_usage(self._before, self._after, self._timed["cpu_ns"]),
            **self._pauses.totals(),
            **_outcome(self.job, self.frontier, self._timed["begin_ns"], self._timed["end_ns"]),
            **worked(self.job),
        }


def _selector() -> str:
    """Name the selector that this platform's default would be."""
    import selectors

    return selectors.DefaultSelector.__name__


def _versions(requires: tuple[str, ...]) -> dict[str, str]:
    if not requires:
        return {}
    from importlib.metadata import version

    return {name: version(name) for name in requires}


def worked(job: Job) -> dict[str, int]:
    """Say how much CPU work a page was, what it costs, and for how many pages it was done; nothing without any.

    It is measured behind the crawl, by a process that is as the crawl has left it: the same code runs up to a tenth
    faster or slower by where in memory things lie, and before the crawl they lie elsewhere.
    """
    if not job.work_units:
        return {}
    from inflight.strategies.core.work import (  # strategies of an older revision have no such module
        consumed_pages,
        cost_ns,
    )

    return {"work_units": job.work_units, "work_ns": cost_ns(job.work_units), "worked_pages": consumed_pages()}


class GcPauses:
    """Count the collections of the garbage collector, and how long they stopped the process."""

    def __init__(self) -> None:
        self.pauses_ns: list[int] = []
        self._began_ns = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count while this lasts."""
        gc.callbacks.append(self._note)
        try:
            yield
        finally:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began_ns = time.perf_counter_ns()
        else:
            self.pauses_ns.append(time.perf_counter_ns() - self._began_ns)

    def totals(self) -> dict[str, int]:
        """Return how many, how long together, and the longest."""
        return {
            "gc_collections": len(self.pauses_ns),
            "gc_total_ns": sum(self.pauses_ns),
            "gc_max_ns": max(self.pauses_ns, default=0),
        }


def _usage(before: resource.struct_rusage, after: resource.struct_rusage, cpu_ns: int) -> dict[str, int]:
    """Return what the crawl used, of all threads, also of those that have ended (getrusage(2)).

    The CPU time is that of CLOCK_PROCESS_CPUTIME_ID, which is exact at any moment; getrusage may lag behind by a timer
    tick, and is asked only for how it divides into user and system time.
    """
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    user_ns = round(cpu_ns * user / (user + system)) if user + system else cpu_ns
    return {
        "cpu_user_ns": user_ns,
        "cpu_system_ns": cpu_ns - user_ns,
        "voluntary_switches": after.ru_nvcsw - before.ru_nvcsw,
        "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
    }


def _outcome(job: Job, frontier: Frontier, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Reduce the finished fetches to what a row keeps, and the answer, which is checked and then thrown away."""
    fetches = frontier.finished
    spans_ns = [(fetch.started_ns, fetch.finished_ns) for fetch in fetches]
    full_ns = record.time_when_full([started for started, _ in spans_ns], job.max_in_flight)
    warm = [fetch for fetch in fetches if full_ns is not None and fetch.started_ns > full_ns]
    return {
        "makespan_ns": end_ns - begin_ns,
        "peak_in_flight": frontier.peak_in_flight,
        "tries": sum(fetch.tries for fetch in fetches),
        "service": record.summary([finished - started for started, finished in spans_ns]),
        "response": record.summary([fetch.finished_ns - fetch.admitted_ns for fetch in fetches]),
        "queueing": record.summary([fetch.started_ns - fetch.admitted_ns for fetch in fetches]),
        "steady_service": record.summary([fetch.finished_ns - fetch.started_ns for fetch in warm]),
        "steady_response": record.summary([fetch.finished_ns - fetch.admitted_ns for fetch in warm]),
        "timeline": record.timeline(spans_ns, begin_ns, BIN_NS),
        "warm_up_ns": None if full_ns is None else full_ns - begin_ns,
        "steady": record.steady_state(spans_ns, job.max_in_flight),
        "answer": [[path_of(fetch), fetch.status, fetch.size, fetch.error] for fetch in fetches],
    }


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
    """Say in one line what went wrong; of a group, its first member."""
    return " ".join(traceback.format_exception_only(_first(bug))[-1].split())


def cause_of(bug: BaseException) -> Literal["limit"] | None:
    """Say whether a limit of this machine is what went wrong; of a group, its first member did."""
    bug = _first(bug)
    by_errno = isinstance(bug, OSError) and bug.errno in SHORT_OF
    return "limit" if by_errno or isinstance(bug, MemoryError) or str(bug) == NO_THREAD else None


def _first(bug: BaseException) -> BaseException:
    while isinstance(bug, BaseExceptionGroup):
        bug = bug.exceptions[0]
    return bug


if __name__ == "__main__":
    serve(Crawl)
