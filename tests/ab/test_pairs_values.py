"""From the rows of pairs to values: their sign, what they leave out, and what a decision makes of them."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import ab
from bench.analyse import pairs
from bench.analyse.decide import Decision, Rule
from bench.rows import Row
from tests.made_rows import MADE_MEMORY, pair_row

MORE_IN_B = MADE_MEMORY | {"B": [12_000_000, 16_000_000]}
SHORT = Rule(looks=(3,), shares=(1.0,))
"""One look, so that a few rows make a decision."""
NOT_GATED: dict[str, Any] = {"latency": "50ms", "cpu_ns": (10e6, 10e6), "makespan_ns": (200e6, 200e6)}
"""Options of a pair whose core had almost nothing to do."""


def with_turns(row: Row, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Row:
    """Return the row with each of its turns changed."""
    measured = copy.deepcopy(row.measured)
    measured["turns"] = [turn | change(turn) for turn in measured["turns"]]
    return replace(row, measured=measured)


def series(number: int, **options: Any) -> list[Row]:
    """Return so many pairs without a change, which vary a little."""
    return [varied(n, 0.01 * ((7 * n) % 5 - 2), **options) for n in range(1, number + 1)]


def varied(number: int, log_ratio: float, **options: Any) -> Row:
    """Return a pair whose side B takes so much more CPU time, as a logarithm, and whose controls vary too."""
    wobble = 1 + 0.001 * (number % 4 - 1.5)
    values = {
        "cpu_ns": (10e6, 10e6 * math.exp(log_ratio)),
        "spin_ns": (4e6, 4e6 * wobble),
        "null_ns": (5e6 * wobble, 5e6),
    }
    return pair_row(number, **values | options)


def decided(rows: list[Row], rule: Rule = SHORT) -> Decision:
    return ab.decided(rows, rule)


# Values


def test_a_value_is_above_zero_where_b_is_worse() -> None:
    row = pair_row(cpu_ns=(10e6, 12e6), makespan_ns=(20e6, 22e6), memory=MORE_IN_B)

    assert pairs.values(row) == pytest.approx(
        {"cpu_per_page": math.log(1.2), "throughput": math.log(1.1), "memory": math.log(2)}, abs=1e-6
    )


@pytest.mark.parametrize("number", [1, 2])
def test_the_order_of_turns_does_not_matter(number: int) -> None:
    assert pairs.values(pair_row(number, cpu_ns=(10e6, 12e6)))["cpu_per_page"] == pytest.approx(math.log(1.2), abs=1e-6)


def test_the_warm_up_is_part_of_no_figure() -> None:
    row = pair_row(memory=MADE_MEMORY)
    strange = {"cpu_ns": 1, "makespan_ns": 10**12, "pages": 1, "peak_in_flight": 1}

    other = with_turns(row, lambda turn: strange if turn["warm_up"] else {})

    assert pairs.values(other) == pairs.values(row)
    assert len(pairs.timed(row)) == len(row.measured["turns"]) - 2 == 8
    for side in "AB":
        assert pairs.sensitivity([other], side) == pairs.sensitivity([row], side)
        for metric in ("cpu_per_page", "throughput", "memory"):
            assert pairs.figure([other], side, metric) == pairs.figure([row], side, metric)


def test_only_what_was_asked_for_has_values() -> None:
    assert set(pairs.values(pair_row(memory=MADE_MEMORY, metrics=("memory",)))) == {"memory"}
    assert set(pairs.values(pair_row(metrics=("memory", "cpu_per_page")))) == {"cpu_per_page"}


def test_memory_that_broke_off_has_no_value_and_no_figure() -> None:
    row = pair_row(memory={"sizes": [240, 2200], "A": [1], "B": [], "reason": "too many"})

    assert "memory" not in pairs.values(row)
    assert math.isnan(pairs.figure([row], "A", "memory"))


def test_figures_are_what_a_side_takes_in_its_own_unit() -> None:
    row = pair_row(cpu_ns=(9e6, 12e6), makespan_ns=(15e6, 30e6), pages=300, memory=MORE_IN_B)

    assert pairs.figure([row], "A", "cpu_per_page") == pytest.approx(30_000, rel=0.001)
    assert pairs.figure([row], "B", "throughput") == pytest.approx(10_000, rel=0.001)
    assert pairs.figure([row], "B", "memory") == pytest.approx(4_000_000 / 1960)
    assert math.isnan(pairs.figure([], "A", "cpu_per_page"))


def test_pages_that_failed_are_no_part_of_a_figure() -> None:
    row = with_turns(pair_row(cpu_ns=(9e6, 9e6), makespan_ns=(15e6, 15e6), pages=300), lambda _: {"failed_pages": 120})

    assert pairs.figure([row], "A", "cpu_per_page") == pytest.approx(50_000, rel=0.001)
    assert pairs.figure([row], "B", "throughput") == pytest.approx(12_000, rel=0.001)


def test_controls_are_the_same_work_beside_both_sides() -> None:
    row = pair_row(spin_ns=(4e6, 4.4e6), null_ns=(5e6, 5e6))

    assert pairs.controls(row) == pytest.approx({"spin": math.log(1.1), "null client": 0}, abs=1e-6)


costs = st.integers(10**6, 10**9)
couples = st.tuples(costs, costs)
Couple = tuple[float, float]


@given(cpu=couples, span=couples, spin=couples, memory=couples, number=st.integers(1, 4))
def test_swapping_the_sides_negates_every_value(
    cpu: Couple, span: Couple, spin: Couple, memory: Couple, number: int
) -> None:
    def row(cpu: Couple, span: Couple, spin: Couple, memory: Couple) -> Row:
        held = {side: [0, grown] for side, grown in zip("AB", memory, strict=True)}
        held_memory: dict[str, Any] = {"sizes": [200, 2000], "reason": None} | held
        return pair_row(number, cpu_ns=cpu, makespan_ns=span, spin_ns=spin, memory=held_memory)

    turned = [(b, a) for a, b in (cpu, span, spin, memory)]
    for read in (pairs.values, pairs.controls):
        one, other = read(row(cpu, span, spin, memory)), read(row(*turned))
        assert one == pytest.approx({name: -value for name, value in other.items()}, abs=1e-5)


@given(cpu=couples, span=couples, memory=couples, times=st.integers(2, 1000))
def test_a_machine_that_is_so_many_times_slower_changes_no_value(
    cpu: tuple[int, int], span: tuple[int, int], memory: tuple[int, int], times: int
) -> None:
    held = {side: [0, grown] for side, grown in zip("AB", memory, strict=True)}
    row = pair_row(cpu_ns=cpu, makespan_ns=span, memory={"sizes": [200, 2000], "reason": None} | held)
    slower = with_turns(row, lambda turn: {key: turn[key] * times for key in ("cpu_ns", "makespan_ns")})
    for side in "AB":
        slower.measured["memory"][side] = [size * times for size in slower.measured["memory"][side]]

    assert pairs.values(slower) == pytest.approx(pairs.values(row), abs=1e-9)


# What becomes of pairs


def test_pairs_are_good_failed_or_dropped() -> None:
    good = series(2)
    rows = [
        *good,
        pair_row(3, red=True),
        pair_row(4, status="failed", reason="the strategy raised X", failed_side="A"),
        pair_row(5, status="wrong", reason="side B: 1 pages missing", failed_side="B"),
        pair_row(6, status="timeout", reason="late", failed_side="B"),
        pair_row(7, status="failed", reason="the fake server died in mid-trial"),
    ]

    assert pairs.tally(rows) == pairs.Tally(
        good=tuple(good),
        failed_a=1,
        failed_b=2,
        dropped=2,
        reasons={
            "server had room": 1,
            "A: the strategy raised X": 1,
            "B: side B: 1 pages missing": 1,
            "B: late": 1,
            "the fake server died in mid-trial": 1,
        },
    )


def test_the_reason_that_most_pairs_have_is_named() -> None:
    rows = [pair_row(n, status="failed", reason=reason) for n, reason in enumerate(["a", "b", "b", "c"])]

    assert pairs.tally(rows).mostly_for == "b"
    assert pairs.tally([]).mostly_for == ""


def test_throughput_is_gated_where_the_core_was_full_and_not_where_it_waited() -> None:
    assert pairs.is_throughput_gated(series(3))
    assert set(pairs.gated(series(3))) == {"cpu_per_page", "throughput"}

    waiting = [pair_row(n, **NOT_GATED) for n in (1, 2)]
    assert not pairs.is_throughput_gated(waiting)
    assert set(pairs.gated(waiting)) == {"cpu_per_page"}
    assert not pairs.is_throughput_gated([])


def test_throughput_is_not_gated_where_only_one_side_fills_its_core() -> None:
    assert not pairs.is_throughput_gated([pair_row(latency="50ms", cpu_ns=(200e6, 10e6), makespan_ns=(200e6, 200e6))])


# What is decided on them


def test_a_b_that_takes_much_more_is_a_regression_and_the_other_way_round_a_pass() -> None:
    worse = [varied(n, 0.2 + 0.001 * n) for n in (1, 2, 3)]
    better = [varied(n, -0.2 - 0.001 * n) for n in (1, 2, 3)]

    assert (decided(worse).verdict, decided(worse).final) == ("regression", True)
    assert (decided(better).verdict, decided(better).final) == ("pass", True)
    assert not decided(worse[:2]).final


@pytest.mark.parametrize("cpu_ns", [(0.0, 10e6), (10e6, 0.0), (0.0, 0.0)])
def test_a_figure_of_nothing_is_no_measurement_and_the_decision_says_so(cpu_ns: tuple[float, float]) -> None:
    odd = pair_row(1, cpu_ns=cpu_ns, makespan_ns=(10e6, 10e6))

    assert math.isnan(pairs.values(odd)["cpu_per_page"])
    decision = decided([odd, *series(3)[1:]])
    assert (decision.verdict, decision.final) == ("inconclusive", True)
    assert decision.why.endswith(" has a value that is no ratio of two measurements")


@pytest.mark.parametrize(
    "options", [{"cpu_ns": (0.0, 0.0), "makespan_ns": (10e6, 10e6)}, {"pages": 0}], ids=["no_time", "no_page"]
)
def test_where_there_is_nothing_there_is_no_sensitivity(options: dict[str, Any]) -> None:
    rows = [pair_row(n, **options) for n in (1, 2, 3)]

    assert pairs.sensitivity(rows, "A") is None
    assert decided(rows).verdict == "inconclusive"


def test_memory_that_shrinks_as_more_are_in_flight_is_no_measurement() -> None:
    odd = pair_row(1, memory=MADE_MEMORY | {"B": [14_000_000, 12_000_000]})

    assert math.isnan(pairs.values(odd)["memory"])
    assert decided([odd]).why.endswith(" has a value that is no ratio of two measurements")


def test_pairs_that_only_b_breaks_are_a_regression_and_pairs_that_a_breaks_too_are_not() -> None:
    b = [pair_row(n, status="failed", reason="x", failed_side="B") for n in (1, 2, 3)]
    a = [pair_row(n, status="failed", reason="x", failed_side="A") for n in (1, 2, 3)]

    assert decided(b).verdict == "regression"
    assert decided(b).final
    assert decided([*b, *a]).verdict == "inconclusive"
    assert decided([*b, *a]).final


def test_pairs_that_are_all_dropped_come_to_an_end() -> None:
    rows = [pair_row(n, red=True) for n in range(1, 2 * SHORT.looks[0] + 1)]

    assert not decided(rows[:-1]).final
    assert decided(rows).final
    assert decided(rows).why == "6 of 6 pairs were left out on an outside signal, mostly for 'server had room'"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"metrics": ("throughput",)} | NOT_GATED, id="throughput_that_is_never_gated"),
        pytest.param({"metrics": ("memory",)}, id="memory_that_is_never_had"),
    ],
)
def test_a_comparison_of_which_nothing_is_ever_gated_comes_to_an_end(options: dict[str, Any]) -> None:
    rows = [pair_row(n, **options) for n in range(1, SHORT.looks[0] + 1)]

    assert not any(decided(rows[:n]).final for n in range(1, len(rows)))
    decision = decided(rows)
    assert (decision.verdict, decision.final) == ("inconclusive", True)
    assert decision.why == "no metric is gated, so there is nothing to decide on"


def test_a_metric_that_only_the_first_pair_has_comes_to_an_end_too() -> None:
    rows = [pair_row(1, metrics=("memory",), memory=MADE_MEMORY)]
    while not decided(rows).final:
        rows.append(pair_row(len(rows) + 1, metrics=("memory",)))
        assert len(rows) <= 2 * SHORT.looks[-1]

    assert decided(rows).verdict == "inconclusive"


def test_a_comparison_without_any_metric_is_told_so() -> None:
    assert decided([pair_row(n, metrics=()) for n in (1, 2, 3)]).final
