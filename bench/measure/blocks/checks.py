"""Whether to believe an arm. Only what makes its figures wrong is red: noise widens intervals instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.rows import Check
from bench.measure.validity import MS, Judgement, compare_knobs

MOST_SERVER_SHARE = 0.90
"""Of the server's core; and beyond it, of the server's share the least that the client's core must have."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks go by."""

    cap: int
    """The most that the arm can have in flight."""
    cpu_ns: int
    """The CPU work that each page asks for."""
    answer_difference: str | None
    client_share: float | None
    """CPU time of the worker over its windows; None where it was not pinned to a single core."""
    measured: Mapping[str, Any]
    server: Mapping[str, Any]
    knobs: Mapping[str, Any]
    wanted_knobs: Mapping[str, Any]


def answer(evidence: Evidence) -> Judgement:
    """Check that the pages, their statuses and sizes are those of the seeded site, lap for lap."""
    if evidence.answer_difference is not None:
        return "failed", evidence.answer_difference
    return "passed", f"{evidence.measured['pages']} pages as the site has them"


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, by the client and by what its gate held."""
    client, held = evidence.measured["peak_in_flight"], evidence.measured["held_in_flight"]
    figures = f"cap {evidence.cap}, most in flight: client {client}, held by the gate {held}"
    return ("passed" if client == held == evidence.cap else "failed"), figures


def failures(evidence: Evidence) -> Judgement:
    """Check that no page failed: the site has no faults."""
    failed = evidence.measured["failed_pages"]
    return ("failed" if failed else "passed"), f"{failed} pages failed"


def requests(evidence: Evidence) -> Judgement:
    """Check that the server received just the tries that the client counted."""
    tries, received = evidence.measured["tries"], evidence.measured["requests"]
    return ("passed" if tries == received else "failed"), f"client sent {tries}, server received {received}"


def server(evidence: Evidence) -> Judgement:
    """Check that the server was not what bounded the client.

    It was not where it had a tenth of its core left. Nor was it where the client's core was as full, give or take a
    tenth: a faster server would have raised the throughput by no more than that, and CPU time per page hardly at all.
    What others take of a core, they take of both shares alike: their ratio is that of what a page costs each.
    """
    share, client = evidence.server["cpu_share"], evidence.client_share
    figures = f"{share:.0%} of its core, limit {MOST_SERVER_SHARE:.0%}"
    if share <= MOST_SERVER_SHARE:
        return "passed", figures
    if client is None:
        return "failed", figures
    figures += f"; the client used {client:.0%} of its own"
    return ("passed" if client >= MOST_SERVER_SHARE * share else "failed"), figures


def knobs(evidence: Evidence) -> Judgement:
    """Check that what was set for the worker is what the worker found."""
    return compare_knobs(evidence.wanted_knobs, evidence.knobs)


def work(evidence: Evidence) -> Judgement:
    """Check that the CPU work was done for each page. What it cost is told: it depends on what others do meanwhile."""
    if not evidence.cpu_ns:
        return "not applicable", "no CPU work was asked for"
    done, pages = evidence.measured["worked_pages"], evidence.measured["pages"]
    cost_ns = evidence.measured["work_ns"]
    figures = f"done for {done} of {pages} pages, {cost_ns / MS:.3g} of {evidence.cpu_ns / MS:.3g} ms"
    return ("passed" if done == pages else "failed"), figures


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "cap reached, never exceeded": cap,
    "requests counted alike": requests,
    "server had room": server,
    "knobs reached the worker": knobs,
    "CPU work done": work,
}


def check(evidence: Evidence) -> tuple[Check, ...]:
    """Make every check."""
    return tuple(Check(name, *judge(evidence)) for name, judge in CHECKS.items())
