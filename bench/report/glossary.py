"""The words of this project: all of them for docs/glossary.md, and those that a page uses."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from inflight.bench.present import words
from inflight.bench.present.section import Detail, Section

_FILE = Path(__file__).with_name("glossary.toml")
_BETWEEN = ", "
"""Separates the names of one meaning."""


def glossary() -> list[tuple[str, str]]:
    """Return all terms with their meanings, in alphabetical order."""
    return sorted((term for terms in _terms().values() for term in terms.items()), key=lambda term: term[0].lower())


def used(text: str) -> list[tuple[str, str]]:
    """Return the terms that a text of a page or their meanings use.

    A term within a longer one does not count: "block noise" is not a "block".
    """
    found = set[str]()
    while text:
        new = _in(text) - found
        found |= new
        text = "\n".join(_terms()["on_pages"][term] for term in new)
    return [(term, meaning) for term, meaning in glossary() if term in found]


def _in(text: str) -> set[str]:
    """Return the terms of a text, in singular or plural."""
    rest, found = " ".join(text.split()), set()
    for term in sorted(_terms()["on_pages"], key=len, reverse=True):
        rest, times = _pattern(term).subn("", rest)
        found |= {term} if times else set()
    return found


def section(text: str) -> Section:
    """Return the folded terms of a page with this text; an empty section if it uses none."""
    found = used(text)
    if not found:
        return Section("")
    sentences = tuple(f"{term}: {meaning.replace('`', '')}" for term, meaning in found)
    return Section("", details=(Detail(f"{words.counted(len(found), 'word')} of this page, explained", sentences),))


@cache
def _terms() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(_FILE.read_text("utf-8"))


@cache
def _pattern(term: str) -> re.Pattern[str]:
    names = "|".join(
        re.escape(name.removesuffix("y")) + ("(?:y|ies)" if name.endswith("y") else "s?")
        for name in term.split(_BETWEEN)
    )
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)
