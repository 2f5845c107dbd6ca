"""Two stored runs held against each other: a ratio with its interval for every cell, and one verdict. Pure.

Stored runs are not paired: whatever changed on the machine between them is in every ratio of times. So the rule keeps
an allowance for that unknown shift, and a negative control that would show it. ``inflight ab`` runs both sides in
turns, and decides finer.

All changes are logarithms, and turned so that more is worse: more CPU time or memory, or less throughput.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inflight.bench.core import units
from inflight.bench.core.figures import Slope
from inflight.bench.core.stats import CONFIDENCE, t_quantile
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
"""A regression is certain to be more than this: the lower end of its interval is above."""
PASS_BELOW = math.log(1.10)
"""A pass is certain to be less than this: the upper end of its interval is below."""
CONTROL_MOST = math.log(1.05)
"""A null client that moved by more says that the machine itself did."""
FAMILY = 0.005
"""Chance of a false regression in the whole comparison, one-sided, divided by all that is gated (Bonferroni)."""
LEAST_SEEN = 0.5
"""A throughput that shows less of a slowdown than this share of it is part of no verdict."""
OWN_ROUNDS = 10
"""A cell with so many rounds has a variance of its own; cells with fewer share theirs."""
LEAST_VARIANCE = 1e-18
"""Less is arithmetic, not noise: figures that agree to nine digits."""
ALL = "all workloads"
SIDES = ("BASE", "HEAD")

Verdict = Literal["regression", "pass", "inconclusive"]
Group = tuple[str, bool]
"""A metric, and whether its figures show slowdowns."""
Holds = Mapping[Literal["times", "memory"], str]
"""What forbids a verdict on times, or on memory."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a logarithm between rounds, and its degrees of freedom; ``of`` says whose it is."""

    of: str
    metric: str
    variance: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How far an interval of 95 % reaches below and above an estimate, and its degrees of freedom."""

    below: float
    above: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of one cell on both sides, or the mean over all cells of a strategy (workload ``ALL``)."""

    key: Key
    label: str
    base_rounds: int
    head_rounds: int
    """Rounds, readings of a slope, or cells of a mean."""
    base_red: int
    head_red: int
    shared: int
    """Trials that both sides have: they cannot show a change, so they cannot pass either."""
    base: float | None = None
    head: float | None = None
    """In nanoseconds, pages per second, bytes or seconds; geometric means over the rounds. None of a mean of cells."""
    sensitivity: float | None = None
    gated: bool = False
    """Whether the verdict of the whole comparison depends on it."""
    samples: tuple[tuple[Sample, Sample], ...] = ()
    """Of BASE and HEAD, whose mean change it is."""
    change: float | None = None
    """For the worse, as a logarithm."""
    spread: Spread | None = None
    low: float | None = None
    high: float | None = None
    """The ends of its interval of 95 %."""
    bound: float | None = None
    """The lower end that decides on a regression: one-sided, at the level that Bonferroni leaves."""
    verdict: Verdict = "inconclusive"
    why: str = ""

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean over the cells of a strategy."""
        return self.key.workload == ALL


@dataclass(frozen=True, slots=True)
class OneSided:
    """A figure that one side has alone, or whose id means different workloads."""

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
        """Whether it moved by more than may be."""
        return abs(math.log(self.base_per_s / self.head_per_s)) > CONTROL_MOST

    @property
    def told(self) -> str:
        """Write by how much the machine of HEAD was slower or faster."""
        share = self.head_per_s / self.base_per_s - 1
        return f"{abs(share) * 100:.0f} % {'slower' if share < 0 else 'faster'}"


Pooled = Mapping[Group, Noise]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it: the verdict, and what it rests on."""

    verdict: Verdict
    why: str
    base: Side
    head: Side
    unlike: tuple[Difference, ...]
    """Hardware and system that differ: no verdict on times."""
    software: tuple[Difference, ...]
    """Other things that differ: they may be what is compared."""
    control: Control | None
    compared: tuple[Compared, ...]
    one_sided: tuple[OneSided, ...]
    noise: tuple[Noise, ...]
    """Shared by the cells of a run with few rounds."""
    level: float
    """One-sided, of each bound."""
    shared_trials: int
    """Trials that are in both runs: they are compared with themselves."""


def compare_sides(base: Side, head: Side) -> Comparison:
    """Compare two sides, whatever they were read from."""
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
        why=why + (f"; {lost} figures of BASE are not in HEAD" if lost else ""),
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
    """Return the keys of figures that both have of the same workload, and all others."""
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

    Throughputs that are held back by latency hardly vary, and would hide how much the others do: they are a group of
    their own. Only cells with few rounds take part: a benchmark of ten thousand rounds would be all of it.
    """
    groups: dict[Group, list[Sample]] = {}
    for key, entry in side.entries.items():
        if isinstance(entry.figure, Sample) and entry.figure.number < OWN_ROUNDS:
            groups.setdefault((key.metric, _shows(key.metric, entry.sensitivity)), []).append(entry.figure)
    order = sorted(groups, key=lambda group: (METRICS.index(group[0]), not group[1]))
    found = {group: _mean_square(name, group[0], groups[group]) for group in order}
    return {group: noise for group, noise in found.items() if noise is not None}


def _shows(metric: str, sensitivity: float | None) -> bool:
    """Tell whether a figure shows slowdowns; of all figures, only a throughput may not."""
    return metric != THROUGHPUT or (sensitivity is not None and sensitivity >= LEAST_SEEN)


def _estimated(key: Key, base: Entry, head: Entry, pooled: tuple[Pooled, Pooled]) -> Compared:
    seen = [entry.sensitivity for entry in (base, head) if entry.sensitivity is not None]
    blank = Compared(
        key=key,
        label=base.label or head.label,
        base_rounds=_rounds(base),
        head_rounds=_rounds(head),
        base_red=base.red,
        head_red=head.red,
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
    """Tell whether the verdict depends on a figure: both must have been able to show it, or one must have lost it."""
    if isinstance(base.figure, str) or isinstance(head.figure, str):
        lost = isinstance(base.figure, str) != isinstance(head.figure, str)
        return lost and blank.key.metric != THROUGHPUT
    if blank.key.metric == MEMORY:
        return max(blank.base_rounds, blank.head_rounds) > 1
    return _shows(blank.key.metric, blank.sensitivity)


def _with_noise(one: Compared, pooled: tuple[Pooled, Pooled]) -> Compared:
    """Add how sure a change is that is the mean over pairs of samples; say why, where that is not known.

    Cells with few rounds share the noise of their run; where theirs alone is greater, it stands, with its few degrees
    of freedom: cells that are noisier than the rest would else be called regressions.
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
                return replace(one, why="no cell was repeated: its noise is not known")
            alone = _mean_square(f"{name} {one.key}", metric, few)
            noise = alone if alone is not None and alone.variance > shared.variance else shared
            terms.append((noise, math.fsum(1 / sample.number for sample in few) / cells**2))
        for place, sample in enumerate(sides[n]):
            if sample.number >= OWN_ROUNDS:
                noise = Noise(f"{name} {one.key} {place}", metric, sample.variance or 0.0, sample.number - 1)
                terms.append((noise, 1 / sample.number / cells**2))
    spread = _spread(terms)
    return replace(one, spread=spread, why="" if spread else "figures that do not vary at all are no measurement")


def _mean_square(of: str, metric: str, samples: Sequence[Sample]) -> Noise | None:
    """Return the within-cell mean square of samples (one-way analysis of variance); None where none was repeated."""
    freedom = sum(sample.number - 1 for sample in samples)
    if not freedom:
        return None
    squares = math.fsum((sample.variance or 0.0) * (sample.number - 1) for sample in samples)
    return Noise(of, metric, squares / freedom, freedom)


def _spread(terms: Iterable[tuple[Noise, float]]) -> Spread | None:
    """Return the spread of a sum of independent parts; None without noise.

    Freedom by F. E. Satterthwaite (1946) and B. L. Welch (1947); what shares one estimate of noise counts once.
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
        return replace(found, why="readings on one exact line are no measurement")
    return replace(found, spread=Spread(below, above, min(base.sizes, head.sizes) - 2))


def _means(found: Sequence[Compared], pooled: tuple[Pooled, Pooled]) -> list[Compared]:
    """Return the mean change of each strategy over its workloads: what few rounds hide in each cell shows there."""
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
                base_red=sum(one.base_red for one in own),
                head_red=sum(one.head_red for one in own),
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
    """Give a comparison its verdict, and the reason for it."""
    if not one.gated:
        return replace(one, why=one.why or _why_not_gated(one))
    if one.low is None or one.high is None or one.bound is None:
        return one
    if hold := holds.get("times" if one.key.metric in TIMED else "memory"):
        return replace(one, why=hold)
    if one.bound > REGRESSION_ABOVE:
        return replace(one, verdict="regression", why=f"more than {_share(REGRESSION_ABOVE)} worse")
    if one.high < PASS_BELOW and one.shared:
        return replace(one, why="compared with itself: both runs have the same trials")
    if one.high < PASS_BELOW:
        return replace(one, verdict="pass", why=f"less than {_share(PASS_BELOW)} worse")
    return replace(one, why="too noisy" if one.low < REGRESSION_ABOVE else "worse, but not with certainty")


def _why_not_gated(one: Compared) -> str:
    if one.key.metric != THROUGHPUT:
        return "not gated: a single reading"
    if one.sensitivity is None:
        return "not gated: how much of a slowdown it shows is not known"
    return f"not gated: hides slowdowns (shows {one.sensitivity:.2g} of them)"


def _overall(compared: Sequence[Compared], holds: Holds) -> tuple[Verdict, str]:
    verdicts = [one.verdict for one in compared if one.gated]
    number, worse, undecided = len(verdicts), verdicts.count("regression"), verdicts.count("inconclusive")
    if worse:
        return "regression", f"{worse} of {number} gated figures: worse by more than {_share(REGRESSION_ABOVE)}"
    if not verdicts:
        return "inconclusive", "no figure can be gated"
    if undecided:
        return "inconclusive", "; ".join([*holds.values(), f"{undecided} of {number} gated figures do not decide"])
    return "pass", f"all {number} gated figures are less than {_share(PASS_BELOW)} worse"


def _share(change: float) -> str:
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
