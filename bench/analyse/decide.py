"""The decision rule of ``inflight ab``: from the pairs so far to regression, pass or inconclusive. Pure.

A pair gives one value for each metric: the natural logarithm of B over A, turned so that B is worse above 0. A control
does the same work on both sides, so its values should be 0. The unit is the pair, never the request.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from bench.present import units

Verdict = Literal["regression", "pass", "inconclusive"]

CONFIDENCE = 0.95
"""Of the two-sided interval that is shown; no verdict depends on it."""
MOST = math.log(1e9)
"""A ratio beyond a billion is a broken figure, not a measured one."""
STILL = 1e-9
"""Values that lie closer together than this do not vary: clocks do not resolve it."""
FAILED_PAIRS = 3
FAILED_SHARE = 0.5
"""So many failed pairs, if they are also this share of those tried, end the run."""
FAILED_SHARE_OF_A_PASS = 0.05
"""B passes with at most this share of failed pairs."""
RESAMPLES_PER_LEVEL = 10
"""The sign-flip test draws so often that this many draws are expected beyond its level: 24 pairs have too many sign
patterns to count them all."""
BATCH = 2000
"""So many draws at once: stays in the cache, four times faster than all at once."""
SEED = 20260101
LEAST_P = 0.00001
"""A smaller p is not written out: no model of noise is that exact."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When to look, how much false alarm to spend there, and what counts as worse.

    Raises ValueError, one sentence, for a rule that cannot be followed.
    """

    looks: tuple[int, ...] = (12, 24, 48)
    """Numbers of pairs at which a decision may be made."""
    alpha: float = 0.005
    """The chance of a false alarm in the whole run, over all gated metrics and looks."""
    shares: tuple[float, ...] = (0.1, 0.3, 0.6)
    """How alpha is divided between the looks."""
    least: float = math.log(1.02)
    """A smaller estimate is never a regression."""
    acceptable: float = math.log(1.05)
    """What a pass rules out."""
    pass_confidence: float = 0.99
    """Of the one-sided upper bound that must lie below ``acceptable``, at each look."""
    sign_flip_from: int = 24
    """From so many pairs on, a regression needs an agreeing sign-flip test."""
    control_alpha: float = 0.001
    control_least: float = math.log(1.01)
    """A control has moved when its two-sided p is below the one and its estimate beyond the other."""
    steps: Mapping[str, float] = field(default_factory=lambda: {"memory": 0.002})
    """The metrics that are counted in steps, and a step as a share of what they are: memory comes in pages of 4 KiB, a
    thousandth or two of what a pair holds. Such values may repeat exactly; those of clocks do not."""
    power: float = 0.95
    """The chance at which the smallest detectable effect would be caught."""

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 2 or any(late <= soon for soon, late in pairwise(self.looks)):
            raise ValueError(f"the looks must be rising numbers of pairs from 2 on, not {self.looks}")
        if len(self.shares) != len(self.looks):
            raise ValueError(f"each look needs a share of alpha: {len(self.looks)} looks, {len(self.shares)} shares")
        if not all(share > 0 for share in self.shares) or not math.isclose(math.fsum(self.shares), 1, abs_tol=1e-9):
            raise ValueError(f"the shares of alpha must be above 0 and add up to 1, not {self.shares}")
        for name in ("alpha", "pass_confidence", "control_alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, not at {getattr(self, name)}")
        for name in ("least", "acceptable", "control_least"):
            if not 0 <= getattr(self, name) < MOST:
                raise ValueError(f"{name} must be the logarithm of a ratio from 1 on, not {getattr(self, name)}")
        if self.acceptable == 0:
            raise ValueError("acceptable must be above 0: no number of pairs rules out every change")

    @property
    def most_noise(self) -> float:
        """The standard deviation from which even the last look is too noisy for a pass: half-width ``acceptable``."""
        return self.acceptable * math.sqrt(self.looks[-1]) / t_quantile(self.looks[-1] - 1, self.pass_confidence)

    def level(self, look: int, metrics: int) -> float:
        """Return the p below which one of so many metrics is significant at a look, 1-based (Bonferroni)."""
        return self.alpha * self.shares[look - 1] / metrics


DESIGNED = Rule()


@dataclass(frozen=True, slots=True)
class Effect:
    """What one metric's pairs say, in logarithms of B over A."""

    metric: str
    pairs: int
    estimate: float
    low: float
    high: float
    """The two-sided 95 % t interval."""
    sd: float
    upper: float
    """The one-sided bound that decides a pass."""
    p: float
    """One-sided t test of "the mean is at most 0"."""
    sign_flip_p: float | None
    """Of the sign-flip test, where it was needed."""
    smallest: float
    """The minimum detectable effect with these pairs; see ``detectable``."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the pairs so far amount to."""

    verdict: Verdict
    final: bool
    """No more pairs are wanted."""
    why: str
    effects: tuple[Effect, ...]
    """Of the gated metrics whose values allow one."""
    controls: tuple[Effect, ...]
    look: int | None
    """1-based; None between looks."""
    pairs: int


@dataclass(frozen=True, slots=True)
class _Seen:
    gated: Mapping[str, Sequence[float]]
    controls: Mapping[str, Sequence[float]]
    rule: Rule
    failed_a: int
    failed_b: int
    dropped: int

    @property
    def pairs(self) -> int:
        return max((len(values) for values in self.gated.values()), default=0)

    @property
    def tried(self) -> int:
        return self.pairs + self.failed_a + self.failed_b + self.dropped

    @property
    def look(self) -> int | None:
        """Which look this is; more pairs than the last look asks for are the last look."""
        looks = self.rule.looks
        if self.pairs >= looks[-1]:
            return len(looks)
        return looks.index(self.pairs) + 1 if self.pairs in looks else None


_Said = tuple[Verdict, bool, str]
"""Verdict, whether it is final, and why."""


def decide(
    gated: Mapping[str, Sequence[float]],
    controls: Mapping[str, Sequence[float]],
    rule: Rule = DESIGNED,
    failed_a: int = 0,
    failed_b: int = 0,
    dropped: int = 0,
) -> Decision:
    """Decide on the values of each gated metric and of each control; any values are answered, none raise.

    A metric may have fewer values than there are pairs. ``failed_a`` counts the pairs without values because A failed,
    alone or with B; ``failed_b`` those in which only B failed; ``dropped`` those left out on an outside signal.

    Between looks nothing is tested, so that asking often does not add false alarms.
    """
    seen = _Seen(gated, controls, rule, failed_a, failed_b, dropped)
    level = rule.level(_reached(seen.pairs, rule), max(1, len(gated)))
    effects = _effects(gated, level, rule)
    control_effects = _effects(controls, rule.control_alpha / 2, rule)
    before = _no_metric(seen) or _failed(seen) or _unusable(seen) or _under_load(seen) or _not_yet(seen)
    if before is None:
        effects = tuple(_with_sign_flip(effect, gated[effect.metric], level, rule) for effect in effects)
    verdict, final, why = before or _at_a_look(seen, effects, control_effects, level)
    return Decision(verdict, final, why, effects, control_effects, seen.look, seen.pairs)


def effect(metric: str, values: Sequence[float], level: float, rule: Rule = DESIGNED) -> Effect:
    """Return what at least two values that vary say; ``level`` is the one-sided p that would be significant.

    Sums are exact (fsum), so the order of the pairs changes nothing. A metric that comes in steps varies by at least
    what rounding to them does: a step over the root of 12 (the SD of a uniform error; W. F. Sheppard, 1898).
    """
    from scipy.special import stdtr  # what scipy.stats.t calls, without its overhead: simulations come here often

    n = len(values)
    mean = math.fsum(values) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    sd = max(sd, rule.steps.get(metric, 0.0) / math.sqrt(12))
    error = sd / math.sqrt(n)
    half = t_quantile(n - 1, (1 + CONFIDENCE) / 2) * error
    return Effect(
        metric=metric,
        pairs=n,
        estimate=mean,
        low=mean - half,
        high=mean + half,
        sd=sd,
        upper=mean + t_quantile(n - 1, rule.pass_confidence) * error,
        p=float(stdtr(n - 1, -mean / error)),
        sign_flip_p=None,
        smallest=detectable(sd, n, level, rule.power),
    )


def detectable(sd: float, pairs: int, level: float, power: float) -> float:
    """Return the minimum detectable effect of a one-sided t test, in the unit of ``sd``.

    (t(1 - level) + t(power)) times the standard error (H. S. Bloom, "Minimum detectable effects", 1995). It is about
    the test alone: that an estimate below ``Rule.least`` is never a regression is not in it.
    """
    return (t_quantile(pairs - 1, 1 - level) + t_quantile(pairs - 1, power)) * sd / math.sqrt(pairs)


def sign_flip_p(values: Sequence[float], level: float) -> float:
    """Return the one-sided p of the sign-flip test of the mean, seeded, fine enough to be held against ``level``.

    Under "no change" each pair is as likely to be -x as x. Counts all sign patterns where they are few.
    """
    import numpy as np
    from scipy.stats import permutation_test

    def mean(sample: Any, axis: int) -> Any:
        return np.mean(sample, axis=axis)

    found = permutation_test(
        (np.sort(np.asarray(values, dtype=float)),),  # sorted, so that the order of the pairs changes nothing
        mean,
        permutation_type="samples",
        n_resamples=math.ceil(RESAMPLES_PER_LEVEL / level) - 1,
        alternative="greater",
        vectorized=True,
        batch=BATCH,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


@lru_cache(maxsize=4096)
def t_quantile(freedom: int, probability: float) -> float:
    """Return the quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


# What is settled before any test


def _no_metric(seen: _Seen) -> _Said | None:
    return None if seen.gated else ("inconclusive", True, "no metric is gated, so there is nothing to decide on")


def _failed(seen: _Seen) -> _Said | None:
    """End a run in which at least three pairs failed and these are at least half of those tried."""
    failed = seen.failed_a + seen.failed_b
    if failed < FAILED_PAIRS or failed < FAILED_SHARE * seen.tried:
        return None
    if seen.failed_a == 0:
        return "regression", True, f"{_side_failed('B', seen.failed_b, seen)}, A in none"
    return "inconclusive", True, _both_failed(seen)


def _unusable(seen: _Seen) -> _Said | None:
    for metric, values in (*seen.gated.items(), *seen.controls.items()):
        if not all(_is_ratio(value) for value in values):
            return "inconclusive", True, f"{metric} has a value that is no ratio of two measurements"
        if seen.look is not None and metric not in seen.rule.steps and len(values) > 1 and _is_still(values):
            why = f"{metric} has the same value in all of {len(values)} pairs: figures that do not vary at all are no"
            return "inconclusive", True, f"{why} measurement"
    return None


def _under_load(seen: _Seen) -> _Said | None:
    """End a run that loses its pairs: most were dropped at a look, or when the first look should long have been."""
    mostly_dropped = seen.dropped > seen.tried / 2
    if mostly_dropped and (seen.look is not None or seen.tried >= 2 * seen.rule.looks[0]):
        why = f"machine under load: {seen.dropped} of {seen.tried} pairs were dropped on an outside signal"
        return "inconclusive", True, f"{why}; close other programs and run again"
    if seen.tried >= 2 * seen.rule.looks[-1] and seen.pairs < seen.rule.looks[-1]:
        return "inconclusive", True, f"only {seen.pairs} of {seen.tried} pairs are good{_lost(seen)}"
    return None


def _not_yet(seen: _Seen) -> _Said | None:
    if seen.look is not None:
        return None
    following = next(look for look in seen.rule.looks if look > seen.pairs)
    if following == seen.rule.looks[0]:
        return "inconclusive", False, f"too few pairs: {seen.pairs} of at least {following}{_lost(seen)}"
    return "inconclusive", False, f"between looks: {seen.pairs} pairs, the next look is at {following}{_lost(seen)}"


# At a look


def _at_a_look(seen: _Seen, effects: Sequence[Effect], controls: Sequence[Effect], level: float) -> _Said:
    rule, last = seen.rule, seen.pairs >= seen.rule.looks[-1]
    worse = [one for one in effects if one.pairs >= rule.looks[0] and _is_regression(one, level, rule)]
    moved = [one for one in controls if _has_moved(one, rule)]
    short = [f"{name} has only {len(values)}" for name, values in seen.gated.items() if len(values) < rule.looks[0]]
    unknown = [
        f"{name} has only {len(values)}" for name, values in seen.controls.items() if len(values) < rule.looks[0]
    ]
    open_ones = [one for one in effects if one.upper >= rule.acceptable]

    if moved or unknown:
        why = f"a control moved ({_list(moved)})" if moved else f"too few values of a control: {', '.join(unknown)}"
        also = f", so it cannot be said whose doing the change of {_list(worse)} is" if worse else ""
        return _undecided(seen, f"{why}{also}", final=last)
    if worse:
        figures = "; ".join(_significant(one, level) for one in worse)
        return "regression", True, f"B is worse at {_place(seen)}: {figures}{_lost(seen)}"
    if short:
        return _undecided(seen, f"{', '.join(short)} of the {rule.looks[0]} values that a decision needs", final=last)
    if not open_ones:
        if seen.failed_b > FAILED_SHARE_OF_A_PASS * seen.tried:
            return _undecided(seen, "no metric is worse, but B failed too often to pass", final=last)
        highest = max(effects, key=lambda one: one.upper)
        bound = f"the highest upper bound is {_percent(highest.upper)} ({highest.metric})"
        return "pass", True, f"B is at most {_percent(rule.acceptable)} worse at {_place(seen)}: {bound}{_lost(seen)}"
    if all(one.sd > rule.most_noise and one.estimate < rule.acceptable for one in open_ones):
        noise = ", ".join(f"{one.metric} {_percent(one.sd)}" for one in open_ones)
        why = f"too noisy: pairs vary by {noise} (SD), and {rule.looks[-1]} pairs bear {_percent(rule.most_noise)}"
        return _undecided(seen, why, final=True)
    figures = "; ".join(f"{_figure(one)}, detectable from {_percent(one.smallest)}" for one in open_ones)
    return _undecided(seen, f"neither worse nor ruled out: {figures}", final=last)


def _undecided(seen: _Seen, why: str, final: bool) -> _Said:
    following = next((look for look in seen.rule.looks if look > seen.pairs), None)
    more = "" if final or following is None else f"; the next look is at {following} pairs"
    return "inconclusive", final, f"{why}; {_place(seen)}{_lost(seen)}{more}"


def _is_regression(one: Effect, level: float, rule: Rule) -> bool:
    return _is_significant(one, level, rule) and (one.sign_flip_p is None or one.sign_flip_p < level)


def _is_significant(one: Effect, level: float, rule: Rule) -> bool:
    return one.p < level and one.estimate > rule.least


def _has_moved(one: Effect, rule: Rule) -> bool:
    return 2 * min(one.p, 1 - one.p) < rule.control_alpha and abs(one.estimate) > rule.control_least


def _with_sign_flip(one: Effect, values: Sequence[float], level: float, rule: Rule) -> Effect:
    """Add the sign-flip test where a regression hangs on it."""
    if one.pairs < rule.sign_flip_from or not _is_significant(one, level, rule):
        return one
    return replace(one, sign_flip_p=sign_flip_p(values, level))


def _effects(metrics: Mapping[str, Sequence[float]], level: float, rule: Rule) -> tuple[Effect, ...]:
    return tuple(
        effect(metric, values, level, rule)
        for metric, values in metrics.items()
        if len(values) > 1
        and all(_is_ratio(value) for value in values)
        and (metric in rule.steps or not _is_still(values))
    )


def _reached(pairs: int, rule: Rule) -> int:
    """Return the look whose level so many pairs are held against: the last one reached, or the first."""
    return max(1, sum(look <= pairs for look in rule.looks))


def _is_ratio(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= MOST


def _is_still(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= STILL


# In words


def _place(seen: _Seen) -> str:
    return f"look {seen.look} of {len(seen.rule.looks)} ({seen.pairs} pairs)"


def _lost(seen: _Seen) -> str:
    """Name the pairs that gave no values, so that no verdict passes over them."""
    parts = [
        _side_failed(side, failed, seen) for side, failed in (("A", seen.failed_a), ("B", seen.failed_b)) if failed
    ]
    parts += [f"dropped on an outside signal: {seen.dropped} of {seen.tried} pairs"] if seen.dropped else []
    return "".join(f"; {part}" for part in parts)


def _side_failed(side: str, failed: int, seen: _Seen) -> str:
    return f"{side} failed in {failed} of {seen.tried} pairs"


def _both_failed(seen: _Seen) -> str:
    b = f", B alone in {seen.failed_b}" if seen.failed_b else ""
    return f"{_side_failed('A', seen.failed_a, seen)}{b}: B cannot be held against it"


def _list(effects: Sequence[Effect]) -> str:
    return ", ".join(f"{one.metric} {_percent(one.estimate)}" for one in effects)


def _figure(one: Effect) -> str:
    return f"{one.metric} {_percent(one.estimate)} (95 % interval {_percent(one.low)} to {_percent(one.high)})"


def _significant(one: Effect, level: float) -> str:
    flipped = "" if one.sign_flip_p is None else f", sign-flip {_p(one.sign_flip_p)}"
    return f"{_figure(one)}, {_p(one.p)}{flipped}, below {units.number(level, 2)}"


def _p(value: float) -> str:
    return f"p = {units.number(value, 2)}" if value >= LEAST_P else "p < 0.00001"


def _percent(logarithm: float) -> str:
    """Write the logarithm of a ratio as a change: ``+5.0 %``; as a ratio from ten times on: ``12x``."""
    ratio = math.exp(min(logarithm, MOST))
    if ratio >= 10:
        return units.times(ratio)
    return f"{round(100 * math.expm1(logarithm), 1) + 0.0:+.1f} %"
