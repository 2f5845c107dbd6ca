"""Names of lines: at their ends, or in a legend if the ends are too close together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inflight.bench.present.name_looks import Look
from inflight.bench.present.page import GREY, WIDTH
from inflight.bench.show import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FAR = 0.85
"""The label of a line that ends left of this share of the axes' width is far away."""
LABEL_ROOM = 2.1
"""Inches to the right of axes for labels, at least."""
LABEL_PITCH = 0.24
"""Inches between the base lines of labels at the ends of lines."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside the end of a line, in data coordinates."""

    x: float
    y: float
    text: str
    colour: str


def inches(figure: "Figure", texts: Iterable[str], size: float = 12) -> float:
    """Return the width of the widest of some texts of a size in points; 0 without any."""
    widest = 0.0
    for text in texts:
        drawn = figure.text(0, 0, text, size=size)
        widest = max(widest, drawn.get_window_extent().width / figure.dpi)
        drawn.remove()
    return widest


def share_width(
    figure: "Figure", columns: int, texts: Iterable[str] = (), *, left: float = 1.2, between: float = 0.6
) -> None:
    """Set the columns of axes side by side, in inches: room for labels to the right of each, for ticks between them."""
    room = max(LABEL_ROOM, 0.3 + inches(figure, texts))
    width = WIDTH - left - room
    gap = room + between
    each = (width - gap * (columns - 1)) / columns
    figure.subplots_adjust(left=left / WIDTH, right=1 - room / WIDTH, wspace=gap / each)


def legend(axes: "Axes", looks: Mapping[str, Look], names: Sequence[str], mark: str = "") -> None:
    """Write a legend to the right of the axes, for lines whose ends are too close together to be labelled.

    ``mark`` says what the markers on the lines mean.
    """
    from matplotlib.lines import Line2D

    shown = [name for name in names if name in looks]
    handles = [
        Line2D(
            [],
            [],
            color=looks[name].colour,
            marker=looks[name].marker,
            linestyle=looks[name].dashes,
            linewidth=2.2,
            markersize=8,
        )
        for name in shown
    ]
    # A legend leaves out names that begin with an underscore; a strategy's may.
    texts = [f"\N{ZERO WIDTH SPACE}{name_of(name)}" if name.startswith("_") else name_of(name) for name in shown]
    if mark:
        handles.append(Line2D([], [], color=GREY, marker="o", linestyle="none", markersize=8))
        texts.append(mark)
    axes.legend(
        handles,
        texts,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.02),
        frameon=False,
        fontsize=12,
        handlelength=3,
        labelspacing=0.7,
    )


def end_labels(axes: "Axes", labels: Sequence[Label]) -> None:
    """Write names to the right of the axes, each level with the end of its line, or as near as there is room.

    A thin line leads from one to the other. The axes' limits must be set by now.
    """
    if not labels:
        return
    to_axes = axes.transData + axes.transAxes.inverted()
    points = [to_axes.transform((label.x, label.y)) for label in labels]
    figure = axes.get_figure(root=True)
    assert figure is not None
    inch, pitch = (
        1 / (axes.get_position().width * WIDTH),
        LABEL_PITCH / (axes.get_position().height * figure.get_figheight()),
    )
    heights = spaced([float(y) for _, y in points], pitch)
    for label, (x, y), height in zip(labels, points, heights, strict=True):
        axes.plot(
            [float(x), *([] if x > FAR else [1]), 1 + 0.06 * inch, 1 + 0.19 * inch],
            [float(y), *([] if x > FAR else [float(y)]), height, height],  # level inside the axes, whatever its name is
            color=label.colour,
            linewidth=0.8 if x > FAR else 1,
            linestyle="-" if x > FAR else (0, (1, 4)),  # a long leader must not look like data
            transform=axes.transAxes,
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1 + 0.23 * inch, height, label.text, color=label.colour, size=12, va="center", transform=axes.transAxes
        )


def spaced(wanted: Sequence[float], pitch: float) -> list[float]:
    """Return places from 0 to 1 near the wanted ones, in order and at least ``pitch`` apart (pooling neighbours)."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    blocks: list[tuple[float, int]] = []  # (middle, how many)
    for n in order:
        middle, many = wanted[n], 1
        while blocks and middle - pitch * many / 2 < blocks[-1][0] + pitch * blocks[-1][1] / 2:
            below, number = blocks.pop()
            middle, many = (middle * many + below * number) / (many + number), many + number
        blocks.append((middle, many))
    places = [middle + pitch * (k - (many - 1) / 2) for middle, many in blocks for k in range(many)]
    for k in reversed(range(len(places))):  # below 1
        places[k] = min(places[k], places[k + 1] - pitch if k + 1 < len(places) else 1.0)
    for k in range(len(places)):  # and above 0, even if there are too many for both
        places[k] = max(places[k], places[k - 1] + pitch if k else 0.0)
    found = [0.0] * len(wanted)
    for n, place in zip(order, places, strict=True):
        found[n] = place
    return found


def name_of(strategy: str, *, invalid: bool = False) -> str:
    """Return a strategy's name as it is drawn: printable, and cut to the room for it."""
    return words.name(strategy) + (" (invalid)" if invalid else "")


def starred(strategy: str, stack: str) -> str:
    """Return a strategy's name as it is drawn, with a star if it has an HTTP stack of its own."""
    return name_of(strategy) + (" *" if stack == "own" else "")
