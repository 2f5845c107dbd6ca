"""The speed-up on all cores over the CPU work per page: one panel for each interpreter."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import units
from inflight.bench.present import labels, marks, page, words
from inflight.bench.present.marks import Point
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.scaling import read, show
from inflight.bench.studies.scaling.read import Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ASIDE = 0.035
"""Distance between the points of two strategies at one amount of CPU work; the amounts are 1 apart."""


def plots(rows: Sequence[Row], _looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the speed-ups of each group of workloads that differ in their CPU work alone."""
    for number, found in enumerate(read.scalings(rows)[: marks.MOST_SETTINGS], start=1):
        if any(found.best(series) is not None for series in found.series):
            yield marks.numbered("scaling", number), draw(found, footer)


def draw(found: Scaling, footer: str) -> "Figure":
    """Draw the speed-up of each strategy over the CPU work per page, with its interval."""
    most, fewest = found.cores[-1], found.cores[0]
    shown = [series for series in found.series if found.best(series) is not None]
    names = list(dict.fromkeys(strategy for strategy, _ in shown))
    looks = page.looks(names[: page.MOST_LINES])
    notes = marks.notes(
        show.where(found).strip().capitalize() + ".",
        f"Each model over itself on {words.counted(fewest, 'core')}, in the same blocks; bars: 95 % intervals.",
        show.about_server(found),
        found.highest > _top(found) and f"An interval reaches {units.times(found.highest)}, beyond the plot.",
        marks.about_grey(names, looks),
    )
    sheet = page.sheet(show.title(found), notes, footer)
    interpreters = [one for one in found.interpreters if any(label == one for _, label in shown)]
    panels = sheet.subplots(1, len(interpreters), sharey=True, squeeze=False)[0]
    labels.share_width(sheet, len(interpreters), map(labels.name_of, names), left=0.9)
    for axes, interpreter in zip(panels, interpreters, strict=True):
        ends = []
        for number, name in enumerate(names):
            points = _points(found, (name, interpreter), ASIDE * (number - (len(names) - 1) / 2))
            end = marks.series(axes, name, points, looks.get(name))
            ends += [end] if end else []
        _scales(axes, found)
        if interpreter:
            axes.set_title(words.plain(interpreter, 30))
        labels.end_labels(axes, ends)
    panels[0].set_ylabel(f"pages/s on {most} cores over {fewest}")
    return sheet


def _points(found: Scaling, series: read.Series, aside: float) -> list[Point]:
    """Return the speed-ups of a strategy, a little aside from the ticks, so that intervals are not on one another."""
    points = []
    for place, work in enumerate(found.works):
        ratio = work.speed_up(series, found.cores[-1], found.cores[0])
        if ratio is not None:
            low, high = (ratio.low, ratio.high) if math.isfinite(ratio.high) else (math.nan, math.nan)
            points.append(Point(place + aside, ratio.estimate, low, high))
    return points


def _scales(axes: "Axes", found: Scaling) -> None:
    """Set the axes: CPU work in equal steps, and lines at no gain and at the ratio of cores."""
    ideal = found.cores[-1] / found.cores[0]
    axes.set_xlim(-0.2, len(found.works) - 0.8)
    axes.set_xticks(range(len(found.works)), [show.work_text(work) for work in found.works])
    axes.set_xlabel("CPU work per page")
    axes.set_ylim(0, _top(found))
    axes.yaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}x" if ratio else "0")
    axes.axhline(1, color="black", linewidth=1.2, zorder=1)
    axes.axhline(ideal, color=page.GREY, linewidth=1.2, linestyle=":", zorder=1)
    marks.small(axes, f"all of {found.cores[-1]} cores", (-0.15, ideal), ha="left")


def _top(found: Scaling) -> float:
    """Return the upper end of the axis; a wide interval may leave it."""
    ideal = found.cores[-1] / found.cores[0]
    return min(1.5 * ideal, max(1.12 * ideal, 1.03 * found.highest))
