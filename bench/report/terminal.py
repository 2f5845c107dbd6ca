"""A run in the terminal, at most 100 columns wide: the tables of its studies, then its findings, which stay in view."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from inflight.bench.present import section, text_grid, words
from inflight.bench.present.section import Section
from inflight.bench.report.answer import answer
from inflight.bench.report.studies import Studies
from inflight.bench.report.summary import summary_json
from inflight.bench.rows.files import Row
from inflight.bench.show import missing

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["print_summary", "summary_json", "summary_table"]

WIDTH = 100


def summary_table(
    rows: Sequence[Row],
    width: int = WIDTH,
    decided: Sequence[Section] = (),
    neighbour: str | None = None,
    before: Section | None = None,
) -> "Text":
    """Return the sections of a run, the trials that do not count, and its findings, at most ``width`` columns wide.

    ``decided`` are its decisions (``verdicts.sections``), ``neighbour`` is the program that disturbed it on purpose,
    ``before`` what earlier runs of the same experiment found (``earlier.section``).
    """
    from rich.text import Text

    found = Studies([row for row in rows if not (decided and row.of_comparison)])
    text = Text()
    for one in [*decided, *shown(found), *([before] if before else [])]:
        text.append_text(section.text(one, width)).append("\n\n")
    if (uncounted := missing.table(rows)) is not None:
        text.append_text(section.text(Section("", (uncounted,)), width)).append("\n\n")
    findings = [
        *([words.neighbour(neighbour)] if neighbour else []),
        *answer(found, decided, rows),
    ]
    findings[-1:-1] = before.found if before else ()
    text.append("\n".join(text_grid.wrapped(f"• {sentence}", width) for sentence in findings), "bold")
    return text


def shown(found: Studies) -> list[Section]:
    """Return the sections that have a table or say something first."""
    return [one for one in found.sections if one.tables or one.first]


def print_summary(
    rows: Sequence[Row],
    file: TextIO,
    decided: Sequence[Section] = (),
    neighbour: str | None = None,
    before: Section | None = None,
) -> None:
    """Print a run as ``summary_table`` does; with colour on a terminal only, and not if NO_COLOR is set."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print(summary_table(rows, width, decided, neighbour, before))
