"""How far the ratios of a run can be trusted: the spread of its blocks, its resolution, and that between runs. Pure.

``contrast`` asks it for each ratio that any output shows; ``runs.compare`` for the change between two runs.
docs/method.md has the rule. All values are natural logarithms. A *cell* is one workload of one run; its pairs are each
arm and the reference, the control (the reference once more) among them. A *place* is a cell of any run and two
strategies. The *resolution* is the least difference that a cell can tell from none. An arm is *unstable* if its blocks
jump between states.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from inflight.bench.frame import statistics as stats
from inflight.bench.plan.trial import REFERENCE

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
OF_TABLE = ("kind", "latency", "cpu", "in_flight", "connection", "links", "body_bytes", "python")
"""What a cell of the table is of. ``python``: the minor version of the interpreter, such as 3.11."""
MANY_RUNS = 10
"""Number of own runs from which on their spread holds, even if it is less than that of the table."""

Cell = tuple[Any, ...]
"""Values that name a cell: those of OF_TABLE."""
Place = tuple[Cell, frozenset[str]]
"""A cell and the names of two strategies."""
Estimates = Mapping[Place, stats.Estimate]
"""The ratios of CPU time per page in one run: of the first strategy by the alphabet to the other."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure of one arm in one block: its logarithm, and that of each cycle, as far as it has cycles."""

    log: float
    cycles: Mapping[int, float]

    def __sub__(self, other: "Reading") -> float:
        """Return the logarithm of the ratio: by the cycles that both have, if there are enough."""
        by_cycle = stats.paired(self.cycles, other.cycles)
        return self.log - other.log if by_cycle is None else by_cycle


Side = Mapping[str, Reading]
"""The readings of an arm, by unit."""


@dataclass(frozen=True, slots=True)
class Between:
    """How far the ratio of two strategies differs from run to run beyond what its blocks say."""

    tau: float
    """Standard deviation of the logarithm: 0.05 is about 5 %."""
    freedom: float
    """Degrees of freedom; infinite where it was not measured."""


SAME_CODE = Between(0.0, math.inf)
"""That of a strategy with itself: revisions, interpreters and settings differ alike in each run."""
Spreads = Mapping[Place, Between]
"""The spread between the runs of one machine."""
NOT_MEASURED: Spreads = {}
"""No earlier runs."""


def measured_between(tau: float, runs: int) -> Between:
    """Return the spread that was estimated as ``tau`` from so many runs; it is never less than MIN_TAU."""
    return Between(max(MIN_TAU, tau), runs - 1)


@cache
def _table(path: Path) -> Spreads:
    """Return the spreads in a file as TABLE, by place."""
    table = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        key = tuple(cell[name] for name in OF_TABLE)
        for pair in cell["pairs"]:
            table[key, frozenset(pair["strategies"])] = measured_between(pair["tau"], pair["runs"])
    return table


def between(place: Place, stacks: Collection[str], measured: Spreads) -> Between:
    """Return the spread between runs of the ratio of two strategies with these HTTP stacks."""
    if len(place[1]) == 1:
        return SAME_CODE
    usual = USUAL_TAU if set(stacks) == {"shared"} else USUAL_TAU_OF_OWN_STACKS
    known = _table(TABLE).get(place, Between(usual, math.inf))
    of_machine = measured.get(place, known)
    if of_machine.freedom + 1 >= MANY_RUNS:
        return of_machine
    return max(known, of_machine, key=lambda each: each.tau)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How far the blocks of a cell vary; each cell has one."""

    sd: float
    """Standard deviation of a pair about its mean, from all pairs of stable arms; infinite for one block."""
    freedom: int
    """Degrees of freedom of ``sd``."""
    resolution: float
    """Least difference that the cell can tell."""
    unstable: frozenset[str]
    """Arms that jump between states."""
    measured: Spreads
    """The spreads between the runs of this machine."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What is known of a pair of arms beside their readings."""

    spread: Spread | None
    """That of their cell; None: the pair says for itself how far it varies."""
    between: Between
    """The spread between runs of their ratio."""
    is_unstable: bool
    is_counted: bool
    """Whether it is one of the comparisons that a cell makes: neither a control, nor unstable."""


ALONE = Pair(None, SAME_CODE, is_unstable=False, is_counted=True)
"""A pair of which nothing is known but its values."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two arms, as a logarithm."""

    estimate: stats.Estimate
    """The mean over the units of this run, with its error."""
    pair: Pair
    ends: tuple[float, float]
    """The least and the greatest value of a block."""

    def this_run(self) -> stats.Interval:
        """Return the interval of this run; of an unstable arm, the range of its blocks."""
        interval = self.estimate.interval()
        if not self.pair.is_unstable:
            return interval
        low, high = self.ends
        return replace(interval, low=low, high=high)

    def next_run(self) -> tuple[float, float]:
        """Return the interval of the next run; of an unstable arm, the range of its blocks."""
        return self.ends if self.pair.is_unstable else next_run(self.estimate, self.pair.between)

    @property
    def in_any_run(self) -> stats.Estimate:
        """The ratio in any run: its error has what differs between runs."""
        return _of_any_run(self.estimate, self.pair.between)

    @property
    def least(self) -> float:
        """The least difference that counts; none counts of an unstable arm."""
        return math.inf if self.pair.is_unstable else max(stats.MARGIN, self.resolution)

    @property
    def resolution(self) -> float:
        """Least difference that can be told."""
        return 0.0 if self.pair.spread is None else self.pair.spread.resolution

    def answer(self, p: float) -> stats.Answer:
        """Return what is known; ``p`` is corrected for several comparisons."""
        if self.pair.is_unstable:
            return "unstable"
        low, high = self.next_run()
        if p < 1 - stats.CONFIDENCE and abs(self.estimate.value) >= self.least and low * high > 0:
            return "differs"
        if self.pair.between == SAME_CODE and self.estimate.is_within(stats.MARGIN):
            return "same"
        return "unknown"


def estimates(lines: pd.DataFrame) -> Estimates:
    """Return the ratio of each pair of strategies in each cell.

    ``lines`` are ``with_cycles``, of one run. Arms with settings of their own do not count. A pair with an unstable arm
    has no ratio, nor has one of a single block.
    """
    is_plain = (lines["arm"] == lines["strategy"]) & (lines["role"] != "placebo")
    arms = lines[is_plain & lines["spread"].notna() & (lines["figure"] == "cpu_per_page_ns")]
    known = {}
    for cell in arms["cell"].unique():
        group = arms[arms["cell"] == cell]
        spread: Spread = group["spread"].iloc[0]
        stable = group[~group["is_unstable"]].groupby("strategy")
        sides = {str(strategy): readings(part) for strategy, part in stable}
        for first, other in combinations(sorted(sides), 2):
            ratio = compare(sides[first], sides[other], replace(ALONE, spread=spread))
            if math.isfinite(ratio.estimate.error):
                known[cell, frozenset({first, other})] = ratio.estimate
    return known


def pair(line: Any, base: Any, spread: Spread) -> Pair:
    """Return what is known of the pair of two lines of one cell."""
    is_set_by_latency = line.figure == "pages_per_s" and line.is_waiting and base.is_waiting
    is_unstable = line.is_unstable or base.is_unstable
    of = between(
        (line.cell, frozenset({line.strategy, base.strategy})),
        (line.stack, base.stack),
        spread.measured,
    )
    is_counted = line.role != "placebo" and not is_unstable
    return Pair(spread, SAME_CODE if is_set_by_latency else of, is_unstable, is_counted)


def _of_any_run(estimate: stats.Estimate, between: Between) -> stats.Estimate:
    """Return the estimate as one of the ratio in any run."""
    error = math.hypot(estimate.error, between.tau)
    return replace(estimate, error=error, freedom=min(estimate.freedom, between.freedom))


def next_run(estimate: stats.Estimate, between: Between) -> tuple[float, float]:
    """Return the interval in which the next run of the same preset lies in 90 % of cases, if it varies as much."""
    alike = _of_any_run(estimate, between)
    # Two runs differ by the errors of both, which are alike: the square root of the sum of their squares.
    interval = replace(alike, error=math.sqrt(2) * alike.error).interval(NEXT_RUN)
    return interval.low, interval.high


def compare(first: Side, other: Side, pair: Pair) -> Ratio:
    """Return the ratio of two sides, neither of which is empty."""
    values = differences(first, other)
    if pair.spread is None or not values:
        estimate = stats.compare(logs(first), logs(other))
    else:
        error = pair.spread.sd / math.sqrt(len(values))  # that of a mean over blocks
        estimate = stats.Estimate(fmean(values), error, max(1, pair.spread.freedom), len(values))
    ends = (min(values), max(values)) if values else (-math.inf, math.inf)
    return Ratio(estimate, pair, ends)


def change(first: Ratio, last: Ratio) -> tuple[stats.Estimate, float, bool | None]:
    """Return the change of a ratio between two runs, the least that counts, and whether the first run expected it.

    It is expected in the interval that the first run gave for the next. Where a cell has no spread, as whole crawls
    without the reference, only their own values say how far they vary, and nothing is expected (None).
    """
    before = first.in_any_run
    after = last.in_any_run
    estimate = stats.difference(after, before)
    if first.pair.spread is None or last.pair.spread is None:
        return estimate, stats.MARGIN, None
    low, high = first.next_run()
    estimate = replace(estimate, freedom=min(before.freedom, after.freedom))
    return estimate, max(first.least, last.least), low <= after.value <= high < math.inf


def logs(side: Side) -> dict[str, float]:
    """Return the logarithm of each unit."""
    return {unit: reading.log for unit, reading in side.items()}


def by_cycle(row: Any, figure: str) -> dict[int, float]:
    """Return the logarithm of a figure in each window of an arm, by cycle; empty for other rows and figures."""
    if row is None or figure not in FIGURES:
        return {}
    is_rate = figure == "pages_per_s"
    cycles = {}
    for window in getattr(row.measured, "windows", None) or ():
        if window.pages and window.cpu_ns:
            value = 1e9 * window.pages / window.wall_ns if is_rate else window.cpu_ns / window.pages
            cycles[window.cycle] = math.log(value)
    return cycles


def cell_of(row: Any) -> Cell:
    """Return the cell of a timed trial in the table of spreads between runs: the values of OF_TABLE."""
    load = row.workload
    site = row.workload.site
    minor = ".".join((row.knobs.python or "").split(".")[:2])
    sizes = site.links, site.body_bytes
    return row.kind, load.latency, load.cpu, load.in_flight, load.connections, *sizes, minor


def is_waiting(row: Any) -> bool:
    """Return whether the latency sets the rate: the trial leaves a part of its core free."""
    cpu_ns_per_s = (row.measured.cpu_per_page_ns or math.inf) * (row.measured.pages_per_s or math.inf)
    return row.workload.mean_latency_ns > 0 and cpu_ns_per_s < 1e9 * MAX_WAITING_SHARE


def readings(lines: pd.DataFrame) -> dict[str, Reading]:
    """Return the reading of each unit of one arm."""
    cycles: Iterable[Mapping[int, float]] = lines["cycles"] if "cycles" in lines else [{}] * len(lines)
    columns = zip(lines["unit"], lines["value"], cycles, strict=True)
    return {unit: Reading(math.log(value), each) for unit, value, each in columns}


def with_spread(lines: pd.DataFrame, measured: Spreads) -> pd.DataFrame:
    """Return lines with the ``spread`` of their cell, None where nothing is compared, and ``is_unstable``."""
    is_timed = lines["valid"] & lines["cell"].notna() & lines["figure"].isin(FIGURES)
    spreads = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    for _, cell in lines[is_timed].groupby([*CELL, "figure", "reference"], sort=False):
        sides = {str(arm): readings(part) for arm, part in cell.groupby("arm", sort=False)}
        again = cell.loc[cell["role"] == "placebo", "arm"]
        reference = cell["reference"].iloc[0] or REFERENCE  # a whole crawl has none
        if reference in sides:
            spreads[cell.index] = spread(sides, reference, again.iloc[0] if len(again) else None, measured)
    arms = zip(lines["arm"], spreads, strict=True)
    is_unstable = [of is not None and arm in of.unstable for arm, of in arms]
    return lines.assign(spread=spreads, is_unstable=is_unstable)


def spread(sides: Mapping[str, Side], reference: str, control: str | None, measured: Spreads = NOT_MEASURED) -> Spread:
    """Return the spread of a cell: how far its pairs vary, and the least difference that it can tell.

    ``sides`` has its arms; ``control``: the reference once more, if there is one. With a control, the resolution is the
    difference that the same code shows plus the half-width of its 95 % interval; without one, a half-width times the
    root of 2.
    """
    pairs = {arm: differences(side, sides[reference]) for arm, side in sides.items() if arm != reference}
    pairs = {arm: values for arm, values in pairs.items() if values}
    twice = pairs.get(control or "", [])
    limit = MAX_RANGE_ALONE
    if twice:
        is_stable = max(twice) - min(twice) <= MAX_RANGE
        limit = MAX_RANGE if is_stable else math.inf
    spans = {arm: max(values) - min(values) for arm, values in pairs.items()}
    unstable = {arm for arm, span in spans.items() if arm != control and span > limit}
    sd, freedom = stats.pooled(values for arm, values in pairs.items() if arm not in unstable)
    if not freedom:
        return Spread(sd, freedom, math.inf, frozenset(unstable), measured)
    blocks = len(twice) or max(map(len, pairs.values()))
    error = stats.t_quantile(freedom, 0.975) * sd / math.sqrt(blocks)
    resolution = abs(fmean(twice)) + error if twice else math.sqrt(2) * error
    return Spread(sd, freedom, resolution, frozenset(unstable), measured)


def differences(side: Side, other: Side) -> list[float]:
    """Return the logarithms of the ratio in the units that both have."""
    return [side[unit] - other[unit] for unit in side if unit in other]
