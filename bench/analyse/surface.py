"""One strategy's throughput over latency, CPU work and number in flight, as a formula with few parameters. Pure.

A closed loop with N fetches in flight (``bench.analyse.model``): a page keeps the core for s = c + w, c of its own and
w of CPU work, and waits for L + r besides, L the added latency. A long crawl brings X = min(N / (L + r + s), 1 / s)
pages per second: limited by latency below the knee N* = (L + r + s) / s, by its core above it.

A crawl of P pages also begins and ends. The core works for P times s and starts N workers, each for o (a connection, a
thread); the first answer comes after L + r. Or the last worker, which starts N - 1 times s after the first, does its
turns, P / N of them, rounded up. It takes the greater of the two: this is the loop with constant times, worked out.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bench.analyse.cells import Cell
from bench.analyse.observed import Observed, Wanted, distance, observed

if TYPE_CHECKING:
    import numpy as np

LEAST_WORKLOADS = 6
"""Fewer do not tell a formula of three parameters from its noise."""
NEAREST = 6
"""So many measured workloads tell how sure a figure between them is."""
PAYS = 0.9
"""What is added to the formula must bring its error below this share of what it was."""
NEAR, FAR = 0.25, 3.0
"""Distances, in logarithms: what is nearer than the first is as near as can be; a measured workload as far away as the
second counts as much as the formula by itself."""
_LEAST, _MOST = math.log(1e-3), math.log(1e12)
"""Of a parameter in nanoseconds: what keeps a search within the numbers that there are."""
_STEEPEST = 2.0
"""Likewise, of the power with which c grows or shrinks."""
_Parameters = tuple[float, ...]
"""Logarithms of c, r and o in nanoseconds; then, where c grows with the number in flight, its exponent."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The formula that fits one strategy."""

    strategy: str
    cpu_ns: float
    """c, with one fetch in flight."""
    besides_ns: float
    """r."""
    start_ns: float
    """o."""
    growth: float
    """c grows with the number in flight to this power; 0 where that does not pay."""
    bent: bool
    """Whether figures are moved by the errors of the measured workloads around them, because that pays."""
    observed: tuple[Observed, ...]
    residuals: tuple[float, ...]
    """ln(measured / formula) of each."""
    errors: tuple[float, ...]
    """ln(measured / predicted) of each, predicted from all the others."""

    @property
    def error(self) -> float:
        """The mean size of the errors: by how much the formula misses a workload that was not measured."""
        return fmean(map(abs, self.errors))

    def error_near(self, wanted: Wanted) -> float:
        """Return the root mean square of the errors of the nearest workloads, the nearer the more weight."""
        near = self.nearest(wanted)
        weights = [_weight(point, wanted) for point, _ in near]
        squares = math.fsum(weight * error**2 for weight, (_, error) in zip(weights, near, strict=True))
        return math.sqrt(squares / math.fsum(weights))

    def page_ns(self, work_ns: float, in_flight: float) -> float:
        """Return s, the time that a page keeps the core."""
        return self.cpu_ns * math.pow(in_flight, self.growth) + work_ns

    def per_s(self, wanted: Wanted) -> float:
        """Return the pages per second."""
        found = float(_formula(_columns([wanted]), self._parameters())[0])
        return math.exp(found + (_moved(self.observed, self.residuals, wanted) if self.bent else 0.0))

    def knee(self, latency_ns: float, work_ns: float) -> float:
        """Return N*, from which on the core is full; where c grows, by fixed-point iteration."""
        knee = 1.0
        for _ in range(50 if self.growth else 1):
            page_ns = self.page_ns(work_ns, knee)
            knee = max(1.0, (latency_ns + self.besides_ns + page_ns) / page_ns)
        return knee

    def full_below_ns(self, work_ns: float, in_flight: int) -> float:
        """Return the added latency below which the core is full: (N - 1) s - r; it may be below 0."""
        return (in_flight - 1) * self.page_ns(work_ns, in_flight) - self.besides_ns

    def nearest(self, wanted: Wanted) -> list[tuple[Observed, float]]:
        """Return the measured workloads nearest to this one (in logarithms), each with its error."""
        order = sorted(range(len(self.observed)), key=lambda n: distance(self.observed[n].at, wanted))
        return [(self.observed[n], self.errors[n]) for n in order[:NEAREST]]

    def _parameters(self) -> _Parameters:
        return (math.log(self.cpu_ns), math.log(self.besides_ns), math.log(self.start_ns), self.growth)


@dataclass(frozen=True, slots=True)
class NoSurface:
    """Why there is no formula."""

    strategy: str
    reason: str


def fit(strategy: str, cells: Iterable[Cell]) -> Surface | NoSurface:
    """Fit the formula to one strategy's cells, of one site and one use of connections.

    By least squares of the logarithm (``scipy.optimize.least_squares``). What would make it more than the formula, a c
    that grows with the number in flight and corrections by the errors nearby, is taken only where it pays: where it
    lowers the error of workloads that are left out, each in turn, and predicted by the others.
    """
    points = observed(cells)
    if len(points) < LEAST_WORKLOADS:
        return NoSurface(strategy, f"needs {LEAST_WORKLOADS} workloads with valid trials, has {len(points)}")
    found = _plain(strategy, points, grows=False)
    if len({point.at.in_flight for point in points}) > 1 and len(points) > LEAST_WORKLOADS:
        found = _better(found, _plain(strategy, points, grows=True))
    return _better(found, replace(found, bent=True, errors=_bent_errors(found)))


def _better(simple: Surface, other: Surface) -> Surface:
    return other if other.error < PAYS * simple.error else simple


def _plain(strategy: str, points: Sequence[Observed], *, grows: bool) -> Surface:
    import numpy as np

    columns, rates = _columns([point.at for point in points]), np.log([point.per_s for point in points])
    found = _search(columns, rates, (*_start(points), *([0.0] if grows else [])))
    residuals = rates - _formula(columns, found)
    errors = []
    for n in range(len(points)):
        others = np.arange(len(points)) != n
        without = _search(columns[:, others], rates[others], found)
        errors.append(float(rates[n] - _formula(columns[:, n : n + 1], without)[0]))
    cpu, besides, start = (math.exp(min(max(value, _LEAST), _MOST)) for value in found[:3])
    growth = min(max(found[3], -_STEEPEST), _STEEPEST) if grows else 0.0
    return Surface(
        strategy, cpu, besides, start, growth, False, tuple(points), tuple(map(float, residuals)), tuple(errors)
    )


def _start(points: Sequence[Observed]) -> tuple[float, float, float]:
    """Return where the search begins: c by the CPU time that was measured, r by the shortest turn, o as much as c."""
    costs = [point.cpu_per_page_ns - point.at.work_ns for point in points if point.cpu_per_page_ns is not None]
    cpu = max(1_000.0, min(costs or [1e9 / point.per_s - point.at.work_ns for point in points]))
    turns = [1e9 * point.at.in_flight / point.per_s - point.at.latency_ns - point.at.work_ns for point in points]
    return math.log(cpu), math.log(max(10_000.0, min(turns) - cpu)), math.log(cpu)


def _search(columns: "np.ndarray[Any, Any]", rates: "np.ndarray[Any, Any]", begin: _Parameters) -> _Parameters:
    from scipy.optimize import least_squares

    found = least_squares(lambda parameters: _formula(columns, parameters) - rates, begin, method="lm")
    return tuple(map(float, found.x))


def _columns(many: Sequence[Wanted]) -> "np.ndarray[Any, Any]":
    """Return latency, work, number in flight and pages (infinite where None), a column a workload."""
    import numpy as np

    pages = [math.inf if one.pages is None else one.pages for one in many]
    return np.array([[one.latency_ns for one in many], [one.work_ns for one in many], [one.in_flight for one in many],
                     pages], dtype=float)  # fmt: skip


def _formula(columns: "np.ndarray[Any, Any]", parameters: Sequence[float]) -> "np.ndarray[Any, Any]":
    """Return the logarithm of the pages per second."""
    import numpy as np

    latency, work, in_flight, pages = columns
    cpu, besides, start = np.exp(np.clip(np.asarray(parameters[:3]), _LEAST, _MOST))
    number = np.minimum(in_flight, pages)
    growth = min(max(parameters[3], -_STEEPEST), _STEEPEST) if len(parameters) > 3 else 0.0
    page = cpu * number**growth + work
    turn = latency + besides + page
    with np.errstate(invalid="ignore"):  # infinitely many pages are seen to below
        turns = np.ceil(pages / number)
        last = np.where(np.isinf(pages), 0.0, pages - (turns - 1) * number)
        whole = np.maximum(latency + besides + pages * page, turns * turn + (last - 1) * page) + number * start
        steady = np.log(np.minimum(number / turn, 1 / page))
        return np.asarray(np.where(np.isinf(pages), steady, np.log(pages / whole)) + math.log(1e9))


def _weight(point: Observed, wanted: Wanted) -> float:
    return (distance(point.at, wanted) ** 2 + NEAR**2) ** -2


def _moved(points: Sequence[Observed], residuals: Sequence[float], wanted: Wanted) -> float:
    """Return the mean of the residuals, the nearer the more weight; the formula counts as a residual of 0."""
    weights = [_weight(point, wanted) for point in points]
    return math.fsum(w * e for w, e in zip(weights, residuals, strict=True)) / (math.fsum(weights) + FAR**-4)


def _bent_errors(plain: Surface) -> tuple[float, ...]:
    """Return the errors when each workload left out is predicted with the residuals of the others."""
    found = []
    for n, point in enumerate(plain.observed):
        others = [k for k in range(len(plain.observed)) if k != n]
        moved = _moved([plain.observed[k] for k in others], [plain.residuals[k] for k in others], point.at)
        found.append(plain.errors[n] - moved)
    return tuple(found)
