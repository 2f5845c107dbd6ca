"""The verdicts of decisions one after another, and the bounds of their rates."""

import math
from random import Random

import pytest
from scipy.stats import binom

from bench.studies.compare.error_rates import Block, lower_bound, real, upper_bound
from bench.studies.compare.simulation import Counts


def made(count: int, sd: float, ratio: float = 1.0) -> list[Block]:
    """Return blocks whose CPU time has this ratio of B to A, another metric that has none, and a quiet control."""
    draw = Random(3)
    return [
        {"cpu": math.log(ratio) + draw.gauss(0, sd), "throughput": draw.gauss(0, sd), "spin": draw.gauss(0, 0.005)}
        for _ in range(count)
    ]


def test_a_planted_slowdown_of_5_percent_is_caught() -> None:
    found = real(made(2_000, 0.05, 1.05), ["spin"])

    assert found.decisions >= 60
    assert found.share_found >= 0.9


def test_real_decisions_share_no_block_and_what_is_left_counts_nowhere() -> None:
    assert real(made(12 * 5 + 11, 0.005), ["spin"]) == Counts(0, 5, 0, 5, 12)
    assert real(made(11, 0.005), ["spin"]) == Counts(0, 0, 0, 0, 0)
    assert real([], []) == Counts(0, 0, 0, 0, 0)


def test_a_metric_that_some_blocks_lack_is_counted_where_it_is() -> None:
    blocks: list[Block] = [{"cpu": block["cpu"], **({"memory": 0.3 + block["spin"]} if n % 2 else {})}
                         for n, block in enumerate(made(24, 0.01))]  # fmt: skip

    assert real(blocks, []) == Counts(1, 0, 0, 1, 24)


def test_bounds_are_those_of_the_rule_of_three_and_of_clopper_and_pearson() -> None:
    assert upper_bound(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300))
    assert lower_bound(300, 300) == pytest.approx(0.05 ** (1 / 300))
    assert binom.cdf(3, 200, upper_bound(3, 200)) == pytest.approx(0.05)
    assert binom.sf(2, 200, lower_bound(3, 200)) == pytest.approx(0.05)


def test_no_decision_bounds_nothing() -> None:
    assert (lower_bound(0, 0), upper_bound(0, 0)) == (0, 1)
    assert lower_bound(0, 10) == 0
    assert upper_bound(10, 10) == 1
