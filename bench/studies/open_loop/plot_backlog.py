"""Plot of open loops: requests that are due and not yet sent, over time, a line a rate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.core import units
from bench.core.rows import Row
from bench.present import labels, page, words
from bench.present.labels import Label
from bench.studies.open_loop import findings
from bench.studies.open_loop.findings import rate
from bench.studies.open_loop.plot_offered import LEFT, LOST, MOST_PANELS, left_out, panels
from bench.studies.open_loop.read import Curve, Point, backlog, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NOTHING_S = 0.1
"""The axis of a backlog holds the arrivals of so many seconds or more: what chance does must look like nothing."""


def draw(rows: Sequence[Row], footer: str) -> "Figure | None":
    """Draw how many requests were due and not yet sent, over time, a line a rate; None where nobody counted."""
    found = [curve for curve in curves(rows) if any(_lines(point) for point in curve.points)]
    if not found:
        return None
    shown = found[:MOST_PANELS]
    telling = next((n for n, curve in enumerate(found) if curve.lowest_lost), 0)
    title = findings.of_backlog(found[telling])
    if len(found) > 1:
        title = f"{findings.names(found)[telling]}: {title[0].lower()}{title[1:]}"
    notes = [
        "Open loop: a request is due whatever became of those before; it waits while every user waits for a response.",
        "One round of each rate.",
        left_out(found),
    ]
    sheet = page.sheet(title, " ".join(filter(None, notes)), footer)
    labels.share_width(sheet, len(shown), left=LEFT, between=LEFT - 0.25)
    for curve, name, axes in zip(shown, findings.names(found), panels(sheet, len(shown)), strict=False):
        panel(curve, axes)
        axes.set_title(words.plain(name, 38 if len(shown) > 1 else 80), pad=10)
    return sheet


def panel(curve: Curve, axes: "Axes") -> None:
    """Draw a line a rate: those that were kept in grey, with one name for them all; the others named one by one."""
    ends: list[Label] = []
    steady: list[tuple[Point, float, int]] = []
    most = 1
    for point in curve.points:
        for at_s, waiting in _lines(point)[:1]:
            lost = point.kept is False
            axes.plot(
                at_s,
                waiting,
                color=LOST if lost else page.GREY,
                linewidth=2.4 if lost else 1.6,
                linestyle="-" if point.valid else (0, (1, 1.5)),
                zorder=3 if lost else 2,
            )
            most = max(most, *waiting)
            if lost:
                ends.append(Label(at_s[-1], waiting[-1], _named(point), LOST))
            else:
                steady.append((point, at_s[-1], waiting[-1]))
    if steady:
        low, high = steady[0][0], steady[-1][0]
        name = _named(high) if low is high else f"{rate(low.rate_per_s)} to {_named(high)}"
        ends.append(Label(max(end for _, end, _ in steady), max(n for _, _, n in steady), name, page.GREY))
    axes.set_xlim(0, None)
    axes.set_ylim(0, 1.08 * max(most, _NOTHING_S * max(point.rate_per_s for point in curve.points if point.shown)))
    axes.yaxis.set_major_formatter(lambda n, _: units.number_tick(n))
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel("time since the window began (s)")
    axes.set_ylabel("requests that are due and not yet sent")
    labels.end_labels(axes, ends)


def _lines(point: Point) -> list[tuple[list[float], list[int]]]:
    """Return the backlog over time (s) of each round that counted it; those that lost the rate first."""
    rows = sorted(point.shown, key=lambda row: row.measured.get("kept") is not False)
    lines = [backlog(row) for row in rows]
    return [([ns / 1e9 for ns in at_ns], waiting) for at_ns, waiting in lines if len(at_ns) == len(waiting) > 1]


def _named(point: Point) -> str:
    red = "" if point.valid else " (red)"
    return f"{rate(point.rate_per_s)}/s{red}"
