"""The decision rule: its figures against scipy and published ones, its sentences, and what must hold for any values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.frame.statistics import t_quantile
from inflight.bench.studies.compare.decide import Decision, decide
from inflight.bench.studies.compare.effect import bound, effect, sign_flip_p, sign_flip_ps
from inflight.bench.studies.compare.rule import DESIGNED, Rule

SLEEP = (1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4)
"""Additional hours of sleep, one drug against the other: Student's own example (Biometrika, 1908)."""
DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
"""Crossed against self-fertilised maize, eighths of an inch: R. A. Fisher, The Design of Experiments (1935)."""
NAMES = st.sampled_from(["cpu", "memory", "spin", ""])
EVERYTHING = st.floats(allow_nan=True, allow_infinity=True)
figures = st.lists(st.floats(0.5, 2), min_size=12, max_size=12)


def noise(count: int, mean: float = 0.0, sd: float = 0.02, seed: int = 1) -> list[float]:
    """Return values with exactly this mean and, from two on, this standard deviation."""
    if count < 2:
        return [mean] * count
    draw = Random(seed)
    raw = [draw.gauss() for _ in range(count)]
    middle = math.fsum(raw) / count
    spread = math.sqrt(math.fsum((value - middle) ** 2 for value in raw) / (count - 1))
    return [mean + sd * (value - middle) / spread for value in raw]


def quiet(count: int) -> dict[str, list[float]]:
    return {"spin": noise(count, sd=0.005, seed=7), "null client": noise(count, sd=0.01, seed=8)}


def on(values: Sequence[float], failed_a: int = 0, failed_b: int = 0, dropped: int = 0) -> Decision:
    return decide({"cpu": values}, quiet(len(values)), DESIGNED, failed_a, failed_b, dropped)


def ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [math.log(after / before) for before, after in zip(a, b, strict=True)]


# Figures


def test_an_effect_has_the_p_and_the_interval_of_scipys_t_test() -> None:
    from scipy.stats import ttest_1samp

    values = noise(24, mean=0.013, sd=0.04)
    found = effect("cpu", values, 0.01)
    known = ttest_1samp(values, 0, alternative="greater")
    interval = ttest_1samp(values, 0).confidence_interval(0.95)

    assert found.p == pytest.approx(known.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.upper == pytest.approx(ttest_1samp(values, 0, alternative="less").confidence_interval(0.99).high)


def test_an_effect_of_two_blocks_is_that_of_one_degree_of_freedom() -> None:
    found = effect("cpu", [0.0, 0.2], 0.25)

    assert (found.blocks, found.estimate, found.sd) == pytest.approx((2, 0.1, 0.2 / math.sqrt(2)))
    assert (found.low, found.high) == pytest.approx([0.1 + sign * 0.1 * math.tan(0.475 * math.pi) for sign in (-1, 1)])
    assert (found.upper, found.p) == pytest.approx((0.2, 0.25))  # the quartiles of Cauchy


def test_values_in_steps_vary_at_least_by_rounding() -> None:
    still, wide = effect("memory", [0.1, 0.1], 0.01), effect("memory", [0.0, 0.2], 0.01)

    assert still.sd == pytest.approx(0.002 / math.sqrt(12))
    assert wide.sd == pytest.approx(0.2 / math.sqrt(2))


def test_an_effect_of_students_sleep_data_is_the_published_one() -> None:
    found = effect("sleep", SLEEP, 0.001)

    assert found.estimate == pytest.approx(1.58)
    assert (found.low, found.high) == pytest.approx((0.70, 2.46), abs=0.005)
    assert 2 * found.p == pytest.approx(0.00283, abs=0.00001)


@pytest.mark.parametrize(("freedom", "probability", "table"), [(11, 0.975, 2.201), (11, 0.99, 2.718), (1, 0.95, 6.314)])
def test_quantiles_are_those_of_the_printed_tables(freedom: int, probability: float, table: float) -> None:
    assert t_quantile(freedom, probability) == pytest.approx(table, abs=0.0005)


def test_the_sign_flip_test_counts_what_fisher_counted() -> None:
    assert sign_flip_p(DARWIN, 0.0003) == pytest.approx(863 / 2**15)


def test_the_sign_flip_test_is_precise_enough_for_its_level() -> None:
    assert sign_flip_p(noise(48, mean=0.05, sd=0.02), 0.0005) < 0.0005 / 5


def test_sign_patterns_that_are_drawn_give_about_the_p_of_all_of_them() -> None:
    values = noise(16, mean=0.02, sd=0.03)

    assert sign_flip_p(values, 0.001) == pytest.approx(sign_flip_p(values, 0.0001), rel=0.5)


def test_many_series_have_the_sign_flip_p_of_each_one_alone() -> None:
    series = [noise(24, mean=0.01 * n, seed=n) for n in range(6)]

    assert list(sign_flip_ps(series, 0.002)) == [sign_flip_p(values, 0.002) for values in series]
    assert list(sign_flip_ps(np.empty((0, 24)), 0.002)) == []


# Verdicts


def test_a_clear_slowdown_is_a_regression_at_the_first_look() -> None:
    found = on(noise(12, mean=math.log(1.10), sd=0.02))

    assert (found.verdict, found.final, found.look, found.blocks) == ("regression", True, 1, 12)
    assert "cpu +10.0 %" in found.why
    assert "after 12 of at most 48 blocks" in found.why


def test_no_change_passes_at_the_first_look() -> None:
    found = on(noise(12))

    assert (found.verdict, found.final) == ("pass", True)
    assert found.why.startswith("B is not more than 5.0 % worse")


def test_a_speed_up_passes() -> None:
    found = on(noise(12, mean=-0.2))

    assert found.verdict == "pass"
    assert found.why.startswith("B is better (cpu -18.")


@pytest.mark.parametrize(
    ("metric", "worst", "text"),
    [
        ("throughput", math.log(1.019), "at most 1.9 % less throughput"),
        ("cpu_per_page", math.log(1.019), "at most 1.9 % more CPU per page"),
        ("throughput", -math.log(1.1), "at least 10.0 % more throughput"),
        ("memory", math.log(0.9), "at least 10.0 % less user memory per fetch"),
        ("throughput", -1e-9, "at most 0.0 % less throughput"),
        ("throughput", -math.log(20), "at least 20x the throughput"),
        ("cpu_per_page", -math.log(10_000), "at most 0.00010x the CPU per page"),
    ],
)
def test_the_bound_of_a_pass_is_in_the_direction_of_its_metric(metric: str, worst: float, text: str) -> None:
    assert bound(metric, worst) == text


def test_a_pass_names_the_metric_that_may_be_the_worst() -> None:
    found = decide({"cpu_per_page": noise(12, sd=0.01), "throughput": noise(12, sd=0.02)}, quiet(12))

    size = f"{-100 * math.expm1(-found.effects[1].upper):.1f}"
    assert found.verdict == "pass"
    assert f"(plausible: at most {size} % less throughput)" in found.why


def test_a_significant_change_that_is_too_small_to_matter_passes() -> None:
    found = on(noise(48, mean=math.log(1.015), sd=0.01))

    assert found.effects[0].p < 1e-9
    assert found.verdict == "pass"


@pytest.mark.parametrize(("mean", "verdict"), [(0.025, "inconclusive"), (0.019, "pass")])
def test_a_pass_waits_while_a_metric_looks_worse(mean: float, verdict: str) -> None:
    found = on(noise(12, mean=mean, sd=0.02))

    (cpu,) = found.effects
    assert cpu.low > 0
    assert cpu.upper < DESIGNED.acceptable
    assert (found.verdict, found.final) == (verdict, verdict == "pass")


def test_at_the_last_look_no_pass_waits() -> None:
    found = on(noise(48, mean=0.021, sd=0.06))

    (cpu,) = found.effects
    assert cpu.low > 0
    assert cpu.estimate > DESIGNED.least
    assert (found.verdict, found.final) == ("pass", True)


@pytest.mark.parametrize(("mean", "verdict"), [(1 / 32, "pass"), (1 / 32 + 2**-40, "regression")])
def test_a_regression_is_above_the_least_effect_and_not_at_it(mean: float, verdict: str) -> None:
    rule = replace(DESIGNED, least=1 / 32)  # a binary fraction, so that the mean is exact

    found = decide({"cpu": [mean - 2**-10, mean + 2**-10] * 6}, {}, rule)

    assert (found.effects[0].estimate, found.verdict) == (mean, verdict)


@pytest.mark.parametrize(("share", "verdict"), [(0.9999, "pass"), (1.0001, "inconclusive")])
def test_a_pass_rules_out_5_percent(share: float, verdict: str) -> None:
    sd = share * math.log(1.05) * math.sqrt(12) / t_quantile(11, 1 - 0.01 * 0.1)

    assert on(noise(12, sd=sd)).verdict == verdict


def test_one_metric_that_is_worse_is_enough_for_a_regression_and_not_for_a_pass() -> None:
    slow = noise(12, mean=0.1)
    found = decide({"cpu": noise(12), "memory": slow}, {}, DESIGNED)

    assert found.verdict == "regression"
    assert "memory" in found.why
    assert "cpu" not in found.why


def test_more_metrics_need_a_lower_p_of_each() -> None:
    values = noise(12, mean=0.035, sd=0.025)
    level = DESIGNED.level(1, 1)

    assert level / 10 < effect("cpu", values, 0.001).p < level
    assert on(values).verdict == "regression"
    assert decide({"cpu": values, **{f"m{n}": noise(12) for n in range(9)}}, {}).verdict == "inconclusive"


def test_an_open_case_goes_on_until_the_last_look() -> None:
    middling = [on(noise(blocks, mean=0.045, sd=0.12)) for blocks in (12, 24)]
    last = on(noise(48, mean=0.045, sd=0.12))

    assert [(one.verdict, one.final) for one in middling] == [("inconclusive", False)] * 2
    assert "next decision is after 24 blocks" in middling[0].why
    assert (last.verdict, last.final, last.look) == ("inconclusive", True, 3)
    assert last.why.startswith("neither regression nor pass: cpu +4.6 %")
    assert "next decision" not in last.why


def test_noise_that_is_too_high_even_for_the_last_look_ends_the_run() -> None:
    below, above = (on(noise(12, mean=0.03, sd=DESIGNED.most_noise * by)) for by in (0.99, 1.01))

    assert (below.verdict, below.final) == ("inconclusive", False)
    assert (above.verdict, above.final) == ("inconclusive", True)
    assert "too noisy" in above.why


def test_one_noisy_metric_does_not_end_the_run_for_another_that_is_open() -> None:
    open_one = noise(12, mean=0.03, sd=0.05)

    assert not decide({"cpu": open_one, "memory": noise(12, sd=0.5)}, {}).final


def test_a_regression_from_24_blocks_on_needs_an_agreeing_sign_flip_test() -> None:
    found = on(noise(24, mean=0.1))
    early = on(noise(12, mean=0.1))

    assert found.effects[0].sign_flip_p is not None
    assert found.effects[0].sign_flip_p < DESIGNED.level(2, 1)
    assert "sign-flip p" in found.why
    assert early.effects[0].sign_flip_p is None


def test_a_sign_flip_test_that_disagrees_stops_a_regression() -> None:
    unanimous = [0.05 + 0.0001 * n for n in range(12)]  # of 2**12 sign patterns one is as great: p = 1 / 4096
    strict = replace(DESIGNED, sign_flip_from=12, alpha=0.002)

    assert decide({"cpu": unanimous}, {}, replace(strict, sign_flip_from=24)).verdict == "regression"
    found = decide({"cpu": unanimous}, {}, strict)
    assert found.effects[0].sign_flip_p == pytest.approx(1 / 4096)
    assert (found.verdict, found.final) == ("inconclusive", False)


def test_a_control_that_moved_keeps_the_verdict_open_until_the_last_look() -> None:
    for blocks, final in ((12, False), (24, False), (48, True)):
        found = decide({"cpu": noise(blocks)}, {"spin": noise(blocks, mean=-0.05, sd=0.01)})

        assert (found.verdict, found.final) == ("inconclusive", final)
        assert "a control moved (spin -4.9 %)" in found.why


def test_a_control_that_moved_casts_doubt_on_a_regression() -> None:
    found = decide({"cpu": noise(12, mean=0.1)}, {"spin": noise(12, mean=0.05, sd=0.01)})

    assert found.verdict == "inconclusive"
    assert "the cause of the change of cpu +10.5 % is unknown" in found.why


def test_a_control_that_moved_by_less_than_1_percent_is_quiet() -> None:
    found = decide({"cpu": noise(12)}, {"spin": noise(12, mean=0.005, sd=0.001)})

    assert found.controls[0].p < 1e-6
    assert found.verdict == "pass"


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("share", "moves"), [(0.9, True), (1.1, False)])
def test_a_control_has_moved_either_way_when_its_two_sided_p_is_below_the_rules(
    sign: int, share: float, moves: bool
) -> None:
    from scipy.stats import t

    sd = 0.05
    mean = float(t.isf(share * DESIGNED.control_alpha / 2, 11)) * sd / math.sqrt(12)
    found = decide({"cpu": noise(12)}, {"spin": noise(12, mean=sign * mean, sd=sd)})

    assert mean > DESIGNED.control_least
    assert ("a control moved" in found.why) is moves


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("share", "moves"), [(0.99, False), (1.01, True)])
def test_a_control_has_moved_only_beyond_the_least_change_that_matters(sign: int, share: float, moves: bool) -> None:
    found = decide({"cpu": noise(12)}, {"spin": noise(12, mean=sign * share * DESIGNED.control_least, sd=0.0001)})

    assert ("a control moved" in found.why) is moves


def test_a_control_with_too_few_values_allows_no_verdict() -> None:
    found = decide({"cpu": noise(12, mean=0.1)}, {"spin": noise(3)})

    assert (found.verdict, found.final) == ("inconclusive", False)
    assert "spin has only 3" in found.why


# Too few, none, unusable


@pytest.mark.parametrize("count", [0, 1, 2, 5, 11])
def test_too_few_blocks_decide_nothing(count: int) -> None:
    found = on(noise(count, mean=0.5))

    assert (found.verdict, found.final, found.look) == ("inconclusive", False, None)
    assert found.why == f"too few blocks: {count} of at least 12"


def test_nothing_is_tested_between_looks() -> None:
    found = on(noise(15, mean=0.5))

    assert (found.verdict, found.final, found.look) == ("inconclusive", False, None)
    assert found.why == "15 blocks; the next decision is after 24"


def test_more_blocks_than_the_last_look_asks_for_are_the_last_look() -> None:
    assert (on(noise(50)).look, on(noise(50)).verdict) == (3, "pass")


def test_no_gated_metric_is_inconclusive() -> None:
    found = decide({}, quiet(12))

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert "no metric is gated" in found.why


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("name", ["cpu", "spin"])
def test_a_value_that_is_not_a_ratio_ends_the_run_and_names_the_metric(broken: float, name: str) -> None:
    series = {"cpu": noise(12, mean=0.5), "spin": noise(12, sd=0.01)}
    series[name][3] = broken
    found = decide({"cpu": series["cpu"]}, {"spin": series["spin"]})

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert found.why == f"{name} has a value that is not a ratio of two measurements"


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("count", [12, 48])
def test_identical_figures_are_not_a_measurement(value: float, count: int) -> None:
    found = on([value] * count)

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert found.why == f"cpu has the same value in all of {count} blocks: {VARY_NOT}"


def test_memory_may_be_the_same_in_all_blocks_because_it_is_counted_in_pages() -> None:
    same = decide({"memory": [0.0] * 12}, {}, DESIGNED)
    more = decide({"memory": [0.1] * 12}, {}, DESIGNED)

    assert (same.verdict, more.verdict) == ("pass", "regression")
    assert same.effects[0].sd > 0


def test_less_throughput_is_written_with_a_minus() -> None:
    found = decide({"throughput": noise(12, mean=0.2, sd=0.01)}, {}, DESIGNED)

    assert found.verdict == "regression"
    assert "throughput -18." in found.why


VARY_NOT = "identical figures are not a measurement"


def test_a_metric_with_too_few_values_cannot_pass_and_is_named() -> None:
    found = decide({"cpu": noise(24), "memory": noise(6)}, quiet(24))

    assert (found.verdict, found.final) == ("inconclusive", False)
    assert "user memory per fetch has only 6 of the 12 values" in found.why
    assert [one.metric for one in found.effects] == ["cpu", "memory"]


def test_a_metric_with_too_few_values_cannot_be_a_regression_and_another_can() -> None:
    few = noise(6, mean=1, sd=0.01)

    assert decide({"cpu": noise(24), "memory": few}, {}).verdict == "inconclusive"
    assert decide({"cpu": noise(24, mean=0.1), "memory": few}, {}).verdict == "regression"


# Failed and dropped blocks


def test_b_that_mostly_fails_where_a_does_not_is_a_regression() -> None:
    found = on([0.01], failed_b=3)

    assert (found.verdict, found.final) == ("regression", True)
    assert found.why == "B failed in 3 of 4 blocks, A in none"


@pytest.mark.parametrize(("a", "b"), [(3, 0), (1, 2), (2, 9)])
def test_mostly_failed_blocks_are_inconclusive_if_a_fails_too(a: int, b: int) -> None:
    found = on([0.01], failed_a=a, failed_b=b)

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert f"A failed in {a} of {1 + a + b} blocks" in found.why


def test_failed_blocks_end_a_run_from_half_of_those_tried_on() -> None:
    assert on(noise(6), failed_b=6).verdict == "regression"
    assert on(noise(7), failed_b=6).verdict == "inconclusive"
    assert not on(noise(7), failed_b=6).final


@pytest.mark.parametrize("failed", [1, 2])
def test_one_or_two_failed_blocks_end_nothing(failed: int) -> None:
    assert not on([], failed_b=failed).final


def test_b_with_failures_passes_only_if_they_are_rare_and_reported() -> None:
    early = on(noise(12), failed_b=1)
    later = on(noise(24), failed_b=1)
    often = on(noise(48), failed_b=4)

    assert (early.verdict, early.final) == ("inconclusive", False)
    assert later.verdict == "pass"
    assert "B failed in 1 of 25 blocks" in later.why
    assert (often.verdict, often.final) == ("inconclusive", True)
    assert "B failed in 4 of 52 blocks" in often.why


def test_a_machine_on_which_most_blocks_are_dropped_is_under_load() -> None:
    assert on(noise(12), dropped=12).verdict == "pass"
    for found in (on(noise(12, mean=0.5), dropped=13), on(noise(3), dropped=23)):
        assert (found.verdict, found.final) == ("inconclusive", True)
        assert "machine under load" in found.why


def test_a_run_that_loses_many_blocks_ends_at_twice_the_last_look() -> None:
    soon, late = on(noise(25), dropped=24), on(noise(47), failed_b=2, dropped=47)

    assert (soon.verdict, soon.final) == ("inconclusive", False)
    assert (late.verdict, late.final) == ("inconclusive", True)
    assert "only 47 of 96 blocks are good" in late.why
    assert not on(noise(47), failed_b=2, dropped=46).final


def test_dropped_blocks_alone_end_nothing_before_twice_the_first_look() -> None:
    assert not on(noise(3), dropped=20).final
    assert on(noise(3), dropped=21).final


def test_a_run_that_loses_its_blocks_for_several_reasons_ends() -> None:
    found = on(noise(36), failed_a=30, dropped=30)

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert "only 36 of 96 blocks are good" in found.why


# The rule itself


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"looks": ()}, "looks"),
        ({"looks": (12, 12, 48)}, "rising"),
        ({"looks": (1, 12, 48)}, "from 2 on"),
        ({"shares": (0.1, 0.9)}, "3 looks, 2 shares"),
        ({"shares": (0.1, 0.3, 0.5)}, "add up to 1"),
        ({"shares": (-0.1, 0.5, 0.6)}, "above 0"),
        ({"alpha": 0}, "alpha"),
        ({"power": 1}, "power"),
        ({"acceptable": 0}, "acceptable"),
        ({"least": -0.1}, "least"),
    ],
)
def test_an_inconsistent_rule_is_refused_in_a_sentence(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Rule(**change)  # type: ignore[arg-type]


# Whatever the values


@settings(deadline=None, max_examples=60)
@given(figures, figures)
def test_swapping_a_and_b_mirrors_the_effect_and_both_ways_are_never_a_regression(
    a: list[float], b: list[float]
) -> None:
    there, back = (decide({"cpu": values}, {}) for values in (ratios(a, b), ratios(b, a)))

    assert {there.verdict, back.verdict} != {"regression"}
    for one, other in zip(there.effects, back.effects, strict=True):
        assert (one.estimate, one.low, one.high, one.sd) == pytest.approx(
            (-other.estimate, -other.high, -other.low, other.sd), abs=1e-12
        )


@settings(deadline=None, max_examples=60)
@given(figures, figures, st.floats(1e-6, 1e6))
def test_the_unit_of_the_figures_changes_nothing(a: list[float], b: list[float], factor: float) -> None:
    plain = decide({"cpu": ratios(a, b)}, {})
    scaled = decide({"cpu": ratios([factor * value for value in a], [factor * value for value in b])}, {})

    for one, other in zip(plain.effects, scaled.effects, strict=False):
        assert (one.estimate, one.sd, one.upper) == pytest.approx((other.estimate, other.sd, other.upper), abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-0.1, 0.4), min_size=24, max_size=24), st.randoms(use_true_random=False))
def test_the_order_of_the_blocks_changes_nothing(values: list[float], order: Random) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)

    assert decide({"cpu": values}, {"spin": values}) == decide({"cpu": shuffled}, {"spin": shuffled})


@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries(NAMES, st.lists(EVERYTHING | st.floats(-1, 1), max_size=50), max_size=3),
    st.dictionaries(NAMES, st.lists(EVERYTHING | st.floats(-1, 1), max_size=50), max_size=2),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 120),
)
def test_any_values_give_a_decision_with_a_reason(
    gated: dict[str, list[float]], controls: dict[str, list[float]], failed_a: int, failed_b: int, dropped: int
) -> None:
    found = decide(gated, controls, DESIGNED, failed_a, failed_b, dropped)

    assert found.why
    assert "nan" not in found.why
    assert found.final or found.verdict == "inconclusive"
    if found.verdict == "pass":
        assert all(one.upper < DESIGNED.acceptable for one in found.effects)
