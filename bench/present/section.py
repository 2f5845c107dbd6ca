"""A section: what a study found, for any renderer: a title that states the finding, tables, and notes.

Each function here writes a section in one form: as text of a terminal, as Markdown, as HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.present import markup as report_markup
from bench.present import text_grid
from bench.present.markdown import escaped, row
from bench.present.text_grid import Grid

if TYPE_CHECKING:
    from rich.text import Text

PROSE = frozenset({"stopped by", "bound by", "connections", "best", "verdict", "where it comes from"})
"""Heads of columns that hold words, not figures."""


@dataclass(frozen=True, slots=True)
class Section:
    """What a study found."""

    title: str
    """The finding, in one sentence without its full stop; empty where there is none."""
    tables: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences below the tables."""
    first: tuple[str, ...] = ()
    """Sentences that stand above everything else: how far the figures can be trusted."""


def text(section: Section, width: int) -> "Text":
    """Return the section for a terminal, at most ``width`` wide."""
    from rich.text import Text

    found = Text()
    for sentence in section.first:
        found.append(text_grid.wrapped(sentence, width) + "\n")
    if section.title:
        found.append(text_grid.wrapped(f"{section.title}.", width) + "\n\n", "bold")
    if section.tables:
        found.append_text(text_grid.styled(section.tables, width)).append("\n")
    for note in section.notes:
        found.append(text_grid.wrapped(note, width) + "\n", "dim")
    found.rstrip()
    return found


def markdown(section: Section) -> str:
    """Return the section as Markdown."""
    title = f"**{escaped(section.title)}.**" if section.title else ""
    parts = [_list(section.first), title, *map(table_markdown, section.tables), _list(section.notes)]
    return "\n\n".join(filter(None, parts))


def table_markdown(grid: Grid) -> str:
    """Return a table as Markdown, with its title and its sentences."""
    title = f"**{escaped(grid.title)}**" if grid.title else ""
    if not grid.heads:
        lines = [f"- {': '.join(escaped(cell) for cell in cells)}" for cells in grid.lines]
    else:
        rules = ["---", *("---" if head in PROSE else "---:" for head in grid.heads[1:])]
        lines = [row(map(escaped, grid.heads)), f"|{'|'.join(rules)}|"]
        for cells in grid.lines:
            group = [cells[0].strip("─ "), *[""] * (len(grid.heads) - 1)]
            lines.append(row(map(escaped, cells if len(cells) > 1 else group)))
    return "\n\n".join(filter(None, [title, "\n".join(lines), _list(grid.notes)]))


def html(section: Section) -> str:
    """Return the section as markup of a page."""
    title = report_markup.paragraph(f"{section.title}.") if section.title else ""
    first = "".join(map(report_markup.paragraph, section.first))
    tables = "".join(map(table_html, section.tables))
    return first + title + tables + report_markup.listed(section.notes, report_markup.NOTES)


def table_html(grid: Grid) -> str:
    """Return a table as markup of a page, with its sentences; without heads, each line has a name and words."""
    heads = grid.heads or ("", "found")
    prose = frozenset(n for n, head in enumerate(heads) if head in PROSE) | ({1} if not grid.heads else frozenset())
    lines: list[report_markup.Line] = [
        tuple(report_markup.Cell(cell, red="✗" in cell) for cell in cells)
        if len(cells) > 1
        else report_markup.Group(cells[0].strip("─ "))
        for cells in grid.lines
    ]
    made = report_markup.Table(grid.title, tuple(map(report_markup.Head, heads)), tuple(lines), prose)
    return report_markup.table(made) + report_markup.listed(grid.notes, report_markup.NOTES)


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
