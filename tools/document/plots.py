"""The plots of the reference runs, which README.md and docs/ show, drawn again from their rows.

A run without a folder ``plots`` gets none, and only the plots that a page shows are kept. The same rows and the same
versions of matplotlib give the same files.
"""

import shutil
import tempfile
from pathlib import Path

from inflight.bench.report import files as report_files
from inflight.bench.report import plots
from inflight.bench.rows.files import read
from inflight.bench.studies.claims import plot as plot_claims
from inflight.bench.studies.clients import plot as plot_clients
from inflight.bench.studies.compare import plot as plot_comparison
from inflight.bench.studies.compare import read as read_comparisons
from inflight.bench.studies.selftest import plot as plot_selftest

FOLDER = "plots"


def renew_all(runs: Path) -> None:
    """Replace the plots of all runs in a folder that have some. Raises RowsError and OSError."""
    for folder in sorted(path.parent for path in runs.glob(f"*/{FOLDER}")):
        renew(folder)


def renew(run: Path) -> None:
    """Replace the plots of a run by new ones; those that are no longer drawn are removed."""
    with tempfile.TemporaryDirectory() as made:
        paths = save(run, Path(made))
        for old in (run / FOLDER).iterdir():
            if old.name not in {path.name for path in paths}:
                old.unlink()
        for path in paths:
            shutil.copyfile(path, run / FOLDER / path.name)


def drop_unshown(runs: Path, root: Path) -> None:
    """Remove the plots that no page of the project shows."""
    pages = [path.read_text(encoding="utf-8") for path in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]]
    for path in runs.glob(f"*/{FOLDER}/*"):
        if not any("/".join(path.parts[-3:]) in page for page in pages):
            path.unlink()


def save(run: Path, folder: Path) -> list[Path]:
    """Write the plots that the command which made a run saved, into a folder; return the files."""
    rows = read(run)
    machine, extras = report_files.read(run)
    if extras.claims is not None:
        return plot_claims.save_claims(extras.claims, rows, folder)
    if extras.selftest is not None:
        machine = extras.selftest["machine"]
        saved = plot_selftest.save_selftest(extras.selftest, rows, machine, folder)
        return [*saved, *plot_clients.save_clients(rows, machine, folder)]
    if extras.verdict is not None:
        result = read_comparisons.result(rows, extras.verdict)
        return [] if result is None else plot_comparison.save_comparison(result, machine, folder)
    return plots.save_all(rows, machine, folder)
