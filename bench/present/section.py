"""A section of a report, for any renderer: a title that states the finding, tables and notes.

This module renders it for a terminal and as Markdown; ``html`` renders it for a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inflight.bench.present import text_bars, text_grid
from inflight.bench.present.markdown import escaped, escaped_in_html, row
from inflight.bench.present.table import Group, Table, texts
from inflight.bench.present.text_bars import Bars

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, slots=True)
class Detail:
    """A folded part of a page: sentences, and texts of several lines. A terminal does not show it."""

    summary: str
    sentences: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    is_open: bool = False
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One finding of a study with its tables."""

    title: str
    """The finding, in one sentence without its full stop; may be empty."""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences below the tables."""
    first: tuple[str, ...] = ()
    """Sentences above the title: how far the figures can be trusted."""
    details: tuple[Detail, ...] = ()
    findings: tuple[str, ...] | None = None
    """Whole sentences for the top of a report; None: the title is the finding."""
    bars: Bars | None = None
    """The main figures, drawn as text. Only a terminal shows them: a page has plots."""

    @property
    def found(self) -> tuple[str, ...]:
        """The findings as whole sentences."""
        if self.findings is not None:
            return self.findings
        return (f"{self.title}.",) if self.title else ()


def text(section: Section, width: int) -> "Text":
    """Return the section for a terminal, at most ``width`` wide."""
    from rich.text import Text

    found = Text()
    for sentence in section.first:
        found.append(text_grid.wrapped(sentence, width) + "\n")
    if section.title:
        found.append(text_grid.wrapped(f"{section.title}.", width) + "\n\n", "bold")
    if section.bars is not None:
        found.append("\n" if section.first and not section.title else "")
        found.append(text_bars.drawn(section.bars, width) + "\n\n")
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


def table_markdown(table: Table) -> str:
    """Return a table as Markdown, with its title and its sentences."""
    title = f"**{escaped(table.title)}**" if table.title else ""
    lines = [texts(line) if not isinstance(line, Group) else line for line in table.lines]
    if not table.heads:
        told = [f"- {': '.join(map(escaped, cells))}" for cells in lines if not isinstance(cells, Group)]
    else:
        rules = ["---", *("---" if table.is_prose(n) else "---:" for n in range(1, len(table.heads)))]
        told = [row(map(escaped, table.heads)), f"|{'|'.join(rules)}|"]
        empty = [""] * (len(table.heads) - 1)
        told += [
            row([f"*{escaped(cells.text)}*", *empty] if isinstance(cells, Group) else map(escaped, cells))
            for cells in lines
        ]
    return "\n\n".join(filter(None, [title, "\n".join(told), _list(table.notes)]))


def folded(summary: str, text: str) -> str:
    """Return folded Markdown; the empty lines make GitHub read Markdown inside of HTML."""
    return f"<details><summary>{escaped_in_html(summary, 300)}</summary>\n\n{text}\n\n</details>"


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
