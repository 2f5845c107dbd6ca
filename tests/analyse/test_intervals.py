"""Intervals, tests and corrections: against scipy, by properties, and by how often they are wrong in simulations."""

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inflight.bench.frame import statistics as stats
from inflight.bench.frame.statistics import Estimate, Logs, compare, holm, mean
from tests.frame.answers import answer

logs = st.floats(-5, 5)
samples = st.lists(logs, min_size=2, max_size=12)
p_values = st.lists(st.floats(0, 1), max_size=30)


def differs(first: Logs, other: Logs) -> str:
    return answer(compare(first, other))


def varies(values: list[float]) -> bool:
    from statistics import stdev

    return stdev(values) > 2 * stats.MIN_SD


@given(samples, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_that_of_scipy(values: list[float], confidence: float) -> None:
    from scipy.stats import ttest_1samp

    assume(varies(values))
    found, known = mean(values).interval(confidence), ttest_1samp(values, 0).confidence_interval(confidence)

    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.n == len(values)


@given(samples)
def test_a_ratio_and_its_interval_are_the_exponentials(values: list[float]) -> None:
    found, ratio = mean(values).interval(), mean(values).interval().ratio()

    assert ratio.low <= ratio.estimate <= ratio.high
    assert math.log(ratio.estimate) == pytest.approx(found.estimate)


@given(samples, samples)
def test_unpaired_sides_are_compared_as_scipy_does(one: list[float], other: list[float]) -> None:
    from scipy.stats import ttest_ind

    assume(varies(one) and varies(other))
    found, known = stats.welch(one, other), ttest_ind(one, other, equal_var=False)

    assert found.p == pytest.approx(known.pvalue)
    assert found.freedom == pytest.approx(known.df)


@given(samples, logs, st.floats(-0.5, 0.5))
def test_a_shift_of_whole_blocks_moves_no_difference(values: list[float], shift: float, more: float) -> None:
    one = dict(enumerate(values))
    moved = {block: value + shift * block for block, value in one.items()}
    other = {block: value + more for block, value in moved.items()}

    assert compare(other, moved).value == pytest.approx(more)
    assert differs(other, moved) == differs(moved, other)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (0.03, 0.001, "differs"),
        (-0.03, 0.001, "differs"),
        (0.015, 0.001, "same"),
        (0.0, 0.001, "same"),
        (0.0, 0.05, "unknown"),
        (0.03, 0.05, "unknown"),
    ],
)
def test_an_answer_needs_a_difference_or_an_interval_inside_the_margin(value: float, error: float, said: str) -> None:
    assert answer(Estimate(value, error, 5, 6)) == said


@given(samples, st.floats(0.001, 2))
def test_the_equivalence_test_is_that_of_scipy(values: list[float], bound: float) -> None:
    from scipy.stats import ttest_1samp

    assume(varies(values))
    found = stats.mean(values)
    below, above = (
        float(ttest_1samp(values, place, alternative=side).pvalue)
        for place, side in ((bound, "less"), (-bound, "greater"))
    )
    assume(min(abs(below - 0.05), abs(above - 0.05)) > 1e-9)

    assert found.is_within(bound) is (max(below, above) < 0.05)


@given(p_values, st.randoms())
def test_the_order_of_a_family_changes_no_p_value(ps: list[float], random: Random) -> None:
    order = random.sample(range(len(ps)), len(ps))

    assert holm([ps[place] for place in order]) == [holm(ps)[place] for place in order]


def test_holm_gives_the_values_of_the_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.2]) == [0.2]


def test_a_family_is_corrected_for_its_number() -> None:
    family = {name: Estimate(value, 0.1, 9, 10) for name, value in (("a", 0.5), ("b", 0.1))}

    assert stats.adjusted(family) == pytest.approx({"a": 2 * family["a"].p, "b": family["b"].p})


def identical(random: Random, rounds: int, noise: float, shift: float = 0.1) -> Logs:
    """Make the logarithms of one model; the rounds themselves vary as well, by a seed that all models share."""
    return {block: Random(block).gauss(0, shift) + random.gauss(0, noise) for block in range(rounds)}


@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize("noises", [(0.05, 0.05), (0.02, 0.2)])
def test_two_identical_models_are_told_apart_in_one_case_of_twenty(rounds: int, noises: tuple[float, float]) -> None:
    random = Random(rounds)

    pairs = ([identical(random, rounds, noise) for noise in noises] for _ in range(2000))
    alarms = sum(differs(one, other) == "differs" for one, other in pairs)

    assert alarms <= 130, "5 % of 2,000 is 100; more than 130 has a chance of one in a thousand"
