"""Checks that several studies share: each function judges some figures and returns them with its verdict.

A study lists its own checks by name, and ``judge`` runs them all. Rows that fail a check are kept and shown, but
excluded from conclusions.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from inflight.bench.core import units
from inflight.bench.core.rows import Check

MS = 1_000_000
MOST_WAITING_SHARE = 0.05
MOST_STEAL_SHARE = 0.02
SAMPLES = {"p50": 20, "p90": 100, "p99": 1000, "p99.9": 10_000}
"""Number of samples that leaves ten beyond the quantile."""

Judgement = tuple[Literal["passed", "failed", "not applicable"], str]
Evidence = TypeVar("Evidence")


def judge(checks: Mapping[str, Callable[[Evidence], Judgement]], evidence: Evidence) -> tuple[Check, ...]:
    """Run every check of a list."""
    return tuple(Check(name, *one(evidence)) for name, one in checks.items())


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


def core(share: float, limit: float) -> Judgement:
    """Check that no more than a share of a core was used."""
    return passed_if(share <= limit, f"{units.percent(share)} of its core, limit {units.percent(limit)}")


def waiting(share: float | None) -> Judgement:
    """Check that nothing else ran on the client's core, so that its thread hardly waited for it."""
    if share is None:
        return not_applicable("unknown on this system")
    figures = f"waited {units.percent(share, 1)} of the time for its core, limit {units.percent(MOST_WAITING_SHARE)}"
    return passed_if(share <= MOST_WAITING_SHARE, figures)


def lateness(server: Mapping[str, Any], mean_latency_ns: float) -> Judgement:
    """Check that the added latency was exact: p99 late by at most 1 ms and 2 % of the mean.

    A quantile needs ten samples beyond it: below 1,000 responses the p90 is judged, below 100 the median.
    """
    count = server["lateness_count"]
    if not count:
        return not_applicable("no latency was added")
    name = next((name for name in ("p99", "p90") if count >= SAMPLES[name]), "p50")
    late_ns, limit_ns = server[f"lateness_{name}_ns"], MS + 0.02 * mean_latency_ns
    return passed_if(late_ns <= limit_ns, f"{name} {late_ns / MS:.2f} ms late, limit {limit_ns / MS:.2f} ms")


def drops(count: int | None) -> Judgement:
    """Check that no connection was lost in a full listen queue (TcpExt ListenOverflows and ListenDrops)."""
    if count is None:
        return not_applicable("this kernel does not count them")
    return passed_if(not count, f"{count} in /proc/net/netstat during the trial")


def steal(share: float | None) -> Judgement:
    """Check that the hypervisor did not take CPU time away."""
    if share is None:
        return not_applicable("unknown on this system")
    figures = f"{units.percent(share, 1)} of CPU time stolen, limit {units.percent(MOST_STEAL_SHARE)}"
    return passed_if(share <= MOST_STEAL_SHARE, figures)


def knobs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Judgement:
    """Check that the worker ran with the settings that were chosen for it."""
    wrong = [
        f"{name}: wanted {value!r}, got {found.get(name)!r}"
        for name, value in wanted.items()
        if found.get(name) != value
    ]
    return passed_if(not wrong, "; ".join(wrong) or ", ".join(sorted(wanted)))


def work(measured: Mapping[str, Any], pages: int, cpu_ns: int, tolerance: float) -> Judgement:
    """Check that the CPU work was done for this many pages, and that its cost is within the tolerance."""
    if not cpu_ns:
        return not_applicable("no CPU work")
    done, cost_ns = measured["worked_pages"], measured["work_ns"]
    figures = f"done for {done} of {pages} pages, {cost_ns / MS:.3g} of {cpu_ns / MS:.3g} ms"
    return passed_if(done == pages and abs(cost_ns / cpu_ns - 1) <= tolerance, figures)
