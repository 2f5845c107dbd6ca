"""Write what README.md quotes of the reference runs, each part between its two marks.

::

    python -m bench.present.readme [FOLDER] [--readme README.md] [--check]

The headline is of FOLDER; without it, of the newest run of ``quick`` in results/reference/, and the other parts whose
marks the file has (map, memory, claims, selftest) are of the newest runs of these names; swarm is of c100k and c1m, and
empty without them. With ``--check`` nothing is written, and the exit code is 1 when README.md is not what would be
written.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any

from bench.analyse import cells as c
from bench.present import notes, page, section
from bench.present.markdown import MOST_TEXT, code, escaped
from bench.present.memory_table import user_grids
from bench.rows import ROWS_FILE, Row, RowsError, read
from bench.studies.throughput import show as throughput

BEGIN, END = "<!-- headline: begin -->", "<!-- headline: end -->"
PARTS = ("map", "memory", "claims", "selftest", "swarm")
"""What README.md may quote beside the headline: the experiment of the run, and the name of the marks."""
REFERENCE = Path("results/reference")
MACHINE_FILE = "machine.json"
SELFTEST_FILE = "selftest.json"


class ReadmeError(Exception):
    """README.md or the reference run is not as it must be; the message says how."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.present.readme", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="a run (default: the newest one in results/reference/)")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), help="the file with the two marks")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is not up to date")
    chosen = parser.parse_args(arguments)
    try:
        folder = chosen.folder or newest(REFERENCE)
        old = chosen.readme.read_text(encoding="utf-8")
        new = replaced(old, _headline(folder, chosen.readme.parent), chosen.readme.name)
        if chosen.folder is None:
            new = _with_parts(new, REFERENCE, chosen.readme)
        if chosen.check:
            return _judge(old == new, chosen.readme)
        chosen.readme.write_text(new, encoding="utf-8")
    except (ReadmeError, RowsError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    return 0


def newest(parent: Path, experiment: str = "quick") -> Path:
    """Return the newest run of an experiment in a folder (names begin with the time and end with the experiment).

    Where there is none, it is the newest of all; a folder that is a run itself is returned as it is.
    """
    runs = sorted(path.parent for path in (*parent.glob(ROWS_FILE), *parent.glob(f"*/{ROWS_FILE}")))
    if not runs:
        raise ReadmeError(f"no run in {parent}; make one with `inflight run`, and move its folder there")
    return ([run for run in runs if run.name.endswith(f"-{experiment}")] or runs)[-1]


def reference(folder: Path) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows of a run, and its machine; without ``machine.json``, an empty one."""
    rows = read(folder)
    path = folder / MACHINE_FILE
    try:
        machine = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ReadmeError(f"{path} is not JSON: {error}") from error
    return rows, machine


def replaced(text: str, part: str, name: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """Return the text with a part between its marks."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ReadmeError(f"{name} needs the line {begin} and, below it, the line {end}, each once")
    return f"{text[: text.index(begin)]}{begin}\n{part}\n{text[text.index(end) :]}"


def _headline(folder: Path, beside: Path) -> str:
    rows, machine = reference(folder)
    picture = _picture(folder, beside, "throughput", "Throughput over fetches in flight")
    memory = map(section.table_markdown, user_grids(c.cells(rows, "memory")))
    return "\n\n".join(filter(None, [headline_markdown(rows, machine), *memory, picture]))


def _with_parts(text: str, parent: Path, readme: Path) -> str:
    """Return the text with every other part renewed whose marks are there."""
    for part in PARTS:
        marks = (f"<!-- {part}: begin -->", f"<!-- {part}: end -->")
        if marks[0] in text:
            folder = newest(parent, part)
            text = replaced(text, WRITERS[part](folder, readme.parent), readme.name, marks)
    return text


def _map(folder: Path, beside: Path) -> str:
    """Return the finding of the decision map, how it was made, and its plot."""
    from bench.present import map_table

    rows, machine = reference(folder)
    decided = map_table.of_rows(rows)
    if decided is None:
        raise ReadmeError(f"{folder} holds no map: its crawls do not differ in latency and in CPU work")
    picture = _picture(folder, beside, "map", "The decision map")
    return "\n\n".join(
        filter(None, [provenance(rows, machine), f"**{escaped(map_table.finding(decided))}.**", picture])
    )


def _memory(folder: Path, beside: Path) -> str:
    """Return the plot of the layers, and how it was made."""
    rows, machine = reference(folder)
    return f"{provenance(rows, machine)}\n\n{_picture(folder, beside, 'layers', 'Memory per task, in layers')}"


def _claims(folder: Path, beside: Path) -> str:
    """Return the table of verdicts, how it was made, and its plot."""
    from bench.present import claims, claims_pages

    try:
        verdicts = claims.load(folder).verdicts
    except claims.ClaimsError as error:
        raise ReadmeError(str(error)) from error
    rows, machine = reference(folder)
    rows = [row for row in rows if row.run == folder.name] or rows
    picture = _picture(folder, beside, "claims", "The claims and their verdicts")
    return "\n\n".join(filter(None, [provenance(rows, machine), claims_pages.readme_table(verdicts), picture]))


def _selftest(folder: Path, beside: Path) -> str:
    """Return what a self-test found, as it printed it, how it was made, and its plot."""
    from bench.present import selftest

    path = folder / SELFTEST_FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        told = selftest.text(found)
    except (OSError, ValueError, KeyError) as error:
        raise ReadmeError(f"{path} does not hold a self-test: {error}") from error
    rows, machine = reference(folder)
    picture = _picture(folder, beside, "selftest", "Blocks without a change, and with planted slowdowns")
    return "\n\n".join(filter(None, [provenance(rows, machine), f"```text\n{told}\n```", picture]))


def _swarm(folder: Path, beside: Path) -> str:
    """Return what the runs of swarms say that lie where this one does; nothing where there are none."""
    from bench.present import scale_figures

    return scale_figures.for_readme(folder, beside)


WRITERS: dict[str, Callable[[Path, Path], str]] = {
    "map": _map,
    "memory": _memory,
    "claims": _claims,
    "selftest": _selftest,
    "swarm": _swarm,
}


def headline_markdown(rows: Sequence[Row], machine: dict[str, Any]) -> str:
    """Return the section of throughput as Markdown, with how it was made, where and when."""
    red = _list(notes.about_red(rows))
    return "\n\n".join(filter(None, [provenance(rows, machine), section.markdown(throughput.section(rows)), red]))


def command(machine: dict[str, Any]) -> str | None:
    """Return the command that made the run, without where the program was installed."""
    if not machine.get("command"):
        return None
    return shlex.join(
        ["inflight", *(PurePath(word).name if word.startswith("/") else word for word in machine["command"][1:])]
    )


def provenance(rows: Sequence[Row], machine: dict[str, Any]) -> str:
    """Return by which command a run was made, and on which machine."""
    made = command(machine)
    by = f"Made by {code(made)}" if made else "Made"
    return f"{by} on {escaped(page.source(rows, machine).replace(' · ', ', '))}."


def _picture(folder: Path, beside: Path, name: str, words_for_it: str) -> str:
    """Return a link to a plot of the run, if it has that one and lies below the folder of the README."""
    plot = folder / "plots" / f"{name}.svg"
    if not (plot.is_file() and plot.resolve().is_relative_to(beside.resolve())):
        return ""
    return f"![{words_for_it}]({plot.resolve().relative_to(beside.resolve()).as_posix()})"


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(sentence, MOST_TEXT)}" for sentence in sentences)


def _judge(is_current: bool, path: Path) -> int:
    return 0 if is_current else _fail(f"{path} is not up to date; run `make readme`")


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
