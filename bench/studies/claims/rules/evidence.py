"""From rows to the figures of claims: which rows count, ratios and ranges with their intervals. Pure."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from inflight.bench.core import units
from inflight.bench.core.cells import Read
from inflight.bench.core.figures import spread
from inflight.bench.frame import statistics as stats
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.rows.bare import Probe
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.verdicts import Value

R = TypeVar("R", bound=Row)
CLOSE = 0.10
"""Relative distance to a boundary within which a verdict may change: runs on different days differ by as much."""
COROUTINES = ("generators", "native_asyncio")


@dataclass(frozen=True, slots=True)
class Unit:
    """Functions that write a figure with its interval, and a boundary."""

    range: Callable[["Range"], str]
    edge: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with the ends of its 95 % interval, or of its range over the rounds."""

    value: float
    low: float
    high: float
    unit: Unit

    def __str__(self) -> str:
        return self.unit.range(self)

    def side_of(self, boundary: float) -> Literal["below", "above", "across"]:
        """Return the side of a boundary on which the whole interval is; the boundary itself is above."""
        if self.high < boundary:
            return "below"
        return "above" if self.low >= boundary else "across"

    def is_close_to(self, *boundaries: float) -> bool:
        """Tell whether the interval reaches to within CLOSE of a boundary."""
        return any(self.low * (1 - CLOSE) <= boundary <= self.high * (1 + CLOSE) for boundary in boundaries)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A missing figure, with the reason."""

    reason: str

    def __str__(self) -> str:
        return f"unknown ({self.reason})"


Figure = Range | Unknown


def _size(found: Range) -> str:
    return f"{units.size(found.value)} (95 % {units.size_between(found.low, found.high)})"


def _times(found: Range) -> str:
    if math.isinf(found.high):
        return f"{units.times(found.value)} (one block)"
    return f"{units.times(found.value, 3)} ({units.number(found.low, 3)} to {units.number(found.high, 3)})"


def _span(found: Range) -> str:
    low, high = units.duration(found.low), units.duration(found.high)
    return units.duration(found.value) if low == high else f"{units.duration(found.value)} ({low} to {high})"


SIZE = Unit(_size, lambda edge: units.size(edge, 2))
BENT = Unit(lambda found: f"{units.size_between(found.low, found.high)} (the line is bent)", SIZE.edge)
TIMES = Unit(_times, lambda edge: f"{units.number_tick(round(edge, 3))}x")
SPAN = Unit(_span, lambda edge: units.duration(edge, 2))
SHARE = Unit(
    lambda found: f"{units.percent(found.value, 1)} ({100 * found.low:.1f} to {units.percent(found.high, 1)})",
    units.percent,
)
PER_S = Unit(
    lambda found: f"{units.number(found.value)} ({units.number(found.low)} to {units.number(found.high)})",
    units.number,
)
COUNT = Unit(lambda found: units.count(round(found.high)), lambda edge: units.count(round(edge)))


def value(found: Figure) -> float | None:
    """Return the value of a figure; None if unknown."""
    return found.value if isinstance(found, Range) else None


def values(ending: str, found: Mapping[str, Figure]) -> dict[str, Value]:
    """Return figures as values of an outcome, with this ending of their names."""
    return {f"{name}{ending}": value(one) for name, one in found.items()}


def ratio(one: Iterable[Row], other: Iterable[Row], read: Read) -> Figure:
    """Return the ratio of one side's figure to the other's, with its 95 % t interval.

    Arms of the same block, and other trials of the same round, are pairs.
    """
    logs = [{_place(row): math.log(size) for row in side if row.valid and (size := read(row))} for side in (one, other)]
    return ratio_of(*logs)


def ratio_of(one: stats.Logs, other: stats.Logs) -> Figure:
    """Return the ratio of one side's values to the other's, given by their logarithms, with its 95 % t interval."""
    if not one or not other:
        return Unknown("no valid row of one side")
    found = stats.compare(one, other).interval().ratio()
    return Range(found.estimate, found.low, found.high, TIMES)


def over(cell: Iterable[Row], one: str, other: str, read: Read) -> Figure:
    """Return the ratio of one strategy's figure to another's in the blocks of a cell."""
    rows = list(cell)
    return ratio(arms(rows, one), arms(rows, other), read)


def _place(row: Row) -> Hashable:
    """Return what two rows of a pair have in common: the block of an arm, else the round."""
    return row.run, row.measured.block if row.kind == "arm" else row.round


def slope(found: Slope | NoSlope) -> Figure:
    """Return a slope as a figure with its 95 % interval."""
    if isinstance(found, NoSlope):
        return Unknown(found.reason)
    return Range(found.per_fetch, found.low, found.high, SIZE if found.straight else BENT)


def slopes(one: Slope | NoSlope, other: Slope | NoSlope) -> Figure:
    """Return the ratio of two slopes, with the widest interval that both intervals allow."""
    first, second = slope(one), slope(other)
    if isinstance(first, Unknown) or isinstance(second, Unknown):
        return first if isinstance(first, Unknown) else second
    if second.low <= 0 or first.low < 0:
        return Unknown("a slope is not above 0")
    return Range(first.value / second.value, first.low / second.high, first.high / second.low, TIMES)


def over_rounds(rows: Iterable[Row], read: Read, unit: Unit, least: int = 2) -> Figure:
    """Return median and range of a figure over the valid rows; unknown with fewer than ``least`` values."""
    values = [size for row in rows if row.valid and (size := read(row)) is not None]
    if len(values) < least:
        return Unknown("too few valid rounds")
    found = spread(values)
    return Range(found.median, found.low, found.high, unit)


def resident_bytes(row: Row) -> float | None:
    """Return the resident memory of a worker after its slices."""
    size: float | None = row.measured.rss_bytes
    return size


# Which rows count


def is_absent(row: Row) -> bool:
    """Tell whether the strategy of a row is not installed."""
    return row.cause == "not installed"


def shows_a_limit(row: Row) -> bool:
    """Tell whether a row ended at a limit of this machine, not by a crash, a timeout or the memory budget."""
    return row.cause == "limit"


def of_type(rows: Iterable[Row], kind: type[R], strategy: str | None = None) -> list[R]:
    """Return the rows of a kind, and of a strategy (block, probe, resource) if given."""
    return [row for row in rows if isinstance(row, kind) and strategy in {None, row.strategy}]


def arms(rows: Iterable[Row], strategy: str | None = None, role: str | None = None, **workload: object) -> list[Row]:
    """Return the rows of arms by strategy, role (default: all but placebos) and values of the workload."""
    return [
        row
        for row in rows
        if row.kind == "arm"
        and strategy in {None, row.workload.arm.strategy}
        and (row.workload.arm.role == role if role else row.workload.arm.role != "placebo")
        and all(getattr(row.workload, name) == value for name, value in workload.items())
    ]


def probes(rows: Iterable[Row], probe: str, **arguments: object) -> list[Probe]:
    """Return the rows of a probe whose trials had these arguments."""
    return [row for row in of_type(rows, Probe, probe) if arguments.items() <= row.workload.arguments.items()]


def of_subjects(rows: Sequence[R], *strategies: str) -> Sequence[R]:
    """Return the rows that say whether a claim on some strategies was tested: theirs if none was started, else all."""
    own = [row for row in rows if (row.workload.arm.strategy if row.kind == "arm" else row.strategy) in strategies]
    return own if own and all(row.status == "skipped" for row in own) else rows


def by_strategy(rows: Iterable[R]) -> dict[str, list[R]]:
    """Return the rows by strategy, in alphabetical order."""
    found: dict[str, list[R]] = {}
    for row in sorted(rows, key=lambda row: row.strategy):
        found.setdefault(row.strategy, []).append(row)
    return found
