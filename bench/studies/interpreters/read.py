"""The matrix of strategies and interpreters: timed cells and memory per fetch. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inflight.bench.core import cells as c
from inflight.bench.core import layers, workloads
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import NoSlope, Slope
from inflight.bench.frame.statistics import Interval, compare
from inflight.bench.rows.crawls import Memory
from inflight.bench.rows.files import Row


@dataclass(frozen=True, slots=True)
class Matrix:
    """One workload: the cell of each strategy on each interpreter."""

    workload: Cell
    """Any of the cells, for the values that all share."""
    interpreters: tuple[str, ...]
    """Labels; the first is the one that the others are compared with."""
    strategies: tuple[str, ...]
    """Shared stack first, then the least CPU time on the first interpreter."""
    cells: dict[tuple[str, str], Cell]

    @property
    def reference(self) -> Cell | None:
        """The cell that the others of a block are compared with; None if it is of another workload."""
        return next((cell for cell in self.cells.values() if c.role(cell.rows[0]) == "reference"), None)

    def ratio(self, strategy: str, interpreter: str, figure: c.Read) -> Interval | None:
        """Return a figure on an interpreter over that on the first one, by the blocks that both were in."""
        one, first = (self.cells.get((strategy, label)) for label in (interpreter, self.interpreters[0]))
        return c.ratio(one, first, figure) if one and first and one is not first else None


def matrices(rows: Sequence[Row]) -> list[Matrix]:
    """Return the matrix of each workload of timed cells; none if the run has fewer than two interpreters."""
    labels = interpreters(rows)
    if len(labels) < 2:
        return []
    found: dict[tuple[object, ...], dict[tuple[str, str], Cell]] = {}
    for cell in c.cells(rows):
        arm = c.arm_of(cell.rows[0])
        if arm is not None and arm.interpreter and (arm.cores or 1) == 1:  # a study of cores has the others
            workload = cell.setting, cell.mean_latency_ns, cell.latency, cell.in_flight
            found.setdefault(workload, {})[arm.strategy, arm.interpreter] = cell
    return [Matrix(next(iter(own.values())), labels, _ordered(own, labels[0]), own) for own in found.values()]


def placebo(rows: Sequence[Row], matrix: Matrix, figure: c.Read) -> Interval | None:
    """Return a figure of the placebo arm over that of its reference: one interpreter, measured twice; None without."""
    first = matrix.reference
    original = None if first is None else first.valid_figure(figure)
    if first is None or original is None:
        return None
    where = workloads.identity(first.rows[0].workload)
    own = [row for row in rows if c.is_placebo(row) and row.valid and workloads.identity(row.workload) == where]
    again = c.spread_of(own, figure)
    return compare(again.logs, original.logs).interval().ratio() if again else None


def interpreters(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the labels of the interpreters, that of the reference arm first, then by version."""
    arms = [arm for row in rows if (arm := c.arm_of(row)) is not None and arm.interpreter]
    first = {arm.interpreter for arm in arms if arm.role == "reference"}
    labels = {arm.interpreter for arm in arms if arm.interpreter}
    return tuple(sorted(labels, key=lambda label: (label not in first, _numbers(label), label)))


def memory(rows: Sequence[Row]) -> dict[tuple[str, str], Slope | NoSlope]:
    """Return the memory per additional fetch in flight, in all layers, of each strategy on each interpreter."""
    own: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        arm = c.arm_of(row)
        if isinstance(row, Memory) and row.status == "ok" and arm is not None and arm.interpreter:
            own.setdefault((arm.strategy, arm.interpreter), []).append(row)
    return {key: layers.cost(some, "held").full for key, some in own.items()}


def samples(rows: Iterable[Row]) -> dict[str, Row]:
    """Return a row of each interpreter whose worker reported its settings."""
    found: dict[str, Row] = {}
    for row in rows:
        arm = c.arm_of(row)
        if arm is not None and arm.interpreter and c.knob(row, "python"):
            found.setdefault(arm.interpreter, row)
    return found


def _ordered(own: dict[tuple[str, str], Cell], first: str) -> tuple[str, ...]:
    def rank(strategy: str) -> tuple[bool, float, str]:
        cell = own.get((strategy, first)) or next(cell for (name, _), cell in own.items() if name == strategy)
        figure = cell.figure(c.cpu_per_page_ns)
        return cell.stack != "shared", figure.estimate if figure else float("inf"), strategy

    return tuple(sorted({strategy for strategy, _ in own}, key=rank))


def _numbers(label: str) -> list[int]:
    """Return the numbers of a version, so that 3.9 is before 3.11."""
    digits = "".join(char if char.isdigit() else " " for char in label)
    return [int(part) for part in digits.split()]
