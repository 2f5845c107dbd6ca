"""A run in the terminal: findings, then the sections of its studies, at most 100 columns wide."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from inflight.bench.present import section, text_grid, words
from inflight.bench.present.section import Section
from inflight.bench.report import about, studies
from inflight.bench.report.answer import answer
from inflight.bench.report.summary import summary_json
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["print_summary", "summary_json", "summary_table"]

WIDTH = 100


def summary_table(
    rows: Sequence[Row], width: int = WIDTH, decided: Sequence[Section] = (), neighbour: str | None = None
) -> "Text":
    """Return the findings and the sections of a run, at most ``width`` columns wide, with its invalid trials below.

    ``decided`` are its decisions (``verdicts.sections``), ``neighbour`` is the program that disturbed it on purpose.
    """
    _, whole = _texts(rows, width, decided, neighbour)
    return whole


def _texts(rows: Sequence[Row], width: int, decided: Sequence[Section], neighbour: str | None) -> tuple["Text", "Text"]:
    """Return the findings, and the whole text, which begins with them."""
    from rich.text import Text

    found = answer(rows, decided)
    told = [*([words.neighbour(neighbour)] if neighbour else []), *found]
    findings = Text().append("\n".join(text_grid.wrapped(f"• {sentence}", width) for sentence in told), "bold")
    rest = [row for row in rows if not (decided and row.of_comparison)]
    text = findings.copy().append("\n\n")
    for one in [*decided, *studies.sections(rest)]:
        is_told = f"{one.title}." in found
        text.append_text(section.text(replace(one, title="") if is_told else one, width)).append("\n\n")
    for sentence in about.about_invalid(rows):
        text.append(text_grid.wrapped(sentence, width) + "\n", "red")
    text.rstrip()
    return findings, text


def shown(rows: Sequence[Row]) -> list[Section]:
    """Return the sections of the studies; if no trial is valid, a sentence above says so."""
    nothing = about.nothing_valid(rows)
    return [*([Section("", first=(nothing,))] if nothing else []), *studies.sections(rows)]


def print_summary(
    rows: Sequence[Row], file: TextIO, decided: Sequence[Section] = (), neighbour: str | None = None
) -> None:
    """Print a run as ``summary_table`` does; with colour on a terminal only, and not if NO_COLOR is set.

    On a terminal that is too low for it, the findings are repeated at the end, where they can be seen.
    """
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    findings, text = _texts(rows, width, decided, neighbour)
    console.print(text)
    if file.isatty() and text.plain.count("\n") + 1 > console.height:
        console.print("\nThe findings again:")
        console.print(findings)


def print_section(one: Section, file: TextIO) -> None:
    """Print one section."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print("")
    console.print(section.text(one, width))
