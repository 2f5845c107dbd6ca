"""The headline table as data: which columns an experiment allows, one line a strategy, and what was left out. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.analyse import cells as c
from bench.analyse.cells import Cell, Figure, Setting
from bench.analyse.model import Sensitivity, sensitivity
from bench.analyse.stats import NoSlope, Slope
from bench.rows import Row

MOST_COLUMNS = 4
USUAL_CAP = 100


@dataclass(frozen=True, slots=True)
class Column:
    """One figure at one latency and one number in flight."""

    measure: Literal["pages_per_s", "cpu_per_page_ns"]
    latency: str
    in_flight: int


@dataclass(frozen=True, slots=True)
class Line:
    """One strategy: a figure or a word for each column, its memory, and how many of its trials are red."""

    strategy: str
    stack: str
    entries: tuple[Figure | str, ...]
    sensitivities: tuple[Sensitivity | None, ...]
    """Of each column's throughput to CPU time; None where the column has no valid one, or another figure."""
    memory: Slope | NoSlope | None
    """None when the experiment has no memory trials of this strategy."""
    trials: int
    red: int


@dataclass(frozen=True, slots=True)
class Table:
    """One setting's table."""

    setting: Setting | None
    """None when there are memory trials only."""
    differs: dict[str, object]
    """What of the site differs from the other tables' sites."""
    memory_setting: Setting | None
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    left_out_latencies: tuple[str, ...]
    left_out_caps: tuple[tuple[str, tuple[int, ...]], ...]
    """(latency, numbers in flight) that were measured at a latency shown, but have no column."""
    left_out_memory: int
    """How many other settings of memory trials there are."""


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each setting of the crawl trials, the one with the most cells first."""
    crawl, memory = c.cells(rows, "crawl"), c.cells(rows, "memory")
    found = c.settings(crawl)
    chosen: list[Setting | None] = [*found] or [None]
    return [_table(rows, setting, found, crawl, memory) for setting in chosen if rows]


def choose_caps(tried: Sequence[int], most: int = MOST_COLUMNS) -> list[int]:
    """Return at most so many of the numbers in flight: the first, the last, and evenly from between."""
    if len(tried) <= most:
        return list(tried)
    return [tried[round(step * (len(tried) - 1) / (most - 1))] for step in range(most)]


def usual_cap(tried: Sequence[int]) -> int:
    """Return the number in flight nearest to 100, on a scale of ratios."""
    return min(tried, key=lambda cap: (abs(math.log(cap / USUAL_CAP)), cap))


def choose_columns(found: Sequence[Cell]) -> list[Column]:
    """Choose the columns that tell most.

    Throughput at the longest latency over the caps; throughput and CPU time a page at the shortest, with about 100 in
    flight.
    """
    found = c.fillable(found)
    latencies = c.latencies(found)
    if not latencies:
        return []
    shortest, longest = latencies[0], latencies[-1]
    cap = usual_cap(c.caps(found, shortest))
    columns = [Column("pages_per_s", longest, n) for n in choose_caps(c.caps(found, longest))]
    if shortest != longest:
        columns.insert(0, Column("pages_per_s", shortest, cap))
    return [*columns, Column("cpu_per_page_ns", shortest, cap)]


def _table(
    rows: Sequence[Row],
    setting: Setting | None,
    found: Sequence[Setting],
    crawl: Sequence[Cell],
    memory: Sequence[Cell],
) -> Table:
    own = [cell for cell in crawl if cell.setting == setting]
    columns = choose_columns(own)
    memory_settings = c.settings(memory)
    same_use = [s for s in memory_settings if setting is None or s.connection == setting.connection]
    memory_setting = same_use[0] if same_use else None
    held = [cell for cell in memory if cell.setting == memory_setting]
    lines = [_line(rows, own, held, name, stack, columns) for name, stack in c.strategies(c.crawled(rows)).items()]
    shown = {
        latency: [column.in_flight for column in columns if column.latency == latency] for latency in c.latencies(own)
    }
    return Table(
        setting,
        {} if setting is None else c.differing(setting, found),
        memory_setting,
        tuple(columns),
        tuple(sorted(lines, key=_rank)),
        tuple(latency for latency, caps in shown.items() if not caps),
        tuple(
            (latency, left)
            for latency, caps in shown.items()
            if caps and (left := tuple(sorted(set(c.caps(own, latency)) - set(caps))))
        ),
        max(0, len(memory_settings) - 1) if len(found) < 2 else 0,
    )


def _line(
    rows: Sequence[Row], own: Sequence[Cell], held: Sequence[Cell], name: str, stack: str, columns: Sequence[Column]
) -> Line:
    trials = [row for row in rows if row.strategy == name]
    entries = tuple(_entry(c.at(own, name, column.latency, column.in_flight), column) for column in columns)
    sensitivities = tuple(
        sensitivity(cell.valid_rows)
        if column.measure == "pages_per_s" and (cell := c.at(own, name, column.latency, column.in_flight))
        else None
        for column in columns
    )
    memory = c.memory_of(held, name) if any(cell.strategy == name for cell in held) else None
    return Line(name, stack, entries, sensitivities, memory, len(trials), sum(not row.valid for row in trials))


def _entry(cell: Cell | None, column: Column) -> Figure | str:
    """Return the figure; or, without one, the word for why there is none: the trials' status, or nothing measured."""
    if cell is None:
        return ""
    figure = cell.figure(c.pages_per_s if column.measure == "pages_per_s" else c.cpu_per_page_ns)
    return figure or next((row.status for row in cell.rows if row.status != "ok"), "")


def _rank(line: Line) -> tuple[object, ...]:
    """Order lines: shared stack first; then by the last throughput column that has a valid figure, greatest first."""
    medians = [entry.spread.median if isinstance(entry, Figure) and entry.valid else -1.0 for entry in line.entries]
    return line.stack != "shared", [-median for median in reversed(medians[:-1])], line.strategy
