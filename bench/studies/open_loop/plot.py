"""The plots of open loops: the time of a request over the offered rate, and the backlog over time."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from inflight.bench.core import units
from inflight.bench.core.figures import P99_SAMPLES, Spread
from inflight.bench.present import labels, marks, name_looks, page, scales, words
from inflight.bench.present.labels import Label
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.open_loop.read import Curve, Kind, Point, Quantile, curves, names
from inflight.bench.studies.open_loop.show import rate, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 2
"""Maximum number of places side by side; the tables have all of them."""
LOST = name_looks.COLOURS[1]
_LOOKS: dict[tuple[Kind, Quantile], Look] = {
    ("corrected", "p50"): Look(1, "o", "-"),
    ("corrected", "p99"): Look(1, "s", "-"),
    ("uncorrected", "p50"): Look(0, "o", (0, (5, 2))),
    ("uncorrected", "p99"): Look(0, "s", (0, (5, 2))),
}
_ROOM = 1.35
"""Factor by which the axes exceed the outermost rates and times, or more for a wide range."""
_LEFT = 1.45
"""Inches to the left of the axes: room for seven digits."""
_NOTHING_S = 0.1
"""Minimum height of the backlog's axis, as the time for so many arrivals: random fluctuation must look small."""


def plots(rows: Sequence[Row], _looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the times and the backlog; None without such data."""
    found = curves(rows)
    timed = [curve for curve in found if _times(curve)]
    yield "offered", _sheet(timed, title, _notes(timed), footer, _draw_times)
    counted = [curve for curve in found if any(map(_backlog, curve.points))]
    notes = (
        "Open loop: requests are due at a constant rate. A request waits as long as all users of the client wait for a "
        "response. One round of each rate."
    )
    yield "backlog", _sheet(counted, _backlog_title, notes, footer, _draw_backlog)


def _sheet(
    found: Sequence[Curve],
    finding: Callable[[Sequence[Curve]], str],
    notes: str,
    footer: str,
    draw: Callable[[Curve, "Axes"], None],
) -> "Figure | None":
    """Return a page with a panel for each of the first places; None without any."""
    if not found:
        return None
    shown, more = found[:MOST_PANELS], len(found) - MOST_PANELS
    notes += f" {more} more in the tables only." if more > 0 else ""
    sheet = page.sheet(finding(found), notes, footer)
    labels.share_width(sheet, len(shown), left=_LEFT, between=_LEFT - 0.25)
    for curve, name, axes in zip(shown, names(found), sheet.subplots(1, len(shown), squeeze=False)[0], strict=False):
        draw(curve, axes)
        axes.set_title(words.plain(name, 38 if len(shown) > 1 else 80), pad=10)
    return sheet


# Times over rates


def _draw_times(curve: Curve, axes: "Axes") -> None:
    """Draw the quantiles of one place over the rates, with their range over the rounds; invalid trials are grey."""
    ends: list[Label] = []
    for (kind, quantile), look in _LOOKS.items():
        points = [(point, at) for point in curve.points if (at := _time(point, kind, quantile))]
        for point, at in points:
            x, colour = point.rate_per_s, look.colour if point.valid else page.GREY
            axes.plot([x, x], [at.low, at.high], color=colour, linewidth=1.2)
            face = colour if kind == "corrected" else "white"
            marks.dots(axes, [(x, at.median)], look, color=colour, markerfacecolor=face, zorder=5)
        valid = [(point.rate_per_s, at.median) for point, at in points if point.valid]
        width = 2.4 if quantile == "p99" else 1.6
        marks.line(axes, valid, look, width, zorder=4 if kind == "uncorrected" else 3)
        ends += [Label(*end, f"{kind} {quantile}", look.colour) for end in valid[-1:]]
    _scale(curve, axes)
    _mark_latency(curve, axes)
    _mark_lost(curve, axes)
    labels.end_labels(axes, ends)


def _scale(curve: Curve, axes: "Axes") -> None:
    """Make both axes logarithmic, with a tick at each rate if there is room."""
    rates = [point.rate_per_s for point in curve.points if point.shown]
    added = [float(curve.place.mean_latency_ns)] if curve.place.mean_latency_ns else []
    times = [*_times(curve), *added]
    is_wide = axes.get_position().width > 0.4
    scales.log_axis(axes.xaxis, units.number_tick, [min(rates) / _ROOM, max(rates) * _ROOM], most=6 if is_wide else 4)
    if len(rates) <= (8 if is_wide else 4) and all(b / a > 1.4 for a, b in pairwise(rates)):
        scales.set_ticks(axes.xaxis, rates)
    room = max(_ROOM, (max(times) / min(times)) ** 0.08)
    scales.log_axis(axes.yaxis, units.duration_tick, [min(times) / room, max(times) * room], most=7)
    axes.set_xlabel("offered requests/s (log scale)")
    axes.set_ylabel("time of a request (log scale)")


def _mark_latency(curve: Curve, axes: "Axes") -> None:
    """Draw the added latency: no response can be faster."""
    if latency_ns := curve.place.mean_latency_ns:
        axes.axhline(latency_ns, color="black", linestyle=(0, (1, 1.5)), linewidth=1.4, zorder=2)
        axes.annotate(
            "added latency", (0.02, latency_ns), xycoords=("axes fraction", "data"),
            xytext=(0, -4), textcoords="offset points", va="top", size=12,
        )  # fmt: skip


def _mark_lost(curve: Curve, axes: "Axes") -> None:
    """Shade the rates that were not kept, up to the middle between them and those that were."""
    points = [point for point in curve.points if point.shown]
    low, high = axes.get_xlim()
    edges = [low, *(math.sqrt(a.rate_per_s * b.rate_per_s) for a, b in pairwise(points)), high]
    shaded = [span for point, span in zip(points, pairwise(edges), strict=True) if point.lost]
    for begin, end in shaded:
        axes.axvspan(begin, end, color=page.PALE, alpha=0.6, linewidth=0, zorder=0)
    for begin, _ in shaded[:1]:
        is_right = begin > math.sqrt(low * high)
        axes.annotate(
            "cannot keep\nthe rate", (begin, 0.98), xycoords=("data", "axes fraction"),
            xytext=(-7 if is_right else 7, 0), textcoords="offset points", ha="right" if is_right else "left",
            va="top", size=page.TEXT, weight="bold", color=LOST,
        )  # fmt: skip


def _notes(found: Sequence[Curve]) -> str:
    points = [point for curve in found for point in curve.points if point.shown]
    return marks.notes(
        "Solid: corrected times, from when a request was due to its response.",
        "Dashed: uncorrected times, from when it was sent, as a client that waits for responses would report them.",
        "p50: half of the requests take longer; p99: 1 in 100.",
        f"Client: Locust with up to {units.count(max((curve.place.users for curve in found), default=0))} users.",
        any(point.lost for point in points)
        and "Shaded: rates that were not kept. There, the corrected time grows as long as the run lasts.",
        any(point.time("corrected", "p99") is None for point in points)
        and f"A p99 needs {units.count(P99_SAMPLES)} samples.",
        not all(point.valid for point in points)
        and "Grey marks: invalid trials (filled: corrected, hollow: uncorrected).",
    )


def _time(point: Point, kind: Kind, quantile: Quantile) -> Spread | None:
    """Return a time; None if unknown, or if a logarithmic axis cannot show it."""
    found = point.time(kind, quantile)
    return found if found is not None and found.low > 0 else None


def _times(curve: Curve) -> list[float]:
    """Return every time that is drawn."""
    shown = [_time(point, *which) for point in curve.points for which in _LOOKS]
    return [value for at in shown if at is not None for value in (at.low, at.high)]


# Backlog over time


def _backlog_title(found: Sequence[Curve]) -> str:
    """Say how many requests waited at the end, at the lowest rate lost and the highest rate kept."""
    named = list(zip(found, names(found), strict=True))
    curve, name = next((one for one in named if one[0].lowest_lost), named[0])
    told = [
        f"{units.number(point.waiting.median)} at {rate(point.rate_per_s)} offered"
        for point in (curve.lowest_lost, curve.highest_kept)
        if point is not None and point.waiting is not None
    ]
    return f"Requests that still wait at the end, {name}: {words.listed(told) if told else 'no valid trial'}"


def _draw_backlog(curve: Curve, axes: "Axes") -> None:
    """Draw a line for each rate. Rates that were kept are grey and share a name; the others have a name each."""
    ends: list[Label] = []
    steady: list[tuple[Point, float, int]] = []
    most = 1
    for point in curve.points:
        for at_s, waiting in _backlog(point)[:1]:
            axes.plot(
                at_s, waiting, color=LOST if point.lost else page.GREY, linewidth=2.4 if point.lost else 1.6,
                linestyle="-" if point.valid else (0, (1, 1.5)), zorder=3 if point.lost else 2,
            )  # fmt: skip
            most = max(most, *waiting)
            if point.lost:
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
    axes.set_ylabel("requests due and not yet sent")
    labels.end_labels(axes, ends)


def _backlog(point: Point) -> list[tuple[list[float], list[int]]]:
    """Return (seconds, requests waiting) for each round with a backlog; rounds that lost the rate come first."""
    lines = [row.measured.backlog for row in (*point.lost, *point.shown)]
    return [([ns / 1e9 for ns in line.at_ns], line.waiting) for line in lines if line and len(line.at_ns) > 1]


def _named(point: Point) -> str:
    return rate(point.rate_per_s) + ("" if point.valid else " (invalid)")
