"""Memory in layers: the memory per additional fetch, thread or task, of its process and of the kernel. Pure.

The rows are memory trials of one strategy, or rows of one kind of idle thread or task, over several N;
``inflight.bench.measure.memory`` describes what is read. An unknown layer is left out and never counted as 0. The
system-wide layers of the kernel are unknown in a row that other processes disturbed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from inflight.bench.frame.slopes import NoSlope, Slope, memory_slope
from inflight.bench.rows.crawls import Memory
from inflight.bench.rows.files import Row

LAYERS = ("user", "page tables", "kernel stacks", "slab and sockets")
"""In order: from the memory that the process sees to that which only the kernel sees."""
FULL = "all layers"
RSS = "resident (RSS)"

_OWN = {"user": "uss_bytes", "page tables": "page_tables_bytes", RSS: "rss_bytes"}
_OF_SYSTEM = {"kernel stacks": ("kernel_stack_bytes",), "slab and sockets": ("slab_bytes", "socket_bytes")}

Point = tuple[int, int]
"""(N, bytes)"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory per additional one: a slope for each layer, for all together, and for the resident size shown by ps."""

    layers: dict[str, Slope | NoSlope]
    """Slopes by the names of LAYERS."""
    full: Slope | NoSlope
    resident: Slope | NoSlope
    largest_n: int

    @property
    def user(self) -> Slope | NoSlope:
        """Slope of the process's own memory."""
        return self.layers["user"]

    @property
    def slopes(self) -> dict[str, Slope | NoSlope]:
        """All slopes by the names of LAYERS, FULL and RSS."""
        return {**self.layers, FULL: self.full, RSS: self.resident}


def cost(rows: Iterable[Row], stage: str = "held") -> Cost:
    """Return the memory per additional one, from the valid rows; ``stage`` is ``held`` or ``parked``."""
    many = [row for row in rows if row.valid]
    slopes = {name: _slope(many, name, stage) for name in (*LAYERS, FULL, RSS)}
    full, resident = slopes.pop(FULL), slopes.pop(RSS)
    return Cost(slopes, full, resident, max(map(n_of, many), default=0))


def n_of(row: Row) -> int:
    """Return N: the number of fetches held in flight, or of idle threads and tasks."""
    return row.measured.held_in_flight or 0 if isinstance(row, Memory) else int(row.workload.n)


def size_of(row: Row, layer: str, stage: str = "held") -> int | None:
    """Return the bytes of a layer, or of FULL; None if unknown.

    For a layer of the process this is its whole size; for a system-wide layer, its growth since the base.
    """
    if layer == FULL:
        return _sum(size_of(row, one, stage) for one in LAYERS)
    if layer in _OWN:
        size: int | None = getattr(row.measured, f"{stage}_{_OWN[layer]}")
        return size
    return added(row, layer, stage)


def added(row: Row, layer: str, stage: str = "held") -> int | None:
    """Return the growth of a layer, or of FULL, since the base in bytes; None if unknown."""
    if layer == FULL:
        return _sum(added(row, one, stage) for one in LAYERS)
    if layer in _OWN:
        return _change(row, _OWN[layer], stage)
    if getattr(row.measured, f"{stage}_disturbed") is not None:
        return None
    return _sum(_change(row, key, stage) for key in _OF_SYSTEM[layer])


def _change(row: Row, key: str, stage: str) -> int | None:
    before, after = getattr(row.measured, f"base_{key}"), getattr(row.measured, f"{stage}_{key}")
    return None if before is None or after is None else after - before


def _sum(sizes: Iterable[int | None]) -> int | None:
    """Return the sum; None if a size is unknown."""
    found = list(sizes)
    return None if None in found else sum(size for size in found if size is not None)


def _slope(rows: Iterable[Row], layer: str, stage: str) -> Slope | NoSlope:
    points = [(n_of(row), size) for row in rows if (size := size_of(row, layer, stage)) is not None]
    return memory_slope(*zip(*points, strict=True)) if points else NoSlope("unknown here")
