"""Whether the greatest of several figures is greater than the least by more than chance. Pure.

Whoever looks at many figures, and then compares the two that are farthest apart, compares all pairs. Of many strategies
that are the same, the two ends of three rounds often do not overlap.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from bench.analyse.cells import Cell, Read
from bench.analyse.decision_map import PRACTICAL, residual_noise
from bench.analyse.stats import CONFIDENCE


def of_cells(cells: Sequence[Cell], read: Read) -> bool:
    """Tell whether the figures of these cells, which share a workload, differ at their ends; by their valid rows."""
    figures = ({row.round: value for row in cell.valid_rows if (value := read(row))} for cell in cells)
    return differ([own for own in figures if own])


def differ(figures: Sequence[Mapping[int, float]]) -> bool:
    """Tell whether the ends of several series differ: for each series, its positive figure in each round.

    By Student's t on the logarithms, with the noise of a two-way analysis of variance (``decision_map``) and as many
    comparisons as there are pairs (Bonferroni); and by 2 % at least. Without two rounds nothing is known.
    """
    logs = {str(n): {number: math.log(value) for number, value in own.items()} for n, own in enumerate(figures)}
    noise = residual_noise(logs)
    if noise is None:
        return False
    least, *_, most = sorted(logs.values(), key=lambda own: fmean(own.values()))
    apart = fmean(most.values()) - fmean(least.values())
    error = math.sqrt(noise.variance * (1 / len(least) + 1 / len(most)))
    return apart >= PRACTICAL and apart > _quantile(len(logs), noise.freedom) * error


def _quantile(series: int, freedom: int) -> float:
    from scipy.stats import t

    pairs = series * (series - 1) / 2
    return float(t.ppf(1 - (1 - CONFIDENCE) / 2 / pairs, freedom))
