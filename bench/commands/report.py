"""``inflight report``: a stored run as a page, as text, as Markdown, as a table or as JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from inflight.bench.commands.output import say
from inflight.bench.commands.run import writing
from inflight.bench.measure.run import RunError, need_address_space
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.show.progress import working
from inflight.bench.show.results import Results

PARQUET_FILE = "rows.parquet"


class ReportError(Exception):
    """A report that cannot be made; the message says why and what to do."""


REFUSALS = (ReportError, RowsError, RunError)


def run(*, folder: Path | None, form: str, out: Path | None, results: Path) -> int:
    """Make a report; return 0. Raises one of REFUSALS if it cannot be made."""
    folder = folder or rows.newest(results)
    if out and out.is_symlink() and out.parent.resolve() == folder.resolve():
        raise ReportError(f"--output: {out} is a link in the folder of the run; remove it, or name another file")
    stored = rows.read(folder)
    _FORMS[form](folder, stored, out)
    if stored and not any(row.valid for row in stored):
        from inflight.bench.show.summary import coverage

        say(coverage(stored))
    return 0


def _html(folder: Path, _found: list[Row], out: Path | None) -> None:
    need_address_space()
    from inflight.bench.show import page as report_page

    target = out or folder / report_page.PAGE_FILE
    with writing(target), working() as tell:
        written = report_page.write(folder, out, tell=tell)
    say(f"page:  {written}")


def _markdown(folder: Path, stored: list[Row], out: Path | None) -> None:
    from inflight.bench.show import folder as folders
    from inflight.bench.show.studies import Studies, decisions
    from inflight.bench.show.summary import as_markdown

    machine, extras = folders.read(folder)
    for sentence in extras.missing:
        say(sentence)
    _put(as_markdown(Studies(stored, folder), machine, decisions(stored, extras)), out)


def _terminal(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Print what ``inflight run`` prints at its end, with the decisions that are stored in the folder."""
    from inflight.bench.show import folder as folders
    from inflight.bench.show import summary
    from inflight.bench.show.studies import Studies, decisions

    machine, extras = folders.read(folder)
    for sentence in extras.missing:
        say(sentence)
    studies = Studies(stored, folder)
    decided, neighbour = decisions(stored, extras), machine.get("neighbour")
    if out is None:
        summary.print_summary(studies, sys.stdout, decided, neighbour)
    else:
        _put(summary.summary_table(studies, decided=decided, neighbour=neighbour).plain, out)


def _csv(folder: Path, stored: list[Row], out: Path | None) -> None:
    _put(Results(folder, stored, {}).csv(), out)


def _json(folder: Path, stored: list[Row], out: Path | None) -> None:
    results = Results(folder, stored, {})
    values = results.summary() | {"answer": results.answer() if stored else [], "folder": str(folder)}
    _put(json.dumps(values, allow_nan=False), out)


def _parquet(folder: Path, stored: list[Row], out: Path | None) -> None:
    """Write the table of the trials as a Parquet file, by default into the folder of the run."""
    target = out or folder / PARQUET_FILE
    try:
        with writing(target):
            table = Results(folder, stored, {}).trials.to_parquet(index=False)
            (Path.write_bytes if out else rows.write)(target, table)
    except ImportError as error:
        raise ReportError("Parquet needs pyarrow: pip install pyarrow") from error
    say(f"table: {target}")


_FORMS: dict[str, Callable[[Path, list[Row], Path | None], None]] = {
    "html": _html,
    "terminal": _terminal,
    "md": _markdown,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}


def _put(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file."""
    text = text.rstrip("\n")
    if out is None:
        print(text)
        return
    with writing(out):
        out.write_text(f"{text}\n", encoding="utf-8", errors="replace", newline="\n")
    say(f"written: {out}")
