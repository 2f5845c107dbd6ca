"""What a budget of time buys: how many pairs, and which looks. Pure."""

import math
from dataclasses import dataclass, replace

from bench.analyse.decide import DESIGNED, Rule
from bench.present import units


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a budget is too small, and what would do."""

    sentence: str


def rule_for(budget_s: float, pair_s: float, rule: Rule = DESIGNED, memory_s: float = 0.0) -> Rule | Refusal:
    """Fit the looks to the pairs that a budget allows: multiples of them, or the first ones only.

    ``memory_s`` is what measuring memory adds to a pair, which is done in as many as the first look needs.

    With fewer looks the last one gets the shares of alpha of those that are left out. Raises ValueError for times that
    are not finite and above 0.
    """
    if not (0 < budget_s < math.inf and 0 < pair_s < math.inf):
        raise ValueError(f"a budget and a pair take a time above 0, not {budget_s} s and {pair_s} s")
    pairs = _fitting(max(0.0, budget_s - rule.looks[0] * memory_s), pair_s)
    if pairs < rule.looks[0]:
        allowed = "1 pair" if pairs == 1 else f"{pairs} pairs"
        return Refusal(
            f"a budget of {units.number_tick(budget_s)} s allows {allowed}; at least "
            f"{rule.looks[0]} are needed: give {units.count(math.ceil(rule.looks[0] * (pair_s + memory_s)))} s or more"
        )
    if pairs >= rule.looks[-1]:
        times = pairs // rule.looks[-1]
        return replace(rule, looks=tuple(times * look for look in rule.looks))
    looks = tuple(look for look in rule.looks if look <= pairs)
    kept = rule.shares[: len(looks) - 1]
    return replace(rule, looks=looks, shares=(*kept, 1 - math.fsum(kept)))


def _fitting(budget_s: float, pair_s: float) -> int:
    """Return how many pairs fit; a budget that is short by a rounding error is not short."""
    return math.floor(budget_s / pair_s * (1 + 1e-12))
