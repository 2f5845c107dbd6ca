"""Draw the plots of the reference runs again, from their rows: README.md and docs/ show these files.

::

    python -m bench.present.reference_plots [--runs results/reference]

A run without a folder ``plots`` gets none. The same rows and the same versions of matplotlib give the same files.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.present import plot_claims, plot_clients, plot_comparison, plot_selftest, plots, readme, report_files
from bench.present.report_comparison import rule_of
from bench.rows import RowsError, read
from bench.studies.compare.read import blocks, comparisons, decided

FOLDER = "plots"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    told = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.present.reference_plots", description=told)
    parser.add_argument("--runs", type=Path, default=readme.REFERENCE, help="the folder of the runs")
    chosen = parser.parse_args(arguments)
    try:
        for folder in sorted(path.parent for path in chosen.runs.glob(f"*/{FOLDER}")):
            renew(folder)
    except RowsError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def renew(run: Path) -> None:
    """Replace the plots of a run by new ones; those that are no longer drawn are removed."""
    with tempfile.TemporaryDirectory() as made:
        paths = save(run, Path(made))
        for old in (run / FOLDER).iterdir():
            if old.name not in {path.name for path in paths}:
                old.unlink()
        for path in paths:
            shutil.copyfile(path, run / FOLDER / path.name)


def save(run: Path, folder: Path) -> list[Path]:
    """Write the plots that the command which made a run saved, into a folder; return the files."""
    rows = read(run)
    machine, extras = report_files.read(run)
    if extras.claims is not None:
        return plot_claims.save_claims(extras.claims.verdicts, rows, extras.claims.machine, folder)
    if extras.selftest is not None:
        series = {name: blocks(own) for name, own in comparisons(rows).items()}
        machine = extras.selftest["machine"]
        saved = plot_selftest.save_selftest(extras.selftest, series, machine, folder)
        return [*saved, *plot_clients.save_clients(rows, machine, folder)]
    if extras.verdict is not None:
        found, rule = blocks(rows), rule_of(extras.verdict)
        return plot_comparison.save_comparison(found, decided(found, rule), rule, machine, folder)
    return plots.save_all(rows, machine, folder)


if __name__ == "__main__":
    sys.exit(main())
