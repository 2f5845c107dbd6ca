"""``inflight report``: a stored run as a page, as text, as Markdown, as a table or as JSON.

``show`` makes each form (FORMS); here it is printed, or written into a file. Nothing is measured.
"""

import json
import sys
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

FORMS = ("html", "terminal", "md", "csv", "parquet", "json")
"""What a report can be."""
PARQUET_FILE = "rows.parquet"
"""Name of the table in the folder of a run."""


@click.argument("folder", required=False, metavar="[RUN]", type=PLACE)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
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
    if form == "html":
        _write_page(folder, stored, out)
    elif form == "parquet":
        _write_table(folder, stored, out)
    elif form == "terminal" and out is None:
        from inflight.bench.show.summary import print_summary

        studies = _studies(folder, stored)
        with printing(sys.stdout):
            print_summary(studies, sys.stdout)
    else:
        text = _text(form, folder, stored).rstrip("\n")
        if out is None:
            put(text)
        else:
            with writing(out):
                out.write_text(f"{text}\n", encoding="utf-8", errors="replace", newline="\n")
            say(f"written: {out}")
    if stored and not any(row.valid for row in stored):
        from inflight.bench.show.summary import coverage

        say(coverage(stored))
    return 0


def _write_page(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Write the page of a run, by default into its folder."""
    need_address_space()
    from inflight.bench.show import page as report_page
    from inflight.bench.show.studies import Studies

    target = out or folder / report_page.PAGE_FILE
    with writing(target), working() as tell:
        written = report_page.write(folder, out, tell=tell, studies=Studies(stored, folder))
    say(f"page:  {written}")


def _write_table(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Write the table of the trials as a Parquet file, by default into the folder of the run."""
    target = out or folder / PARQUET_FILE
    try:
        with writing(target):
            table = Results(folder, stored, {}).trials.to_parquet(index=False)
            (Path.write_bytes if out else rows.write)(target, table)
    except ImportError as error:
        raise ExperimentError("Parquet needs pyarrow: pip install pyarrow") from error
    say(f"table: {target}")


def _text(form: str, folder: Path, stored: list[Row]) -> str:
    """Return the report as text, as Markdown, as the table of the trials in CSV, or with all figures in JSON."""
    from inflight.bench.show import summary

    results = Results(folder, stored, {})
    match form:
        case "csv":
            return results.csv()
        case "json":
            values = results.summary() | {"sentences": results.answer(), "folder": str(folder)}
            return json.dumps(values, allow_nan=False)
        case "md":
            return summary.as_markdown(_studies(folder, stored))
    return summary.summary_table(_studies(folder, stored)).plain


def _studies(folder: Path, stored: list[Row]) -> "Studies":
    """Return the studies of a run; say which of its files are missing."""
    from inflight.bench.show.studies import Studies

    studies = Studies(stored, folder)
    _, extras = studies.about
    for sentence in extras.missing:
        say(sentence)
    return studies
