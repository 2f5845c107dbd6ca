"""The tables of a page: the headline, memory in layers, limits, probes, swarms, open loops, bytes of a block."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from bench.analyse import cells as c
from bench.analyse.cells import Figure
from bench.analyse.headline import Column, tables
from bench.analyse.headline import Line as Strategy
from bench.analyse.headline import Table as Headline
from bench.present import map_table, notes, table, units, words
from bench.present.attribution import attribution_lines
from bench.present.memory_table import grids
from bench.present.report_markup import BAD, NOTES, Cell, Group, Head, Line, Table, listed
from bench.present.report_markup import table as markup
from bench.present.text_grid import Grid
from bench.rows import Row

_WITH = {"pages_per_s": "pages/s", "cpu_per_page_ns": "CPU per page"}


def headline(rows: Sequence[Row]) -> str:
    """Return every table that the rows allow, each with its sentences, as the terminal has them."""
    crawled = c.crawled(rows)
    below, decided = grids(rows), map_table.of_rows(rows)
    below = [*([] if decided is None else map_table.grids(decided)), *below]
    timed = decided is None and c.is_timed(rows)
    found = tables(crawled) if timed or not below else []
    parts = [
        markup(_headline(one, number)) + listed(notes.about_table(one), NOTES) for number, one in enumerate(found, 1)
    ]
    if found or not below or not any(row.valid for row in rows):
        parts.append(listed(notes.about_rows(crawled if found else rows), NOTES))
    parts += [markup(_grid(grid)) + listed(grid.notes, NOTES) for grid in below]
    parts += [markup(one) for one in _attributed(rows)]
    return "".join([*parts, listed(notes.about_red(rows), BAD)])


def _headline(one: Headline, number: int) -> Table:
    has_memory = any(line.memory is not None for line in one.lines)
    heads = [Head("strategy")]
    for (measure, latency), group in groupby(one.columns, key=lambda column: (column.measure, column.latency)):
        labels = tuple(words.in_flight(column.in_flight) for column in group)
        heads.append(Head(f"{_WITH[measure]}, {units.latency(latency)}", labels))
    heads += [Head("user memory per fetch in flight")] if has_memory else []
    what = "Throughput and CPU time" if one.columns else "User memory"
    where = table.setting_title(one) or f"workload {number}"
    lines: list[Line] = []
    for is_shared, strategies in groupby(one.lines, key=lambda line: line.stack == "shared"):
        lines += [] if is_shared else [Group("with an HTTP stack of their own")]
        lines += [_strategy(line, one.columns, has_memory=has_memory) for line in strategies]
    return Table(f"{what}: {where}", (*heads, Head("trials")), tuple(lines))


def _strategy(line: Strategy, columns: Sequence[Column], *, has_memory: bool) -> tuple[Cell, ...]:
    entries = [
        Cell(table.entry_text(entry, column), red=isinstance(entry, Figure) and not entry.valid)
        for entry, column in zip(line.entries, columns, strict=True)
    ]
    memory = [Cell(words.memory(line.memory))] if has_memory else []
    trials = Cell(table.trials_text(line), red=bool(line.red))
    return (Cell(words.plain(line.strategy, 60)), *entries, *memory, trials)


def _grid(grid: Grid) -> Table:
    """Return a table of the terminal; where that has no heads, each line has a name and words."""
    heads = grid.heads or ("", "found")
    prose = frozenset() if grid.heads else frozenset({1})
    prose |= {n for n, head in enumerate(heads) if head in {"stopped by", "bound by", "connections", "best", "verdict"}}
    lines = tuple(
        tuple(Cell(text, red="✗" in text) for text in cells) if len(cells) > 1 else Group(cells[0].strip("─ "))
        for cells in grid.lines
    )
    return Table(grid.title, tuple(map(Head, heads)), lines, prose)


def _attributed(rows: Sequence[Row]) -> Iterator[Table]:
    """Return a table of each block whose bytes a probe has followed."""
    title, lines = "", list[Line]()
    for line in [*attribution_lines(rows), ""]:
        if line.startswith("    "):
            size, _, what = line.strip().partition("  ")
            lines.append((Cell(what.strip()), Cell(size)))
        elif line.startswith("  "):
            lines.append(Group(line.strip()))
        elif line:
            title = line
        elif lines:
            yield Table(title.capitalize(), (Head("what"), Head("bytes each")), tuple(lines))
            lines = []
