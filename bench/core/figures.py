"""The maths of the reading half: medians over rounds, merged histograms. Pure."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from inflight.bench.frame.statistics import Logs
from inflight.bench.rows.parts import Histogram

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


def _middle(least: int, significant_bits: int) -> int:
    return least + (bucket_width(least, significant_bits) - 1) // 2
