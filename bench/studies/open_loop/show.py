"""The section of open loops: the result of each offered rate, with corrected and uncorrected times side by side."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from inflight.bench.core import units
from inflight.bench.core.figures import P99_SAMPLES, Spread
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.open_loop.read import KINDS, SAMPLES, Curve, Point, Quantile, curves, names

MOST_PLACES = 3
"""Maximum number of places named in a title; the tables have all of them."""
MOST_REASONS = 6
"""Maximum number of rates with a reason below a table."""
_SHOWN: tuple[Quantile, ...] = ("p50", "p99")
_SLOWER = {"p50": "half of the requests", "p99": "1 request in 100"}
_SERVER = "server core"
_HEADS = (
    "offered",
    "completed/s",
    *(f"{kind} {quantile}" for kind in KINDS for quantile in _SHOWN),
    "waiting at the end",
    "client core",
    _SERVER,
    "kept",
)


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return one section with a table for each place; none without open loops."""
    found = curves(rows)
    tables = [_table(curve, name) for curve, name in zip(found, names(found), strict=True)]
    return [Section(title(found), tuple(tables))] if found else []


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one JSON object for each rate of each place; see ``summary.summary_json``."""
    return [_figures(point, curve) for curve in curves(rows) for point in curve.points]


def title(found: Sequence[Curve]) -> str:
    """Return the highest rate that each place kept, with its corrected and uncorrected time."""
    told = [_kept(curve, name) for curve, name in zip(found, names(found), strict=True)]
    more = f". {len(told) - MOST_PLACES} more places" if len(told) > MOST_PLACES else ""
    return f"Highest rate kept: {'. '.join(told[:MOST_PLACES])}{more}"


def rate(per_s: float) -> str:
    """Write an offered rate with all its digits: ``2,000/s``."""
    return f"{units.number_tick(per_s)}/s"


def _kept(curve: Curve, name: str) -> str:
    point = curve.highest_kept
    if point is None:
        return f"none with {name}"
    times = [
        f"; {_SLOWER[quantile]} took more than {words.duration(corrected)} after it was due, "
        f"{words.duration(uncorrected)} after it was sent"
        for quantile in reversed(_SHOWN)
        if (corrected := point.time("corrected", quantile)) and (uncorrected := point.time("uncorrected", quantile))
    ]
    return f"{rate(point.rate_per_s)} with {name}{''.join(times[:1])}"


def _table(curve: Curve, name: str) -> Table:
    heads, lines = _HEADS, [_line(point) for point in curve.points]
    at = heads.index(_SERVER)
    if all(line[at] == "-" for line in lines):  # a target does not report its CPU time
        heads, lines = (*heads[:at], *heads[at + 1 :]), [(*line[:at], *line[at + 1 :]) for line in lines]
    about = f"Open loop: {name}, at most {curve.place.users} in flight, requests/s"
    return Table(about, heads, tuple(lines), tuple(_notes(curve.points)))


def _line(point: Point) -> tuple[str, ...]:
    completed = point.of(attrgetter("measured.completed_per_s"))
    return (
        rate(point.rate_per_s) + ("" if point.valid or not point.shown else " ✗"),
        point.rows[-1].status if completed is None else units.number(completed.median, words.digits(completed)),
        *(words.duration(point.time(kind, quantile)) for kind in KINDS for quantile in _SHOWN),
        "-" if point.waiting is None else units.count(round(point.waiting.median)),
        *(words.percent(point.of(attrgetter(f"measured.{side}_cpu_share"))) for side in ("client", "server")),
        {True: "yes", False: "no", None: "-"}[point.kept],
    )


def _notes(points: Sequence[Point]) -> Iterator[str]:
    lost = [f"{rate(point.rate_per_s)}: {point.why}." for point in points if point.lost]
    yield from lost[:MOST_REASONS]
    if len(lost) > MOST_REASONS:
        yield f"{len(lost) - MOST_REASONS} more rates were not kept."
    failed = [f"{rate(p.rate_per_s)}: {units.count(p.failed)} requests failed." for p in points if p.failed]
    yield from failed[:MOST_REASONS]
    yield "Corrected: from when a request was due. Uncorrected: from when it was sent, without that wait."
    yield "Waiting at the end: due, but not yet sent when the time was over; some of them were sent afterwards."
    rounds = max(len(point.shown) for point in points)
    yield f"Medians over {rounds} rounds; kept: in all of them." if rounds > 1 else "One round: the spread is unknown."
    if any(point.shown and point.time("corrected", "p99") is None for point in points):
        yield f"-: unknown; a p99 needs {units.count(P99_SAMPLES)} samples in a round."
    if any(point.shown and not point.valid for point in points):
        yield "✗: failed a check, so no finding rests on it."


def _figures(point: Point, curve: Curve) -> dict[str, Any]:
    place = curve.place
    names = ("offered_per_s", "completed_per_s", "client_cpu_share", "server_cpu_share")
    return {
        "latency": place.latency,
        "target": place.target,
        "users": place.users,
        "rate_per_s": point.rate_per_s,
        "valid": point.valid,
        "rounds": len(point.shown),
        **{name: _told(point.of(attrgetter(f"measured.{name}"))) for name in names},
        **{kind: {f"{name}_ns": _told(point.time(kind, name)) for name in SAMPLES} for kind in KINDS},
        "waiting": _told(point.waiting),
        "failed": point.failed,
        "kept": point.kept,
        "why": point.why,
    }


def _told(found: Spread | None) -> dict[str, Any] | None:
    return None if found is None else found.told()
