"""The validity checks of a crawl: one small pure function for each, and the list of them all.

Only what makes figures wrong fails a check. A full server, a late one and a core that others used are said instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, not_applicable, passed_if
from inflight.bench.plan.grid import Kind

NEARLY_REACHED = 0.90
WORK_TOLERANCE = 0.25
"""Tolerance for the cost of CPU work, because the clock speed of processors varies."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of the checks: the planned trial, what the worker measured, and what was seen from outside."""

    kind: Kind
    planned_in_flight: int
    """Maximum in flight: the cap, or less where the site or the model is smaller."""
    cap: int
    mean_latency_ns: float
    cpu_ns: int
    """CPU work per page."""
    answer_difference: str | None
    pages_answered: int
    """Number of pages with a response, whatever its status."""
    failures: int
    expected_failures: int
    wait_ns: int
    """Longest time that the site lets a fetch wait."""
    measured: dict[str, Any]
    server: dict[str, Any]
    knobs: dict[str, Any]
    wanted_knobs: dict[str, Any]
    descriptors_needed: int
    threads_needed: int
    threads_allowed: int | None
    """What the limits on threads leave; None where it is unknown."""


Judge = Callable[[Evidence], Judgement]


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and server.

    A client with a limit of its own reaches this limit. Without added latency, a fetch may end before the last of many
    workers has started its first one, so reaching 90 % of the cap is enough.
    """
    client, server = evidence.measured["peak_in_flight"], evidence.server["peak_in_flight"]
    figures = f"{evidence.cap}, most in flight: client {client}, server {server}"
    if client > evidence.cap or server > evidence.cap:
        return "failed", f"exceeded: cap {figures}"
    if reached := evidence.measured.get("reached_in_flight"):
        return "passed", f"reached {reached} of {figures}"
    waits = evidence.mean_latency_ns > 0 or evidence.kind == "memory"
    nearly = 1.0 if waits else NEARLY_REACHED
    if client < nearly * evidence.planned_in_flight:
        return "failed", f"not reached: cap {figures}"
    return "passed", f"cap {figures}"


def ports(evidence: Evidence) -> Judgement:
    """Check that the client did not run out of ports. Each connection, open or in TIME_WAIT, has its own."""
    refused = evidence.measured.get("port_refusals", 0)
    if refused:
        return "failed", f"{refused} pages failed because no client port was left (EADDRNOTAVAIL)"
    opened, size = evidence.server.get("total_connections"), evidence.measured.get("ephemeral_ports")
    if opened is None or size is None:
        return not_applicable("the size of the port range is unknown")
    return passed_if(opened < size, f"{opened} connections opened, {size} ports in the range")


def allowances(evidence: Evidence) -> Judgement:
    """Check that the limits on descriptors and threads allowed what the trial may need."""
    limit = evidence.knobs.get("descriptor_limit")
    if limit is None:
        return not_applicable("the worker's descriptor limit is unknown")
    allowed = evidence.threads_allowed
    enough = limit < 0 or evidence.descriptors_needed <= limit
    enough_threads = allowed is None or evidence.threads_needed <= allowed
    figures = f"{evidence.descriptors_needed} descriptors needed, {'any number' if limit < 0 else limit} allowed"
    if evidence.threads_needed:
        figures += f"; {evidence.threads_needed} threads needed, {'unknown' if allowed is None else allowed} allowed"
    return passed_if(enough and enough_threads, figures)


def hole(evidence: Evidence) -> Judgement:
    """Check that fetches ended all the time."""
    if evidence.kind == "memory":
        return not_applicable("the gate holds all responses")
    measured = evidence.measured
    return checks.no_hole(measured, evidence.server, evidence.wait_ns, measured["service"].get("p50_ns", 0))


def requests(evidence: Evidence) -> Judgement:
    """Check that the server received exactly the tries that the client counted."""
    verdict, figures = checks.counted_alike(evidence.measured["tries"], evidence.server["requests"])
    if evidence.expected_failures:  # a reset connection may fail a second time, as a stale one
        return not_applicable(f"faults break connections: {figures}")
    return verdict, figures


CHECKS: dict[str, Judge] = {
    "answer correct": lambda seen: checks.answer(seen.answer_difference, seen.measured["pages"]),
    "no unexpected failures": lambda seen: checks.failures(seen.failures, seen.expected_failures),
    "cap reached, never exceeded": cap,
    "no hole": hole,
    "requests counted alike": requests,
    "no listen drops": lambda seen: checks.drops(seen.measured["listen_drops"]),
    "client ports left": ports,
    "limits high enough": allowances,
    "settings applied": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
    "CPU work done": lambda seen: checks.work(seen.measured, seen.pages_answered, seen.cpu_ns, WORK_TOLERANCE),
}
