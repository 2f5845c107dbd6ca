"""Whether to believe a pair: as ``bench.measure.validity`` for single trials, over all turns of both sides. Pure.

What a side does wrong (its answer, its cap, its requests, its knobs) is that side's failure: ``blamed`` says whose. The
other checks are about what the machine did; they look at both sides together, so leaving out a pair favours neither.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from bench.measure.validity import (
    FULL_CLIENT_SHARE,
    MOST_SERVER_SHARE,
    NEARLY_REACHED,
    Judgement,
)
from bench.rows import Check

MOST_STEAL_SHARE = 0.20
MOST_RUN_DELAY_SHARE = 0.65
MOST_DRIFT = 0.30
"""These limits are wider than a single trial's: both sides are disturbed within the same second, and what is left of it
makes pairs vary more, which the decision takes into account. Beyond them a pair says next to nothing."""


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """What the checks of a pair go by; the turns are those that count, in their order."""

    turns: Sequence[dict[str, Any]]
    caps: dict[str, int]
    """Of each side, the most that can be in flight."""
    waits: bool
    """Whether latency was added."""
    differences: Sequence[str]
    expected_failures: int
    client_shares: Sequence[float] | None
    """CPU time over makespan of each turn; None where a worker was not pinned to a single core."""
    server: Sequence[dict[str, Any]]
    """Of each turn: the server's requests, CPU share and most in flight."""
    ceiling_per_s: float | None
    run_delay_share: float | None
    """How long the workers' threads waited for a core, as a share of the turns; None where unknown, or of threads."""
    steal_share: float | None
    listen_drops: int | None
    knobs: dict[str, dict[str, Any]]
    wanted_knobs: dict[str, dict[str, Any]]


def answer(evidence: PairEvidence) -> Judgement:
    """Check that every turn brought the pages that the seeded site has."""
    if evidence.differences:
        return "failed", f"{len(evidence.differences)} turns: {evidence.differences[0]}"
    return "passed", f"{len(evidence.turns)} turns of {evidence.turns[0]['pages']} pages as the site has them"


def failures(evidence: PairEvidence) -> Judgement:
    """Check that just those pages failed that the site makes fail."""
    found = sorted({turn["failed_pages"] for turn in evidence.turns})
    figures = f"{', '.join(map(str, found))} pages a turn failed, the site makes {evidence.expected_failures} fail"
    return ("passed" if found == [evidence.expected_failures] else "failed"), figures


def cap(evidence: PairEvidence) -> Judgement:
    """Check that the in-flight cap was reached in every turn, and never exceeded."""
    nearly = 1.0 if evidence.waits else NEARLY_REACHED
    for turn, server in zip(evidence.turns, evidence.server, strict=True):
        most, client = evidence.caps[turn["side"]], turn["peak_in_flight"]
        figures = f"side {turn['side']}: cap {most}, most in flight: client {client}, server {server['peak_in_flight']}"
        if client > most or server["peak_in_flight"] > most:
            return "failed", f"exceeded: {figures}"
        if client < nearly * most:
            return "failed", f"not reached: {figures}"
    return "passed", figures


def requests(evidence: PairEvidence) -> Judgement:
    """Check that the server received just the tries that the clients counted."""
    tries, received = sum(turn["tries"] for turn in evidence.turns), sum(seen["requests"] for seen in evidence.server)
    figures = f"clients sent {tries}, server received {received}"
    if evidence.expected_failures:
        return "not applicable", f"faults break connections: {figures}"
    return ("passed" if tries == received else "failed"), figures


def server_share(evidence: PairEvidence) -> Judgement:
    """Check that the server was not what was measured: it had room, or the client's core was full."""
    share = fmean(seen["cpu_share"] for seen in evidence.server)
    figures = f"{share:.0%} of its core, limit {MOST_SERVER_SHARE:.0%}"
    if share <= MOST_SERVER_SHARE:
        return "passed", figures
    if evidence.client_shares is None or evidence.ceiling_per_s is None:
        return "failed", figures
    client = fmean(evidence.client_shares)
    demand = max(turn["pages"] / turn["makespan_ns"] * 1e9 for turn in evidence.turns) / evidence.ceiling_per_s
    figures += f"; the client used {client:.0%} of its own and asked for {demand:.0%} of the server's ceiling"
    return ("passed" if client >= FULL_CLIENT_SHARE and demand <= MOST_SERVER_SHARE else "failed"), figures


def client_core(evidence: PairEvidence) -> Judgement:
    """Check that nothing else ran on the clients' core."""
    if evidence.run_delay_share is None:
        return "not applicable", "unknown here, or threads, which wait for each other"
    figures = f"waited {evidence.run_delay_share:.1%} of the time for its core, limit {MOST_RUN_DELAY_SHARE:.0%}"
    return ("failed" if evidence.run_delay_share > MOST_RUN_DELAY_SHARE else "passed"), figures


def steal(evidence: PairEvidence) -> Judgement:
    """Check that the hypervisor did not take the cores away."""
    if evidence.steal_share is None:
        return "not applicable", "this system does not say"
    figures = f"{evidence.steal_share:.1%} of CPU time stolen, limit {MOST_STEAL_SHARE:.0%}"
    return ("failed" if evidence.steal_share > MOST_STEAL_SHARE else "passed"), figures


def listen_drops(evidence: PairEvidence) -> Judgement:
    """Check that no connection was lost in a full listen queue."""
    if evidence.listen_drops is None:
        return "not applicable", "this kernel does not count them"
    figures = f"{evidence.listen_drops} in /proc/net/netstat during the pair"
    return ("failed" if evidence.listen_drops else "passed"), figures


def drift(evidence: PairEvidence) -> Judgement:
    """Check that the later half of the turns took as long as the earlier half, on at least one side.

    A machine that changes its pace does so for both sides. What drifts on one side alone is that side's doing.
    """
    moved = [_moved([turn for turn in evidence.turns if turn["side"] == side]) for side in "AB"]
    figures = f"the later turns took {moved[0]:+.1%} (A) and {moved[1]:+.1%} (B) longer, limit {MOST_DRIFT:.0%} on both"
    both = min(moved) > MOST_DRIFT or max(moved) < -MOST_DRIFT
    return ("failed" if both else "passed"), figures


def _moved(turns: Sequence[dict[str, Any]]) -> float:
    """Return by which share the later half of some turns took longer than the earlier half."""
    logs = [math.log(max(1, turn["makespan_ns"])) for turn in turns]
    half = len(logs) // 2
    return math.expm1(fmean(logs[half:]) - fmean(logs[:half]))


def knobs(evidence: PairEvidence) -> Judgement:
    """Check that what was set for the workers is what the workers found."""
    wrong = [
        f"side {side}: {name}: wanted {wanted!r}, got {evidence.knobs[side].get(name)!r}"
        for side, values in evidence.wanted_knobs.items()
        for name, wanted in values.items()
        if evidence.knobs[side].get(name) != wanted
    ]
    names = sorted({name for values in evidence.wanted_knobs.values() for name in values})
    return ("failed", "; ".join(wrong)) if wrong else ("passed", ", ".join(names))


CHECKS: dict[str, Callable[[PairEvidence], Judgement]] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "cap reached, never exceeded": cap,
    "requests counted alike": requests,
    "server had room": server_share,
    "client had its core": client_core,
    "no listen drops": listen_drops,
    "no CPU steal": steal,
    "turns steady": drift,
    "knobs reached the worker": knobs,
}


def blamed(evidence: PairEvidence) -> tuple[Literal["A", "B"], str] | None:
    """Return the side that did something wrong, and what; A where both did. None where neither did.

    Without added latency a cap that was not quite reached is nobody's fault: fetches are over too soon.
    """
    sides: tuple[Literal["A", "B"], ...] = ("A", "B")
    for side in sides:
        own = _of_side(evidence, side)
        for judge in (answer, failures, cap, requests, knobs):
            verdict, detail = judge(own)
            if verdict == "failed" and (judge is not cap or evidence.waits or detail.startswith("exceeded")):
                return side, detail
    return None


def _of_side(evidence: PairEvidence, side: str) -> PairEvidence:
    """Return what is known of one side alone."""
    seen = [(t, s) for t, s in zip(evidence.turns, evidence.server, strict=True) if t["side"] == side]
    return replace(
        evidence,
        turns=[turn for turn, _ in seen],
        server=[counts for _, counts in seen],
        differences=[text for text in evidence.differences if text.startswith(f"side {side}")],
        wanted_knobs={side: evidence.wanted_knobs[side]},
    )


def check(evidence: PairEvidence) -> tuple[Check, ...]:
    """Make every check."""
    return tuple(Check(name, *judge(evidence)) for name, judge in CHECKS.items())
