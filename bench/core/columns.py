"""Which of many workloads a table has room for. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.core import cells as c
from bench.core.cells import Cell

MOST_COLUMNS = 4
USUAL_CAP = 100


@dataclass(frozen=True, slots=True)
class Column:
    """One figure at one latency and one number in flight."""

    measure: Literal["pages_per_s", "cpu_per_page_ns"]
    latency: str
    in_flight: int


def choose_caps(tried: Sequence[int], most: int = MOST_COLUMNS) -> list[int]:
    """Return at most so many of the numbers in flight: the first, the last, and evenly from between."""
    if len(tried) <= most:
        return list(tried)
    return [tried[round(step * (len(tried) - 1) / (most - 1))] for step in range(most)]


def usual_cap(tried: Sequence[int]) -> int:
    """Return the number in flight nearest to 100, on a scale of ratios."""
    return min(tried, key=lambda cap: (abs(math.log(cap / USUAL_CAP)), cap))


def choose_columns(found: Sequence[Cell]) -> list[Column]:
    """Choose the columns that tell most.

    Throughput at the longest latency over the caps; throughput and CPU time a page at the shortest, with about 100 in
    flight.
    """
    found = c.fillable(found)
    latencies = c.latencies(found)
    if not latencies:
        return []
    shortest, longest = latencies[0], latencies[-1]
    cap = usual_cap(c.caps(found, shortest))
    columns = [Column("pages_per_s", longest, n) for n in choose_caps(c.caps(found, longest))]
    if shortest != longest:
        columns.insert(0, Column("pages_per_s", shortest, cap))
    return [*columns, Column("cpu_per_page_ns", shortest, cap)]
