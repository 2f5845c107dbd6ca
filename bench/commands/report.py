"""``inflight report``: a stored run as a page, as text, as Markdown, as a table or as JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from inflight.bench.commands.output import say
from inflight.bench.present.progress import working
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError

PARQUET_FILE = "rows.parquet"


class ReportError(Exception):
    """A report that cannot be made; the message says why and what to do."""


REFUSALS = (ReportError, RowsError)


def run(*, folder: Path | None, form: str, out: Path | None, results: Path) -> int:
    """Make a report; return 0. Raises one of REFUSALS if it cannot be made."""
    folder = folder or rows.newest(results)
    found = rows.read(folder)
    _FORMS[form](folder, found, out)
    if found and not any(row.valid for row in found):
        from inflight.bench.show.missing import coverage

        say(coverage(found))
    return 0


def _html(folder: Path, _found: list[Row], out: Path | None) -> None:
    from inflight.bench.show import page as report_page

    target = out or folder / report_page.PAGE_FILE
    with _Writing(target), working() as tell:
        written = report_page.write(folder, out, tell=tell)
    say(f"page:  {written}")


def _markdown(folder: Path, found: list[Row], out: Path | None) -> None:
    from inflight.bench.report import files as report_files
    from inflight.bench.report import markdown as report_markdown
    from inflight.bench.report import verdicts

    machine, extras = report_files.read(folder)
    for sentence in extras.missing:
        say(sentence)
    _put(report_markdown.markdown(found, machine, verdicts.sections(found, extras)), out)


def _terminal(folder: Path, found: list[Row], out: Path | None) -> None:
    """Print what ``inflight run`` prints at its end, with the decisions that are stored in the folder."""
    from inflight.bench.report import earlier, terminal, verdicts
    from inflight.bench.report import files as report_files

    machine, extras = report_files.read(folder)
    for sentence in extras.missing:
        say(sentence)
    decided, neighbour = verdicts.sections(found, extras), machine.get("neighbour")
    before = None if decided else earlier.section(folder, found)
    if out is None:
        terminal.print_summary(found, sys.stdout, decided, neighbour, before)
    else:
        _put(terminal.summary_table(found, decided=decided, neighbour=neighbour, before=before).plain, out)


def _csv(_folder: Path, found: list[Row], out: Path | None) -> None:
    from inflight.bench.report.tidy import csv

    _put(csv(found), out)


def _json(folder: Path, found: list[Row], out: Path | None) -> None:
    from inflight.bench.report.answer import answer
    from inflight.bench.report.studies import Studies
    from inflight.bench.report.summary import summary_json

    told = summary_json(found) | {"answer": answer(Studies(found)) if found else [], "folder": str(folder)}
    _put(json.dumps(told, allow_nan=False), out)


def _parquet(folder: Path, found: list[Row], out: Path | None) -> None:
    """Write the table of the trials as a Parquet file, by default into the folder of the run."""
    from inflight.bench.report.tidy import trials

    target = out or folder / PARQUET_FILE
    try:
        with _Writing(target):
            trials(found).to_parquet(target, index=False)
    except ImportError as error:
        raise ReportError("Parquet needs pyarrow: pip install 'inflight-bench[parquet]'") from error
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
    with _Writing(out):
        out.write_text(f"{text}\n", encoding="utf-8", errors="replace", newline="\n")
    say(f"written: {out}")


class _Writing:
    """A block that writes to a file: an OSError becomes a ReportError."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise ReportError(f"cannot write {self._target}: {error.strerror or error}") from error
