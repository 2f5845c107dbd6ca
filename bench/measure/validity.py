"""Whether to believe a trial: one small pure function for each named check, and the list of them all.

A check takes what is known of a trial and says ``passed``, ``failed`` or ``not applicable``, with the figures that it
went by. Red rows are shown and kept, and are part of no conclusion.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import Any, Literal

from bench.core.rows import Check

MS = 1_000_000
MOST_SERVER_SHARE = 0.70
FULL_CLIENT_SHARE = 0.95
NEARLY_REACHED = 0.90
MOST_RUN_DELAY_SHARE = 0.05
TICK_NS = 10_000_000
MOST_STEAL_SHARE = 0.02
LITTLE_TOLERANCE = 0.02
LONGEST_SHARE = 0.20
"""Where one fetch took more of the steady state than this, what is open at its two ends is too much of it."""
ROOM = 0.70
"""A client that used no more of its core had the time to keep the loop full."""
P99_SAMPLES = 1000
P90_SAMPLES = 100
SAMPLES = {"p50": 20, "p90": P90_SAMPLES, "p99": P99_SAMPLES, "p99.9": 10_000}
"""How many samples leave ten beyond the quantile."""
DRIFT_BINS = 20
DRIFT_TURNS = 20
"""With fewer turns, opening the connections is a good part of the crawl, and no drift."""
MOST_DRIFT = 0.40
WORK_TOLERANCE = 0.25
"""A processor's clock speed changes; by more than this, the work was not what was asked for."""
COUNTING_NOISE = 3.0
"""Standard deviations of a Poisson count: what chance alone may make of two halves."""

Judgement = tuple[Literal["passed", "failed", "not applicable"], str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks go by: the trial as planned, what the worker measured, and what was seen from outside."""

    kind: Literal["crawl", "memory"]
    planned_in_flight: int
    """The most that can be in flight: the cap, or less where the site or the model is smaller."""
    cap: int
    mean_latency_ns: float
    mean_delay_ns: float
    """The mean of the delays that the site has for just the pages of the right answer."""
    cpu_ns: int
    """The CPU work that each page asks for."""
    answer_difference: str | None
    pages_answered: int
    """How many pages have a response, whatever its status."""
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
    """What the limits that count threads leave; None where nobody says."""


def answer(evidence: Evidence) -> Judgement:
    """Check that the pages, their statuses and sizes are those of the seeded site."""
    if evidence.answer_difference is not None:
        return "failed", evidence.answer_difference
    return "passed", f"{evidence.measured['pages']} pages as the site has them"


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached, and never exceeded, as client and server saw it.

    Without added latency a fetch may be over before the last of many workers has begun its first: there, nearly is
    enough.
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
    """Check that the server was not what was measured: it had room, or the client had none.

    A busy server is no proof of a bottleneck: the less there is to do, the smaller and dearer its portions. Where the
    client's single core was full, a faster server could not have raised the throughput by more than the rest of it;
    then it is enough that the client asked for less than 70 % of what the server gave a null client.
    """
    if evidence.kind == "memory":
        return "not applicable", "the gate held the responses: no throughput is concluded"
    share, ceiling = evidence.server["cpu_share"], evidence.server.get("ceiling_per_s")
    client, demand = evidence.client_share, evidence.measured["pages_per_s"]
    figures = f"{share:.0%} of its core, limit {MOST_SERVER_SHARE:.0%}"
    if share <= MOST_SERVER_SHARE:
        return "passed", figures
    if client is None or ceiling is None:
        return "failed", figures
    figures += f"; the client used {client:.0%} of its own and asked for {demand / ceiling:.0%} of the server's ceiling"
    fine = client >= FULL_CLIENT_SHARE and demand <= MOST_SERVER_SHARE * ceiling
    return ("passed" if fine else "failed"), figures


def client_core(evidence: Evidence) -> Judgement:
    """Check that nothing else ran on the client's core: its thread hardly ever waited for it.

    Several threads wait for each other too. Of them it is what others used of that core, by the kernel's statistics,
    which are exact to a tick at either end.
    """
    if evidence.kind == "memory":
        return "not applicable", "no throughput"
    makespan_ns = evidence.measured["makespan_ns"]
    if evidence.measured["peak_threads"] > 1:
        others_ns = evidence.measured.get("others_ns")
        if others_ns is None:
            return "not applicable", "threads, and not on one core"
        share = max(0, others_ns - 2 * TICK_NS) / makespan_ns
        figures = f"others used {share:.1%} of its core, limit {MOST_RUN_DELAY_SHARE:.0%}"
    else:
        delay_ns = evidence.measured.get("run_delay_ns")
        if delay_ns is None:
            return "not applicable", "unknown here"
        share = delay_ns / makespan_ns
        figures = f"waited {share:.1%} of the time for its core, limit {MOST_RUN_DELAY_SHARE:.0%}"
    return ("failed" if share > MOST_RUN_DELAY_SHARE else "passed"), figures


def timer_lateness(evidence: Evidence) -> Judgement:
    """Check that the added latency was what was asked for: p99 late by at most 1 ms and 2 % of the mean.

    A quantile needs ten samples beyond it to be one: below 1,000 responses the p90 is judged, below 100 the median.
    """
    count = evidence.server["lateness_count"]
    if not count:
        return "not applicable", "no latency was added"
    name = "p99" if count >= P99_SAMPLES else "p90" if count >= P90_SAMPLES else "p50"
    late_ns, limit_ns = evidence.server[f"lateness_{name}_ns"], MS + 0.02 * evidence.mean_latency_ns
    figures = f"{name} {late_ns / MS:.2f} ms late, limit {limit_ns / MS:.2f} ms"
    if evidence.server.get("run_delay_share") is not None:
        figures += f"; the server waited {evidence.server['run_delay_share']:.0%} of the time for its core"
    return ("failed" if late_ns > limit_ns else "passed"), figures


def listen_drops(evidence: Evidence) -> Judgement:
    """Check that no connection was lost in a full listen queue (TcpExt ListenOverflows and ListenDrops).

    The kernel counts those of all processes together. A memory trial is read when exactly as many are held as are due:
    a connection that took a second try is no part of its figures.
    """
    if evidence.kind == "memory":
        return "not applicable", "the gate held as many as were due"
    return drops_of(evidence.host["listen_drops"])


def drops_of(drops: int | None) -> Judgement:
    """Say how many connections were dropped, and that none may be."""
    if drops is None:
        return "not applicable", "this kernel does not count them"
    return ("failed" if drops else "passed"), f"{drops} in /proc/net/netstat during the trial"


def littles_law(evidence: Evidence) -> Judgement:
    """Check that in flight = throughput x service time fits into the cap, and is no less than the delays ask for.

    By Little's law (J. D. C. Little, 1961) as many fetches were in flight on average as the client's throughput and
    service times say. They cannot have been more than the cap; and no service can have been shorter than the delay that
    the site has for that page, of which the client knows nothing.
    """
    if evidence.expected_failures or not evidence.measured["service"]["count"]:
        return "not applicable", "pages that fail need not wait for their delay"
    rate = evidence.measured["service"]["count"] / evidence.measured["makespan_ns"]
    in_flight = rate * evidence.measured["service"]["mean_ns"]
    least = rate * evidence.mean_delay_ns
    figures = f"throughput x service time {in_flight:.1f}, x the site's delay {least:.1f}, cap {evidence.cap}"
    fine = least * (1 - LITTLE_TOLERANCE) <= in_flight <= evidence.cap * (1 + LITTLE_TOLERANCE)
    return ("passed" if fine else "failed"), figures


def steady_state(evidence: Evidence) -> Judgement:
    """Check that the loop was full once it had been filled, and that its three means agree.

    From the cap's first filling to the last start the mean in flight is counted from the open spans; it must be
    throughput x mean service time (J. D. C. Little, 1961) within 2 %, but for what is open at the two ends: as many as
    are in flight, each for no longer than the longest fetch. It must not be above the cap, and where a latency was
    added and the client had time, not below it.
    A strategy that reaches its cap once, and then starts its fetches late, is seen here only.
    """
    steady = evidence.measured.get("steady")
    if evidence.kind == "memory" or not steady or not steady["mean_service_ns"]:
        return "not applicable", "the gate held it" if evidence.kind == "memory" else "the loop was never full for long"
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
        short = f"too short for the law: one fetch took {longest:.0%} of it, limit {LONGEST_SHARE:.0%}"
        return ("passed" if waits else "not applicable"), f"{figures}; {short}"
    little = steady["completions"] * steady["mean_service_ns"] / steady["window_ns"]
    allowed = LITTLE_TOLERANCE + longest
    figures += f"; throughput x service time {little:.1f}, limit {allowed:.1%} off"
    return ("failed" if abs(little - in_flight) > allowed * in_flight else "passed"), figures


def drift(evidence: Evidence) -> Judgement:
    """Check that throughput in the second half of the steady state was that in the first, within 40 %.

    Constant latencies make completions come in waves as large as the cap, and counts are noisy: one wave and three
    standard deviations are allowed on top.
    """
    line = evidence.measured.get("timeline")
    if evidence.kind == "memory" or not line:
        return "not applicable", "the gate held it" if evidence.kind == "memory" else "no time line"
    bins = steady_bins(line["completions"], line["in_flight"], evidence.cap)
    half = len(bins) // 2
    first, second = sum(bins[:half]), sum(bins[len(bins) - half :])
    turns = (first + second) / evidence.cap
    if len(bins) < DRIFT_BINS or turns < DRIFT_TURNS:
        return (
            "not applicable",
            f"{len(bins)} bins and {int(turns)} turns when full; needs {DRIFT_BINS} and {DRIFT_TURNS}",
        )
    mean = (first + second) / 2
    allowed = MOST_DRIFT * mean + evidence.cap + COUNTING_NOISE * sqrt(first + second)
    figures = f"{first} and {second} pages in its halves, limit {allowed / mean:.0%} apart"
    return ("failed" if abs(second - first) > allowed else "passed"), figures


def steady_bins(completions: list[int], in_flight: list[int], cap: int) -> list[int]:
    """Return the completions of the bins between the one in which the cap was filled and that of the last start."""
    started = [done + still for done, still in zip(accumulate(completions), in_flight, strict=True)]
    if not started or started[-1] < cap:
        return []
    filled = next(n for n, count in enumerate(started) if count >= cap)
    last = next(n for n, count in enumerate(started) if count >= started[-1])
    return completions[filled + 1 : last]


def ports(evidence: Evidence) -> Judgement:
    """Check that the client did not run out of ports: each connection of a trial, open or in TIME_WAIT, has its own."""
    refused = evidence.measured.get("port_refusals", 0)
    if refused:
        return "failed", f"{refused} pages failed because no client port was left (EADDRNOTAVAIL)"
    opened, size = evidence.server.get("total_connections"), evidence.host.get("ephemeral_ports")
    if opened is None or size is None:
        return "not applicable", "the size of the port range is not known here"
    return ("failed" if opened >= size else "passed"), f"{opened} connections opened, {size} ports in the range"


def allowances(evidence: Evidence) -> Judgement:
    """Check that the limits of descriptors and threads allowed what the trial may need."""
    limit = evidence.knobs.get("descriptor_limit")
    if limit is None:
        return "not applicable", "the worker's descriptor limit is not known"
    allowed = evidence.threads_allowed
    enough = limit < 0 or evidence.descriptors_needed <= limit
    enough_threads = allowed is None or evidence.threads_needed <= allowed
    figures = f"{evidence.descriptors_needed} descriptors needed, {'any number' if limit < 0 else limit} allowed"
    if evidence.threads_needed:
        figures += f"; {evidence.threads_needed} threads needed, {'unknown' if allowed is None else allowed} allowed"
    return ("passed" if enough and enough_threads else "failed"), figures


def failures(evidence: Evidence) -> Judgement:
    """Check that just those pages failed that the site makes fail: a failure is never throughput."""
    figures = f"{evidence.failures} pages failed, the site makes {evidence.expected_failures} fail"
    return ("passed" if evidence.failures == evidence.expected_failures else "failed"), figures


def samples(evidence: Evidence) -> Judgement:
    """Check which quantiles rest on enough samples: ten beyond each."""
    return quantiles_of(evidence.measured["service"]["count"])


def quantiles_of(count: int) -> Judgement:
    """Say which quantiles so many samples are enough for."""
    enough = [name for name, least in SAMPLES.items() if count >= least]
    if not enough:
        return "not applicable", f"{count} samples: enough for no quantile"
    few = [name for name in SAMPLES if name not in enough]
    return "passed", f"{count} samples: enough for {', '.join(enough)}" + (f"; not for {', '.join(few)}" if few else "")


def steal(evidence: Evidence) -> Judgement:
    """Check that the hypervisor did not take the cores away."""
    if evidence.kind == "memory":
        return "not applicable", "memory does not depend on it"
    return steal_of(evidence.host["steal_share"])


def steal_of(share: float | None) -> Judgement:
    """Say how much of the CPU time was stolen, and how much may be."""
    if share is None:
        return "not applicable", "this system does not say"
    figures = f"{share:.1%} of CPU time stolen, limit {MOST_STEAL_SHARE:.0%}"
    return ("failed" if share > MOST_STEAL_SHARE else "passed"), figures


def knobs(evidence: Evidence) -> Judgement:
    """Check that what was set for the worker is what the worker found."""
    return compare_knobs(evidence.wanted_knobs, evidence.knobs)


def compare_knobs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Judgement:
    """Say which settings did not reach the worker."""
    wrong = [
        f"{name}: wanted {value!r}, got {found.get(name)!r}"
        for name, value in wanted.items()
        if found.get(name) != value
    ]
    return ("failed", "; ".join(wrong)) if wrong else ("passed", ", ".join(sorted(wanted)))


def work(evidence: Evidence) -> Judgement:
    """Check that the CPU work was done for each page that came, and that it cost about what was asked for."""
    if not evidence.cpu_ns:
        return "not applicable", "no CPU work was asked for"
    done, cost_ns = evidence.measured["worked_pages"], evidence.measured["work_ns"]
    figures = f"done for {done} of {evidence.pages_answered} pages, {cost_ns / MS:.3g} of {evidence.cpu_ns / MS:.3g} ms"
    fine = done == evidence.pages_answered and abs(cost_ns / evidence.cpu_ns - 1) <= WORK_TOLERANCE
    return ("passed" if fine else "failed"), figures


def requests(evidence: Evidence) -> Judgement:
    """Check that the server received just the tries that the client counted, but for those on stale connections."""
    tries, received = evidence.measured["tries"], evidence.server["requests"]
    figures = f"client sent {tries}, server received {received}"
    if evidence.expected_failures:  # a reset connection may fail once more, as a stale one
        return "not applicable", f"faults break connections: {figures}"
    return ("passed" if tries == received else "failed"), figures


def started(n: int, measured: dict[str, Any]) -> Judgement:
    """Check that there were as many as the row is about."""
    figures = f"{measured['started']:,} of {n:,}"
    return ("passed" if measured["started"] == n else "failed"), figures


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "cap reached, never exceeded": cap,
    "requests counted alike": requests,
    "server had room": server_share,
    "client had its core": client_core,
    "added latency exact": timer_lateness,
    "no listen drops": listen_drops,
    "client ports left": ports,
    "limits allow it": allowances,
    "Little's law": littles_law,
    "Little's law in the steady state": steady_state,
    "throughput steady": drift,
    "enough samples for each quantile": samples,
    "no CPU steal": steal,
    "knobs reached the worker": knobs,
    "CPU work done": work,
}


def check_block(n: int, measured: dict[str, Any]) -> tuple[Check, ...]:
    """Make the checks of a building block's trial."""
    return (Check("all were started", *started(n, measured)),)


def check(evidence: Evidence) -> tuple[Check, ...]:
    """Make every check."""
    return tuple(Check(name, *judge(evidence)) for name, judge in CHECKS.items())
