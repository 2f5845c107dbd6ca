"""What a study shows, for any renderer: sections of tables and sentences. Data only.

``sections``, ``counts``, ``summary``, ``folder``, ``ab``, ``runs``, ``claims`` and ``predict`` make them; ``terminal``,
``markdown`` and ``html`` write them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

FIGURE = re.compile(r"[-+<≥±✗ ]*\d|[-?]?$")
"""How a cell begins that has a figure, or that stands for an unknown one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, a second text that only a page shows below it, and whether it is red."""

    text: str
    below: str = ""
    red: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The heading of the lines that follow."""

    text: str


Line = tuple[str | Cell, ...] | Group
"""A line of a table, or the heading of those that follow."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a column of names, then columns of figures or words; without heads, a name and words about it."""

    title: str
    heads: tuple[str, ...]
    """Heads of the columns."""
    lines: Sequence[Line]
    notes: tuple[str, ...] = ()
    """Sentences below it."""

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The texts of the lines, without groups."""
        return [texts(line) for line in self.lines if not isinstance(line, Group)]

    @property
    def reads_as_cards(self) -> bool:
        """Whether a narrow page shows each line as a card: most columns are words, or names have a text below them."""
        lines = [cells(line) for line in self.lines if not isinstance(line, Group)]
        has_below = any(cell.below for line in lines for cell in line)
        wordy = sum(map(self.is_prose, range(1, len(self.heads))))
        return has_below or (len(self.heads) > 2 and 2 * wordy >= len(self.heads) - 1)

    def is_prose(self, column: int) -> bool:
        """Tell whether a column contains words: most of its cells have no figure."""
        words = [cell for line in self.cells for cell in line[column : column + 1] if not FIGURE.match(cell)]
        return 2 * len(words) > len(self.cells)


@dataclass(frozen=True, slots=True)
class Detail:
    """A folded part of a page: sentences, and texts of several lines. A terminal does not show it."""

    summary: str
    sentences: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    """Texts of several lines."""
    is_open: bool = False
    """Whether the page shows it unfolded at first."""
    tables: Sequence[Table] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """What a study, or another part of a report, has to show."""

    title: str
    """The finding, in one sentence without its full stop; may be empty."""
    tables: Sequence[Table] = ()
    notes: tuple[str, ...] = ()
    """Sentences below the tables."""
    first: tuple[str, ...] = ()
    """Sentences above the title: how far the figures can be trusted."""
    details: Sequence[Detail] = ()
    findings: tuple[str, ...] | None = None
    """Whole sentences for the top of a report; None: the title is the finding."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings as whole sentences."""
        if self.findings is not None:
            return self.findings
        return (f"{self.title}.",) if self.title else ()


def cells(line: tuple[str | Cell, ...]) -> list[Cell]:
    """Return a line as cells."""
    return [Cell(cell) if isinstance(cell, str) else cell for cell in line]


def texts(line: tuple[str | Cell, ...]) -> tuple[str, ...]:
    """Return the texts of the cells of a line."""
    return tuple(cell.text for cell in cells(line))
