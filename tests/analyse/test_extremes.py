"""Whether two ends of many figures differ by more than chance."""

import math
from random import Random

import pytest

from bench.analyse import cells as c
from bench.analyse.decision_map import Noise, pooled_noise, residual_noise
from bench.analyse.extremes import Logs, differ, of_cells
from tests.made_rows import crawl_row

PEERS = 3
"""Workloads that are alike, over which the noise is pooled, besides the one that is looked at."""


def series(random: Random, number: int, rounds: int, noise: float, lead: float = 1.0) -> list[Logs]:
    """Make as many series that are the same but for noise; the first is ``lead`` times as high."""
    return [
        {n: (math.log(lead) if one == 0 else 0.0) + random.gauss(0, noise) for n in range(rounds)}
        for one in range(number)
    ]


def noise_of(many: list[list[Logs]]) -> Noise | None:
    return pooled_noise([residual_noise({str(n): dict(own) for n, own in enumerate(one)}) for one in many])


def told_apart(random: Random, number: int, rounds: int, noise: float, lead: float = 1.0) -> bool:
    """Tell whether one of four alike workloads shows a difference."""
    many = [series(random, number, rounds, noise, lead) for _ in range(1 + PEERS)]
    return differ(many[0], noise_of(many))


@pytest.mark.parametrize(
    ("number", "rounds", "noise"), [(2, 2, 0.05), (5, 3, 0.05), (9, 3, 0.02), (20, 3, 0.05), (9, 2, 0.1)]
)
def test_what_is_the_same_is_hardly_ever_told_apart(number: int, rounds: int, noise: float) -> None:
    random = Random(number * 100 + rounds)

    alarms = sum(told_apart(random, number, rounds, noise) for _ in range(200))

    assert alarms <= 20, "designed: at most 5 %; more than 20 of 200 would be a chance of less than one in a thousand"


def test_what_differs_by_half_is_told_apart_with_two_rounds_already() -> None:
    random = Random(1)

    assert sum(told_apart(random, 4, 2, 0.05, 1.5) for _ in range(100)) >= 95


@pytest.mark.parametrize(("number", "rounds"), [(2, 2), (3, 2), (5, 4)])
def test_two_ends_differ_from_the_t_quantile_of_all_pairs_on(number: int, rounds: int) -> None:
    from scipy.stats import t

    noise = Noise(0.05**2, 12)
    pairs = math.comb(number, 2)
    least = float(t.ppf(1 - 0.05 / 2 / pairs, noise.freedom)) * math.sqrt(noise.variance * 2 / rounds)

    for apart, said in ((0.99 * least, False), (1.01 * least, True)):
        ends = [dict.fromkeys(range(rounds), 7 + apart * place / (number - 1)) for place in range(number)]
        assert differ(ends[::-1], noise) is said


def test_ends_with_unlike_rounds_are_as_uncertain_as_both_of_them() -> None:
    from scipy.stats import t

    least = float(t.ppf(1 - 0.05 / 2, 12)) * 0.05 * math.sqrt(1 / 2 + 1 / 5)

    for apart, said in ((0.99 * least, False), (1.01 * least, True)):
        assert differ([dict.fromkeys(range(2), 0.0), dict.fromkeys(range(5), apart)], Noise(0.05**2, 12)) is said


def test_without_two_rounds_or_two_series_nothing_is_known() -> None:
    noise = Noise(0.0001, 20)

    assert not differ([{1: 0.0}, {1: 9.0}], noise)
    assert not differ([{1: 0.0, 2: 0.0}, {1: 9.0}], noise)
    assert not differ([{1: 0.0, 2: 0.0}], noise)
    assert not differ([], noise)
    assert not differ([{1: 0.0, 2: 0.0}, {1: 9.0, 2: 9.0}], None)
    assert not differ([{1: 0.0, 2: 0.001}, {1: 0.01, 2: 0.011}], Noise(1e-12, 20)), "below 2 %, however sure"


def test_cells_are_compared_by_their_valid_rows() -> None:
    rows = [
        crawl_row(name, number=number, pages_per_s=rate * (1 + 0.01 * number))
        for name, rate in (("a", 100.0), ("b", 200.0))
        for number in (1, 2, 3)
    ]
    red = [crawl_row(name, number=9, pages_per_s=1e9, red=True) for name in ("a", "b")]

    assert of_cells(c.cells([*rows, *red]), c.pages_per_s)
    assert not of_cells(c.cells(red), c.pages_per_s)
