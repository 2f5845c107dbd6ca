"""Sections and tables as Markdown. Text of rows is shown literally, without links or mentions.

``summary`` (a run), ``ab.show`` and ``runs.show`` write reports for pull requests and CI with it. Rows may come from a
stranger, so all text is escaped.
"""

import html
import re
from collections.abc import Iterable, Sequence

from inflight.bench.show import words
from inflight.bench.show.table import Group, Section, Table, texts
from inflight.bench.show.words import join

MAX_TEXT = 1000
"""Maximum length in characters of a sentence where nothing else limits it: rows may contain any text."""
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]$|~#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
"""How characters are written that mean something in Markdown."""
_LINKING = re.compile(r"@|:(?=//)|www(?=\.)|#(?=\d)", re.IGNORECASE)
"""Matches what hosts of repositories turn into a link."""


def escaped(text: str, most: int | None = None) -> str:
    """Escape text for Markdown, in one line, cut at ``most`` characters if given."""
    return _unlinked(words.plain(text, len(text) if most is None else most).translate(_SPECIAL))


def escaped_in_html(text: str, most: int) -> str:
    """Escape text between HTML tags, cut at ``most`` characters; special characters of Markdown mean nothing there."""
    return _unlinked(html.escape(words.plain(text, most)))


def code(text: str) -> str:
    """Return text as code, in which nothing can be escaped and nothing links."""
    return f"`{words.plain(text, MAX_TEXT).replace('`', '')}`"


def _unlinked(text: str) -> str:
    """Break texts that GitHub and GitLab turn into a mention, a reference or a link: @name, #1, http://, www.

    They look for these in the rendered text, in which a backslash or an entity is no longer present. An invisible empty
    comment splits the text.
    """
    return _LINKING.sub(r"\g<0><!-- -->", text)


def markdown(section: Section) -> str:
    """Return a section as Markdown."""
    title = f"**{escaped(section.title)}.**" if section.title else ""
    parts = [
        listed(section.first),
        title,
        *map(table_markdown, section.tables),
        listed(section.notes),
    ]
    return join("\n\n", *parts)


def table_markdown(table: Table) -> str:
    """Return a table as Markdown, with its title and its sentences."""
    title = f"**{escaped(table.title)}**" if table.title else ""
    heads = table.heads or ("", "")
    rules = ["---" if number == 0 or table.is_prose(number) else "---:" for number in range(len(heads))]
    lines: list[Iterable[str]] = [map(escaped, heads), rules]
    for line in table.lines:
        if isinstance(line, Group):
            lines.append([f"*{escaped(line.text)}*", *[""] * (len(heads) - 1)])
        else:
            lines.append(map(escaped, texts(line)))
    rows = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return join("\n\n", title, rows, listed(table.notes))


def listed(sentences: Sequence[str]) -> str:
    """Return a list of sentences as Markdown."""
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)


def folded(summary: str, text: str) -> str:
    """Return folded Markdown; the empty lines make GitHub read Markdown inside of HTML."""
    return f"<details><summary>{escaped_in_html(summary, 300)}</summary>\n\n{text}\n\n</details>"
