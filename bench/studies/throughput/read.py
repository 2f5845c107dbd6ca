"""Ratios of arms to the reference arm of the same block, and the workloads that tables show. Pure.

The value of a block is the logarithm of an arm's CPU time per page over that of its reference arm. The block is the
unit of analysis: its arms ran in fresh processes at the same time, so disturbances affected both.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inflight.bench.core import cells as c
from inflight.bench.core import workloads
from inflight.bench.core.cells import Cell, role
from inflight.bench.frame.statistics import Interval, t_interval
from inflight.bench.rows.crawls import Arm, ArmWorkload
from inflight.bench.rows.files import Row

MOST_COLUMNS = 4
USUAL_CAP = 100


class Column(NamedTuple):
    """A column of a table: one latency and one number in flight."""

    latency: str
    in_flight: int


@dataclass(frozen=True, slots=True)
class Contrast:
    """One arm compared with its reference on one workload."""

    arm: str
    reference: str
    role: str
    """``placebo`` (the reference under another name) or ``compared`` (any other arm)."""
    workload: ArmWorkload
    """The workload in the rows of the arm."""
    logs: Mapping[str, float]
    """The logarithm of the arm's CPU time per page over that of the reference, by block."""

    @property
    def interval(self) -> Interval:
        """The ratio with its 95 % t interval over the blocks."""
        return t_interval(list(self.logs.values())).ratio()


def contrasts(rows: Iterable[Row]) -> list[Contrast]:
    """Return the ratio of CPU time per page of each arm on each workload to its reference, in the order of the rows.

    A block counts for an arm if both the arm and the reference have valid rows.
    """
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    found = blocks(rows)
    name_of = c.arm_names(row for block in found for row in block)
    for block in found:
        reference = next((row for row in block if role(row) == "reference"), None)
        for row in block:
            if reference is not None and row is not reference:
                groups.setdefault((name_of(row), workloads.identity(row.workload)), []).append((row, reference))
    return [_contrast(name, pairs) for (name, _), pairs in groups.items()]


def blocks(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the valid rows of each block."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if isinstance(row, Arm) and row.valid:
            found.setdefault(f"{row.run}/{row.measured.block}", []).append(row)
    return list(found.values())


def placebos(found: Sequence[Contrast]) -> list[Contrast]:
    """Return the contrasts of placebo arms: the same code compared with itself."""
    return [contrast for contrast in found if contrast.role == "placebo"]


def _contrast(name: str, pairs: Sequence[tuple[Row, Row]]) -> Contrast:
    logs = {}
    for row, reference in pairs:
        logs[f"{row.run}/{row.measured.block}"] = math.log(
            row.measured.cpu_per_page_ns / reference.measured.cpu_per_page_ns
        )
    row, reference = pairs[0]
    return Contrast(name, reference.strategy, role(row), row.workload, logs)


def usual_cap(tried: Sequence[int]) -> int:
    """Return the number in flight nearest to USUAL_CAP, by ratio."""
    return min(tried, key=lambda cap: (abs(math.log(cap / USUAL_CAP)), cap))


def cpu_column(found: Sequence[Cell]) -> Column:
    """Return the column on which CPU time per page is compared: the shortest latency, about 100 in flight."""
    found = c.fillable(found)
    shortest = c.latencies(found)[0]
    return Column(shortest, usual_cap(c.caps(found, shortest)))


def rate_columns(found: Sequence[Cell]) -> list[Column]:
    """Return the columns of throughput: the longest latency at several caps, and that of CPU time if it is another."""
    longest = c.latencies(c.fillable(found))[-1]
    columns = [Column(longest, cap) for cap in c.evenly(c.caps(c.fillable(found), longest), MOST_COLUMNS)]
    cpu = cpu_column(found)
    return columns if cpu.latency == longest else [cpu, *columns]


def at(found: Sequence[Cell], column: Column) -> list[Cell]:
    """Return the cell of each strategy in a column; the cells share a setting."""
    return [cell for name in c.strategies_of(found) if (cell := c.at(found, name, *column)) is not None]


def reference_of(found: Sequence[Cell]) -> Cell | None:
    """Return the cell that others are compared with: the reference arm, or else callbacks, or else the cheapest."""
    good = [cell for cell in found if cell.valid_rows]
    named = [cell for cell in good if role(cell.valid_rows[0]) == "reference"]
    from inflight.bench.plan.arm import REFERENCE  # with it comes the site, which results of the API need not load

    named = named or [cell for cell in good if cell.strategy == REFERENCE]
    named = named or sorted(good, key=lambda cell: (cell.stack != "shared", cpu_ns(cell)))
    return named[0] if named else None


def cpu_ns(cell: Cell) -> float:
    """Return the CPU time per page of a cell; infinite without a valid one."""
    figure = cell.valid_figure(c.cpu_per_page_ns)
    return figure.estimate if figure else math.inf
