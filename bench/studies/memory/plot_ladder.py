"""Plot 6: memory over N, all layers together and the user layer, with the fitted lines: blocks, and strategies."""

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.core import layers, units
from bench.core.figures import Slope
from bench.core.layers import Point
from bench.present import labels, page, scales
from bench.present.labels import Label
from bench.present.name_looks import Look
from bench.studies.memory import findings
from bench.studies.memory.subjects import BLOCKS, IN_FLIGHT, Subject, added

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_SIZES = 2
DEEP = 40
"""User memory is shown down to this fraction of the least that all layers take."""
GUIDES = (100, 1_000, 10_000, 100_000)
"""Bytes each: faint lines to read a cost from, wherever the points are."""
GUIDE_ROOM = 0.22
"""Inches above the axes for what the faint lines mean."""
_TITLES = {BLOCKS: ("Building blocks, parked", "how many"), IN_FLIGHT: ("Strategies, in flight", "fetches in flight")}


def draw(found: Sequence[Subject], looks: dict[str, Look], subtitle: str, footer: str) -> "Figure | None":
    """Draw the subjects of one setting; None when nothing was held at two sizes or more."""
    panels = [(group, own) for group in _TITLES if (own := [s for s in found if s.group == group and _is_ladder(s)])]
    if not panels:
        return None
    shown = [subject for _, own in panels for subject in own]
    notes = [
        subtitle,
        "Added since nothing was held. Thick: all layers together, with every trial; thin: user memory alone.",
        "Lines: least squares." if any(isinstance(subject.cost.full, Slope) for subject in shown) else "",
        "Hollow: red trials, not part of the fits." if any(subject.red_rows for subject in shown) else "",
        "Trials that do not know every layer are not shown." if any(map(_is_partly_known, shown)) else "",
        _about_grey(panels, looks),
    ]
    sheet = page.sheet(findings.of_ladder(shown), " ".join(note for note in notes if note), footer)
    labels.share_width(sheet, len(panels), between=0.95)
    sheet.subplots_adjust(top=sheet.subplotpars.top - GUIDE_ROOM / page.HEIGHT)
    for axes, (group, own) in zip(sheet.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel(own, _looks(own) if group == BLOCKS else looks, axes)
        axes.set_title(_TITLES[group][0], pad=24)
        axes.set_xlabel(f"N: {_TITLES[group][1]} (log scale)")
    return sheet


def panel(found: Sequence[Subject], looks: dict[str, Look], axes: "Axes") -> None:
    """Draw one group: points, fitted lines, names."""
    points = [(n, size) for s in found for n, size in s.added(s.rows) if n > 0 and size > 0]
    if not points:
        axes.text(0.5, 0.5, "no trial knows every layer", ha="center", transform=axes.transAxes, color=page.GREY)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    numbers, sizes = [n for n, _ in points], [size for _, size in points]
    user = [size for s in found for _, size in _positive(_user_points(s))]
    low, high = min(numbers) / 1.3, max(numbers) * 1.3
    bottom = max(min([*sizes, *user]), min(sizes) / DEEP) / 1.6
    scales.log_axis(axes.xaxis, lambda n: units.count(round(n)), [low, high], most=5)
    scales.log_axis(axes.yaxis, _size_tick, [bottom, max([*sizes, *user]) * 1.6], most=7)
    _draw_guides(axes)
    names = []
    for subject in found:
        look = looks.get(subject.strategy)
        if label := _draw_subject(subject, look, axes):
            names.append(label)
    axes.set_ylabel("memory added (log scale)")
    labels.end_labels(axes, names)


def _draw_subject(subject: Subject, look: Look | None, axes: "Axes") -> Label | None:
    colour, marker = (look.colour, look.marker) if look else (page.PALE, "o")
    good, red = (_positive(subject.added(rows)) for rows in (subject.valid_rows, subject.red_rows))
    for points, face in ((good, colour), (red, "white")):
        axes.plot(
            [n for n, _ in points],
            [size for _, size in points],
            linestyle="none",
            marker=marker,
            markerfacecolor=face,
            markeredgecolor=colour,
            markersize=8,
            zorder=3 if look else 1,
        )
    if good:
        dashes = look.dashes if look else "-"
        _draw_line(good, subject.cost.full, axes, colour, dashes, 2.2 if look else 1)
        _draw_line(_positive(_user_points(subject)), subject.cost.user, axes, colour, dashes, 0.9)
    if look is None or not (good or red):
        return None
    end = max(good or red)
    return Label(end[0], end[1], subject.name if good else labels.name_of(subject.name, red=True), colour)


def _draw_line(points: Sequence[Point], slope: object, axes: "Axes", colour: str, dashes: Any, width: float) -> None:
    """Draw the fitted line, moved to where the points are: they lack what was there before, which the fit counted."""
    if not isinstance(slope, Slope) or not points:
        return
    start = median(size - slope.per_fetch * n for n, size in points)
    low, high = math.log10(min(points)[0]), math.log10(max(points)[0])
    numbers = [10 ** (low + (high - low) * step / 60) for step in range(61)]
    line = [(n, size) for n in numbers if (size := start + slope.per_fetch * n) > 0]
    axes.plot(
        [n for n, _ in line],
        [size for _, size in line],
        color=colour,
        linestyle=dashes,
        linewidth=width,
        zorder=2,
    )


def _draw_guides(axes: "Axes") -> None:
    """Draw faint lines of so many bytes each, named where they leave the axes at the top."""
    (low, high), (_, top) = axes.get_xlim(), axes.get_ylim()
    for each in GUIDES:
        axes.plot(
            [low, high], [each * low, each * high], color="#BBBBBB", linewidth=0.9, linestyle=(0, (1, 3)), zorder=0
        )
        if low * 1.05 < top / each < high:
            axes.annotate(
                f"{units.size(each, 1)} each",
                (top / each, top),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                size=page.SMALL,
                color=page.GREY,
            )


def _user_points(subject: Subject) -> list[Point]:
    own = [(layers.n_of(row), added(row, "user", subject.stage)) for row in subject.valid_rows]
    return [(n, size) for n, size in own if size is not None]


def _positive(points: Sequence[Point]) -> list[Point]:
    """Return what a logarithmic axis can show; noise about zero it cannot."""
    return [(n, size) for n, size in points if n > 0 and size > 0]


def _is_ladder(subject: Subject) -> bool:
    return len({layers.n_of(row) for row in subject.rows}) >= LEAST_SIZES


def _is_partly_known(subject: Subject) -> bool:
    return len(subject.added(subject.rows)) < len(subject.rows)


def _looks(found: Sequence[Subject]) -> dict[str, Look]:
    return page.looks(sorted({subject.strategy for subject in found})[: page.MOST_LINES])


def _about_grey(panels: Sequence[tuple[str, Sequence[Subject]]], looks: dict[str, Look]) -> str:
    grey = {s.strategy for group, own in panels if group != BLOCKS for s in own} - set(looks)
    return f"{len(grey)} more strategies are grey, without a name." if grey else ""


def _size_tick(value: float) -> str:
    number, unit = units.size(value, 1).split()
    return f"{number} {unit}"
