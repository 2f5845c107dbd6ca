"""From the rows of blocks of two sides to one value per block for each metric and control. Pure.

``ab.decide`` decides on these values; ``ab.command``, ``ab.show`` and the self-test read blocks with ``blocks`` and
``comparisons``. A value is the natural logarithm of B over A, with its sign such that B is worse above 0: the sign of
throughput is changed (``turned``). A is measured twice in each block, and B is compared with the mean of both. A
*control* is the second measurement of A over the first: the same code, so it should be 0, and it varies independently
of the value. A *gated* metric is one that the verdict depends on.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal

from inflight.bench.frame.figures import figure_of
from inflight.bench.frame.statistics import CLEARLY_ABOVE, knee
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Arm, ArmRow, ComparisonOf, Memory, Role

FIGURE_OF = {"cpu_per_page": "cpu_per_page_ns", "throughput": "pages_per_s", "memory": "user_bytes_per_fetch"}
"""The figure of each metric, by its name in the frame."""
CONTROLS = {"placebo CPU per page": "cpu_per_page", "placebo throughput": "throughput"}
"""The metric of each control."""
MIN_CORE_SHARE = 0.5
"""Least share of its core that a side must use so that throughput is gated; below, it would hide slowdowns."""

Side = Literal["A", "B"]
"""A side of a comparison: A, the reference, or B, which may be worse."""
SIDES: tuple[Side, ...] = ("A", "B")
"""Both sides in their order."""
_ROLES: dict[Side, tuple[Role, ...]] = {"A": ("reference", "placebo"), "B": ("compared",)}
"""The roles that the arms of each side have in a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of a block: A, B, and A again; optionally memory of A and B, two processes each."""

    number: int
    """Number of the block (the round of its rows), from 1."""
    arms: Mapping[Role, ArmRow]
    memory: Mapping[str, tuple[Memory, ...]]
    """By ``A`` and ``B``."""

    @property
    def rows(self) -> list[Row]:
        """All its rows."""
        return [*self.arms.values(), *(row for side in SIDES for row in self.memory.get(side, ()))]

    @property
    def durations_ns(self) -> tuple[int, int]:
        """How long its arms took together, and its memory trials one after another."""
        memory_ns = sum(row.duration_ns for rows in self.memory.values() for row in rows)
        return max(row.duration_ns for row in self.arms.values()), memory_ns

    @property
    def comparison(self) -> ComparisonOf:
        """The comparison that it belongs to."""
        name = self.arms["reference"].workload.comparison
        assert name is not None
        return name

    @property
    def failed(self) -> Side | None:
        """The side that failed; A if both did, because B cannot be compared then."""
        return next((side for side in SIDES if any(map(has_failed, self.side(side)))), None)

    @property
    def good(self) -> bool:
        """Whether the block has values: all arms are valid, and no memory trial failed."""
        return all(row.valid for row in self.arms.values()) and self.failed is None

    @property
    def reasons(self) -> list[str]:
        """Why the block has no values: the names of failed checks, or a failed side with its reason."""
        for side in SIDES:
            for row in filter(has_failed, self.side(side)):
                return [f"{side}: {reason(row)}"]
        names = []
        for row in self.arms.values():
            if not row.valid:
                names += [check.name for check in row.failed_checks] or [str(row.reason)]
        return list(dict.fromkeys(names))

    def side(self, side: Side) -> list[Row]:
        """Return the rows of a side, memory included."""
        return [*(self.arms[role] for role in _ROLES[side]), *self.memory.get(side, ())]

    def arm(self, side: Side) -> Arm:
        """Return the arm of a side as its rows describe it: strategy, settings and label."""
        return self.arms[_ROLES[side][0]].workload.arm


def comparisons(rows: Iterable[Row]) -> dict[str, list[Block]]:
    """Return the blocks of each comparison, by its name."""
    groups = defaultdict[str, list[Row]](list)
    for row in rows:
        if row.is_compared:
            groups[row.workload.comparison.name].append(row)
    return {name: blocks(some) for name, some in groups.items()}


def blocks(rows: Iterable[Row]) -> list[Block]:
    """Return the blocks of one comparison in their order, without incomplete ones."""
    arms: dict[int, dict[Role, ArmRow]] = {}
    memory: dict[int, dict[str, tuple[Memory, ...]]] = {}
    for row in rows:
        if isinstance(row, ArmRow):
            arms.setdefault(row.round, {})[row.workload.arm.role] = row
        elif isinstance(row, Memory) and row.workload.arm is not None:
            sides = memory.setdefault(row.round, {})
            name = row.workload.arm.name
            sides[name] = (*sides.get(name, ()), row)
    return [Block(number, some, memory.get(number, {})) for number, some in sorted(arms.items()) if len(some) == 3]


def turned(name: str, logarithm: float) -> float:
    """Return a change of a metric or a control in its own direction, or back: of throughput, worse is less.

    ``logarithm`` is the natural logarithm of the change, B over A.
    """
    return -logarithm if figure_of(FIGURE_OF.get(name, name)).is_more_better else logarithm


def values(block: Block) -> dict[str, float]:
    """Return the value of each metric that the block has; a figure of 0 makes the value NaN."""
    changes: dict[str, float] = {}
    for metric in block.comparison.metrics:
        a = _log(block, "A", metric)
        b = _log(block, "B", metric)
        if a is not None and b is not None:
            changes[metric] = turned(metric, b - a)
    return changes


def controls_of(block: Block) -> dict[str, float]:
    """Return the value of each control: of the gated metrics that are timed, or of CPU time if none is."""
    gated = set(block.comparison.gated).intersection(CONTROLS.values()) or {"cpu_per_page"}
    first, again = (block.arms[role] for role in _ROLES["A"])
    changes = {}
    for name, metric in CONTROLS.items():
        if metric in gated:
            changes[name] = turned(metric, _timed(again, metric) - _timed(first, metric))
    return changes


def series(each: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the values of each name over the blocks that have it, in the order of the blocks."""
    by_name = defaultdict[str, list[float]](list)
    for some in each:
        for name, value in some.items():
            by_name[name].append(value)
    return dict(by_name)


def figure(good: Sequence[Block], side: Side, metric: str) -> float:
    """Return the median of a side's figure (ns, pages per second, bytes) over the blocks; NaN if no block has it."""
    logs = [log for block in good if (log := _log(block, side, metric)) is not None]
    return median(map(math.exp, logs)) if logs else math.nan


def _log(block: Block, side: Side, metric: str) -> float | None:
    """Return the logarithm of a side's figure, the mean of both measurements for A; None if there is no figure."""
    if metric != "memory":
        return fmean(_timed(block.arms[role], metric) for role in _ROLES[side])
    sizes = {}
    for row in block.memory.get(side, ()):
        held: Any = row.measured
        if row.valid and held.held_in_flight is not None and held.held_uss_bytes is not None:
            sizes[held.held_in_flight] = held.held_uss_bytes
    if len(sizes) < 2:
        return None
    few, many, *_ = sorted(sizes)
    return _ln((sizes[many] - sizes[few]) / (many - few))


def _timed(row: ArmRow, metric: str) -> float:
    """Return the logarithm of a figure that an arm has of its windows."""
    return _ln(getattr(row.measured, FIGURE_OF[metric]) or 0.0)


def _ln(value: float) -> float:
    """Return the logarithm; NaN for 0 and below, which ``decide`` reports."""
    return math.log(value) if value > 0 else math.nan


def moves_throughput(row: ArmRow) -> bool:
    """Return whether more CPU time clearly lowers the throughput of an arm: its core is full, or would be."""
    full = CLEARLY_ABOVE * knee(row.workload.mean_latency_ns, row.measured.cpu_per_page_ns or 0)
    in_flight = row.measured.reached_in_flight or row.workload.in_flight
    return core_share(row) >= MIN_CORE_SHARE or in_flight >= full


def core_share(row: ArmRow) -> float:
    """Return the share of its core that an arm used in its fullest window; other programs can only lower it."""
    return max((window.cpu_ns / window.wall_ns for window in row.measured.windows or ()), default=0.0)


def why_no_memory(blocks: Sequence[Block]) -> str | None:
    """Return why memory has no figure: the reason of the first invalid reading; None if all are valid."""
    for block in blocks:
        for rows in block.memory.values():
            for row in rows:
                if not row.valid:
                    return reason(row)
    return None


def has_failed(row: Row) -> bool:
    """Tell whether a row is a failure of its arm: it ended early or wrong, or failed a check that depends on the arm.

    An invalid reading of memory is not a failure; it gives no figure. A lost server is outside, and so may a check be.
    """
    if not isinstance(row, ArmRow):
        return row.status != "ok"
    if row.status != "ok":
        return not row.measured.server_lost
    return any(not check.outside for check in row.failed_checks)


def reason(row: Row) -> str:
    """Return why a row is not valid."""
    if row.status != "ok":
        return str(row.reason)
    return "; ".join(f"{check.name}: {check.detail}" for check in row.failed_checks)
