"""How likely a bisection is right, from the error rates of its comparisons. Pure."""

import math
from dataclasses import dataclass
from functools import cache

from inflight.bench.studies.compare.rule import Rule


@dataclass(frozen=True, slots=True)
class Rates:
    """The chances of the verdicts of one comparison."""

    found: float
    """Chance of a regression for a commit from the change on."""
    passed_before: float
    """Chance of a pass for a commit before the change."""


def most_wrong(rule: Rule, comparisons: int) -> float:
    """Return an upper bound of the chance that any of some comparisons answers wrongly.

    A comparison is wrong if it calls a commit before the change a regression (at most ``alpha``), or passes a commit
    from the change on (at most ``pass_alpha`` for a change of at least ``acceptable``). It can be only one of the two.
    The chance of any wrong answer is at most the sum of the chances (G. Boole, 1847; C. E. Bonferroni, 1936), although
    all comparisons share the first commit.
    """
    return min(1.0, comparisons * max(rule.alpha, rule.pass_alpha))


def right(commits: int, rates: Rates) -> float:
    """Return the chance that a search names the right commit, if each of them is equally likely to be the one.

    The search goes on with the half that has the change, if the verdict is right: of ``n`` commits, the middle one is
    from the change on if the change is among the first ``m``. So P(n) = m/n found P(m) + (n-m)/n passed_before P(n-m),
    and P(1) = 1: the law of total probability over the halves, with independent comparisons.
    """

    @cache
    def chance(number: int) -> float:
        if number <= 1:
            return 1.0
        first = number // 2
        rest = number - first
        return math.fsum(
            (
                first / number * rates.found * chance(first),
                rest / number * rates.passed_before * chance(rest),
            )
        )

    return chance(commits)
