"""What the plots of comparisons share: an axis of changes on which up is worse, and dots of which none is lost.

Values are logarithms of B over A, turned so that B is worse above 0, as in ``inflight.bench.frame.blocks``.
What is written is the change in the metric's own direction, as the verdict has it: of throughput, worse is less.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inflight.bench import units
from inflight.bench.present import page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FENCE = 3
"""So many interquartile ranges beyond its quartiles a value is far out (J. W. Tukey, 1977), and may leave the axis."""
LEAST_FENCE = math.log(1.02)
LEAST_UP, LEAST_DOWN = math.log(1.065), math.log(1.025)
"""The axis reaches at least this far, so that the lines which a verdict asks about are on it."""
PAD_UP, PAD_DOWN = 0.1, 0.12
"""Of the axis: space above the dots, and below them for what has no value."""
EDGE = 0.03
"""Share of the axis between its end and an arrow."""
BOTTOM = 0.03
"""Share of the axes' height at which stands what has no value."""
MOST_TICKS = 9
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_POWERS = (100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
_RATIOS = {1: (1.5, 2, 3, 5, 10, 30, *_POWERS), -1: (1 / 0.7, 2, 1 / 0.3, 5, 10, *_POWERS)}
"""Ticks of an axis that goes far, for more and for less: ``+50 %``, ``3x``; ``-30 %``, ``-70 %``."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One block: where it stands, and its value."""

    x: float
    value: float


@dataclass(frozen=True, slots=True)
class Range:
    """From where to where the axis goes."""

    low: float
    high: float

    def clip(self, value: float) -> float:
        """Return the value, or the end of the axis that it lies beyond."""
        return min(self.high, max(self.low, value))

    def edge(self, value: float) -> float:
        """Return where an arrow stands for a value beyond the axis."""
        inwards = EDGE * (self.high - self.low)
        return self.high - inwards if value > 0 else self.low + inwards

    def has(self, value: float) -> bool:
        """Tell whether a value is on the axis; what is no number is not."""
        return self.low <= value <= self.high


def range_of(series: Iterable[Sequence[float]]) -> Range:
    """Return an axis that shows each series but what is far out in it, and 0."""
    ends = [end for values in series for end in _fenced(values)]
    low, high = min([-LEAST_DOWN, *ends]), max([LEAST_UP, *ends])
    return Range(low - PAD_DOWN * (high - low), high + PAD_UP * (high - low))


def _fenced(values: Sequence[float]) -> list[float]:
    """Return the lowest and the highest value that is not far out."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return finite
    first, _, third = statistics.quantiles(finite, n=4, method="inclusive")
    fence = max(LEAST_FENCE, FENCE * (third - first))
    inside = [value for value in finite if first - fence <= value <= third + fence]
    return [min(inside), max(inside)]


def fit_texts(sheet: "Figure") -> None:
    """Make texts smaller that leave the page: lines are broken by letters, and names may be all capitals or signs."""
    for written in sheet.texts:
        size, end = float(written.get_fontsize()), 0.985 * page.WIDTH * sheet.dpi
        while (box := written.get_window_extent()).x1 > end and size > 1:
            size = min(size - 0.25, size * (end - box.x0) / box.width)  # widths do not follow sizes exactly
            written.set_fontsize(size)


def set_axis(axes: "Axes", shown: Range, direction: int = 1) -> None:
    """Set limits and ticks; ``direction`` is -1 where worse is less, so that the labels fall as the axis rises."""
    axes.set_ylim(shown.low, shown.high)
    axes.set_yticks(*_ticks(shown, direction))


def _ticks(shown: Range, direction: int) -> tuple[list[float], list[str]]:
    changes = ticks(shown, direction)
    return [direction * math.log1p(change) for change in changes], [_tick(change) for change in changes]


def ticks(shown: Range, direction: int) -> list[float]:
    """Return the changes to be marked, as shares: even steps near 0; round ratios where the axis goes far."""
    first, last = sorted(math.expm1(min(600.0, max(-600.0, direction * end))) for end in (shown.low, shown.high))
    if first > -0.5 and last < 0.8:
        step = next((s for s in _STEPS if (last - first) / s <= MOST_TICKS), _STEPS[-1])
        return [n * step for n in range(math.ceil(first / step), math.floor(last / step) + 1)]
    found = [0.0]
    for sign in (1, -1):
        place = 0.0
        for ratio in _RATIOS[sign]:
            at = direction * sign * math.log(ratio)
            if shown.has(at) and abs(at) - place >= (shown.high - shown.low) / MOST_TICKS:
                place = abs(at)
                found.append(math.expm1(sign * place))
    return sorted(found)


def draw_dots(axes: "Axes", dots: Sequence[Dot], shown: Range, **style: Any) -> None:
    """Draw each dot: where it is, as an arrow where it lies beyond the axis, as a cross where it is no number."""
    inside = [dot for dot in dots if shown.has(dot.value)]
    axes.plot([dot.x for dot in inside], [dot.value for dot in inside], linestyle="none", zorder=3, **style)
    colour = style["color"]
    draw_crosses(axes, [dot.x for dot in dots if math.isnan(dot.value)], colour)
    for dot in _beyond(dots, shown):
        marker = "^" if dot.value > 0 else "v"
        axes.plot(dot.x, shown.edge(dot.value), marker=marker, color=colour, markersize=10, zorder=4)


def write_farthest(axes: "Axes", dots: Sequence[Dot], shown: Range, direction: int) -> None:
    """Write beyond each end of the axis the farthest value, and the number of the others."""
    beyond = _beyond(dots, shown)
    for own in ([dot for dot in beyond if dot.value > 0], [dot for dot in beyond if dot.value <= 0]):
        if own:
            _tell(axes, own, shown, direction)


def _beyond(dots: Sequence[Dot], shown: Range) -> list[Dot]:
    return [dot for dot in dots if not math.isnan(dot.value) and not shown.has(dot.value)]


def mark_size(number: int) -> float:
    """Return the size of each mark: the more marks, the smaller, so that they do not hide each other."""
    return max(3.0, min(9.0, 60.0 / math.sqrt(max(1, number))))


def _tell(axes: "Axes", beyond: Sequence[Dot], shown: Range, direction: int) -> None:
    """Write the farthest value at one end beside its arrow, on the side that has more room, and how many more are."""
    dot = max(beyond, key=lambda one: abs(one.value))
    left, right = axes.get_xlim()
    is_late = dot.x > (left + right) / 2
    is_high = dot.value > 0
    more = f"\nand {len(beyond) - 1} more" if len(beyond) > 1 else ""
    axes.annotate(
        units.change(direction * dot.value) + more,
        (dot.x, shown.edge(dot.value)),
        xytext=(-8 if is_late else 8, 6 if is_high else -6),
        textcoords="offset points",
        ha="right" if is_late else "left",
        va="top" if is_high else "bottom",
        size=page.SMALL,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        annotation_clip=False,
        zorder=6,
    )


def draw_crosses(axes: "Axes", places: Sequence[float], colour: str) -> None:
    """Mark at the bottom those that have no value."""
    axes.plot(
        places,
        [BOTTOM] * len(places),
        marker="x",
        color=colour,
        markersize=7,
        markeredgewidth=1.8,
        linestyle="none",
        transform=axes.get_xaxis_transform(),
        zorder=4,
    )


def _tick(share: float) -> str:
    if abs(share) < 1e-9:
        return "0"
    if share > 1.5 or share < -0.95:
        return f"{units.number_tick(float(f'{1 + share:.2g}'))}x"
    return f"{'+' if share > 0 else '-'}{units.number_tick(float(f'{abs(share) * 100:.3g}'))} %"
