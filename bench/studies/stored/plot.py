"""The comparison of two stored runs as a forest plot: a point and an interval for each figure, the worst on top."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.present import change_axis, marks, page, words
from inflight.bench.present.change_axis import Range
from inflight.bench.studies.stored import show
from inflight.bench.studies.stored.read import PASS_BELOW, REGRESSION_ABOVE, Compared, Comparison, share
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 28
"""Maximum number of rows on a page; the rest are counted."""
LEAST_HALF, MOST_HALF = math.log(1.15), math.log(3)
"""The least and the greatest distance from 0 to either end of the axis."""
MOST_LETTERS = 40
_PITCH = 0.27
_PALE = "#A6A6A6"
_COLOURS = {"regression": "#C24E00", "pass": "#0072B2", "inconclusive": page.GREY}
_SHORT = {CPU: "CPU per page", THROUGHPUT: "throughput", MEMORY: "memory", WALL: "time"}
_MARKERS = {CPU: "o", THROUGHPUT: "s", MEMORY: "^", WALL: "D"}


def save_forest(comparison: Comparison, folder: Path) -> list[Path]:
    """Write ``forest.png`` and ``forest.svg`` into the folder; nothing without a change. Raises OSError."""
    return page.draw_and_save(lambda: draw(comparison), folder, "forest")


def draw(comparison: Comparison) -> "Figure | None":
    """Draw the figures, the worst first; return None without any."""
    found = sorted((one for one in comparison.compared if one.change is not None), key=_order)
    if not found:
        return None
    shown, rest = found[:MOST_ROWS], len(found) - MOST_ROWS
    notes = marks.notes(
        "Change from BASE to HEAD; to the right is worse: more CPU time, memory or time, or less throughput.",
        "Lines: 95 % intervals; an arrow: the interval goes on beyond the page.",
        f"Orange: a regression, its stricter bound above +{share(REGRESSION_ABOVE)}.",
        f"Blue: a pass, below +{share(PASS_BELOW)}. Hollow and grey: undecided; pale: not gated.",
        "Stored runs are not paired: every figure includes whatever else changed between them.",
        show.control_told(comparison),
        rest > 0 and f"{rest} more figures are not shown.",
    )
    hardware = comparison.head.hardware
    footer = [f"BASE {comparison.base.name}", f"HEAD {comparison.head.name}"]
    footer += [str(hardware[key]) for key in ("cpu", "system") if hardware.get(key)]
    footer += ["BASE on an unlike machine"] if comparison.unlike else []
    source = " · ".join(words.plain(part, 150) for part in footer)
    sheet = page.sheet(show.title(comparison), notes, source, max(4.6, 3.3 + _PITCH * len(shown)))
    sheet.subplots_adjust(left=0.36, right=0.795)
    _draw_rows(shown, sheet.subplots())
    return sheet


def _order(one: Compared) -> tuple[object, ...]:
    """Order regressions first, then what is gated, means before cells, the worst first."""
    return one.verdict != "regression", not one.gated, not one.is_mean, one.low is None, -(one.change or 0.0), one.key


def _draw_rows(found: Sequence[Compared], axes: "Axes") -> None:
    ends = [abs(end) for one in found for end in (one.change, one.low, one.high) if end is not None]
    half = min(MOST_HALF, max(LEAST_HALF, 1.04 * max(ends)))
    shown = Range(-half, half)
    change_axis.set_axis_across(axes, shown)
    axes.axvline(0, color="black", linewidth=1.2, zorder=1)
    for at, dashes, aside in ((REGRESSION_ABOVE, (0, (6, 2)), "right"), (PASS_BELOW, (0, (1, 1.5)), "left")):
        axes.axvline(at, color=page.GREY, linestyle=dashes, linewidth=1.2, zorder=1)
        style = {"xycoords": ("data", "axes fraction"), "ha": aside, "xytext": (0, 4)}
        marks.small(axes, f"+{share(at)}", (at, 1), **style)
    for place, one in enumerate(found):
        _draw_row(place, one, shown, axes)
    marks.name_rows(axes, [f"{_shortened(show.name_of(one))}  ·  {_SHORT[one.key.metric]}" for one in found])
    axes.tick_params(axis="y", length=0, labelsize=page.SMALL)
    axes.set_ylim(len(found) - 0.4, -0.6)
    for written, one in zip(axes.get_yticklabels(), found, strict=True):
        written.set_color("black" if one.gated else page.GREY)
        written.set_fontweight("bold" if one.verdict == "regression" else "normal")
    axes.set_xlabel("HEAD worse than BASE by (%, scale of ratios)")


def _draw_row(place: int, one: Compared, shown: Range, axes: "Axes") -> None:
    change = one.change or 0.0
    colour = _COLOURS[one.verdict] if one.gated else _PALE
    style: dict[str, Any] = {"color": colour, "linewidth": 3.2 if one.is_mean else 1.8, "solid_capstyle": "butt"}
    if one.low is not None and one.high is not None:
        ends = shown.clip(one.low), shown.clip(one.high)
        marks.line(axes, [(end, place) for end in ends], None, zorder=2, **style)
        for end, own, arrow in ((ends[0], one.low, "<"), (ends[1], one.high, ">")):
            beyond = [(end, place)] if end != own else []
            marks.dots(axes, beyond, None, color=colour, markerfacecolor=colour, marker=arrow, clip_on=False, zorder=3)
    if shown.has(change):
        is_filled = one.gated and one.verdict != "inconclusive"
        marks.dots(
            axes, [(change, place)], None, marker=_MARKERS[one.key.metric], markersize=10 if one.is_mean else 8,
            color=colour, markerfacecolor=colour if is_filled else "white", markeredgewidth=1.6, zorder=4,
        )  # fmt: skip
    interval = "" if one.low is None else f"  ({show.interval_text(one)})"
    style = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "center", "annotation_clip": False}
    style |= {"color": colour, "weight": "bold" if one.verdict == "regression" else "normal", "xytext": (0, 0)}
    marks.small(axes, show.change_text(one) + interval, (1.02, place), **style)


def _shortened(name: str) -> str:
    """Return a name that fits beside its row: of a long one its beginning and its end, which says more."""
    return name if len(name) <= MOST_LETTERS else f"{name[:8]}…{name[9 - MOST_LETTERS :]}"
