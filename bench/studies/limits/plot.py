"""Plot 7: the thread ramp: threads over time until no more could be started, and the limits that might have bound."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.core import units
from bench.core.rows import Row
from bench.present import labels, page, words
from bench.studies.limits import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOURCE = "threads"
MOST_CEILINGS = 2
FAR = 2.2
"""A limit so many times higher than what was found is named, but not drawn to scale."""
MOVED = 1.05
"""The second ramp, with small stacks, is ended 10 % above the first (``bench.measure.limits.threads``)."""
LABEL_PITCH = 0.125
"""What the two lines of a label take of the axes' height."""
LINE, FAILURE, STOP = "#0072B2", "#D55E00", "#009E73"


def draw(rows: Sequence[Row], footer: str) -> "Figure | None":
    """Draw the rows that ramped threads up; None when there is none."""
    ramps = [row for row in rows if row.kind == "limit" and row.strategy == RESOURCE and row.measured.get("timeline")]
    if not ramps:
        return None
    main = min(ramps, key=lambda row: (not row.valid, -(row.measured.get("found") or 0), row.round))
    title = show.of_ramp(main.measured) if main.valid else "No valid ramp of threads: nothing to conclude"
    sheet = page.sheet(title, _notes(ramps, main), footer)
    sheet.subplots_adjust(left=1.2 / page.WIDTH, right=1 - 2.6 / page.WIDTH)
    axes = sheet.subplots()
    panel(ramps, main, axes)
    return sheet


def panel(ramps: Sequence[Row], main: Row, axes: "Axes") -> None:
    """Draw the ramps and the lowest ceilings."""
    for row in ramps:
        xs, ys = _points(row)
        is_main = row is main
        axes.plot(
            xs, ys, color=LINE if row.valid else page.GREY, linewidth=2.4 if is_main else 1, zorder=3 if is_main else 2
        )
    xs, ys = _points(main)
    top = max(1, *(y for row in ramps for y in _points(row)[1]), main.measured.get("found") or 0)
    lowest = sorted(_ceilings(main), key=lambda ceiling: ceiling["most"])[:MOST_CEILINGS]
    near = [ceiling for ceiling in lowest if ceiling["most"] <= FAR * top]
    axes.set_ylim(0, 1.16 * max([top, *(ceiling["most"] for ceiling in near)]))
    axes.set_xlim(0, 1.06 * max(1e-3, *(x for row in ramps for x in _points(row)[0])))
    _draw_ceilings(lowest, axes)
    _mark_end(main.measured, (xs[-1], max(ys[-1], main.measured.get("found") or 0)), axes)
    axes.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.set_xlabel("time since the first thread (s)")
    axes.set_ylabel("living threads")


def _draw_ceilings(lowest: Sequence[dict[str, Any]], axes: "Axes") -> None:
    """Draw the limits as lines, named to the right; one that is far above the axes is only named, with an arrow."""
    top = axes.get_ylim()[1]
    wanted = [min(1.0, ceiling["most"] / top) for ceiling in lowest]
    for ceiling, height in zip(lowest, labels.spaced(wanted, LABEL_PITCH), strict=True):
        colour = STOP if ceiling.get("shared") else "black"
        if ceiling["most"] > top:
            text = f"\N{UPWARDS ARROW} {_label(ceiling)}"
            axes.text(1.015, height, text, transform=axes.transAxes, size=12, va="center", color=page.GREY)
            continue
        axes.axhline(ceiling["most"], color=colour, linestyle=(0, (6, 3)), linewidth=1.4, zorder=1)
        axes.plot(
            [1, 1.012],
            [ceiling["most"] / top, height],
            color=colour,
            linewidth=0.8,
            transform=axes.transAxes,
            clip_on=False,
        )
        axes.text(
            1.015,
            height,
            _label(ceiling),
            transform=axes.transAxes,
            size=12,
            va="center",
            color=colour,
        )


def _mark_end(measured: dict[str, Any], end: tuple[float, float], axes: "Axes") -> None:
    """Mark where the ramp ended: a cross for a failure, a square where it stopped by itself."""
    failed = measured.get("stopped_by") == "failure"
    colour = FAILURE if failed else STOP
    axes.plot(*end, marker="X" if failed else "s", color=colour, markersize=15, markeredgecolor="white", zorder=5)
    is_right = end[0] > 0.5 * axes.get_xlim()[1]
    axes.annotate(  # below it, where a ramp that rises has left room
        _end_text(measured),
        end,
        xytext=(end[0] / axes.get_xlim()[1], 0.06),
        textcoords="axes fraction",
        ha="right" if is_right else "left",
        va="bottom",
        arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1, "relpos": (int(is_right), 1)},
        size=page.TEXT,
        weight="bold",
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        zorder=6,
    )


def _end_text(measured: dict[str, Any]) -> str:
    found = measured.get("found")
    number = units.count(found) if isinstance(found, int) else "?"
    name = "\n".join(textwrap.wrap(show.limit_of(measured), 36, max_lines=3))
    match measured.get("stopped_by"):
        case "failure":
            return f"{number}: can't start new thread\n{name}"
        case "shared limit":
            return f"{number}: stopped at 90 % of what is left of\n{name}"
        case stopped_by:
            return f"{number}: stopped by the\n{words.plain(str(stopped_by), 34)}"


def _points(row: Row) -> tuple[list[float], list[int]]:
    timeline = row.measured["timeline"]
    return [ns / 1e9 for ns, _ in timeline], [n for _, n in timeline]


def _ceilings(row: Row) -> list[dict[str, Any]]:
    return [ceiling for ceiling in row.measured.get("ceilings") or [] if isinstance(ceiling.get("most"), int)]


def _label(ceiling: dict[str, Any]) -> str:
    shared = ", shared" if ceiling.get("shared") else ""
    return f"{words.plain(str(ceiling.get('name')), 22)}\n{units.count(ceiling['most'])}{shared}"


def _notes(ramps: Sequence[Row], main: Row) -> str:
    measured = main.measured
    small, following = measured.get("small_stack_found"), measured.get("next")
    more = [
        "Dashed: how many threads the two lowest limits allow, as predicted before the ramp.",
        f"Thin: {len(ramps) - 1} more {'ramp' if len(ramps) == 2 else 'ramps'}." if len(ramps) > 1 else "",
        "Grey: red trials." if any(not row.valid for row in ramps) else "",
        _about_small(small, measured.get("found")),
        _about_next(following) if following is not None and measured.get("stopped_by") == "failure" else "",
    ]
    return " ".join(note for note in more if note)


def _about_small(small: object, found: object) -> str:
    """Say how far threads with small stacks came; the second ramp is ended a little further than the first."""
    if not isinstance(small, int) or not isinstance(found, int):
        return ""
    return f"With small stacks: {'more than ' if small > MOVED * found else ''}{units.count(small)}."


def _about_next(following: dict[str, Any]) -> str:
    most = following.get("most")
    at = f" at {units.count(most)}" if isinstance(most, int) else ""
    return f"Once that is raised, {words.plain(str(following.get('name')), 40)} binds next{at}."
