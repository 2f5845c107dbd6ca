"""The rule of a comparison in blocks: its looks, its error rates and its limits. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

MOST = math.log(1e9)
"""Logarithm of the largest ratio; a larger one is a broken figure."""
_SPARE = 1.05
"""Suggested budget over the estimated duration: the next estimate may be longer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The looks, how the chance of a false alarm is divided between them, and the limits of the verdicts.

    Raises ValueError for a rule that is not consistent.
    """

    looks: tuple[int, ...] = (12, 24, 48)
    """Numbers of blocks at which a decision may be made."""
    alpha: float = 0.005
    """Chance of a false alarm in the whole run, over all gated metrics and looks."""
    shares: tuple[float, ...] = (0.1, 0.3, 0.6)
    """Share of alpha that each look gets."""
    least: float = math.log(1.02)
    """Least estimate of a regression."""
    acceptable: float = math.log(1.05)
    """The change that a pass rules out."""
    pass_alpha: float = 0.01
    """Chance in the whole run that a change beyond ``acceptable`` passes. It is divided between the looks like alpha,
    but not between metrics, because all of them must pass (an intersection-union test; R. L. Berger, 1982)."""
    sign_flip_from: int = 24
    """Number of blocks from which a regression also needs the sign-flip test."""
    control_alpha: float = 0.001
    control_least: float = math.log(1.01)
    """A control has moved if its two-sided p is below ``control_alpha`` and its estimate beyond ``control_least``."""
    steps: Mapping[str, float] = field(default_factory=lambda: {"memory": 0.002}, hash=False)
    """Metrics that come in steps, with the step as a share of the value: memory comes in pages of 4 KiB, one or two
    thousandths of what a block measures. Such values may repeat exactly; those of clocks do not."""
    power: float = 0.9
    """Share of slowdowns of the smallest detectable size that are found."""

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 2 or any(late <= soon for soon, late in pairwise(self.looks)):
            raise ValueError(f"the looks must be rising numbers of blocks from 2 on, not {self.looks}")
        if len(self.shares) != len(self.looks):
            raise ValueError(f"each look needs a share of alpha: {len(self.looks)} looks, {len(self.shares)} shares")
        if not all(share > 0 for share in self.shares) or not math.isclose(math.fsum(self.shares), 1, abs_tol=1e-9):
            raise ValueError(f"the shares of alpha must be above 0 and add up to 1, not {self.shares}")
        for name in ("alpha", "pass_alpha", "control_alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, not at {getattr(self, name)}")
        for name in ("least", "acceptable", "control_least"):
            if not 0 <= getattr(self, name) < MOST:
                raise ValueError(f"{name} must be the logarithm of a ratio from 1 on, not {getattr(self, name)}")
        if self.acceptable == 0:
            raise ValueError("acceptable must be above 0: no number of blocks rules out every change")

    @property
    def most_noise(self) -> float:
        """The SD above which even the last look is too noisy for a pass: its half-width is ``acceptable``."""
        from scipy.special import stdtrit

        last, looks = self.looks[-1], len(self.looks)
        return self.acceptable * math.sqrt(last) / float(stdtrit(last - 1, 1 - self.pass_level(looks)))

    def level(self, look: int, metrics: int) -> float:
        """Return the p below which one of ``metrics`` metrics is significant at a look, 1-based (Bonferroni)."""
        return self.alpha * self.shares[look - 1] / metrics

    def pass_level(self, look: int) -> float:
        """Return the chance that the upper bound of a metric is too low at a look, 1-based."""
        return self.pass_alpha * self.shares[look - 1]


DESIGNED = Rule()


def with_looks(looks: tuple[int, ...], rule: Rule = DESIGNED) -> Rule:
    """Return the rule with these looks; if there are fewer, the last one gets the remaining shares of alpha.

    Raises ValueError for invalid looks.
    """
    kept = rule.shares[: len(looks) - 1]
    return replace(rule, looks=looks, shares=(*kept, 1 - math.fsum(kept)))


def budget_for(duration_s: float) -> int:
    """Return the budget in seconds to suggest for an estimated duration."""
    return 10 * math.ceil(duration_s * _SPARE / 10)


def rule_for(budget_s: float, block_s: float, rule: Rule = DESIGNED, memory_s: float = 0.0) -> Rule | None:
    """Fit the looks to a budget: multiples of the looks, or the first ones; None if it is too short for any look.

    ``memory_s`` is the time that memory adds to a block, in as many blocks as the first look needs. Raises ValueError
    for times that are not finite and above 0.
    """
    if not (0 < budget_s < math.inf and 0 < block_s < math.inf):
        raise ValueError(f"a budget and a block must take a time above 0, not {budget_s} s and {block_s} s")
    rest_s = max(0.0, budget_s - rule.looks[0] * memory_s)
    blocks = math.floor(rest_s / block_s * (1 + 1e-12))  # ignore rounding errors
    times = blocks // rule.looks[-1]
    looks = tuple(times * look for look in rule.looks if times) or tuple(look for look in rule.looks if look <= blocks)
    return with_looks(looks, rule) if looks else None
