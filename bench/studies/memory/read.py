"""The subjects of memory trials, strategies and idle tasks: memory per task, and what was held at once. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import layers
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import Spread, spread
from inflight.bench.core.layers import FULL, Cost, Point
from inflight.bench.frame.slopes import Slope
from inflight.bench.present import words
from inflight.bench.rows.crawls import Idle, Memory
from inflight.bench.rows.files import Row

IDLE, PARKED, IN_FLIGHT = GROUPS = (
    "idle threads and tasks",
    "parked strategies",
    "fetches in flight",
)
"""Groups in display order."""
_BLOCK_NAMES = {
    "asyncio_task": "asyncio task",
    "generator_task": "generator + task",
    "asyncio_task_socket": "asyncio + socket",
    "asyncio_task_stream": "asyncio + stream",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """An idle thread or task, or a strategy in one setting: its completed trials and the memory per task."""

    strategy: str
    stack: str
    group: str
    stage: str
    """Stage of the figures in rows: ``held`` or ``parked``."""
    rows: tuple[Row, ...]
    cost: Cost

    @property
    def name(self) -> str:
        """The displayed name: printable and short."""
        if self.group != IDLE:
            return words.name(self.strategy)
        return words.name(_BLOCK_NAMES.get(self.strategy, self.strategy))

    @property
    def valid_rows(self) -> list[Row]:
        """The valid rows."""
        return [row for row in self.rows if row.valid]

    @property
    def invalid_rows(self) -> list[Row]:
        """The rows with a failed check."""
        return [row for row in self.rows if not row.valid]

    @property
    def fitted(self) -> dict[str, Slope]:
        """The slopes of the layers that have one."""
        return {name: slope for name, slope in self.cost.layers.items() if isinstance(slope, Slope)}

    @property
    def unknown(self) -> list[str]:
        """The layers without a slope."""
        return [name for name in self.cost.layers if name not in self.fitted]

    def added(self, rows: Iterable[Row], layer: str = FULL) -> list[Point]:
        """Return (N, bytes of the layer added since nothing was held) of the rows that have it."""
        found = ((layers.n_of(row), layers.added(row, layer, self.stage)) for row in rows)
        return [(n, size) for n, size in found if size is not None]

    def straight(self, layer: str) -> Slope | None:
        """Return the slope of a layer if it is constant and its interval is above zero."""
        slope = self.cost.slopes[layer]
        return slope if isinstance(slope, Slope) and slope.straight and slope.low > 0 else None

    @property
    def numbers(self) -> set[int]:
        """The N of the valid rows whose added memory is known in all layers."""
        return {n for n, _ in positive(self.added(self.valid_rows))}

    def added_at(self, number: int) -> float:
        """Return the bytes added at one of ``numbers``: of the fitted line, else a median."""
        points, full = positive(self.added(self.valid_rows)), self.cost.full
        fitted = line_start(points, full) + full.per_fetch * number if isinstance(full, Slope) else 0
        return fitted if fitted > 0 else median(size for n, size in points if n == number)

    @property
    def why_unknown(self) -> str:
        """Why the slope of all layers is not compared with others; empty if it is constant and above zero."""
        full, valid = self.cost.full, self.valid_rows
        if isinstance(full, Slope):
            return "" if self.straight(FULL) else "too uncertain" if full.straight else "the slope is not constant"
        quiet = [row for row in valid if getattr(row.measured, f"{self.stage}_disturbed") is None]
        if quiet and not self.added(quiet):
            return "this kernel does not report all layers"
        tried, left = ({layers.n_of(row) for row in rows} for rows in (valid, quiet))
        return "other programs disturbed the readings" if len(left) < len(tried) else "too few valid trials"


def positive(points: Iterable[Point]) -> list[Point]:
    """Return the points that a logarithmic axis can show: above zero."""
    return [(n, size) for n, size in points if n > 0 and size > 0]


def line_start(points: Sequence[Point], slope: Slope) -> float:
    """Return the bytes at N = 0 of the fitted line through added memory.

    The fit itself includes the memory of the empty process; the points do not.
    """
    return median(size - slope.per_fetch * n for n, size in points)


def by_setting(rows: Sequence[Row]) -> list[tuple[c.Setting | None, list[Subject]]]:
    """Return the subjects of each setting of the memory trials; idle threads and tasks belong to the first."""
    found = c.cells(rows, "memory")
    settings: list[c.Setting | None] = [*c.settings(found)] or [None]
    own = [[row for cell in found if cell.setting == setting for row in cell.rows] for setting in settings]
    own[0] += [row for row in rows if isinstance(row, Idle)]
    return [(setting, subjects(some)) for setting, some in zip(settings, own, strict=True)]


def subjects(rows: Sequence[Row]) -> list[Subject]:
    """Return the subjects of memory and idle rows of one setting, by group, the cheapest first."""
    read = [row for row in rows if isinstance(row, Memory | Idle) and row.status == "ok"]
    found = []
    for strategy in dict.fromkeys(row.strategy for row in read):
        own = [row for row in read if row.strategy == strategy]
        idle, crawls = ([row for row in own if isinstance(row, kind)] for kind in (Idle, Memory))
        parked = [row for row in crawls if layers.size_of(row, "user", "parked") is not None]
        for group, stage, some in ((IDLE, "held", idle), (PARKED, "parked", parked), (IN_FLIGHT, "held", crawls)):
            if some:
                found.append(Subject(strategy, some[0].stack, group, stage, tuple(some), layers.cost(some, stage)))
    return sorted(found, key=_rank)


def _rank(subject: Subject) -> tuple[int, bool, float, str]:
    """Order by group, then by memory per task; subjects without all layers are last."""
    known = sum(slope.per_fetch for slope in subject.fitted.values())
    full = subject.cost.full
    size = full.per_fetch if isinstance(full, Slope) else known
    return GROUPS.index(subject.group), not isinstance(full, Slope), size, subject.strategy


def tops(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells with the highest timed number in flight of each setting."""
    many = []
    for setting in c.settings(found):
        own = [cell for cell in found if cell.setting == setting]
        timed = [cell.in_flight for cell in own if any(row.measured.reach_ns is not None for row in cell.rows)]
        many += [cell for cell in own if timed and cell.in_flight == max(timed)]
    return many


def is_timed(row: Row) -> bool:
    """Tell whether a trial has the times of reaching and draining."""
    return row.status == "ok" and row.measured.drain_ns is not None


def reach(cell: Cell) -> Spread | None:
    """Return the time until the gate held all, in nanoseconds, in the valid trials."""
    return c.spread_of(cell.valid_rows, lambda row: row.measured.reach_ns)


def is_parked(row: Row) -> bool:
    """Tell whether a trial parked its workers before the end, so that its ``drain_ns`` is that of one fetch."""
    return row.measured.parked_uss_bytes is not None


def held(cell: Cell) -> dict[str, Any]:
    """Return times and memory of a cell's held fetches, from valid rows, or invalid ones if there are no others."""
    rows = cell.valid_rows or cell.invalid_rows
    keys = ("reach_ns", "reach_cpu_ns", "reach_server_cpu_ns", "drain_ns")
    return {
        "strategy": cell.strategy,
        "connection": cell.setting.connection,
        "in_flight": cell.in_flight,
        "valid": bool(cell.valid_rows),
        **{key: _median([getattr(row.measured, key) for row in rows]) for key in keys},
        "added_bytes": _median([layers.added(row, FULL) for row in rows]),
        "server_bytes": _median([row.measured.held_server_uss_bytes for row in rows]),
        **{
            key: max(c.present(getattr(row.measured, key) for row in rows), default=None)
            for key in ("listen_drops", "failed_pages")
        },
    }


def _median(values: Sequence[float | None]) -> float | None:
    known = c.present(values)
    return spread(known).median if known else None
