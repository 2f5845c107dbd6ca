"""Checks that several studies share: each function judges some figures and returns them with its verdict.

A study lists its own checks by name, and ``judge`` runs them all. Rows that fail a check are kept and shown, but
excluded from conclusions.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from inflight.bench import units
from inflight.bench.rows.files import Check

MS = 1_000_000
SPARE_NS = 1_000_000_000
"""Time without a finished fetch that any machine may add to the waits of the site."""
SLOWEST = 20
"""The greatest slowdown by others on the same cores that is still load."""

Judgement = tuple[Literal["passed", "failed", "not applicable"], str]
Evidence = TypeVar("Evidence")


def judge(checks: Mapping[str, Callable[[Evidence], Judgement]], evidence: Evidence) -> tuple[Check, ...]:
    """Run every check of a list."""
    return tuple(Check(name, *check(evidence)) for name, check in checks.items())


def passed_if(fine: bool, figures: str) -> Judgement:
    """Return the verdict of a check with its figures."""
    return ("passed" if fine else "failed"), figures


def not_applicable(why: str) -> Judgement:
    """Return that a check does not apply, and why."""
    return "not applicable", why


def answer(difference: str | None, pages: int) -> Judgement:
    """Check that pages, statuses and sizes are those of the seeded site."""
    return passed_if(difference is None, difference or f"{pages} pages as the site has them")


def failures(failed: int, planned: int = 0) -> Judgement:
    """Check that exactly the pages failed that the site makes fail."""
    return passed_if(failed == planned, f"{failed} pages failed, the site makes {planned} fail")


def counted_alike(sent: int, received: int) -> Judgement:
    """Check that the server received exactly the tries that the client counted: no response was lost."""
    return passed_if(sent == received, f"client sent {sent}, server received {received}")


def drops(count: int | None) -> Judgement:
    """Check that no connection was lost in a full listen queue (TcpExt ListenOverflows and ListenDrops)."""
    if count is None:
        return not_applicable("this kernel does not count them")
    return passed_if(not count, f"{count} in /proc/net/netstat during the trial")


def knobs(wanted: Mapping[str, Any], reported: Mapping[str, Any]) -> Judgement:
    """Check that the worker ran with the settings that were chosen for it."""
    wrong = [
        f"{name}: wanted {value!r}, got {reported.get(name)!r}"
        for name, value in wanted.items()
        if reported.get(name) != value
    ]
    return passed_if(not wrong, "; ".join(wrong) or ", ".join(sorted(wanted)))


def work(measured: Mapping[str, Any], pages: int, cpu_ns: int, tolerance: float) -> Judgement:
    """Check that the CPU work was done for this many pages, and that its cost is within the tolerance."""
    if not cpu_ns:
        return not_applicable("no CPU work")
    done, cost_ns = measured["worked_pages"], measured["work_ns"]
    figures = f"done for {done} of {pages} pages, {cost_ns / MS:.3g} of {cpu_ns / MS:.3g} ms"
    return passed_if(done == pages and abs(cost_ns / cpu_ns - 1) <= tolerance, figures)


def no_hole(measured: Mapping[str, Any], server: Mapping[str, Any], wait_ns: int, usual_ns: int) -> Judgement:
    """Check that machine, client and server never stood still (SIGSTOP, a debugger): fetches and responses went on.

    ``wait_ns`` is the longest wait that the site defines, by a latency or a fault. A loaded machine multiplies
    ``usual_ns``, the time of most fetches. If most of them were open during a stop, their times include it. The CPU
    time of the client does not.
    """
    if (hole_ns := measured.get("hole_ns")) is None:
        return not_applicable("unknown when fetches ended")
    late_ns = max(server["lateness_max_ns"], server.get("first_lateness_max_ns", 0))
    usual_ns = min(usual_ns, measured["cpu_per_page_ns"] * measured["pages"])
    limit_ns = max_hole_ns(wait_ns, usual_ns)
    hole, late, limit = map(units.duration, (hole_ns, late_ns, limit_ns))
    figures = f"no fetch ended for {hole}, a response was {late} late, limit {limit}"
    return passed_if(max(hole_ns, late_ns) <= limit_ns, figures)


def max_hole_ns(wait_ns: float, usual_ns: float) -> float:
    """Return the longest time without an end of a fetch that the waits of the site and a loaded machine explain."""
    return wait_ns + max(SPARE_NS, SLOWEST * usual_ns)
