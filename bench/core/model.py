"""A model of the closed loop: expected throughput, and the knee.

Each of N fetches in flight takes the added latency L and a remainder r. The throughput in pages per second is
X(N) = min(N / (L + r), 1 / c), because a client whose core needs c per page cannot exceed 1 / c. The two asymptotes
meet at the knee, N* = (L + r) / c.

These are the asymptotic bounds of closed queueing networks (P. J. Denning and J. P. Buzen, "The Operational Analysis of
Queueing Network Models", 1978; E. D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5). Pure.
"""

import math
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from inflight.bench.core.cells import Cell, pages_per_s
from inflight.bench.frame.statistics import CONFIDENCE
from inflight.bench.rows.files import Row

LEAST_CAPS = 4
"""Minimum number of numbers in flight for a fit."""
FULL = 0.95
"""Minimum share of its core at which a client has no CPU time left: more CPU time per page lowers throughput."""
CLEARLY_ABOVE = 1.5
"""Multiple of the knee that is clearly above it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The model that fits one strategy's throughput at one added latency."""

    added_ns: float
    """L, the mean of the added latency."""
    besides_ns: float
    """r, the remaining time of a fetch; at least 0."""
    cpu_ns: float
    """c, from the ceiling 1 / c: the time per page when the core is full."""
    knee: float
    """N* = (L + r) / c."""
    low: float
    high: float
    """Ends of the knee's 95 % interval, from the covariance of the fit."""

    @property
    def ceiling_per_s(self) -> float:
        """Maximum pages per second."""
        return 1e9 / self.cpu_ns

    def per_s(self, in_flight: float) -> float:
        """Return the pages per second at a number in flight."""
        return min(in_flight / (self.added_ns + self.besides_ns) * 1e9, self.ceiling_per_s)


@dataclass(frozen=True, slots=True)
class NoFit:
    """Why there is no fit."""

    reason: str


def knee(added_ns: float, cpu_ns: float) -> float:
    """Return (L + c) / c: the knee of a loop whose fetches take only their latency and their CPU time."""
    return (added_ns + cpu_ns) / cpu_ns


def bound_per_s(in_flight: float, added_ns: float, cpu_ns: float) -> float:
    """Return the maximum pages per second of that loop, X(N) = min(N / (L + c), 1 / c), reached far from the knee."""
    return min(in_flight / (added_ns + cpu_ns), 1 / cpu_ns) * 1e9


def core_share(row: Row) -> float:
    """Return the client's CPU time as a share of the measured time: 1 is a full core."""
    if row.kind == "arm":
        return float(row.measured.cpu_share)
    cpu_ns: int = row.measured.cpu_user_ns + row.measured.cpu_system_ns
    makespan_ns: int = row.measured.makespan_ns
    return cpu_ns / max(1, makespan_ns)


def fit(cells: Sequence[Cell]) -> Fit | NoFit:
    """Fit the model to the valid rows of one strategy at one added latency, of one setting.

    The fit is least squares of the logarithm (``scipy.optimize.curve_fit``), so that a thousand in flight weigh no more
    than one. L is known; r and c are fitted. There is no fit without numbers in flight on both sides of the knee, or if
    the core was not full beyond it, because 1 / c is a ceiling of CPU time. A crawl with fewer pages than its cap is
    left out, because it never reached the cap.
    """
    used = [cell for cell in cells if cell.pages >= cell.in_flight]
    points = [
        (cell.in_flight, rate) for cell in used for row in cell.valid_rows if (rate := pages_per_s(row)) and rate > 0
    ]
    caps = sorted({cap for cap, _ in points})
    if len(caps) < LEAST_CAPS:
        return NoFit(f"needs {LEAST_CAPS} numbers in flight with valid trials, has {len(caps)}")
    found = _fit(points, caps, float(used[0].mean_latency_ns))
    if isinstance(found, Fit):
        beyond = [row for cell in used for row in cell.valid_rows if cell.in_flight > found.knee]
        if statistics.median(map(core_share, beyond)) < FULL:
            return _not_full(caps[-1])
    return found


def _not_full(cap: int) -> NoFit:
    return NoFit(f"the core was not full with {cap:,} in flight: the ceiling was not reached")


def _fit(points: Sequence[tuple[int, float]], caps: Sequence[int], added_ns: float) -> Fit | NoFit:
    import numpy as np
    from scipy.optimize import OptimizeWarning, curve_fit
    from scipy.stats import t

    numbers = np.log([cap for cap, _ in points])
    rates = np.log([rate / 1e9 for _, rate in points])
    least = math.log(added_ns) if added_ns else -math.inf

    def model(log_n: object, log_turn: float, log_cpu: float) -> object:
        return np.minimum(np.asarray(log_n) - log_turn, -log_cpu)

    def start(cap: int) -> tuple[float, float]:
        """Return the best parameters for a knee just above ``cap``: each asymptote through its own points."""
        rising = numbers <= math.log(cap)
        return max(least, float(np.mean((numbers - rates)[rising]))), float(-np.mean(rates[~rising]))

    def error(parameters: tuple[float, float]) -> float:
        return float(np.sum((np.asarray(model(numbers, *parameters)) - rates) ** 2))

    begin = min((start(cap) for cap in caps[:-1]), key=error)
    begin = max(begin[0], least + 1e-9) if added_ns else begin[0], begin[1]  # strictly inside its bounds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # a covariance that is not known is infinite, and seen below
        (log_turn, log_cpu), covariance = curve_fit(
            model, numbers, rates, p0=begin, bounds=([least, -math.inf], [math.inf, math.inf])
        )
    log_knee = float(log_turn - log_cpu)
    if log_knee >= math.log(caps[-1]):
        return _not_full(caps[-1])
    if log_knee <= math.log(caps[0]):
        return NoFit(f"throughput no longer rises from {caps[0]:,} in flight on: the knee is below")
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if not math.isfinite(variance):
        return NoFit("the trials do not determine the knee")
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(points) - 2)) * math.sqrt(max(0.0, variance))
    turn_ns, cpu_ns = math.exp(log_turn), math.exp(log_cpu)
    return Fit(
        added_ns,
        max(0.0, turn_ns - added_ns),
        cpu_ns,
        math.exp(log_knee),
        math.exp(log_knee - half),
        math.exp(min(log_knee + half, 700.0)),
    )
