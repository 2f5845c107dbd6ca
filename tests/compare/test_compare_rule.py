"""The rule of ``inflight compare``: ratios, intervals and verdicts, against scipy and against what must always hold."""

import math
import statistics
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.stored.read import (
    ALL,
    FAMILY,
    PASS_BELOW,
    REGRESSION_ABOVE,
    Compared,
    Comparison,
    compare_sides,
)
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, Key, Sample, of_rows, sample
from tests.compare.made_runs import compare, noisy_run, scaled, slowed, with_ceiling
from tests.made_rows import MACHINE, crawl_row, memory_row, memory_rows

SEEDS = st.integers(0, 10_000)


def compared(base: list[Row], head: list[Row]) -> Comparison:
    return compare(base, head, MACHINE, MACHINE)


def cell(found: Comparison, metric: str, subject: str = "callbacks", cap: int | None = 100) -> Compared:
    """Return one cell; with ``cap`` None the mean of a strategy."""
    (one,) = [
        one
        for one in found.compared
        if (one.key.metric, one.key.subject) == (metric, subject)
        and ((one.key.workload == ALL) if cap is None else f"in_flight={cap}/" in one.key.workload or metric == MEMORY)
    ]
    return one


def change(one: Compared) -> tuple[float, float, float, float]:
    assert one.change is not None
    assert one.low is not None
    assert one.high is not None
    assert one.bound is not None
    return one.change, one.low, one.high, one.bound


# Intervals


def test_with_one_cell_the_interval_is_that_of_welch() -> None:
    base = [100, 104, 99]
    head = [120, 131, 127, 118]
    sides = [
        of_rows(name, [crawl_row(cpu_per_page_ns=value, number=n) for n, value in enumerate(values, 1)], MACHINE)
        for name, values in (("base", base), ("head", head))
    ]

    estimate, low, high, _ = change(cell(compare_sides(*sides), CPU))

    logs = [[math.log(value) for value in values] for values in (head, base)]
    welch = stats.ttest_ind(*logs, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert estimate == pytest.approx(statistics.fmean(logs[0]) - statistics.fmean(logs[1]))
    assert (low, high) == pytest.approx((interval.low, interval.high))


def test_the_noise_of_a_run_is_the_mean_square_within_its_cells() -> None:
    base = noisy_run(1, memory=False)

    (noise,) = [one for one in compared(base, noisy_run(2)).noise if (one.of, one.metric) == ("BASE", CPU)]

    groups: dict[tuple[str, str], list[float]] = {}
    for row in base:
        logs = groups.setdefault((row.strategy, row.workload.id), [])
        logs.append(math.log(row.measured.cpu_per_page_ns))
    assert noise.freedom == sum(len(logs) - 1 for logs in groups.values())
    assert noise.variance == pytest.approx(statistics.fmean(statistics.variance(logs) for logs in groups.values()))


def test_a_run_of_single_rounds_borrows_the_noise_of_the_other() -> None:
    found = compared(noisy_run(1, rounds=3), noisy_run(2, rounds=1))

    assert all(one.low is not None for one in found.compared if one.gated)


def test_without_any_cell_repeated_there_is_no_interval_and_no_decision() -> None:
    found = compared(noisy_run(1, rounds=1, memory=False), slowed(noisy_run(2, rounds=1, memory=False), 3))

    assert found.verdict == "inconclusive"
    assert {one.why for one in found.compared} == {"no cell was repeated, so the noise is unknown"}
    assert all(one.change is not None and one.low is None for one in found.compared)


def test_figures_that_never_vary_decide_nothing() -> None:
    still = noisy_run(sd=0.0, memory=False)

    found = compared(still, slowed(still, 2))

    assert found.verdict == "inconclusive"
    assert {one.why for one in found.compared} == {"identical figures are not a measurement"}


def test_a_cell_with_many_rounds_has_its_own_noise() -> None:
    quiet = noisy_run(1, sd=0.001, rounds=12, caps=(10,), memory=False)
    loud = noisy_run(2, sd=0.2, caps=(100,), memory=False)
    found = compared(quiet + loud, quiet + loud)

    _, low, high, _ = change(cell(found, CPU, cap=10))

    assert high - low < 0.01
    assert change(cell(found, CPU, cap=100))[2] > 0.1


def test_the_level_of_each_bound_is_the_family_over_the_number_gated() -> None:
    found = compared(noisy_run(1), noisy_run(2))

    gated = [one for one in found.compared if one.gated]

    assert found.level == pytest.approx(FAMILY / len(gated))
    assert all(change(one)[3] < change(one)[1] for one in gated)


def test_slopes_are_combined_on_the_scale_of_ratios() -> None:
    base, head = memory_rows(per_fetch=1000), memory_rows(per_fetch=1300, rounds=3)

    estimate, low, high, _ = change(cell(compared(base, head), MEMORY))

    assert math.exp(estimate) == pytest.approx(1.3, rel=0.01)
    assert low < estimate < high


# Verdicts


def test_two_runs_that_differ_by_noise_only_pass() -> None:
    found = compared(noisy_run(1), noisy_run(2))

    assert found.verdict == "pass"
    assert {one.verdict for one in found.compared} == {"pass"}


def test_one_strategy_that_became_slower_is_a_regression_and_the_others_are_not() -> None:
    found = compared(noisy_run(1), slowed(noisy_run(2), 1.3))

    worse = {(one.key.subject, one.key.metric) for one in found.compared if one.verdict == "regression"}

    assert found.verdict == "regression"
    assert worse == {("callbacks", CPU)}


def test_what_became_faster_passes() -> None:
    assert compared(noisy_run(1), slowed(noisy_run(2), 0.5)).verdict == "pass"


def test_more_memory_per_fetch_is_a_regression() -> None:
    found = compared(noisy_run(1), [row for row in noisy_run(2) if row.kind == "crawl"] + _heavy())

    assert cell(found, MEMORY).verdict == "regression"
    assert found.verdict == "regression"


def _heavy() -> list[Row]:
    return memory_rows("callbacks", 3000) + memory_rows("generators", 2000)


def test_less_throughput_of_a_full_core_is_a_regression() -> None:
    head = [scaled(row, "pages_per_s", 0.7) if row.kind == "crawl" else row for row in noisy_run(2)]

    one = cell(compared(noisy_run(1), head), THROUGHPUT)

    assert one.gated
    assert one.verdict == "regression"
    assert math.exp(change(one)[0]) == pytest.approx(1 / 0.7, rel=0.05)


def test_throughput_bound_by_latency_is_shown_and_not_gated() -> None:
    noise = Random(3)
    sides = [
        [
            crawl_row(
                latency="50ms", in_flight=10, number=n, pages_per_s=rate * noise.lognormvariate(0, 0.01), pages=500
            )
            for n in (1, 2, 3)
        ]
        for rate in (199.0, 100.0)
    ]

    one = cell(compared(*sides), THROUGHPUT, cap=10)

    assert not one.gated
    assert one.change is not None
    assert one.state == "not gated"
    assert one.sensitivity is not None
    assert one.sensitivity < 0.01


def test_the_mean_of_a_strategy_shows_a_change_that_is_lost_in_the_noise_of_its_cells() -> None:
    caps = tuple(range(10, 170, 10))
    base, head = (noisy_run(seed, sd=0.12, caps=caps, memory=False) for seed in (1, 2))

    found = compared(base, slowed(head, 1.3))

    assert cell(found, CPU, cap=None).verdict == "regression"
    assert any(
        one.verdict == "inconclusive"
        for one in found.compared
        if (one.key.subject, one.key.metric) == ("callbacks", CPU)
    )


def test_between_five_and_ten_percent_nothing_is_decided_unless_it_is_certain() -> None:
    base, head = noisy_run(1, sd=0.02, memory=False), slowed(noisy_run(2, sd=0.02, memory=False), 1.08)

    one = cell(compared(base, head), CPU)

    assert REGRESSION_ABOVE < change(one)[0] < PASS_BELOW
    assert one.verdict == "inconclusive"


def test_no_change_is_rarely_called_a_regression() -> None:
    false = sum(
        compared(noisy_run(2 * n, sd=0.12, memory=False), noisy_run(2 * n + 1, sd=0.12, memory=False)).verdict
        == "regression"
        for n in range(150)
    )

    assert false <= stats.binom.ppf(0.9999, 150, FAMILY)


# What forbids a verdict


def test_on_a_slower_machine_memory_has_a_verdict_and_times_have_none() -> None:
    base, head = with_ceiling(noisy_run(1), 100_000), with_ceiling(slowed(noisy_run(2), 2.0), 90_000)

    found = compared(base, head)

    assert found.control is not None
    assert found.control.moved
    assert found.verdict == "inconclusive"
    assert "the machine itself was 10 % slower" in found.why
    assert cell(found, CPU).verdict == "inconclusive"
    assert cell(found, MEMORY).verdict == "pass"


@pytest.mark.parametrize(("per_s", "moved"), [(104_900, False), (105_500, True), (95_300, False), (94_000, True)])
def test_the_control_may_move_by_five_percent(per_s: float, moved: bool) -> None:
    found = compared(with_ceiling(noisy_run(1), 100_000), with_ceiling(noisy_run(2), per_s))

    assert found.control is not None
    assert found.control.moved is moved


def test_without_a_control_there_is_still_a_verdict() -> None:
    found = compared(with_ceiling(noisy_run(1), None), with_ceiling(noisy_run(2), None))

    assert found.control is None
    assert found.verdict == "pass"


UNLIKE = MACHINE | {"cpu": "Imaginary 9001"}


def test_unlike_machines_are_judged_by_memory_only() -> None:
    machine = MACHINE | {"libc": "glibc 2.36", "machine": "x86_64"}
    found = compare(noisy_run(1), slowed(noisy_run(2), 2), machine, machine | {"cpu": "Imaginary 9001"})

    assert [one.name for one in found.unlike] == ["cpu"]
    assert found.verdict == "inconclusive"
    assert cell(found, CPU).why == "the machines differ"
    assert cell(found, MEMORY).verdict == "pass"


@pytest.mark.parametrize("key", ["system", "python", "libc"])
def test_memory_of_unlike_machines_needs_the_same_system_libc_and_python(key: str) -> None:
    machine = MACHINE | {"libc": "glibc 2.36", "machine": "x86_64"}
    found = compare(noisy_run(1), noisy_run(2), machine, machine | {"cpu": "Imaginary 9001", key: "another"})

    assert cell(found, MEMORY).verdict == "inconclusive"


def test_software_may_differ_and_is_named() -> None:
    other = MACHINE | {"python": "CPython 3.13.1", "versions": {"inflight-bench": "0.2.0"}}
    found = compare(noisy_run(1), noisy_run(2), MACHINE, other)

    assert found.verdict == "pass"
    assert {one.name for one in found.software} == {"python", "version of inflight-bench"}


@pytest.mark.parametrize(
    ("head_bytes", "same"), [(25_000_000_000, True), (25_900_000_000, True), (34_000_000_000, False)]
)
def test_memory_sizes_need_not_agree_to_the_byte(head_bytes: int, same: bool) -> None:
    found = compare(
        noisy_run(1), noisy_run(2), MACHINE | {"memory_bytes": 25_276_514_304}, MACHINE | {"memory_bytes": head_bytes}
    )

    assert (found.unlike == ()) is same


# What is missing


def test_invalid_rows_are_counted_and_excluded() -> None:
    invalid = [crawl_row(cpu_per_page_ns=9_000_000, number=4, invalid=True)]

    found = compared(noisy_run(1), noisy_run(2) + invalid)

    assert cell(found, CPU).head_invalid == 1
    assert found.head.invalid == 1
    assert found.verdict == "pass"


def test_a_cell_that_only_broke_in_head_keeps_the_comparison_from_passing() -> None:
    head = [
        changed(row, status="failed", reason="it crashed")
        if row.strategy == "callbacks" and row.kind == "crawl"
        else row
        for row in noisy_run(2)
    ]

    found = compared(noisy_run(1), head)

    assert found.verdict == "inconclusive"
    assert cell(found, CPU).why == "HEAD: no valid trial (failed)"
    assert cell(found, CPU).gated


def test_a_cell_that_was_skipped_in_both_is_reported_and_not_gated() -> None:
    skipped = [crawl_row("thread_pool", number=n, status="skipped") for n in (1, 2)]

    found = compared(noisy_run(1) + skipped, noisy_run(2) + skipped)

    assert found.verdict == "pass"
    assert cell(found, CPU, "thread_pool").why == "both: no valid trial (skipped)"
    assert found.base.skipped == 2
    assert found.base.invalid == 0


def test_cells_of_one_run_only_are_listed() -> None:
    found = compared(noisy_run(1), noisy_run(2, strategies=("callbacks", "aiohttp_client")))

    assert {(one.key.subject, one.side) for one in found.one_sided} == {
        ("generators", "BASE"),
        ("aiohttp_client", "HEAD"),
    }
    assert {one.key.subject for one in found.compared} == {"callbacks"}


def test_one_id_with_two_workloads_is_not_compared() -> None:
    base = [crawl_row(number=n) for n in (1, 2)] + noisy_run(1, caps=(10,))
    head = [crawl_row(number=n, pages=100) for n in (1, 2)] + noisy_run(2, caps=(10,))

    found = compared(base, head)

    assert {(one.key.metric, one.side) for one in found.one_sided} == {(CPU, "different"), (THROUGHPUT, "different")}


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [math.nan], [math.inf], [10**400]])
def test_a_sample_is_of_positive_numbers(values: list[float]) -> None:
    assert isinstance(sample(values), str)


def test_a_memory_slope_without_enough_sizes_on_one_side_decides_nothing() -> None:
    head = [memory_row(held=held) for held in (400, 800, 1200)] + [
        memory_row(held=held, invalid=True) for held in (1600, 2000)
    ]

    one = cell(compared(memory_rows(), head), MEMORY)

    assert one.verdict == "inconclusive"
    assert "needs 5 different numbers in flight" in one.why


def test_trials_that_both_runs_have_are_counted_and_cannot_pass() -> None:
    many = noisy_run(1)

    found = compared(many, many)

    assert found.shared_trials == len(many)
    assert found.verdict == "inconclusive"
    assert {one.why for one in found.compared} == {"compared with itself: both runs have the same trials"}


def test_a_slower_copy_is_still_a_regression() -> None:
    many = noisy_run(1)

    assert compared(many, slowed(many, 1.3)).verdict == "regression"


# What must always hold


@settings(max_examples=25, deadline=None)
@given(SEEDS, SEEDS, st.floats(0.3, 3.0), st.sampled_from([0.01, 0.1, 0.4]))
def test_swapping_the_sides_inverts_every_ratio(one: int, other: int, factor: float, sd: float) -> None:
    base, head = noisy_run(one, sd=sd), slowed(noisy_run(other, sd=sd), factor)

    there = {found.key: change(found) for found in compared(base, head).compared}
    back = {found.key: change(found) for found in compared(head, base).compared}

    assert there.keys() == back.keys()
    for key, (estimate, low, high, _) in there.items():
        assert back[key][:3] == pytest.approx((-estimate, -high, -low), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(SEEDS, SEEDS, st.floats(0.01, 100.0))
def test_scaling_both_sides_alike_changes_nothing(one: int, other: int, factor: float) -> None:
    sides = [of_rows(str(seed), noisy_run(seed), MACHINE) for seed in (one, other)]
    scaled = [
        replace(
            side,
            entries={
                key: replace(entry, figure=_scaled(entry.figure, factor)) if isinstance(entry.figure, Sample) else entry
                for key, entry in side.entries.items()
            },
        )
        for side in sides
    ]

    plain, other_unit = compare_sides(*sides), compare_sides(*scaled)

    assert plain.verdict == other_unit.verdict
    there: dict[Key, Compared] = {found.key: found for found in other_unit.compared}
    for found in plain.compared:
        assert change(there[found.key]) == pytest.approx(change(found), abs=1e-9)


def _scaled(figure: Sample, factor: float) -> Sample:
    return replace(figure, log_mean=figure.log_mean + math.log(factor))


@settings(max_examples=25, deadline=None)
@given(SEEDS, SEEDS, st.floats(0.5, 2.0))
def test_never_both_directions_are_a_regression_of_one_figure(one: int, other: int, factor: float) -> None:
    base, head = noisy_run(one, sd=0.1, memory=False), slowed(noisy_run(other, sd=0.1, memory=False), factor)

    there, back = (
        {found.key for found in result.compared if found.verdict == "regression"}
        for result in (compared(base, head), compared(head, base))
    )

    assert not there & back
