"""Whether the greatest of several figures is greater than the least by more than chance. Pure.

Whoever looks at many figures, and then compares the two that are farthest apart, compares all pairs. Of many strategies
that are the same, the two ends of three rounds often do not overlap.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from bench.analyse import workloads
from bench.analyse.cells import Cell, Read
from bench.analyse.decision_map import PRACTICAL, Noise, pooled_noise, residual_noise
from bench.analyse.stats import CONFIDENCE
from bench.core.stats import t_quantile

Logs = Mapping[int, float]
"""Of one strategy: the logarithm of its figure in each round."""


def of_cells(cells: Sequence[Cell], read: Read, among: Sequence[Cell] = ()) -> bool:
    """Tell whether the figures of these cells, which share a workload, differ at their ends; by their valid rows.

    ``among`` are cells of workloads that are alike, these included: the noise is pooled over them, because two or three
    rounds of a few strategies tell little of it.
    """
    groups: dict[str, dict[str, Logs]] = {}
    for cell in among or cells:
        groups.setdefault(workloads.identity(cell.rows[0].workload), {})[cell.strategy] = _logs(cell, read)
    noise = pooled_noise([residual_noise(own) for own in groups.values()])
    return differ([own for cell in cells if (own := _logs(cell, read))], noise)


def differ(series: Sequence[Logs], noise: Noise | None) -> bool:
    """Tell whether the ends of several series differ.

    By Student's t on the logarithms, with the noise of a two-way analysis of variance (``decision_map``) and as many
    comparisons as there are pairs (Bonferroni); and by 2 % at least. Without two rounds nothing is known.
    """
    if noise is None or len(series) < 2 or min(map(len, series)) < 2:
        return False
    least, *_, most = sorted((*series, *series), key=lambda own: fmean(own.values()))
    apart = fmean(most.values()) - fmean(least.values())
    error = math.sqrt(noise.variance * (1 / len(least) + 1 / len(most)))
    pairs = len(series) * (len(series) - 1) / 2
    return apart >= PRACTICAL and apart > t_quantile(noise.freedom, 1 - (1 - CONFIDENCE) / 2 / pairs) * error


def _logs(cell: Cell, read: Read) -> Logs:
    return {row.round: math.log(value) for row in cell.valid_rows if (value := read(row))}
