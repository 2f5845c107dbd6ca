"""Memory in layers, from rows: what one more of something costs its process, and the kernel for it. Pure.

The rows are those of one strategy's memory trials, or of one building block, over several N; ``bench.measure.memory``
says what is read. A layer that some row does not know is left out as unknown, never counted as nothing; what the kernel
has for the whole system is unknown in a row that others disturbed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.core.figures import NoSlope, Slope, memory_slope
from bench.core.rows import Row

LAYERS = ("user", "page tables", "kernel stacks", "slab and sockets")
"""From the layer that everybody sees to those that only the kernel does."""
FULL = "all layers"
RSS = "resident (RSS)"

_OWN = {"user": "uss_bytes", "page tables": "page_tables_bytes", RSS: "rss_bytes"}
_OF_SYSTEM = {"kernel stacks": ("kernel_stack_bytes",), "slab and sockets": ("slab_bytes", "socket_bytes")}

Point = tuple[int, int]
"""(N, bytes)"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one more costs: a slope for each layer, for all together, and for the resident size that ps shows."""

    layers: dict[str, Slope | NoSlope]
    """By the names of LAYERS."""
    full: Slope | NoSlope
    resident: Slope | NoSlope
    largest_n: int

    @property
    def user(self) -> Slope | NoSlope:
        """The process's own memory."""
        return self.layers["user"]

    @property
    def shown_bytes(self) -> float | None:
        """Bytes each, in all layers; None when a layer has no slope."""
        return self.full.per_fetch if isinstance(self.full, Slope) else None


def cost(rows: Iterable[Row], stage: str = "held") -> Cost:
    """Return the cost of one more, from the valid rows. ``stage`` is ``held`` (in flight, or a block) or ``parked``."""
    many = [row for row in rows if row.valid]
    layers = {name: _slope(points(many, name, stage)) for name in LAYERS}
    return Cost(
        layers,
        _slope(full_points(many, stage)),
        _slope(points(many, RSS, stage)),
        max(map(n_of, many), default=0),
    )


def n_of(row: Row) -> int:
    """Return N: fetches held in flight, or building blocks."""
    return int(row.measured["held_in_flight"] if row.kind == "memory" else row.workload["n"])


def points(rows: Iterable[Row], layer: str, stage: str = "held") -> list[Point]:
    """Return (N, bytes of the layer) of the rows that know it.

    Of a process's own layers that is all that it has; of the system's, what was added since before the trial.
    """
    found = ((n_of(row), size_of(row, layer, stage)) for row in rows)
    return [(n, size) for n, size in found if size is not None]


def full_points(rows: Iterable[Row], stage: str = "held") -> list[Point]:
    """Return (N, bytes of all layers) of the rows that know every layer."""
    found = ((n_of(row), [size_of(row, layer, stage) for layer in LAYERS]) for row in rows)
    return [(n, sum(size for size in sizes if size is not None)) for n, sizes in found if None not in sizes]


def size_of(row: Row, layer: str, stage: str = "held") -> int | None:
    """Return the bytes of a layer; None when unknown."""
    if layer in _OWN:
        size: int | None = row.measured.get(f"{stage}_{_OWN[layer]}")
        return size
    if row.measured.get(f"{stage}_disturbed") is not None:
        return None
    changes = [_change(row, key, stage) for key in _OF_SYSTEM[layer]]
    return None if None in changes else sum(change for change in changes if change is not None)


def _change(row: Row, key: str, stage: str) -> int | None:
    before, after = row.measured.get(f"base_{key}"), row.measured.get(f"{stage}_{key}")
    return None if before is None or after is None else after - before


def _slope(found: Sequence[Point]) -> Slope | NoSlope:
    if not found:
        return NoSlope("unknown here")
    return memory_slope(*zip(*found, strict=True))


def by_subject(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the memory and block rows, by strategy or block, each in the order of N."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.kind in {"memory", "block"}:
            found.setdefault(row.strategy, []).append(row)
    return {name: sorted(own, key=lambda row: (_planned(row), row.round)) for name, own in found.items()}


def _planned(row: Row) -> int:
    return int(row.workload["in_flight"] if row.kind == "memory" else row.workload["n"])
