"""The validity checks of a crawl: one small pure function for each, and the list of them all."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import Any, Literal

from inflight.bench.core import units
from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, not_applicable, passed_if

MOST_SERVER_SHARE = 0.70
FULL_CLIENT_SHARE = 0.95
NEARLY_REACHED = 0.90
TICK_NS = 10_000_000
LITTLE_TOLERANCE = 0.02
LONGEST_SHARE = 0.20
"""Share of the steady state that the longest fetch may take: fetches open at its ends distort a shorter one."""
ROOM = 0.70
"""Share of its core up to which a client had the time to keep the loop full."""
DRIFT_BINS = 20
DRIFT_TURNS = 20
"""Minimum number of turns: in shorter crawls, opening the connections takes much of the time."""
MOST_DRIFT = 0.40
WORK_TOLERANCE = 0.25
"""Tolerance for the cost of CPU work, because the clock speed of processors varies."""
COUNTING_NOISE = 3.0
"""Standard deviations of a Poisson count by which two halves may differ by chance."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of the checks: the planned trial, what the worker measured, and what was seen from outside."""

    kind: Literal["crawl", "memory"]
    planned_in_flight: int
    """Maximum in flight: the cap, or less where the site or the model is smaller."""
    cap: int
    mean_latency_ns: float
    mean_delay_ns: float
    """Mean delay of the site over the pages of the expected answer."""
    cpu_ns: int
    """CPU work per page."""
    answer_difference: str | None
    pages_answered: int
    """Number of pages with a response, whatever its status."""
    failures: int
    expected_failures: int
    client_share: float | None
    """The client's CPU time over the makespan; None where it was not pinned to a single core."""
    measured: dict[str, Any]
    server: dict[str, Any]
    host: dict[str, Any]
    knobs: dict[str, Any]
    wanted_knobs: dict[str, Any]
    descriptors_needed: int
    threads_needed: int
    threads_allowed: int | None
    """What the limits on threads leave; None where it is unknown."""


Judge = Callable[[Evidence], Judgement]


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and server.

    Without added latency, a fetch may end before the last of many workers has started its first one, so reaching 90 %
    of the cap is enough.
    """
    client, server = evidence.measured["peak_in_flight"], evidence.server["peak_in_flight"]
    figures = f"cap {evidence.cap}, most in flight: client {client}, server {server}"
    if client > evidence.cap or server > evidence.cap:
        return "failed", f"exceeded: {figures}"
    waits = evidence.mean_latency_ns > 0 or evidence.kind == "memory"
    nearly = 1.0 if waits else NEARLY_REACHED
    if client < nearly * evidence.planned_in_flight:
        return "failed", f"not reached: {figures}"
    return "passed", figures


def server_share(evidence: Evidence) -> Judgement:
    """Check that the server was not the bottleneck: it had room, or the client had none.

    A busy server does not prove a bottleneck: with less to do, it works in smaller and costlier portions. Where the
    client's single core was full, a faster server could not have raised the throughput by more than the rest of that
    core. Then it is enough that the client asked for less than 70 % of what the server gave a null client.
    """
    share, ceiling = evidence.server["cpu_share"], evidence.server.get("ceiling_per_s")
    client, demand = evidence.client_share, evidence.measured["pages_per_s"]
    verdict, figures = checks.core(share, MOST_SERVER_SHARE)
    if verdict == "passed" or client is None or ceiling is None:
        return verdict, figures
    asked = f"asked for {units.percent(demand / ceiling)} of the server's ceiling"
    figures += f"; the client used {units.percent(client)} of its own and {asked}"
    return passed_if(client >= FULL_CLIENT_SHARE and demand <= MOST_SERVER_SHARE * ceiling, figures)


def client_core(evidence: Evidence) -> Judgement:
    """Check that nothing else ran on the client's core.

    Several threads also wait for each other. For them the check uses what others used of that core, from the kernel's
    statistics, which are exact to one tick at either end.
    """
    makespan_ns = evidence.measured["makespan_ns"]
    if evidence.measured["peak_threads"] == 1:
        delay_ns = evidence.measured.get("run_delay_ns")
        return checks.waiting(None if delay_ns is None else delay_ns / makespan_ns)
    others_ns = evidence.measured.get("others_ns")
    if others_ns is None:
        return not_applicable("several threads that are not pinned to one core")
    share = max(0, others_ns - 2 * TICK_NS) / makespan_ns
    figures = f"others used {units.percent(share, 1)} of its core, limit {units.percent(checks.MOST_WAITING_SHARE)}"
    return passed_if(share <= checks.MOST_WAITING_SHARE, figures)


def timer_lateness(evidence: Evidence) -> Judgement:
    """Check that the added latency was exact."""
    verdict, figures = checks.lateness(evidence.server, evidence.mean_latency_ns)
    share = evidence.server.get("run_delay_share")
    if share is not None and verdict != "not applicable":
        figures += f"; the server waited {units.percent(share)} of the time for its core"
    return verdict, figures


def littles_law(evidence: Evidence) -> Judgement:
    """Check that throughput x service time is at most the cap, and at least what the delays of the site require.

    By Little's law (J. D. C. Little, 1961) this product is the mean number of fetches in flight, which cannot exceed
    the cap. No service time can be shorter than the site's delay for that page, which the client does not know.
    """
    if evidence.expected_failures or not evidence.measured["service"]["count"]:
        return not_applicable("pages that fail need not wait for their delay")
    rate = evidence.measured["service"]["count"] / evidence.measured["makespan_ns"]
    in_flight = rate * evidence.measured["service"]["mean_ns"]
    least = rate * evidence.mean_delay_ns
    figures = f"throughput x service time {in_flight:.1f}, x the site's delay {least:.1f}, cap {evidence.cap}"
    fine = least * (1 - LITTLE_TOLERANCE) <= in_flight <= evidence.cap * (1 + LITTLE_TOLERANCE)
    return passed_if(fine, figures)


def steady_state(evidence: Evidence) -> Judgement:
    """Check that the loop stayed full once it had been filled, and that its means agree.

    Between the first time the cap was reached and the last start, the mean in flight is counted from the open spans. It
    must equal throughput x mean service time (J. D. C. Little, 1961) within 2 %, plus an allowance for the fetches that
    are open at the two ends, each no longer than the longest fetch. It must not exceed the cap. Where a latency was
    added and the client had time, it must not be below the cap either. Only this check finds a strategy that reaches
    its cap once and then starts its fetches late.
    """
    steady = evidence.measured.get("steady")
    if not steady or not steady["mean_service_ns"]:
        return not_applicable("the loop was never full for long")
    in_flight = steady["mean_in_flight"]
    has_time = evidence.client_share is not None and evidence.client_share <= ROOM
    waits = evidence.mean_latency_ns > 0 and has_time and not evidence.expected_failures
    figures = f"mean in flight {in_flight:.1f}, cap {evidence.cap}"
    if in_flight > evidence.cap * (1 + LITTLE_TOLERANCE):
        return "failed", f"{figures}: above it"
    if waits and in_flight < evidence.planned_in_flight * (1 - LITTLE_TOLERANCE):
        return "failed", f"{figures}: not kept full"
    longest = evidence.measured["service"]["max_ns"] / steady["window_ns"]
    if longest > LONGEST_SHARE:
        took = f"one fetch took {units.percent(longest)} of it, limit {units.percent(LONGEST_SHARE)}"
        return ("passed" if waits else "not applicable"), f"{figures}; too short for the law: {took}"
    little = steady["completions"] * steady["mean_service_ns"] / steady["window_ns"]
    allowed = LITTLE_TOLERANCE + longest
    figures += f"; throughput x service time {little:.1f}, limit {units.percent(allowed, 1)} off"
    return passed_if(abs(little - in_flight) <= allowed * in_flight, figures)


def drift(evidence: Evidence) -> Judgement:
    """Check that the throughput of the two halves of the steady state differs by at most 40 %.

    With constant latencies, completions come in waves as large as the cap, and counts are noisy: one wave and three
    standard deviations are allowed in addition.
    """
    line = evidence.measured.get("timeline")
    if not line:
        return not_applicable("no timeline")
    bins = steady_bins(line["completions"], line["in_flight"], evidence.cap)
    half = len(bins) // 2
    first, second = sum(bins[:half]), sum(bins[len(bins) - half :])
    turns = (first + second) / evidence.cap
    if len(bins) < DRIFT_BINS or turns < DRIFT_TURNS:
        needed = f"needs {DRIFT_BINS} and {DRIFT_TURNS}"
        return not_applicable(f"{len(bins)} bins and {int(turns)} turns when full; {needed}")
    mean = (first + second) / 2
    allowed = MOST_DRIFT * mean + evidence.cap + COUNTING_NOISE * sqrt(first + second)
    figures = f"{first} and {second} pages in its halves, limit {units.percent(allowed / mean)} apart"
    return passed_if(abs(second - first) <= allowed, figures)


def steady_bins(completions: list[int], in_flight: list[int], cap: int) -> list[int]:
    """Return the completions of the bins between the one that reached the cap and the one of the last start."""
    started = [done + still for done, still in zip(accumulate(completions), in_flight, strict=True)]
    if not started or started[-1] < cap:
        return []
    filled = next(n for n, count in enumerate(started) if count >= cap)
    last = next(n for n, count in enumerate(started) if count >= started[-1])
    return completions[filled + 1 : last]


def ports(evidence: Evidence) -> Judgement:
    """Check that the client did not run out of ports. Each connection, open or in TIME_WAIT, has its own."""
    refused = evidence.measured.get("port_refusals", 0)
    if refused:
        return "failed", f"{refused} pages failed because no client port was left (EADDRNOTAVAIL)"
    opened, size = evidence.server.get("total_connections"), evidence.host.get("ephemeral_ports")
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


def requests(evidence: Evidence) -> Judgement:
    """Check that the server received exactly the tries that the client counted."""
    verdict, figures = checks.counted_alike(evidence.measured["tries"], evidence.server["requests"])
    if evidence.expected_failures:  # a reset connection may fail a second time, as a stale one
        return not_applicable(f"faults break connections: {figures}")
    return verdict, figures


def timed(judge: Judge) -> Judge:
    """Return a check that applies only to timed trials.

    Memory trials are read while the gate holds all fetches, so throughput and latency are not part of their figures.
    """

    def judged(evidence: Evidence) -> Judgement:
        if evidence.kind == "memory":
            return not_applicable("the gate held the responses: nothing is timed")
        return judge(evidence)

    return judged


CHECKS: dict[str, Judge] = {
    "answer correct": lambda seen: checks.answer(seen.answer_difference, seen.measured["pages"]),
    "no unexpected failures": lambda seen: checks.failures(seen.failures, seen.expected_failures),
    "cap reached, never exceeded": cap,
    "requests counted alike": requests,
    "server had room": timed(server_share),
    "client had its core": timed(client_core),
    "added latency exact": timer_lateness,
    "no listen drops": timed(lambda seen: checks.drops(seen.host["listen_drops"])),
    "client ports left": ports,
    "limits high enough": allowances,
    "Little's law": littles_law,
    "Little's law in the steady state": timed(steady_state),
    "throughput steady": timed(drift),
    "enough samples for each quantile": lambda seen: checks.quantiles(seen.measured["service"]["count"]),
    "no CPU steal": timed(lambda seen: checks.steal(seen.host["steal_share"])),
    "settings applied": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
    "CPU work done": lambda seen: checks.work(seen.measured, seen.pages_answered, seen.cpu_ns, WORK_TOLERANCE),
}
