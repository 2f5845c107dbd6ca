"""Checks that several kinds of trials share, and how checks are run: each judges some figures and gives a verdict.

Each mechanism that measures lists its own ``CHECKS`` by name: ``validity`` (crawls), ``blocks.run``,
``swarm.checks``, ``swarm.open_loop``, ``counts``, ``bare``. At the end of a trial it calls ``judge``, whose results
become ``checks`` of the row. Rows that fail a check are kept and shown, but excluded from conclusions. A check takes
the trial and the ``Observation``; it starts nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from inflight.bench import units
from inflight.bench.measure.trial import Observation
from inflight.bench.rows.files import Check

MS = 1_000_000
"""Nanoseconds of a millisecond."""
SPARE_NS = 1_000_000_000
"""Time without a finished fetch that any machine may add to the waits of the site."""
SLOWEST = 20
"""The greatest slowdown by others on the same cores that is still load."""


class Judgement(NamedTuple):
    """What a check finds."""

    verdict: Literal["passed", "failed", "not applicable"]
    figures: str
    outside: Literal[True] | None = None
    """Whether the surroundings failed, and not the strategy."""


Judge = Callable[[Any, Observation], Judgement]
"""A check, of a trial and of what was seen in it."""


def judge(checks: Mapping[str, Judge], trial: object, seen: Observation) -> tuple[Check, ...]:
    """Run every check of a list."""
    return tuple(Check(name, *check(trial, seen)) for name, check in checks.items())


def passed_if(fine: bool, figures: str) -> Judgement:
    """Return the verdict of a check with its figures: passed if ``fine``, else failed."""
    return Judgement("passed" if fine else "failed", figures)


def not_applicable(why: str) -> Judgement:
    """Return that a check does not apply, and why."""
    return Judgement("not applicable", why)


def answer(seen: Observation, pages: int) -> Judgement:
    """Check that pages, statuses and sizes are those of the seeded site."""
    return passed_if(seen.wrong is None, seen.wrong or f"{pages} pages as the site has them")


def failures(failed: int, planned: int = 0) -> Judgement:
    """Check that exactly the pages failed that the site makes fail; both are numbers of pages."""
    return passed_if(failed == planned, f"{failed} pages failed, the site makes {planned} fail")


def counted_alike(sent: int, received: int) -> Judgement:
    """Check that the server received exactly the tries that the client counted: no response was lost."""
    return passed_if(sent == received, f"client sent {sent}, server received {received}")


def drops(_trial: object, seen: Observation) -> Judgement:
    """Check that no connection was lost in a full listen queue (TcpExt ListenOverflows and ListenDrops)."""
    if (count := seen.measured.get("listen_drops")) is None:
        return not_applicable("this kernel does not count them")
    return passed_if(not count, f"{count} in /proc/net/netstat during the trial")


def settings(_trial: object, seen: Observation) -> Judgement:
    """Check that the worker ran with the settings that were chosen for it."""
    wrong = [
        f"{name}: wanted {value!r}, got {seen.knobs.get(name)!r}"
        for name, value in seen.wanted.items()
        if seen.knobs.get(name) != value
    ]
    return passed_if(not wrong, "; ".join(wrong) or ", ".join(sorted(seen.wanted)))


def work(seen: Observation, pages: int, cpu_ns: int, tolerance: float) -> Judgement:
    """Check that the CPU work was done for this many pages, and that its cost is within the tolerance.

    ``cpu_ns`` is the work per page that was asked for, ``tolerance`` the share by which its cost may differ from it.
    """
    if not cpu_ns:
        return not_applicable("no CPU work")
    done, cost_ns = seen.measured["worked_pages"], seen.measured["work_ns"]
    figures = f"done for {done} of {pages} pages, {cost_ns / MS:.3g} of {cpu_ns / MS:.3g} ms"
    return passed_if(done == pages and abs(cost_ns / cpu_ns - 1) <= tolerance, figures)


def no_hole(seen: Observation, wait_ns: int, usual_ns: int) -> Judgement:
    """Check that machine, client and server never stood still (SIGSTOP, a debugger): fetches and responses went on.

    ``wait_ns`` is the longest wait that the site defines, by a latency or a fault. A loaded machine multiplies
    ``usual_ns``, the time of most fetches. If most of them were open during a stop, their times include it. The CPU
    time of the client does not. A hole of which the server was late for half or more is outside: the server or the
    whole machine stood still.
    """
    measured, server = seen.measured, seen.server
    if (hole_ns := measured.get("hole_ns")) is None:
        return not_applicable("unknown when fetches ended")
    late_ns = max(server["lateness_max_ns"], server.get("first_lateness_max_ns", 0))
    usual_ns = min(usual_ns, measured["cpu_per_page_ns"] * measured["pages"])
    limit_ns = max_hole_ns(wait_ns, usual_ns)
    hole, late, limit = map(units.duration, (hole_ns, late_ns, limit_ns))
    figures = f"no fetch ended for {hole}, a response was {late} late, limit {limit}"
    if max(hole_ns, late_ns) <= limit_ns:
        return Judgement("passed", figures)
    return Judgement("failed", figures, 2 * late_ns >= hole_ns or None)  # None: not outside, which rows leave out


def max_hole_ns(wait_ns: float, usual_ns: float) -> float:
    """Return the longest time without an end of a fetch that waits of the site and a loaded machine explain.

    See ``no_hole``, whose rule it is.
    """
    return wait_ns + max(SPARE_NS, SLOWEST * usual_ns)
