"""The rates of wrong decisions: simulated with known truth, and counted on made-up pairs."""

import math
from collections.abc import Callable
from random import Random

import pytest
from scipy.stats import binom

from bench.analyse.error_rates import Counts, Pair, lower_bound, real, resample, upper_bound

Noise = Callable[[Random], float]


def normal(draw: Random) -> float:
    return draw.gauss()


def heavy(draw: Random) -> float:
    """Draw from Student's t with three degrees of freedom, scaled to a standard deviation of 1."""
    return draw.gauss() / math.sqrt(draw.gammavariate(1.5, 2) / 3) / math.sqrt(3)


def made(count: int, sd: float, ratio: float = 1.0, noise: Noise = normal, seed: int = 3) -> list[Pair]:
    """Return pairs whose CPU time has this ratio of B to A, another metric that has none, and a quiet control."""
    draw = Random(seed)
    return [
        {
            "cpu": math.log(ratio) + sd * noise(draw),
            "throughput": sd * noise(draw),
            "spin": 0.005 * noise(draw),
        }
        for _ in range(count)
    ]


def decided(count: int, sd: float, ratio: float = 1.0, noise: Noise = normal) -> Counts:
    return real(made(count, sd, ratio, noise), ["spin"])


@pytest.mark.parametrize("noise", [normal, heavy])
@pytest.mark.parametrize(("sd", "pairs"), [(0.01, 24_100), (0.05, 42_000), (0.12, 84_000)])
def test_false_alarms_stay_within_the_budget(sd: float, pairs: int, noise: Noise) -> None:
    found = decided(pairs, sd, noise=noise)

    assert found.decisions >= 2000
    assert found.alarms <= binom.ppf(0.999, found.decisions, 0.005)


def test_a_planted_slowdown_of_5_percent_is_caught() -> None:
    found = decided(10_000, 0.05, 1.05)

    assert found.decisions >= 300
    assert found.alarms / found.decisions >= 0.95


def test_one_gated_metric_without_change_takes_between_15_and_16_pairs_on_average() -> None:
    found = real([{"cpu": pair["cpu"]} for pair in made(16_000, 0.05)], [])

    assert found.passes / found.decisions > 0.98
    assert 14.9 <= found.mean_pairs <= 16.1


@pytest.mark.parametrize("noise", [normal, heavy])
@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12])
def test_a_slowdown_of_10_percent_never_passes(sd: float, noise: Noise) -> None:
    found = decided(4_000, sd, 1.10, noise)

    assert found.decisions >= 100
    assert found.passes == 0


def test_resampling_is_seeded_and_counts_every_decision() -> None:
    pairs = made(48, 0.05)
    found = resample(pairs, ["spin"], 300, seed=11)

    assert found.alarms + found.passes + found.inconclusive == found.decisions == 300
    assert found == resample(pairs, ["spin"], 300, seed=11)
    assert 12 <= found.mean_pairs <= 48


def test_resampling_pairs_with_a_planted_slowdown_catches_it() -> None:
    found = resample(made(48, 0.02, 1.06), ["spin"], 100, seed=11)

    assert found.alarms >= 95


def test_pairs_are_drawn_whole() -> None:
    together = [{**pair, "spin": 0.2 + pair["cpu"]} for pair in made(24, 0.02, 1.3)]

    assert resample(together, ["spin"], 50, seed=1) == Counts(0, 0, 50, 50, 48)


def test_no_pairs_to_draw_from_is_said_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="no pairs to draw from"):
        resample([], [], 10, seed=1)


def test_real_decisions_share_no_pair_and_what_is_left_counts_nowhere() -> None:
    assert real(made(12 * 5 + 11, 0.005), ["spin"]) == Counts(0, 5, 0, 5, 12)
    assert real(made(11, 0.005), ["spin"]) == Counts(0, 0, 0, 0, 0)
    assert real([], []) == Counts(0, 0, 0, 0, 0)


def test_a_metric_that_some_pairs_lack_is_counted_where_it_is() -> None:
    pairs: list[Pair] = [{"cpu": pair["cpu"], **({"memory": 0.3 + pair["spin"]} if n % 2 else {})}
                         for n, pair in enumerate(made(24, 0.01))]  # fmt: skip

    assert real(pairs, []) == Counts(1, 0, 0, 1, 24)


def test_bounds_are_those_of_the_rule_of_three_and_of_clopper_and_pearson() -> None:
    assert upper_bound(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300))
    assert lower_bound(300, 300) == pytest.approx(0.05 ** (1 / 300))
    assert binom.cdf(3, 200, upper_bound(3, 200)) == pytest.approx(0.05)
    assert binom.sf(2, 200, lower_bound(3, 200)) == pytest.approx(0.05)


def test_no_decision_bounds_nothing() -> None:
    assert (lower_bound(0, 0), upper_bound(0, 0)) == (0, 1)
    assert lower_bound(0, 10) == 0
    assert upper_bound(10, 10) == 1
