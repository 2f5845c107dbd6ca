"""The comparison of two stored runs as a forest plot: a point and an interval for each figure, the worst on top."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.present import page, words
from bench.studies.stored import show
from bench.studies.stored.read import ALL, CONTROL_MOST, PASS_BELOW, REGRESSION_ABOVE, Compared, Comparison
from bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 28
"""So many rows fit a page; the rest are counted."""
LEAST_HALF, MOST_HALF = math.log(1.15), math.log(3)
"""The axis reaches at least this far to either side of 0, and no farther than that."""
LEAST_GAP = 0.11
"""Of the axis: the least space between two ticks, for their labels."""
MOST_LETTERS = 40
_PITCH = 0.27
_REGRESSION, _PASS = "#C24E00", "#0072B2"
_SHORT = {CPU: "CPU per page", THROUGHPUT: "throughput", MEMORY: "memory", WALL: "time"}
_MARKERS = {CPU: "o", THROUGHPUT: "s", MEMORY: "^", WALL: "D"}
_TICKS = (-0.9, -0.75, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0)


def save_forest(comparison: Comparison, folder: Path) -> list[Path]:
    """Write ``forest.png`` and ``forest.svg`` into the folder. Raises OSError when a file cannot be written.

    Where no figure has an interval on both sides, nothing is written.
    """
    with page.settings():
        figure = draw(comparison)
        return [] if figure is None else page.save(figure, folder, "forest")


def draw(comparison: Comparison) -> "Figure | None":
    """Draw the figures, the worst first; None without any."""
    found = chosen(comparison)
    if not found:
        return None
    shown, rest = found[:MOST_ROWS], len(found) - MOST_ROWS
    notes = [
        "Change from BASE to HEAD; to the right is worse: more CPU time, memory or time, or less throughput.",
        "Lines are intervals of 95 %; an arrow goes on beyond the page.",
        "Orange: a regression, its stricter bound above +5 %. Blue: a pass, below +10 %.",
        "Hollow and grey: undecided; pale: not gated.",
        "Stored runs are not paired: what else changed between them is in every figure.",
        _about_control(comparison),
        f"{rest} more figures are not shown." if rest > 0 else "",
    ]
    footer = " · ".join(
        words.plain(part, 150)
        for part in (f"BASE {comparison.base.name}", f"HEAD {comparison.head.name}", _machine(comparison))
    )
    height = max(4.6, 3.3 + _PITCH * len(shown))
    sheet = page.sheet(show.headline(comparison), " ".join(notes), footer, height)
    sheet.subplots_adjust(left=0.36, right=0.81)
    axes = sheet.subplots()
    _rows(shown, axes)
    return sheet


def chosen(comparison: Comparison) -> list[Compared]:
    """Return what has a change to be drawn: regressions first, then what is gated, the worst first."""
    found = [one for one in comparison.compared if one.change is not None]
    return sorted(found, key=_order)


def _order(one: Compared) -> tuple[object, ...]:
    change = one.change.estimate if one.change else 0.0
    has_interval = one.change is not None and one.change.low is not None
    return one.verdict != "regression", not one.gated, one.key.workload != ALL, not has_interval, -change, one.key


def _rows(shown: Sequence[Compared], axes: "Axes") -> None:
    half = reach(shown)
    axes.set_xlim(-half, half)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    for at, dashes in ((0.0, "-"), (REGRESSION_ABOVE, (0, (6, 2))), (PASS_BELOW, (0, (1, 1.5)))):
        axes.axvline(at, color="black" if at == 0 else page.GREY, linestyle=dashes, linewidth=1.2, zorder=1)
    for at, side in ((REGRESSION_ABOVE, "right"), (PASS_BELOW, "left")):
        axes.annotate(
            f"+{math.expm1(at) * 100:.0f} %", (at, 1), xycoords=("data", "axes fraction"), xytext=(0, 4),
            textcoords="offset points", ha=side, size=page.SMALL, color=page.GREY,
        )  # fmt: skip
    for place, one in enumerate(shown):
        _row(place, one, half, axes)
    names = [f"{shortened(show.name_of(one))}  ·  {_SHORT[one.key.metric]}" for one in shown]
    axes.set_yticks(range(len(shown)), names, size=page.SMALL)
    for written, one in zip(axes.get_yticklabels(), shown, strict=True):
        written.set_color("black" if one.gated else page.GREY)
        written.set_fontweight("bold" if one.verdict == "regression" else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    shares = ticks(half)
    axes.set_xticks([math.log1p(share) for share in shares], [_percent(share) for share in shares], size=page.SMALL)
    axes.set_xlabel("HEAD worse than BASE by (%, scale of ratios)")


def shortened(name: str) -> str:
    """Return a name that fits beside its row: of a long one its beginning and its end, which tells more."""
    return name if len(name) <= MOST_LETTERS else f"{name[:8]}…{name[9 - MOST_LETTERS :]}"


def ticks(half: float) -> list[float]:
    """Return the shares to be marked on an axis that goes so far: from 0 outwards, none too near to the one before."""
    found = [0.0]
    for outwards in (
        sorted(share for share in _TICKS if share > 0),
        sorted((s for s in _TICKS if s < 0), reverse=True),
    ):
        last = 0.0
        for share in outwards:
            place = abs(math.log1p(share))
            if place <= half and place - last >= LEAST_GAP * 2 * half:
                found.append(share)
                last = place
    return sorted(found)


def reach(shown: Sequence[Compared]) -> float:
    """Return how far the axis goes to either side: to the farthest end or estimate, within bounds."""
    ends = [
        abs(end)
        for one in shown
        if one.change
        for end in (one.change.estimate, one.change.low, one.change.high)
        if end is not None
    ]
    return min(MOST_HALF, max(LEAST_HALF, 1.04 * max(ends, default=0.0)))


def _row(place: int, one: Compared, half: float, axes: "Axes") -> None:
    change = one.change
    assert change is not None
    filled = one.gated and one.verdict != "inconclusive"
    colour = (
        {"regression": _REGRESSION, "pass": _PASS}[one.verdict] if filled else page.GREY if one.gated else "#A6A6A6"
    )
    if change.low is not None and change.high is not None:
        ends = [max(-half, min(half, end)) for end in (change.low, change.high)]
        thick = 3.2 if one.key.workload == ALL else 1.8
        axes.plot(ends, [place, place], color=colour, linewidth=thick, solid_capstyle="butt", zorder=2)
        for beyond, end, arrow in ((change.low < -half, -half, "<"), (change.high > half, half, ">")):
            if beyond:
                axes.plot(end, place, marker=arrow, color=colour, markersize=8, clip_on=False, zorder=3)
    if abs(change.estimate) <= half:
        axes.plot(
            change.estimate, place, marker=_MARKERS[one.key.metric], markersize=8 if one.key.workload != ALL else 10,
            markerfacecolor=colour if filled else "white", markeredgecolor=colour, markeredgewidth=1.6, zorder=4,
        )  # fmt: skip
    told = show.percent(change.estimate) + ("" if change.low is None else f"  ({show.interval_text(change)})")
    axes.annotate(
        told, (1.02, place), xycoords=("axes fraction", "data"), va="center", size=page.SMALL, color=colour,
        weight="bold" if one.verdict == "regression" else "normal", annotation_clip=False,
    )  # fmt: skip


def _percent(share: float) -> str:
    return "0" if share == 0 else f"{share * 100:+.0f} %"


def _about_control(comparison: Comparison) -> str:
    control = comparison.control
    if control is None:
        return "No negative control."
    moved = f"more than the {math.expm1(CONTROL_MOST) * 100:.0f} % that is allowed" if control.moved else "quiet"
    word = "slower" if control.slower > 0 else "faster"
    by = abs(math.expm1(-control.slower)) * 100
    return f"Negative control: the null client was {by:.0f} % {word}, {moved}."


def _machine(comparison: Comparison) -> str:
    hardware = comparison.head.facts.hardware
    parts = [str(hardware[key]) for key in ("cpu", "system") if hardware.get(key)]
    return ", ".join([*parts, *(["and an unlike machine for BASE"] if comparison.unlike else [])])
