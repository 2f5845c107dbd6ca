"""What a budget buys: the looks that fit and the refusal of one that is too small."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.studies.compare.budget import Refusal, rule_for
from bench.studies.compare.decide import Rule


@pytest.mark.parametrize(
    ("blocks", "looks", "shares"),
    [
        (12, (12,), (1.0,)),
        (23, (12,), (1.0,)),
        (24, (12, 24), (0.1, 0.9)),
        (47, (12, 24), (0.1, 0.9)),
        (48, (12, 24, 48), (0.1, 0.3, 0.6)),
        (95, (12, 24, 48), (0.1, 0.3, 0.6)),
        (96, (24, 48, 96), (0.1, 0.3, 0.6)),
        (150, (36, 72, 144), (0.1, 0.3, 0.6)),
    ],
)
def test_the_looks_are_those_that_fit(blocks: int, looks: tuple[int, ...], shares: tuple[float, ...]) -> None:
    found = rule_for(blocks * 7.5, 7.5)

    assert isinstance(found, Rule)
    assert found.looks == looks
    assert found.shares == pytest.approx(shares)


def test_a_budget_that_is_too_small_is_refused_with_one_that_would_do() -> None:
    found = rule_for(30, 7)

    assert found == Refusal("a budget of 30 s allows 4 blocks; at least 12 are needed: give 84 s or more")
    assert isinstance(rule_for(84, 7), Rule)
    assert rule_for(1, 0.9) == Refusal("a budget of 1 s allows 1 block; at least 12 are needed: give 11 s or more")


@given(st.floats(0.01, 1000), st.floats(0.01, 1e6))
def test_every_budget_gives_looks_within_it_or_a_refusal(pair_s: float, budget_s: float) -> None:
    found = rule_for(budget_s, pair_s)

    if isinstance(found, Rule):
        assert found.looks[-1] * pair_s <= budget_s * (1 + 1e-9)
        assert math.fsum(found.shares) == pytest.approx(1)
    else:
        assert isinstance(rule_for(math.ceil(12 * pair_s), pair_s), Rule)


@pytest.mark.parametrize(("budget_s", "pair_s"), [(0, 1), (-1, 1), (1, 0), (math.nan, 1), (math.inf, 1), (1, math.nan)])
def test_times_that_are_none_are_refused(budget_s: float, pair_s: float) -> None:
    with pytest.raises(ValueError, match="a time above 0"):
        rule_for(budget_s, pair_s)


def test_the_other_settings_of_a_rule_stay() -> None:
    mine = Rule(looks=(10, 20), shares=(0.5, 0.5), alpha=0.01)

    assert rule_for(15, 1, mine) == Rule(looks=(10,), shares=(1.0,), alpha=0.01)
