"""Run what the lessons show, and quote in each page what it printed.

::

    python -m tools.lessons [--check] [PAGE...]

``lesson_pages`` says how a page marks its commands. They run in a folder that holds nothing but docs/. The page quotes
their standard output, folded, so that a reader can predict first. A first line that names the machine moves below the
output. Lines are wrapped at 100 characters. Of more than 80 lines the middle is left out. With ``--check`` nothing is
written. The exit code is 1 when something is not as a page says.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from inflight.bench.rows.files import MACHINE_FILE
from inflight.bench.show import folder as provenance
from inflight.bench.show.markdown import escaped
from tools.lesson_pages import ROOT, LessonError, PageCommand, lesson_paths, missing, read, written_wrong

PLOTS = "plots"
PROGRAMS = {"inflight": [sys.executable, "-m", "inflight"], "python": [sys.executable]}
ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "100"}
HANG_S = 280
WIDEST, LONGEST, TAIL = 100, 80, 12


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def invalid(self) -> int:
        """How many trials were invalid, by their lines on standard error."""
        return self.err.count("✗")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.lessons", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "pages", metavar="PAGE", type=Path, nargs="*", help="only these (default: all of docs/lessons/)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page does not hold")
    chosen = parser.parse_args(arguments)
    paths = chosen.pages or lesson_paths()
    treat = check if chosen.check else renew
    problems = []
    for path in paths:
        try:
            problems += [f"{path.name}: {problem}" for problem in treat(path)]
        except (LessonError, OSError, subprocess.TimeoutExpired) as error:
            problems.append(f"{path.name}: {error}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def check(path: Path) -> list[str]:
    """Run the page's commands, and say what is not as the page has it."""
    lesson = read(path)
    problems = written_wrong(lesson)
    with working_folder() as folder:
        for run in lesson.runs:
            problems += went_wrong(run, perform(run.command, folder))
    return problems


def renew(path: Path) -> list[str]:
    """Run the page's commands and quote them anew; say what is not as the page has it, and what was disturbed.

    The output of a command that did not do what the page says, or that has invalid trials, is not quoted.
    """
    lesson = read(path)
    text, problems = lesson.text, []
    with working_folder() as folder:
        for run in reversed(lesson.runs):  # from the end on, so that what stands before keeps its place
            done = perform(run.command, folder)
            wrong = went_wrong(run, done)
            problems += wrong
            if done.invalid:
                problems.append(
                    f"{run.command}: {done.invalid} invalid trials, not quoted; try again on an idle machine"
                )
            if not wrong and not done.invalid:
                text = text[: run.begin] + quotation(run, done, folder, path) + text[run.end :]
    path.write_text(text, encoding="utf-8")
    return problems + written_wrong(read(path))


def working_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return an empty folder that has docs/ in it, as a checkout has."""
    made = tempfile.TemporaryDirectory(prefix="inflight-lessons-")
    (Path(made.name) / "docs").symlink_to(ROOT / "docs")
    return made


def perform(command: str, folder: str | Path) -> Done:
    """Run a command of a page to its end. Raises LessonError for a program that is none of ours."""
    program, *rest = shlex.split(command)
    if program not in PROGRAMS:
        raise LessonError(f"a lesson runs {' or '.join(PROGRAMS)}, not {program}")
    done = subprocess.run(
        [*PROGRAMS[program], *rest],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def went_wrong(run: PageCommand, done: Done) -> list[str]:
    """Say in what the outcome of a command is not what its page says.

    A run of which every trial is invalid ends with 1. That is the machine's doing and not the page's.
    """
    problems = missing(run, done.out)
    if done.code != run.exit_code and not (done.code == 1 and done.invalid):
        last = done.err.strip().rpartition("\n")[2]
        problems.append(f"{run.command}: ended with {done.code} instead of {run.exit_code}: {last}")
    return problems


def quotation(run: PageCommand, done: Done, folder: str | Path, path: Path) -> str:
    """Return what stands between the marks: output, plot and machine, folded. Copy the plot beside the page."""
    machine = _machine(Path(folder))
    quoted = "\n".join(trimmed(done.out, machine)).replace("```", "'''")
    parts = ["<details><summary>Output</summary>", f"```text\n{quoted}\n```"]
    if run.plot is not None:
        saved = sorted(Path(folder).glob(f"results/*/plots/{run.plot}.svg"))
        if not saved:
            raise LessonError(f"{run.command}: saved no plot {run.plot}")
        copy = path.parent / PLOTS / f"{path.stem}.svg"
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(saved[-1], copy)
        parts.append(f"![{run.plot}]({PLOTS}/{copy.name})")
    parts += [f"*{escaped(machine)}, {datetime.now(UTC).date()}*", "</details>"]
    return "\n\n".join(parts) + "\n"


def trimmed(out: str, machine: str) -> list[str]:
    """Return the lines of an output as they are quoted: see the top of this file."""
    lines = ["".join(char if char.isprintable() else "?" for char in line).rstrip() for line in out.splitlines()]
    if lines and lines[0].startswith(machine):
        del lines[0]
    lines = [part for line in lines for part in textwrap.wrap(line, WIDEST, subsequent_indent="    ") or [""]]
    while lines and not lines[-1]:
        del lines[-1]
    if len(lines) <= LONGEST:
        return lines
    head = LONGEST - TAIL
    return [*lines[:head], f"[{len(lines) - LONGEST} lines left out]", *lines[-TAIL:]]


def _machine(folder: Path) -> str:
    """Return the machine as the newest run of the folder describes it; without one, Python and system."""
    made = sorted(folder.glob(f"results/*/{MACHINE_FILE}"))
    if not made:
        return f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    return provenance.source([], json.loads(made[-1].read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
