"""The plots of a page: the finding as a heading, how to read it as a sentence, and the drawing without these."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.core.rows import Row
from bench.present import inline_svg, page
from bench.present.inline_svg import Drawing
from bench.present.markup import scrolled, text
from bench.report import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROOM = 0.1
"""Inches of paper above and below what is drawn."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: its name, what it says, how to read it, and the SVG of its drawing."""

    name: str
    finding: str
    how_to_read: str
    svg: str


@dataclass(frozen=True, slots=True)
class Shown:
    """Plots as markup, and the style rules that they share."""

    figures: tuple[str, ...]
    css: str


def of_rows(rows: Sequence[Row], machine: dict[str, Any]) -> list[Plot]:
    """Return every plot that the rows allow; see ``plots.save_all``."""
    with page.settings():
        return [of_figure(name, figure) for name, figure in plots.figures(rows, machine)]


def of_figure(name: str, figure: "Figure") -> Plot:
    """Take the texts of a sheet out of it, and draw the rest; to be called under ``page.settings()``.

    The drawing keeps the width of the sheet, so that letters have one size in all plots, and is as high as what it has.
    """
    from matplotlib.transforms import Bbox

    texts = {str(found.get_gid()): found for found in figure.texts if found.get_gid() is not None}
    told = {gid: " ".join(found.get_text().split()) for gid, found in texts.items()}
    for found in texts.values():
        found.remove()
    bounds = figure.get_tightbbox()
    cut = Bbox([[0, bounds.y0 - _ROOM], [figure.get_figwidth(), bounds.y1 + _ROOM]])
    file = io.StringIO()
    figure.savefig(file, format="svg", bbox_inches=cut, metadata={"Date": None, "Creator": None})
    return Plot(name, told.get("title", name), told.get("subtitle", ""), file.getvalue())


def shown(found: Iterable[Plot]) -> Shown:
    """Return the plots for one page."""
    every = list(found)
    inlined = inline_svg.inline([Drawing(plot.svg, plot.finding) for plot in every])
    return Shown(tuple(_figure(plot, svg) for plot, svg in zip(every, inlined.svgs, strict=True)), inlined.css)


def _figure(plot: Plot, svg: str) -> str:
    heading = f"plot-{plot.name}"
    told = f"<p>{text(plot.how_to_read, 2000)}</p>" if plot.how_to_read else ""
    return (
        f'<figure role="group" aria-labelledby="{heading}"><figcaption><h3 id="{heading}">{text(plot.finding)}</h3>'
        f"{told}</figcaption>{scrolled(f'Plot: {plot.finding}', svg, 'plot')}</figure>"
    )
