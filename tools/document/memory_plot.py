"""The plot of what a thread costs, for docs/memory.md: a bar for each figure that is said of it, made of its layers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench.core.layers import LAYERS
from inflight.bench.present import marks, page
from inflight.bench.report import provenance
from tools.document.memory import PICTURE, SERVER, Bar, bars, title
from tools.document.stored import newest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILLS = dict(zip((*LAYERS, SERVER), marks.FILLS, strict=True))
NAMES = ("the process", "page tables", "kernel's stack", "kernel's records", "the server's process")
"""What the layers are called in the key."""
ABOUT = "Memory per additional thread. Each bar says what the thread does, and what is counted."
_LEFT, _RIGHT, _KEY, _ROW = 3.2, 0.5, 0.1, 0.85


def save(runs: Path, root: Path) -> Path:
    """Draw the newest runs into the folder of pictures; return the file. Raises DocumentError and OSError."""
    sources = [newest(runs, name) for name in ("memory", "c100k")]
    footer = "; ".join(provenance.source(run.rows, run.machine) for run in sources)
    with page.settings():
        draw(bars(runs), footer).savefig(root / PICTURE, metadata={"Date": None, "Creator": None})
    return root / PICTURE


def draw(found: Sequence[Bar], footer: str) -> "Figure":
    """Draw the bars from the top down."""
    sheet = page.sheet(title(found), ABOUT, footer, 2.6 + _ROW * len(found))
    marks.key(
        sheet,
        dict(zip(NAMES, FILLS.values(), strict=True)),
        _LEFT / page.WIDTH,
        sheet.subplotpars.top + 0.12 / sheet.get_figheight(),
    )
    marks.margins(sheet, _LEFT, _RIGHT, top=_KEY)
    axes = sheet.subplots()
    for place, bar in enumerate(found):
        parts = [(size / 1e3, FILLS[name]) for name, size in bar.parts.items()]
        marks.beside(axes, bar.text, marks.stacked(axes, place, parts), place)
    marks.name_rows(axes, [f"{number}. {bar.step.name}" for number, bar in enumerate(found, start=1)])
    axes.set_xlim(0, 1.18 * max(sum(bar.parts.values()) for bar in found) / 1e3)
    axes.set_xlabel("memory per thread (kB)")
    return sheet
