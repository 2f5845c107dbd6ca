"""Statistics of comparisons: means of log ratios over blocks; and a model of the closed loop. Pure.

``contrast`` and ``ratios`` (all outputs), ``ab`` and ``runs`` use the first, ``predict`` and ``blocks`` the second. All
values of comparisons are natural logarithms, so a difference is the logarithm of a ratio. The unit of analysis is the
block (a round of a run is a block). Values of common blocks are compared as pairs, as a disturbance affects the whole
block.

The model: each of N fetches in flight takes the added latency L and the CPU time c. The throughput in pages per second
is X(N) = min(N / (L + c), 1 / c), because a client whose core needs c per page cannot exceed 1 / c. The two asymptotes
meet at the knee, N* = (L + c) / c: beyond it, more in flight bring no more pages. These are the asymptotic bounds of
closed queueing networks (P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network Models", 1978; E.
D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5).
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any, Literal, TypeVar

CONFIDENCE = 0.95
"""Confidence of an interval; its complement is the level of a test."""
MARGIN = math.log(1.02)
"""Minimum difference that counts: 2 %."""
MOST = 709.0
"""Maximum argument of ``math.exp``."""
MIN_SD = 0.001
"""Minimum standard deviation: no timing repeats to better than 0.1 %, even if a few values agree by chance."""
MIN_CYCLES = 6
"""Minimum number of cycles for a trimmed mean."""
CLEARLY_ABOVE = 1.5
"""Multiple of the knee that is clearly above it."""

Key = TypeVar("Key", bound=Hashable)
"""What names a comparison of a family."""
Answer = Literal["differs", "same", "unknown", "unstable"]
"""What is known of a ratio: see ``ratios.Ratio.answer``."""
Logs = Mapping[Any, float]
"""One logarithm per block."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its confidence interval; one value alone has infinite ends."""

    estimate: float
    low: float
    high: float
    n: int

    def ratio(self) -> "Interval":
        """Return the interval of the ratio whose logarithm this is."""
        return Interval(exp(self.estimate), exp(self.low), exp(self.high), self.n)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of logarithms, or a difference of two means, with its standard error and degrees of freedom."""

    value: float
    error: float
    """Standard error; infinite for one value."""
    freedom: float
    """Degrees of freedom."""
    n: int
    """Number of values, or of pairs; of two unpaired sides, the smaller number."""

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the t interval."""
        half = t_quantile(self.freedom, (1 + confidence) / 2) * self.error
        return Interval(self.value, self.value - half, self.value + half, self.n)

    @property
    def p(self) -> float:
        """The two-sided p value of "no difference"."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(self.value) / self.error))

    def is_within(self, margin: float) -> bool:
        """Return whether the value is within a margin of 0, by two one-sided t tests (D. J. Schuirmann, 1987)."""
        interval = self.interval(2 * CONFIDENCE - 1)
        return -margin < interval.low and interval.high < margin


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean of at least one value; the error of one value is infinite."""
    n = len(values)
    sd = max(MIN_SD, stdev(values)) if n > 1 else math.inf
    return Estimate(fmean(values), sd / math.sqrt(n), max(1, n - 1), n)


def welch(a: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return the difference of the means of two unpaired sides of at least one value, with unequal variances.

    B. L. Welch, 1947; scipy's ``ttest_ind`` has no answer where a side does not vary.
    """
    return difference(mean(a), mean(other))


def difference(first: Estimate, other: Estimate) -> Estimate:
    """Return ``first - other`` of two estimates that do not depend on each other, as ``welch`` does."""
    error = math.hypot(first.error, other.error)
    n = min(first.n, other.n)
    if math.isinf(error):
        return Estimate(first.value - other.value, error, 1, n)
    freedom = error**4 / (first.error**4 / first.freedom + other.error**4 / other.freedom)
    return Estimate(first.value - other.value, error, freedom, n)


def compare(first: Logs, other: Logs) -> Estimate:
    """Return ``first - other``: by pairs if at least two blocks, and half of them, are common, else by Welch.

    Neither may be empty.
    """
    common = first.keys() & other.keys()
    if len(common) > 1 and 2 * len(common) >= max(len(first), len(other)):
        return mean([first[block] - other[block] for block in common])
    return welch(list(first.values()), list(other.values()))


# Ratios of arms: within a run, and between runs


def paired(first: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Return the trimmed mean of ``first - other`` over the cycles that both have; None for fewer than six.

    A quarter of the cycles is left out at each end: windows have heavy tails.
    """
    differences = sorted(first[cycle] - other[cycle] for cycle in first.keys() & other.keys())
    if len(differences) < MIN_CYCLES:
        return None
    trimmed = len(differences) // 4
    return fmean(differences[trimmed : len(differences) - trimmed])


def pooled(samples: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the standard deviation that all samples have about their own means, and its degrees of freedom.

    Samples of one value say nothing; without any other, the result is infinity and 0.
    """
    squares = 0.0
    freedom = 0
    for values in samples:
        center = fmean(values)
        squares += sum((value - center) ** 2 for value in values)
        freedom += len(values) - 1
    if not freedom:
        return math.inf, 0
    return max(MIN_SD, math.sqrt(squares / freedom)), freedom


def between(means: Sequence[float], errors: Sequence[float]) -> float:
    """Return the standard deviation between runs beyond the errors of their means, for at least two runs.

    The estimator of R. C. Paule and J. Mandel (1982): the weighted squares of the means are as large as expected.
    """
    from scipy.optimize import brentq

    def excess(variance: float) -> float:
        """Return by how much the weighted squares are larger than expected with this variance between runs."""
        weights = [1 / (error * error + variance) for error in errors]
        center = sum(weight * mean for weight, mean in zip(weights, means, strict=True)) / sum(weights)
        squares = sum(weight * (mean - center) ** 2 for weight, mean in zip(weights, means, strict=True))
        return squares - (len(means) - 1)

    if excess(0.0) <= 0:
        return 0.0
    most = len(means) * (max(means) - min(means)) ** 2
    return math.sqrt(brentq(excess, 0.0, most, xtol=1e-12))


# Several comparisons at once


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values for which any false one among those below 5 % has a chance of 5 % at most (S. Holm, 1979)."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def adjusted(family: Mapping[Key, Estimate]) -> dict[Key, float]:
    """Return the p value of each comparison, corrected for their number (Holm); single values have 1, uncounted."""
    known = {key: estimate.p for key, estimate in family.items() if math.isfinite(estimate.error)}
    corrected = holm(list(known.values()))
    return dict.fromkeys(family, 1.0) | dict(zip(known, corrected, strict=True))


@lru_cache(maxsize=4096)
def t_quantile(freedom: float, probability: float) -> float:
    """Return the quantile of Student's t distribution with ``freedom`` degrees of freedom at a probability."""
    from scipy.special import stdtrit  # what scipy.stats.t calls, without its overhead

    return float(stdtrit(freedom, probability))


def exp(value: float) -> float:
    """Return the exponential; infinity where it is too large for a float."""
    return math.exp(value) if value < MOST else math.inf


# The model of the closed loop


def knee(added_ns: float, cpu_ns: float) -> float:
    """Return (L + c) / c: the knee of a loop whose fetches take only their latency L and their CPU time c, in ns."""
    return (added_ns + cpu_ns) / cpu_ns


def bound_per_s(in_flight: float, added_ns: float, cpu_ns: float) -> float:
    """Return the maximum pages per second of that loop, X(N) = min(N / (L + c), 1 / c), reached far from the knee."""
    return min(in_flight / (added_ns + cpu_ns), 1 / cpu_ns) * 1e9
