"""Plot 12: swarms on their way: fetches in flight over time, in all strategy processes of a strategy together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.core import units
from bench.core.rows import Row
from bench.present import labels, page, words
from bench.present.labels import Label
from bench.present.name_looks import Look
from bench.studies.swarm import findings
from bench.studies.swarm import plot_one as plot_swarm_one
from bench.studies.swarm.read import Swarm
from bench.studies.swarm.read_row import bound_by, held, reach_ns, released_ns, timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY_ROOM = 2.9
"""Inches to the right of the axes, for names, times and limits."""
MOST_TOLD = 3


def draw(some: Sequence[Swarm], looks: dict[str, Look], subtitle: str, footer: str) -> "Figure | None":
    """Draw the swarms of one size, or one alone with its memory; None when no trial tells when it held how many.

    ``looks`` has the strategies that get a colour; the others are grey.
    """
    drawn = [swarm for swarm in some if swarm.middle is not None and timeline(swarm.middle)]
    if not drawn:
        return None
    notes = _notes(some, drawn, looks, subtitle)
    if len(drawn) == 1:
        return plot_swarm_one.draw(drawn[0], looks, notes, footer)
    sheet = page.sheet(findings.of_reach(some), notes, footer)
    sheet.subplots_adjust(left=1.3 / page.WIDTH, right=1 - KEY_ROOM / page.WIDTH)
    panel(drawn, looks, sheet.subplots())
    return sheet


def panel(drawn: Sequence[Swarm], looks: dict[str, Look], axes: "Axes") -> None:
    """Draw the trial with the median time to reach of each swarm; what it held stands at the end of its line."""
    rows = [swarm.middle for swarm in drawn if swarm.middle is not None]
    asked = drawn[0].asked
    axes.set_xlim(0, 1.04 * max(1e-3, *(way_up(row)[-1][0] for row in rows)))
    axes.set_ylim(0, 1.06 * asked)
    axes.axhline(asked, color=page.GREY, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
    names: list[Label] = []
    for row in sorted(rows, key=lambda row: -way_up(row)[-1][0]):  # the fastest stands on top
        look, points = looks.get(row.strategy), way_up(row)
        colour = look.colour if look else page.PALE
        axes.plot(
            [at for at, _ in points],
            [number for _, number in points],
            color=colour,
            linestyle=look.dashes if look else "-",
            linewidth=2.4,
            zorder=3 if look else 1,
        )
        end_s, number = points[-1]
        axes.plot(
            end_s,
            number,
            marker=look.marker if look else "o",
            markersize=11,
            color=colour,
            markerfacecolor=colour if row.valid else "white",
            linestyle="none",
            zorder=5,
            clip_on=False,
        )
        if look:
            names += [Label(end_s, number, text, colour) for text in reversed(told(row))]
    axes.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.set_xlabel("since the order to go (s)")
    axes.set_ylabel("fetches in flight, confirmed by the servers")
    labels.end_labels(axes, names)


def told(row: Row) -> list[str]:
    """Return what stands at the end of a line: who, how soon; and below it, what stopped it short of what was asked."""
    took, bound = reach_ns(row), bound_by(row)
    name = words.plain(row.strategy, 15)
    first = f"{name}: {units.duration(took, 2)}" if took is not None and row.valid else f"{name} (red)"
    return [first, *([] if bound is None else [f"{units.count(held(row))}: {words.plain(bound.name, 18)}"])]


def way_up(row: Row) -> list[tuple[float, int]]:
    """Return (seconds, fetches held) from the order until all were held; to the release where they never were."""
    took, released = reach_ns(row), released_ns(row)
    end = released if took is None else took
    points = [(at / 1e9, number) for at, number, _ in timeline(row) if end is None or at < end]
    return [(0.0, 0), *points, *([] if took is None else [(took / 1e9, held(row))])]


def _notes(some: Sequence[Swarm], drawn: Sequence[Swarm], looks: dict[str, Look], subtitle: str) -> str:
    missing = [swarm for swarm in some if swarm not in drawn]
    grey = [swarm for swarm in drawn if swarm.strategy not in looks]
    gone = findings.losses(some)
    is_red = any(not swarm.valid for swarm in drawn)
    reasons = [f"{findings.name(swarm.strategy)}: {_why(swarm.rows[0])}." for swarm in missing[:MOST_TOLD]]
    return " ".join(
        note
        for note in (
            subtitle,
            "All strategy processes of one strategy together, each with a server process of its own.",
            "Dashed: what was asked for." if len(drawn) > 1 else "",
            "The round with the median time is drawn." if any(len(swarm.shown) > 1 for swarm in drawn) else "",
            "Hollow: red, part of no conclusion." if is_red and len(drawn) > 1 else "",
            *(f"{sentence}." for sentence in gone[:MOST_TOLD]),
            f"{units.count(len(gone) - MOST_TOLD)} more were lost or late." if len(gone) > MOST_TOLD else "",
            *reasons,
            f"{len(missing) - MOST_TOLD} more are not shown." if len(missing) > MOST_TOLD else "",
            f"{len(grey)} more strategies are grey, without a name." if grey else "",
        )
        if note
    )


def _why(row: Row) -> str:
    return words.plain(f"{row.status}: {row.reason}" if row.reason else row.status, 90).rstrip(".")
