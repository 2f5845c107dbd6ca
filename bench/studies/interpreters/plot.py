"""CPU time and throughput on each interpreter, over those on the first one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.present import labels, marks, name_looks, page, scales, words
from inflight.bench.present.marks import Fill
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.interpreters import read, show
from inflight.bench.studies.interpreters.read import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 0.26
"""Inches per mark."""
WIDEST = 4.0
"""Ratios beyond this, or below its inverse, are drawn at the edge."""
_FIGURES = {"CPU per page": c.cpu_per_page_ns, "pages per second": c.pages_per_s}


def plots(rows: Sequence[Row], _looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the ratios of the first workload of a run with several interpreters."""
    for matrix in read.matrices(rows)[:1]:
        if any(matrix.ratio(*key, c.cpu_per_page_ns) for key in matrix.cells):
            yield "interpreters", draw(matrix, footer)


def draw(matrix: Matrix, footer: str) -> "Figure":
    """Draw a panel for each figure: a group of marks per strategy, one mark per interpreter, with its interval."""
    first, *others = matrix.interpreters
    colours = {label: Fill(name_looks.COLOURS[number % 8]) for number, label in enumerate(others)}
    names = [name for name in matrix.strategies if any(matrix.ratio(name, one, c.cpu_per_page_ns) for one in others)]
    missing = len(matrix.strategies) - len(names)
    notes = marks.notes(
        show.where(matrix).strip().capitalize() + ".",
        f"Ratios compare a strategy with itself on {first}, in the same blocks; whiskers: 95 % intervals.",
        any(show.stack(matrix, name) != "shared" for name in names) and labels.ABOUT_STAR,
        missing > 0 and f"{words.counted(missing, 'strategy')} without a ratio.",
    )
    rows = len(names) * (len(others) + 1)
    sheet = page.sheet(show.title(matrix), notes, footer, max(page.HEIGHT, 3 + LINE * rows))
    starred = [labels.starred(name, show.stack(matrix, name)) for name in names]
    marks.margins(sheet, 0.3 + labels.inches(sheet, starred, page.TEXT), 0.4, top=0.4)
    sheet.subplots_adjust(wspace=0.08)
    panels = list(sheet.subplots(1, len(_FIGURES), sharey=True))
    for axes, (what, figure) in zip(panels, _FIGURES.items(), strict=True):
        _panel(axes, matrix, names, figure, colours)
        axes.set_xlabel(f"{what}, ratio to {words.plain(first, 30)}")
    marks.name_rows(panels[0], starred)
    marks.key_above(panels[0], colours)
    return sheet


def _panel(axes: "Axes", matrix: Matrix, names: Sequence[str], figure: c.Read, colours: Mapping[str, Fill]) -> None:
    axes.axvline(1, color="black", linewidth=1.2, zorder=1)
    step, ends = 0.8 / max(1, len(colours)), [0.9, 1.1]
    for place, strategy in enumerate(names):
        for number, (label, fill) in enumerate(colours.items()):
            found = matrix.ratio(strategy, label, figure)
            if found is None:
                continue
            at = place + step * (number - (len(colours) - 1) / 2)
            low, high = max(found.low, 1 / WIDEST), min(found.high, WIDEST)
            middle = min(max(found.estimate, 1 / WIDEST), WIDEST)
            ends += [low, high]
            axes.errorbar(
                [middle], [at], xerr=[[max(0.0, middle - low)], [max(0.0, high - middle)]], fmt="o", color=fill.colour,
                markersize=6, capsize=3, zorder=3,
            )  # fmt: skip
    scales.log_axis(axes.xaxis, lambda ratio: f"{ratio:g}x", [min(ends) / 1.05, max(ends) * 1.05])
