"""Tables as plain lines of text: heads, a column of names, columns of figures; sentences below."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inflight.bench.present import words
from inflight.bench.present.table import Group, Table, texts

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
LEAST_NAME = 16
"""Length of ``aiohttp_client *``. The column of names is never narrower, even if lines get wider than the terminal."""
LONGEST_NAME = 20
"""Length of the longest name of a strategy with its star. If there is no room for it, columns move closer together."""
INVALID = r"\S+( \(?±\S+ %\)?)?✗"
"""A figure from invalid trials only."""
MOST_LINES = 3
"""Maximum number of lines of a name; the rest is cut."""


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
    text.highlight_regex(INVALID, "dim red")
    text.rstrip()
    return text


def head_lines(table: Table) -> int:
    """Return the number of lines of the heads."""
    if table.short:
        return max(head.count("\n") for head in table.short) + 1
    return (2 if any(" " in head for head in table.heads) else 1) if table.heads else 0


def lines_of(table: Table, width: int) -> list[str]:
    """Return the lines; heads with spaces take two lines. Without room, columns move closer, then names break."""
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
    above = [one for n in range(head_lines(table)) for one in _lines([head[n] for head in heads], widths, left, gap)]
    below = [[_group(line, width)] if isinstance(line, Group) else _lines(line, widths, left, gap) for line in lines]
    return above + [one for own in below for one in own]


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


def _lines(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool], gap: int) -> list[str]:
    """Return a line of the table, and the rest of a name that is longer than its column below it."""
    name = words.plain(cells[0], (MOST_LINES - 1) * widths[0])
    first, *rest = textwrap.wrap(name, widths[0], subsequent_indent="  ", break_on_hyphens=False) or [""]
    placed = [
        f"{cell:{'<' if is_left else '>'}{width}}"
        for cell, width, is_left in zip([first, *cells[1:]], widths, left, strict=True)
    ]
    return [(" " * gap).join(placed).rstrip(), *rest]


def _halves(head: str) -> tuple[str, str]:
    """Split a head into two lines at its last space."""
    first, _, last = head.rpartition(" ")
    return first, last


def _item(cells: Sequence[str], width: int) -> list[str]:
    return [cells[0], wrapped(cells[1], width, "  ")] if len(cells) > 1 else [cells[0]]


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a sentence in lines of at most ``width`` columns; numbers stay with their units, and names are whole."""
    lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
