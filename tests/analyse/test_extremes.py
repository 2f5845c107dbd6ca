"""Statistics at their boundaries, by hand; and whether two ends of many figures differ by more than chance."""

import math

import pytest

from inflight.bench.frame.statistics import (
    CONFIDENCE,
    MARGIN,
    MIN_SD,
    Estimate,
    compare,
    mean,
    welch,
)
from tests.frame.answers import answer


def test_of_two_values_there_is_one_degree_of_freedom() -> None:
    found = mean([0.0, 0.2])

    assert (found.value, found.error, found.freedom, found.n) == pytest.approx((0.1, 0.1, 1, 2))
    assert found.p == pytest.approx(0.5)  # Cauchy: beyond its quartiles
    assert found.interval().low == pytest.approx(0.1 - 0.1 * math.tan(0.475 * math.pi))
    assert found.interval(0.5).high == pytest.approx(0.2)


def test_of_one_value_the_error_is_infinite_and_of_equal_values_it_is_the_least() -> None:
    assert mean([0.3]) == Estimate(0.3, math.inf, 1, 1)
    assert mean([0.3] * 4) == Estimate(0.3, MIN_SD / 2, 3, 4)
    assert welch([0.0, 0.2], [1.0]) == Estimate(-0.9, math.inf, 1, 1)
    assert welch([1.0], [0.0, 0.2]) == Estimate(0.9, math.inf, 1, 1)


def test_two_common_blocks_are_pairs_and_one_is_none() -> None:
    pairs, single = {1: 0.0, 2: 0.1}, {2: 0.3, 3: 0.9}

    assert compare(pairs, {1: 1.0, 2: 1.3, 3: 9.0}) == mean([-1.0, 0.1 - 1.3])
    assert compare(pairs, single) == welch([0.0, 0.1], [0.3, 0.9])


def test_unequal_variances_share_the_degrees_of_freedom() -> None:
    found = welch([0.0, 0.2, 0.1, 0.1], [1.0, 1.4])

    first, second = 0.2 / 3 / 10 / 4, 0.08 / 2  # the squared errors, with 3 and 1 degrees of freedom
    assert (found.value, found.error, found.n) == pytest.approx((-1.1, math.sqrt(first + second), 2))
    assert found.freedom == pytest.approx((first + second) ** 2 / (first**2 / 3 + second**2))


def test_a_difference_of_exactly_2_percent_counts_and_less_does_not() -> None:
    less = math.nextafter(MARGIN, 0)

    assert math.log(1.02) == MARGIN
    assert {answer(Estimate(sign * MARGIN, 1e-6, 5, 6)) for sign in (1, -1)} == {"differs"}
    assert {answer(Estimate(sign * less, 1e-6, 5, 6)) for sign in (1, -1)} == {"unknown"}
    assert answer(Estimate(0.1, 1e-6, 5, 6), p=math.nextafter(1 - CONFIDENCE, 0)) == "differs"
    assert answer(Estimate(0.1, 1e-6, 5, 6), p=1 - CONFIDENCE) == "unknown"


def test_an_interval_must_end_inside_the_margin() -> None:
    half = math.tan(0.45 * math.pi)  # 90 % of Cauchy

    assert Estimate(0.0, 0.999 * 0.1 / half, 1, 2).is_within(0.1)
    assert not Estimate(0.0, 1.001 * 0.1 / half, 1, 2).is_within(0.1)
    assert not Estimate(0.01, 0.1 / half, 1, 2).is_within(0.1)
    assert not Estimate(-0.01, 0.1 / half, 1, 2).is_within(0.1)
