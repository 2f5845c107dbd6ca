"""Plot 7, the thread ramp: threads over time until no more could be started, and the lowest limits."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import units
from inflight.bench.present import labels, marks, page, words
from inflight.bench.rows.bare import Ceiling, LimitFound, LimitMeasured
from inflight.bench.rows.files import Row
from inflight.bench.studies.limits import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CEILINGS = 2
FAR = 2.2
"""A limit more than this factor above the number found is named, but not drawn to scale."""
MOVED = 1.05
"""Factor from which the second ramp, with small stacks, counts as longer. It is stopped at 1.1 times the first one
(``inflight.bench.measure.limits.threads``)."""
LABEL_PITCH = 0.125
"""Height of a label's two lines, as a share of the axes' height."""
LINE, FAILURE, STOP = "#0072B2", "#D55E00", "#009E73"
_ENDS = {"failure": "{}: can't start new thread\n{}", "shared limit": "{}: stopped at 90 % of what is left of\n{}"}


def plots(rows: Sequence[Row], _looks: object, footer: str) -> "Iterator[tuple[str, Figure | None]]":
    """Yield the ramp of threads."""
    yield "ramp", draw(rows, footer)


def draw(rows: Sequence[Row], footer: str) -> "Figure | None":
    """Draw the ramps of threads; None when there is none."""
    ramps = [row for row in show.limits(rows) if row.strategy == "threads" and row.measured.timeline]
    main = show.ramp(ramps)
    if main is None:
        return None
    title = show.title(main) if main.valid else "No valid ramp of threads: nothing to conclude"
    sheet = page.sheet(title, _notes(ramps, main), footer)
    marks.margins(sheet, 1.2, 2.6)
    _panel(ramps, main, sheet.subplots())
    return sheet


def _panel(ramps: Sequence[LimitFound], main: LimitFound, axes: "Axes") -> None:
    """Draw the ramps and the lowest ceilings."""
    for row in ramps:
        width, above = (2.4, 3) if row is main else (1, 2)
        axes.plot(*_points(row), color=LINE if row.valid else page.GREY, linewidth=width, zorder=above)
    found = main.measured.found or 0
    top = max(1, found, *(n for row in ramps for n in _points(row)[1]))
    lowest = sorted(main.measured.ceilings or (), key=lambda ceiling: ceiling.most)[:MOST_CEILINGS]
    near = [ceiling.most for ceiling in lowest if ceiling.most <= FAR * top]
    axes.set_ylim(0, 1.16 * max([top, *near]))
    axes.set_xlim(0, 1.06 * max(1e-3, *(seconds for row in ramps for seconds in _points(row)[0])))
    _draw_ceilings(lowest, axes)
    seconds, numbers = _points(main)
    _mark_end(main.measured, (seconds[-1], max(numbers[-1], found)), axes)
    axes.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.set_xlabel("time since the first thread (s)")
    axes.set_ylabel("living threads")


def _draw_ceilings(lowest: Sequence[Ceiling], axes: "Axes") -> None:
    """Draw the limits as lines, named to the right. A limit far above the axes is only named, with an arrow."""
    top = axes.get_ylim()[1]
    wanted = [min(1.0, ceiling.most / top) for ceiling in lowest]
    for ceiling, height in zip(lowest, labels.spaced(wanted, LABEL_PITCH), strict=True):
        most, is_far = ceiling.most, ceiling.most > top
        colour = page.GREY if is_far else STOP if ceiling.shared else "black"
        shared = ", shared" if ceiling.shared else ""
        arrow = "\N{UPWARDS ARROW} " if is_far else ""
        text = f"{arrow}{words.plain(ceiling.name, 22)}\n{units.count(most)}{shared}"
        axes.text(1.015, height, text, transform=axes.transAxes, size=12, va="center", color=colour)
        if not is_far:
            axes.axhline(most, color=colour, linestyle=(0, (6, 3)), linewidth=1.4, zorder=1)
            ends = [1, 1.012], [most / top, height]
            axes.plot(*ends, color=colour, linewidth=0.8, transform=axes.transAxes, clip_on=False)


def _mark_end(measured: LimitMeasured, end: tuple[float, float], axes: "Axes") -> None:
    """Mark the end of the ramp: a cross for a failure, a square where the ramp stopped before a limit."""
    marker, colour = ("X", FAILURE) if measured.stopped_by == "failure" else ("s", STOP)
    axes.plot(*end, marker=marker, color=colour, markersize=15, markeredgecolor="white", zorder=5)
    is_right = end[0] > 0.5 * axes.get_xlim()[1]
    axes.annotate(  # below the end, as a rising ramp leaves room there
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


def _end_text(measured: LimitMeasured) -> str:
    found, stopped_by = measured.found, str(measured.stopped_by)
    name = "\n".join(textwrap.wrap(show.limit_of(measured), 36, max_lines=3))
    text = _ENDS.get(stopped_by, "{}: stopped by the\n" + words.plain(stopped_by, 34))
    return text.format("?" if found is None else units.count(found), name)


def _stack(size_bytes: int | None) -> str:
    return "small stacks" if size_bytes is None else f"stacks of {size_bytes // 1024} KiB"


def _points(row: LimitFound) -> tuple[list[float], list[int]]:
    timeline = row.measured.timeline or []
    return [ns / 1e9 for ns, _ in timeline], [n for _, n in timeline]


def _notes(ramps: Sequence[LimitFound], main: LimitFound) -> str:
    found, small, following = main.measured.found, main.measured.small_stack_found, main.measured.next
    return marks.notes(
        "Dashed: the two lowest limits, each at the number of threads at which it was expected to be reached.",
        any(ceiling.shared for ceiling in main.measured.ceilings or ()) and "Shared: with other processes.",
        len(ramps) > 1 and f"Thin: {words.counted(len(ramps) - 1, 'more attempt')}.",
        not all(row.valid for row in ramps) and "Grey: failed a check.",
        small is not None
        and found is not None
        and f"A second attempt, with {_stack(main.measured.small_stack_bytes)}, "
        f"{'started more than' if small > MOVED * found else 'ended at'} {units.count(small)} threads.",
        following
        and main.measured.stopped_by == "failure"
        and f"With {words.plain(show.limit_of(main.measured), 40)} raised, "
        f"{words.plain(following.name, 40)} binds next, at {units.count(following.most)}.",
    )
