"""The maths of the reading half: medians over rounds, merged histograms, memory slopes. Pure."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

from bench.core.stats import MARGIN, Answer, Logs, differs

LEAST_SIZES = 5
"""A slope needs so many different numbers of fetches in flight."""
BEND = 0.20
"""Two halves whose slopes differ by less than this share of the whole slope count as one line."""
P99_SAMPLES = 1000
"""A p99 needs so many samples (the validity check of the same name goes by the same number)."""
CONFIDENCE = 0.95
RESAMPLES = 999
BATCH = 100
"""So many resamples at once: bounds the memory that the bootstrap takes."""
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Spread:
    """The median over the rounds, the least and the greatest, and how many rounds there were."""

    median: float
    low: float
    high: float
    rounds: int
    logs: Logs = field(default_factory=dict, compare=False, repr=False)
    """The logarithm of each round's value, for ``differ``; empty where the rounds are not known."""

    @property
    def relative(self) -> float:
        """The range as a share of the median."""
        return (self.high - self.low) / abs(self.median) if self.median else 0.0

    def told(self) -> dict[str, float]:
        """Return what JSON shows of it."""
        return {"median": self.median, "low": self.low, "high": self.high, "rounds": self.rounds}


def spread(values: Sequence[float], blocks: Iterable[Hashable] = ()) -> Spread:
    """Return the median and the range of at least one value; ``blocks`` names the block (run and round) of each."""
    logs = {block: math.log(value) for block, value in zip(blocks, values, strict=False) if value > 0}
    return Spread(statistics.median(values), min(values), max(values), len(values), logs)


def differ(one: Spread, other: Spread, margin: float = MARGIN) -> Answer:
    """Say whether two figures differ, by the rounds that they have in common."""
    return differs(one.logs, other.logs, margin)


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


@dataclass(frozen=True, slots=True)
class NoSlope:
    """Why there is no slope."""

    reason: str


def memory_slope(in_flight: Sequence[int], memory_bytes: Sequence[int]) -> Slope | NoSlope:
    """Fit memory over fetches in flight: Theil-Sen (P. K. Sen, 1968) with a seeded bootstrap interval of 95 %.

    The numbers in flight are chosen, not drawn, so the bootstrap resamples residuals, widened by sqrt(n / (n - 2)) for
    the two parameters that were fitted (B. Efron and R. Tibshirani, 1993, chapter 9).

    Linearity: the lower and the upper half of the sizes (the middle one belongs to both) are fitted by themselves. When
    their intervals do not meet and their slopes differ by more than BEND of the whole slope, the line is bent.
    """
    return _memory_slope(tuple(in_flight), tuple(memory_bytes))


@lru_cache(maxsize=1024)
def _memory_slope(in_flight: tuple[int, ...], memory_bytes: tuple[int, ...]) -> Slope | NoSlope:
    """Fit once what table, plots and JSON of a run all show."""
    sizes = sorted(set(in_flight))
    if len(sizes) < LEAST_SIZES:
        return NoSlope(f"needs {LEAST_SIZES} different numbers in flight, has {len(sizes)}")
    slope, low, high, intercept = _fit(in_flight, memory_bytes)
    middle = sizes[len(sizes) // 2]
    flat, steep = sorted(
        _fit(*_chosen(in_flight, memory_bytes, chosen))[:3] for chosen in (lambda n: n <= middle, lambda n: n >= middle)
    )
    straight = steep[1] <= flat[2] or steep[0] - flat[0] <= BEND * abs(slope)
    if not straight:
        low, high = min(flat[1], steep[1]), max(flat[2], steep[2])
    return Slope(slope, low, high, intercept, straight, len(in_flight), len(sizes))


def _fit(x: Sequence[int], y: Sequence[int]) -> tuple[float, float, float, float]:
    """Return slope, the ends of its interval, and the intercept."""
    import numpy as np
    from scipy.stats import bootstrap, theilslopes

    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    with np.errstate(invalid="ignore"):  # its own interval, unused here, is not defined for few points
        line = theilslopes(ys, xs)
    slope, intercept = float(line.slope), float(line.intercept)
    residuals = ys - (intercept + slope * xs)
    if np.ptp(residuals) <= 1e-9 * np.ptp(ys):
        return slope, slope, slope, intercept
    one, other = (
        pair[np.subtract.outer(xs, xs)[np.triu_indices(len(xs), 1)] != 0] for pair in np.triu_indices(len(xs), 1)
    )

    def slope_of(sample: Any, axis: int) -> Any:
        """Do for many samples at once what theilslopes does for one; a line added to them would add its slope."""
        return np.median((sample[..., one] - sample[..., other]) / (xs[one] - xs[other]), axis=axis)

    found = bootstrap(
        (residuals * np.sqrt(len(xs) / (len(xs) - 2)),),
        slope_of,
        n_resamples=RESAMPLES,
        batch=BATCH,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    # Quantiles of resampled residuals need not lie on both sides of 0; the interval holds the slope all the same.
    return slope, slope + min(0.0, float(found.low)), slope + max(0.0, float(found.high)), intercept


def _chosen(x: Sequence[int], y: Sequence[int], keep: Callable[[int], bool]) -> tuple[list[int], list[int]]:
    pairs = [(n, size) for n, size in zip(x, y, strict=True) if keep(n)]
    return [n for n, _ in pairs], [size for _, size in pairs]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in buckets of constant relative width: (least value in nanoseconds, how many), in order."""

    significant_bits: int
    counts: tuple[tuple[int, int], ...]

    @property
    def total(self) -> int:
        """How many values were counted."""
        return sum(count for _, count in self.counts)


def merge(histograms: Iterable[Mapping[str, Any]]) -> Histogram:
    """Add up histograms as rows have them, in the coarsest precision of them all. Raises ValueError for none."""
    many = list(histograms)
    if not many:
        raise ValueError("no histogram to merge")
    bits = min(histogram["significant_bits"] for histogram in many)
    counts: Counter[int] = Counter()
    for histogram in many:
        for least, count in histogram["counts"]:
            counts[least // bucket_width(least, bits) * bucket_width(least, bits)] += count
    return Histogram(bits, tuple(sorted(counts.items())))


def bucket_width(least: int, significant_bits: int) -> int:
    """Return how many values share a bucket: all that agree in the first bit and ``significant_bits`` more."""
    return 1 << max(0, least.bit_length() - 1 - significant_bits)


def quantile(histogram: Histogram, share: float) -> int:
    """Return the middle of the bucket that holds the nearest-rank quantile: off by at most half a bucket's width."""
    rank = max(1, -int(-share * histogram.total // 1))
    cumulated = accumulate(count for _, count in histogram.counts)
    least = next(least for (least, _), seen in zip(histogram.counts, cumulated, strict=True) if seen >= rank)
    return least + (bucket_width(least, histogram.significant_bits) - 1) // 2


def exceedance(histogram: Histogram) -> list[tuple[int, float]]:
    """Return (value, share of the values above it) at each bucket's end: the complementary distribution."""
    cumulated = accumulate(count for _, count in histogram.counts)
    return [
        (least + bucket_width(least, histogram.significant_bits), 1 - seen / histogram.total)
        for (least, _), seen in zip(histogram.counts, cumulated, strict=True)
    ]
