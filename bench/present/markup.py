"""The pieces that a page is made of, as safe markup: all text is escaped here. No style attributes, no scripts."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.present import page, words

BAD = "bad"
"""The class of what is red."""
NOTES = "notes"
"""The class of the sentences below a table."""


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head, or one over several columns, each of which has a label of its own."""

    text: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place of a table: text, a second text below it, and whether it is red."""

    text: str
    below: str = ""
    red: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A line over the lines that follow: what they have in common."""

    text: str


Line = Sequence[Cell] | Group


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption; the first column has the names of the lines."""

    caption: str
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    prose: frozenset[int] = frozenset()
    """The columns of words, which stand to the left; the others are figures."""


def text(value: str, most: int = 600) -> str:
    """Return text, made harmless and cut at ``most``, as HTML shows it; a number stays with its unit."""
    return html.escape(page.kept_together(words.plain(value, most)))


def block(value: str) -> str:
    """Return text of several lines as HTML shows it, with nothing in it that is not printable."""
    lines = ("".join(char if char.isprintable() else "?" for char in line.expandtabs()) for line in value.splitlines())
    return f"<pre><code>{html.escape(chr(10).join(lines))}</code></pre>"


def paragraph(value: str) -> str:
    """Return a paragraph."""
    return f"<p>{text(value, 2000)}</p>"


def listed(sentences: Iterable[str], kind: str = "") -> str:
    """Return a list of sentences; nothing where there are none."""
    items = "".join(f"<li>{text(sentence, 2000)}</li>" for sentence in sentences)
    return f'<ul class="{kind}">{items}</ul>' if items and kind else f"<ul>{items}</ul>" if items else ""


def folded(summary: str, inside: str, *, is_open: bool = False) -> str:
    """Return something that can be folded away, and its summary."""
    return f"<details{' open' if is_open else ''}><summary>{text(summary)}</summary>{inside}</details>"


def scrolled(label: str, inside: str, kind: str) -> str:
    """Return a box that scrolls sideways where its content is too wide, with the mouse, a finger or the keys."""
    return f'<div class="scroll {kind}" role="region" aria-label="{text(label, 300)}" tabindex="0">{inside}</div>'


def table(found: Table) -> str:
    """Return a table in a box of its own."""
    parts = [f"<caption><span>{text(found.caption)}</span></caption><thead>", *_heads(found), "</thead>"]
    parts += ["<tbody>", *(_line(line, found) for line in found.lines), "</tbody>"]
    return scrolled(f"Table: {found.caption}", f"<table>{''.join(parts)}</table>", "table")


def _heads(found: Table) -> Iterable[str]:
    deep = any(head.labels for head in found.heads)
    tops = []
    for n, head in enumerate(found.heads):
        if head.labels:
            tops.append(f'<th scope="colgroup" colspan="{len(head.labels)}">{text(head.text)}</th>')
        else:
            span = ' rowspan="2"' if deep else ""
            tops.append(f'<th scope="col"{span}{_left(found, n)}>{text(head.text)}</th>')
    yield f"<tr>{''.join(tops)}</tr>"
    if deep:
        labels = "".join(f'<th scope="col">{text(label)}</th>' for head in found.heads for label in head.labels)
        yield f"<tr>{labels}</tr>"


def _line(line: Line, found: Table) -> str:
    if isinstance(line, Group):
        width = sum(max(1, len(head.labels)) for head in found.heads)
        return f'<tr class="group"><th scope="row" colspan="{width}">{text(line.text)}</th></tr>'
    return f"<tr>{''.join(_cell(cell, n, found) for n, cell in enumerate(line))}</tr>"


def _cell(cell: Cell, n: int, found: Table) -> str:
    kinds = [*(["words"] if n in found.prose else []), *([BAD] if cell.red else [])]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    inside = text(cell.text) + (f"<small>{text(cell.below)}</small>" if cell.below else "")
    return f'<th scope="row"{kind}>{inside}</th>' if n == 0 else f"<td{kind}>{inside}</td>"


def _left(found: Table, n: int) -> str:
    return ' class="words"' if n in found.prose else ""
