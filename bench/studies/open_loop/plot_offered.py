"""Plot of open loops: how long a request takes over the offered rate, corrected and uncorrected."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from bench.core import units
from bench.core.figures import P99_SAMPLES
from bench.core.rows import Row
from bench.present import labels, name_looks, page, scales, words
from bench.present.labels import Label
from bench.studies.open_loop import findings
from bench.studies.open_loop.read import KINDS, Curve, Kind, Quantile, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 2
"""So many places side by side; the table has them all."""
COLOURS: dict[Kind, str] = {"corrected": name_looks.COLOURS[1], "uncorrected": name_looks.COLOURS[0]}
LOST = name_looks.COLOURS[1]
_DASHES = {"corrected": "-", "uncorrected": (0, (5, 2))}
_QUANTILES: tuple[tuple[Quantile, str], ...] = (("p50", "o"), ("p99", "s"))
_ROOM = 1.35
"""The axes reach this many times beyond the outermost rates and times, or more where they span much."""
LEFT = 1.45
"""Inches to the left of axes: for seven digits."""


def draw(rows: Sequence[Row], footer: str) -> "Figure | None":
    """Draw response time over offered rate, a panel a place; None where nothing was timed."""
    found = [curve for curve in curves(rows) if _times(curve)]
    if not found:
        return None
    shown = found[:MOST_PANELS]
    sheet = page.sheet(findings.of_curves(found), _notes(found), footer)
    labels.share_width(sheet, len(shown), left=LEFT, between=LEFT - 0.25)
    for curve, name, axes in zip(shown, findings.names(found), panels(sheet, len(shown)), strict=False):
        panel(curve, axes)
        axes.set_title(words.plain(name, 38 if len(shown) > 1 else 80), pad=10)
    return sheet


def panel(curve: Curve, axes: "Axes") -> None:
    """Draw the quantiles of one place over the rates, with their range over the rounds; red trials grey."""
    ends: list[Label] = []
    for kind in KINDS:
        for quantile, marker in _QUANTILES:
            points = [(p.rate_per_s, at, p.valid) for p in curve.points if (at := p.time(kind, quantile))]
            points = [point for point in points if point[1].low > 0]
            valid = [(x, at) for x, at, is_valid in points if is_valid]
            for x, at, is_valid in points:
                axes.plot([x, x], [at.low, at.high], color=COLOURS[kind] if is_valid else page.GREY, linewidth=1.2)
                if not is_valid:
                    face = page.GREY if kind == "corrected" else "white"
                    axes.plot(x, at.median, marker=marker, markerfacecolor=face, color=page.GREY, markersize=8)
            axes.plot(
                [x for x, _ in valid],
                [at.median for _, at in valid],
                color=COLOURS[kind],
                linestyle=_DASHES[kind],
                linewidth=2.4 if quantile == "p99" else 1.6,
                marker=marker,
                markersize=8,
                markerfacecolor=COLOURS[kind] if kind == "corrected" else "white",
                zorder=4 if kind == "uncorrected" else 3,
            )
            if valid:
                ends.append(Label(valid[-1][0], valid[-1][1].median, f"{kind} {quantile}", COLOURS[kind]))
    _scale(curve, axes)
    _mark_latency(curve, axes)
    _mark_lost(curve, axes)
    labels.end_labels(axes, ends)


def panels(sheet: "Figure", number: int) -> list["Axes"]:
    """Return axes side by side."""
    return list(sheet.subplots(1, number, squeeze=False)[0])


def left_out(found: Sequence[Curve]) -> str:
    """Say how many places have no panel; nothing where all have."""
    rest = len(found) - MOST_PANELS
    return f"{rest} more {'place is' if rest == 1 else 'places are'} in the table only." if rest > 0 else ""


def _scale(curve: Curve, axes: "Axes") -> None:
    """Make both axes logarithmic, with a tick at each rate where there is room."""
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
    if curve.place.mean_latency_ns:
        axes.axhline(curve.place.mean_latency_ns, color="black", linestyle=(0, (1, 1.5)), linewidth=1.4, zorder=2)
        axes.annotate(
            "added latency",
            (0.02, curve.place.mean_latency_ns),
            xycoords=("axes fraction", "data"),
            xytext=(0, -4),
            textcoords="offset points",
            va="top",
            size=12,
        )


def _mark_lost(curve: Curve, axes: "Axes") -> None:
    """Shade the rates that were not kept, up to half-way to those that were."""
    points = [point for point in curve.points if point.shown]
    low, high = axes.get_xlim()
    edges = [low, *(math.sqrt(a.rate_per_s * b.rate_per_s) for a, b in pairwise(points)), high]
    named = False
    for point, begin, end in zip(points, edges, edges[1:], strict=False):
        if point.kept is not False:
            continue
        axes.axvspan(begin, end, color=page.PALE, alpha=0.6, linewidth=0, zorder=0)
        if not named:
            named = True
            is_right = begin > math.sqrt(low * high)
            axes.annotate(
                "cannot keep\nthe rate",
                (begin, 0.98),
                xycoords=("data", "axes fraction"),
                xytext=(-7 if is_right else 7, 0),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="top",
                size=page.TEXT,
                weight="bold",
                color=LOST,
            )


def _notes(found: Sequence[Curve]) -> str:
    points = [point for curve in found for point in curve.points]
    more = [
        "Solid: corrected, from when a request was due.",
        "Dashed: uncorrected, from when it was sent, as a client that waits for responses would report it.",
        "Shaded: rates that were not kept; there the corrected time grows for as long as the run lasts."
        if any(point.kept is False for point in points)
        else "",
        f"No p99 below {units.count(P99_SAMPLES)} samples."
        if any(point.shown and point.time("corrected", "p99") is None for point in points)
        else "",
        "Grey marks: red trials (filled: corrected, hollow: uncorrected)."
        if any(point.shown and not point.valid for point in points)
        else "",
        left_out(found),
    ]
    return " ".join(filter(None, more))


def _times(curve: Curve) -> list[float]:
    """Return every time that is drawn."""
    shown = (point.time(kind, name) for point in curve.points for kind in KINDS for name, _ in _QUANTILES)
    return [value for at in shown if at is not None and at.low > 0 for value in (at.low, at.high)]
