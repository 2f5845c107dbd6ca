"""What a budget of time buys: how many blocks, and which looks. Pure."""

import math
from dataclasses import dataclass, replace

from bench.core import units
from bench.studies.compare.decide import DESIGNED, Rule


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a budget is too small, and what would do."""

    sentence: str


def rule_for(budget_s: float, block_s: float, rule: Rule = DESIGNED, memory_s: float = 0.0) -> Rule | Refusal:
    """Fit the looks to the blocks that a budget allows: multiples of them, or the first ones only.

    ``memory_s`` is what measuring memory adds to a block, which is done in as many as the first look needs.

    With fewer looks the last one gets the shares of alpha of those that are left out. Raises ValueError for times that
    are not finite and above 0.
    """
    if not (0 < budget_s < math.inf and 0 < block_s < math.inf):
        raise ValueError(f"a budget and a block take a time above 0, not {budget_s} s and {block_s} s")
    blocks = _fitting(max(0.0, budget_s - rule.looks[0] * memory_s), block_s)
    if blocks < rule.looks[0]:
        allowed = "1 block" if blocks == 1 else f"{blocks} blocks"
        return Refusal(
            f"a budget of {units.number_tick(budget_s)} s allows {allowed}; at least "
            f"{rule.looks[0]} are needed: give {units.count(math.ceil(rule.looks[0] * (block_s + memory_s)))} s or more"
        )
    if blocks >= rule.looks[-1]:
        times = blocks // rule.looks[-1]
        return replace(rule, looks=tuple(times * look for look in rule.looks))
    looks = tuple(look for look in rule.looks if look <= blocks)
    kept = rule.shares[: len(looks) - 1]
    return replace(rule, looks=looks, shares=(*kept, 1 - math.fsum(kept)))


def _fitting(budget_s: float, block_s: float) -> int:
    """Return how many blocks fit; a budget that is short by a rounding error is not short."""
    return math.floor(budget_s / block_s * (1 + 1e-12))
