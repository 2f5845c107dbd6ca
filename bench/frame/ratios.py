"""How far the ratios of a run can be trusted: the spread of its blocks, its resolution, and that between runs. Pure.

docs/method.md has the rule. All values are natural logarithms. A *cell* is one workload of one run; its pairs are each
arm and the reference, the control (the reference once more) among them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from inflight.bench.frame import statistics as stats

FIGURES = ("cpu_per_page_ns", "pages_per_s")
"""The figures that windows have."""
CELL = ("run", "kind", "site", "connection", "cpu", "latency", "in_flight", "length", "comparison")
"""The columns in which the lines of one cell are equal."""
MAX_RANGE, MAX_RANGE_ALONE = math.log(1.5), math.log(2)
"""An arm whose blocks differ by more is unstable; the second bound is for cells without a control."""
MIN_TAU = 0.03
"""Least spread between runs of the ratio of two strategies."""
USUAL_TAU, USUAL_TAU_OF_OWN_STACKS = 0.08, 0.13
"""The spread where it was not measured; the second, where either strategy has an HTTP stack of its own."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure of one arm in one block: its logarithm, and that of each cycle, as far as it has cycles."""

    log: float
    cycles: Mapping[int, float]

    def __sub__(self, other: "Reading") -> float:
        """Return the logarithm of the ratio: by the cycles that both have, if there are enough."""
        by_cycle = stats.paired(self.cycles, other.cycles)
        return self.log - other.log if by_cycle is None else by_cycle


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the blocks of a cell vary."""

    sd: float
    """Standard deviation of a pair about its mean, from all pairs of stable arms; infinite for one block."""
    freedom: int
    resolution: float
    """Least difference that the cell can tell."""
    unstable: frozenset[str]
    """Arms that jump between states."""


Side = Mapping[str, Reading]
"""The readings of an arm, by unit."""


def by_cycle(row: Any, figure: str) -> dict[int, float]:
    """Return the logarithm of a figure in each window of an arm, by cycle; empty for other rows and figures."""
    if row is None or figure not in FIGURES:
        return {}
    windows = [window for window in row.measured.windows or () if window.pages and window.cpu_ns]
    if figure == "pages_per_s":
        return {window.cycle: math.log(1e9 * window.pages / window.wall_ns) for window in windows}
    return {window.cycle: math.log(window.cpu_ns / window.pages) for window in windows}


def readings(lines: pd.DataFrame) -> dict[str, Reading]:
    """Return the reading of each unit of one arm."""
    columns = lines[["unit", "value", "cycles"]].itertuples(index=False, name=None)
    return {unit: Reading(math.log(value), cycles) for unit, value, cycles in columns}


def with_spread(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with the ``spread`` of their cell as a column; without one (None): all but arms of blocks."""
    is_timed = lines["valid"] & (lines["kind"] == "arm") & lines["figure"].isin(FIGURES)
    spreads = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    for _, cell in lines[is_timed].groupby([*CELL, "figure", "reference"], sort=False):
        sides = {arm: readings(part) for arm, part in cell.groupby("arm", sort=False)}
        again = cell.loc[cell["role"] == "placebo", "arm"]
        reference = cell["reference"].iloc[0]
        if reference in sides:
            spreads[cell.index] = spread(sides, reference, again.iloc[0] if len(again) else None)
    return lines.assign(spread=spreads)


def spread(sides: Mapping[str, Side], reference: str, control: str | None) -> Spread:
    """Return the spread of a cell. ``sides`` has its arms; ``control``: the reference once more, if there is one."""
    pairs = {arm: differences(side, sides[reference]) for arm, side in sides.items() if arm != reference}
    pairs = {arm: values for arm, values in pairs.items() if values}
    twice = pairs.get(control, [])
    is_controlled = bool(twice) and max(twice) - min(twice) <= MAX_RANGE
    limit = MAX_RANGE if is_controlled else math.inf if twice else MAX_RANGE_ALONE
    unstable = {arm for arm, values in pairs.items() if arm != control and max(values) - min(values) > limit}
    sd, freedom = stats.pooled(values for arm, values in pairs.items() if arm not in unstable)
    if not freedom:
        return Spread(sd, freedom, math.inf, frozenset(unstable))
    blocks = len(twice) or max(map(len, pairs.values()))
    error = stats.t_quantile(freedom, 0.975) * sd / math.sqrt(blocks)
    resolution = abs(fmean(twice)) + error if twice else math.sqrt(2) * error
    return Spread(sd, freedom, resolution, frozenset(unstable))


def differences(side: Side, other: Side) -> list[float]:
    """Return the logarithms of the ratio in the units that both have."""
    return [side[unit] - other[unit] for unit in side if unit in other]
