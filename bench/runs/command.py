"""``inflight compare``: read the runs, compare them, print, and write the requested files."""

import json
from collections.abc import Sequence
from pathlib import Path

from inflight.bench.commands.output import say
from inflight.bench.measure.places import without_places
from inflight.bench.rows.files import RowsError
from inflight.bench.runs import show
from inflight.bench.runs.compare import Run, compare, read

EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
JSON_FILE, MARKDOWN_FILE = "compare.json", "compare.md"


class CompareError(Exception):
    """The runs cannot be compared; the message says why, and what to do."""


REFUSALS = (CompareError, RowsError)


def run(*, places: Sequence[Path], out: Path | None, as_json: bool, markdown: Path | None) -> int:
    """Compare, and return the exit code of the verdict."""
    if len(places) < 2:
        raise CompareError("give two or more runs: folders of `inflight run`, or files of rows")
    comparison = compare([_run(path) for path in places])
    if comparison.changes.empty:
        raise CompareError(f"{places[0]} and {places[-1]} have no strategy, workload and baseline in common")
    if as_json:
        print(json.dumps(show.to_json(comparison), allow_nan=False))
        say(show.title(comparison))
    else:
        print(show.text(comparison))
    try:
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(show.markdown(comparison))
        if out is not None:
            from inflight.bench.runs.plot import picture
            from inflight.bench.show.pictures import save

            out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(show.to_json(comparison), indent=2, allow_nan=False)
            (out / JSON_FILE).write_text(f"{text}\n", encoding="utf-8")
            (out / MARKDOWN_FILE).write_text(show.markdown(comparison), encoding="utf-8")
            plots = save([picture(comparison)], out)
            for path in (out / JSON_FILE, out / MARKDOWN_FILE, *plots):
                say(f"written: {path}")
    except OSError as error:
        raise CompareError(f"cannot write {error.filename or out}: {error.strerror}") from error
    return EXITS[comparison.verdict]


def _run(path: Path) -> Run:
    run = read(path, without_places(str(path)))
    if not run.valid:
        raise CompareError(f"{path} has no valid row among {len(run.rows)}: nothing in it can be compared")
    return run
