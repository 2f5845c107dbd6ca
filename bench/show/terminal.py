"""Sections as text for a terminal, at most as wide as asked for; and what a terminal can show.

``summary``, ``ab.show``, ``runs.show``, ``claims.show`` and ``predict.show`` call ``text`` with a ``table.Section``. It
is made with rich, which is imported only then.
"""

import io
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from inflight.bench.show import words
from inflight.bench.show.table import Group, Section, Table, texts

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

RED, GREEN, DIM, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"
"""Codes of colours for a terminal; PLAIN ends a colour."""
MAX_NAME = 22
"""Names and headings of up to this many characters are whole where columns can move closer together for it."""
MIN_NAME = 16
"""Width that columns of figures leave to one of names or of words, or they break between figure and interval."""


def wants_colour(file: TextIO) -> bool:
    """Tell whether to colour text for this stream (https://no-color.org)."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_live(file: TextIO) -> bool:
    """Tell whether a line of this stream can be redrawn: it is a terminal of a known type."""
    return file.isatty() and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


def wrapped(text: str, width: int) -> str:
    """Return a sentence in lines of at most ``width`` columns; names are whole."""
    return textwrap.fill(text, width, subsequent_indent="  ", break_on_hyphens=False)


def text(section: Section, width: int) -> "Text":
    """Return a section as text with styles."""
    from rich.console import Console
    from rich.text import Text

    # The height, too: otherwise rich has its own idea of the width of a dumb terminal.
    console = Console(
        file=io.StringIO(), width=width, height=100, highlight=False,
        force_terminal=True, color_system="standard", no_color=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as written:
        for part in _parts(section, width):
            console.print(part)
    lines = Text.from_ansi(written.get()).split("\n")
    for line in lines:
        line.rstrip()
    joined = Text("\n").join(lines)
    joined.rstrip()
    return joined


def _parts(section: Section, width: int) -> "Iterator[RenderableType]":
    """Yield what rich prints of a section."""
    from rich.text import Text

    for sentence in section.first:
        yield wrapped(sentence, width)
    if section.title:
        yield Text(wrapped(f"{section.title}.", width) + "\n", "bold")
    for number, table in enumerate(section.tables):
        yield from [""] if number else []
        yield from _table(table, width)
    for note in section.notes:
        yield Text(wrapped(note, width), "dim")


def _table(table: Table, width: int) -> "Iterator[RenderableType]":
    """Yield what rich prints of a table: its title, one grid or more, its notes."""
    from rich.text import Text

    if table.title:
        yield Text(wrapped(table.title, width), "bold")
    yield from _grids(table, range(len(table.heads) or 2), width)
    for note in table.notes:
        yield Text(wrapped(note, width), "dim")


def _grids(table: Table, columns: Sequence[int], width: int) -> "Iterator[RenderableType]":
    """Yield a grid with these columns; more, if their figures have no room side by side.

    Figures break before their interval if they have no room otherwise.
    """
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    heads = table.heads or ("", "")
    figures = [n for n in columns[1:] if not table.is_prose(n)]
    longest = {n: max(len(line[n]) for line in [heads, *table.cells]) for n in columns}
    rest = sum(min(MIN_NAME, longest[n]) for n in columns if n not in figures)
    for mark in (" ", "\n"):
        lines = list[list[str]]()
        for written in table.cells:
            plain = (words.plain(cell, 1000) for cell in written)
            lines.append([re.sub(r" (?=[±(])", mark, cell) for cell in plain])
        widths = {}
        for n in figures:
            parts = "\n".join(line[n] for line in lines).split("\n")
            widths[n] = max(map(len, [*heads[n].split(), *parts]))
        room = width - rest - sum(widths.values())
        if room >= len(columns) - 1:
            break
    else:
        if len(figures) > 1:
            middle = len(columns) // 2 + 1
            yield from _grids(table, columns[:middle], width)
            yield ""
            yield from _grids(table, [columns[0], *columns[middle:]], width)
            return
    names = [line.text if isinstance(line, Group) else texts(line)[columns[0]] for line in [heads, *table.lines]]
    name = min(MAX_NAME, max(map(len, names)))
    gap = 1 if room >= 2 * (len(columns) - 1) + max(0, name - MIN_NAME) else 0
    grid = Grid(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, gap, 0, 0),
        show_header=any(heads),
    )
    for n in columns:
        grid.add_column(
            heads[n],
            justify="right" if n in figures else "left",
            overflow="fold",
            width=widths.get(n),
            min_width=name if n == columns[0] else None,
        )
    cells = iter(lines)
    for number, line in enumerate(table.lines):
        if isinstance(line, Group):
            if number:
                grid.add_section()
            grid.add_row(Text(line.text, "italic"))
        else:
            row = next(cells)
            grid.add_row(*(Text(row[n], "dim red" if "✗" in row[n] else "") for n in columns))
    yield grid
