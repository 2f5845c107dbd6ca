"""Loop lag: the quantiles of each strategy, a panel for each number in flight."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.present import labels, marks, page, scales, words
from inflight.bench.present.name_looks import COLOURS, Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.lag import read, show
from inflight.bench.studies.lag.read import Lag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LINE = 0.3
"""Inches per strategy."""
MOST_PANELS = 2
LEAST_NS = 10_000
"""Shorter lags are drawn at the left edge."""
QUANTILES = {"p50": ("p50_ns", "o", 0), "p90": ("p90_ns", "s", 1), "p99": ("p99_ns", "D", 5)}
"""The attribute, the marker and the number of the colour of each quantile."""


def plots(rows: Sequence[Row], _looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the workloads on which the lag was measured, at most MOST_PANELS."""
    found = [own for own in read.by_workload(read.lags(rows)) if any(one.p50_ns is not None for one in own)]
    yield "lag", draw(found, footer) if found else None


def draw(found: Sequence[Sequence[Lag]], footer: str) -> "Figure":
    """Draw a panel for each workload, a line for each strategy, and a mark for each quantile."""
    shown = c.evenly(found, MOST_PANELS)
    most = max(shown, key=len)
    names = list(dict.fromkeys(one.cell.strategy for own in (most, *shown) for one in own))[: page.MOST_BARS]
    stacks = {one.cell.strategy: one.cell.stack for own in shown for one in own}
    notes = marks.notes(*show.NOTES, any(one != "shared" for one in stacks.values()) and labels.ABOUT_STAR)
    sheet = page.sheet(show.title(found), notes, footer, max(page.HEIGHT, 3.2 + LINE * len(names)))
    starred = [labels.starred(name, stacks[name]) for name in names]
    marks.margins(sheet, 0.3 + labels.inches(sheet, starred, page.TEXT), 0.4, top=0.6)
    sheet.subplots_adjust(wspace=0.08)
    panels = list(sheet.subplots(1, len(shown), sharey=True, squeeze=False).flat)
    values = [value for own in shown for one in own for value in _quantiles(one).values()]
    ends = [max(LEAST_NS, min(values)) / 1.5, max(LEAST_NS * 10, *values) * 1.5]
    for axes, own in zip(panels, shown, strict=True):
        scales.log_axis(axes.xaxis, units.duration_tick, ends, 6)
        _panel(axes, own, names)
        axes.set_title(words.in_flight(own[0].cell.in_flight))
        axes.set_xlabel("late by (log scale)")
    marks.name_rows(panels[0], starred)
    drawn = {name for own in shown for one in own for name in _quantiles(one)}
    page.key(sheet, _key(drawn), sheet.subplotpars.left, sheet.subplotpars.top + 0.4 / sheet.get_figheight())
    return sheet


def _key(drawn: Collection[str]) -> list["Line2D"]:
    """Return the marks of the quantiles that are drawn."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=COLOURS[number], marker=marker, markersize=8, linestyle="none", label=name)
        for name, (_, marker, number) in QUANTILES.items()
        if name in drawn
    ]


def _quantiles(one: Lag) -> dict[str, float]:
    """Return the known quantiles of a lag."""
    found = {name: getattr(one, attribute) for name, (attribute, _, _) in QUANTILES.items()}
    return {name: max(LEAST_NS, value) for name, value in found.items() if value is not None}


def _panel(axes: "Axes", own: Sequence[Lag], names: Sequence[str]) -> None:
    for one in own:
        if one.cell.strategy not in names or not (found := _quantiles(one)):
            continue
        place = names.index(one.cell.strategy)
        axes.plot([min(found.values()), max(found.values())], [place, place], color=page.PALE, linewidth=3, zorder=2)
        for name, value in found.items():
            _, marker, number = QUANTILES[name]
            axes.plot([value], [place], color=COLOURS[number], marker=marker, markersize=8, zorder=3)
