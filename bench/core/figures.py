"""The maths of the reading half: medians over rounds, merged histograms, memory slopes. Pure."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

from inflight.bench.frame.statistics import Estimate, Logs
from inflight.bench.rows.parts import Histogram

LEAST_SIZES = 5
"""Minimum number of different numbers in flight for a slope."""
BEND = 0.20
"""Maximum difference between the slopes of the two halves of a straight line, as a share of the whole slope."""
P50_SAMPLES, P90_SAMPLES, P99_SAMPLES = 20, 100, 1000
"""Minimum number of samples for a quantile, ten of which are beyond it; the validity check uses the same numbers."""

STEADY = 0.02
"""A figure that is uncertain by more than this share is shown with two digits instead of three."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, minimum and maximum over the rounds, and the number of rounds."""

    median: float
    low: float
    high: float
    rounds: int
    logs: Logs = field(default_factory=dict, compare=False, repr=False)
    """The logarithm of each round's value, for ``stats.differs``; empty where the rounds are not known."""

    @property
    def relative(self) -> float:
        """The range as a share of the median."""
        return (self.high - self.low) / abs(self.median) if self.median else 0.0

    def told(self) -> dict[str, float]:
        """Return the values for JSON."""
        return {"median": self.median, "low": self.low, "high": self.high, "rounds": self.rounds}


def spread(values: Sequence[float], blocks: Iterable[Hashable] = ()) -> Spread:
    """Return the median and the range of at least one value; ``blocks`` names the block (run and round) of each."""
    logs = {block: math.log(value) for block, value in zip(blocks, values, strict=False) if value > 0}
    return Spread(statistics.median(values), min(values), max(values), len(values), logs)


@dataclass(frozen=True, slots=True)
class Slope:
    """What one more fetch in flight costs, in bytes.

    ``low`` to ``high`` is the 95 % interval of the slope. A line that is not ``straight`` has no one slope: then it is
    the range from the flatter half to the steeper one, intervals included, and that range is what should be shown.
    """

    per_fetch: float
    low: float
    high: float
    intercept: float
    """Bytes at no fetch in flight, of the fitted line."""
    straight: bool
    points: int
    sizes: int

    @property
    def error(self) -> float:
        """The greater half of the interval."""
        return max(self.high - self.per_fetch, self.per_fetch - self.low)


@dataclass(frozen=True, slots=True)
class NoSlope:
    """Why there is no slope."""

    reason: str


def memory_slope(in_flight: Sequence[int], memory_bytes: Sequence[int]) -> Slope | NoSlope:
    """Fit memory over fetches in flight: least squares on the median of each size, with a t interval of 95 %.

    The unit of analysis is the size. Processes of one size agree to some 20 kB, but all of them have the same steps of
    memory on them (tables that grow by doubling, arenas): 50 to 300 kB, which only other sizes can show. In simulations
    with such steps this interval covers 93 to 97 %; a bootstrap over the processes of each size covers 10 to 20 %, and
    residuals of single readings 83 %. One process per size is enough; the median guards against a wild one of three.

    Linearity: two lines that meet in the middle size are fitted as well. Where their slopes differ by more than chance
    and by more than BEND of the whole slope, the line is bent.
    """
    return _memory_slope(tuple(in_flight), tuple(memory_bytes))


@lru_cache(maxsize=1024)
def _memory_slope(in_flight: tuple[int, ...], memory_bytes: tuple[int, ...]) -> Slope | NoSlope:
    """Fit once what table, plots and JSON of a run all show."""
    import numpy as np

    sizes = sorted(set(in_flight))
    if len(sizes) < LEAST_SIZES:
        return NoSlope(f"needs {LEAST_SIZES} different numbers in flight, has {len(sizes)}")
    readings = list(zip(in_flight, memory_bytes, strict=True))
    medians = [statistics.median(memory for n, memory in readings if n == size) for size in sizes]
    x, middle = np.array(sizes, dtype=float), sizes[len(sizes) // 2]
    start, slope = _least_squares([x], medians, [(1, 0), (0, 1)])
    halves = [np.minimum(x, middle), np.maximum(x - middle, 0)]
    lower, upper, bend = _least_squares(halves, medians, [(0, 1, 0), (0, 0, 1), (0, -1, 1)])
    apart = bend.interval()
    straight = apart.low <= 0 <= apart.high or abs(bend.value) <= BEND * abs(slope.value)
    ends = [one.interval() for one in ([slope] if straight else [lower, upper])]
    low, high = min(one.low for one in ends), max(one.high for one in ends)
    return Slope(slope.value, low, high, start.value, straight, len(in_flight), len(sizes))


def _least_squares(
    columns: Sequence[Any], values: Sequence[float], wanted: Sequence[Sequence[int]]
) -> Iterator[Estimate]:
    """Yield each wanted sum of the coefficients (the constant's first), by ordinary least squares."""
    import numpy as np

    design, y = np.column_stack([np.ones(len(values)), *columns]), np.array(values, dtype=float)
    scale = np.abs(design).max(axis=0)
    coefficients, *_ = np.linalg.lstsq(design / scale, y, rcond=None)
    left, freedom = y - design / scale @ coefficients, len(y) - len(scale)
    covariance = np.linalg.inv((design / scale).T @ (design / scale)) * float(left @ left) / freedom
    for weights in wanted:
        sums = np.array(weights) / scale
        error = math.sqrt(max(0.0, float(sums @ covariance @ sums)))
        yield Estimate(float(sums @ coefficients), error, freedom, len(y))


def merge(histograms: Collection[Histogram]) -> Histogram:
    """Add up histograms in the coarsest precision of them all. Raises ValueError for none."""
    if not histograms:
        raise ValueError("no histogram to merge")
    bits = min(histogram.significant_bits for histogram in histograms)
    counts: Counter[int] = Counter()
    for histogram in histograms:
        for least, count in histogram.counts:
            counts[least // bucket_width(least, bits) * bucket_width(least, bits)] += count
    return Histogram(significant_bits=bits, counts=sorted(counts.items()))


def bucket_width(least: int, significant_bits: int) -> int:
    """Return how many values share a bucket: all that agree in the first bit and ``significant_bits`` more."""
    return 1 << max(0, least.bit_length() - 1 - significant_bits)


def quantile(histogram: Histogram, share: float) -> int:
    """Return the middle of the bucket that holds the nearest-rank quantile: off by at most half a bucket's width."""
    rank = max(1, -int(-share * histogram.total // 1))
    cumulated = accumulate(count for _, count in histogram.counts)
    least = next(least for (least, _), seen in zip(histogram.counts, cumulated, strict=True) if seen >= rank)
    return _middle(least, histogram.significant_bits)


def exceedance(histogram: Histogram) -> list[tuple[int, float]]:
    """Return (middle, share of the values above it) of each bucket: the complementary distribution.

    So it falls to a share where ``quantile`` is: both are off by at most half a bucket's width.
    """
    cumulated = accumulate(count for _, count in histogram.counts)
    return [
        (_middle(least, histogram.significant_bits), 1 - seen / histogram.total)
        for (least, _), seen in zip(histogram.counts, cumulated, strict=True)
    ]


def _middle(least: int, significant_bits: int) -> int:
    return least + (bucket_width(least, significant_bits) - 1) // 2
