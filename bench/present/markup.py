"""The pieces that a page is made of, as safe markup: all text is escaped here. No style attributes, no scripts."""

import html
from collections.abc import Iterable

from bench.present import page, words
from bench.present.table import Cell, Group, Line, Table

BAD = "bad"
"""The class of what is red."""
NOTES = "notes"
"""The class of the sentences below a table."""


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
    """Return a table in a box of its own, with its sentences below."""
    heads = found.heads or ("", "found")
    tops = "".join(f'<th scope="col"{_words(found, n)}>{text(head)}</th>' for n, head in enumerate(heads))
    parts = [f"<caption><span>{text(found.title)}</span></caption><thead><tr>{tops}</tr></thead>"]
    parts += ["<tbody>", *(_line(line, found, len(heads)) for line in found.lines), "</tbody>"]
    box = scrolled(f"Table: {found.title}", f"<table>{''.join(parts)}</table>", "table")
    return box + listed(found.notes, NOTES)


def _line(line: Line, found: Table, width: int) -> str:
    if isinstance(line, Group):
        return f'<tr class="group"><th scope="row" colspan="{width}">{text(line.text)}</th></tr>'
    cells = (Cell(cell) if isinstance(cell, str) else cell for cell in line)
    return f"<tr>{''.join(_cell(cell, n, found) for n, cell in enumerate(cells))}</tr>"


def _cell(cell: Cell, n: int, found: Table) -> str:
    kinds = [*(["words"] if found.is_prose(n) else []), *([BAD] if cell.red or "✗" in cell.text else [])]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    inside = text(cell.text) + (f"<small>{text(cell.below)}</small>" if cell.below else "")
    return f'<th scope="row"{kind}>{inside}</th>' if n == 0 else f"<td{kind}>{inside}</td>"


def _words(found: Table, n: int) -> str:
    return ' class="words"' if found.is_prose(n) else ""
