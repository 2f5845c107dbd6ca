"""What the rules share: which rows count, ratios with their intervals, what to say when there is too little. Pure."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.core import stats, units
from bench.core.cells import Read
from bench.core.figures import Slope, spread
from bench.core.rows import Row
from bench.studies.claims.rules.outcome import Outcome, Value, Word

CLOSE = 0.10
"""Runs of one machine on different days differ by about as much; nearer to a boundary a verdict may turn over."""


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with the ends of its 95 % interval, or of its range over the rounds."""

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


def ratio(one: Iterable[Row], other: Iterable[Row], read: Read) -> Range | None:
    """Return how many times the other side's figure the one side has, with its 95 % t interval.

    Arms of common blocks, and other trials of common rounds, are compared as pairs. None where a side has no valid row
    with the figure.
    """
    logs = [
        {_place(row): math.log(value) for row in side if row.valid and (value := read(row))} for side in (one, other)
    ]
    if not all(logs):
        return None
    found = stats.compare(*logs).interval().ratio()
    return Range(found.estimate, found.low, found.high)


def _place(row: Row) -> Hashable:
    """Name what makes two rows a pair: the block of an arm, else the round."""
    return row.run, row.measured["block"] if row.kind == "arm" else row.round


def quotient(one: Range, other: Range) -> Range | None:
    """Return how many times the other one is: the widest that both ranges allow; None when that has no meaning."""
    if other.low <= 0 or one.low < 0:
        return None
    return Range(one.value / other.value, one.low / other.high, one.high / other.low)


def of_slope(slope: Slope) -> Range:
    """Return a slope with its 95 % interval."""
    return Range(slope.per_fetch, slope.low, slope.high)


def over_rounds(rows: Iterable[Row], read: Read, least: int = 2) -> Range | None:
    """Return median and range of a figure over the valid rows that have it; None if there are fewer than ``least``."""
    values = [value for row in rows if row.valid and (value := read(row)) is not None]
    if len(values) < least:
        return None
    found = spread(values)
    return Range(found.median, found.low, found.high)


@dataclass(frozen=True, slots=True)
class Case:
    """What all outcomes of a rule share: its rows, and what is told whatever the verdict is."""

    rows: Sequence[Row]
    region: str
    values: dict[str, Value]
    figures: Sequence[str]
    rule: str

    def decided(self, verdict: Word, told: str, *, close: bool = False) -> Outcome:
        """Return a verdict, with what decided it."""
        return Outcome(verdict, "; ".join(self.figures), self.region, self.values, f"{self.rule}; {told}", close)

    def undecided(self, why: str | None = None) -> Outcome:
        """Return that there is no verdict: ``not tested`` where no trial was started, else ``inconclusive``."""
        verdict: Word = "inconclusive" if any(row.status != "skipped" for row in self.rows) else "not tested"
        missing = why_too_little(self.rows)
        reason = "; ".join(filter(None, (why and f"{why}: {self.rule}", missing))) or f"too few trials: {self.rule}"
        return Outcome(verdict, "; ".join(self.figures) or reason, self.region, self.values, reason)


def why_too_little(rows: Sequence[Row]) -> str:
    """Say what is wrong with the rows that are not valid, the most frequent first; empty where all are."""
    bad = [row for row in rows if not row.valid]
    if not rows:
        return "no trial was run"
    kinds = Counter(kind for row in bad for kind in _reasons(row))
    told = "; ".join(f"{kind}{f' ({number} times)' if number > 1 else ''}" for kind, number in kinds.most_common(3))
    return f"{len(bad)} of {len(rows)} rows are not valid: {told}" if bad else ""


def _reasons(row: Row) -> list[str]:
    """Return what is wrong with a row: how it ended, or which of its checks are red (the row has their figures)."""
    if row.status != "ok":
        return [f"{row.status}: {row.reason}" if row.status != "skipped" else str(row.reason)]
    return [f'"{check.name}" failed' for check in row.failed_checks]


def shows_a_limit(row: Row) -> bool:
    """Tell whether a row that did not end well shows that this machine does not allow it.

    A crash, a timeout, a dead server or a memory budget show nothing of what is possible.
    """
    return row.cause == "limit"


def is_absent(row: Row) -> bool:
    """Tell whether the strategy of a row is not installed."""
    return row.cause == "not installed"


def of_kind(rows: Iterable[Row], kind: str, strategy: str | None = None) -> list[Row]:
    """Return the rows of a kind, and of a strategy (block, probe, resource) if one is named."""
    return [row for row in rows if row.kind == kind and strategy in {None, row.strategy}]


def arms(rows: Iterable[Row], strategy: str | None = None, role: str | None = None, **workload: object) -> list[Row]:
    """Return the rows of arms: of a strategy, of a role (else of all but placebos), of values of the workload."""
    return [
        row
        for row in of_kind(rows, "arm")
        if strategy in {None, row.workload["arm"]["strategy"]}
        and (row.workload["arm"]["role"] == role if role else row.workload["arm"]["role"] != "placebo")
        and workload.items() <= row.workload.items()
    ]


def arguments(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Return the rows of a probe's trials that had these arguments."""
    return [row for row in rows if wanted.items() <= row.workload["arguments"].items()]


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
    """Write a ratio with its interval; one block alone has none."""
    if math.isinf(found.high):
        return f"{units.times(found.value)} (one block)"
    return f"{units.times(found.value, 3)} ({units.number(found.low, 3)} to {units.number(found.high, 3)})"


def between(numbers: Sequence[int]) -> str:
    """Write the least and the greatest of some numbers: ``1 to 100``."""
    if not numbers:
        return "no number"
    low, high = min(numbers), max(numbers)
    return units.count(low) if low == high else f"{units.count(low)} to {units.count(high)}"
