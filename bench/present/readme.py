"""Write the headline table of the reference run into README.md, between its two marks.

::

    python -m bench.present.readme [FOLDER] [--readme README.md] [--check]

FOLDER is a run; without it, the newest one in results/reference/. With ``--check`` nothing is written, and the exit
code is 1 when README.md is not what would be written.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from bench.analyse.headline import Line, Table, tables
from bench.present import notes, page, table, words
from bench.rows import ROWS_FILE, Row, RowsError, read

BEGIN, END = "<!-- headline: begin -->", "<!-- headline: end -->"
REFERENCE = Path("results/reference")
MACHINE_FILE = "machine.json"
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]$|~#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


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
        rows, machine = reference(folder)
        old = chosen.readme.read_text(encoding="utf-8")
        text = "\n\n".join(filter(None, [headline_markdown(rows, machine), _picture(folder, chosen.readme.parent)]))
        new = replaced(old, text, chosen.readme.name)
        if chosen.check:
            return _judge(old == new, chosen.readme)
        chosen.readme.write_text(new, encoding="utf-8")
    except (ReadmeError, RowsError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    return 0


def newest(parent: Path) -> Path:
    """Return the newest run in a folder (names begin with the time), or the folder itself if it is a run."""
    runs = sorted(path.parent for path in (*parent.glob(ROWS_FILE), *parent.glob(f"*/{ROWS_FILE}")))
    if not runs:
        raise ReadmeError(f"no run in {parent}; make one with `inflight run`, and move its folder there")
    return runs[-1]


def reference(folder: Path) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows of a run, and its machine; without ``machine.json``, an empty one."""
    rows = read(folder)
    path = folder / MACHINE_FILE
    try:
        machine = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ReadmeError(f"{path} is not JSON: {error}") from error
    return rows, machine


def replaced(text: str, headline: str, name: str) -> str:
    """Return the text with the headline between its marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ReadmeError(f"{name} needs the line {BEGIN} and, below it, the line {END}, each once")
    return f"{text[: text.index(BEGIN)]}{BEGIN}\n{headline}\n{text[text.index(END) :]}"


def headline_markdown(rows: Sequence[Row], machine: dict[str, Any]) -> str:
    """Return the headline table as Markdown, with how it was made, where and when, and the sentences of the table."""
    found = tables(rows)
    parts = [_provenance(rows, machine)]
    for one in found:
        if len(found) > 1 and (title := table.setting_title(one)):
            parts.append(f"**{escaped(title)}**")
        parts.append(_table(one))
        parts.append(_list(notes.about_table(one)))
    parts.append(_list([*notes.about_rows(rows), *notes.about_red(rows)]))
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Return text that Markdown and HTML show as it is."""
    return words.plain(text).translate(_SPECIAL)


def command(machine: dict[str, Any]) -> str | None:
    """Return the command that made the run, without where the program was installed."""
    if not machine.get("command"):
        return None
    return shlex.join(
        ["inflight", *(PurePath(word).name if word.startswith("/") else word for word in machine["command"][1:])]
    )


def _provenance(rows: Sequence[Row], machine: dict[str, Any]) -> str:
    made = command(machine)
    by = f"Made by `{made.replace('`', '')}`" if made else "Made"
    return f"{by} on {escaped(page.source(rows, machine).replace(' · ', ', '))}."


def _picture(folder: Path, beside: Path) -> str:
    """Return a link to the run's first plot, if it has one and lies below the folder of the README."""
    plot = folder / "plots" / "throughput.svg"
    if not (plot.is_file() and plot.resolve().is_relative_to(beside.resolve())):
        return ""
    return f"![Throughput over fetches in flight]({plot.resolve().relative_to(beside.resolve()).as_posix()})"


def _table(one: Table) -> str:
    has_memory = any(line.memory is not None for line in one.lines)
    heads = [
        "strategy",
        *(words.column(column).replace(", ", "<br>") for column in one.columns),
        *(["user memory per fetch in flight"] if has_memory else []),
        "trials",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' + '---:|' * (len(heads) - 1)}"]
    own_follows = False
    for line in one.lines:
        if line.stack != "shared" and not own_follows:
            own_follows = True
            lines.append(f"| *with an HTTP stack of their own* |{' |' * (len(heads) - 1)}")
        lines.append(f"| {' | '.join(_cells(line, one, has_memory))} |")
    return "\n".join(lines)


def _cells(line: Line, one: Table, has_memory: bool) -> list[str]:
    entries = [table.entry_text(entry, column) for entry, column in zip(line.entries, one.columns, strict=True)]
    memory = [words.memory(line.memory)] if has_memory else []
    return [escaped(line.strategy), *entries, *memory, table.trials_text(line)]


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)


def _judge(is_current: bool, path: Path) -> int:
    return 0 if is_current else _fail(f"{path} is not up to date; run `make readme`")


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
