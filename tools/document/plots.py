"""The plots that README.md and docs/ show, drawn from the rows of the reference runs.

The same rows and the same versions of matplotlib give the same files.
"""

import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from inflight.bench import units
from inflight.bench.frame.slopes import LAYERS, SERVER
from inflight.bench.present import marks, page
from inflight.bench.report import files as report_files
from inflight.bench.report import plots
from inflight.bench.rows.files import read
from tools.document.stored import Runs
from tools.document.values import ladder

FOLDER = "plots"
LADDER = Path("docs/pictures/thread.svg")
FILLS = dict(zip((*LAYERS, SERVER), marks.FILLS, strict=True))
NAMES = ("the process", "page tables", "kernel's stack", "kernel's records", "the server's process")
"""What the layers are called in the key."""
ABOUT = "Memory per additional thread. Each bar says what the thread does, and what is counted."
_LEFT, _RIGHT, _KEY, _ROW = 3.2, 0.5, 0.1, 0.85


def renew(runs: Runs) -> None:
    """Draw the plots that pages show again, and remove all others. Raises RowsError and OSError."""
    for old in runs.folder.glob(f"*/{FOLDER}/*"):
        if old.name not in runs.plots.get(old.parents[1], set()):
            old.unlink()
    for run, names in runs.plots.items():
        with tempfile.TemporaryDirectory() as made:
            save(run, Path(made), {name.partition(".")[0].partition("-")[0] for name in names})
            (run / FOLDER).mkdir(exist_ok=True)
            for name in names:
                shutil.copyfile(Path(made) / name, run / FOLDER / name)


def save(run: Path, folder: Path, only: Collection[str] | None = None) -> list[Path]:
    """Write the plots of a run into a folder; return the files."""
    machine, _ = report_files.read(run)
    return plots.save_all(read(run), machine, folder, only)


def save_ladder(runs: Runs, root: Path) -> None:
    """Draw what a thread costs, for docs/memory.md: a bar for each figure that is said of it, made of its layers."""
    bars = ladder(runs)
    footer = "; ".join(runs.newest(name).source for name in ("memory", "c100k"))
    least, most = (units.size(bar.size) for bar in (bars[0], bars[-1]))
    title = f"Each additional thread needs {least} to {most}, depending on what is counted"
    with page.settings():
        sheet = page.sheet(title, ABOUT, footer, 2.6 + _ROW * len(bars))
        below = sheet.subplotpars.top + 0.12 / sheet.get_figheight()
        marks.key(sheet, dict(zip(NAMES, FILLS.values(), strict=True)), _LEFT / page.WIDTH, below)
        marks.margins(sheet, _LEFT, _RIGHT, top=_KEY)
        axes = sheet.subplots()
        for place, bar in enumerate(bars):
            end = marks.stacked(axes, place, [(size / 1e3, FILLS[name]) for name, size in bar.sizes.items()])
            marks.beside(axes, bar.text, end, place)
        marks.name_rows(axes, [f"{number}. {bar.does},\n{bar.counts}" for number, bar in enumerate(bars, start=1)])
        axes.set_xlim(0, 1.18 * max(sum(bar.sizes.values()) for bar in bars) / 1e3)
        axes.set_xlabel("memory per thread (kB)")
        sheet.savefig(root / LADDER, metadata={"Date": None, "Creator": None})
