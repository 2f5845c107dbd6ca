"""What the pairs of a self-test say: noise, false alarms, detection, and what a given time resolves. Pure."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.analyse import budget, error_rates, pairs
from bench.analyse.decide import DESIGNED
from bench.rows import Row

DECISIONS = 300
SEED = 20260101
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
    """Return the verdicts of decisions on pairs without a change: real ones, and many resampled from these pairs."""
    return {"real": _counts(same, resampled=False), "resampled": _counts(same, resampled=True)}


def detection(found: Sequence[Row]) -> dict[str, Any]:
    """Return which share of decisions found a planted slowdown, with its lower bound, and how large it was seen."""
    values = [value for row in good(found) if (value := pairs.values(row).get("cpu_per_page")) is not None]
    real, resampled = _counts(found, resampled=False), _counts(found, resampled=True)
    share = resampled["alarms"] / resampled["decisions"] if resampled["decisions"] else 0.0
    return {
        "pairs": len(values),
        "loops": found[0].workload["b"].get("planted_loops") if found else None,
        "seen": statistics.fmean(values) if values else None,
        "share": share,
        "decisions": resampled["decisions"],
        "mean_pairs": resampled["mean_pairs"],
        "lower": error_rates.lower_bound(resampled["alarms"], resampled["decisions"]),
        "real": real,
    }


def resolves(same: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what change can be found in 1, 5 and 15 minutes, as a ratio, by the noise and duration of these pairs."""
    if len(good(same)) < 2:
        return []
    taken, found = pair_seconds(same), []
    for whole_s in BUDGETS_S:
        for metrics in (WITH_MEMORY, TIMED):
            memory_s = taken["memory"] if "memory" in metrics else 0.0
            rule = budget.rule_for(whole_s, taken["turns"], memory_s=memory_s)
            if not isinstance(rule, budget.Refusal):
                last = rule.looks[-1]
                sd = noise(same)["cpu_per_page"]
                smallest = math.exp(budget.smallest(sd, last, len(metrics), rule))
                found.append({"minutes": whole_s // 60, "pairs": last, "metrics": list(metrics), "smallest": smallest})
                break
        else:
            found.append({"minutes": whole_s // 60, "pairs": 0, "metrics": [], "smallest": None})
    return found


def _counts(found: Sequence[Row], *, resampled: bool) -> dict[str, Any]:
    """Return the counts of decisions, real or resampled, with the bound of their rate of alarms."""
    own = good(found)
    gated = pairs.gated(own)
    each = [
        {name: value for name, value in pairs.values(row).items() if name in gated} | pairs.controls(row) for row in own
    ]
    if len(each) < DESIGNED.looks[0]:
        counts = error_rates.Counts(0, 0, 0, 0, 0.0)
    elif resampled:
        counts = error_rates.resample(each, pairs.CONTROLS, DECISIONS, SEED)
    else:
        counts = error_rates.real(each, pairs.CONTROLS)
    upper = error_rates.upper_bound(counts.alarms, counts.decisions)
    return asdict(counts) | {"pairs": len(each), "upper": upper}


def left_out(series: Iterable[Sequence[Row]]) -> dict[str, Any]:
    """Return how many pairs were tried and left out, and why."""
    tallies = [pairs.tally(found) for found in series]
    reasons: dict[str, int] = {}
    for tally in tallies:
        for reason, number in tally.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + number
    lost = sum(tally.dropped + tally.failed_a + tally.failed_b for tally in tallies)
    return {"tried": lost + sum(len(tally.good) for tally in tallies), "left_out": lost, "reasons": reasons}
