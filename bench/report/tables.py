"""The sections and tables of a page: throughput, memory, limits, probes, swarms, open loops, bytes of a block."""

from collections.abc import Sequence

from bench.core import cells as c
from bench.core.rows import Row
from bench.present import notes, section
from bench.present.markup import BAD, NOTES, listed
from bench.present.markup import table as markup
from bench.report.grids import grids
from bench.studies.decision_map import show as map_table
from bench.studies.throughput import show as throughput


def figures(rows: Sequence[Row]) -> str:
    """Return every section and table that the rows allow, as the terminal has them."""
    below, decided = grids(rows), map_table.of_rows(rows)
    below = [*([] if decided is None else map_table.grids(decided)), *below]
    parts = []
    if decided is None and (c.is_timed(rows) or not below):
        parts.append(section.html(throughput.section(rows)))
    elif decided or not any(row.valid for row in rows):
        parts.append(listed(notes.about_rows(c.crawled(rows) if decided else rows), NOTES))
    parts += map(markup, below)
    return "".join([*parts, listed(notes.about_red(rows), BAD)])
