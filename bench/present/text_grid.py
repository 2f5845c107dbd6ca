"""Tables as plain lines of text: heads, a column of names, columns of figures; sentences below."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inflight.bench.present import page, words
from inflight.bench.present.table import Group, Table, texts

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
LEAST_NAME = 16
"""Length of ``aiohttp_client *``. A name is never cut below it, even if lines get wider than the terminal."""
LONGEST_NAME = 20
"""Length of the longest name of a strategy with its star. If there is no room for it, columns move closer together."""
RED = r"\S+( \(?±\S+ %\)?)?✗"
"""A figure from red trials only."""


def styled(tables: Sequence[Table], width: int) -> "Text":
    """Return the tables one below the other, with titles and heads in bold and their sentences below."""
    from rich.text import Text

    text = Text()
    for table in tables:
        text.append(f"{table.title}\n" if table.title else "", "bold")
        lines = lines_of(table, width)
        is_grid = max(map(len, lines), default=0) <= width or not table.reads_as_cards
        for number, line in enumerate(lines if is_grid else cards(table, width)):
            text.append(line + "\n", "bold" if is_grid and number < head_lines(table) else "")
        for note in table.notes:
            text.append(wrapped(note, width) + "\n", "dim")
        text.append("\n")
    text.highlight_regex(RED, "dim red")
    text.rstrip()
    return text


def head_lines(table: Table) -> int:
    """Return the number of lines of the heads."""
    if table.short:
        return max(head.count("\n") for head in table.short) + 1
    return (2 if any(" " in head for head in table.heads) else 1) if table.heads else 0


def lines_of(table: Table, width: int) -> list[str]:
    """Return the lines; heads with spaces take two lines. Without room, columns move closer, then names are cut."""
    lines = [line if isinstance(line, Group) else texts(line) for line in table.lines]
    full = [cells for cells in lines if not isinstance(cells, Group)]
    if not table.heads:
        return [line for cells in full for line in _item(cells, width)]
    heads = [tuple(head.split("\n")) for head in table.short]
    heads = heads or [_halves(head) if head_lines(table) == 2 else (head,) for head in table.heads]
    widths = [
        max(*(len(part) for part in head), *(len(cells[n]) for cells in full), 1) if full else len(head[-1])
        for n, head in enumerate(heads)
    ]
    room = {gap: width - sum(widths[1:]) - gap * (len(widths) - 1) for gap in (GAP, 1)}
    gap = GAP if room[GAP] >= min(widths[0], LONGEST_NAME) else 1
    widths[0] = min(widths[0], max(LEAST_NAME, room[gap]))
    left = [n == 0 or table.is_prose(n) for n in range(len(widths))]
    above = [_line([head[n] for head in heads], widths, left, gap) for n in range(head_lines(table))]
    return above + [
        _group(line, width) if isinstance(line, Group) else _line(line, widths, left, gap) for line in lines
    ]


def cards(table: Table, width: int) -> list[str]:
    """Return the lines of a table of words that is too wide: the first cell, and below it each other one."""
    found = []
    for line in table.lines:
        if isinstance(line, Group):
            found.append(_group(line, width))
            continue
        first, *others = texts(line)
        told = [wrapped(f"{head}: {cell}", width, "  ") for head, cell in zip(table.heads[1:], others, strict=True)]
        found += [wrapped(first, width), *told]
    return found


def _group(group: Group, width: int) -> str:
    return f"─── {group.text} ".ljust(width, "─")


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool], gap: int) -> str:
    whole = [words.plain(cells[0], widths[0]), *cells[1:]]
    placed = [
        f"{cell:{'<' if is_left else '>'}{width}}" for cell, width, is_left in zip(whole, widths, left, strict=True)
    ]
    return (" " * gap).join(placed).rstrip()


def _halves(head: str) -> tuple[str, str]:
    """Split a head into two lines at its last space."""
    first, _, last = head.rpartition(" ")
    return first, last


def _item(cells: Sequence[str], width: int) -> list[str]:
    return [cells[0], wrapped(cells[1], width, "  ")] if len(cells) > 1 else [cells[0]]


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a sentence in lines of at most ``width`` columns; numbers stay with their units, and names are whole."""
    lines = textwrap.wrap(
        page.kept_together(text), width, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
