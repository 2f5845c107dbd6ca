"""How far the ratios of a run can be trusted: the spread of its blocks, its resolution, and that between runs. Pure.

docs/method.md has the rule. All values are natural logarithms. A *cell* is one workload of one run; its pairs are each
arm and the reference, the control (the reference once more) among them.
"""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
MAX_WAITING_SHARE = 0.9
"""Share of its core below which an arm waits most of the time."""
MAX_RANGE, MAX_RANGE_ALONE = math.log(1.5), math.log(2)
"""An arm whose blocks differ by more is unstable; the second bound is for cells without a control."""
MIN_TAU = 0.03
"""Least spread between runs of the ratio of two strategies."""
USUAL_TAU, USUAL_TAU_OF_OWN_STACKS = 0.08, 0.13
"""The spread where it was not measured; the second, where either strategy has an HTTP stack of its own."""
NEXT_RUN = 0.90
"""Share of the next runs that their interval is to cover."""
TABLE = Path(__file__).with_name("between.json")
"""The spread between runs of the series, by cell and pair: written by ``python -m tools.series --between``."""
OF_TABLE = ("latency", "cpu", "in_flight", "connection", "links", "body_bytes", "python")
"""What a cell of the table is of. ``python``: the minor version of the interpreter, such as 3.11."""


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


@dataclass(frozen=True, slots=True)
class Between:
    """How far the ratio of two strategies differs from run to run beyond what its blocks say."""

    tau: float
    freedom: float
    """Degrees of freedom; infinite where it was not measured."""


SAME_CODE = Between(0.0, math.inf)
"""That of a strategy with itself: revisions, interpreters and settings differ alike in each run."""


@cache
def _table() -> dict[tuple[Any, ...], Between]:
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        (*(cell[key] for key in OF_TABLE), frozenset(pair["strategies"])): Between(
            max(MIN_TAU, pair["tau"]), pair["runs"] - 1
        )
        for cell in stored["cells"]
        for pair in cell["pairs"]
    }


def between(cell: tuple[Any, ...], strategies: Collection[str], stacks: Collection[str]) -> Between:
    """Return the spread between runs of the ratio of two strategies with these HTTP stacks."""
    if len(set(strategies)) == 1:
        return SAME_CODE
    usual = USUAL_TAU if set(stacks) == {"shared"} else USUAL_TAU_OF_OWN_STACKS
    return _table().get((*cell, frozenset(strategies)), Between(usual, math.inf))


@dataclass(frozen=True, slots=True)
class Pair:
    """What is known of a pair of arms beside their readings."""

    spread: Spread | None
    """That of their cell; None: the pair says for itself how far it varies."""
    between: Between
    is_unstable: bool
    is_counted: bool
    """Whether it is one of the comparisons that a cell makes: neither a control, nor unstable."""


ALONE = Pair(None, SAME_CODE, is_unstable=False, is_counted=True)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two arms, as a logarithm."""

    estimate: stats.Estimate
    pair: Pair
    ends: tuple[float, float]
    """The least and the greatest value of a block."""

    def this_run(self) -> stats.Interval:
        """Return the interval of this run; of an unstable arm, the range of its blocks."""
        interval = self.estimate.interval()
        return replace(interval, low=self.ends[0], high=self.ends[1]) if self.pair.is_unstable else interval

    def next_run(self) -> tuple[float, float]:
        """Return the interval of the next run; of an unstable arm, the range of its blocks."""
        return self.ends if self.pair.is_unstable else next_run(self.estimate, self.pair.between)

    @property
    def p(self) -> float:
        """The two-sided p value of "no difference in any run"."""
        return _of_any_run(self.estimate, self.pair.between).p

    def answer(self, p: float) -> stats.Answer:
        """Return what is known; ``p`` is corrected for several comparisons."""
        low, high = self.next_run()
        resolution = self.pair.spread.resolution if self.pair.spread else 0.0
        if self.pair.is_unstable:
            return "unknown"
        if p < 1 - stats.CONFIDENCE and abs(self.estimate.value) > max(stats.MARGIN, resolution) and low * high > 0:
            return "differs"
        return "same" if self.pair.between == SAME_CODE and self.estimate.is_within(stats.MARGIN) else "unknown"


def estimates(lines: pd.DataFrame) -> Iterator[tuple[tuple[str, str], stats.Estimate]]:
    """Yield the ratio of each pair of strategies in one cell of one run, by their names in order of the alphabet.

    A pair with an unstable arm has none, and neither has one of a single block.
    """
    spread: Spread = lines["spread"].iloc[0]
    stable = lines[~lines["arm"].isin(spread.unstable)].groupby("strategy")
    sides = {str(strategy): readings(part) for strategy, part in stable}
    for first, other in combinations(sorted(sides), 2):
        ratio = compare(sides[first], sides[other], Pair(spread, SAME_CODE, is_unstable=False, is_counted=True))
        if math.isfinite(ratio.estimate.error):
            yield (first, other), ratio.estimate


def pair(line: Any, base: Any, spread: Spread) -> Pair:
    """Return what is known of the pair of two lines of one cell."""
    is_set_by_latency = line.figure == "pages_per_s" and line.is_waiting and base.is_waiting
    is_unstable = not spread.unstable.isdisjoint({line.arm, base.arm})
    of = between(line.cell, (line.strategy, base.strategy), (line.stack, base.stack))
    is_counted = line.role != "placebo" and not is_unstable
    return Pair(spread, SAME_CODE if is_set_by_latency else of, is_unstable, is_counted)


def _of_any_run(estimate: stats.Estimate, between: Between) -> stats.Estimate:
    """Return the estimate as one of the ratio in any run."""
    error = math.hypot(estimate.error, between.tau)
    return stats.Estimate(estimate.value, error, min(estimate.freedom, between.freedom), estimate.n)


def next_run(estimate: stats.Estimate, between: Between) -> tuple[float, float]:
    """Return the interval in which the next run of the same preset lies in 90 % of cases, if it varies as much."""
    error = math.sqrt(2) * _of_any_run(estimate, between).error
    interval = stats.Estimate(estimate.value, error, min(estimate.freedom, between.freedom), estimate.n).interval(
        NEXT_RUN
    )
    return interval.low, interval.high


def compare(first: Side, other: Side, pair: Pair) -> Ratio:
    """Return the ratio of two sides, neither of which is empty."""
    values = differences(first, other)
    if pair.spread is None or not values:
        estimate = stats.compare(logs(first), logs(other))
    else:
        error = pair.spread.sd / math.sqrt(len(values))
        estimate = stats.Estimate(fmean(values), error, max(1, pair.spread.freedom), len(values))
    ends = (min(values), max(values)) if values else (-math.inf, math.inf)
    return Ratio(estimate, pair, ends)


def logs(side: Side) -> dict[str, float]:
    """Return the logarithm of each unit."""
    return {unit: reading.log for unit, reading in side.items()}


def by_cycle(row: Any, figure: str) -> dict[int, float]:
    """Return the logarithm of a figure in each window of an arm, by cycle; empty for other rows and figures."""
    if row is None or figure not in FIGURES:
        return {}
    windows = [window for window in row.measured.windows or () if window.pages and window.cpu_ns]
    if figure == "pages_per_s":
        return {window.cycle: math.log(1e9 * window.pages / window.wall_ns) for window in windows}
    return {window.cycle: math.log(window.cpu_ns / window.pages) for window in windows}


def cell_of(row: Any) -> tuple[Any, ...]:
    """Return the cell of an arm in the table of spreads between runs: the values of OF_TABLE."""
    workload, site = row.workload, row.workload.site
    minor = ".".join((row.knobs.python or "").split(".")[:2])
    sizes = site.links, site.body_bytes
    return workload.latency, workload.cpu or "0", workload.in_flight, workload.connection, *sizes, minor


def is_waiting(row: Any) -> bool:
    """Return whether the latency sets the rate of an arm: it leaves a part of its core free."""
    return row.workload.mean_latency_ns > 0 and (row.measured.cpu_share or 1.0) < MAX_WAITING_SHARE


def readings(lines: pd.DataFrame) -> dict[str, Reading]:
    """Return the reading of each unit of one arm."""
    cycles: Iterable[Mapping[int, float]] = lines["cycles"] if "cycles" in lines else [{}] * len(lines)
    columns = zip(lines["unit"], lines["value"], cycles, strict=True)
    return {unit: Reading(math.log(value), each) for unit, value, each in columns}


def with_spread(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with the ``spread`` of their cell as a column; without one (None): all but arms of blocks."""
    is_timed = lines["valid"] & (lines["kind"] == "arm") & lines["figure"].isin(FIGURES)
    spreads = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    for _, cell in lines[is_timed].groupby([*CELL, "figure", "reference"], sort=False):
        sides = {str(arm): readings(part) for arm, part in cell.groupby("arm", sort=False)}
        again = cell.loc[cell["role"] == "placebo", "arm"]
        reference = cell["reference"].iloc[0]
        if reference in sides:
            spreads[cell.index] = spread(sides, reference, again.iloc[0] if len(again) else None)
    return lines.assign(spread=spreads)


def spread(sides: Mapping[str, Side], reference: str, control: str | None) -> Spread:
    """Return the spread of a cell. ``sides`` has its arms; ``control``: the reference once more, if there is one."""
    pairs = {arm: differences(side, sides[reference]) for arm, side in sides.items() if arm != reference}
    pairs = {arm: values for arm, values in pairs.items() if values}
    twice = pairs.get(control or "", [])
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
