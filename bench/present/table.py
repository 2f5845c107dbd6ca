"""A table, whatever it is of: heads, lines of cells, sentences below. Renderers give it a form.

``text_grid`` writes it for a terminal, ``section`` as Markdown, ``html`` as HTML.
"""

from dataclasses import dataclass

PROSE = frozenset({
    "stopped by", "bound by", "connections", "best", "verdict", "where it comes from", "what was found here",
    "published", "note", "of", "reason", "value", "figures", "region", "what was measured",
})  # fmt: skip
"""Heads of columns that hold words, not figures."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place: text, a second text that only a page shows below it, and whether it is red."""

    text: str
    below: str = ""
    red: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A line over the lines that follow: what they have in common."""

    text: str


Line = tuple[str | Cell, ...] | Group


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first column is a name, the others are figures or words; without heads, a name and words on it."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    """The heads for a terminal, where each is one text of several lines; without them, heads break at a space."""

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The texts of its lines, without groups."""
        return [texts(line) for line in self.lines if not isinstance(line, Group)]

    def is_prose(self, column: int) -> bool:
        """Tell whether a column holds words."""
        return column == 1 if not self.heads else self.heads[column] in PROSE


def cells(line: tuple[str | Cell, ...]) -> list[Cell]:
    """Return a line as cells."""
    return [Cell(one) if isinstance(one, str) else one for one in line]


def texts(line: tuple[str | Cell, ...]) -> tuple[str, ...]:
    """Return the texts of the cells of a line."""
    return tuple(cell if isinstance(cell, str) else cell.text for cell in line)
