"""Sections, tables, plots and whole pages as HTML, from ``templates/``. All text is escaped and cleaned here.

A page is one file with one style, one script, and a content policy that allows only these two: no style attributes, no
event handlers.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from inflight.bench.present import page as look
from inflight.bench.show import words
from inflight.bench.show.table import Group, Section, Table, cells

TEMPLATES = Path(__file__).with_name("templates")
BAD, ANSWER = "bad", "answer"
"""Classes of lists: red ones, and the answer."""
MOST_TEXT = 2000
"""Maximum length of a text."""
_CLOSING = re.compile(r"</(?=style|script)", re.IGNORECASE)
_BREAKS = re.compile(r"[:_=]|(?<!\d)/|\.(?!\d)")
"""Where a name may break."""
_HYPHENED = re.compile(r"(?<!\S)(?=\S*-)[^\s/]{3,18}(?!\S)")
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page with a script; style and script go into the page's only <style> and <script>."""

    html: str
    css: str
    js: str
    data: str
    """What ``json_block`` returned."""


def json_block(values: object) -> str:
    """Return JSON that is safe inside of <script type="application/json">."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def text(value: str) -> Markup:
    """Return a text as HTML, escaped and cleaned."""
    return escape(_harmless(value))


def listed(sentences: Sequence[str], kind: str = "") -> Markup:
    """Return a list of sentences; empty without any."""
    return _macro("listed", sentences, kind)


def table(found: Table) -> Markup:
    """Return a table in a box that scrolls sideways, with its sentences below."""
    return _macro("table", found)


def section(found: Section) -> Markup:
    """Return a section: its finding, tables, notes and folded details."""
    return _macro("section", found)


def plot(found: Any) -> Markup:
    """Return a plot (``inline_svg.Inlined``) below its finding and its notes."""
    return _macro("plot", found)


def downloads(files: Sequence[Mapping[str, Any]], left_out: str) -> Markup:
    """Return links to files: each has a ``name``, an ``address`` that is safe, and ``about``."""
    return _macro("downloads", files, left_out)


def filled(template: str, **values: Any) -> Markup:
    """Return a template filled with these values."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704  (the environment escapes)


def shell(title: str, body: Markup, css: str, js: str, data: Mapping[str, str]) -> str:
    """Return a whole page that needs no network.

    ``css`` follows the rules of all pages (``templates/report.css``). ``js`` may be empty; then no script is allowed.
    ``data`` has the content of each JSON block by its id, ``<`` already written as ``\\u003c``. Raises ValueError for a
    style or a script that would end its own element.
    """
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8") + css
    if any(_CLOSING.search(part) for part in (style, js, *data.values())):
        raise ValueError("a style, a script or its data would end its own element")
    safe = {name: Markup(value) for name, value in data.items()}  # noqa: S704  (JSON whose < are escaped)
    values = {"title": words.plain(title, 200), "style": Markup(style), "js": Markup(js), "body": body, "data": safe}  # noqa: S704
    return str(filled("page.html", **values)) + "\n"


def _macro(name: str, *values: Any) -> Markup:
    found: Markup = getattr(_environment().get_template("parts.html").module, name)(*values)
    return found


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=_harmless,
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cells": cells, "lines": _lines, "hash": _hash, "prose": _prose, "name": _name}
    environment.tests["group"] = lambda line: isinstance(line, Group)
    return environment


def _harmless(value: Any) -> Any:
    """Return a text in one line, printable and cut, with no line break between a number and its unit."""
    return look.kept_together(words.plain(value, MOST_TEXT)) if type(value) is str else value


def _name(value: str) -> Markup:
    """Return a name that breaks between its parts where there is no room for it."""
    return Markup(_BREAKS.sub(r"\g<0><wbr>", str(text(value))))  # noqa: S704  (text escapes)


def _prose(value: str) -> Markup:
    """Return a text as HTML that is not broken at the hyphen of a short word, such as ``--rounds`` or a date."""
    told, done = str(_harmless(value)), 0
    parts = Markup()
    for match in _HYPHENED.finditer(told):
        parts += escape(told[done : match.start()]) + Markup('<span class="whole">{}</span>').format(match[0])
        done = match.end()
    return parts + escape(told[done:])


def _lines(value: str) -> Markup:
    """Return a text of several lines with unprintable characters replaced."""
    lines = ("".join(char if char.isprintable() else "?" for char in line.expandtabs()) for line in value.splitlines())
    return escape("\n".join(lines))


def _hash(content: str) -> str:
    """Return the hash with which a policy allows an inline element (CSP 3, "hash-source")."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
