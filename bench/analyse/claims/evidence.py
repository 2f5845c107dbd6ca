"""What the rules share: which rows count, ranges and their ratios, what to say when there is too little. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.analyse import cells
from bench.analyse.cells import Read
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.analyse.stats import Slope, Spread, differ
from bench.core.stats import compare
from bench.present import units
from bench.rows import Row

LEAST_ROUNDS = 2
"""A range needs two rounds: one alone says nothing of how much it would differ from another."""
CLOSE = 0.10
"""Runs of one machine on different days differ by about as much; nearer to a boundary a verdict may turn over."""
ALIKE = 1.10
"""Two sides whose ratio is surely in [1 / ALIKE, ALIKE] are alike: harness and machine drift by less."""


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with the ends of its interval or of its range over the rounds."""

    value: float
    low: float
    high: float

    def side_of(self, boundary: float) -> Literal["below", "above", "across"]:
        """Say on which side of a boundary all of it lies; the boundary itself is above."""
        if self.high < boundary:
            return "below"
        return "above" if self.low >= boundary else "across"

    def is_close_to(self, *boundaries: float) -> bool:
        """Tell whether it reaches to within CLOSE of one of the boundaries."""
        return any(self.low * (1 - CLOSE) <= boundary <= self.high * (1 + CLOSE) for boundary in boundaries)


def of_slope(slope: Slope) -> Range:
    """Return a slope with its 95 % interval."""
    return Range(slope.per_fetch, slope.low, slope.high)


def of_spread(found: Spread) -> Range:
    """Return a median with the range of its rounds."""
    return Range(found.median, found.low, found.high)


def ratio(one: Range | Spread, other: Range | Spread) -> Range | None:
    """Return how many times the other one is; None when that has no meaning.

    Of two figures over rounds, the ratio of the medians with its 95 % interval; of two slopes, or of single rounds, the
    widest ratio that the ends allow.
    """
    above, below = (side if isinstance(side, Range) else of_spread(side) for side in (one, other))
    if below.low <= 0 or above.low < 0:
        return None
    value = above.value / below.value
    if isinstance(one, Spread) and isinstance(other, Spread) and min(len(one.logs), len(other.logs)) > 1:
        found = compare(one.logs, other.logs).interval().ratio()
        return Range(value, min(value, found.low), max(value, found.high))
    return Range(value, above.low / below.high, above.high / below.low)


def spread_of(rows: Iterable[Row], read: Read) -> Spread | None:
    """Return median and range of a figure over the valid rows that have it."""
    return cells.spread_of((row for row in rows if row.valid), read)


Difference = Literal["less", "more", "alike", "unclear", "unknown"]


def difference(one: Spread | None, other: Spread | None) -> Difference:
    """Say how one side differs from the other; ``alike`` is a ratio within [1 / ALIKE, ALIKE], interval included."""
    if one is None or other is None or min(one.rounds, other.rounds) < LEAST_ROUNDS:
        return "unknown"
    match differ(one, other, margin=math.log(ALIKE)):
        case "differs":
            return "less" if one.median < other.median else "more"
        case "same":
            return "alike"
        case _:
            return "unclear"


def why_too_little(rows: Sequence[Row]) -> str:
    """Say why there are too few valid rows: what the others have as their reasons, the most frequent first."""
    bad = [row for row in rows if not row.valid]
    if not rows:
        return "no trial was run"
    if not bad:
        return f"only {units.count(len(rows))} {'trial was' if len(rows) == 1 else 'trials were'} run"
    kinds = Counter(kind for row in bad for kind in _reasons(row))
    told = "; ".join(f"{kind}{f' ({number} times)' if number > 1 else ''}" for kind, number in kinds.most_common(3))
    return f"{len(bad)} of {len(rows)} rows are not valid: {told}"


LIMITS_IN_WORDS = ("can't start new thread", "could be started", "Too many open files", "MemoryError")
"""What CPython and the kernel say when a limit, and nothing else, is why something could not be had."""


def shows_a_limit(row: Row) -> bool:
    """Tell whether a row that did not end well shows that this machine does not allow it.

    A preflight that names a limit does, and so do the words that a limit makes CPython say. A crash, a timeout, a dead
    server or a memory budget show nothing of what is possible.
    """
    reason = str(row.reason)
    if "budget" in reason:
        return False
    if row.status == "skipped":
        return "not installed" not in reason
    return row.status == "failed" and any(words in reason for words in LIMITS_IN_WORDS)


def inconclusive(
    rows: Sequence[Row], region: str, values: dict[str, Value], reason: str | None = None, figures: str = ""
) -> Outcome:
    """Return the outcome when no verdict can be given; without a reason, the rows' own reasons are told."""
    told = reason or why_too_little(rows)
    return Outcome("inconclusive", figures or told, region, values, told)


def decided(
    verdict: Word, figures: Iterable[str], region: str, values: dict[str, Value], reason: str, *, close: bool = False
) -> Outcome:
    """Return an outcome whose figures are joined to one line."""
    return Outcome(verdict, "; ".join(figures), region, values, reason, close)


def of_kind(rows: Iterable[Row], kind: str, strategy: str | None = None) -> list[Row]:
    """Return the rows of a kind, and of a strategy (block, probe, resource) if one is named."""
    return [row for row in rows if row.kind == kind and strategy in {None, row.strategy}]


def crawls(
    rows: Iterable[Row], strategy: str, latency: str, in_flight: int, connection: str = "keep-alive"
) -> list[Row]:
    """Return the timed trials of one cell."""
    wanted = {"latency": latency, "in_flight": in_flight, "connection": connection}
    return [row for row in of_kind(rows, "crawl", strategy) if wanted.items() <= row.workload.items()]


def strategies(rows: Iterable[Row]) -> list[str]:
    """Return the names that the rows have, each once, in alphabetical order."""
    return sorted({row.strategy for row in rows})


def sized(found: Range, *, straight: bool = True) -> str:
    """Write a size with its interval; the range alone where the line is bent."""
    between = units.size_between(found.low, found.high)
    if not straight:
        return f"{between} (the line is bent)"
    return f"{units.size(found.value)} (95 % {between})"


def timed(found: Range) -> str:
    """Write a duration with its range."""
    low, high = units.duration(found.low), units.duration(found.high)
    return units.duration(found.value) if low == high else f"{units.duration(found.value)} ({low} to {high})"


def rated(found: Range) -> str:
    """Write a ratio with its range."""
    return f"{units.times(found.value)} ({units.number(found.low, 2)} to {units.number(found.high, 2)})"


def between(numbers: Sequence[int]) -> str:
    """Write the least and the greatest of some numbers: ``1 to 100``."""
    if not numbers:
        return "no number"
    low, high = min(numbers), max(numbers)
    return units.count(low) if low == high else f"{units.count(low)} to {units.count(high)}"


def _reasons(row: Row) -> list[str]:
    """Return what is wrong with a row: how it ended, or which of its checks are red (the row has their figures)."""
    if row.status != "ok":
        return [f"{row.status}: {row.reason}" if row.status != "skipped" else str(row.reason)]
    return [f'"{check.name}" failed' for check in row.failed_checks]
