"""The comparison of stored runs (``compare``) as a plot, for ``inflight compare --out``.

A panel for each workload, a line over the runs for each strategy. ``show`` has the words, ``show.pictures`` the marks.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from inflight.bench.frame.contrast import records
from inflight.bench.frame.figures import FIGURES
from inflight.bench.runs.compare import KEYS, ComparedRuns
from inflight.bench.runs.show import title, value_text, workloads
from inflight.bench.show import words
from inflight.bench.show.looks import GREY, looks
from inflight.bench.show.pictures import MAX_LINES, Label, Panel, Picture, Point, draw_labels, draw_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PANELS = 6
"""Maximum number of workloads that are drawn."""
BESIDE = 0.05
"""Distance between the points of two strategies in a run, so that their intervals do not cover each other."""
NOTE = (
    "Points: means over blocks, a ratio to the baseline of the same run. Bars: 95 % intervals of that run. "
    "Dashed: a change point."
)
"""How to read the plot."""


def picture(comparison: ComparedRuns) -> Picture:
    """Return the first figure that has ratios, or else the first one; of many workloads, those with the most lines."""
    means = comparison.means
    means = means[means["is_ratio"]] if means["is_ratio"].any() else means
    means = means[means["figure"] == means["figure"].iloc[0]]
    means = means.assign(workload=workloads(means))
    largest = means["workload"].value_counts(sort=False).nlargest(MAX_PANELS)
    names = list(means["arm"].unique())
    panels = []
    for workload, lines in means.groupby("workload", sort=False):
        if workload in largest:
            draw = partial(_draw, means=lines, names=names, comparison=comparison)
            panels.append(Panel(str(workload), draw))
    runs = [f"{n}:\N{NO-BREAK SPACE}{words.plain(run.name, 60)}" for n, run in enumerate(comparison.runs, 1)]
    note = f"{title(comparison)}. {NOTE}"
    return Picture("compare", "Ratios over runs", note, panels, footer=" · ".join(runs))


def _draw(axes: "Axes", means: pd.DataFrame, names: Sequence[str], comparison: ComparedRuns) -> None:
    known = looks(names[:MAX_LINES])
    labels = list[Label]()
    for place, (arm, group) in enumerate(means.groupby("arm", sort=False)):
        aside = 1 + BESIDE * (place - (means["arm"].nunique() - 1) / 2)
        points = [Point(each.run + aside, each.estimate, each.low, each.high) for each in records(group)]
        labels += draw_series(axes, str(arm), points, known.get(str(arm)))
    low = means["estimate"].min()
    high = means["estimate"].max()
    room = max(high - low, 0.05 * high)
    bars = means[means["n"] > 1]
    lowest = min([low, *bars["low"]])
    highest = max([high, *bars["high"]])
    axes.set_ylim(max(lowest, low - room) - 0.1 * room, min(highest, high + room) + 0.1 * room)
    axes.set_xlim(0.6, len(comparison.runs) + 0.4)
    axes.set_xticks(range(1, len(comparison.runs) + 1))
    first = records(means)[0]
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.6g}" if first.is_ratio else value_text(first, value))
    axes.set_xlabel("run")
    against = f", ratio to {words.name(first.against)}" if first.is_ratio else ""
    axes.set_ylabel(f"{FIGURES[first.figure].words}{against}")
    if comparison.points is not None:
        for run in comparison.points.merge(means, on=KEYS)["run_x"].unique():
            axes.axvline(run + 0.5, color=GREY, linestyle=(0, (4, 3)), linewidth=1.5, zorder=1)
    draw_labels(axes, labels)
