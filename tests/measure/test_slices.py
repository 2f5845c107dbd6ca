"""The length of slices, and the pages of a lap."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from inflight import strategies
from inflight.bench.measure import process
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks.block import (
    MAX_ROUND_NS,
    MIN_CYCLES,
    MS,
    PAGES,
    Running,
    cycles_within_budget,
    lengths,
)
from inflight.bench.plan.comparison import comparison
from inflight.bench.plan.experiment import load, preset_names
from inflight.bench.plan.grid import endless
from inflight.bench.plan.trial import LATENCIES, Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import Arm
from inflight.fake_server.site import SiteConfig

COSTS_NS = st.floats(5_000, 300 * MS)
CAPS = st.integers(1, 2000)
QUICK = Path(__file__).parents[2] / "results/reference/20261124T142008068Z-vm-quick"
"""A run whose windows at 10 ms with 1 in flight were of 200 ms, with 19 pages, or of 400 ms."""
LATENCIES_NS = st.sampled_from([0, MS, 10 * MS, 50 * MS, 200 * MS])


@given(COSTS_NS, CAPS, LATENCIES_NS, st.sampled_from([0, 0.1, 0.9, 1.0]), st.booleans())
def test_a_window_has_twenty_pages_twenty_latencies_and_two_rounds_of_cpu_work(
    cost_ns: float, in_flight: int, latency_ns: int, worked: float, threads: bool
) -> None:
    found = lengths(cost_ns, in_flight, latency_ns, worked * cost_ns, threads=threads)

    page_ns = max(cost_ns, (latency_ns + cost_ns) / in_flight)
    assert found.window_ns >= PAGES * page_ns - 1
    assert found.window_ns >= LATENCIES * latency_ns
    assert found.window_ns >= 2 * in_flight * worked * cost_ns - 1


def test_a_window_with_one_in_flight_has_twenty_whole_fetches_without_an_extension() -> None:
    every = [row for row in rows.read(QUICK) if row.kind == "arm" and row.workload.latency == "10ms"]
    arms = [row for row in every if row.workload.in_flight == 1]
    windows = [window for row in arms for window in row.measured.windows]
    assert {round(window.wall_ns / 200 / MS) for window in windows} == {1, 2}

    lengths_ns = {
        lengths(
            row.measured.cpu_per_page_ns,
            1,
            10 * MS,
            0,
            threads=False,
        ).window_ns
        for row in arms
    }

    assert len(lengths_ns) == 1
    page_ns = max(window.wall_ns / window.pages for window in windows)
    assert min(lengths_ns) / page_ns >= PAGES + 1, "the begin of the window cuts one"


@given(COSTS_NS, CAPS, LATENCIES_NS, st.floats(0, 20 * MS), st.booleans())
def test_settling_is_bounded_by_the_latency_and_a_round_of_cpu_work(
    cost_ns: float, in_flight: int, latency_ns: int, work_ns: float, threads: bool
) -> None:
    found = lengths(cost_ns + work_ns, in_flight, latency_ns, work_ns, threads=threads)

    assert 1.5 * latency_ns <= found.settle_ns <= 250 * MS + 1.5 * latency_ns + in_flight * work_ns
    assert found.jitter_ns <= 100 * MS + in_flight * work_ns


@given(COSTS_NS, CAPS)
def test_a_window_of_an_event_loop_has_a_whole_round_unless_that_takes_seconds(cost_ns: float, in_flight: int) -> None:
    loop, threads = (lengths(cost_ns, in_flight, 0, 0, threads=many) for many in (False, True))

    assert loop.window_ns >= min(in_flight * cost_ns, MAX_ROUND_NS) - 1
    assert threads.window_ns <= max(500 * MS, PAGES * cost_ns + 1)


@pytest.mark.parametrize(
    ("in_flight", "cpu_ns", "lap"),
    [
        (1, 0, 1000),
        (1000, 0, 1000),
        (1001, 0, 10_000),
        (100, MS, 100),
        (10, 10 * MS, 10),
        (1000, 10 * MS, 1000),
    ],
)
def test_a_lap_has_room_for_all_that_is_in_flight_and_little_cpu_work(in_flight: int, cpu_ns: int, lap: int) -> None:
    site = endless(SiteConfig(links=10), in_flight, cpu_ns)

    assert (site.pages, site.endless) == (lap, True)


def warmed_up(block: Trial, cost_ns: float) -> list[Running]:
    """Return the arms of a block after its warm-up: pages cost this, and 1 ms with very many threads."""
    arms = [Running(arm, block.models[arm.name], process.DEFAULT, port=1) for arm in block.arms]
    for running in arms:
        is_crowd = running.model.threads_each and running.cap >= 1000
        running.cost_ns = (MS if is_crowd else cost_ns) + 1.3 * block.workload.cpu_ns
    return arms


def blocks_of(preset: str) -> list[Trial]:
    trials = runs.all_trials(load(preset, strategies.names()))
    return [trial for trial in trials if trial.is_block]


@pytest.mark.parametrize("cost_ns", [15_000, 100_000, 300_000])
@pytest.mark.parametrize("preset", preset_names())
def test_a_block_of_a_preset_has_all_its_cycles_with_pages_of_usual_cost(preset: str, cost_ns: int) -> None:
    for block in blocks_of(preset):
        assert cycles_within_budget(warmed_up(block, cost_ns), block) == block.cycles, block.id


def test_a_block_has_fewer_cycles_if_a_client_is_expensive_but_never_fewer_than_two() -> None:
    block = next(block for block in blocks_of("quick") if block.workload.latency == "0")
    arms = warmed_up(block, 30_000)
    counts = []
    for cost_ns in (2 * MS, 6 * MS, 13 * MS, 300 * MS):
        arms[-1].cost_ns = cost_ns
        counts.append(cycles_within_budget(arms, block))

    assert block.cycles == counts[0] > counts[1] > counts[2] > counts[3] == MIN_CYCLES
    assert cycles_within_budget(arms, replace(block, cycles=1)) == 1
    arms[-1].failure = OSError()
    assert cycles_within_budget(arms, block) == block.cycles, "it takes no more part"
    arms = [replace(running, failure=OSError()) for running in arms]
    assert cycles_within_budget(arms, block) == block.cycles, "nothing is left"


def test_all_cycles_are_run_where_cost_is_not_that_of_pages_and_in_comparisons() -> None:
    block = next(block for block in blocks_of("quick") if block.workload.latency == "0")
    arms = warmed_up(block, 300 * MS)
    for settings in ({"lag": True}, {"busy_threads": 1}):
        other = [replace(running, arm=structs.replace(running.arm, **settings)) for running in arms]
        assert cycles_within_budget(other, block) == block.cycles

    models = {name: strategies.describe("callbacks") for name in ("A", "B", "A again")}
    of_ab = comparison(Arm("A", "callbacks", "reference"), Arm("B", "callbacks", "compared"), SiteConfig())
    block = replace(of_ab.block(1), models=models)
    assert cycles_within_budget(warmed_up(block, 300 * MS), block) == block.cycles
