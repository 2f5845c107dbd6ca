"""How a process grows with its threads: extrapolated from the readings of a small calibration. Pure.

Not every thread costs the same. glibc opens a malloc arena of 64 MiB for each of the first threads (8 per core,
mallopt(3), M_ARENA_MAX). CPython maps 16 KiB for the first frames of each (Python/pystate.c, DATA_STACK_CHUNK_SIZE). As
long as there are holes between mappings, these chunks fill them side by side and count as one mapping. Later each lies
between two stacks, and since Linux 6.7 (MAP_STACK sets VM_NOHUGEPAGE) it cannot be merged with them. So three numbers
are needed: the cost of a thread now, how many more fit into the holes, and the cost of a thread without holes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from inflight.bench.measure.limits.bounds import Costs
from inflight.bench.measure.limits.facts import Facts

FRAMES_BYTES = 16 * 1024
FAR = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a process uses with a given number of threads."""

    threads: int
    maps: int | None
    vm_bytes: int | None
    data_bytes: int | None
    memory_bytes: int | None
    """Its own memory and page tables, and the stacks and slab memory of the whole kernel. Only differences count."""


def reading(threads: int, facts: Facts) -> Reading:
    """Return the reading for a number of threads."""
    process, memory = facts.process, facts.memory
    parts = (process.rss_bytes, process.page_tables_bytes, memory.get("KernelStack"), memory.get("SUnreclaim"))
    known = [part for part in parts if part is not None]
    total = sum(known) if len(known) == len(parts) else None
    return Reading(threads, process.maps, process.vm_bytes, process.data_bytes, total)


def each(readings: Sequence[Reading], costs: Costs) -> float | None:
    """Return the cost of the next thread: the slope between the last two readings; None where it is unknown."""
    if costs == "one":
        return 1.0
    points = _points(readings, costs)
    if len(points) < 2:
        return None
    (before, less), (after, more) = points[-2:]
    return (more - less) / (after - before) if more > less else None


def in_holes(holes: Sequence[int], stack_bytes: float) -> int:
    """Return how many threads have their first frames in holes that are too small for a stack."""
    return sum(hole // FRAMES_BYTES for hole in holes if hole < stack_bytes)


def beyond(readings: Sequence[Reading], count: int, steady: Sequence[Reading]) -> list[Reading]:
    """Extend readings by ``count`` threads that cost as much as the last ones, then by threads as in ``steady``."""
    now, later = each(readings, "maps"), each(steady, "maps")
    if now is None or later is None or later <= now:
        return list(readings)
    full = _further(readings[-1], readings, count, now)
    return [*readings, *([full] if count else []), _further(full, readings, FAR, later)]


def _further(start: Reading, readings: Sequence[Reading], count: int, maps_each: float) -> Reading:
    def grown(value: int | None, costs: Costs) -> int | None:
        slope = each(readings, costs)
        return None if value is None or slope is None else value + round(count * slope)

    return Reading(
        start.threads + count,
        None if start.maps is None else start.maps + round(count * maps_each),
        grown(start.vm_bytes, "vm_bytes"),
        grown(start.data_bytes, "data_bytes"),
        grown(start.memory_bytes, "memory_bytes"),
    )


def room(readings: Sequence[Reading], costs: Costs, free: float) -> int | None:
    """Return how many threads fit into what is free before the first one; None where it is unknown."""
    if costs == "one":
        return max(0, math.floor(free))
    points = _points(readings, costs)
    slope = each(readings, costs)
    if slope is None:
        return None
    limit = points[0][1] + free
    for (before, less), (after, more) in pairwise(points):
        if more > limit:  # within the calibration: interpolate between two readings
            return max(0, math.floor(before + (limit - less) * (after - before) / (more - less)))
    last, value = points[-1]
    return max(0, math.floor(last + (limit - value) / slope))


def _points(readings: Sequence[Reading], costs: Costs) -> list[tuple[int, int]]:
    return [(item.threads, value) for item in readings if (value := getattr(item, costs)) is not None]
