"""The comparison of two stored runs: a ratio with its interval for every cell, and one verdict. Pure.

Stored runs are not paired: every ratio of times includes whatever changed on the machine between them. The rule
therefore allows for an unknown shift, and checks a negative control that would show it. ``inflight ab`` runs both sides
in turns and detects smaller changes.

All changes are logarithms, with signs such that more is worse: more CPU time or memory, or less throughput.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inflight.bench.core import units
from inflight.bench.frame.slopes import Slope
from inflight.bench.frame.statistics import CONFIDENCE, MARGIN, t_quantile
from inflight.bench.studies.stored.side import (
    MEMORY,
    METRICS,
    THROUGHPUT,
    TIMED,
    Difference,
    Entry,
    Key,
    Sample,
    Side,
    differences,
)

REGRESSION_ABOVE = math.log(1.05)
"""Limit of a regression: the lower end of its interval is above."""
PASS_BELOW = math.log(1.10)
"""Limit of a pass: the upper end of its interval is below."""
CONTROL_MOST = math.log(1.05)
"""Maximum change of the null client; a larger one means that the machine itself changed."""
FAMILY = 0.005
"""Chance of a false regression in the whole comparison, one-sided, divided by the gated figures (Bonferroni)."""
LEAST_SEEN = 0.5
"""Least share of a slowdown that a throughput must show to be part of the verdict."""
OWN_ROUNDS = 10
"""Minimum number of rounds of a cell with a variance of its own; cells with fewer share an estimate."""
LEAST_VARIANCE = 1e-18
"""A smaller variance is rounding, not noise: figures that agree to nine digits."""
ALL = "all workloads"
"""Workload of the mean over the cells of a strategy."""
SIDES = ("BASE", "HEAD")

Verdict = Literal["regression", "pass", "inconclusive"]
State = Literal["worse", "better", "tied", "undecided", "not gated"]
Group = tuple[str, bool]
"""A metric, and whether its figures show a slowdown in CPU time."""
Holds = Mapping[Literal["times", "memory"], str]
"""Reasons that forbid a verdict on times, or on memory."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a logarithm between rounds, and its degrees of freedom; ``of`` names its run or cell."""

    of: str
    metric: str
    variance: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The distances from an estimate to the ends of its 95 % interval, and its degrees of freedom."""

    below: float
    above: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of a cell on both sides, or the mean over all cells of a strategy (workload ``ALL``)."""

    key: Key
    label: str
    base_rounds: int
    head_rounds: int
    """Rounds, readings of a slope, or cells of a mean."""
    base_invalid: int
    head_invalid: int
    shared: int
    """Number of trials that both sides have: they cannot show a change, so they cannot pass."""
    base: float | None = None
    head: float | None = None
    """In nanoseconds, pages per second, bytes or seconds; geometric means over the rounds. None for a mean of cells."""
    sensitivity: float | None = None
    gated: bool = False
    """Whether the verdict of the whole comparison depends on it."""
    samples: tuple[tuple[Sample, Sample], ...] = ()
    """Pairs of BASE and HEAD whose mean change it is."""
    change: float | None = None
    """Logarithm; above 0 is worse."""
    spread: Spread | None = None
    low: float | None = None
    high: float | None = None
    """The ends of its 95 % interval."""
    bound: float | None = None
    """The lower end that decides on a regression: one-sided, at the level corrected by Bonferroni."""
    verdict: Verdict = "inconclusive"
    why: str = ""
    state: State = "undecided"
    """``worse`` and ``better``: the interval does not contain 0, and the change is at least 2 %."""

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean over the cells of a strategy."""
        return self.key.workload == ALL


@dataclass(frozen=True, slots=True)
class OneSided:
    """A figure that only one side has, or whose id names different workloads."""

    key: Key
    label: str
    side: Literal["BASE", "HEAD", "different"]


@dataclass(frozen=True, slots=True)
class Control:
    """The null client's throughput on both sides."""

    base_per_s: float
    head_per_s: float

    @property
    def moved(self) -> bool:
        """Whether it changed by more than ``CONTROL_MOST``."""
        return abs(math.log(self.base_per_s / self.head_per_s)) > CONTROL_MOST

    @property
    def told(self) -> str:
        """How much slower or faster the machine of HEAD was, as text."""
        share = self.head_per_s / self.base_per_s - 1
        return f"{units.percent(abs(share))} {'slower' if share < 0 else 'faster'}"


Pooled = Mapping[Group, Noise]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict with everything that it is based on."""

    verdict: Verdict
    why: str
    base: Side
    head: Side
    unlike: tuple[Difference, ...]
    """Differences in hardware and system, which forbid a verdict on times."""
    software: tuple[Difference, ...]
    """Other differences, which may be the change under test."""
    control: Control | None
    compared: tuple[Compared, ...]
    one_sided: tuple[OneSided, ...]
    noise: tuple[Noise, ...]
    """The estimates that cells with few rounds share."""
    level: float
    """One-sided level of each bound."""
    shared_trials: int
    """Number of trials that are in both runs, and so compared with themselves."""


def compare_sides(base: Side, head: Side) -> Comparison:
    """Return the comparison of two sides."""
    common, one_sided = _matched(base, head)
    unlike = differences(base.hardware, head.hardware)
    control = Control(base.ceiling_per_s, head.ceiling_per_s) if base.ceiling_per_s and head.ceiling_per_s else None
    pooled = _pooled("BASE", base), _pooled("HEAD", head)
    found = [_estimated(key, base.entries[key], head.entries[key], pooled) for key in common]
    found += _means(found, pooled)
    level = FAMILY / max(1, sum(one.gated and one.spread is not None for one in found))
    holds = _holds(base, head, unlike, control)
    compared = tuple(sorted((_judged(_with_interval(one, level), holds) for one in found), key=_order))
    verdict, why = _overall(compared, holds)
    lost = sum(one.side == "BASE" for one in one_sided)
    metrics = {one.key.metric for one in compared if one.gated}
    return Comparison(
        verdict=verdict,
        why=why + (f"; figures of BASE that are not in HEAD: {lost}" if lost else ""),
        base=base,
        head=head,
        unlike=unlike,
        software=differences(base.software, head.software),
        control=control,
        compared=compared,
        one_sided=one_sided,
        noise=tuple(noise for one in pooled for (metric, shows), noise in one.items() if shows and metric in metrics),
        level=level,
        shared_trials=len(base.marks & head.marks),
    )


def _matched(base: Side, head: Side) -> tuple[list[Key], tuple[OneSided, ...]]:
    """Return the keys of figures that both sides have of the same workload, and all others."""
    common, others = [], []
    for key in dict.fromkeys([*base.entries, *head.entries]):
        one, other = base.entries.get(key), head.entries.get(key)
        if one is None or other is None:
            own = one or other
            others.append(OneSided(key, own.label if own else "", "BASE" if other is None else "HEAD"))
        elif one.workload != other.workload:
            others.append(OneSided(key, one.label, "different"))
        else:
            common.append(key)
    return common, tuple(others)


def _holds(base: Side, head: Side, unlike: Sequence[Difference], control: Control | None) -> Holds:
    if not unlike:
        return {"times": f"the machine itself was {control.told}"} if control is not None and control.moved else {}
    same = base.decides_memory == head.decides_memory and None not in base.decides_memory
    times: Holds = {"times": "the machines differ"}
    return times if same else {**times, "memory": "system, libc or Python differ"}


def _pooled(name: str, side: Side) -> dict[Group, Noise]:
    """Return the noise of each group: the within-cell mean square (one-way analysis of variance) of the logarithms.

    Throughputs bound by latency hardly vary and would hide the noise of the others, so they form a group of their own.
    Only cells with few rounds take part: a benchmark of ten thousand rounds would outweigh all others.
    """
    groups: dict[Group, list[Sample]] = {}
    for key, entry in side.entries.items():
        if isinstance(entry.figure, Sample) and entry.figure.number < OWN_ROUNDS:
            groups.setdefault((key.metric, _shows(key.metric, entry.sensitivity)), []).append(entry.figure)
    order = sorted(groups, key=lambda group: (METRICS.index(group[0]), not group[1]))
    found = {group: _mean_square(name, group[0], groups[group]) for group in order}
    return {group: noise for group, noise in found.items() if noise is not None}


def _shows(metric: str, sensitivity: float | None) -> bool:
    """Tell whether a figure shows a slowdown in CPU time; only a throughput may not."""
    return metric != THROUGHPUT or (sensitivity is not None and sensitivity >= LEAST_SEEN)


def _estimated(key: Key, base: Entry, head: Entry, pooled: tuple[Pooled, Pooled]) -> Compared:
    seen = [entry.sensitivity for entry in (base, head) if entry.sensitivity is not None]
    blank = Compared(
        key=key,
        label=base.label or head.label,
        base_rounds=_rounds(base),
        head_rounds=_rounds(head),
        base_invalid=base.invalid,
        head_invalid=head.invalid,
        shared=len(base.marks & head.marks),
        base=_value(base),
        head=_value(head),
        sensitivity=min(seen) if len(seen) == 2 else None,
    )
    blank = replace(blank, gated=_is_gated(blank, base, head))
    one, other = base.figure, head.figure
    if isinstance(one, Sample) and isinstance(other, Sample):
        change = one.log_mean - other.log_mean if key.metric == THROUGHPUT else other.log_mean - one.log_mean
        return _with_noise(replace(blank, change=change, samples=((one, other),)), pooled)
    if isinstance(one, Slope) and isinstance(other, Slope):
        return _of_slopes(blank, one, other)
    told = [f"{name}: {why}" for name, why in zip(SIDES, (one, other), strict=True) if isinstance(why, str)]
    return replace(blank, why=f"both: {one}" if one == other else "; ".join(told))


def _is_gated(blank: Compared, base: Entry, head: Entry) -> bool:
    """Tell whether the verdict depends on a figure: both sides could show a change, or one side lost the figure."""
    if isinstance(base.figure, str) or isinstance(head.figure, str):
        lost = isinstance(base.figure, str) != isinstance(head.figure, str)
        return lost and blank.key.metric != THROUGHPUT
    if blank.key.metric == MEMORY:
        return max(blank.base_rounds, blank.head_rounds) > 1
    return _shows(blank.key.metric, blank.sensitivity)


def _with_noise(one: Compared, pooled: tuple[Pooled, Pooled]) -> Compared:
    """Add the spread of a change that is the mean over pairs of samples, or the reason why it is unknown.

    Cells with few rounds share the noise of their run. If a cell's own noise is greater, it is used instead, with its
    few degrees of freedom; otherwise cells noisier than the rest would be called regressions.
    """
    metric, cells = one.key.metric, len(one.samples)
    group = metric, _shows(metric, one.sensitivity) or one.is_mean
    sides = [[pair[n] for pair in one.samples] for n in (0, 1)]
    own = [_mean_square(f"{name} {one.key}", metric, side) for name, side in zip(SIDES, sides, strict=True)]
    terms: list[tuple[Noise, float]] = []
    for n, name in enumerate(SIDES):
        few = [sample for sample in sides[n] if sample.number < OWN_ROUNDS]
        if few:
            shared = pooled[n].get(group) or pooled[1 - n].get(group) or own[1 - n]
            if shared is None:
                return replace(one, why="no cell was repeated, so the noise is unknown")
            alone = _mean_square(f"{name} {one.key}", metric, few)
            noise = alone if alone is not None and alone.variance > shared.variance else shared
            terms.append((noise, math.fsum(1 / sample.number for sample in few) / cells**2))
        for place, sample in enumerate(sides[n]):
            if sample.number >= OWN_ROUNDS:
                noise = Noise(f"{name} {one.key} {place}", metric, sample.variance or 0.0, sample.number - 1)
                terms.append((noise, 1 / sample.number / cells**2))
    spread = _spread(terms)
    return replace(one, spread=spread, why="" if spread else "identical figures are not a measurement")


def _mean_square(of: str, metric: str, samples: Sequence[Sample]) -> Noise | None:
    """Return the within-cell mean square of samples (one-way analysis of variance); None if none was repeated."""
    freedom = sum(sample.number - 1 for sample in samples)
    if not freedom:
        return None
    squares = math.fsum((sample.variance or 0.0) * (sample.number - 1) for sample in samples)
    return Noise(of, metric, squares / freedom, freedom)


def _spread(terms: Iterable[tuple[Noise, float]]) -> Spread | None:
    """Return the spread of a sum of independent parts; None without noise.

    Degrees of freedom by F. E. Satterthwaite (1946) and B. L. Welch (1947); parts with the same noise count once.
    """
    parts: dict[Noise, float] = {}
    for noise, factor in terms:
        parts[noise] = parts.get(noise, 0.0) + factor
    if any(noise.variance < LEAST_VARIANCE for noise in parts):
        return None
    variance = math.fsum(noise.variance * factor for noise, factor in parts.items())
    freedom = variance**2 / math.fsum((noise.variance * factor) ** 2 / noise.freedom for noise, factor in parts.items())
    half = t_quantile(freedom, (1 + CONFIDENCE) / 2) * math.sqrt(variance)
    return Spread(half, half, freedom)


def _of_slopes(blank: Compared, base: Slope, head: Slope) -> Compared:
    """Combine two slopes' intervals on the scale of ratios, each arm in quadrature.

    G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine, 2008.
    """
    below = math.hypot(math.log(head.per_fetch / head.low), math.log(base.high / base.per_fetch))
    above = math.hypot(math.log(head.high / head.per_fetch), math.log(base.per_fetch / base.low))
    found = replace(blank, change=math.log(head.per_fetch / base.per_fetch))
    if max(below, above) ** 2 < LEAST_VARIANCE:
        return replace(found, why="readings on an exact line are not a measurement")
    return replace(found, spread=Spread(below, above, min(base.sizes, head.sizes) - 2))


def _means(found: Sequence[Compared], pooled: tuple[Pooled, Pooled]) -> list[Compared]:
    """Return the mean change of each strategy over its workloads: it is less noisy than single cells."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for one in found:
        if one.gated and one.samples and one.spread is not None:
            groups.setdefault((one.key.subject, one.key.metric), []).append(one)
    return [
        _with_noise(
            Compared(
                key=Key(subject, ALL, metric),
                label=f"mean of {len(own)} workloads",
                base_rounds=len(own),
                head_rounds=len(own),
                base_invalid=sum(one.base_invalid for one in own),
                head_invalid=sum(one.head_invalid for one in own),
                shared=sum(one.shared for one in own),
                gated=True,
                samples=tuple(pair for one in own for pair in one.samples),
                change=math.fsum(one.change or 0.0 for one in own) / len(own),
            ),
            pooled,
        )
        for (subject, metric), own in groups.items()
        if len(own) > 1
    ]


def _with_interval(one: Compared, level: float) -> Compared:
    if one.change is None or one.spread is None:
        return one
    spread = one.spread
    strict = t_quantile(spread.freedom, 1 - level) / t_quantile(spread.freedom, (1 + CONFIDENCE) / 2)
    ends = one.change - spread.below, one.change + spread.above
    return replace(one, low=ends[0], high=ends[1], bound=one.change - strict * spread.below)


def _judged(one: Compared, holds: Holds) -> Compared:
    """Add the verdict, the reason for it, and the state."""
    if not one.gated:
        return replace(one, why=one.why or _why_not_gated(one), state="not gated")
    if one.change is None or one.low is None or one.high is None or one.bound is None:
        return one
    if hold := holds.get("times" if one.key.metric in TIMED else "memory"):
        return replace(one, why=hold)
    verdict, why = _verdict(one, one.low, one.high, one.bound)
    has_moved = abs(one.change) >= MARGIN and not one.low <= 0 <= one.high
    still: State = "tied" if verdict == "pass" else "undecided"
    state: State = still if not has_moved else "worse" if one.change > 0 else "better"
    return replace(one, verdict=verdict, why=why, state=state)


def _verdict(one: Compared, low: float, high: float, bound: float) -> tuple[Verdict, str]:
    if bound > REGRESSION_ABOVE:
        return "regression", f"more than {share(REGRESSION_ABOVE)} worse"
    if high >= PASS_BELOW:
        return "inconclusive", "too noisy" if low < REGRESSION_ABOVE else "worse, but not certain"
    if one.shared:
        return "inconclusive", "compared with itself: both runs have the same trials"
    return "pass", f"less than {share(PASS_BELOW)} worse"


def _why_not_gated(one: Compared) -> str:
    if one.key.metric != THROUGHPUT:
        return "not gated: a single reading"
    if one.sensitivity is None:
        return "not gated: its sensitivity to slowdowns is unknown"
    return f"not gated: shows only {one.sensitivity:.2g} of a slowdown"


def _overall(compared: Sequence[Compared], holds: Holds) -> tuple[Verdict, str]:
    verdicts = [one.verdict for one in compared if one.gated]
    number, worse, undecided = len(verdicts), verdicts.count("regression"), verdicts.count("inconclusive")
    if worse:
        return "regression", f"{worse} of {number} gated figures: worse by more than {share(REGRESSION_ABOVE)}"
    if not verdicts:
        return "inconclusive", "no figure is gated"
    if undecided:
        return "inconclusive", "; ".join([*holds.values(), f"{undecided} of {number} gated figures are undecided"])
    return "pass", f"all {number} gated figures are less than {share(PASS_BELOW)} worse"


def share(change: float) -> str:
    """Write a limit: ``5 %``."""
    return units.change_size(change).replace(".0", "")


def _value(entry: Entry) -> float | None:
    if isinstance(entry.figure, Sample):
        return math.exp(entry.figure.log_mean)
    return entry.figure.per_fetch if isinstance(entry.figure, Slope) else None


def _rounds(entry: Entry) -> int:
    if isinstance(entry.figure, Sample):
        return entry.figure.number
    return entry.figure.points if isinstance(entry.figure, Slope) else 0


def _order(one: Compared) -> tuple[object, ...]:
    """Order by metric; means first, then regressions, then by the change, the worst first."""
    change = -math.inf if one.change is None else one.change
    metric = METRICS.index(one.key.metric)
    return metric, not one.is_mean, not one.gated, one.verdict != "regression", -change, one.key
