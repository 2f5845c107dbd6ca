"""The rule for ratios, on made blocks and on the stored runs of the series (docs/method.md)."""

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pandas as pd
import pytest
from scipy.stats import t, trim_mean

from inflight.bench.frame import ratios
from inflight.bench.frame import statistics as stats
from inflight.bench.frame.contrast import contrast, records
from inflight.bench.frame.frame import long, trials, with_cycles
from inflight.bench.frame.history import Earlier, History
from inflight.bench.frame.ratios import Between, Reading, Spread
from inflight.bench.frame.statistics import Estimate
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.made_rows import block_rows
from tools import series

CELL: ratios.Cell = ("arm", "0", "0", 100, "keep-alive", 10, 1200, "3.11")
PAIR = frozenset({"callbacks", "native_asyncio"})
SHARED = ("shared", "shared")


def compared(many: list[Row], **at: Any) -> dict[str, Any]:
    """Return the ratios of CPU time per page to the reference, by arm, of the cell with these values."""
    lines = with_cycles(long(trials(many)).query("figure == 'cpu_per_page_ns' and comparison == ''"), many)
    for key, value in at.items():
        lines = lines[lines[key] == value]
    return {ratio.arm: ratio for ratio in records(contrast(lines, "arm", "reference", ["figure", "reference"]))}


def side(*values: float) -> dict[str, Reading]:
    return {f"block {number}": Reading(value, {}) for number, value in enumerate(values)}


def spread(control: str | None = None, **sides: list[float]) -> Spread:
    return ratios.spread({name: side(*values) for name, values in sides.items()}, "callbacks", control)


# Within a block, and within a run


def test_a_pair_is_the_trimmed_mean_of_its_common_cycles() -> None:
    noise = Random(1)
    one, other = ({n: noise.gauss(0, 0.1) for n in range(first, 12)} for first in (0, 1))

    differences = [one[n] - other[n] for n in range(1, 12)]
    assert Reading(9.0, one) - Reading(8.0, other) == pytest.approx(float(trim_mean(differences, 0.25)))
    assert Reading(9.0, {n: one[n] for n in range(5)}) - Reading(8.0, other) == 1.0


def test_the_spread_of_a_cell_is_that_of_all_its_pairs() -> None:
    found = spread("again", callbacks=[0.0, 0.0, 0.0], again=[0.01, 0.03, 0.02], threads=[0.40, 0.46, 0.43])

    assert found.freedom == 4
    assert found.sd == pytest.approx(math.sqrt((2 * 0.01**2 + 2 * 0.03**2) / 4))
    assert found.resolution == pytest.approx(0.02 + t.ppf(0.975, 4) * found.sd / math.sqrt(3))
    assert not found.unstable


def test_an_arm_whose_blocks_jump_is_unstable_and_leaves_the_spread_alone() -> None:
    jumping = [0.0, 0.5, 0.0]
    calm = spread("again", callbacks=[0.0, 0.0, 0.0], again=[0.0, 0.01, 0.0], threads=jumping)
    alone = spread(callbacks=[0.0, 0.0, 0.0], generators=[0.0, 0.01, 0.0], threads=jumping)
    wild = spread("again", callbacks=[0.0, 0.0, 0.0], again=jumping, threads=jumping)

    assert calm.unstable == {"threads"}
    assert calm.sd < 0.01
    assert alone.unstable == wild.unstable == set()


def test_one_block_is_an_estimate_without_an_interval() -> None:
    ratio = compared(block_rows(blocks=1))["generators"]

    assert ratio.estimate == pytest.approx(1.2)
    assert (ratio.next_high, ratio.resolution, ratio.answer) == (math.inf, math.inf, "unknown")


def test_one_strategy_with_itself_may_be_equal_and_two_may_not() -> None:
    costs = {"callbacks": 20_000, "generators": 20_010}

    assert {name: ratio.answer for name, ratio in compared(block_rows(costs)).items()} == {
        "callbacks again": "same",
        "generators": "unknown",
    }


# Between runs


def test_the_spread_between_runs_is_the_root_that_its_authors_define() -> None:
    means, errors = [0.70, 0.75, 0.92, 0.66, 0.81], [0.02, 0.03, 0.02, 0.05, 0.04]

    tau = stats.between(means, errors)

    weights = [1 / (error**2 + tau**2) for error in errors]
    center = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights)
    assert sum(w * (m - center) ** 2 for w, m in zip(weights, means, strict=True)) == pytest.approx(4)
    assert stats.between([0.70, 0.71, 0.70], [0.1, 0.1, 0.1]) == 0.0


@pytest.mark.parametrize(
    ("strategies", "stacks", "tau"),
    [
        ({"callbacks"}, SHARED, 0.0),
        ({"callbacks", "mine"}, SHARED, 0.08),
        ({"callbacks", "mine"}, ("shared", "own"), 0.13),
    ],
)
def test_a_pair_without_an_entry_has_the_usual_spread(
    strategies: set[str], stacks: tuple[str, str], tau: float
) -> None:
    assert ratios.between((CELL, frozenset(strategies)), stacks, {}) == Between(tau, math.inf)


def earlier(day: int, log: float) -> Earlier:
    from datetime import date

    return Earlier(date(2026, 1, day), {(CELL, PAIR): Estimate(log, 0.001, 20, 6)}, {(CELL, "callbacks"): log}, {})


@pytest.mark.parametrize(
    ("days", "known"), [([1, 2], False), ([1, 1, 1, 2, 2], False), ([1, 2, 3], True), ([3, 3, 3, 2, 1], True)]
)
def test_own_runs_count_from_three_days_on(days: list[int], known: bool) -> None:
    history = History([earlier(day, 0.1 * number) for number, day in enumerate(days)])

    assert ((CELL, PAIR) in history.spreads) is known


def test_until_ten_own_runs_the_larger_spread_holds() -> None:
    table = ratios.between((CELL, PAIR), SHARED, {})
    calm, wild = Between(table.tau / 2, 0), Between(2 * table.tau, 0)

    def held(spread: Between, runs: int) -> float:
        return ratios.between((CELL, PAIR), SHARED, {(CELL, PAIR): Between(spread.tau, runs - 1)}).tau

    assert table.freedom > 10
    assert [held(calm, 9), held(calm, 10)] == [table.tau, calm.tau]
    assert [held(wild, 9), held(wild, 10)] == [wild.tau, wild.tau]


def test_what_a_page_costs_is_said_against_three_runs_or_more() -> None:
    runs = [earlier(day, math.log(20_000)) for day in (1, 2, 3)]

    now = {(CELL, "callbacks"): math.log(30_000)}
    assert History(runs[:2]).cost(now) is None
    strategy, ratio, number = History(runs).cost(now) or ("", 0.0, 0)
    assert (strategy, round(ratio, 6), number) == ("callbacks", 1.5, 3)


# Stored runs


@cache
def stored(folder: Path) -> tuple[list[Row], pd.DataFrame]:
    run = rows.read(folder)
    arms = [row for row in run if row.kind == "arm" and not row.is_compared]
    return arms, with_cycles(long(trials(arms)).query("figure == 'cpu_per_page_ns'"), arms)


@pytest.mark.ci
def test_identical_code_seldom_differs_and_generators_mostly_do() -> None:
    controls, resolutions, generators = list[bool](), list[float](), list[str]()
    for folder in series.runs_of_the_table():
        _, lines = stored(folder)
        for (cpu, latency), cell in lines.groupby(["cpu", "latency"]):
            found = {line.arm: line for line in records(contrast(cell, "arm", "reference", ["figure", "reference"]))}
            control = found.get("callbacks again")
            if control is not None:
                controls.append(control.low <= 1 <= control.high)
            if (cpu, latency) == ("0", "0") and control is not None:
                resolutions.append(control.resolution)
                generators.append(found["generators"].answer)

    assert sum(controls) / len(controls) >= 0.95
    assert median(resolutions) <= 1.08
    assert generators.count("differs") / len(generators) >= 0.8


@pytest.mark.ci
def test_the_interval_of_the_next_run_holds_as_often_as_documented() -> None:
    table = series.coverage([ratios.estimates(stored(folder)[1]) for folder in series.runs_of_the_table()])

    assert series.overall(table, "covered") >= 0.88
    assert table["covered"].min() >= 0.78
    assert series.overall(table, "first_half") >= 0.82
    assert (table["half_width"].median(), table["half_width"].max()) <= (0.28, 0.52)


@pytest.mark.ci
def test_the_table_is_that_of_the_runs_that_it_names() -> None:
    table: Mapping[str, Any] = json.loads(ratios.TABLE.read_text(encoding="utf-8"))

    found = series.spreads_between([series.SERIES / name for name in table["runs"]])

    assert found == {"runs": table["runs"], "cells": table["cells"]}
    memory = series.memory_of([series.REFERENCE_RUNS / name for name in table["memory"]["runs"]])
    assert memory == table["memory"]
