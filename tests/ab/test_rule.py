"""The rule in simulated comparisons: its error rates, its power at the smallest change of the formula, its budgets."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from inflight.bench.ab.decide import decide
from inflight.bench.ab.rule import DESIGNED, Rule, blocks_to_find, budget_for, rule_for, smallest_found, with_looks

RUNS = 400


def verdicts(
    change: float, sd: float, rule: Rule = DESIGNED, metrics: int = 1, tails: int | None = None
) -> Counter[str]:
    """Return the verdicts of whole comparisons whose first metric is worse; ``tails``: degrees of freedom of noise."""
    draw = np.random.default_rng(20260101)
    shape = (RUNS, rule.looks[-1], metrics)
    unit = draw.standard_normal(shape) if tails is None else draw.standard_t(tails, shape) * math.sqrt(1 - 2 / tails)
    found: Counter[str] = Counter()
    for series in sd * unit + np.array([change] + [0.0] * (metrics - 1)):
        for look in rule.looks:
            decision = decide({f"m{n}": list(map(float, series[:look, n])) for n in range(metrics)}, {}, rule)
            if decision.final:
                break
        found[decision.verdict] += 1
    return found


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12])
@pytest.mark.parametrize(("metrics", "tails"), [(1, None), (3, None), (1, 3)])
def test_false_alarms_stay_within_alpha(sd: float, metrics: int, tails: int | None) -> None:
    assert verdicts(0.0, sd, metrics=metrics, tails=tails)["regression"] <= binom.ppf(0.999, RUNS, DESIGNED.alpha)


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12])
def test_what_is_worse_than_acceptable_passes_within_alpha(sd: float) -> None:
    assert verdicts(DESIGNED.acceptable, sd)["pass"] <= binom.ppf(0.999, RUNS, DESIGNED.pass_alpha)


@pytest.mark.parametrize("looks", [(12,), (12, 24, 48), (24, 48, 96)])
@pytest.mark.parametrize(
    ("sd", "metrics"), [(0.002, 1), (0.02, 1), (0.03, 3), (0.05, 1), (0.05, 3), (0.12, 1), (0.2, 2)]
)
def test_the_smallest_change_of_the_formula_is_found_about_as_often_as_stated(
    looks: tuple[int, ...], sd: float, metrics: int
) -> None:
    rule = with_looks(looks)

    share = verdicts(smallest_found(sd, rule, metrics), sd, rule, metrics)["regression"] / RUNS

    assert 0.80 <= share <= 0.96, "83 to 93 % are stated"


def test_the_smallest_change_is_at_least_a_regression_and_grows_with_noise() -> None:
    sizes = [smallest_found(sd) for sd in (0.0001, 0.01, 0.05, 0.1, 0.2, 0.4)]

    assert sizes[0] > DESIGNED.least
    assert sizes == sorted(sizes)
    assert smallest_found(0.1, with_looks((24, 48, 96))) < smallest_found(0.1)


def test_as_many_blocks_as_needed_find_a_slowdown_and_fewer_do_not() -> None:
    blocks = blocks_to_find(0.05, 0.1)

    assert blocks is not None
    assert blocks % DESIGNED.looks[-1] == 0
    times = blocks // DESIGNED.looks[-1]
    sizes = [smallest_found(0.1, with_looks(tuple(n * look for look in DESIGNED.looks))) for n in (times - 1, times)]
    assert sizes[0] > 0.05 >= sizes[1]
    assert (blocks_to_find(0.05, 0.001), blocks_to_find(0.05, 5.0)) == (48, None)


# Within a given time


@pytest.mark.parametrize(
    ("number", "looks", "shares"),
    [
        (12, (12,), (1.0,)),
        (23, (12,), (1.0,)),
        (24, (12, 24), (0.1, 0.9)),
        (48, (12, 24, 48), (0.1, 0.3, 0.6)),
        (95, (12, 24, 48), (0.1, 0.3, 0.6)),
        (150, (36, 72, 144), (0.1, 0.3, 0.6)),
    ],
)
def test_the_looks_are_those_that_fit(number: int, looks: tuple[int, ...], shares: tuple[float, ...]) -> None:
    found = rule_for(number * 7.5, 7.5)

    assert found is not None
    assert (found.looks, found.alpha) == (looks, DESIGNED.alpha)
    assert found.shares == pytest.approx(shares)


def test_memory_takes_its_time_in_as_many_blocks_as_the_first_look_needs() -> None:
    assert rule_for(12 * 9.0, 7.0, memory_s=2.0) == Rule(looks=(12,), shares=(1.0,))
    assert rule_for(12 * 9.0 - 0.1, 7.0, memory_s=2.0) is None


@given(st.floats(0.01, 1000), st.floats(0.01, 1e6))
def test_every_time_gives_looks_within_it_or_none(block_s: float, budget_s: float) -> None:
    found = rule_for(budget_s, block_s)

    if found is None:
        assert budget_s < 12 * block_s
    else:
        assert found.looks[-1] * block_s <= budget_s * (1 + 1e-9)
        assert math.fsum(found.shares) == pytest.approx(1)


def test_a_suggested_budget_has_5_percent_to_spare_in_steps_of_ten_seconds() -> None:
    assert [budget_for(duration_s) for duration_s in (1, 9.5, 9.6, 66, 100, 1000)] == [10, 10, 20, 70, 110, 1050]


@pytest.mark.parametrize("looks", [(), (12, 12, 48), (1, 12), (12, 24, 48, 96)])
def test_looks_that_are_no_rule_are_refused(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rising numbers of blocks"):
        with_looks(looks)
