"""The decision rule: its figures against scipy and published ones, its verdicts, and what must hold for any values."""

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp

from inflight.bench.ab.decide import Decision, Effect, decide, effects_of
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.frame.statistics import MIN_SD

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


def effect(metric: str, values: Sequence[float], pass_level: float = 0.01) -> Effect:
    (found,) = effects_of({metric: values}, pass_level)
    return found


def ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [math.log(after / before) for before, after in zip(a, b, strict=True)]


# Figures


@pytest.mark.parametrize("mean", [0.013, -0.013])
def test_an_effect_has_the_p_and_the_interval_of_scipys_t_test(mean: float) -> None:
    values = noise(24, mean, sd=0.04)
    found, interval = effect("cpu", values), ttest_1samp(values, 0).confidence_interval(0.95)

    assert found.p == pytest.approx(ttest_1samp(values, 0, alternative="greater").pvalue)
    assert (found.mean.interval().low, found.mean.interval().high) == pytest.approx((interval.low, interval.high))
    assert found.upper == pytest.approx(ttest_1samp(values, 0, alternative="less").confidence_interval(0.99).high)
    assert (found.estimate, found.sd, found.mean.n) == pytest.approx((mean, 0.04, 24))


def test_values_in_steps_that_repeat_vary_at_least_by_a_tenth_of_a_percent() -> None:
    assert effect("memory", [0.1, 0.1]).sd == pytest.approx(MIN_SD)
    assert effects_of({"cpu": [0.1, 0.1]}, 0.01) == (), "times that repeat are no measurement"


# Verdicts

TWO, FIVE = math.log(1.02), math.log(1.05)
AT_12 = math.sqrt(12)
UPPER_AT_12 = float(t.ppf(1 - 0.001, 11)) / AT_12
"""The upper bound of a pass at the first look is so many SDs above the mean: 1 % is divided 1 : 3 : 6."""
P_AT_12 = float(t.isf(0.0005, 11)) / AT_12
"""A mean of more SDs is significant at the first look: 0.5 % is divided 1 : 3 : 6."""
VERDICTS: dict[str, tuple[int, float, float, str, bool, str]] = {
    # name: (blocks, mean of the logarithm of B over A, its SD, verdict, whether it is final, part of the reason)
    "10 % slower": (12, math.log(1.1), 0.02, "regression", True, "B is worse: cpu +10.0 %"),
    "alike": (12, 0.0, 0.02, "pass", True, "B is not more than 5.0 % worse"),
    "faster": (12, -0.2, 0.02, "pass", True, "B is not more"),
    "significant and too small": (48, math.log(1.015), 0.01, "pass", True, ""),
    "just below 2 %": (12, TWO - 1e-4, 0.002, "pass", True, ""),
    "just above 2 %": (12, TWO + 1e-4, 0.002, "regression", True, ""),
    "significant": (12, 0.05, 0.999 * 0.05 / P_AT_12, "regression", True, ""),
    "not yet significant": (12, 0.05, 1.001 * 0.05 / P_AT_12, "inconclusive", False, "neither regression nor pass"),
    "less than 5 % slower": (12, 0.0, 0.999 * FIVE / UPPER_AT_12, "pass", True, ""),
    "perhaps 5 % slower": (12, 0.0, 1.001 * FIVE / UPPER_AT_12, "inconclusive", False, ""),
    "seems worse, so a pass waits": (12, 0.025, 0.02, "inconclusive", False, "neither"),
    "seems worse by too little": (12, 0.019, 0.02, "pass", True, ""),
    "no pass waits in the end": (48, 0.021, 0.06, "pass", True, ""),
    "open": (24, 0.045, 0.12, "inconclusive", False, "neither regression nor pass: cpu +4.6 %"),
    "open in the end": (48, 0.045, 0.12, "inconclusive", True, "neither regression nor pass: cpu +4.6 %"),
    "noisy": (12, 0.03, 0.99 * DESIGNED.max_noise, "inconclusive", False, "neither"),
    "too noisy": (12, 0.03, 1.01 * DESIGNED.max_noise, "inconclusive", True, "too noisy: cpu"),
    "no block": (0, 0.5, 0.02, "inconclusive", False, "too few blocks: 0 of at least 12"),
    "a block too few": (11, 0.5, 0.02, "inconclusive", False, "too few blocks: 11 of at least 12"),
    "between looks": (15, 0.5, 0.02, "inconclusive", False, "15 blocks; the next decision is after 24"),
    "beyond the last look": (50, 0.0, 0.02, "pass", True, ""),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_blocks_have_their_verdict(name: str) -> None:
    blocks, mean, sd, verdict, final, why = VERDICTS[name]

    found = on(noise(blocks, mean, sd))

    assert (found.verdict, found.final, found.blocks) == (verdict, final, blocks)
    assert why in found.why
    assert found.look == {12: 1, 24: 2, 48: 3, 50: 3}.get(blocks)


SEVERAL: dict[str, tuple[dict[str, list[float]], dict[str, list[float]], str, bool, str]] = {
    # name: (gated metrics, controls, verdict, whether it is final, reason)
    "one metric is worse": ({"cpu": noise(12), "memory": noise(12, 0.1)}, {}, "regression", True, "user memory per fe"),
    "less throughput": ({"throughput": noise(12, 0.2, 0.01)}, {}, "regression", True, "throughput -18.1 %"),
    "one of ten": (
        {"cpu": noise(12, 0.035, 0.025)} | {f"m{n}": noise(12) for n in range(9)}, {}, "inconclusive", False, "cpu"
    ),
    "one is noisy, one open": ({"a": noise(12, 0.03, 0.05), "b": noise(12, sd=0.5)}, {}, "inconclusive", False, "a"),
    "few values": ({"a": noise(24), "memory": noise(6)}, {}, "inconclusive", False, "too few values: user memory"),
    "few values of one that is worse": ({"a": noise(24), "b": noise(6, 1, 0.01)}, {}, "inconclusive", False, "b"),
    "another is worse": ({"a": noise(24, 0.1), "b": noise(6, 1, 0.01)}, {}, "regression", True, "worse: a +"),
    "no metric": ({}, quiet(12), "inconclusive", True, "no metric is gated"),
    "times that repeat": ({"cpu": [0.5] * 12}, {}, "inconclusive", True, "cpu has the same value in all blocks"),
    "memory that repeats": ({"memory": [0.0] * 12}, {}, "pass", True, ""),
    "more memory that repeats": ({"memory": [0.1] * 12}, {}, "regression", True, ""),
    "a control moved": ({"cpu": noise(12)}, {"x": noise(12, -0.05, 0.01)}, "inconclusive", False, "moved: x -4.9 %"),
    "moved in the end": ({"cpu": noise(48)}, {"x": noise(48, 0.05, 0.01)}, "inconclusive", True, "a control moved"),
    "moved with B": ({"cpu": noise(12, 0.1)}, {"x": noise(12, 0.05, 0.01)}, "inconclusive", False, "a control moved"),
    "a control moved by little": ({"cpu": noise(12)}, {"x": noise(12, 0.0099, 0.0001)}, "pass", True, ""),
    "by a little more": ({"cpu": noise(12)}, {"x": noise(12, -0.01, 0.0001)}, "inconclusive", False, "a control"),
    "few values of a control": ({"cpu": noise(12, 0.1)}, {"x": noise(3)}, "inconclusive", False, "of a control: x"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_metrics_and_controls_have_their_verdict_together(name: str) -> None:
    gated, controls, verdict, final, why = SEVERAL[name]

    found = decide(gated, controls)

    assert (found.verdict, found.final) == (verdict, final)
    assert why in found.why


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("share", "moves"), [(0.9, True), (1.1, False)])
def test_a_control_has_moved_when_its_two_sided_p_is_below_the_rules(sign: int, share: float, moves: bool) -> None:
    mean = float(t.isf(share * DESIGNED.control_alpha / 2, 11)) * 0.05 / AT_12
    found = decide({"cpu": noise(12)}, {"spin": noise(12, mean=sign * mean, sd=0.05)})

    assert mean > DESIGNED.control_least
    assert ("a control moved" in found.why) is moves


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("name", ["cpu", "spin"])
def test_a_value_that_is_not_a_ratio_ends_the_run_and_names_the_metric(broken: float, name: str) -> None:
    series = {"cpu": noise(12, mean=0.5), "spin": noise(12, sd=0.01)}
    series[name][3] = broken
    found = decide({"cpu": series["cpu"]}, {"spin": series["spin"]})

    assert (found.verdict, found.final) == ("inconclusive", True)
    assert found.why == f"{name} has a value that is not a ratio of two measurements"


LOST: list[tuple[list[float], dict[str, Any], str, bool, str]] = [
    # (values, blocks that failed or were dropped, verdict, whether it is final, reason)
    ([], {"failed_b": 2}, "inconclusive", False, "too few blocks"),
    ([0.01], {"failed_b": 3}, "regression", True, "B failed in 3 of 4 blocks, A in none"),
    ([0.01], {"failed_a": 1, "failed_b": 2}, "inconclusive", True, "A failed in 1 of 4 blocks"),
    (noise(6), {"failed_b": 6}, "regression", True, "B failed in 6 of 12"),
    (noise(7), {"failed_b": 6}, "inconclusive", False, "too few blocks"),
    (noise(12), {"failed_b": 1}, "inconclusive", False, "too often to pass"),
    (noise(24), {"failed_b": 1}, "pass", True, ""),
    (noise(48), {"failed_b": 4}, "inconclusive", True, "B failed in 4 of 52 blocks, too often"),
    (noise(12), {"dropped": 12}, "pass", True, ""),
    (noise(12, 0.5), {"dropped": 13}, "inconclusive", True, "13 of 25 blocks were left out"),
    (noise(3), {"dropped": 20}, "inconclusive", False, "too few blocks"),
    (noise(3), {"dropped": 21}, "inconclusive", True, "21 of 24 blocks were left out"),
    (noise(47), {"failed_b": 2, "dropped": 46}, "inconclusive", False, "the next decision"),
    (noise(47), {"failed_b": 2, "dropped": 47}, "inconclusive", True, "only 47 of 96 blocks are good"),
    (noise(36), {"failed_a": 30, "dropped": 30}, "inconclusive", True, "only 36 of 96 blocks are good"),
]


@pytest.mark.parametrize(("values", "lost", "verdict", "final", "why"), LOST)
def test_blocks_that_fail_or_are_dropped_end_a_run(
    values: list[float], lost: dict[str, Any], verdict: str, final: bool, why: str
) -> None:
    found = on(values, **lost)

    assert (found.verdict, found.final) == (verdict, final)
    assert why in found.why


# Whatever the values


@settings(deadline=None, max_examples=60)
@given(figures, figures)
def test_swapping_a_and_b_mirrors_the_effect_and_both_ways_are_never_a_regression(
    a: list[float], b: list[float]
) -> None:
    there, back = (decide({"cpu": values}, {}) for values in (ratios(a, b), ratios(b, a)))

    assert {there.verdict, back.verdict} != {"regression"}
    for one, other in zip(there.effects, back.effects, strict=True):
        assert (one.estimate, one.sd) == pytest.approx((-other.estimate, other.sd), abs=1e-12)
        assert one.p == pytest.approx(1 - other.p)


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
