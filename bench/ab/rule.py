"""The rule of a comparison in blocks: its looks, error rates and limits, and the smallest change it finds. Pure.

``command`` chooses a rule for the user's budget (``rule_for``), ``decide`` applies it. A *look* is a number of blocks
at which a decision may be made; each look has its share of the chance of a false alarm. All changes are natural
logarithms of B over A (0.05 is about 5 % worse); SDs are standard deviations of such values between blocks.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from inflight.bench.frame.statistics import CONFIDENCE, t_quantile

MAX_LOG = math.log(1e9)
"""Logarithm of the largest ratio; a larger one is a broken figure."""
SPARE = 1.05
"""Suggested budget over the estimated duration: the next estimate may be longer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The looks, how the chance of a false alarm is divided between them, and the limits of the verdicts."""

    looks: tuple[int, ...] = (12, 24, 48)
    """Numbers of blocks at which a decision may be made."""
    shares: tuple[float, ...] = (0.1, 0.3, 0.6)
    """Share of alpha that each look gets."""
    alpha: float = 0.005
    """Chance of a false alarm in the whole run, over all gated metrics and looks."""
    least: float = math.log(1.02)
    """Least estimate of a regression."""
    acceptable: float = math.log(1.05)
    """The change that a pass rules out."""
    pass_alpha: float = 0.01
    """Chance in the whole run that a change beyond ``acceptable`` passes. It is divided between the looks like alpha,
    but not between metrics, because all of them must pass (an intersection-union test; R. L. Berger, 1982)."""
    control_alpha: float = 0.001
    control_least: float = math.log(1.01)
    """A control has moved if its two-sided p is below ``control_alpha`` and its estimate beyond ``control_least``."""
    power: float = 0.9
    """Share of slowdowns of the smallest size that are found."""

    @property
    def max_noise(self) -> float:
        """The SD above which even the last look is too noisy for a pass: its half-width is ``acceptable``."""
        last = self.looks[-1]
        looks = len(self.looks)
        return self.acceptable * math.sqrt(last) / t_quantile(last - 1, 1 - self.pass_level(looks))

    def level(self, look: int, metrics: int) -> float:
        """Return the p below which one of ``metrics`` metrics is significant at a look, 1-based (Bonferroni)."""
        return self.alpha * self.shares[look - 1] / metrics

    def pass_level(self, look: int) -> float:
        """Return the chance that the upper bound of a metric is too low at a look, 1-based."""
        return self.pass_alpha * self.shares[look - 1]


DESIGNED = Rule()
"""The rule where the user gives no budget."""


def with_looks(looks: tuple[int, ...]) -> Rule:
    """Return the designed rule with these looks; if there are fewer, the last one gets the remaining shares of alpha.

    Raises ValueError for looks that are not rising, or of which there are too many.
    """
    most = len(DESIGNED.looks)
    if not 0 < len(looks) <= most or looks[0] < 2 or any(late <= soon for soon, late in pairwise(looks)):
        raise ValueError(f"the looks must be up to {most} rising numbers of blocks from 2 on, not {looks}")
    first = DESIGNED.shares[: len(looks) - 1]
    return Rule(looks, (*first, 1 - math.fsum(first)))


def rule_for(budget_s: float, block_s: float, memory_s: float = 0.0) -> Rule | None:
    """Fit the looks to a budget: multiples of the designed ones, or the first ones; None if it is too short for any.

    ``memory_s`` is the time that memory adds to a block, in as many blocks as the first look needs.
    """
    designed = DESIGNED.looks
    rest_s = max(0.0, budget_s - designed[0] * memory_s)
    blocks = math.floor(rest_s / block_s * (1 + 1e-12))  # ignore rounding errors
    times = blocks // designed[-1]
    looks = tuple(times * look for look in designed) if times else tuple(look for look in designed if look <= blocks)
    return with_looks(looks) if looks else None


def budget_for(duration_s: float) -> int:
    """Return the budget in seconds to suggest for an estimated duration."""
    return 10 * math.ceil(duration_s * SPARE / 10)


def blocks_to_find(slowdown: float, sd: float, rule: Rule = DESIGNED, metrics: int = 1) -> int | None:
    """Return the number of blocks with which the rule finds a slowdown (a logarithm), if blocks vary by ``sd``.

    ``metrics`` is the number of gated metrics (those that a verdict depends on), which share alpha. None if 100 times
    the last look is too few.
    """
    for times in range(1, 101):
        longer = replace(rule, looks=tuple(times * look for look in rule.looks))
        if smallest_found(sd, longer, metrics) <= slowdown:
            return longer.looks[-1]
    return None


def smallest_found(sd: float, rule: Rule = DESIGNED, metrics: int = 1) -> float:
    """Return the smallest true slowdown (a logarithm) of one of ``metrics`` metrics that the rule finds with its power.

    ``sd`` is the standard deviation between blocks. The slowdown is the largest of the changes that, with this power,
    each look needs: at the last one an estimate that is significant and at least a regression, at an earlier one an
    estimate with which the run does not end otherwise. In simulations of normal noise, the rule finds 83 to 93 % of
    slowdowns of this size.
    """
    needed = []
    for look, blocks in enumerate(rule.looks, start=1):
        error = sd / math.sqrt(blocks)
        freedom = blocks - 1
        if blocks == rule.looks[-1]:
            limit = max(rule.least, t_quantile(freedom, 1 - rule.level(look, metrics)) * error)
        elif sd > rule.max_noise:
            limit = rule.acceptable
        else:
            passes = rule.acceptable - t_quantile(freedom, 1 - rule.pass_level(look)) * error
            waits = max(rule.least, t_quantile(freedom, (1 + CONFIDENCE) / 2) * error)
            limit = min(passes, waits)
        needed.append(limit + t_quantile(freedom, rule.power) * error)
    return max(needed)
