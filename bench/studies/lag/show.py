"""The section of loop lag: a table for each workload. Pure."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Figure
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.lag import read
from inflight.bench.studies.lag.read import Lag

_HEADS = ("strategy", "p50 (95 %)", "p90", "p99", "due times")
NOTES = (
    "A timer is due every 10 ms, and fires in the loop of the model; for threads, it is one more thread, which sleeps.",
    "p50: mean over the blocks. p90 and p99: over the due times of all blocks, with at least 100 and 1,000 due times.",
)


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section with a table for each workload on which the lag was measured."""
    found = read.by_workload(read.lags(rows))
    if not found:
        return []
    return [Section(title(found), tuple(_table(own, where(own, found)) for own in found), NOTES)]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object per strategy and workload; durations in nanoseconds, null where due times are too few."""
    return [
        {
            "strategy": one.cell.strategy,
            "workload": one.cell.rows[0].workload.id,
            "latency": one.cell.latency,
            "in_flight": one.cell.in_flight,
            "p50_ns": _json(one.median),
            "p90_ns": one.p90_ns,
            "p99_ns": one.p99_ns,
            "due_times": one.count,
        }
        for one in read.lags(rows)
    ]


def title(found: Sequence[Sequence[Lag]]) -> str:
    """Return the finding: the shortest and the longest median on the workload with the most in flight."""
    own = [one for one in max(found, key=lambda own: (own[0].cell.in_flight, len(own))) if one.p50_ns is not None]
    if not own:
        return "How late a timer fires while a model crawls"
    first, last = own[0], own[-1]
    told = [
        f"{units.duration(one.p50_ns or 0, 2)} late in {words.plain(one.cell.strategy, 40)}" for one in (first, last)
    ]
    which = words.in_flight(first.cell.in_flight)
    return f"With {which}, half of all timers fire at least {' and '.join(told if first is not last else told[:1])}"


def where(own: Sequence[Lag], found: Sequence[Sequence[Lag]]) -> str:
    """Return the workload of some lags in words; the setting only if those of several workloads differ."""
    cell = own[0].cell
    names = c.setting_names(list(dict.fromkeys(one[0].cell.setting for one in found)))
    more = f", {words.plain(names[cell.setting], 80)}" if len(names) > 1 else ""
    return f"{words.at_latency(cell.latency)}, {words.in_flight(cell.in_flight)}{more}"


def _table(own: Sequence[Lag], place: str) -> Table:
    lines = tuple(
        (
            words.plain(one.cell.strategy, 60),
            _median(one.median),
            *("-" if value is None else units.duration(value, 2) for value in (one.p90_ns, one.p99_ns)),
            units.count(one.count),
        )
        for one in own
    )
    return Table(f"Loop lag: how late a timer fired {place}", _HEADS, lines)


def _median(found: Figure | None) -> str:
    if found is None:
        return "-"
    text = units.duration(found.estimate, 2)
    if found.ends is None:
        return text
    if found.is_wide:
        return f"{text} {words.WIDE}"
    return f"{text} ({units.duration(found.low, 2)} to {units.duration(found.high, 2)})"


def _json(found: Figure | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"mean": found.estimate, "interval": found.ends and list(found.ends), "rounds": found.rounds}
