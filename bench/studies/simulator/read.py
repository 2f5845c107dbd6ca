"""What the simulator takes from a run: the CPU time per page of each model, and the measured points. Pure.

The formula is the bound of ``inflight.bench.core.model``: X(N) = min(N / (L + c + w), 1 / (c + w)), for N fetches in
flight, added latency L, the model's own CPU time per page c and CPU work per page w. ``templates/simulator.js`` has the
same formula; a test compares the two.
"""

import math
import statistics
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell
from inflight.bench.core.model import bound_per_s, core_share, knee
from inflight.bench.rows.files import Row

MOST_IN_FLIGHT = 10_000
"""Largest number in flight that is drawn."""
TIE = 0.05
"""Models tie if the slowest is at most this share slower than the fastest."""
USUAL_IN_FLIGHT = 100
"""Number in flight at the start, and of the questions."""
LEAST_MODELS = 2
ONE_CORE = 1.1
"""Maximum share of a core that a model on one core can show; beyond that it used a second core."""
_STEPS = 60
"""Halvings of an interval: more than a float has bits."""


@dataclass(frozen=True, slots=True, order=True)
class Load:
    """What all models have in common: the values of two sliders."""

    latency_ns: float = 0
    work_ns: float = 0
    """CPU work per page."""


USUAL = Load(10_000_000)
"""The load at the start, if the run has no latency of its own."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model and its costs."""

    strategy: str
    costs: tuple[tuple[int, float], ...]
    """(number in flight, CPU time per page in nanoseconds) without latency and CPU work, in ascending order."""

    def cpu_ns(self, in_flight: float) -> float:
        """Return the CPU time per page at a number in flight.

        Between two measured numbers it is on a straight line in logarithms. Beyond the measured numbers it is constant.
        """
        at = bisect(self.costs, in_flight, key=lambda cost: cost[0])
        if at in (0, len(self.costs)):
            return self.costs[max(0, at - 1)][1]
        (low, low_ns), (high, high_ns) = self.costs[at - 1 : at + 1]
        share = math.log(in_flight / low) / math.log(high / low)
        return low_ns * math.exp(share * math.log(high_ns / low_ns))

    def per_s(self, in_flight: float, load: Load) -> float:
        """Return the predicted pages per second."""
        return bound_per_s(in_flight, load.latency_ns, self.cpu_ns(in_flight) + load.work_ns)

    def knee(self, load: Load) -> float:
        """Return the least number in flight that fills the core."""
        low = 1.0
        for high, _ in self.costs:
            if high >= self._needed(high, load):
                return self._between(low, high, load)
            low = high
        return self._needed(low, load)

    def _needed(self, in_flight: float, load: Load) -> float:
        """Return the knee for the CPU time per page at this number in flight, taken as constant."""
        return knee(load.latency_ns, self.cpu_ns(in_flight) + load.work_ns)

    def _between(self, low: float, high: float, load: Load) -> float:
        for _ in range(_STEPS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if middle >= self._needed(middle, load) else (middle, high)
        return high


@dataclass(frozen=True, slots=True)
class Point:
    """One measured cell of the run."""

    strategy: str
    load: Load
    in_flight: int
    per_s: float
    cpu_ns: float | None
    """CPU time per page, with the CPU work."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One measured cell with its prediction."""

    point: Point
    predicted_per_s: float
    cpu_ns: float
    """CPU time per page of the prediction, with the CPU work."""

    @property
    def off(self) -> float:
        """Logarithm of predicted over measured pages per second; positive if the prediction is too high."""
        return math.log(self.predicted_per_s / self.point.per_s)


@dataclass(frozen=True, slots=True)
class Simulated:
    """All that the simulator knows of a run."""

    models: tuple[Model, ...]
    """The cheapest with ``USUAL_IN_FLIGHT`` first."""
    points: tuple[Point, ...]
    left_out: Mapping[str, str]
    """Other strategies of the run, each with the reason."""

    @property
    def loads(self) -> list[Load]:
        """The loads that were measured."""
        return sorted({point.load for point in self.points})

    @property
    def checked(self) -> list[Checked]:
        """The measured points with latency or CPU work, with their predictions; the largest error first."""
        return self._errors(point for point in self.points if point.load != Load())

    @property
    def at_the_source(self) -> list[Checked]:
        """The measured points of which the costs are, with their predictions; the largest error first."""
        return self._errors(point for point in self.points if point.load == Load())

    def _errors(self, points: Iterable[Point]) -> list[Checked]:
        own = {model.strategy: model for model in self.models}
        found = [_checked(own[point.strategy], point) for point in points]
        return sorted(found, key=lambda one: -abs(math.expm1(one.off)))


def simulated(rows: Iterable[Row]) -> Simulated | None:
    """Return what the simulator needs of a run; None without costs of two models that share a setting.

    Of several settings (connections, site), the one with the most cells that has such costs is taken.
    """
    found = [cell for cell in c.cells(rows) if cell.pages >= cell.in_flight]
    groups = dict.fromkeys((setting.connection, setting.site) for setting in c.settings(found))
    for group in groups:
        own = _of([cell for cell in found if (cell.setting.connection, cell.setting.site) == group])
        if len(own.models) >= LEAST_MODELS:
            return own
    return None


def ties_up_to(models: Sequence[Model], load: Load) -> int:
    """Return the number in flight up to which all models tie; 0 if they do not with one in flight."""
    for number in range(1, MOST_IN_FLIGHT + 1):
        if not tied(models, load, number):
            return number - 1
    return MOST_IN_FLIGHT


def tied(models: Sequence[Model], load: Load, in_flight: int) -> bool:
    """Tell whether the slowest model is at most ``TIE`` slower than the fastest."""
    rates = [model.per_s(in_flight, load) for model in models]
    return min(rates) >= (1 - TIE) * max(rates)


def _checked(model: Model, point: Point) -> Checked:
    rate = model.per_s(point.in_flight, point.load)
    return Checked(point, rate, model.cpu_ns(point.in_flight) + point.load.work_ns)


def _of(found: Sequence[Cell]) -> Simulated:
    models, left_out, names = list[Model](), dict[str, str](), c.strategies_of(found)
    for name in names:
        own = [cell for cell in found if cell.strategy == name]
        costs = _costs(own)
        if reason := _reason(own, costs, names):
            left_out[name] = reason
        else:
            models.append(Model(name, costs))
    models.sort(key=lambda model: (model.cpu_ns(USUAL_IN_FLIGHT), model.strategy))
    kept = {model.strategy for model in models}
    points = (_point(cell) for cell in found if cell.strategy in kept)
    return Simulated(tuple(models), tuple(point for point in points if point), left_out)


def _reason(own: Sequence[Cell], costs: Sequence[tuple[int, float]], names: Sequence[str]) -> str:
    """Return why a strategy has no curve; empty if it has one. ``names`` are all strategies."""
    arm = c.arm_of(own[0].rows[0])
    if own[0].stack == "none":
        return "part of a page, not a model"
    if arm and arm.strategy != own[0].strategy and arm.strategy in names:
        return "a variant of another model"
    if any(_uses_more_cores(cell) for cell in own):
        return "may use more than one core, and the formula is for one"
    if not any(map(_is_bare, own)):
        return "not measured at no added latency and without CPU work"
    if not costs:
        return "no valid trial at no added latency and without CPU work"
    return "measured with one fetch in flight only" if costs[-1][0] == 1 else ""


def _uses_more_cores(cell: Cell) -> bool:
    arms = [arm for row in cell.rows if (arm := c.arm_of(row))]
    shares = [core_share(row) for row in cell.valid_rows]
    return any((arm.cores or 1) > 1 for arm in arms) or (bool(shares) and statistics.median(shares) > ONE_CORE)


def _is_bare(cell: Cell) -> bool:
    return not cell.mean_latency_ns and not cell.cpu_ns


def _costs(own: Sequence[Cell]) -> tuple[tuple[int, float], ...]:
    bare = filter(_is_bare, own)
    known = {cell.in_flight: figure.estimate for cell in bare if (figure := cell.valid_figure(c.cpu_per_page_ns))}
    return tuple(sorted(known.items()))


def _point(cell: Cell) -> Point | None:
    rate, cpu = cell.valid_figure(c.pages_per_s), cell.valid_figure(c.cpu_per_page_ns)
    if rate is None:
        return None
    load = Load(cell.mean_latency_ns, cell.cpu_ns)
    return Point(cell.strategy, load, cell.in_flight, rate.estimate, cpu.estimate if cpu else None)
