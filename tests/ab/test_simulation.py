"""The rule in many simulated decisions: it equals ``decide``, and has the designed error rates and power."""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from inflight.bench.studies.compare.rule import DESIGNED, Rule, budget_for, rule_for
from inflight.bench.studies.compare.simulation import SEED, Counts, play, rate_bounds, real, resampled, smallest_found

SHORT = Rule(looks=(6, 12), shares=(0.3, 0.7), alpha=0.05, sign_flip_from=12)
"""A rule that is quick to play."""
SDS = st.floats(0.002, 0.3)


def normal(sd: float, effect: float = 0.0, metrics: int = 1, rule: Rule = DESIGNED, runs: int = 1000) -> Counts:
    """Play the rule where the blocks of each metric vary normally, and the first metric is truly worse."""
    series = sd * np.random.default_rng(SEED).standard_normal((runs, rule.looks[-1], metrics))
    series[..., 0] += effect
    return play(series, rule)


def heavy(runs: int, blocks: int, sd: float) -> Any:
    """Draw from Student's t with three degrees of freedom, scaled to this standard deviation."""
    return sd / math.sqrt(3) * np.random.default_rng(7).standard_t(3, (runs, blocks, 1))


def blocks(count: int, sd: float, ratio: float = 1.0, seed: int = 1) -> list[dict[str, float]]:
    draw = Random(seed)
    return [{"cpu": math.log(ratio) + draw.gauss(0, sd), "spin": draw.gauss(0, 0.003)} for _ in range(count)]


def decided(series: Any, names: Sequence[str], controls: Sequence[str], rule: Rule) -> Counts:
    """Return the verdict of ``decide`` on one series."""
    return real([dict(zip(names, map(float, values), strict=True)) for values in series], controls, rule)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), sd=SDS, effect=st.floats(-0.1, 0.3), moved=st.sampled_from([0.0, 0.0, 0.05]))
def test_the_simulation_follows_the_rule_of_decide(seed: int, sd: float, effect: float, moved: float) -> None:
    draw = np.random.default_rng(seed)
    gated = draw.normal([effect, 0.0], sd, (1, 12, 2))
    controls = draw.normal(moved, 0.02, (1, 12, 1))

    played = play(gated, SHORT, controls, [0.0, 0.002])

    together = np.concatenate([gated, controls], axis=2)[0]
    assert played == decided(together[: int(played.mean_blocks)], ["cpu", "memory", "spin"], ["spin"], SHORT)


def test_many_series_are_counted_like_each_one_alone() -> None:
    series = np.random.default_rng(5).normal(0.04, 0.06, (40, 48, 1))
    alone = [play(series[n : n + 1], DESIGNED) for n in range(40)]

    found = play(series, DESIGNED)

    assert found.alarms == sum(one.alarms for one in alone)
    assert found.passes == sum(one.passes for one in alone)
    assert found.mean_blocks == pytest.approx(sum(one.mean_blocks for one in alone) / 40)


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12])
@pytest.mark.parametrize("metrics", [1, 3])
def test_false_alarms_stay_within_alpha(sd: float, metrics: int) -> None:
    found = normal(sd, metrics=metrics, runs=2000)

    assert found.alarms <= binom.ppf(0.999, 2000, DESIGNED.alpha)
    assert found.alarms + found.passes + found.inconclusive == found.decisions == 2000


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12])
def test_false_alarms_stay_within_alpha_with_heavy_tails(sd: float) -> None:
    assert play(heavy(2000, 48, sd), DESIGNED).alarms <= binom.ppf(0.999, 2000, DESIGNED.alpha)


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.12, 0.2])
def test_what_is_worse_than_acceptable_passes_within_alpha(sd: float) -> None:
    found = normal(sd, DESIGNED.acceptable, runs=2000)

    assert found.passes <= binom.ppf(0.999, 2000, DESIGNED.pass_alpha)


def test_a_slowdown_of_10_percent_is_found_and_never_passes() -> None:
    found = normal(0.05, math.log(1.10))

    assert found.share_found > 0.99
    assert found.passes == 0


@settings(max_examples=8)
@given(sd=st.floats(0.005, 0.2), more=st.floats(1.2, 3.0))
def test_more_noise_never_lowers_the_smallest_effect_that_is_found(sd: float, more: float) -> None:
    less_noise, more_noise = (smallest_found(one, SHORT).effect for one in (sd, sd * more))

    assert less_noise <= more_noise * 1.05  # of the precision, and of the simulation


@settings(max_examples=8)
@given(sd=st.floats(0.005, 0.3), share=st.sampled_from([0.5, 0.8, 0.9]), metrics=st.sampled_from([1, 2]))
def test_the_smallest_effect_is_found_with_the_stated_power(sd: float, share: float, metrics: int) -> None:
    found = smallest_found(sd, SHORT, metrics, share)

    assert normal(sd, found.effect, metrics, SHORT).share_found == pytest.approx(share, abs=0.05)


def test_more_blocks_find_smaller_effects() -> None:
    longer = replace(SHORT, looks=(12, 48))

    assert smallest_found(0.1, longer).effect < smallest_found(0.1, SHORT).effect


def test_what_limits_the_smallest_effect_is_named() -> None:
    quiet, noisy = smallest_found(0.002), smallest_found(0.2)
    passing = smallest_found(0.05)

    assert quiet.limited_by == "least"
    assert DESIGNED.least < quiet.effect < math.log(1.025)
    assert noisy.limited_by == "noise"
    assert passing.limited_by == "pass"
    assert smallest_found(0.02, replace(DESIGNED, acceptable=math.log(1.02))).effect < passing.effect


def test_resampling_is_seeded_and_finds_what_is_planted() -> None:
    slower = blocks(48, 0.02, ratio=1.06)

    found = resampled(slower, ["spin"])

    assert found == resampled(slower, ["spin"])
    assert found.share_found > 0.95
    assert 12 <= found.mean_blocks <= 48


def test_metrics_and_controls_of_a_block_stay_together() -> None:
    together = [block | {"spin": 0.2 + block["cpu"]} for block in blocks(24, 0.02, ratio=1.3)]

    assert resampled(together, ["spin"], runs=50) == Counts(0, 0, 50, 50, 48)


def test_too_few_blocks_decide_nothing_and_those_that_lack_a_metric_are_left_out() -> None:
    few = blocks(11, 0.01)

    assert resampled(few, ["spin"]) == resampled([]) == Counts(0, 0, 0, 0, 0.0)
    assert resampled([*few, {"spin": 0.0}], ["spin"]).decisions == 0
    assert resampled([*few, *blocks(1, 0.01)], ["spin"]).decisions > 0


# Real decisions


def made(count: int, sd: float, ratio: float = 1.0) -> list[dict[str, float]]:
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


def test_real_decisions_share_no_block_and_the_rest_is_not_counted() -> None:
    assert real(made(12 * 5 + 11, 0.005), ["spin"]) == Counts(0, 5, 0, 5, 12)
    assert real(made(11, 0.005), ["spin"]) == Counts(0, 0, 0, 0, 0)
    assert real([], []) == Counts(0, 0, 0, 0, 0)


def test_a_metric_that_some_blocks_lack_is_counted_where_it_is() -> None:
    found = [
        {"cpu": block["cpu"], **({"memory": 0.3 + block["spin"]} if n % 2 else {})}
        for n, block in enumerate(made(24, 0.01))
    ]

    assert real(found, []) == Counts(1, 0, 0, 1, 24)


def test_bounds_are_those_of_the_rule_of_three_and_of_clopper_and_pearson() -> None:
    low, high = rate_bounds(3, 200)

    assert rate_bounds(0, 300) == pytest.approx((0, 1 - 0.05 ** (1 / 300)))
    assert rate_bounds(300, 300) == pytest.approx((0.05 ** (1 / 300), 1))
    assert binom.cdf(3, 200, high) == pytest.approx(0.05)
    assert binom.sf(2, 200, low) == pytest.approx(0.05)
    assert rate_bounds(0, 0) == (0, 1)


# Within a given time


@pytest.mark.parametrize(
    ("number", "looks", "shares"),
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
def test_the_looks_are_those_that_fit(number: int, looks: tuple[int, ...], shares: tuple[float, ...]) -> None:
    found = rule_for(number * 7.5, 7.5)

    assert found is not None
    assert found.looks == looks
    assert found.shares == pytest.approx(shares)


def test_a_suggested_budget_has_5_percent_to_spare_in_steps_of_ten_seconds() -> None:
    assert [budget_for(duration_s) for duration_s in (1, 9.5, 9.6, 66, 100, 1000)] == [10, 10, 20, 70, 110, 1050]


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


@pytest.mark.parametrize(("budget_s", "block_s"), [(0, 1), (-1, 1), (1, 0), (math.nan, 1), (math.inf, 1)])
def test_invalid_times_are_refused(budget_s: float, block_s: float) -> None:
    with pytest.raises(ValueError, match="a time above 0"):
        rule_for(budget_s, block_s)


def test_the_other_settings_of_a_rule_stay() -> None:
    mine = Rule(looks=(10, 20), shares=(0.5, 0.5), alpha=0.01)

    assert rule_for(15, 1, mine) == Rule(looks=(10,), shares=(1.0,), alpha=0.01)
