"""Small multiples: a panel for each name, all with the same axes, for more names than lines of one plot can have.

The reference is drawn in each panel, so that every name is compared with it::

    sheet, panels = small_multiples.sheet(names, title, notes, footer, "pages per second (log scale)")
    for name, axes in panels.items():
        axes.plot(*reference, **small_multiples.REFERENCE)
        small_multiples.name(axes, name, looks[name].colour, "2.1 times the reference")
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inflight.bench.present import labels, name_looks, page
from inflight.bench.present.name_looks import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
ROW = 2.75
"""Inches per row of panels."""
LEFT, RIGHT, BETWEEN = 1.25, 0.35, 0.3
"""Inches beside and between panels."""
HEAD = 0.62
"""Inches above a panel for its name and a remark."""
LINE = 24
"""Maximum number of letters in a line of a name."""
TICKS_APART = 0.17
"""Minimum distance of two ticks, as a share of the width of a panel."""
MOST = 28
"""Maximum number of panels."""
REFERENCE: Mapping[str, Any] = {"color": page.GREY, "linewidth": 1.5, "linestyle": (0, (4, 2)), "zorder": 2}
"""The style of the line of the reference in the panels of others."""


def sheet(
    names: Sequence[str], title: str, notes: str, footer: str, y_label: str, x_label: str
) -> "tuple[Figure, dict[str, Axes]]":
    """Return a sheet and its panels by name, row by row; ``names`` beyond MOST have none."""
    shown = list(names)[:MOST]
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = page.sheet(title, notes, footer, max(page.HEIGHT, 2.9 + rows * ROW))
    height = figure.get_figheight() * (figure.subplotpars.top - figure.subplotpars.bottom)
    top = figure.subplotpars.top - (HEAD - 0.42) / figure.get_figheight()
    each = (page.WIDTH - LEFT - RIGHT - BETWEEN * (columns - 1)) / columns
    tall = (height - (HEAD + 0.1) * (rows - 1)) / rows
    figure.subplots_adjust(
        left=LEFT / page.WIDTH,
        right=1 - RIGHT / page.WIDTH,
        top=top,
        wspace=BETWEEN / each,
        hspace=(HEAD + 0.1) / tall,
    )
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    panels: dict[str, Axes] = dict(zip(shown, grid.flat, strict=False))
    bottom = {place % columns: axes for place, axes in enumerate(panels.values())}
    for place, axes in enumerate(panels.values()):
        is_lowest = bottom[place % columns] is axes
        axes.tick_params(labelsize=page.SMALL, labelleft=place % columns == 0, labelbottom=is_lowest)
        axes.set_xlabel(x_label if is_lowest else "", size=page.SMALL + 1)
    middle = (figure.subplotpars.top + figure.subplotpars.bottom) / 2
    figure.text(0.25 / page.WIDTH, middle, y_label, rotation=90, va="center", ha="center", size=page.TEXT)
    return figure, panels


def name(axes: "Axes", text: str, colour: str, remark: str = "") -> None:
    """Write a name above its panel, a long one in two lines, and a remark below the name."""
    style: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    height = 19 if remark else 5
    lines = "\n".join(textwrap.wrap(labels.name_of(text), LINE, max_lines=2, placeholder="…"))
    axes.annotate(lines, (0, 1), (0, height), weight="bold", size=page.TEXT, color=colour, **style)
    axes.annotate(remark, (0, 1), (0, 4), size=page.SMALL, color=page.GREY, **style)


def look(text: str) -> Look:
    """Return the look of a name with a solid line: dashes are those of the reference."""
    return replace(name_looks.look(text), dashes="-")


def about_reference(reference: str | None) -> str:
    """Explain the line that all panels have."""
    return f"Dashes in each panel: {labels.name_of(reference)}, the reference." if reference else ""
