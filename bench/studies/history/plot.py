"""The history of stored runs as a plot: a panel for each figure and workload, a line for each strategy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import labels, marks, page, words
from inflight.bench.present.marks import Point
from inflight.bench.present.name_looks import Look
from inflight.bench.studies.history import show
from inflight.bench.studies.history.read import History, Series
from inflight.bench.studies.stored.side import CPU, MEMORY, METRICS, WALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6
PANEL_HEIGHT = 4.6
MOST_TICKS = 3
MOST_LETTERS = 16
_SCALES = {CPU: (1e3, "µs"), WALL: (1e-3, "ms"), MEMORY: (1e3, "kB")}
"""Divisor and unit of absolute figures; throughput has neither."""
Panel = tuple[str, str, bool]
"""Metric, label of the workload, and whether it shows ratios."""


def save_history(history: History, folder: Path) -> list[Path]:
    """Write ``history.png`` and ``history.svg``; nothing if no two runs have a figure in common. Raises OSError."""
    return page.draw_and_save(lambda: draw(history), folder, "history")


def draw(history: History) -> "Figure | None":
    """Draw the series that several runs have, panels with changes first; None without any."""
    panels: dict[Panel, list[Series]] = {}
    for one in history.series:
        if len(one.points) > 1:
            panels.setdefault((one.key.metric, one.label, one.is_relative), []).append(one)
    if not panels:
        return None
    order = sorted(panels, key=lambda panel: _order(panel, panels[panel]))
    shown, rest = order[:MOST_PANELS], len(order) - MOST_PANELS
    looks = page.looks(_drawn(panels[panel] for panel in shown))
    notes = marks.notes(
        f"Runs of one machine, ordered by {history.by}. Bars: 95 % intervals. Dashed: a change point.",
        any(one.is_relative for one in history.series)
        and f"Ratios are to {words.name(history.reference)} in the same run.",
        history.left_out and f"{words.counted(len(history.left_out), 'run')} left out.",
        rest > 0 and f"{rest} more panels are not drawn.",
        history.not_searched and f"{history.not_searched[0].upper()}{history.not_searched[1:]}.",
    )
    machine = [str(history.hardware[key]) for key in ("cpu", "system") if history.hardware.get(key)]
    footer = " · ".join(words.plain(part, 100) for part in machine)
    height = page.HEIGHT + (-(-len(shown) // 2) - 1) * PANEL_HEIGHT
    sheet = page.sheet(show.title(history), notes, footer, height)
    names = {labels.name_of(_short(one)) for panel in shown for one in panels[panel] if one.key.subject in looks}
    labels.share_width(sheet, min(2, len(shown)), names)
    sheet.subplots_adjust(hspace=0.45)
    for axes, panel in zip(marks.panels(sheet, len(shown)), shown, strict=True):
        _draw(axes, panel, panels[panel], history, looks)
    return sheet


def _order(panel: Panel, own: Sequence[Series]) -> tuple[object, ...]:
    metric, label, is_relative = panel
    is_unchanged = not any(one.changes for one in own)
    most = max(len(one.points) for one in own)
    return is_unchanged, -most, not is_relative, METRICS.index(metric), -len(own), label


def _drawn(panels: Iterable[Sequence[Series]]) -> list[str]:
    """Return the names that get a colour: those with changes first, then those with the most points."""
    points: dict[str, tuple[int, int]] = {}
    for one in (series for own in panels for series in own):
        changes, number = points.get(one.key.subject, (0, 0))
        points[one.key.subject] = changes + len(one.changes), number + len(one.points)
    order = sorted(points, key=lambda name: (*(-number for number in points[name]), name))
    return order[: page.MOST_LINES]


def _draw(axes: "Axes", panel: Panel, own: Sequence[Series], history: History, looks: Mapping[str, Look]) -> None:
    metric, label, is_relative = panel
    factor, unit = (1.0, "") if is_relative else _SCALES.get(metric, (1.0, "pages/s"))
    found = []
    for one in own:
        points = [_point(place, interval, factor) for place in sorted(one.points) if (interval := one.followed(place))]
        found.append((_short(one), points, looks.get(one.key.subject)))
    ends = [marks.series(axes, name, points, look) for name, points, look in found]
    _limit(axes, [point for _, points, _ in found for point in points], len(history.runs))
    for change in {change.run: change for one in own for change in one.changes}.values():
        axes.axvline(change.run - 0.5, color=page.GREY, linestyle=(0, (4, 3)), linewidth=1.5, zorder=1)
    for one in own:
        for change in one.changes:
            at = change.run - 0.5, change.split.after / factor
            marks.small(axes, units.change(change.size), at, ha="right", xytext=(-4, 4), weight="bold", color="black")
    _name_runs(axes, history)
    where = words.plain(label, 50) if label else ""
    axes.set_title(show.headed(f"{show.NAMES[metric]}, {where}".removesuffix(", ")), pad=10)
    axes.yaxis.set_major_formatter(lambda value, _: units.number_tick(float(f"{value:.6g}")))
    axes.set_ylabel(f"ratio to {words.name(history.reference)}" if is_relative else unit)
    labels.end_labels(axes, [end for end in ends if end])


def _point(place: int, interval: Interval, factor: float) -> Point:
    if interval.n == 1 or math.isinf(interval.high):
        return Point(place, interval.estimate / factor)
    return Point(place, interval.estimate / factor, interval.low / factor, interval.high / factor)


def _limit(axes: "Axes", points: Sequence[Point], runs: int) -> None:
    """Set the limits: all points, and intervals unless they are many times as wide as the range of the points."""
    values = [point.y for point in points]
    room = max(max(values) - min(values), 0.05 * max(values))
    ends = [end for point in points for end in (point.low, point.high) if math.isfinite(end)]
    low = max(min([*values, *ends]), min(values) - 2 * room)
    high = min(max([*values, *ends]), max(values) + 2 * room)
    axes.set_ylim(low - 0.1 * room, high + 0.15 * room)
    axes.set_xlim(-0.4, runs - 0.6)


def _name_runs(axes: "Axes", history: History) -> None:
    """Name the runs below the axis; of many runs some, evenly."""
    places = c.evenly(range(len(history.runs)), MOST_TICKS)
    names = [show.run_told(history, place)[:MOST_LETTERS] for place in places]
    axes.set_xticks(places, [name.replace(" ", "\n") for name in names], size=page.SMALL)


def _short(series: Series) -> str:
    """Return the name of a line; of a benchmark, the part behind its file."""
    return series.key.subject.rpartition("::")[2]
