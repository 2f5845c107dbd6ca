"""Times of fetches: the share that takes longer than a time, over that time."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from inflight.bench.core import cells as c
from inflight.bench.core import retention, units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.core.figures import P99_SAMPLES, exceedance, merge, quantile
from inflight.bench.present import labels, marks, page, scales, small_multiples
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Histogram, Times
from inflight.bench.studies.throughput import read, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

Kind = Literal["service", "response"]
TAIL = 10
"""A curve ends where fewer fetches than these are slower, because a share of fewer is mostly chance."""
LEAST_RANGE = 1.25
"""Least ratio of the ends of an axis of times: in a narrower one, the buckets of the histograms look like steps."""
LEGEND_ROOM = 2.53
"""Inches to the right of the axes for the legend, at least."""
_TITLES: dict[Kind, str] = {
    "service": "Service time: started to finished",
    "response": "Response time: admitted to finished",
}


def draw(found: Sequence[Cell], looks: Mapping[str, Look], about: str, footer: str) -> "Sheet | None":
    """Draw the workload with the longest latency and the most in flight at which most strategies have valid times.

    If nothing but the number in flight differs, it is about the usual number.
    """
    timed = c.fillable([cell for cell in found if histogram(cell, "service")])
    here = _usual(timed) if retention.headline(found) else choose(timed)
    if not here:
        return None
    fewest = min(merged.total for cell in here if (merged := histogram(cell, "service")))
    share = 0.99 if fewest >= P99_SAMPLES else 0.5
    kinds = [kind for kind in _TITLES if any(histogram(cell, kind) for cell in here)]
    each = len(here) > page.MOST_LINES
    looks = page.looks_of_plot(c.strategies_of(here), looks)
    kinds = kinds[:1] if each else kinds
    notes = marks.notes(
        about,
        title.workload(here[0]),
        labels.about_parts(here),
        labels.about_title(here),
        _about_rounds(here),
        "Closed loop: a slow strategy gets fewer requests, so independent users would see other times.",
        "response" in kinds and "Response time includes the wait in the crawl's own queue.",
        f"Curves end where fewer than {TAIL} fetches are slower"
        + (f"; no p99 below {units.count(P99_SAMPLES)} samples." if share == 0.5 else "."),
    )
    sides = {cell.strategy: _quantile(cell, share) for cell in here}
    if each:
        return _draw_each(here, title.of_times(here, sides, share), notes, footer)
    sheet = page.sheet(title.of_times(here, sides, share), notes, footer)
    room = labels.legend_room(sheet, [name for name in sides if name in looks], LEGEND_ROOM)
    sheet.subplots_adjust(left=0.09, right=1 - room / page.WIDTH, wspace=0.24)
    panels = sheet.subplots(1, len(kinds), squeeze=False)[0]
    panels[0].set_ylabel("share of fetches that take longer (log scale)")
    for axes, kind in zip(panels, kinds, strict=True):
        panel(here, kind, looks, axes)
    labels.legend(panels[-1], looks, sorted(sides, key=lambda name: sides[name].estimate), about_marks(here, "service"))
    return sheet


def _draw_each(found: Sequence[Cell], finding: str, notes: str, footer: str) -> "Sheet":
    """Draw the service times of more strategies than lines can be told apart: a panel for each."""
    curves = {cell.strategy: _curve(merged) for cell in found if (merged := histogram(cell, "service"))}
    reference = read.reference_of(found)
    first = reference.strategy if reference and reference.strategy in curves else None
    order = sorted(curves, key=lambda name: (name != first, _falls_to(curves[name], 0.5), name))
    about = marks.notes(
        notes,
        small_multiples.about_reference(first),
        f"Markers: {about_marks(found, 'service')}.",
        marks.about_more(order[small_multiples.MOST :]),
    )
    sheet, panels = small_multiples.sheet(
        order, finding, about, footer, "share of fetches that take longer (log scale)", "service time (log scale)"
    )
    whole = [point for curve in curves.values() for point in curve]
    for name, axes in panels.items():
        if first and name != first:
            axes.plot(*zip(*curves[first], strict=True), drawstyle="steps-post", **small_multiples.REFERENCE)
        look = small_multiples.look(name)
        own = [cell for cell in found if cell.strategy == name]
        _curves(own, "service", {name: look}, axes)
        _scale(axes, whole, most=4)
        small_multiples.name(axes, name, look.colour)
    return sheet


def _falls_to(curve: Sequence[tuple[int, float]], share: float) -> int:
    """Return the time at which a curve falls to a share, or its last time."""
    return next((time_ns for time_ns, longer in curve if longer <= share), curve[-1][0])


def _usual(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells at one number in flight of those with most strategies: the one nearest to the usual."""
    numbers = Counter(cell.in_flight for cell in found)
    most = max(numbers.values(), default=0)
    cap = read.usual_cap([n for n, number in numbers.items() if number == most]) if numbers else 0
    return [cell for cell in found if cell.in_flight == cap]


def choose(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells to compare: at the longest latency, with most strategies, then with the most in flight."""
    if not found:
        return []
    longest = c.latencies(found)[-1]
    own = [cell for cell in found if cell.latency == longest]
    cap = max(c.caps(own, longest), key=lambda n: (sum(cell.in_flight == n for cell in own), n))
    most_usual = [n for n in c.caps(own, longest) if n > cap and sum(cell.in_flight == n for cell in own) > 1]
    cap = max(most_usual, default=cap)
    names = sorted({cell.strategy for cell in own})
    return [cell for name in names if (cell := c.at(own, name, longest, cap))]


def about_marks(found: Sequence[Cell], kind: Kind) -> str:
    """Return the meaning of the marks on the curves."""
    has_p99 = any((merged := histogram(cell, kind)) and merged.total >= P99_SAMPLES for cell in found)
    return "median and p99" if has_p99 else "median"


def histogram(cell: Cell, kind: Kind) -> Histogram | None:
    """Return the merged histogram of a cell's valid rounds; None without any."""
    many = [one for row in cell.valid_rows if (one := histogram_of(row, kind)) is not None]
    return merge(many) if many else None


def histogram_of(row: Row, kind: Kind) -> Histogram | None:
    """Return a row's times from when the cap was reached on; all of them where that leaves too few for a p99."""
    times: Times | None = getattr(row.measured, f"steady_{kind}" if _is_steady(row, kind) else kind, None)
    return times.histogram if times else None


def _is_steady(row: Row, kind: Kind) -> bool:
    steady = getattr(row.measured, f"steady_{kind}", None)
    return steady is not None and steady.count >= P99_SAMPLES


def _about_rounds(found: Sequence[Cell]) -> str:
    if any(row.kind == "arm" for cell in found for row in cell.rows):
        return "Fetches that began and ended in one window, of all valid blocks together; longer ones are missing."
    if all(_is_steady(row, kind) for cell in found for row in cell.valid_rows for kind in _TITLES):
        return "All valid rounds together, after the cap was first reached."
    return "All valid rounds together, warm-up included."


def panel(found: Sequence[Cell], kind: Kind, looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw the share of fetches that take longer, over the time, with marks at the median and the p99."""
    _scale(axes, _curves(found, kind, looks, axes), most=5)
    axes.set_title(_TITLES[kind], pad=10)
    axes.set_xlabel("time (log scale)")


def _curves(found: Sequence[Cell], kind: Kind, looks: Mapping[str, Look], axes: "Axes") -> list[tuple[int, float]]:
    """Draw a line for each cell; return the points of all."""
    points = []
    for cell in found:
        if merged := histogram(cell, kind):
            look, curve = looks.get(cell.strategy), _curve(merged)
            marks.line(axes, curve, look, drawstyle="steps-post")
            ends = [(_falls_to(curve, y), y) for y, least in ((0.5, 1), (0.01, P99_SAMPLES)) if merged.total >= least]
            if look:
                marks.dots(axes, ends, look, markersize=9, zorder=4)
            points += curve
    return points


def _scale(axes: "Axes", points: Sequence[tuple[int, float]], most: int) -> None:
    """Set logarithmic axes that hold all points, with at most so many ticks of time."""
    times_ns, shares = [x for x, _ in points], [y for _, y in points]
    low, high = max(1, min(times_ns)), max(times_ns)
    beside = min(1.12, max(1.02, (high / low) ** 0.04))  # more would be an empty half of a page on a phone
    high = max(high * beside, low * LEAST_RANGE)
    scales.log_axis(axes.xaxis, units.duration_tick, [low / beside, high], most=most)
    scales.log_axis(axes.yaxis, lambda share: f"{share * 100:.3g} %", [min(*shares, 0.009) / 1.3, 1.15])
    scales.set_ticks(axes.yaxis, [1, 0.5, 0.1, 0.01, 0.001, 0.0001])


def _curve(merged: Histogram) -> list[tuple[int, float]]:
    """Return (time, share that takes longer) from all down to TAIL fetches, or to none if there are fewer."""
    last = TAIL / merged.total if merged.total > TAIL else 0.5
    curve = [(merged.counts[0][0], 1.0)]
    for time_ns, share in exceedance(merged):
        curve.append((time_ns, max(share, last)))
        if share < last:
            break
    return curve


def _quantile(cell: Cell, share: float) -> Figure:
    """Return a quantile of all rounds together, which is drawn; its interval is that of the rounds' own quantiles."""
    rounds = {(row.run, row.round): one for row in cell.valid_rows if (one := histogram_of(row, "service"))}
    each = c.figure_of({round_: math.log(max(1, quantile(merge([one]), share))) for round_, one in rounds.items()})
    return replace(each, estimate=float(quantile(merge(rounds.values()), share)))
