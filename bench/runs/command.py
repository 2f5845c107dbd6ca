"""``inflight compare``: read the runs, compare them, print, and write the requested files."""

import json
from collections.abc import Sequence
from pathlib import Path

from inflight.bench.commands import run as commands
from inflight.bench.commands.output import say, say_plots
from inflight.bench.measure.host import without_places
from inflight.bench.measure.run import RunError
from inflight.bench.rows.files import RowsError
from inflight.bench.runs import show
from inflight.bench.runs.compare import Run, compare, read

EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
JSON_FILE, MARKDOWN_FILE = "compare.json", "compare.md"


class CompareError(Exception):
    """The runs cannot be compared; the message says why, and what to do."""


REFUSALS = (CompareError, RowsError, RunError)


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
    if out is not None:
        from inflight.bench.runs.plot import picture

        text = json.dumps(show.to_json(comparison), indent=2, allow_nan=False)
        texts = {JSON_FILE: f"{text}\n", MARKDOWN_FILE: show.markdown(comparison)}
        say_plots(commands.keep(out, texts, [picture(comparison)]))
        say(f"written: {out / MARKDOWN_FILE}")
    if markdown is not None:
        commands.append(markdown, show.markdown(comparison))
    return EXITS[comparison.verdict]


def _run(path: Path) -> Run:
    run = read(path, without_places(str(path)))
    if not run.valid:
        raise CompareError(f"{path} has no valid row among {len(run.rows)}: nothing in it can be compared")
    return run
