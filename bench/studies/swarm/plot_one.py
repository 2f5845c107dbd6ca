"""A single swarm over its whole life: fetches in flight and memory, from the order to go until the last has ended."""

from itertools import pairwise
from operator import sub
from typing import TYPE_CHECKING

from bench.core import units
from bench.core.rows import Row
from bench.present import page
from bench.present.name_looks import Look
from bench.studies.swarm import findings
from bench.studies.swarm.read import Swarm, cost
from bench.studies.swarm.read_row import held, reach_ns, released_ns, timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = page.HEIGHT + 0.6
MARK_PITCH = 17
"""Points between the lines of text above the axes, one line a mark."""
GIGA = 1e9
UNSEEN_S = 5.0
"""Between two looks so far apart, nobody knows."""


def draw(swarm: Swarm, looks: dict[str, Look], notes: str, footer: str) -> "Figure | None":
    """Draw what was in flight, and what memory the system used more, with the marks of the swarm's life."""
    row = swarm.middle
    if row is None:
        return None
    about = "Memory: what the whole system used more than before the order, both ends and the kernel included."
    times = [at for at, _ in lines_of(row)[0]]
    if any(gap > UNSEEN_S for gap in map(sub, times[1:], times)):
        about += " Dotted: not looked at, the servers were busy."
    sheet = page.sheet(findings.of_one(swarm, cost([swarm])), f"{notes} {about}", footer, HEIGHT)
    marks = marks_of(row)
    top = sheet.subplotpars.top - (MARK_PITCH * len(marks) - 24) / 72 / HEIGHT
    sheet.subplots_adjust(left=1.5 / page.WIDTH, right=1 - 0.5 / page.WIDTH, top=top, hspace=0.12)
    upper, lower = sheet.subplots(2, 1, sharex=True)
    look = looks.get(swarm.strategy)
    panels(row, look.colour if look else page.GREY, upper, lower)
    _mark(marks, upper, lower)
    sheet.align_ylabels([upper, lower])
    return sheet


def marks_of(row: Row) -> list[tuple[float, str]]:
    """Return (seconds since the order, what happened then), in order."""
    makespan: int | None = row.measured.get("makespan_ns")
    found = (
        (reach_ns(row), "all in flight"),
        (released_ns(row), "the gates opened"),
        (makespan, "the last had finished"),
    )
    return [(at / 1e9, f"{what}: {units.duration(at, 3)}") for at, what in found if at is not None]


def lines_of(row: Row) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return (seconds, fetches in flight) and (seconds, GB in use), with what is known besides of order and release.

    A time line may have nothing between the moment when all were held and their release: neither moved meanwhile. Once
    the gates are open, their servers may be too busy to be asked: what was known before is no news then, and left out.
    """
    reached, released = reach_ns(row), released_ns(row)
    line = [seen for seen in timeline(row) if released is None or seen[0] <= released or seen[1] != held(row)]
    known = [(0, 0), *((at, held(row)) for at in (reached, released) if at is not None)]
    counts = sorted([*((at, number) for at, number, _ in line if at not in dict(known)), *known])
    sizes = [(at, used) for at, _, used in timeline(row) if used is not None]
    if released is not None and (before := [used for at, used in sizes if at <= released]):
        sizes = sorted([*sizes, (released, before[-1])])
    return [(at / 1e9, float(number)) for at, number in counts], [(at / 1e9, used / GIGA) for at, used in sizes]


def panels(row: Row, colour: str, upper: "Axes", lower: "Axes") -> None:
    """Draw the two time lines of a trial, above each other."""
    counts, sizes = lines_of(row)
    for axes, points in ((upper, counts), (lower, sizes)):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        unseen = [place for place, gap in enumerate(map(sub, xs[1:], xs), start=1) if gap > UNSEEN_S]
        for first, behind in pairwise([0, *unseen, len(xs)]):
            axes.plot(xs[first:behind], ys[first:behind], color=colour, linewidth=2.4)
            axes.fill_between(xs[first:behind], ys[first:behind], color=colour, alpha=0.15, linewidth=0)
        for place in unseen:
            axes.plot(xs[place - 1 : place + 1], ys[place - 1 : place + 1], color=colour, linewidth=1.4, linestyle=":")
    end = max([*(at for at, _ in counts), *(at for at, _ in marks_of(row))], default=1.0)
    upper.set_xlim(0, 1.02 * max(end, 1e-3))
    upper.set_ylim(0, None)
    lower.set_ylim(min([0.0, *(size for _, size in sizes)]), None)
    upper.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    upper.set_ylabel("fetches in flight")
    lower.set_ylabel("memory in use (GB)")
    lower.set_xlabel("since the order to go (s)")


def _mark(marks: list[tuple[float, str]], upper: "Axes", lower: "Axes") -> None:
    """Draw a line for each mark through both panels, and write what it is above them, each on a line of its own."""
    middle = upper.get_xlim()[1] / 2
    late = [mark for mark in marks if mark[0] >= middle]
    early = [mark for mark in marks if mark[0] < middle]
    for row, (at, text) in enumerate([*late, *reversed(early)]):  # from below: no text is crossed by another's line
        height = 5 + MARK_PITCH * row
        for axes in (upper, lower):
            axes.axvline(at, color=page.GREY, linestyle=(0, (4, 2)), linewidth=1.3, zorder=1)
        upper.annotate(
            "",
            (at, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, height + 12),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": page.GREY, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0},
        )
        upper.annotate(
            text,
            (at, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if at >= middle else 4, height),
            textcoords="offset points",
            ha="right" if at >= middle else "left",
            va="bottom",
            size=12,
        )
