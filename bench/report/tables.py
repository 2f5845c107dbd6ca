"""The sections and tables of a page: throughput, memory, limits, probes, swarms, open loops, bytes of a block."""

from collections.abc import Iterator, Sequence

from bench.core import cells as c
from bench.core.rows import Row
from bench.present import notes, section
from bench.present.markup import BAD, NOTES, listed
from bench.present.markup import table as markup
from bench.present.table import Group, Line, Table
from bench.report.grids import grids
from bench.studies.decision_map import show as map_table
from bench.studies.probes.show import attribution_lines
from bench.studies.throughput import show as throughput


def figures(rows: Sequence[Row]) -> str:
    """Return every section and table that the rows allow, as the terminal has them."""
    below, decided = grids(rows), map_table.of_rows(rows)
    below = [*([] if decided is None else map_table.grids(decided)), *below]
    parts: list[str] = []
    told = [] if decided else throughput.sections(rows)
    parts += map(section.html, told)
    if decided or not (told or any(row.valid for row in rows)):
        parts.append(listed(notes.about_rows(c.crawled(rows) if decided else rows), NOTES))
    parts += map(markup, [*below, *_attributed(rows)])
    return "".join([*parts, listed(notes.about_red(rows), BAD)])


def _attributed(rows: Sequence[Row]) -> Iterator[Table]:
    """Return a table of each block whose bytes a probe has followed."""
    title, lines = "", list[Line]()
    for line in [*attribution_lines(rows), ""]:
        if line.startswith("    "):
            size, _, what = line.strip().partition("  ")
            lines.append((what.strip(), size))
        elif line.startswith("  "):
            lines.append(Group(line.strip()))
        elif line:
            title = line
        elif lines:
            yield Table(title.capitalize(), ("what", "bytes each"), tuple(lines))
            lines = []
