"""``inflight report``: a stored run as a page, as text, as Markdown, as a table or as JSON.

Each form has a function here (``_FORMS``), which takes the folder, the rows and the file to write; they call ``show``.
Nothing is measured.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inflight.bench.commands.options import FILE, FOLDER, PLACE, QUIET
from inflight.bench.commands.output import printing, put, say
from inflight.bench.commands.run import writing
from inflight.bench.measure.run import need_address_space
from inflight.bench.plan.judge import ExperimentError, need
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show.progress import working
from inflight.bench.show.results import Results

if TYPE_CHECKING:
    from inflight.bench.show.studies import Studies

PARQUET_FILE = "rows.parquet"
"""Name of the table in the folder of a run."""


@click.argument("folder", required=False, metavar="[RUN]", type=PLACE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "terminal", "md", "csv", "parquet", "json"]),
    default="html",
    help="Form of the report. html: a page. terminal: findings, a bar chart and tables. md: Markdown. "
    "csv, parquet: a table of the rows. json: the figures.",
)
@click.option("--output", "out", type=FILE, metavar="FILE", help="Write the report to this file.")
@click.option(
    "--results",
    metavar="FOLDER",
    type=FOLDER,
    default=Path("results"),
    help="Folder of runs; without RUN, the newest one in it is reported.",
)
@QUIET
def run(*, folder: Path | None, form: str, out: Path | None, results: Path) -> int:
    """Make a page, text, Markdown, a table or JSON of a stored run.

    \b
    inflight report                        page of the newest run, written into its folder
    inflight report results/20261120T101500000Z-laptop-quick --output page.html
    inflight report --format terminal      what `inflight run` prints at its end
    inflight report --format md >> "$GITHUB_STEP_SUMMARY"

    The page is one file with plots, race and raw rows, and needs no network. Without --output, terminal, md, csv and
    json go to standard output.
    """
    folder = folder or rows.newest(results)
    is_planted = out is not None and out.is_symlink() and out.parent.resolve() == folder.resolve()
    need(not is_planted, f"--output: {out} is a link in the folder of the run; remove it, or name another file")
    stored = rows.read(folder)
    _FORMS[form](folder, stored, out)
    if stored and not any(row.valid for row in stored):
        from inflight.bench.show.summary import coverage

        say(coverage(stored))
    return 0


def _html(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Write the page of a run, by default into its folder."""
    need_address_space()
    from inflight.bench.show import page as report_page
    from inflight.bench.show.studies import Studies

    target = out or folder / report_page.PAGE_FILE
    with writing(target), working() as tell:
        written = report_page.write(folder, out, tell=tell, studies=Studies(stored, folder))
    say(f"page:  {written}")


def _markdown(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Print or write the report as Markdown."""
    from inflight.bench.show.summary import as_markdown

    _put(as_markdown(_studies(folder, stored)), out)


def _terminal(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Print what ``inflight run`` prints at its end, with the decisions that are stored in the folder."""
    from inflight.bench.show import summary

    studies = _studies(folder, stored)
    if out is None:
        with printing(sys.stdout):
            summary.print_summary(studies, sys.stdout)
    else:
        _put(summary.summary_table(studies).plain, out)


def _studies(folder: Path, stored: list[Row]) -> "Studies":
    """Return the studies of a run; say which of its files are missing."""
    from inflight.bench.show.studies import Studies

    studies = Studies(stored, folder)
    _, extras = studies.about
    for sentence in extras.missing:
        say(sentence)
    return studies


def _csv(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Print or write the table of the trials as CSV."""
    _put(Results(folder, stored, {}).csv(), out)


def _json(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Print or write all figures as JSON."""
    results = Results(folder, stored, {})
    values = results.summary() | {"sentences": results.answer(), "folder": str(folder)}
    _put(json.dumps(values, allow_nan=False), out)


def _parquet(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Write the table of the trials as a Parquet file, by default into the folder of the run."""
    target = out or folder / PARQUET_FILE
    try:
        with writing(target):
            table = Results(folder, stored, {}).trials.to_parquet(index=False)
            (Path.write_bytes if out else rows.write)(target, table)
    except ImportError as error:
        raise ExperimentError("Parquet needs pyarrow: pip install pyarrow") from error
    say(f"table: {target}")


_FORMS: dict[str, Callable[[Path, list[Row], Path | None], None]] = {
    "html": _html,
    "terminal": _terminal,
    "md": _markdown,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
"""What writes each form of a report."""


def _put(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file."""
    text = text.rstrip("\n")
    if out is None:
        put(text)
        return
    with writing(out):
        out.write_text(f"{text}\n", encoding="utf-8", errors="replace", newline="\n")
    say(f"written: {out}")
