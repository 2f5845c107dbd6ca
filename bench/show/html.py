"""Sections, tables, plots and whole pages as HTML, from ``templates/``. All text is escaped and cleaned here.

``page`` (a run), ``race.page`` and ``predict.simulator`` use it: ``section``, ``table`` and ``listed`` for parts,
``shell`` for a whole page. A page is one file with one style, one script, and a content policy that allows only these
two: no style attributes, no event handlers.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from inflight.bench.show import words
from inflight.bench.show.table import Group, cells

TEMPLATES = Path(__file__).with_name("templates")
"""Folder of the templates."""
BAD, ANSWER = "bad", "answer"
"""Classes of lists: red ones, and the answer."""
MAX_TEXT = 2000
"""Maximum length of a text."""
_CLOSING = re.compile(r"</(?=style|script)", re.IGNORECASE)
"""Matches what would end a style or a script."""
_BREAKS = re.compile(r"[:_=]|(?<!\d)/|\.(?!\d)")
"""Where a name may break."""
_NUMBER_AND_UNIT = re.compile(r"(\d) (?=(?:ns|µs|ms|s|min|B|kB|MB|GB|[KMG]iB|(?:pages|requests|responses)/s)\b|%)")
"""Matches the space between a number and its unit, where no line breaks."""
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""How characters are written in JSON within HTML."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page with a script; style and script go into the page's only <style> and <script>."""

    html: str
    css: str
    js: str
    data: str
    """JSON that is safe inside of <script type="application/json">."""


def fragment_of(template: Path, values: object, **texts: str) -> Fragment:
    """Return a part of a page from its three templates, whose names are ``template`` with .html, .css and .js.

    ``values`` are the data of the script, ``texts`` what the HTML has names for, which is HTML itself.
    """
    html, css, js = (template.with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".html", ".css", ".js"))
    data = json.dumps(values, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)
    return Fragment(Template(html).substitute(texts), css, js, data)


def data_address(svg: str) -> Markup:
    """Return the address of an SVG image that contains it, for an attribute in single quotes."""
    return Markup("data:image/svg+xml," + quote(svg, safe=' /:;,=()+-@!*?~$[]{}|^"<>'))  # noqa: S704  (no & and no ')


def text(value: str) -> Markup:
    """Return a text as HTML, escaped and cleaned."""
    return escape(_harmless(value))


def filled(template: str, **values: Any) -> Markup:
    """Return a template filled with these values."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704  (the environment escapes)


def macro(name: str, *values: Any) -> Markup:
    """Return what a macro of ``templates/parts.html`` makes of these values."""
    return Markup(getattr(_environment().get_template("parts.html").module, name)(*values))  # noqa: S704


listed = partial(macro, "listed")
"""Return a list of sentences, with a class such as BAD; empty without any."""
table = partial(macro, "table")
"""Return a ``Table`` in a box that scrolls sideways, with its notes below."""
section = partial(macro, "section")
"""Return a ``Section``: its finding, tables, notes and folded details."""


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
    texts = {"style": Markup(style), "js": Markup(js)}  # noqa: S704
    whole = filled("page.html", title=words.plain(title, 200), body=body, data=safe, **texts)
    return f"{whole}\n"


@cache
def _environment() -> Environment:
    """Return the environment of all templates."""
    environment = Environment(
        autoescape=True,
        finalize=_harmless,
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cells": cells, "lines": _lines, "hash": _hash, "name": _name}
    environment.tests["group"] = lambda line: isinstance(line, Group)
    return environment


def _harmless(value: Any) -> Any:
    """Return a text in one line, printable and cut, with no line break between a number and its unit."""
    if type(value) is not str:
        return value
    return _NUMBER_AND_UNIT.sub("\\1\N{NO-BREAK SPACE}", words.plain(value, MAX_TEXT))


def _name(value: str) -> Markup:
    """Return a name that breaks between its parts where there is no room for it."""
    return Markup(_BREAKS.sub(r"\g<0><wbr>", str(text(value))))  # noqa: S704  (text escapes)


def _lines(value: str) -> Markup:
    """Return a text of several lines with unprintable characters replaced."""
    return escape("\n".join(words.printable(line.expandtabs()) for line in value.splitlines()))


def _hash(content: str) -> str:
    """Return the hash with which a policy allows an inline element (CSP 3, "hash-source")."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
