"""Pages to show and to print, which need no network: docs/pages/lecture.html, and the sheets of predictions.

``__main__`` writes them. The lecture is made of docs/slides/lecture.md, where a line ``---`` divides two slides. The
sheet has what each lesson says after "**Predict.**", the key also the first paragraph of the answer to it. The looks,
and the keys that turn slides, are in the templates beside this file.
"""

import re
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

from tools.document.stored import DocumentError
from tools.lesson_pages import lesson_paths

SLIDES = "lecture.md"
LECTURE, SHEET, KEY = (f"docs/pages/{name}.html" for name in ("lecture", "predictions", "predictions-key"))
_ASKED = re.compile(r"^\*\*Predict\.\*\* (.+?)\n\n.*?<summary>Answer</summary>\n\n(.+?)\n\n", re.DOTALL | re.MULTILINE)

_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
"""A link, of which only the text is printed."""


def lecture(markdown: str) -> str:
    """Return the slides as a page, made of the text of the slides."""
    return _filled("lecture.html", slides=[_markdown().render(slide) for slide in markdown.split("\n---\n")])


def predictions(*, has_answers: bool) -> str:
    """Return the sheet of all predictions, or its key. Raises DocumentError for a lesson without a prediction."""
    lessons = []
    for path in lesson_paths():
        text = _LINK.sub(r"\1", path.read_text(encoding="utf-8"))
        asked = _ASKED.findall(text)
        if not asked:
            raise DocumentError(f"{path.name} has no prediction with an answer")
        lessons.append((text.partition("\n")[0].removeprefix("# "), asked))
    return _filled("predictions.html", lessons=lessons, has_answers=has_answers)


SHEETS = {SHEET: partial(predictions, has_answers=False), KEY: partial(predictions, has_answers=True)}
"""The sheets, by the file of each."""


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _filled(template: str, **values: object) -> str:
    """Return a template filled with values."""
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = _markdown().renderInline
    return environment.get_template(template).render(values)
