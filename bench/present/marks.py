"""Marks of plots, whatever they show: dots, lines, bars, their names, keys and notes.

A name without a look has no colour of its own: it is drawn pale and thin, behind the others. A plot of lines with one
panel per latency::

    sheet = page.sheet(title, marks.notes("Points: means.", is_invalid and "Hollow: invalid trials."), footer)
    for axes, latency in zip(marks.panels(sheet, len(latencies)), latencies):
        ends = [marks.series(axes, name, points[name, latency], looks.get(name)) for name in names]
        axes.set_ylim(...)  # the limits before the names at the ends
        labels.end_labels(axes, [end for end in ends if end])

A plot of stacked bars, with a key to their parts::

    for place, bar in enumerate(found):
        end = marks.stacked(axes, place, [(size, FILLS[name]) for name, size in bar.parts])
        marks.beside(axes, bar.text, end, place)
    marks.name_rows(axes, [bar.name for bar in found])
    marks.key(sheet, FILLS, left, top)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inflight.bench.present import labels, page
from inflight.bench.present.labels import Label
from inflight.bench.present.name_looks import COLOURS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]
"""Pairs of x and y, in data coordinates."""
BAR = 0.62
"""The height of a bar, as a share of its row."""
MOST_SETTINGS = 6
"""Maximum number of settings with plots of their own."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line, with its interval; an invalid one is hollow, and not part of the line."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class Fill:
    """How a part of a bar is filled: its hatch repeats what its colour says, for print in grey."""

    colour: str
    hatch: str = ""
    edge: str = "white"
    width: float = 0.0

    @property
    def style(self) -> dict[str, Any]:
        """The arguments of a patch."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": self.edge, "linewidth": self.width}


FILLS = tuple(map(Fill, (COLOURS[n] for n in (0, 5, 1, 4, 2)), ("", "..", "//", "\\\\", "xx")))
"""The fills of the parts of stacked bars, such as layers of memory, in their order."""
UNKNOWN = Fill("white", "xx", page.GREY, 0.8)
"""The fill of a part whose size is not known."""


def numbered(name: str, number: int) -> str:
    """Return the file name of the plot of a setting, by its number."""
    return name if number == 1 else f"{name}-{number}"


def fitting(bars: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the bars that a plot has room for, among them the last one, which a title may name, and the others."""
    if len(bars) <= page.MOST_BARS:
        return list(bars), []
    return [*bars[: page.MOST_BARS - 1], bars[-1]], list(bars[page.MOST_BARS - 1 : -1])


def notes(*sentences: object) -> str:
    """Join sentences; values other than texts, such as the False of ``is_so and "It is so."``, are left out."""
    return " ".join(one for one in sentences if one and isinstance(one, str))


def dots(axes: "Axes", points: Points, look: Look | None, *, hollow: bool = False, **style: Any) -> None:
    """Draw points as markers; ``hollow`` ones are of invalid trials."""
    colour = look.colour if look else page.PALE
    given: dict[str, Any] = {"color": colour, "marker": look.marker if look else "o", "linestyle": "none"}
    given |= {"markerfacecolor": "white" if hollow else colour, "markersize": 8, "zorder": 3 if look else 1}
    axes.plot([x for x, _ in points], [y for _, y in points], **given | style)


def line(axes: "Axes", points: Points, look: Look | None, width: float = 2.2, **style: Any) -> None:
    """Draw a line through points."""
    given: dict[str, Any] = {"color": look.colour if look else page.PALE, "linestyle": look.dashes if look else "-"}
    given |= {"linewidth": width if look else min(1, width), "zorder": 3 if look else 1} | style
    axes.plot([x for x, _ in points], [y for _, y in points], **given)


def series(axes: "Axes", name: str, points: Sequence[Point], look: Look | None, *, width: float = 2.2) -> Label | None:
    """Draw the points of a name, their intervals, and a line through valid points; return the label of its end."""
    good, invalid = ([point for point in points if point.invalid is is_invalid] for is_invalid in (False, True))
    line(axes, [(point.x, point.y) for point in good], look, width)
    dots(axes, [(point.x, point.y) for point in good], look)
    dots(axes, [(point.x, point.y) for point in invalid], look, hollow=True, markeredgewidth=1.6)
    ranges = [point for point in good if point.low < point.high]
    if ranges:
        reach = [[point.y - point.low for point in ranges], [point.high - point.y for point in ranges]]
        style: dict[str, Any] = {"color": look.colour if look else page.PALE, "zorder": 3 if look else 1}
        axes.errorbar([p.x for p in ranges], [p.y for p in ranges], reach, capsize=4, linestyle="none", **style)
    if look is None or not points:
        return None
    end = max(good or invalid, key=lambda point: (point.x, point.y))
    return Label(end.x, end.y, labels.name_of(name, invalid=not good), look.colour)


def stacked(
    axes: "Axes", place: float, parts: Iterable[tuple[float, Fill]], height: float = BAR, **style: Any
) -> float:
    """Draw a horizontal bar made of parts, starting at 0; return its end."""
    at = 0.0
    for size, fill in parts:
        axes.barh(place, size, left=at, height=height, **fill.style | style)
        at += size
    return at


def whisker(axes: "Axes", place: float, middle: float, low: float, high: float) -> None:
    """Draw an interval on a horizontal bar."""
    reach = [[middle - low], [high - middle]]
    axes.errorbar(middle, place, xerr=reach, color="black", capsize=5, linewidth=1.4, linestyle="none", zorder=4)


def beside(axes: "Axes", text: str, x: float, place: float) -> None:
    """Write the figure of a horizontal bar to the right of its end."""
    axes.annotate(
        text,
        (x, place),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        size=12,
        weight="bold",
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )


def small(axes: "Axes", text: str, at: tuple[float, float], **style: Any) -> None:
    """Write a remark in small grey letters, a little above a point; coordinates are those of ``annotate``."""
    given: dict[str, Any] = {
        "xytext": (0, 3),
        "textcoords": "offset points",
        "ha": "center",
        "size": page.SMALL,
        "color": page.GREY,
    }
    axes.annotate(text, at, **given | style)


def name_rows(axes: "Axes", names: Sequence[str]) -> None:
    """Name the horizontal bars at 0, 1 and so on, from the top down."""
    axes.set_yticks(range(len(names)), list(names), size=page.TEXT)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def patches(fills: Mapping[str, Fill]) -> list[Any]:
    """Return the entries of a key to fills."""
    from matplotlib.patches import Patch

    return [Patch(**fill.style, label=name) for name, fill in fills.items()]


def key(sheet: "Figure", fills: Mapping[str, Fill], left: float, top: float) -> None:
    """Write a key to fills in one line of a sheet; its lower left corner is at these shares of the sheet."""
    page.key(sheet, patches(fills), left, top)


def panels(sheet: "Figure", number: int, columns: int = 2) -> list["Axes"]:
    """Return a number of axes, row by row; the rest of the last row stays empty."""
    columns = min(columns, number)
    grid = sheet.subplots(-(-number // columns), columns, squeeze=False)
    for axes in grid.flat[number:]:
        axes.set_axis_off()
    return list(grid.flat[:number])


def margins(sheet: "Figure", left: float, right: float, top: float = 0.0) -> None:
    """Set the margins of a sheet in inches; ``top`` is added to the present top margin."""
    sheet.subplots_adjust(
        left=left / page.WIDTH,
        right=1 - right / page.WIDTH,
        top=sheet.subplotpars.top - top / sheet.get_figheight(),
    )
