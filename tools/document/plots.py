"""The plots that README.md and docs/ show, drawn from the rows of the reference runs.

The same rows and the same versions of matplotlib give the same files.
"""

import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench import units
from inflight.bench.frame.slopes import LAYERS, SERVER
from inflight.bench.rows.files import read
from inflight.bench.show import pictures
from inflight.bench.show.studies import Studies
from tools.document.stored import Runs
from tools.document.values import ladder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = "plots"
LADDER = Path("docs/pictures/thread.svg")
FILLS = dict(zip((*LAYERS, SERVER), pictures.FILLS, strict=True))
NAMES = ("the process", "page tables", "kernel's stack", "kernel's records", "the server's process")
"""What the layers are called in the key."""
ABOUT = "Memory per additional thread. Each bar says what the thread does, and what is counted."
_ROW = 0.7


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
    """Write the plots that the command which made a run saved, into a folder; return the files."""
    rows = read(run)
    studies = Studies(rows, run)
    machine, extras = studies.about
    if extras.selftest is None and extras.verdict is None:
        return Studies(rows).save_plots(machine, folder, only)
    return pictures.save(studies.decision_pictures(), folder)


def save_ladder(runs: Runs, root: Path) -> None:
    """Draw what a thread costs, for docs/memory.md: a bar for each figure that is said of it, made of its layers."""
    bars = ladder(runs)
    footer = "; ".join(runs.newest(name).source for name in ("memory", "c100k"))
    least, most = (units.size(bar.size) for bar in (bars[0], bars[-1]))
    title = f"Each additional thread needs {least} to {most}, depending on what is counted"

    def draw(axes: "Axes") -> None:
        from matplotlib.patches import Patch

        for place, bar in enumerate(bars):
            end = 0.0
            for name, size in bar.sizes.items():
                axes.barh(place, size / 1e3, left=end, height=0.66, **FILLS[name])
                end += size / 1e3
        names = [f"{number}. {bar.does},\n{bar.counts}" for number, bar in enumerate(bars, start=1)]
        pictures.name_rows(axes, names, {place: bar.text for place, bar in enumerate(bars)})
        axes.set_xlim(0, None)
        axes.set_xlabel("memory per thread (kB)")
        fills = zip(NAMES, FILLS.values(), strict=True)
        pictures.write_key(axes, [Patch(**fill, label=name) for name, fill in fills], 5)

    panel = pictures.Panel("", draw, 1.5 + _ROW * len(bars))
    with pictures.settings():
        sheet = pictures.draw_sheet(pictures.Picture("thread", title, ABOUT, [panel], footer=footer))
        sheet.savefig(root / LADDER, metadata={"Date": None, "Creator": None})
