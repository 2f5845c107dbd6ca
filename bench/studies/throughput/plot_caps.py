"""Pages per second, and CPU time per page, over the number in flight: a panel for each strategy with the reference."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.core.retention import Retention, headline, swept
from inflight.bench.present import labels, marks, page, scales, small_multiples
from inflight.bench.present.marks import Point
from inflight.bench.studies.throughput import read, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet


FAILED: Mapping[str, Any] = {"marker": "x", "markersize": 9, "markeredgewidth": 2.4, "linestyle": "none", "zorder": 5}
"""The mark of a number in flight without a valid figure, at the bottom of a panel."""
FAR = 2.0
"""Maximum distance of the drawn end of an interval from its point, as a ratio."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is drawn over the number in flight."""

    read: c.Read
    label: str
    tick: Callable[[float], str]


RATE = Quantity(c.pages_per_s, "verified pages per second (log scale)", units.number_tick)
CPU = Quantity(c.cpu_per_page_ns, "client CPU time per verified page (log scale)", units.duration_tick)


def draw_cpu(found: Sequence[Cell], about: str, footer: str) -> "Sheet | None":
    """Draw the CPU time per page of one setting without added latency; None if it is on something else."""
    kept = {one.strategy: one for one in headline(found)}
    own = swept(found)
    return draw(own, CPU, title.of_growth(own), about, footer, kept) if kept else None


def draw(
    found: Sequence[Cell],
    quantity: Quantity,
    finding: str,
    about: str,
    footer: str,
    kept: Mapping[str, Retention],
    ceiling: float | None = None,
) -> "Sheet":
    """Draw cells that share a setting and a latency, with at least one figure."""
    drawn = {name: points for name in c.strategies_of(found) if (points := _points(found, name, quantity))}
    order = [*dict.fromkeys(cell.strategy for cell in _ordered(found) if cell.strategy in drawn)]
    reference = _reference(found, drawn)
    names = [*([reference] if reference else []), *(name for name in order if name != reference)]
    if len(names) > small_multiples.MOST:
        # The title is about the most in flight.
        most = max(cell.in_flight for cell in found)
        busiest = {cell.strategy for cell in found if cell.in_flight == most}
        names.sort(key=lambda name: name != reference and name not in busiest)
    stacks = {cell.strategy: cell.stack for cell in found}
    notes = marks.notes(
        about,
        _about_latency(found[0].latency),
        "Points: means over the rounds; bars: 95 % intervals.",
        small_multiples.about_reference(reference),
        any(point.invalid for points in drawn.values() for point in points)
        and "Hollow: invalid trials, not part of the lines.",
        any(one.failed for one in kept.values()) and "Cross: failed.",
        ceiling and "Dotted line: what a client that parses nothing got from the server.",
        _mixed(stacks) and labels.about_star(found),
        marks.about_more(names[small_multiples.MOST :]),
    )
    sheet, panels = small_multiples.sheet(
        names, finding, notes, footer, quantity.label, "fetches in flight (log scale)"
    )
    every = [y for points in drawn.values() for point in points for y in _reach(point)]
    caps = sorted({cell.in_flight for cell in found})
    for name, axes in panels.items():
        _scale(axes, caps, [*every, *([ceiling] if ceiling else [])], quantity)
        if reference and name != reference:
            line = [point for point in drawn[reference] if not point.invalid]
            axes.plot([point.x for point in line], [point.y for point in line], **small_multiples.REFERENCE)
        if ceiling:
            axes.axhline(ceiling, color=page.GREY, linewidth=1.2, linestyle=":", zorder=1)
        look = small_multiples.look(name)
        marks.series(axes, name, drawn[name], look)
        remark = _remark(kept[name]) if name in kept and quantity is RATE else ""
        small_multiples.name(axes, labels.starred(name, stacks[name] if _mixed(stacks) else ""), look.colour, remark)
        drawn_at = {point.x for point in drawn[name]}
        for cap in (cap for cap in (kept[name].failed if name in kept else ()) if cap not in drawn_at):
            axes.plot(cap, 0.05, transform=axes.get_xaxis_transform(), color=look.colour, **FAILED)
    return sheet


def _remark(one: Retention) -> str:
    """Write a retention, with its number in flight if more of them failed."""
    return f"keeps {title.kept(one)}" + (f" with {units.count(one.most.in_flight)}" if one.failed else "")


def _reach(point: Point) -> list[float]:
    """Return the heights that the axes must hold; an interval beyond FAR times its point leaves them."""
    ends = [] if math.isnan(point.low) else [max(point.low, point.y / FAR), min(point.high, point.y * FAR)]
    return [point.y, *ends]


def _about_latency(latency: str) -> str:
    return "No added latency." if latency == "0" else f"{units.latency(latency)} added latency."


def _points(found: Sequence[Cell], name: str, quantity: Quantity) -> list[Point]:
    """Return the figures of valid trials, and those of invalid trials where there are none."""
    points = []
    for cell in found:
        if cell.strategy == name and (figure := cell.figure(quantity.read)):
            low, high = figure.ends if figure.valid and figure.ends else (math.nan, math.nan)
            points.append(Point(cell.in_flight, figure.estimate, low, high, not figure.valid))
    return points


def _ordered(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells, the shared stack first, then those with the least CPU time at the usual number in flight."""
    costs = {cell.strategy: read.cpu_ns(cell) for cell in read.at(found, read.cpu_column(found))}
    return sorted(found, key=lambda cell: (cell.stack != "shared", costs.get(cell.strategy, math.inf), cell.strategy))


def _reference(found: Sequence[Cell], drawn: Mapping[str, Sequence[Point]]) -> str | None:
    """Return the strategy whose line is in each panel; None if it has no line."""
    cell = read.reference_of(read.at(found, read.cpu_column(found)))
    return cell.strategy if cell is not None and len(drawn.get(cell.strategy, ())) > 1 else None


def _scale(axes: "Axes", caps: Sequence[int], heights: Sequence[float], quantity: Quantity) -> None:
    scales.log_axis(axes.xaxis, lambda x: units.count(round(x)), [caps[0] / 1.4, caps[-1] * 1.4])
    scales.set_ticks(axes.xaxis, scales.apart(caps, small_multiples.TICKS_APART))
    scales.log_axis(axes.yaxis, quantity.tick, [min(heights) / 1.5, max(heights) * 1.5], most=5)


def _mixed(stacks: Mapping[str, str]) -> bool:
    """Return whether a star is needed: it tells strategies with a stack of their own from those with another one."""
    return len(set(stacks.values())) > 1
