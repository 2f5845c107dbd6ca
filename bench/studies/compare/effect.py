"""The effect of one metric over the blocks: its change with an interval and two tests. Pure.

Values are natural logarithms of B over A, with their sign such that B is worse above 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inflight.bench.core import units
from inflight.bench.frame.statistics import CONFIDENCE, t_quantile
from inflight.bench.studies.compare.rule import DESIGNED, Rule

RESAMPLES_PER_LEVEL = 10
"""Expected number of draws beyond the level of the sign-flip test: 24 blocks have too many sign patterns to try all."""
BATCH = 4_000_000
"""Number of means computed at once: 32 MB."""
ROUNDING = 1e-12
"""Upper bound of the difference of two sums of the same numbers, as a share of the sum of their magnitudes."""
SEED = 20260101
LEAST_P = 0.00001
"""Least p that is written as a number: no model of noise is more exact."""
NAMES = {"cpu_per_page": "CPU per page", "throughput": "throughput", "memory": "user memory per fetch"}
FALLING = frozenset({"throughput"})
"""Metrics of which less is worse; their changes are written with the sign that people expect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one metric, in logarithms of B over A."""

    metric: str
    blocks: int
    estimate: float
    low: float
    high: float
    """The two-sided 95 % t interval; only a pass that waits depends on it."""
    sd: float
    upper: float
    """The one-sided bound that decides a pass."""
    p: float
    """One-sided t test of "the mean is at most 0"."""
    sign_flip_p: float | None
    """The p of the sign-flip test, if it was needed."""

    @property
    def change(self) -> str:
        """The change as text."""
        return units.change(own(self.metric, self.estimate))

    @property
    def interval(self) -> str:
        """The 95 % interval as text."""
        return units.change_between(own(self.metric, self.low), own(self.metric, self.high))


def effect(metric: str, values: Sequence[float], pass_level: float, rule: Rule = DESIGNED) -> Effect:
    """Return the effect of at least two different values; ``pass_level`` is the chance that ``upper`` is too low.

    Sums are exact (fsum), so the order of the blocks does not matter. The SD of a metric in steps is at least that of
    rounding to a step: the step over the root of 12 (the SD of a uniform error; W. F. Sheppard, 1898).
    """
    from scipy.special import stdtr  # as scipy.stats.t, without its overhead: simulations call this often

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
    """Return the one-sided p of the sign-flip test of the mean for each row, precise enough for a test at ``level``.

    Under "no change" each value is as likely to be -x as x. If there are few sign patterns, all are tried; otherwise
    seeded patterns are drawn, the same for all rows.
    """
    import numpy as np

    ordered = np.sort(np.asarray(series, dtype=float), axis=1)  # so that the order of the blocks does not matter
    signs = _signs(ordered.shape[1], math.ceil(RESAMPLES_PER_LEVEL / level))
    nearly = ordered.sum(axis=1) - ROUNDING * np.abs(ordered).sum(axis=1)
    rows = max(1, BATCH // len(signs))
    batches = [slice(first, first + rows) for first in range(0, len(ordered), rows)]
    beyond = [(signs @ ordered[batch].T >= nearly[batch]).mean(axis=0) for batch in batches]
    return np.concatenate(beyond) if beyond else np.empty(0)


@lru_cache(maxsize=8)
def _signs(count: int, draws: int) -> Any:
    """Return sign patterns, one per row; the first one changes no sign, so that no p is 0."""
    import numpy as np

    if 2**count <= draws:
        return 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)
    drawn = np.random.default_rng(SEED).choice((-1.0, 1.0), size=(draws, count))
    drawn[0] = 1.0
    return drawn


def sign_flip_p(values: Sequence[float], level: float) -> float:
    """Return the p of one series; see ``sign_flip_ps``."""
    return float(sign_flip_ps([values], level)[0])


# As text


def named(metric: str) -> str:
    """Return the printed name of a metric; the name of a control is printed as it is."""
    return NAMES.get(metric, metric)


def own(metric: str, logarithm: float) -> float:
    """Return a change in the metric's own direction: of throughput, worse is less."""
    return -logarithm if metric in FALLING else logarithm


def bound(metric: str, worst: float) -> str:
    """Write the worst change that is not ruled out: ``at most 1.9 % less throughput``.

    If even this change is an improvement: ``at least 1.9 % more throughput``.
    """
    size, falls = units.change(own(metric, worst)).lstrip("+-"), metric in FALLING
    if size.endswith("x"):
        return f"{'at least' if falls else 'at most'} {size} the {named(metric)}"
    is_worse = worst > 0 or size == "0.0 %"
    return f"{'at most' if is_worse else 'at least'} {size} {'less' if is_worse == falls else 'more'} {named(metric)}"


def listed(effects: Sequence[Effect]) -> str:
    """Write the changes of some metrics."""
    return ", ".join(f"{named(one.metric)} {one.change}" for one in effects)


def told(one: Effect) -> str:
    """Write a change with its interval."""
    return f"{listed([one])} (95 % interval {one.interval})"


def p_text(p: float) -> str:
    """Write a p value."""
    return f"p = {units.number(p, 2)}" if p >= LEAST_P else "p < 0.00001"
