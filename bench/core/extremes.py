"""Whether the greatest of several figures is greater than the least by more than chance. Pure.

Whoever looks at many figures, and then compares the two that are farthest apart, compares all pairs: the p values are
corrected for their number (Benjamini and Hochberg, 1995: where no figure differs from another, the ends are said to
differ in 5 % of cases).
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from inflight.bench.core.stats import Logs, adjusted, answer, benjamini_hochberg, compare


def differ(series: Sequence[Logs]) -> bool:
    """Tell whether the ends of several series, each a figure by block, differ."""
    order = sorted((own for own in series if own), key=lambda own: fmean(own.values()))
    pairs = {(n, m): compare(order[m], order[n]) for n, m in combinations(range(len(order)), 2)}
    if not pairs:
        return False
    ends = (0, len(order) - 1)
    return answer(pairs[ends], adjusted(pairs, benjamini_hochberg)[ends]) == "differs"
