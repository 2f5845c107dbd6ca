"""The state of the machine of a run: how steady it was, and what others took of the client's core. Pure.

It is computed from stored rows, after a run or during it. ``show.studies`` asks once for each run: ``variation``,
``worst_share`` and ``taken_share`` for the first sentences of an answer (``answer.conditions``, which also asks
``quota``), and ``is_noisy`` to leave out the findings of a noisy run. ``frame.with_cycles`` and ``inflight advise`` ask
``is_noisy``, too. Shares are of all rows that know them, also of invalid ones: that others took the core is often why
they are invalid. *Noisy*: other programs took so much of the core that no difference is trusted. *Unsteady*: windows of
the same code vary too much. A *window* is the part that counts of a slice, which is one turn of an arm
(``plan.trial``).
"""

import math
import statistics
from collections.abc import Iterable

import pandas as pd

from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Quota, together

NOISY = 0.20
"""A run is noisy if others took more than this share of the client's core, in the median of its blocks."""
UNSTEADY = 0.08
"""A machine is unsteady from this variation of windows on; that of a quiet one is 1 to 4 %."""
OF_NORMAL = 1.349
"""The interquartile range of a normal distribution, in standard deviations."""
MIN_WINDOWS = 8
"""Minimum number of windows for a variation."""


def taken_share(rows: Iterable[Row]) -> float | None:
    """Return the share of the client's core that others took: the median over the blocks, or trials, of a run.

    None if no row knows it, as in runs of older versions.
    """
    taken = _shares(rows)
    return statistics.median(taken) if taken else None


def worst_share(rows: Iterable[Row]) -> float | None:
    """Return the same share as a mean over the worst third of the blocks, or trials."""
    taken = sorted(_shares(rows), reverse=True)
    return statistics.fmean(taken[: math.ceil(len(taken) / 3)]) if taken else None


def _shares(rows: Iterable[Row]) -> list[float]:
    """Return what others took of the client's core: a share for each block or trial that knows it."""
    taken = {}
    for row in rows:
        share = _taken(row)
        if share is not None:
            taken[_place(row)] = share
    return list(taken.values())


def variation(lines: pd.DataFrame) -> float | None:
    """Return the robust standard deviation of the reference's windows without latency; None for too few windows.

    ``lines`` are ``with_cycles``. Windows are logarithms of CPU time per page, about the median of their cell.
    """
    is_reference = (lines["role"] == "reference") & (lines["figure"] == "cpu_per_page_ns") & lines["valid"]
    without_latency = lines[is_reference & (lines["latency_ns"] == 0) & (lines["cpu_ns"] == 0)]
    values: list[float] = []
    for _, cell in without_latency.groupby(["arm", "site", "connection", "in_flight"]):
        windows = [value for cycles in cell["cycles"] for value in cycles.values()]
        center = statistics.median(windows) if windows else 0.0
        values += [value - center for value in windows]
    if len(values) < MIN_WINDOWS:
        return None
    lower, _, upper = statistics.quantiles(values, method="inclusive")
    return (upper - lower) / OF_NORMAL


def _place(row: Row) -> tuple[str, str | None]:
    """Return what a share is of: a block, whose arms have the same one, or a trial."""
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
