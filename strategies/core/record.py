"""Summary of a crawl's timestamps: quantiles, histograms, a time line. Pure; runs after the crawl has ended."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

SIGNIFICANT_BITS = 6
"""A bucket of a histogram is 1/64 of its power of two wide, so at most 1.6 % of its values."""

_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))


def summary(values_ns: Sequence[int]) -> dict[str, Any]:
    """Return count, mean, minimum, maximum, quantiles and histogram of durations, all in nanoseconds."""
    if not values_ns:
        return {"count": 0}
    ordered = sorted(values_ns)
    return {
        "count": len(ordered),
        "mean_ns": sum(ordered) // len(ordered),
        "min_ns": ordered[0],
        **{f"{name}_ns": quantile(ordered, share) for name, share in _QUANTILES},
        "max_ns": ordered[-1],
        "histogram": histogram(ordered),
    }


def quantile(ordered: Sequence[int], share: float) -> int:
    """Return the smallest value that at least ``share`` of the values do not exceed (nearest rank, a real sample)."""
    rank = -int(-share * len(ordered) // 1)
    return ordered[max(rank, 1) - 1]


def histogram(values_ns: Sequence[int]) -> dict[str, Any]:
    """Count values in buckets of constant relative width: ``counts`` is a list of [least value, count]."""
    counts = Counter(map(bucket_start, values_ns))
    return {"significant_bits": SIGNIFICANT_BITS, "counts": sorted(map(list, counts.items()))}


def bucket_start(value_ns: int) -> int:
    """Return the least value of the bucket that ``value_ns`` falls into: all but its leading bits set to zero."""
    shift = max(0, value_ns.bit_length() - 1 - SIGNIFICANT_BITS)
    return value_ns >> shift << shift


def timeline(spans_ns: Sequence[tuple[int, int]], begin_ns: int, bin_ns: int) -> dict[str, Any]:
    """Bin (started, finished) pairs from ``begin_ns`` on.

    Returns the completions in each bin, and how many spans were in flight at each bin's end.
    """
    if not spans_ns:
        return {"bin_ns": bin_ns, "completions": [], "in_flight": []}
    bins = max((finished - begin_ns) // bin_ns for _, finished in spans_ns) + 1
    started, finished = [0] * bins, [0] * bins
    for start, finish in spans_ns:
        started[(start - begin_ns) // bin_ns] += 1
        finished[(finish - begin_ns) // bin_ns] += 1
    in_flight = list(accumulate(s - f for s, f in zip(started, finished, strict=True)))
    return {"bin_ns": bin_ns, "completions": finished, "in_flight": in_flight}


def time_when_full(starts_ns: Sequence[int], in_flight: int) -> int | None:
    """Return when the ``in_flight``-th start was: until then a closed loop warms up. None: there was none."""
    return sorted(starts_ns)[in_flight - 1] if len(starts_ns) > in_flight else None


def steady_state(spans_ns: Sequence[tuple[int, int]], in_flight: int) -> dict[str, Any] | None:
    """Summarise the period in which a closed loop is at its cap: from the ``in_flight``-th start to the last one.

    Returns its length, how many spans finished in it, their mean duration, and the time-average of the spans that
    were open in it: what Little's law (L = X W) relates. None when the loop was never full.
    """
    starts = [start for start, _ in spans_ns]
    begin, end = time_when_full(starts, in_flight), max(starts, default=0)
    if begin is None or end <= begin:
        return None
    by_finish = sorted((finish, finish - start) for start, finish in spans_ns)
    finishes = [finish for finish, _ in by_finish]
    inside = by_finish[bisect_right(finishes, begin) : bisect_left(finishes, end)]
    if not inside:
        return None
    open_ns = sum(max(0, min(finish, end) - max(start, begin)) for start, finish in spans_ns)
    return {
        "window_ns": end - begin,
        "completions": len(inside),
        "mean_service_ns": sum(duration for _, duration in inside) // len(inside),
        "mean_in_flight": open_ns / (end - begin),
    }
