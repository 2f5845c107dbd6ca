"""The comparison of two stored runs as a forest plot: a point and an interval for each figure, the worst on top."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench.core import units
from inflight.bench.present import change_axis, page, words
from inflight.bench.present.change_axis import Range
from inflight.bench.studies.stored import show
from inflight.bench.studies.stored.read import PASS_BELOW, REGRESSION_ABOVE, Compared, Comparison
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 28
"""Maximum number of rows on a page; the rest are counted."""
LEAST_HALF, MOST_HALF = math.log(1.15), math.log(3)
"""The axis reaches at least this far to either side of 0, and no farther than that."""
MOST_LETTERS = 40
_PITCH = 0.27
_PALE = "#A6A6A6"
_COLOURS = {"regression": "#C24E00", "pass": "#0072B2", "inconclusive": page.GREY}
_SHORT = {CPU: "CPU per page", THROUGHPUT: "throughput", MEMORY: "memory", WALL: "time"}
_MARKERS = {CPU: "o", THROUGHPUT: "s", MEMORY: "^", WALL: "D"}


def save_forest(comparison: Comparison, folder: Path) -> list[Path]:
    """Write ``forest.png`` and ``forest.svg`` into the folder; nothing without a change. Raises OSError."""
    with page.settings():
        figure = draw(comparison)
        return [] if figure is None else page.save(figure, folder, "forest")


def draw(comparison: Comparison) -> "Figure | None":
    """Draw the figures, the worst first; None without any."""
    found = sorted((one for one in comparison.compared if one.change is not None), key=_order)
    if not found:
        return None
    shown, rest = found[:MOST_ROWS], len(found) - MOST_ROWS
    notes = [
        "Change from BASE to HEAD; to the right is worse: more CPU time, memory or time, or less throughput.",
        "Lines are intervals of 95 %; an arrow goes on beyond the page.",
        "Orange: a regression, its stricter bound above +5 %. Blue: a pass, below +10 %.",
        "Hollow and grey: undecided; pale: not gated.",
        "Stored runs are not paired: what else changed between them is in every figure.",
        show.control_told(comparison),
        f"{rest} more figures are not shown." if rest > 0 else "",
    ]
    hardware = comparison.head.hardware
    footer = [f"BASE {comparison.base.name}", f"HEAD {comparison.head.name}"]
    footer += [str(hardware[key]) for key in ("cpu", "system") if hardware.get(key)]
    footer += ["BASE on an unlike machine"] if comparison.unlike else []
    height = max(4.6, 3.3 + _PITCH * len(shown))
    source = " · ".join(words.plain(part, 150) for part in footer)
    sheet = page.sheet(show.title(comparison), " ".join(notes), source, height)
    sheet.subplots_adjust(left=0.36, right=0.81)
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
    axes.set_ylim(len(found) - 0.4, -0.6)
    lines = ((0.0, "-", "center"), (REGRESSION_ABOVE, (0, (6, 2)), "right"), (PASS_BELOW, (0, (1, 1.5)), "left"))
    for at, dashes, side in lines:
        axes.axvline(at, color=page.GREY if at else "black", linestyle=dashes, linewidth=1.2, zorder=1)
        axes.annotate(
            units.change(at).replace(".0", "") if at else "", (at, 1), xycoords=("data", "axes fraction"),
            xytext=(0, 4), textcoords="offset points", ha=side, size=page.SMALL, color=page.GREY,
        )  # fmt: skip
    for place, one in enumerate(found):
        _draw_row(place, one, shown, axes)
    names = [f"{_shortened(show.name_of(one))}  ·  {_SHORT[one.key.metric]}" for one in found]
    axes.set_yticks(range(len(found)), names, size=page.SMALL)
    for written, one in zip(axes.get_yticklabels(), found, strict=True):
        written.set_color("black" if one.gated else page.GREY)
        written.set_fontweight("bold" if one.verdict == "regression" else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("HEAD worse than BASE by (%, scale of ratios)")


def _draw_row(place: int, one: Compared, shown: Range, axes: "Axes") -> None:
    change = one.change or 0.0
    colour = _COLOURS[one.verdict] if one.gated else _PALE
    if one.low is not None and one.high is not None:
        ends = [shown.clip(one.low), shown.clip(one.high)]
        thick = 3.2 if one.is_mean else 1.8
        axes.plot(ends, [place, place], color=colour, linewidth=thick, solid_capstyle="butt", zorder=2)
        for end, own, arrow in ((ends[0], one.low, "<"), (ends[1], one.high, ">")):
            if end != own:
                axes.plot(end, place, marker=arrow, color=colour, markersize=8, clip_on=False, zorder=3)
    if shown.has(change):
        filled = one.gated and one.verdict != "inconclusive"
        axes.plot(
            change, place, marker=_MARKERS[one.key.metric], markersize=10 if one.is_mean else 8,
            markerfacecolor=colour if filled else "white", markeredgecolor=colour, markeredgewidth=1.6, zorder=4,
        )  # fmt: skip
    interval = "" if one.low is None else f"  ({show.interval_text(one)})"
    axes.annotate(
        show.change_text(one) + interval, (1.02, place), xycoords=("axes fraction", "data"), va="center",
        size=page.SMALL, color=colour, weight="bold" if one.verdict == "regression" else "normal",
        annotation_clip=False,
    )  # fmt: skip


def _shortened(name: str) -> str:
    """Return a name that fits beside its row: of a long one its beginning and its end, which says more."""
    return name if len(name) <= MOST_LETTERS else f"{name[:8]}…{name[9 - MOST_LETTERS :]}"
