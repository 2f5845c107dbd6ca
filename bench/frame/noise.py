"""How busy and how slow the machine of a run was: what others took of the client's core, and a unit of work. Pure."""

import statistics
from collections.abc import Iterable

from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Quota, together

NOISY = 0.20
"""A run is noisy if others took more than this share of the client's core, in the median of its blocks."""

USUAL_UNIT_NS, SLOW = 4_800, 1.4
"""CPU time of a unit of work in the run that README quotes; a run is slow from this multiple of it on."""


def taken_share(rows: Iterable[Row]) -> float | None:
    """Return the median share over the blocks, or trials, of a run; None if no row knows it, as older ones."""
    places = ((_place(row), _taken(row)) for row in rows)
    taken = {place: share for place, share in places if share is not None}
    return statistics.median(taken.values()) if taken else None


def _place(row: Row) -> tuple[str, str | None]:
    return row.run, row.measured.block if row.kind == "arm" else row.trial


def _taken(row: Row) -> float | None:
    """Return the time of others on the core, or the time that the client of an open loop waited for it, as a share.

    Of a crawl, its whole time counts.
    """
    taken = None
    if row.kind == "arm":
        taken = row.measured.others_share
    elif row.kind == "crawl" and row.measured.others_ns is not None:
        taken = row.measured.others_ns / row.measured.makespan_ns
    elif row.kind == "open" and row.measured.run_delay_ns is not None:
        taken = row.measured.run_delay_ns / (1e9 * row.workload.seconds)
    return None if taken is None else taken + (row.measured.steal_share or 0.0)


def quota(rows: Iterable[Row]) -> Quota | None:
    """Return the CPU quota of a run, with its counts over all blocks or trials; None without one."""
    return together({_place(row): each for row in rows if (each := getattr(row.measured, "quota", None))}.values())


def is_noisy(rows: Iterable[Row]) -> bool:
    """Return whether a run says nothing about differences."""
    return (taken_share(rows) or 0.0) > NOISY


def unit_ns(rows: Iterable[Row]) -> float | None:
    """Return the median CPU time of a unit of work over the arms of a run; None if no row knows it."""
    units = [row.measured.unit_ns for row in rows if row.kind == "arm" and row.measured.unit_ns]
    return statistics.median(units) if units else None


def is_slow(rows: Iterable[Row]) -> bool:
    """Return whether the machine computed much slower than that of README."""
    return (unit_ns(rows) or 0.0) >= SLOW * USUAL_UNIT_NS
