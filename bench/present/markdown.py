"""Text of rows in Markdown: it is shown as it is, links to nothing, and notifies nobody."""

import html
import re
from collections.abc import Iterable

from inflight.bench.present import words

MOST_TEXT = 1000
"""Maximum length of a sentence, where the place for it is not bounded otherwise: rows may hold anything."""
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]$|~#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
_LINKING = re.compile(r"@|:(?=//)|www(?=\.)|#(?=\d)", re.IGNORECASE)


def escaped(text: str, most: int | None = None) -> str:
    """Return text as Markdown shows it, in one line, cut at ``most`` characters if given."""
    return _unlinked(words.plain(text, len(text) if most is None else most).translate(_SPECIAL))


def escaped_in_html(text: str, most: int) -> str:
    """Return the same for text between HTML tags, where Markdown's own characters mean nothing."""
    return _unlinked(html.escape(words.plain(text, most)))


def code(text: str) -> str:
    """Return text as code, in which nothing can be escaped, and nothing links."""
    return f"`{words.plain(text, MOST_TEXT).replace('`', '')}`"


def row(cells: Iterable[str]) -> str:
    """Return a line of a table; the cells are escaped already."""
    return f"| {' | '.join(cells)} |"


def _unlinked(text: str) -> str:
    """Break what GitHub and GitLab make a mention, a reference or a link of: @name, #1, http://, www.

    They look for those in the text that was rendered, where a backslash or an entity is gone already. An empty comment
    keeps the text in two parts, and is not shown.
    """
    return _LINKING.sub(r"\g<0><!-- -->", text)
