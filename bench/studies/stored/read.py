"""Two stored runs held against each other: a ratio with its interval for every cell, and one verdict. Pure.

Stored runs are not paired: whatever changed on the machine between them is in every ratio of times. So the rule keeps
an allowance for that unknown shift, and a negative control that would show it. ``inflight ab`` runs both sides in
turns, and decides finer.

All changes are logarithms, and turned so that more is worse: more CPU time or memory, or less throughput.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bench.core.figures import Slope
from bench.core.rows import Row
from bench.core.stats import CONFIDENCE
from bench.studies.stored.side import (
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
    of_rows,
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


@dataclass(frozen=True, slots=True)
class Change:
    """A change for the worse, as a logarithm: ``low`` to ``high`` is its interval of 95 %.

    ``bound`` is the lower end that decides on a regression: one-sided, at the level that Bonferroni leaves. All three
    are None where there is no interval.
    """

    estimate: float
    low: float | None = None
    high: float | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of one cell on both sides, or the mean over all cells of a strategy (workload ``ALL``)."""

    key: Key
    label: str
    base: float | None
    head: float | None
    """In nanoseconds, pages per second, bytes or seconds; geometric means over the rounds. None of a mean of cells."""
    change: Change | None
    gated: bool
    """Whether the verdict of the whole comparison depends on it."""
    verdict: Verdict
    why: str
    base_rounds: int
    head_rounds: int
    """Rounds, readings of a slope, or cells of a mean."""
    base_red: int
    head_red: int
    sensitivity: float | None
    shared: int = 0
    """Trials that both sides have: they cannot show a change, so they cannot pass either."""


@dataclass(frozen=True, slots=True)
class OneSided:
    """A figure that one side has alone, or whose id means different workloads."""

    key: Key
    label: str
    side: Literal["BASE", "HEAD", "different"]


@dataclass(frozen=True, slots=True)
class Control:
    """The null client's throughput on both sides; ``slower`` is the logarithm of BASE / HEAD."""

    base_per_s: float
    head_per_s: float

    @property
    def slower(self) -> float:
        """How much slower HEAD's machine was, as a logarithm."""
        return math.log(self.base_per_s / self.head_per_s)

    @property
    def moved(self) -> bool:
        """Whether it moved by more than may be."""
        return abs(self.slower) > CONTROL_MOST


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a logarithm between rounds, and its degrees of freedom; ``of`` says whose it is."""

    of: str
    metric: str
    variance: float
    freedom: int


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


def compare(
    base_rows: Sequence[Row],
    head_rows: Sequence[Row],
    base_machine: Mapping[str, Any],
    head_machine: Mapping[str, Any],
    names: tuple[str, str] = ("BASE", "HEAD"),
) -> Comparison:
    """Compare two runs, each given by its rows and its ``machine.json``."""
    return compare_sides(of_rows(names[0], base_rows, base_machine), of_rows(names[1], head_rows, head_machine))


def compare_sides(base: Side, head: Side) -> Comparison:
    """Compare two sides, whatever they were read from."""
    common, one_sided = _matched(base, head)
    unlike = differences(base.facts.hardware, head.facts.hardware)
    control = _control(base, head)
    pooled = _pooled("BASE", base), _pooled("HEAD", head)
    found = [_estimated(key, base.entries[key], head.entries[key], pooled) for key in common]
    found += _means(found, pooled)
    tests = sum(one.compared.gated and one.spread is not None for one in found)
    level = FAMILY / max(1, tests)
    holds = _holds(base, head, unlike, control)
    compared = tuple(_judged(_with_interval(one, level), holds) for one in found)
    verdict, why = _overall(compared, holds)
    lost = sum(one.side == "BASE" for one in one_sided)
    why += f"; {lost} figures of BASE are not in HEAD" if lost else ""
    metrics = {one.key.metric for one in compared if one.gated}
    return Comparison(
        verdict,
        why,
        base,
        head,
        unlike,
        differences(base.facts.software, head.facts.software),
        control,
        tuple(sorted(compared, key=_order)),
        one_sided,
        tuple(noise for one in pooled for (metric, shows), noise in one.items() if shows and metric in metrics),
        level,
        len(base.marks & head.marks),
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    """How sure an estimate is: from noise (a standard error and its freedom), or from the intervals of two slopes."""

    error: float = 0.0
    freedom: float = math.inf
    below: float = 0.0
    above: float = 0.0


@dataclass(frozen=True, slots=True)
class _Estimated:
    """A comparison that still lacks its interval, with the samples of BASE and HEAD that it is of, if any."""

    compared: Compared
    spread: _Spread | None
    samples: tuple[tuple[Sample, Sample], ...] = ()


def _matched(base: Side, head: Side) -> tuple[list[Key], tuple[OneSided, ...]]:
    """Return the keys of figures that both have of the same workload, and all others."""
    common, others = [], []
    for key in (*base.entries, *(key for key in head.entries if key not in base.entries)):
        one, other = base.entries.get(key), head.entries.get(key)
        if one is not None and other is not None and one.workload == other.workload:
            common.append(key)
            continue
        label = one.label if one is not None else other.label if other is not None else ""
        side: Literal["BASE", "HEAD", "different"]
        side = "different" if one is not None and other is not None else "BASE" if other is None else "HEAD"
        others.append(OneSided(key, label, side))
    return common, tuple(others)


def _control(base: Side, head: Side) -> Control | None:
    if base.ceiling_per_s is None or head.ceiling_per_s is None:
        return None
    return Control(base.ceiling_per_s, head.ceiling_per_s)


def _holds(
    base: Side, head: Side, unlike: Sequence[Difference], control: Control | None
) -> dict[Literal["times", "memory"], str]:
    """Return what forbids a verdict on times, or on memory."""
    holds: dict[Literal["times", "memory"], str] = {}
    if unlike:
        holds["times"] = "the machines differ"
        if base.facts.memory != head.facts.memory or None in base.facts.memory:
            holds["memory"] = "system, libc or Python differ"
    elif control is not None and control.moved:
        word = "slower" if control.slower > 0 else "faster"
        by = abs(math.expm1(-control.slower)) * 100
        holds["times"] = f"the machine itself was {by:.0f} % {word}"
    return holds


def _pooled(name: str, side: Side) -> dict[Group, Noise]:
    """Return the noise of each group: the within-cell mean square (one-way analysis of variance) of the logarithms.

    Throughputs that are held back by latency hardly vary, and would hide how much the others do: they are a group of
    their own. Only cells with few rounds take part: a benchmark of ten thousand rounds would be all of it.
    """
    found = {}
    for metric in METRICS:
        for shows in (True, False):
            samples = [
                entry.figure
                for key, entry in side.entries.items()
                if key.metric == metric
                and isinstance(entry.figure, Sample)
                and entry.figure.number < OWN_ROUNDS
                and _shows(metric, entry.sensitivity) == shows
            ]
            if noise := _mean_square(name, metric, samples):
                found[metric, shows] = noise
    return found


def _shows(metric: str, sensitivity: float | None) -> bool:
    """Tell whether a figure shows slowdowns; of all figures, only a throughput may not."""
    return metric != THROUGHPUT or (sensitivity is not None and sensitivity >= LEAST_SEEN)


def _estimated(key: Key, base: Entry, head: Entry, pooled: tuple[Pooled, Pooled]) -> _Estimated:
    seen = [entry.sensitivity for entry in (base, head) if entry.sensitivity is not None]
    blank = Compared(
        key,
        base.label or head.label,
        _value(base),
        _value(head),
        None,
        False,
        "inconclusive",
        "",
        _rounds(base),
        _rounds(head),
        base.red,
        head.red,
        min(seen) if len(seen) == 2 else None,
        len(base.marks & head.marks),
    )
    blank = replace(blank, gated=_is_gated(blank, base, head))
    one, other = base.figure, head.figure
    if isinstance(one, Sample) and isinstance(other, Sample):
        return _of_samples(blank, one, other, pooled)
    if isinstance(one, Slope) and isinstance(other, Slope):
        return _of_slopes(blank, one, other)
    reasons = {"BASE": one, "HEAD": other}
    told = [f"{name}: {figure}" for name, figure in reasons.items() if isinstance(figure, str)]
    why = f"both: {one}" if one == other else "; ".join(told)
    return _Estimated(replace(blank, why=why), None)


def _is_gated(blank: Compared, base: Entry, head: Entry) -> bool:
    """Tell whether the verdict depends on a figure: both must have been able to show it, or one must have lost it."""
    if isinstance(base.figure, str) or isinstance(head.figure, str):
        lost = isinstance(base.figure, str) != isinstance(head.figure, str)
        return lost and blank.key.metric != THROUGHPUT
    if blank.key.metric == MEMORY:
        return max(blank.base_rounds, blank.head_rounds) > 1
    return _shows(blank.key.metric, blank.sensitivity)


def _of_samples(blank: Compared, base: Sample, head: Sample, pooled: tuple[Pooled, Pooled]) -> _Estimated:
    change = base.log_mean - head.log_mean if blank.key.metric == THROUGHPUT else head.log_mean - base.log_mean
    return _with_spread(replace(blank, change=Change(change)), ((base, head),), pooled)


def _with_spread(
    told: Compared, samples: tuple[tuple[Sample, Sample], ...], pooled: tuple[Pooled, Pooled]
) -> _Estimated:
    """Add how sure a change is that is the mean over these pairs of samples; say why, where that is not known.

    Cells with few rounds share the noise of their run; where theirs alone is greater, it stands, with its few degrees
    of freedom: cells that are noisier than the rest would else be called regressions.
    """
    group = told.key.metric, _shows(told.key.metric, told.sensitivity) or told.key.workload == ALL
    sides = [[pair[n] for pair in samples] for n in (0, 1)]
    own = [_mean_square(f"{name} {told.key}", told.key.metric, side) for name, side in zip(SIDES, sides, strict=True)]
    terms: list[tuple[Noise, float]] = []
    for n, name in enumerate(SIDES):
        shared = pooled[n].get(group) or pooled[1 - n].get(group) or own[1 - n]
        few = [sample for sample in sides[n] if sample.number < OWN_ROUNDS]
        if few and shared is None:
            return _Estimated(replace(told, why="no cell was repeated: its noise is not known"), None)
        if few and shared is not None:
            alone = _mean_square(f"{name} {told.key}", told.key.metric, few)
            if alone is not None and alone.variance > shared.variance:
                shared = alone
            terms.append((shared, math.fsum(1 / sample.number for sample in few) / len(samples) ** 2))
        for place, sample in enumerate(sides[n]):
            if sample.number >= OWN_ROUNDS:
                noise = Noise(f"{name} {told.key} {place}", told.key.metric, sample.variance or 0.0, sample.number - 1)
                terms.append((noise, 1 / sample.number / len(samples) ** 2))
    spread = _spread(terms)
    why = "" if spread else "figures that do not vary at all are no measurement"
    return _Estimated(replace(told, why=why), spread, samples)


def _mean_square(of: str, metric: str, samples: Sequence[Sample]) -> Noise | None:
    """Return the within-cell mean square of samples (one-way analysis of variance); None where none was repeated."""
    freedom = sum(sample.number - 1 for sample in samples)
    if not freedom:
        return None
    squares = math.fsum((sample.variance or 0.0) * (sample.number - 1) for sample in samples)
    return Noise(of, metric, squares / freedom, freedom)


def _spread(terms: Iterable[tuple[Noise, float]]) -> _Spread | None:
    """Return the standard error of a sum of independent parts, and its degrees of freedom; None without noise.

    Freedom by F. E. Satterthwaite (1946) and B. L. Welch (1947); what shares one estimate of noise counts once.
    """
    parts: dict[Noise, float] = {}
    for noise, factor in terms:
        parts[noise] = parts.get(noise, 0.0) + factor
    if any(noise.variance < LEAST_VARIANCE for noise in parts):
        return None
    variance = math.fsum(noise.variance * factor for noise, factor in parts.items())
    squares = math.fsum((noise.variance * factor) ** 2 / noise.freedom for noise, factor in parts.items())
    return _Spread(math.sqrt(variance), variance**2 / squares)


def _of_slopes(blank: Compared, base: Slope, head: Slope) -> _Estimated:
    """Combine two slopes' intervals on the scale of ratios, each arm in quadrature.

    G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine, 2008.
    """
    change = math.log(head.per_fetch / base.per_fetch)
    below = math.hypot(math.log(head.per_fetch / head.low), math.log(base.high / base.per_fetch))
    above = math.hypot(math.log(head.high / head.per_fetch), math.log(base.per_fetch / base.low))
    told = replace(blank, change=Change(change))
    if max(below, above) ** 2 < LEAST_VARIANCE:
        return _Estimated(replace(told, why="readings on one exact line are no measurement"), None)
    return _Estimated(told, _Spread(freedom=min(base.sizes, head.sizes) - 2, below=below, above=above))


def _means(found: Sequence[_Estimated], pooled: tuple[Pooled, Pooled]) -> list[_Estimated]:
    """Return the mean change of each strategy over its workloads: what few rounds hide in each cell shows there."""
    groups: dict[tuple[str, str], list[_Estimated]] = {}
    for one in found:
        if one.compared.gated and one.samples and one.spread is not None:
            groups.setdefault((one.compared.key.subject, one.compared.key.metric), []).append(one)
    return [_mean(subject, metric, own, pooled) for (subject, metric), own in groups.items() if len(own) > 1]


def _mean(subject: str, metric: str, own: Sequence[_Estimated], pooled: tuple[Pooled, Pooled]) -> _Estimated:
    number = len(own)
    change = math.fsum(one.compared.change.estimate for one in own if one.compared.change is not None) / number
    compared = Compared(
        Key(subject, ALL, metric),
        f"mean of {number} workloads",
        None,
        None,
        Change(change),
        True,
        "inconclusive",
        "",
        number,
        number,
        sum(one.compared.base_red for one in own),
        sum(one.compared.head_red for one in own),
        None,
        sum(one.compared.shared for one in own),
    )
    return _with_spread(compared, tuple(pair for one in own for pair in one.samples), pooled)


def _with_interval(one: _Estimated, level: float) -> Compared:
    from scipy.stats import t

    change, spread = one.compared.change, one.spread
    if change is None or spread is None:
        return one.compared
    middle, strict = (1 + CONFIDENCE) / 2, float(t.ppf(1 - level, spread.freedom))
    if spread.error:
        below = above = float(t.ppf(middle, spread.freedom)) * spread.error
        bound = change.estimate - strict * spread.error
    else:  # the arms of two slopes' t intervals
        below, above = spread.below, spread.above
        bound = change.estimate - strict / float(t.ppf(middle, spread.freedom)) * below
    return replace(
        one.compared, change=Change(change.estimate, change.estimate - below, change.estimate + above, bound)
    )


def _judged(one: Compared, holds: Mapping[Literal["times", "memory"], str]) -> Compared:
    """Give a comparison its verdict, and the reason for it."""
    hold = holds.get("times" if one.key.metric in TIMED else "memory")
    change = one.change
    if not one.gated:
        return replace(one, why=one.why or _why_not_gated(one))
    if change is None or change.low is None or change.high is None or change.bound is None:
        return one
    if hold:
        return replace(one, why=hold)
    if change.bound > REGRESSION_ABOVE:
        return replace(one, verdict="regression", why=f"more than {_share(REGRESSION_ABOVE)} worse")
    if change.high < PASS_BELOW and one.shared:
        return replace(one, why="compared with itself: both runs have the same trials")
    if change.high < PASS_BELOW:
        return replace(one, verdict="pass", why=f"less than {_share(PASS_BELOW)} worse")
    return replace(one, why="too noisy" if change.low < REGRESSION_ABOVE else "worse, but not with certainty")


def _why_not_gated(one: Compared) -> str:
    if one.key.metric == THROUGHPUT:
        if one.sensitivity is None:
            return "not gated: how much of a slowdown it shows is not known"
        return f"not gated: hides slowdowns (shows {one.sensitivity:.2g} of them)"
    return "not gated: a single reading"


def _overall(compared: Sequence[Compared], holds: Mapping[Literal["times", "memory"], str]) -> tuple[Verdict, str]:
    gated = [one for one in compared if one.gated]
    worse = sum(one.verdict == "regression" for one in gated)
    undecided = sum(one.verdict == "inconclusive" for one in gated)
    if worse:
        return "regression", f"{worse} of {len(gated)} gated figures: worse by more than {_share(REGRESSION_ABOVE)}"
    if not gated:
        return "inconclusive", "no figure can be gated"
    if undecided:
        return "inconclusive", "; ".join([*holds.values(), f"{undecided} of {len(gated)} gated figures do not decide"])
    return "pass", f"all {len(gated)} gated figures are less than {_share(PASS_BELOW)} worse"


def _share(change: float) -> str:
    return f"{math.expm1(change) * 100:.0f} %"


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
    change = one.change.estimate if one.change else -math.inf
    return (
        METRICS.index(one.key.metric),
        one.key.workload != ALL,
        not one.gated,
        one.verdict != "regression",
        -change,
        one.key,
    )
