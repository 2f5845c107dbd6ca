"""The figures of a self-test from its blocks: noise, false alarms, detection, and what a given time resolves. Pure."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inflight.bench.frame.statistics import t_interval
from inflight.bench.studies.compare import read, simulation
from inflight.bench.studies.compare.effect import NAMES
from inflight.bench.studies.compare.read import TIMED, Block
from inflight.bench.studies.compare.rule import rule_for

BUDGETS_S = (60, 300, 900)


def good(found: Sequence[Block]) -> tuple[Block, ...]:
    """Return the good blocks."""
    return read.tally(found).good


def noise(found: Sequence[Block]) -> dict[str, float]:
    """Return the standard deviation of each metric's values."""
    return spreads([read.values(block) for block in good(found)])


def spreads(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation of each name's finite values."""
    finite = [{name: value for name, value in one.items() if math.isfinite(value)} for one in each]
    return {name: statistics.stdev(found) for name, found in read.series(finite).items() if len(found) > 1}


def means(found: Sequence[Block]) -> dict[str, float]:
    """Return the mean of each metric's values: how much the sides differ, as a logarithm."""
    values = read.series([read.values(block) for block in good(found)])
    return {name: statistics.fmean(filter(math.isfinite, own)) for name, own in values.items()}


def block_seconds(found: Sequence[Block]) -> dict[str, float]:
    """Return the median seconds of a block: its slices, and what memory adds if it is measured."""
    whole_ns = statistics.median(block.arms["reference"].duration_ns for block in good(found))
    memory_ns = [sum(row.duration_ns for own in block.memory.values() for row in own) for block in good(found)]
    measured_ns = [taken_ns for taken_ns in memory_ns if taken_ns]
    return {"slices": whole_ns / 1e9, "memory": statistics.median(measured_ns) / 1e9 if measured_ns else 0.0}


def false_alarms(same: Sequence[Block], apart: Mapping[str, float]) -> dict[str, Any]:
    """Return the verdicts on blocks without a change.

    ``apart`` is the difference of the sides, which is subtracted from the values of each block; empty for equal sides.
    """
    return {"real": _real(_values(same, apart))}


def detection(found: Sequence[Block], apart: Mapping[str, float]) -> dict[str, Any]:
    """Return the share of decisions that found a planted slowdown, and its measured size (95 % interval)."""
    every = _values(found, apart)
    values = [value for one in every if (value := one.get("cpu_per_page")) is not None]
    seen = t_interval(values) if len(values) > 1 else None
    resampled = simulation.resampled(every, read.CONTROLS)
    return {
        "blocks": len(values),
        "loops": read.arm(found[0], "B").planted_loops if found else None,
        "seen": None if seen is None else seen.estimate,
        "low": None if seen is None else seen.low,
        "high": None if seen is None else seen.high,
        "share": resampled.share_found,
        "decisions": resampled.decisions,
        "mean_blocks": resampled.mean_blocks,
        "real": _real(every),
    }


def resolves(same: Sequence[Block]) -> list[dict[str, Any]]:
    """Return the change that can be found in 1, 5 and 15 minutes, as a ratio, and what limits it.

    It follows from the noise and the duration of these blocks. Memory is excluded if there is no time for it.
    """
    if len(good(same)) < 2:
        return []
    taken, sd = block_seconds(same), noise(same)["cpu_per_page"]
    found: list[dict[str, Any]] = []
    for whole_s in BUDGETS_S:
        told: dict[str, Any] = {"blocks": 0, "metrics": [], "smallest": None, "limited_by": None}
        for metrics in (tuple(NAMES), TIMED) if taken["memory"] else (TIMED,):
            memory_s = taken["memory"] if "memory" in metrics else 0.0
            if rule := rule_for(whole_s, taken["slices"], memory_s=memory_s):
                smallest = simulation.smallest_found(sd, rule, len(metrics))
                told = {"blocks": rule.looks[-1], "metrics": list(metrics)}
                told |= {"smallest": math.exp(smallest.effect), "limited_by": smallest.limited_by}
                break
        found.append({"minutes": whole_s // 60} | told)
    return found


def _real(values: list[dict[str, float]]) -> dict[str, Any]:
    """Return the counts of consecutive decisions, with the upper bound of their rate of alarms."""
    counts = simulation.real(values, read.CONTROLS)
    upper = simulation.rate_bounds(counts.alarms, counts.decisions)[1]
    return asdict(counts) | {"blocks": len(values), "upper": upper}


def _values(found: Sequence[Block], apart: Mapping[str, float]) -> list[dict[str, float]]:
    """Return the gated values of each good block without the difference of the sides, and its controls."""
    names = read.asked(found, "gated")
    return [
        {name: value - apart.get(name, 0.0) for name, value in read.values(block).items() if name in names}
        | read.controls_of(block)
        for block in good(found)
    ]


def left_out(series: Iterable[Sequence[Block]]) -> dict[str, Any]:
    """Return the numbers of blocks tried and left out, with the reasons."""
    tallies = [read.tally(found) for found in series]
    reasons: Counter[str] = Counter()
    for tally in tallies:
        reasons.update(tally.reasons)
    lost = sum(tally.lost for tally in tallies)
    return {"tried": lost + sum(len(tally.good) for tally in tallies), "left_out": lost, "reasons": dict(reasons)}
