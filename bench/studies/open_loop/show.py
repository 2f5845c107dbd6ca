"""The tables of open loops: what each offered rate led to, corrected and uncorrected times side by side."""

from collections.abc import Sequence
from typing import Any, TextIO

from bench.core import units
from bench.core.figures import P99_SAMPLES, Spread
from bench.core.rows import Row
from bench.present import notes, words
from bench.present.table import Table
from bench.present.text_grid import styled, wrapped
from bench.studies.open_loop import findings
from bench.studies.open_loop.findings import rate, time
from bench.studies.open_loop.read import KINDS, SAMPLES, Curve, Point, Quantile, curves

WIDTH = 100
MOST_REASONS = 6
"""So many rates have their reason told below a table; the rows have the rest."""
_SHOWN: tuple[Quantile, ...] = ("p50", "p99")
_SERVER = "server core"
_HEADS = (
    "offered",
    "completed /s",
    "corrected p50",
    "corrected p99",
    "uncorrected p50",
    "uncorrected p99",
    "left waiting",
    "client core",
    _SERVER,
    "kept",
)


def print_offered(rows: Sequence[Row], file: TextIO) -> None:
    """Print the tables of open loops, and which trials are red; colour on a terminal only, never with NO_COLOR."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    own = [row for row in rows if row.kind == "open"]
    text = styled(grids(own), width)
    if not any(row.valid for row in own):
        text.append("".join(f"\n{wrapped(sentence, width)}" for sentence in notes.about_rows(own)))
    text.append("".join(f"\n{wrapped(sentence, width)}" for sentence in notes.about_red(own)), "red")
    console.print(text)


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each place that was asked: the synthetic site at a latency, or a target."""
    found = curves(rows)
    return [_grid(curve, name) for curve, name in zip(found, findings.names(found), strict=True)]


def offered_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one JSON object for each rate of each place; see ``summary.summary_json``."""
    return [_point(point, curve) for curve in curves(rows) for point in curve.points]


def _grid(curve: Curve, name: str) -> Table:
    points = curve.points
    heads: tuple[str, ...] = _HEADS
    lines = [_line(point) for point in points]
    at = heads.index(_SERVER)
    if all(line[at] == "-" for line in lines):  # of a target that is not ours nothing is known
        heads, lines = (*heads[:at], *heads[at + 1 :]), [(*line[:at], *line[at + 1 :]) for line in lines]
    title = f"Open loop: {name}, at most {curve.place.users} in flight, requests/s"
    return Table(title, heads, tuple(lines), tuple(_notes(points)))


def _line(point: Point) -> tuple[str, ...]:
    mark = "" if point.valid or not point.shown else " ✗"
    cells = [_number(point.figure("completed_per_s")) if point.shown else point.rows[-1].status]
    for kind in KINDS:
        cells += [_time(point.time(kind, quantile)) for quantile in _SHOWN]
    waiting = point.waiting
    cells += ["-" if waiting is None else units.count(round(waiting.median))]
    cells += [_share(point.figure(f"{side}_cpu_share")) for side in ("client", "server")]
    kept = {True: "yes", False: "no", None: "-"}[point.kept]
    return (f"{rate(point.rate_per_s)}/s{mark}", *cells, kept)


def _notes(points: Sequence[Point]) -> list[str]:
    lost = [point for point in points if point.kept is False]
    told = [f"{rate(point.rate_per_s)}/s: {findings.not_kept(point)}." for point in lost[:MOST_REASONS]]
    more = [f"{len(lost) - MOST_REASONS} more rates were not kept."] if len(lost) > MOST_REASONS else []
    failed = [f"{rate(p.rate_per_s)}/s: {units.count(p.failed)} requests failed." for p in points if p.failed]
    rounds = max((len(point.shown) for point in points), default=0)
    few = any(point.shown and point.time("corrected", "p99") is None for point in points)
    return [
        *told,
        *more,
        *failed[:MOST_REASONS],
        "Corrected: from when a request was due. Uncorrected: from when it was sent, which leaves that wait out.",
        f"Medians over {rounds} rounds; kept: in every one of them."
        if rounds > 1
        else "One round: by how much another would differ is not known.",
        *([f"-: not known; a p99 needs {units.count(P99_SAMPLES)} samples in a round."] if few else []),
        *(
            ["✗: from red trials only, and part of no conclusion."]
            if any(p.shown and not p.valid for p in points)
            else []
        ),
    ]


def _point(point: Point, curve: Curve) -> dict[str, Any]:
    place = curve.place
    times: dict[str, Any] = {
        kind: {f"{name}_ns": _spread(point.time(kind, name)) for name in SAMPLES} for kind in KINDS
    }
    figures = ("offered_per_s", "completed_per_s", "client_cpu_share", "server_cpu_share")
    return {
        "latency": place.latency,
        "target": place.target,
        "users": place.users,
        "rate_per_s": point.rate_per_s,
        "valid": point.valid,
        "rounds": len(point.shown),
        **{name: _spread(point.figure(name)) for name in figures},
        **times,
        "waiting": _spread(point.waiting),
        "failed": point.failed,
        "kept": point.kept,
        "why": findings.not_kept(point) if point.kept is False else None,
    }


def _spread(found: Spread | None) -> dict[str, Any] | None:
    return None if found is None else found.told()


def _number(found: Spread | None) -> str:
    return "-" if found is None else units.number(found.median, words.digits(found))


def _time(found: Spread | None) -> str:
    return "-" if found is None else time(found)


def _share(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median:.0%}".replace("%", " %")
