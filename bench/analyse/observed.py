"""Workloads as points of a map: what was measured there, and how far apart two of them are. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median

from bench.analyse.cells import Cell, cpu_per_page_ns, pages_per_s, present

LATENCY_STEP_NS, WORK_STEP_NS = 1_000_000.0, 100_000.0
"""Added to times before their logarithm: below these, waiting and work hardly differ from none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A workload that need not have been measured."""

    latency_ns: float
    work_ns: float
    """CPU work of a page."""
    in_flight: int
    pages: int | None = None
    """None: a crawl so long that its begin and its end do not count."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One measured workload: geometric means over the valid rounds."""

    at: Wanted
    per_s: float
    cpu_per_page_ns: float | None
    """The work included."""
    rounds: int
    latency: str
    cpu: str


def observed(cells: Iterable[Cell]) -> list[Observed]:
    """Return the measured workloads of one strategy's cells; those without a valid rate are left out.

    The work is what the worker measured of it, where it did, else what was asked for.
    """
    found = []
    for cell in cells:
        logs = [math.log(rate) for row in cell.valid_rows if (rate := pages_per_s(row)) and rate > 0]
        if not logs:
            continue
        costs = present(map(cpu_per_page_ns, cell.valid_rows))
        work = present(row.measured.get("work_ns") for row in cell.valid_rows) if cell.cpu_ns else []
        at = Wanted(cell.mean_latency_ns, median(work) if work else cell.cpu_ns, cell.in_flight, cell.pages)
        cost = median(costs) if costs else None
        found.append(Observed(at, math.exp(fmean(logs)), cost, len(logs), cell.latency, cell.cpu))
    return found


def distance(one: Wanted, other: Wanted) -> float:
    """Return how far apart two workloads are: in logarithms of latency, work and number in flight."""
    return math.dist(_place(one), _place(other))


def _place(at: Wanted) -> tuple[float, float, float]:
    return math.log(at.latency_ns + LATENCY_STEP_NS), math.log(at.work_ns + WORK_STEP_NS), math.log(at.in_flight)
