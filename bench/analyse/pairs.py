"""From the rows of pairs to one value a pair for each metric and each control: what ``decide`` decides on. Pure.

A value is the mean of ln(B) over its turns minus that of ln(A), turned so that B is worse above 0: CPU time and memory
as they are, throughput with its sign changed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from bench.analyse.model import Sensitivity, sensitivity_of
from bench.rows import Row

CONTROLS = {"spin": "spin_ns", "null client": "null_ns"}
LEAST_SENSITIVITY = 0.5
"""Throughput is gated where a slowdown moves it by at least half of itself; below, it would hide what it is to show."""

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the pairs that were tried."""

    good: tuple[Row, ...]
    failed_a: int
    failed_b: int
    dropped: int
    """Left out on an outside signal: a check that is red, whichever side was faster."""
    reasons: Mapping[str, int]
    """The names of the red checks and the reasons of failures, each with how many pairs had it."""

    @property
    def mostly_for(self) -> str:
        """The reason that most pairs have; empty without any."""
        return max(self.reasons, key=lambda reason: self.reasons[reason], default="")


def tally(rows: Iterable[Row]) -> Tally:
    """Sort the pairs: good ones, those in which a side failed, and those that an outside signal discards."""
    good, failed, dropped = [], Counter[str](), 0
    reasons: Counter[str] = Counter()
    for row in rows:
        if row.valid:
            good.append(row)
        elif row.status == "ok" or "failed_side" not in row.measured:
            dropped += 1
            reasons.update([check.name for check in row.failed_checks] or [str(row.reason)])
        else:
            failed[row.measured["failed_side"]] += 1
            reasons[f"{row.measured['failed_side']}: {row.reason}"] += 1
    return Tally(tuple(good), failed["A"], failed["B"], dropped, reasons)


def values(row: Row) -> dict[str, float]:
    """Return the value of each metric that the pair has; a figure of zero makes a value that is no number."""
    found = {
        "cpu_per_page": _contrast(row, lambda turn: turn["cpu_ns"]),
        "throughput": _contrast(row, lambda turn: turn["makespan_ns"]),
    }
    memory = row.measured.get("memory")
    if memory is not None and memory["reason"] is None:
        found["memory"] = _ln(_per_fetch(memory, "B")) - _ln(_per_fetch(memory, "A"))
    return {name: value for name, value in found.items() if name in row.workload["metrics"]}


def controls(row: Row) -> dict[str, float]:
    """Return the value of each negative control."""
    return {name: _difference(row.measured["controls"], key) for name, key in CONTROLS.items()}


def series(each: Sequence[Values]) -> dict[str, list[float]]:
    """Return the values of each metric over the pairs that have it, in their order."""
    names = dict.fromkeys(name for pair in each for name in pair)
    return {name: [pair[name] for pair in each if name in pair] for name in names}


def gated(good: Sequence[Row]) -> dict[str, list[float]]:
    """Return the values that a decision goes by: throughput only where CPU time moves it."""
    found = series([values(row) for row in good])
    if "throughput" in found and not is_throughput_gated(good):
        del found["throughput"]
    return found


def is_throughput_gated(good: Sequence[Row]) -> bool:
    """Tell whether throughput shows a slowdown on both sides."""
    sides = [sensitivity(good, side) for side in "AB"]
    return all(side is not None and side.low >= LEAST_SENSITIVITY for side in sides)


def sensitivity(good: Sequence[Row], side: str) -> Sensitivity | None:
    """Return the sensitivity of a side's throughput to its CPU time; None without pairs, and where either is nothing.

    A core that others used while the side waited for it counts as full: the side would have used it.
    """
    turns = [turn for row in good for turn in timed(row) if turn["side"] == side]
    if not turns:
        return None
    row, cpu_ns, per_s = good[0], figure(good, side, "cpu_per_page"), figure(good, side, "throughput")
    if cpu_ns <= 0 or per_s <= 0:
        return None
    return sensitivity_of(
        cpu_ns=cpu_ns,
        added_ns=row.workload["mean_latency_ns"],
        in_flight=median(turn["peak_in_flight"] for turn in turns),
        pages=turns[0]["pages"],
        per_s=per_s,
        core_share=median((turn["cpu_ns"] + (turn["run_delay_ns"] or 0)) / turn["makespan_ns"] for turn in turns),
    )


def figure(good: Sequence[Row], side: str, metric: str) -> float:
    """Return the median over the pairs of what a side takes.

    CPU time a page in nanoseconds, verified pages per second, or bytes of user memory a fetch in flight; NaN without
    pairs that have it.
    """
    if metric == "memory":
        held = [m for row in good if (m := row.measured.get("memory")) is not None and m["reason"] is None]
        return median(_per_fetch(memory, side) for memory in held) if held else math.nan
    read = _cpu_per_page_ns if metric == "cpu_per_page" else _pages_per_s
    found = [read(turn) for row in good for turn in timed(row) if turn["side"] == side]
    return median(found) if found else math.nan


def timed(row: Row) -> list[dict[str, Any]]:
    """Return the turns that count, in their order: the warm-up is kept in the row, and is no part of any figure."""
    return [turn for turn in row.measured["turns"] if not turn["warm_up"]]


def _cpu_per_page_ns(turn: Mapping[str, Any]) -> float:
    return float(turn["cpu_ns"] / max(1, turn["pages"] - turn["failed_pages"]))


def _pages_per_s(turn: Mapping[str, Any]) -> float:
    return float((turn["pages"] - turn["failed_pages"]) / max(1, turn["makespan_ns"]) * 1e9)


def _per_fetch(memory: Mapping[str, Any], side: str) -> float:
    (few, many), (low, high) = memory["sizes"], memory[side]
    return float((high - low) / (many - few))


def _contrast(row: Row, read: Any) -> float:
    sides: dict[str, list[float]] = {"A": [], "B": []}
    for turn in timed(row):
        sides[turn["side"]].append(_ln(read(turn)))
    return fmean(sides["B"]) - fmean(sides["A"])


def _difference(entries: Sequence[Mapping[str, Any]], key: str) -> float:
    sides: dict[str, list[float]] = {"A": [], "B": []}
    for entry in entries:
        sides[entry["side"]].append(_ln(entry[key]))
    return fmean(sides["B"]) - fmean(sides["A"])


def _ln(value: float) -> float:
    """Return the logarithm; of nothing, and of less, NaN, which ``decide`` answers with a sentence."""
    return math.log(value) if value > 0 else math.nan
