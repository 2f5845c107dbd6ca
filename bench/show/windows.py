"""The plot of every window of every arm: what the mean of a block is made of. An outlier is seen here, or nowhere."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import pandas as pd

from inflight.bench import units
from inflight.bench.present import marks, name_looks, page, scales
from inflight.bench.show import words
from inflight.bench.show.study import value_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE = "window_cpu_per_page_ns"
MAX_SHEETS = 6
"""Maximum number of workloads that are drawn; the windows of all are in ``results.moments``."""
TITLE = "CPU time per page of every window"
NOTE = "A dot for each window, in the order of time; a shade for each block. Hollow: of an invalid trial."
KEYS = ("latency", "in_flight", "cpu", "connection", "site")


def plots(moments: pd.DataFrame, footer: str) -> "Iterator[tuple[str, Figure]]":
    """Draw a sheet for each of the first workloads in blocks; those of comparisons are left out."""
    own = moments[(moments["figure"] == FIGURE) & (moments["comparison"] == "") & (moments["value"] > 0)]
    sheets = own.groupby(list(KEYS), sort=False)
    for number, (key, lines) in enumerate(islice(sheets, MAX_SHEETS), start=1):
        named = dict(zip(KEYS, key, strict=True))
        where = ", ".join(value_name(name, named[name]) for name in ("latency", "in_flight", "cpu"))
        arms = list(dict.fromkeys(zip(lines["arm"], lines["role"] == "placebo", strict=True)))
        rows = -(-len(arms) // 3)
        sheet = page.sheet(f"{TITLE}, {where}", NOTE, footer, 2.4 + 2.6 * rows)
        marks.margins(sheet, 1.1, 0.4, top=0.1)
        sheet.subplots_adjust(hspace=0.45, wspace=0.1)
        ends = lines["value"].min() / 1.2, lines["value"].max() * 1.2
        for place, (axes, (arm, is_again)) in enumerate(zip(marks.panels(sheet, len(arms), 3), arms, strict=True)):
            draw(axes, lines[(lines["arm"] == arm) & ((lines["role"] == "placebo") == is_again)], ends)
            axes.set_title(words.name(arm), pad=8)
            axes.tick_params(labelleft=place % 3 == 0)
        yield marks.numbered("windows", number), sheet


def draw(axes: "Axes", own: pd.DataFrame, ends: tuple[float, float]) -> None:
    """Draw the windows of one arm."""
    scales.log_axis(axes.yaxis, units.duration_tick, list(ends), 6)
    look, at = name_looks.look(own["strategy"].iloc[0]), 0
    for number, (_, block) in enumerate(own.sort_values(["started_at", "at_ns"]).groupby("trial", sort=False)):
        if number % 2:
            axes.axvspan(at, at + len(block), color=page.PALE, alpha=0.4, linewidth=0, zorder=0)
        points = [(at + n + 0.5, value) for n, value in enumerate(block["value"])]
        marks.dots(axes, points, look, hollow=not block["valid"].iloc[0], markersize=4)
        at += len(block)
    axes.set_xlim(0, at)
    axes.set_xticks([])
