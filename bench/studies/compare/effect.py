"""What the blocks say of one metric: its change with an interval and two tests. Pure.

Values are natural logarithms of B over A, turned so that B is worse above 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inflight.bench.core import units
from inflight.bench.core.stats import CONFIDENCE, t_quantile
from inflight.bench.studies.compare.rule import DESIGNED, Rule

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
"""Metrics of which less is worse: what is written has the sign that people expect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one metric's blocks say, in logarithms of B over A."""

    metric: str
    blocks: int
    estimate: float
    low: float
    high: float
    """The two-sided 95 % t interval; no verdict depends on it but that of a pass that waits."""
    sd: float
    upper: float
    """The one-sided bound that decides a pass."""
    p: float
    """One-sided t test of "the mean is at most 0"."""
    sign_flip_p: float | None
    """Of the sign-flip test, where it was needed."""

    @property
    def change(self) -> str:
        """The change, as it is written."""
        return units.change(own(self.metric, self.estimate))

    @property
    def interval(self) -> str:
        """Its 95 % interval, as it is written."""
        return units.change_between(own(self.metric, self.low), own(self.metric, self.high))


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
    signs = _signs(ordered.shape[1], math.ceil(RESAMPLES_PER_LEVEL / level))
    nearly = ordered.sum(axis=1) - ROUNDING * np.abs(ordered).sum(axis=1)
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
    """Return the name of a metric for people; a control has its own name."""
    return NAMES.get(metric, metric)


def own(metric: str, logarithm: float) -> float:
    """Return a change in the metric's own direction: of throughput, worse is less."""
    return -logarithm if metric in FALLING else logarithm


def listed(effects: Sequence[Effect]) -> str:
    """Write the changes of some metrics."""
    return ", ".join(f"{named(one.metric)} {one.change}" for one in effects)


def told(one: Effect) -> str:
    """Write a change with its interval."""
    return f"{listed([one])} (95 % interval {one.interval})"


def p_text(p: float) -> str:
    """Write a p value."""
    return f"p = {units.number(p, 2)}" if p >= LEAST_P else "p < 0.00001"
