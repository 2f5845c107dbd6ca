"""Change points of a series, found by Apache Otava. Pure.

The method is that of "Hunter: Using Change Point Detection to Hunt for Performance Regressions" (M. Fleming and others,
2023, https://doi.org/10.1145/3578244.3583719): a divisive search for the points between which the values differ most,
and a t test of the two sides of each.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inflight.bench.frame.statistics import MARGIN

MOST_P = 0.001
"""Largest p value of a change point: the default of Otava."""
LEAST_CHANGE = math.expm1(MARGIN)
"""Least change that counts, as a share: that of all comparisons."""
LEAST_RUNS = 5
"""Minimum number of values of a series in which change points are looked for."""
MISSING = (
    "change points need apache-otava, which is not installed: pip install 'inflight-bench[history]', or, to keep your "
    "version of NumPy, pip install --no-deps apache-otava"
)


@dataclass(frozen=True, slots=True)
class Split:
    """A change point: the values from ``index`` on differ from those before it."""

    index: int
    before: float
    after: float
    """Means of the values on both sides, as far as the next change points."""
    p: float


Find = Callable[[Sequence[float]], list[Split]]


def finder() -> Find | None:
    """Return the function that finds the change points of a series; None if Apache Otava is not installed."""
    try:
        from otava.analysis import compute_change_points
    except ImportError:
        return None

    def find(values: Sequence[float]) -> list[Split]:
        if len(values) < LEAST_RUNS:
            return []
        found, _ = compute_change_points(list(values), max_pvalue=MOST_P, min_magnitude=LEAST_CHANGE)
        return [
            Split(int(one.index), float(one.stats.mean_1), float(one.stats.mean_2), float(one.stats.pvalue))
            for one in found
        ]

    return find
