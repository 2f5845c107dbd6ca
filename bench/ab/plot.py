"""Plots of blocks: a panel for each metric or planted slowdown, with a dot for each block.

``command.conclude`` and the page draw a comparison (``picture``), the self-test its own (``picture_of_selftest``).
Values are logarithms of B over A, turned so that B is worse above 0, as in ``inflight.bench.frame.blocks``. The axes
have the change in the metric's own direction, with worse at the top: of throughput, worse is less.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from inflight.bench.ab import rates, show
from inflight.bench.ab.decide import NAMES, Result, effects_of
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import SIDES, Block, turned
from inflight.bench.rows.files import Row
from inflight.bench.show import folder as provenance
from inflight.bench.show import words
from inflight.bench.show.looks import GREY, INKS, MARKERS
from inflight.bench.show.pictures import Panel, Picture, set_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOST = INKS[1]
"""Colour of the crosses of blocks without a value."""
FENCE, MIN_FENCE = 3, math.log(1.02)
"""A value this many interquartile ranges beyond its quartiles is far out (J. W. Tukey, 1977) and may leave the axis."""
MIN_UP, MIN_DOWN = math.log(1.065), math.log(1.025)
"""The axis has at least this range, so that the lines which a verdict asks about are on it."""
NOTE = (
    "Each mark is a block; up is worse (of throughput, less). Band: mean and 95 % interval. Crosses: blocks without a "
    "value; triangles: beyond the axis. Dashed lines: the least change that counts, and, of a metric, the change that "
    "a pass rules out."
)
"""How to read the plot."""


@dataclass(frozen=True, slots=True)
class Series:
    """The blocks of a metric or control."""

    title: str
    head: str
    """What stands below the axis."""
    metric: str
    values: Mapping[int, float]
    """By the number of the block."""
    blocks: Sequence[Block]
    """All in which it was measured."""
    limits: tuple[float, ...] = ()
    """Where dashed lines are, as logarithms."""


def picture(result: Result, machine: Mapping[str, Any]) -> Picture | None:
    """Return the gated metrics, then the controls; None without a good block."""
    good = result.tally.good
    rule = result.rule
    if not good:
        return None
    values = {block.number: read.values(block) | read.controls_of(block) for block in good}
    series = []
    for name in (*good[0].comparison.gated, *read.controls_of(good[0])):
        head = "A, measured twice"
        limits = (-rule.control_least, rule.control_least)
        if name in NAMES:
            head = ", ".join(f"{side} {show.amount(name, read.figure(good, side, name))}" for side in SIDES)
            limits = rule.least, rule.acceptable
        by_block = {number: each[name] for number, each in values.items() if name in each}
        tried = [block for block in result.blocks if not block.good or name != "memory" or block.memory]
        series.append(Series(NAMES.get(name, name), head, name, by_block, tried, limits))
    sides = (f"{side}." for side in show.sides(good[0]))
    notes = " ".join([*sides, f"Workload: {show.where(good[0])}.", NOTE])
    return _picture("comparison", show.title(result.decision), notes, machine, series)


def picture_of_selftest(selftest: Mapping[str, Any], rows: Sequence[Row]) -> Picture | None:
    """Return the CPU time of blocks without a change and of those with each planted slowdown; None without a block."""
    comparisons = read.comparisons(rows)
    series = []
    titles = {"aa": "no change"} | {f"planted-{size}": f"about +{size} %" for size in selftest["detection"]}
    for name, title in titles.items():
        blocks = comparisons.get(name, [])
        by_block = {block.number: read.values(block)["cpu_per_page"] for block in blocks if block.good}
        series.append(Series(title, words.counted(len(by_block), "block"), "cpu_per_page", by_block, blocks))
    if not series[0].values:
        return None
    notes = f"CPU time per page of B against A, with planted slowdowns. {NOTE}"
    return _picture("selftest", rates.title(selftest), notes, selftest["machine"], series)


def _picture(name: str, title: str, notes: str, machine: Mapping[str, Any], every: Sequence[Series]) -> Picture:
    """Return the picture of some series; ``machine`` is for its footer."""
    rows = {row.trial: row for series in every for block in series.blocks for row in block.rows}
    ends = find_range(list(series.values.values()) for series in every)
    panels = []
    for number, series in enumerate(every):
        draw = partial(_draw, series=series, ends=ends, number=number)
        panels.append(Panel(series.title, draw, 3.8))
    return Picture(name, title, notes, panels, footer=provenance.source(list(rows.values()), machine))


def find_range(series: Iterable[Sequence[float]]) -> tuple[float, float]:
    """Return the ends of an axis that has 0 and each value of each series, except what is far out in it."""
    ends = [-MIN_DOWN, MIN_UP]
    for values in series:
        finite = list(filter(math.isfinite, values))
        if len(finite) > 1:
            first, _, third = statistics.quantiles(finite, n=4, method="inclusive")
            fence = max(MIN_FENCE, FENCE * (third - first))
            finite = [value for value in finite if first - fence <= value <= third + fence]
        ends += finite
    low = min(ends)
    high = max(ends)
    room = 0.12 * (high - low)
    return low - room, high + room


def _draw(axes: "Axes", series: Series, ends: tuple[float, float], number: int) -> None:
    """Draw each block: where it is, as an arrow where it lies beyond the axis, as a cross where it has no value."""
    low, high = ends
    colour = INKS[number % len(INKS)]

    def change(value: float) -> float:
        """Return the change in percent, at most that at the end of the axis."""
        return 100 * math.expm1(turned(series.metric, min(high, max(low, value))))

    axes.set_ylim(change(low), change(high))
    set_ticks(axes.yaxis, lambda value: f"{value:+,.4g} %" if abs(value) > 1e-9 else "0", 7)
    for limit in (0.0, *series.limits):
        axes.axhline(change(limit), color=GREY if limit else "black", linestyle="--" if limit else "-", zorder=1.5)
    values = series.values.items()
    inside = {n: change(value) for n, value in values if low <= value <= high}
    size = max(3.0, min(8.0, 50 / math.sqrt(len(values) or 1)))
    style: dict[str, Any] = {"linestyle": "none", "color": colour, "zorder": 4}
    axes.plot(list(inside), list(inside.values()), MARKERS[number % 3], alpha=0.8, markersize=size, **style)
    above = [n for n, value in values if value > high]
    below = [n for n, value in values if value < low]
    for marker, edge, beyond in (("^", high, above), ("v", low, below)):
        if beyond:
            axes.plot(beyond, [change(0.96 * edge)] * len(beyond), marker, markersize=9, **style)
    lost = [block.number for block in series.blocks if math.isnan(series.values.get(block.number, math.nan))]
    axes.plot(lost, [0.03] * len(lost), "x", color=LOST, markeredgewidth=1.8, transform=axes.get_xaxis_transform())
    interval = "no interval"
    for effect in effects_of({series.metric: list(series.values.values())}, 0.05):
        mean = effect.mean.interval()
        axes.axhspan(change(mean.low), change(mean.high), color=colour, alpha=0.16, linewidth=0, zorder=1)
        axes.axhline(change(mean.estimate), color=colour, linewidth=2, zorder=2)
        interval = f"{effect.change} ({effect.interval})"
    axes.locator_params(axis="x", nbins=4, integer=True)
    axes.set_xlabel(f"block\n{interval}\n{series.head}")
    axes.set_ylabel("change from A to B, worse \N{RIGHTWARDS ARROW}")
