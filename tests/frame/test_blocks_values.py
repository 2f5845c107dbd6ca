"""From the rows of blocks to values and decisions: signs, exclusions, verdicts."""

import math
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.ab import decide as deciding
from inflight.bench.ab.decide import Decision, Tally
from inflight.bench.ab.rule import Rule
from inflight.bench.frame import blocks as read
from inflight.bench.rows.files import Check
from inflight.bench.rows.records import changed
from tests.made_blocks import CPU_NS, HELD_BYTES, PER_S, TIMED, Rows, block, blocks, lost, series
from tests.made_rows import crawl_row, edited

SHORT = Rule(looks=(3,), shares=(1.0,))
"""One look, so that a few rows make a decision."""
changes = st.floats(-1, 1)


def one(*arguments: Any, **options: Any) -> read.Block:
    (found,) = blocks([block(*arguments, **options)])
    return found


def decided(found: list[Rows], rule: Rule = SHORT) -> Decision:
    return deciding.decided(blocks(found), rule)


# Values


def test_a_value_is_above_zero_where_b_is_worse() -> None:
    found = one(cpu=math.log(1.2), throughput=math.log(1.1), memory=math.log(2))

    assert read.values(found) == pytest.approx(
        {"cpu_per_page": math.log(1.2), "throughput": math.log(1.1), "memory": math.log(2)}, abs=1e-4
    )


@given(cpu=changes, throughput=changes, memory=changes, placebo=changes)
def test_values_are_those_of_the_rows_and_independent_of_the_controls(
    cpu: float, throughput: float, memory: float, placebo: float
) -> None:
    found = one(cpu=cpu, throughput=throughput, memory=memory, placebo=placebo)

    wanted = {"cpu_per_page": cpu, "throughput": throughput, "memory": memory}
    assert read.values(found) == pytest.approx(wanted, abs=2e-4)


def test_only_requested_metrics_have_values() -> None:
    assert set(read.values(one(memory=0.0, metrics=("memory",)))) == {"memory"}
    assert set(read.values(one(metrics=("memory", "cpu_per_page")))) == {"cpu_per_page"}


def test_a_reading_of_memory_that_is_invalid_gives_no_value_and_the_block_is_good() -> None:
    found = one(memory_invalid="3 connections were lost")

    assert found.good
    assert "memory" not in read.values(found)
    assert math.isnan(read.figure([found], "B", "memory"))
    assert read.why_no_memory([found]) == "no listen drops: 3 connections were lost"


def test_figures_of_a_side_are_in_their_own_units() -> None:
    found = one(cpu=math.log(2), throughput=math.log(2), memory=math.log(2))

    assert read.figure([found], "A", "cpu_per_page") == pytest.approx(CPU_NS)
    assert read.figure([found], "B", "throughput") == pytest.approx(PER_S / 2)
    assert read.figure([found], "B", "memory") == pytest.approx(2 * HELD_BYTES / 1960, rel=1e-4)
    assert math.isnan(read.figure([], "A", "cpu_per_page"))


def test_throughput_that_is_not_gated_has_no_control_either() -> None:
    assert set(read.controls_of(one(gated=("cpu_per_page",)))) == {"placebo CPU per page"}
    assert set(read.controls_of(one(gated=("memory",)))) == {"placebo CPU per page"}


# What is gated


@pytest.mark.parametrize(
    ("options", "moves"),
    [
        ({"share": 0.6}, True),
        ({"share": 0.2}, True),  # 100 in flight and nothing to wait for: others had the core
        ({"share": 0.2, "latency": "50ms"}, False),
        ({"share": 0.6, "latency": "50ms"}, True),
    ],
)
def test_throughput_is_gated_if_it_depends_on_cpu_time(options: dict[str, Any], moves: bool) -> None:
    assert {read.moves_throughput(row) for row in block(**options)} == {moves}  # type: ignore[arg-type]


def test_the_gated_metrics_are_fixed_before_the_first_block() -> None:
    found = decided(series(3, metrics=TIMED, gated=("cpu_per_page",)))

    assert [one.metric for one in found.effects] == ["cpu_per_page"]


# What becomes of blocks


def test_blocks_are_good_failed_or_dropped() -> None:
    made = [
        *series(2),
        block(3, invalid=True),
        block(4, failed="A", reason="the strategy raised X"),
        block(5, failed="B", status="wrong", reason="1 pages missing"),
        block(6, failed="B", status="timeout", reason="late"),
        lost(7),
    ]
    found = blocks(made)

    assert deciding.tally(found) == Tally(
        good=tuple(found[:2]),
        failed_a=1,
        failed_b=2,
        dropped=2,
        reasons={
            "no hole": 1,
            "A: the strategy raised X": 1,
            "B: 1 pages missing": 1,
            "B: late": 1,
            "the fake server died in mid-block": 1,
        },
    )


def test_a_failed_check_of_an_arm_is_its_failure_whatever_its_times() -> None:
    a, b, again = block()
    invalid = Check("cap reached, never exceeded", "failed", "101")

    of = {arm.arm: changed(arm, checks=(invalid,)) for arm in (a, b, again)}
    assert blocks([[a, of["B"], again]])[0].failed == "B"
    assert blocks([[of["A"], b, again]])[0].failed == "A"
    assert blocks([[a, b, of["A again"]]])[0].failed == "A"
    assert blocks([[of["A"], of["B"], again]])[0].failed == "A", "B cannot be held against an A that fails"


def test_a_side_that_fails_only_when_its_memory_is_read_has_failed() -> None:
    rows = block(memory=0.0)
    rows[-1] = changed(rows[-1], status="failed", reason="too many", checks=())

    (found,) = blocks([rows])

    assert (found.failed, found.good, found.reasons) == ("B", False, ["B: too many"])


def test_an_incomplete_block_is_left_out() -> None:
    assert blocks([block(1), block(2)[:2]]) == blocks([block(1)])


def test_the_most_frequent_reason_is_the_first() -> None:
    found = blocks([lost(n, reason) for n, reason in enumerate(["a", "b", "b", "c"], 1)])

    assert list(deciding.tally(found).reasons) == ["b", "a", "c"]


# What is decided on them


def test_b_never_passes_with_a_wrong_answer_however_rare() -> None:
    rule = Rule(looks=(30,), shares=(1.0,))
    good, wrong = series(30, -0.1, metrics=TIMED), block(31, failed="B", status="wrong", reason="a page is missing")

    assert decided(good, rule).verdict == "pass"
    decision = decided([*good, wrong], rule)
    assert (decision.verdict, decision.final) == ("inconclusive", True)
    assert decision.why.startswith("B gave a wrong answer in 1 of 31 blocks, so it cannot pass")


@pytest.mark.parametrize(("outside", "is_blamed"), [(None, True), (True, False)])
def test_an_arm_is_not_blamed_for_a_failed_check_of_the_surroundings(
    outside: Literal[True] | None, is_blamed: bool
) -> None:
    failed = (Check("no hole", "failed", "", outside),)

    assert read.has_failed(edited(block(1)[0], checks=failed)) == is_blamed


def test_a_run_with_a_metric_in_the_first_block_only_ends() -> None:
    rows = [block(1, metrics=("memory",), memory=0.0)]
    while not decided(rows).final:
        rows.append(block(len(rows) + 1, metrics=("memory",)))
        assert len(rows) <= 2 * SHORT.looks[-1]

    assert decided(rows).verdict == "inconclusive"


# Sides


def test_a_strategy_named_a_or_b_is_no_side_of_a_comparison() -> None:
    run = [crawl_row(name, status=status) for name in ("A", "B", "c") for status in ("ok", "failed")]
    swapped = block(labels=("B", "A"))

    assert read.comparisons(run) == {}
    assert read.comparisons([*run, *swapped]) == {"ab": blocks([swapped])}
    assert [blocks([swapped])[0].arm(side).strategy for side in read.SIDES] == ["B", "A"]
