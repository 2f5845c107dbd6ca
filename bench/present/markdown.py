"""Text of rows as Markdown: shown literally, without links or mentions."""

import html
import re
from collections.abc import Iterable

from inflight.bench.present import words

MOST_TEXT = 1000
"""Maximum length of a sentence where nothing else limits it: rows may contain any text."""
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]$|~#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
_LINKING = re.compile(r"@|:(?=//)|www(?=\.)|#(?=\d)", re.IGNORECASE)


def escaped(text: str, most: int | None = None) -> str:
    """Escape text for Markdown, in one line, cut at ``most`` characters if given."""
    return _unlinked(words.plain(text, len(text) if most is None else most).translate(_SPECIAL))


def escaped_in_html(text: str, most: int) -> str:
    """Escape text between HTML tags, where the special characters of Markdown mean nothing."""
    return _unlinked(html.escape(words.plain(text, most)))


def code(text: str) -> str:
    """Return text as code, in which nothing can be escaped and nothing links."""
    return f"`{words.plain(text, MOST_TEXT).replace('`', '')}`"


def row(cells: Iterable[str]) -> str:
    """Return a line of a table from escaped cells."""
    return f"| {' | '.join(cells)} |"


def _unlinked(text: str) -> str:
    """Break texts that GitHub and GitLab turn into a mention, a reference or a link: @name, #1, http://, www.

    They look for these in the rendered text, in which a backslash or an entity is no longer present. An invisible empty
    comment splits the text.
    """
    return _LINKING.sub(r"\g<0><!-- -->", text)
