"""The marks that plots are made of: lines, bars, keys, panels, notes. A plot is a page (``page.sheet``) of these.

A plot of lines, one panel a latency::

    sheet = page.sheet(title, marks.notes("Points: medians.", "Hollow: red trials." if red else ""), footer)
    for axes, latency in zip(marks.panels(sheet, len(latencies)), latencies):
        ends = [marks.series(axes, name, points[name, latency], looks.get(name)) for name in names]
        axes.set_ylim(...)                          # first the limits, then the names at the ends
        labels.end_labels(axes, filter(None, ends))

A plot of stacked bars, with a key to the parts::

    LAYERS = {"user": Fill("#0072B2"), "kernel": Fill("#D55E00", "//")}
    marks.stacked(axes, [Bar("thread", {"user": 9.1, "kernel": 8.2}, low=16.9, high=17.7, text="17.3 kB")], LAYERS)
    marks.key(sheet, LAYERS, left, top)

``bars`` is the same with one part a bar. Lengths and heights are in the unit of the axis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.present import labels, page
from bench.present.labels import Label
from bench.present.name_looks import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR = 0.62
"""Height of a bar; the next one is 1 below."""
HOLLOW = "white"
"""What red trials are filled with."""
PALE_ALPHA = 0.3
"""How opaque a bar of red trials is."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line, with its range; a red one is drawn hollow and is no part of the line."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    red: bool = False


@dataclass(frozen=True, slots=True)
class Fill:
    """What a bar, or a part of one, is filled with; the hatch says what the colour says, for a print in grey."""

    colour: str
    hatch: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, the lengths of its parts, the range of the whole, and what stands at its end."""

    name: str
    parts: Mapping[str, float]
    low: float | None = None
    high: float | None = None
    text: str = ""
    red: bool = False
    y: float | None = None
    """Its place from the top; None: below the one before."""

    @property
    def end(self) -> float:
        """Where the bar ends, its range included."""
        return max(sum(self.parts.values()), self.high or 0.0)


UNKNOWN = Fill("#FFFFFF", "xx")
"""A part whose size is not known."""


def series(
    axes: "Axes", name: str, points: Sequence[Point], look: Look | None, *, line: bool = True, logarithmic: bool = False
) -> Label | None:
    """Draw a name's points, and the line through those that are not red; return the label for its end.

    Without a look it is pale and thin, and has no label. ``logarithmic`` axes show no point at or below 0.
    """
    shown = [point for point in points if not logarithmic or point.y > 0]
    good, red = ([point for point in shown if point.red is is_red] for is_red in (False, True))
    colour = look.colour if look else page.PALE
    style: dict[str, Any] = {"color": colour, "marker": look.marker if look else "o", "markersize": 8}
    axes.errorbar(
        [point.x for point in good],
        [point.y for point in good],
        yerr=_reach(good) if any(point.low is not None for point in good) else None,
        linestyle=(look.dashes if look else "-") if line else "none",
        linewidth=2.2 if look else 1,
        capsize=4,
        zorder=3 if look else 1,
        **style,
    )
    axes.plot(
        [point.x for point in red],
        [point.y for point in red],
        linestyle="none",
        markerfacecolor=HOLLOW,
        markeredgewidth=1.6,
        zorder=4,
        **style,
    )
    if look is None or not shown:
        return None
    end = max(good or red, key=lambda point: (point.x, point.y))
    return Label(end.x, end.y, labels.name_of(name, red=not good), colour)


def _reach(points: Sequence[Point]) -> list[list[float]]:
    """Return how far each range goes below its point and above it."""
    below = [0.0 if point.low is None else max(0.0, point.y - point.low) for point in points]
    above = [0.0 if point.high is None else max(0.0, point.high - point.y) for point in points]
    return [below, above]


def bars(axes: "Axes", found: Sequence[Bar], fill: Fill) -> None:
    """Draw bars from the top down that are all filled alike."""
    stacked(axes, found, {part: fill for bar in found for part in bar.parts})


def stacked(axes: "Axes", found: Sequence[Bar], fills: Mapping[str, Fill], limit: float | None = None) -> None:
    """Draw bars of several parts from the top down, each with its name, its range and its text.

    Up to ``limit``, by default as far as texts need; a bar that goes beyond ends in an arrow, without its text.
    """
    limit = 1.35 * max((bar.end for bar in found), default=1.0) or 1.0 if limit is None else limit
    places = [float(number) if bar.y is None else bar.y for number, bar in enumerate(found)]
    for y, bar in zip(places, found, strict=True):
        at = 0.0
        for part, length in bar.parts.items():
            axes.barh(y, length, left=at, height=BAR, alpha=PALE_ALPHA if bar.red else 1.0, **style(fills[part]))
            at += length
        if bar.low is not None and bar.high is not None:
            middle = min(max(at, bar.low), bar.high)
            reach = [[middle - bar.low], [bar.high - middle]]
            axes.errorbar(middle, y, xerr=reach, color="black", capsize=4, linewidth=1.4, linestyle="none", zorder=4)
        if at > limit:
            arrow: dict[str, Any] = {"marker": ">", "markersize": 10, "color": "white", "markeredgecolor": "black"}
            axes.plot([0.985], [y], transform=axes.get_yaxis_transform(), zorder=6, **arrow)
        elif bar.text:
            write(axes, bar.text, bar.end, y)
    axes.set_yticks(places, [bar.name for bar in found], size=page.TEXT)
    axes.set_ylim(max([*places, 1.0]) + 0.6, min([*places, 0.0]) - 0.6)
    axes.set_xlim(0, limit)
    axes.grid(axis="y", visible=False)


def write(axes: "Axes", text: str, x: float, y: float) -> None:
    """Write a figure in bold to the right of a place, with a ground that keeps it readable on lines."""
    axes.annotate(
        text,
        (x, y),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        size=12,
        weight="bold",
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )


def style(fill: Fill) -> dict[str, Any]:
    """Return what matplotlib's patches and bars are told of a fill."""
    edge = page.GREY if fill == UNKNOWN else "white"
    return {"facecolor": fill.colour, "hatch": fill.hatch, "edgecolor": edge, "linewidth": 0.8 * (fill == UNKNOWN)}


def key(sheet: "Figure", fills: Mapping[str, Fill], left: float, top: float) -> None:
    """Write which fill is what in one line of a page; its lower left corner is at these shares of the page."""
    from matplotlib.patches import Patch

    page.key(sheet, [Patch(**style(fill), label=name) for name, fill in fills.items()], left, top)


def panels(sheet: "Figure", number: int, columns: int = 2) -> list["Axes"]:
    """Return so many axes, row by row; what is left of the last row stays empty."""
    columns = min(columns, number)
    grid = sheet.subplots(-(-number // columns), columns, squeeze=False)
    for axes in grid.flat[number:]:
        axes.set_axis_off()
    return list(grid.flat[:number])


def notes(*sentences: str | None) -> str:
    """Return the sentences that there are as one text: how a plot is to be read."""
    return " ".join(filter(None, sentences))
