"""What the pairs of a self-test say: noise, false alarms, detection, and what a given time resolves. Pure."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.analyse import budget, error_rates, pairs, simulation
from bench.rows import Row

BUDGETS_S = (60, 300, 900)
WITH_MEMORY, TIMED = ("cpu_per_page", "throughput", "memory"), ("cpu_per_page", "throughput")


def good(found: Sequence[Row]) -> tuple[Row, ...]:
    """Return the pairs that count."""
    return pairs.tally(found).good


def noise(found: Sequence[Row]) -> dict[str, float]:
    """Return the standard deviation of each metric's pair values."""
    return spreads([pairs.values(row) for row in good(found)])


def spreads(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation of each name's values, as far as they are numbers."""
    finite = [{name: value for name, value in one.items() if math.isfinite(value)} for one in each]
    return {name: statistics.stdev(found) for name, found in pairs.series(finite).items() if len(found) > 1}


def pair_seconds(found: Sequence[Row]) -> dict[str, float]:
    """Return how long a pair takes: its turns, and what memory adds where it is measured."""
    with_memory = [row for row in good(found) if row.measured.get("memory") is not None]
    whole = statistics.median(row.duration_ns for row in good(found)) / 1e9
    if not with_memory:
        return {"turns": whole, "memory": 0.0}
    turns = statistics.median(row.measured["turns_ns"] for row in good(found)) / 1e9
    return {"turns": turns, "memory": max(0.0, whole - turns)}


def false_alarms(same: Sequence[Row]) -> dict[str, Any]:
    """Return the verdicts of decisions on pairs without a change: real ones, and many on pairs with random signs."""
    return {"real": _real(same), "resampled": _resampled(same, flipped=True)}


def detection(found: Sequence[Row]) -> dict[str, Any]:
    """Return which share of decisions found a planted slowdown, and how large it was seen."""
    values = [value for row in good(found) if (value := pairs.values(row).get("cpu_per_page")) is not None]
    resampled = _resampled(found, flipped=False)
    return {
        "pairs": len(values),
        "loops": found[0].workload["b"].get("planted_loops") if found else None,
        "seen": statistics.fmean(values) if values else None,
        "share": resampled["alarms"] / max(1, resampled["decisions"]),
        "decisions": resampled["decisions"],
        "mean_pairs": resampled["mean_pairs"],
        "real": _real(found),
    }


def resolves(same: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what change can be found in 1, 5 and 15 minutes, as a ratio, and what limits it.

    By the noise and the duration of these pairs.
    """
    if len(good(same)) < 2:
        return []
    taken, found = pair_seconds(same), []
    allowed: dict[str, Any]
    resolved: dict[str, Any]
    for whole_s in BUDGETS_S:
        for metrics in (WITH_MEMORY, TIMED):
            memory_s = taken["memory"] if "memory" in metrics else 0.0
            rule = budget.rule_for(whole_s, taken["turns"], memory_s=memory_s)
            if not isinstance(rule, budget.Refusal):
                smallest = simulation.smallest_found(noise(same)["cpu_per_page"], rule, len(metrics))
                resolved = {"smallest": math.exp(smallest.effect), "limited_by": smallest.limited_by}
                allowed = {"pairs": rule.looks[-1], "metrics": list(metrics)}
                break
        else:
            allowed, resolved = {"pairs": 0, "metrics": []}, {"smallest": None, "limited_by": None}
        found.append({"minutes": whole_s // 60} | allowed | resolved)
    return found


def _real(found: Sequence[Row]) -> dict[str, Any]:
    """Return the counts of decisions one after another, with the upper bound of their rate of alarms."""
    counts = error_rates.real(_values(found), pairs.CONTROLS)
    upper = error_rates.upper_bound(counts.alarms, counts.decisions)
    return asdict(counts) | {"pairs": len(good(found)), "upper": upper}


def _resampled(found: Sequence[Row], *, flipped: bool) -> dict[str, Any]:
    """Return the counts of decisions on pairs drawn from these."""
    counts = simulation.resampled(_values(found), pairs.CONTROLS, flipped=flipped)
    return asdict(counts) | {"pairs": len(good(found))}


def _values(found: Sequence[Row]) -> list[dict[str, float]]:
    gated = pairs.gated(good(found))
    return [
        {name: value for name, value in pairs.values(row).items() if name in gated} | pairs.controls(row)
        for row in good(found)
    ]


def left_out(series: Iterable[Sequence[Row]]) -> dict[str, Any]:
    """Return how many pairs were tried and left out, and why."""
    tallies = [pairs.tally(found) for found in series]
    reasons: dict[str, int] = {}
    for tally in tallies:
        for reason, number in tally.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + number
    lost = sum(tally.dropped + tally.failed_a + tally.failed_b for tally in tallies)
    return {"tried": lost + sum(len(tally.good) for tally in tallies), "left_out": lost, "reasons": reasons}
