"""What the blocks say of one metric: its change with an interval and two tests. Pure.

Values are natural logarithms of B over A, turned so that B is worse above 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bench.core import units
from bench.core.stats import t_quantile
from bench.studies.compare.rule import DESIGNED, MOST, Rule

CONFIDENCE = 0.95
"""Of the two-sided interval that is shown; no verdict depends on it."""
RESAMPLES_PER_LEVEL = 10
"""The sign-flip test draws so often that this many draws are expected beyond its level: 24 blocks have too many sign
patterns to count them all."""
BATCH = 4_000_000
"""Number of means worked out at once: 32 MB."""
ROUNDING = 1e-12
"""Two sums of the same numbers differ by less, as a share of the sum of their sizes."""
SEED = 20260101
LEAST_P = 0.00001
"""A smaller p is not written out: no model of noise is that exact."""
NAMES = {"cpu_per_page": "CPU per page", "throughput": "throughput", "memory": "user memory per fetch"}
FALLING = frozenset({"throughput"})
"""Metrics of which less is worse: in words, their changes have the sign that people expect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one metric's blocks say, in logarithms of B over A."""

    metric: str
    blocks: int
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


def effect(metric: str, values: Sequence[float], pass_level: float, rule: Rule = DESIGNED) -> Effect:
    """Return what at least two values that vary say; ``pass_level`` is the chance that the bound of a pass is too low.

    Sums are exact (fsum), so the order of the blocks changes nothing. A metric that comes in steps varies by at least
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
        blocks=n,
        estimate=mean,
        low=mean - half,
        high=mean + half,
        sd=sd,
        upper=mean + t_quantile(n - 1, 1 - pass_level) * error,
        p=float(stdtr(n - 1, -mean / error)),
        sign_flip_p=None,
    )


def sign_flip_ps(series: Any, level: float) -> Any:
    """Return the one-sided p of the sign-flip test of the mean for each row, fine enough to be held against ``level``.

    Under "no change" each value is as likely to be -x as x. All sign patterns are counted where they are few, else
    seeded ones are drawn, the same for all rows.
    """
    import numpy as np

    ordered = np.sort(np.asarray(series, dtype=float), axis=1)  # so that the order of the blocks changes nothing
    count = ordered.shape[1]
    signs = _signs(count, math.ceil(RESAMPLES_PER_LEVEL / level))
    observed = ordered.sum(axis=1)
    nearly = observed - ROUNDING * np.abs(ordered).sum(axis=1)
    rows = max(1, BATCH // len(signs))
    batches = [slice(first, first + rows) for first in range(0, len(ordered), rows)]
    beyond = [(signs @ ordered[batch].T >= nearly[batch]).mean(axis=0) for batch in batches]
    return np.concatenate(beyond) if beyond else np.empty(0)


@lru_cache(maxsize=8)
def _signs(count: int, draws: int) -> Any:
    """Return sign patterns, one in each row; the first one leaves every sign as it is, so that no p is 0."""
    import numpy as np

    if 2**count <= draws:
        return 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)
    drawn = np.random.default_rng(SEED).choice((-1.0, 1.0), size=(draws, count))
    drawn[0] = 1.0
    return drawn


def sign_flip_p(values: Sequence[float], level: float) -> float:
    """Return the p of one series; see ``sign_flip_ps``."""
    return float(sign_flip_ps([values], level)[0])


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
