"""What the pairs say of one metric: its change with an interval, two tests, and what could have been found. Pure.

Values are natural logarithms of B over A, turned so that B is worse above 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analyse.rule import DESIGNED, MOST, Rule
from bench.core.stats import t_quantile
from bench.present import units

CONFIDENCE = 0.95
"""Of the two-sided interval that is shown; no verdict depends on it."""
RESAMPLES_PER_LEVEL = 10
"""The sign-flip test draws so often that this many draws are expected beyond its level: 24 pairs have too many sign
patterns to count them all."""
BATCH = 2000
"""So many draws at once: stays in the cache, four times faster than all at once."""
SEED = 20260101
LEAST_P = 0.00001
"""A smaller p is not written out: no model of noise is that exact."""
NAMES = {"cpu_per_page": "CPU per page", "throughput": "throughput", "memory": "user memory per fetch"}
FALLING = frozenset({"throughput"})
"""Metrics of which less is worse: in words, their changes have the sign that people expect."""


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


# In words


def named(metric: str) -> str:
    """Return what people call a metric; a control has its own name."""
    return NAMES.get(metric, metric)


def own(metric: str, logarithm: float) -> float:
    """Return a change in the metric's own direction: of throughput, worse is less."""
    return -logarithm if metric in FALLING else logarithm


def listed(effects: Sequence[Effect]) -> str:
    """Write the changes of some metrics."""
    return ", ".join(f"{named(one.metric)} {percent(own(one.metric, one.estimate))}" for one in effects)


def told(one: Effect) -> str:
    """Write a change with its interval."""
    low, high = sorted(own(one.metric, end) for end in (one.low, one.high))
    return f"{listed([one])} (95 % interval {percent(low).removesuffix(' %')} to {percent(high)})"


def told_significant(one: Effect, level: float) -> str:
    """Write a change with its interval, and how sure it is."""
    flipped = "" if one.sign_flip_p is None else f", sign-flip {_p(one.sign_flip_p)}"
    return f"{told(one)}, {_p(one.p)}{flipped}, below {units.number(level, 2)}"


def percent(logarithm: float) -> str:
    """Write the logarithm of a ratio as a change: ``+5.0 %``; as a ratio from ten times on: ``12x``."""
    ratio = math.exp(min(logarithm, MOST))
    if ratio >= 10:
        return units.times(ratio)
    change = round(100 * math.expm1(logarithm), 1) + 0.0  # no "-0.0"
    return f"{change:+.1f} %" if abs(change) < 100 else f"{change:+.0f} %"


def amount(logarithm: float) -> str:
    """Write a size, of a noise or of a bound, which has no sign: ``5.0 %``."""
    return percent(logarithm).removeprefix("+")


def _p(value: float) -> str:
    return f"p = {units.number(value, 2)}" if value >= LEAST_P else "p < 0.00001"
