"""What a terminal shows of a run: sections and tables, at most 100 columns wide."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from bench.core import cells as c
from bench.core.rows import Row
from bench.present import notes, section, text_grid
from bench.report.grids import grids
from bench.report.summary import summary_json
from bench.studies.decision_map import show as map_table
from bench.studies.throughput import show as throughput

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["print_summary", "summary_json", "summary_table"]

WIDTH = 100


def summary_table(rows: Sequence[Row], width: int = WIDTH) -> "Text":
    """Return what a run found, at most ``width`` wide: first the section of throughput, where strategies were timed.

    Below it, or in its place, stand the tables of memory, limits, probes, swarms and open loops.
    """
    from rich.text import Text

    text, below = Text(), text_grid.styled(grids(rows), width)
    decided = map_table.of_rows(rows)
    if decided is not None:
        text.append(map_table.text(decided, width) + "\n")
    if decided is None and (c.is_timed(rows) or not below):
        text.append_text(section.text(throughput.section(rows), width)).append("\n\n")
    elif decided or not any(row.valid for row in rows):
        _add_notes(text, notes.about_rows(c.crawled(rows) if decided else rows), width, "")
        text.append("\n")
    if below:
        text.append_text(below).append("\n")
    _add_notes(text, notes.about_red(rows), width, "red")
    text.rstrip()
    return text


def print_summary(rows: Sequence[Row], file: TextIO) -> None:
    """Print what a run found; with colour on a terminal only, and never where NO_COLOR is set."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print(summary_table(rows, width))


def _add_notes(text: "Text", sentences: Sequence[str], width: int, style: str) -> None:
    for sentence in sentences:
        text.append(text_grid.wrapped(sentence, width) + "\n", style)
