"""Whether two ends of many figures differ by more than chance."""

import math
from random import Random

import pytest

from inflight.bench.core.stats import Logs, ends_differ


def series(random: Random, number: int, rounds: int, noise: float, lead: float = 1.0) -> list[Logs]:
    """Make as many series that are the same but for noise; the first is ``lead`` times as high."""
    return [
        {n: (math.log(lead) if one == 0 else 0.0) + random.gauss(0, noise) for n in range(rounds)}
        for one in range(number)
    ]


@pytest.mark.parametrize(
    ("number", "rounds", "noise"), [(2, 2, 0.05), (5, 3, 0.05), (9, 3, 0.02), (20, 3, 0.05), (9, 2, 0.1)]
)
def test_equal_series_rarely_differ(number: int, rounds: int, noise: float) -> None:
    random = Random(number * 100 + rounds)

    alarms = sum(ends_differ(series(random, number, rounds, noise)) for _ in range(200))

    assert alarms <= 20, "designed: at most 5 %; more than 20 of 200 would be a chance of less than one in a thousand"


def test_a_factor_of_three_differs_with_three_rounds() -> None:
    random = Random(1)

    assert sum(ends_differ(series(random, 4, 3, 0.05, 3)) for _ in range(100)) >= 95


def test_without_two_rounds_or_two_series_nothing_is_known() -> None:
    assert not ends_differ([{1: 0.0}, {1: 9.0}])
    assert not ends_differ([{1: 0.0, 2: 0.0}, {1: 9.0}])
    assert not ends_differ([{1: 0.0, 2: 0.0}])
    assert not ends_differ([])
    assert not ends_differ([{1: 0.0, 2: 0.001}, {1: 0.01, 2: 0.011}]), "below 2 %, however sure"
