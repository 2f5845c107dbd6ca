"""A run in the terminal: the sections of its studies, at most 100 columns wide."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from inflight.bench.core.rows import Row
from inflight.bench.present import section, text_grid
from inflight.bench.present.section import Section
from inflight.bench.report import about, studies
from inflight.bench.report.summary import summary_json

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["print_summary", "summary_json", "summary_table"]

WIDTH = 100


def summary_table(rows: Sequence[Row], width: int = WIDTH) -> "Text":
    """Return the sections of a run, at most ``width`` columns wide, with its red trials below."""
    from rich.text import Text

    text = Text()
    for one in shown(rows):
        text.append_text(section.text(one, width)).append("\n\n")
    for sentence in about.about_red(rows):
        text.append(text_grid.wrapped(sentence, width) + "\n", "red")
    text.rstrip()
    return text


def shown(rows: Sequence[Row]) -> list[Section]:
    """Return the sections of the studies; if no trial is valid, a sentence above says so."""
    nothing = about.nothing_valid(rows)
    return [*([Section("", first=(nothing,))] if nothing else []), *studies.sections(rows)]


def print_summary(rows: Sequence[Row], file: TextIO) -> None:
    """Print the sections of a run; with colour on a terminal only, and not if NO_COLOR is set."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print(summary_table(rows, width))
