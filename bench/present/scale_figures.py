"""Write what docs/scale.md quotes of the reference runs c100k and c1m, each part between its two marks.

::

    python -m bench.present.scale_figures [--docs docs/scale.md] [--runs results/reference] [--check]

The marks are ``<!-- c100k: begin -->`` and ``<!-- c100k: end -->``, likewise ``c1m``; a part whose marks the file does
not have is left out, and one of which there is no run is empty. With ``--check`` nothing is written, and the exit code
is 1 when the file is not what would be written.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.analyse import swarms
from bench.present import findings_swarms, readme, swarm_table
from bench.present.markdown import escaped
from bench.present.readme import ReadmeError
from bench.present.section import table_markdown
from bench.rows import ROWS_FILE, RowsError

RUNS = ("c100k", "c1m")
"""The experiments, and the names of their marks."""
PICTURES = {"swarm": "Fetches in flight over time", "swarm_memory": "Memory per fetch in flight, in layers"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    told = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.present.scale_figures", description=told)
    parser.add_argument("--docs", type=Path, default=Path("docs/scale.md"), help="the file with the marks")
    parser.add_argument("--runs", type=Path, default=readme.REFERENCE, help="the folder of the runs")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is not up to date")
    chosen = parser.parse_args(arguments)
    try:
        old = chosen.docs.read_text(encoding="utf-8")
        new = written(old, chosen.runs, chosen.docs)
        if chosen.check:
            return 0 if old == new else _fail(f"{chosen.docs} is not up to date; run `make readme`")
        chosen.docs.write_text(new, encoding="utf-8")
    except (ReadmeError, RowsError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    return 0


def written(text: str, runs: Path, path: Path) -> str:
    """Return the text of a file with every part renewed whose marks are there. Raises ReadmeError for half a mark."""
    for name in RUNS:
        marks = (f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
        if any(mark in text for mark in marks):
            text = readme.replaced(text, part(name, runs, path.parent), path.name, marks)
    return text


def part(name: str, runs: Path, beside: Path) -> str:
    """Return what the newest run of an experiment says, for a file in the folder ``beside``; empty without a run."""
    folder = newest(name, runs)
    return "" if folder is None else "\n\n".join([findings(folder), *tables(folder), *pictures(folder, beside)])


def newest(name: str, runs: Path) -> Path | None:
    """Return the newest run of an experiment; None where there is none."""
    return max((path.parent for path in runs.glob(f"*-{name}/{ROWS_FILE}")), default=None)


def findings(folder: Path) -> str:
    """Return how a run was made, and what it says in a few sentences."""
    rows, machine = readme.reference(folder)
    told = [escaped(sentence[0].upper() + sentence[1:]) for sentence in findings_swarms.answer(rows)]
    if not told:
        raise ReadmeError(f"{folder} holds no valid swarm: there is nothing to quote")
    return "\n\n".join([readme.provenance(rows, machine), "\n".join(f"- {sentence}." for sentence in told)])


def tables(folder: Path) -> list[str]:
    """Return the tables of a run, with their sentences."""
    rows, _ = readme.reference(folder)
    return [table_markdown(grid) for grid in swarm_table.grids(rows)]


def pictures(folder: Path, beside: Path) -> list[str]:
    """Return links to the plots that a run has."""
    found = {name: folder / "plots" / f"{name}.svg" for name in PICTURES}
    return [
        f"![{PICTURES[name]}]({Path(os.path.relpath(plot.resolve(), beside.resolve())).as_posix()})"
        for name, plot in found.items()
        if plot.is_file()
    ]


def for_readme(folder: Path, beside: Path) -> str:
    """Return what README.md says of swarms: the sentences of each run beside this one, and its first plot."""
    parts = []
    for name in RUNS:
        own = newest(name, folder.parent)
        if own is not None and swarms.swarms(readme.reference(own)[0]):
            parts += [findings(own), *pictures(own, beside)[:1]]
    return "\n\n".join(parts)


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
