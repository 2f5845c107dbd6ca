"""Rows as tidy tables for pandas: cells, memory slopes, time lines, samples, checks, times. Pure.

``COLUMNS`` has the columns of each table with their types, which are the same for all rows, and for none. Missing
values are ``pandas.NA``. ``docs/api.md`` has meanings and units. The table of trials is ``frames.frame``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench.core import cells as c
from inflight.bench.core.figures import NoSlope, Slope
from inflight.bench.core.layers import FULL, RSS
from inflight.bench.core.model import sensitivity
from inflight.bench.report.frames import need_pandas
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory.read import IN_FLIGHT, subjects

if TYPE_CHECKING:
    import pandas as pd


class NotInRunError(ValueError):
    """A value is not in the run; the message lists those that are. Use one of these, or run more."""


Line = tuple[Any, ...]
"""The values of one line, in the order of the columns."""

TEXT, WHOLE, REAL, TRUTH = "string", "Int64", "Float64", "boolean"
_TRIAL = {
    "trial": TEXT,
    "strategy": TEXT,
    "kind": TEXT,
    "latency": TEXT,
    "in_flight": WHOLE,
    "connection": TEXT,
    "cpu": TEXT,
    "round": WHOLE,
    "valid": TRUTH,
}
"""The columns that identify the trial of a line."""
_TIMES = {
    **dict.fromkeys(c.CRAWLED, ("service", "response", "queueing", "steady_service", "steady_response")),
    "open": ("corrected", "uncorrected"),
    "client": ("service",),
}
"""The kinds of time of each kind of trial."""
_QUANTILES = ("count", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
_SAMPLES = ("at_ns", "threads", "rss_bytes", "cpu_ns")


COLUMNS: dict[str, dict[str, str]] = {
    "cells": {
        "strategy": TEXT,
        "stack": TEXT,
        "workload": TEXT,
        "latency": TEXT,
        "mean_latency_ns": WHOLE,
        "in_flight": WHOLE,
        "connection": TEXT,
        "cpu": TEXT,
        "cpu_ns": WHOLE,
        "pages_per_s": REAL,
        "pages_per_s_low": REAL,
        "pages_per_s_high": REAL,
        "cpu_per_page_ns": REAL,
        "cpu_per_page_ns_low": REAL,
        "cpu_per_page_ns_high": REAL,
        "rounds": WHOLE,
        "valid": TRUTH,
        "sensitivity_low": REAL,
        "sensitivity_high": REAL,
        "site": TEXT,
    },
    "memory": {
        "strategy": TEXT,
        "stack": TEXT,
        "group": TEXT,
        "connection": TEXT,
        "layer": TEXT,
        "bytes_per_fetch": REAL,
        "bytes_per_fetch_low": REAL,
        "bytes_per_fetch_high": REAL,
        "intercept_bytes": REAL,
        "straight": TRUTH,
        "points": WHOLE,
        "sizes": WHOLE,
        "reason": TEXT,
        "site": TEXT,
    },
    "timeline": _TRIAL | {"at_ns": WHOLE, "completions": WHOLE, "in_flight_then": WHOLE},
    "samples": _TRIAL | dict.fromkeys(_SAMPLES, WHOLE),
    "checks": _TRIAL | {"name": TEXT, "verdict": TEXT, "detail": TEXT},
    "times": _TRIAL | {"time": TEXT} | dict.fromkeys(_QUANTILES, WHOLE),
}
"""The columns of each table in order, each with its pandas type."""


def table(name: str, rows: Sequence[Row]) -> "pd.DataFrame":
    """Return one of the tables of ``COLUMNS``. Raises ModuleNotFoundError where pandas is not installed."""
    need_pandas()
    import pandas as pd

    lines = list(_LINES[name](rows))
    columns = COLUMNS[name]
    values = zip(*lines, strict=True) if lines else [()] * len(columns)
    return pd.DataFrame(
        {column: pd.Series(list(own), dtype=kind) for (column, kind), own in zip(columns.items(), values, strict=True)}
    )


def _cells(rows: Sequence[Row]) -> Iterator[Line]:
    """Yield a line for each strategy on each crawl workload; without valid trials, the figures of invalid ones."""
    for cell in c.cells(rows, "crawl"):
        rate, cpu = cell.figure(c.pages_per_s), cell.figure(c.cpu_per_page_ns)
        moves = sensitivity(cell.valid_rows)
        yield (
            cell.strategy,
            cell.stack,
            cell.rows[0].workload.id,
            cell.latency,
            cell.mean_latency_ns,
            cell.in_flight,
            cell.setting.connection,
            cell.cpu,
            cell.cpu_ns,
            *_ends(rate),
            *_ends(cpu),
            rate.rounds if rate else 0,
            bool(rate and rate.valid),
            moves.low if moves else None,
            moves.high if moves else None,
            cell.setting.site,
        )


def _ends(figure: c.Figure | None) -> Line:
    return (None, None, None) if figure is None else (figure.estimate, *(figure.ends or (None, None)))


def _memory(rows: Sequence[Row]) -> Iterator[Line]:
    """Yield a line per slope: of each layer if layers were read, else of user memory; or why there is none."""
    idle = [row for row in rows if row.kind == "idle"]
    yield from _slopes(idle, None)
    found = c.cells(rows, "memory")
    for setting in c.settings(found):
        own = [cell for cell in found if cell.setting == setting]
        yield from _slopes([row for cell in own for row in cell.rows], setting)
        layered = {subject.strategy for subject in subjects([row for cell in own for row in cell.rows])}
        for name, stack in c.strategies(row for cell in own for row in cell.rows).items():
            if name not in layered:
                what = (name, stack, IN_FLIGHT, setting.connection, "user")
                yield *what, *_slope(c.memory_of(own, name)), setting.site


def _slopes(rows: Sequence[Row], setting: c.Setting | None) -> Iterator[Line]:
    for subject in subjects(rows):
        connection, site = (setting.connection, setting.site) if setting else (None, None)
        cost = subject.cost
        for layer, slope in (*cost.layers.items(), (FULL, cost.full), (RSS, cost.resident)):
            what = (subject.strategy, subject.stack, subject.group, connection, layer)
            yield *what, *_slope(slope), site


def _slope(slope: Slope | NoSlope) -> Line:
    if isinstance(slope, NoSlope):
        return (*[None] * 7, slope.reason)
    middle = (slope.per_fetch, slope.low, slope.high, slope.intercept)
    return *middle, slope.straight, slope.points, slope.sizes, None


def _observed(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows with time lines and samples: whole crawls; arms have none."""
    return (row for row in rows if row.kind in c.CRAWLED and row.kind != "arm")


def _timeline(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield a line per bin, at the time of its end."""
    for row in _observed(rows):
        if (line := row.measured.timeline) is not None:
            key = _key(row)
            for number, values in enumerate(zip(line.completions, line.in_flight, strict=True), start=1):
                yield *key, number * line.bin_ns, *values


def _samples(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield a line for each sample of the worker from outside."""
    for row in _observed(rows):
        if (seen := row.measured.samples) is not None:
            key = _key(row)
            for values in zip(*(getattr(seen, name) for name in _SAMPLES), strict=True):
                yield *key, *values


def _checks(rows: Iterable[Row]) -> Iterator[Line]:
    return ((*_key(row), check.name, check.verdict, check.detail) for row in rows for check in row.checks)


def _times(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield a line for each kind of time of a trial."""
    for row in rows:
        for name in _TIMES.get(row.kind, ()):
            if (found := getattr(row.measured, name, None)) is not None:
                yield *_key(row), name, *(getattr(found, quantile) for quantile in _QUANTILES)


def _key(row: Row) -> Line:
    asked = [getattr(row.workload, name, None) for name in ("latency", "in_flight", "connection")]
    cpu = row.workload.cpu or "0" if row.kind in c.CRAWLED else None
    return row.trial, row.strategy, row.kind, *asked, cpu, row.round, row.valid


_LINES: dict[str, Callable[[Sequence[Row]], Iterator[Line]]] = {
    "cells": _cells,
    "memory": _memory,
    "timeline": _timeline,
    "samples": _samples,
    "checks": _checks,
    "times": _times,
}
