"""What memory was measured of, for table and plots: building blocks, and strategies with tasks parked or in flight."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.core import layers
from bench.core.figures import Slope
from bench.core.layers import LAYERS, RSS, Cost, Point
from bench.core.rows import Row
from bench.present import words

BLOCKS, PARKED, IN_FLIGHT = GROUPS = ("building blocks, parked", "strategies, parked", "strategies, in flight")
"""In the order in which they are shown."""
_BLOCK_NAMES = {
    "asyncio_task": "asyncio task",
    "generator_task": "generator + task",
    "asyncio_task_socket": "asyncio + socket",
    "asyncio_task_stream": "asyncio + stream",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A building block, or a strategy at one weight; its trials that came to their end, and what one more costs."""

    strategy: str
    stack: str
    group: str
    stage: str
    """Of the rows' figures: ``held`` or ``parked``."""
    rows: tuple[Row, ...]
    cost: Cost

    @property
    def name(self) -> str:
        """The name as it is shown: printable, and short."""
        if self.group != BLOCKS:
            return words.plain(self.strategy, 18)
        return words.plain(_BLOCK_NAMES.get(self.strategy, self.strategy), 18)

    @property
    def valid_rows(self) -> list[Row]:
        """The rows that conclusions may rest on."""
        return [row for row in self.rows if row.valid]

    @property
    def red_rows(self) -> list[Row]:
        """The rows with a failed check."""
        return [row for row in self.rows if not row.valid]

    @property
    def is_fitted(self) -> bool:
        """Whether there is a slope of any layer."""
        return any(isinstance(slope, Slope) for slope in self.cost.layers.values())

    def added(self, rows: Iterable[Row]) -> list[Point]:
        """Return (N, bytes of all layers that were added since nothing was held), of the rows that know every layer."""
        found = ((layers.n_of(row), [added(row, layer, self.stage) for layer in LAYERS]) for row in rows)
        return [(n, sum(size for size in sizes if size is not None)) for n, sizes in found if None not in sizes]

    def base(self, *of: str) -> float:
        """Return the bytes that the process had of these layers before anything was held."""
        own = [key for key in of if key in ("user", "page tables")]
        return median(sum(layers.size_of(row, key, "base") or 0 for key in own) for row in self.valid_rows)


def added(row: Row, layer: str, stage: str = "held") -> int | None:
    """Return the bytes of a layer that were added since nothing was held; None when unknown."""
    now = layers.size_of(row, layer, stage)
    if layer not in ("user", "page tables", RSS):  # the system's layers are changes already
        return now
    before = layers.size_of(row, layer, "base")
    return None if now is None or before is None else now - before


def is_layered(row: Row) -> bool:
    """Tell whether a row has read memory layer by layer: not those of format 1, nor trials that never got there."""
    return row.kind in ("memory", "block") and row.status == "ok" and "base_uss_bytes" in row.measured


def subjects(rows: Sequence[Row]) -> list[Subject]:
    """Return the subjects of the layered rows, whose memory trials share one setting; by group, the cheapest first."""
    found = []
    for strategy, own in layers.by_subject(filter(is_layered, rows)).items():
        blocks, crawls = ([row for row in own if row.kind == kind] for kind in ("block", "memory"))
        parked = [row for row in crawls if "parked_uss_bytes" in row.measured]
        for group, stage, some in ((BLOCKS, "held", blocks), (PARKED, "parked", parked), (IN_FLIGHT, "held", crawls)):
            if some:
                found.append(
                    Subject(strategy, some[0].stack, group, stage, tuple(some), layers.cost(some, stage)),
                )
    return sorted(found, key=_rank)


def _rank(subject: Subject) -> tuple[int, bool, float, str]:
    """Order by group; those that are known in full first, by what they cost."""
    full, known = subject.cost.full, [slope.per_fetch for slope in _slopes(subject)]
    is_full = isinstance(full, Slope)
    size = full.per_fetch if isinstance(full, Slope) else sum(known)
    return GROUPS.index(subject.group), not is_full, size, subject.strategy


def _slopes(subject: Subject) -> list[Slope]:
    return [slope for slope in subject.cost.layers.values() if isinstance(slope, Slope)]
