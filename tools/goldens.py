"""Show what a change does to every output of the stored runs.

    python -m tools.goldens [--base REVISION]

The outputs of each run are written twice: by the code of REVISION, and by the code in the working tree. They are the
summary of the terminal, the Markdown, the JSON, the tables, the page and the plots. Differences are printed; the exit
code is 1 if there are any.

    python -m tools.goldens --write FOLDER

writes them once, a folder a run.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inflight.bench.ab import decide as deciding
from inflight.bench.ab import rates, show
from inflight.bench.api import load
from inflight.bench.commands import advise as advise_command
from inflight.bench.commands import report as report_command
from inflight.bench.race import command as race_command
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import SELFTEST_FILE, RowsError
from inflight.bench.show import summary as table
from inflight.bench.show.studies import Studies
from tools.document.stored import REFERENCE

FORMS = ("html", "md", "csv", "json")
TABLES = ("trials", "cells", "memory", "timeline", "samples", "checks", "times")
JSON_SPACES = 1


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD", help="the revision to compare with (HEAD)")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="compare nothing; write the outputs there")
    parser.add_argument("--runs", type=Path, default=REFERENCE.resolve(), help="the folder of the runs")
    asked = parser.parse_args()
    if asked.write is not None:
        write(asked.write, asked.runs)
        return 0
    with tempfile.TemporaryDirectory(prefix="inflight-") as place:
        before, after = Path(place) / "before", Path(place) / "after"
        write_of(asked.base, before, asked.runs)
        write(after, asked.runs)
        return subprocess.run(["diff", "--recursive", "--unified=0", before, after], check=False).returncode


def write_of(revision: str, folder: Path, runs: Path) -> None:
    """Write the outputs by the code of a revision. Raises CalledProcessError where it has no such program."""
    tree = folder.with_name("tree")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], check=True)
    try:
        command = [sys.executable, "-m", "tools.goldens", "--write", str(folder), "--runs", str(runs)]
        subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=True)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], check=True)


def write(folder: Path, runs: Path) -> None:
    """Write the outputs of all runs in a folder."""
    for run in rows.folders_in(runs):
        out = folder / run.name
        out.mkdir(parents=True, exist_ok=True)
        for name, text in outputs(run, out):
            (out / name).write_text(text, encoding="utf-8")


def outputs(run: Path, out: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each output of a run; its page and its plots are written into ``out``."""
    results = load(run)
    found = results.rows
    with io.StringIO() as summary:
        table.print_summary(found, summary)
        yield "summary.txt", summary.getvalue()
    for form in FORMS:
        with _quietly():
            report_command.run(folder=run, form=form, out=out / f"report.{form}", results=run.parent)
    for name in TABLES:
        yield f"{name}.csv", getattr(results, name).to_csv()
    yield "answer.txt", "\n".join(results.answer())
    for path in Studies(found).save_plots(results.machine, out / "plots"):
        if path.suffix == ".png":
            path.unlink()
    yield from _of_kind(run, found)


def _of_kind(run: Path, found: list[rows.Row]) -> Iterator[tuple[str, str]]:
    """Yield what only some runs have: a verdict, a self-test, a race, advice."""
    if any(row.of_comparison for row in found) and not (run / SELFTEST_FILE).exists():
        result = deciding.result(found)
        assert result is not None
        yield "verdict.txt", show.text(result).plain
        yield "verdict.md", show.markdown(result)
        yield "verdict.json", json.dumps(show.to_json(result), indent=JSON_SPACES)
    if (run / SELFTEST_FILE).exists():
        yield "selftest.txt", rates.text(json.loads((run / SELFTEST_FILE).read_text(encoding="utf-8")))
    with contextlib.suppress(RowsError), _quietly() as said:
        race_command.run(folder=run, chosen=(), speed=1.0, out=run.parent)
        yield "race.txt", said.getvalue()
    with contextlib.suppress(*advise_command.REFUSALS), _quietly() as said:
        advise_command.run(
            latency="50ms", cpu="0", in_flight=100, folder=run, verify=False, as_json=False, out=run.parent
        )
        yield "advice.txt", said.getvalue()


@contextlib.contextmanager
def _quietly() -> Iterator[io.StringIO]:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        yield said


if __name__ == "__main__":
    sys.exit(main())
