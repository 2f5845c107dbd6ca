"""Pages per second as a share of what the added latency allows, on a linear axis: losses that a log axis hides."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import labels, marks, page, scales, words
from inflight.bench.present.labels import Label
from inflight.bench.present.marks import Point
from inflight.bench.present.name_looks import Look
from inflight.bench.studies.throughput import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
PANEL_HEIGHT = 5.6
TOP = 108.0
"""End of the axis in percent; a higher mean moves it."""


def draw(found: Sequence[Cell], looks: Mapping[str, Look], about: str, footer: str) -> "Figure | None":
    """Draw the cells of one setting without CPU work, a panel per latency; None without a latency to wait for.

    A latency needs two numbers in flight, and so does a strategy: the plot is about what is lost with more of them.
    """
    able = [cell for cell in c.fillable(found) if cell.mean_latency_ns and not cell.cpu_ns and _share(cell)]
    several = {place for place, many in Counter((cell.strategy, cell.latency) for cell in able).items() if many > 1}
    shown = [cell for cell in able if (cell.strategy, cell.latency) in several]
    latencies = [one for one in c.latencies(shown) if len(c.caps(shown, one)) > 1]
    if not latencies:
        return None
    looks = page.looks_of_plot(c.strategies_of(shown), looks)
    panels = c.evenly(latencies, MOST_PANELS)
    left = [units.latency(latency) for latency in latencies if latency not in panels]
    notes = marks.notes(
        about,
        marks.about_grey(c.strategies_of(shown), looks),
        "100 %: in flight / added latency, what a client gets that only waits. The vertical axis is linear.",
        "Points: means over the rounds; bars: 95 % intervals.",
        any(point.high > TOP for cell in shown if (point := _share(cell))) and "Some bars end above the axis.",
        labels.about_title(shown),
        left and f"Not shown: {words.listed(left)}.",
    )
    height = page.HEIGHT + (-(-len(panels) // 2) - 1) * PANEL_HEIGHT
    sheet = page.sheet(title.of_possible(shown), notes, footer, height)
    labels.share_width(sheet, min(2, len(panels)), [labels.name_of(cell.strategy) for cell in shown])
    sheet.subplots_adjust(hspace=0.3)
    for axes, latency in zip(marks.panels(sheet, len(panels)), panels, strict=True):
        _panel([cell for cell in shown if cell.latency == latency], looks, axes)
    for axes in sheet.axes[: len(panels) : 2]:
        axes.set_ylabel("share of the possible pages per second")
    return sheet


def _panel(found: Sequence[Cell], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw the shares of one latency."""
    caps = c.caps(found, found[0].latency)
    ends = [
        end
        for name in c.strategies_of(found)
        if (end := marks.series(axes, name, _points(found, name), looks.get(name)))
    ]
    scales.log_axis(axes.xaxis, lambda x: units.count(round(x)), [caps[0] / 1.25, caps[-1] * 1.25])
    scales.set_ticks(axes.xaxis, caps if len(caps) <= 8 else scales.round_values(caps[0], caps[-1]))
    axes.set_ylim(0, max(TOP, *(1.04 * point.y for cell in found for point in _points([cell], cell.strategy))))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0f} %")
    axes.axhline(100, color=page.GREY, linewidth=1.5, linestyle=(0, (4, 3)), zorder=1)
    axes.set_title(f"{units.latency(found[0].latency)} added latency", pad=10)
    axes.set_xlabel("fetches in flight (log scale)")
    labels.end_labels(axes, [*ends, Label(axes.get_xlim()[1], 100, "possible", page.GREY)])


def _points(found: Sequence[Cell], name: str) -> list[Point]:
    return [point for cell in found if cell.strategy == name and (point := _share(cell))]


def _share(cell: Cell) -> Point | None:
    """Return the throughput of a cell in percent of its bound; None without a valid one."""
    figure = cell.valid_figure(c.pages_per_s)
    if figure is None:
        return None
    percent = 100 / title.possible_per_s(cell.in_flight, cell.mean_latency_ns)
    low, high = figure.ends or (math.nan, math.nan)
    return Point(cell.in_flight, percent * figure.estimate, percent * low, percent * high)
