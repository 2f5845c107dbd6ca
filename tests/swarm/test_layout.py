"""The layout of a swarm: which pages each process has, and which limit makes it smaller."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight import strategies
from inflight.bench.commands.swarm import plan_lines
from inflight.bench.measure.swarm.layout import (
    DESCRIPTOR_PART,
    DESTINATION_PART,
    MAX_PORTS_EACH,
    MEMORY_PART,
    Allowances,
    LayoutError,
    Resource,
    allowances,
    bytes_each,
    layout,
)

CALLBACKS, THREADS, SEQUENTIAL = map(strategies.describe, ("callbacks", "thread_pool", "sequential"))
USUAL = Allowances(20_000, 28_232, None, (), 200 << 30, 2)
FREE = Allowances(None, None, None, (), None, 2)
PID_MAX = Resource("kernel.pid_max", 29_000)
MAPS = Resource("vm.max_map_count", 21_000)
THREADED = replace(USUAL, threads=MAPS, together=(PID_MAX,))

LIMITS = st.builds(
    Allowances,
    descriptors=st.none() | st.integers(100, 1 << 20),
    ports=st.none() | st.integers(10, 64_000),
    threads=st.none() | st.builds(Resource, st.just("vm.max_map_count"), st.integers(100, 1 << 16)),
    together=st.lists(
        st.builds(
            Resource,
            st.sampled_from(["fs.file-max", "kernel.pid_max"]),
            st.integers(1000, 1 << 24),
            st.just(2),
        )
    ).map(tuple),
    memory_bytes=st.none() | st.integers(200_000_000, 1 << 36),
    cores=st.integers(1, 64),
)
ASKED = st.integers(1, 3_000_000)
MODELS = st.sampled_from([CALLBACKS, THREADS])


@given(ASKED, LIMITS, MODELS)
@settings(deadline=None, max_examples=60)
def test_the_shares_are_all_pages_once_and_exceed_no_limit_and_less_than_was_asked_for_names_its_limit(
    asked: int, allowed: Allowances, model: strategies.Description
) -> None:
    planned = layout(asked, allowed, strategy=model)

    counts = [share.count for share in planned.shares]
    assert [share.index for share in planned.shares] == [*range(len(counts))]
    assert [share.first for share in planned.shares] == [sum(counts[:n]) for n in range(len(counts))]
    assert sum(counts) == planned.in_flight <= planned.asked == asked
    assert 1 <= min(counts) >= max(counts) - 1, "they differ by one at most"
    most = counts[0]
    assert allowed.descriptors is None or most <= DESCRIPTOR_PART * allowed.descriptors
    assert 1 <= planned.ports_each <= MAX_PORTS_EACH
    assert allowed.ports is None or -(-most // planned.ports_each) <= DESTINATION_PART * allowed.ports
    assert allowed.memory_bytes is None or planned.memory_bytes <= MEMORY_PART * allowed.memory_bytes
    assert all(2 * planned.in_flight + len(counts) <= common.max for common in allowed.together)
    assert allowed.threads is None or most < allowed.threads.max
    assert (planned.bound_by is None) == (planned.in_flight == asked)
    if planned.bound_by is not None:
        assert planned.bound_by.allows == planned.in_flight
        for figure in (planned.bound_by.name, f"{planned.in_flight:,}"):
            assert figure in planned.bound_by.sentence
        assert layout(planned.in_flight, allowed, strategy=model).bound_by is None
        assert layout(planned.in_flight + 1, allowed, strategy=model).in_flight == planned.in_flight, "one too many"


def test_descriptors_decide_the_number_of_processes_of_a_million_callbacks() -> None:
    planned = layout(1_000_000, USUAL, strategy=CALLBACKS)

    assert (planned.in_flight, len(planned.shares), planned.ports_each, planned.bound_by) == (1_000_000, 53, 4, None)


def test_a_shared_limit_on_threads_bounds_a_strategy_of_threads() -> None:
    planned = layout(100_000, THREADED, strategy=THREADS)

    assert planned.bound_by is not None
    assert planned.bound_by.name == "kernel.pid_max"
    assert 28_900 < planned.in_flight < 29_000
    assert len(planned.shares) == 8, "more threads in a process slow each other down"


def test_two_cores_get_two_processes_from_a_size_on() -> None:
    counts = [len(layout(n, USUAL, strategy=CALLBACKS).shares) for n in (1, 1_999, 2_000, 30_000)]

    assert counts == [1, 1, 2, 2]
    assert len(layout(19_000, replace(USUAL, cores=1), strategy=CALLBACKS).shares) == 1


def test_memory_that_binds_is_named_with_its_figures() -> None:
    planned = layout(1_000_000, replace(USUAL, memory_bytes=2_000_000_000), strategy=CALLBACKS)

    assert planned.bound_by is not None
    assert planned.bound_by.name == "memory"
    assert planned.in_flight < 2_000_000_000 / bytes_each(CALLBACKS)
    assert "2,000 MB" in planned.bound_by.sentence


@pytest.mark.parametrize(
    ("asked", "allowed", "model", "processes", "figures"),
    [
        (10, USUAL, SEQUENTIAL, None, ["sequential", "only 1 in flight"]),
        (10, replace(USUAL, ports=3), CALLBACKS, None, ["3 client ports", "net.ipv4.ip_local_port_range"]),
        (30_000, USUAL, CALLBACKS, 1, ["at most 19,000 of 30,000", "ulimit -Hn", "at least 2"]),
        (3, USUAL, CALLBACKS, 5, ["5 processes", "3 fetches"]),
        (10, replace(USUAL, memory_bytes=1_000_000), CALLBACKS, None, ["callbacks", "memory allows callbacks 0"]),
        (
            10,
            replace(USUAL, together=(replace(PID_MAX, max=60),)),
            THREADS,
            None,
            ["kernel.pid_max allows thread_pool 0"],
        ),
        (10, replace(USUAL, threads=replace(MAPS, max=3)), THREADS, None, ["thread_pool", "vm.max_map_count"]),
    ],
)
def test_an_impossible_layout_is_refused_in_one_sentence(
    asked: int, allowed: Allowances, model: strategies.Description, processes: int | None, figures: list[str]
) -> None:
    with pytest.raises(LayoutError) as refused:
        layout(asked, allowed, strategy=model, processes=processes)

    assert [figure for figure in figures if figure not in str(refused.value)] == []
    assert "\n" not in str(refused.value)


def test_without_limits_two_processes_are_enough() -> None:
    assert len(layout(500_000, FREE, strategy=CALLBACKS).shares) == 2


def test_this_machine_allows_something() -> None:
    here = allowances(CALLBACKS)

    assert layout(10, here, strategy=CALLBACKS).in_flight == 10
    assert here.memory_bytes is None or here.memory_bytes > 0
    assert allowances(CALLBACKS, 5_000_000).memory_bytes == 5_000_000
    assert json.loads(json.dumps(asdict(here)))["cores"] >= 1
    assert allowances(THREADS).threads is not None


@given(ASKED, LIMITS, MODELS)
@settings(deadline=None, max_examples=60)
def test_a_plan_has_a_line_for_each_resource_and_the_limit_that_binds(
    asked: int, allowed: Allowances, model: strategies.Description
) -> None:
    planned = layout(asked, allowed, strategy=model)

    lines = list(plan_lines(planned, allowed, model))

    assert any(line.startswith(f"{len(planned.shares)} strategy process") for line in lines)
    for common in allowed.together:
        assert any(line.startswith(common.name) and line.endswith(f"{common.max:,}") for line in lines)
    bound = planned.bound_by
    assert lines[-1] == ("No limit of this machine binds." if bound is None else f"A limit binds: {bound.sentence}.")
