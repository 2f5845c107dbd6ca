"""Predictions: from made-up facts to what each limit allows, the lowest first."""

from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.measure.limits import growth
from inflight.bench.measure.limits.bounds import CAP_SYS_ADMIN, CAP_SYS_RESOURCE, RESOURCES, bounds
from inflight.bench.measure.limits.ceilings import Ceiling, ceilings, following, lowest, polite
from inflight.bench.measure.limits.facts import Facts, Quota
from inflight.bench.measure.limits.finding import Finding, stop
from inflight.bench.measure.limits.threads import PART_OF_SHARED, allowed, steps
from tests.limits.made_machine import GIB, MIB, facts, process, readings

FEWER = settings(max_examples=40, deadline=None)
COUNTS = st.integers(0, 1 << 40)
MAYBE = st.none() | COUNTS
LIMITS = st.tuples(COUNTS | st.just(inf), COUNTS | st.just(inf))
SYSCTLS = (
    "vm.max_map_count", "kernel.pid_max", "kernel.threads-max", "fs.file-max", "fs.nr_open", "net.core.somaxconn",
    "vm.overcommit_memory", "kern.num_taskthreads", "net.netfilter.nf_conntrack_max",
)  # fmt: skip
RLIMITS = ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_DATA")


@st.composite
def machines(draw: st.DrawFn) -> Facts:
    """Draw a machine of which anything may be unknown."""
    quota = st.builds(
        Quota,
        st.sampled_from(["tasks", "memory"]),
        st.sampled_from(["/cg/a", "/cg/b"]),
        COUNTS | st.just(inf),
        MAYBE,
        MAYBE,
    )
    return Facts(
        process=process(
            maps=draw(MAYBE), descriptors=draw(MAYBE), vm_bytes=draw(MAYBE), data_bytes=draw(MAYBE),
            uid=draw(st.sampled_from([None, 0, 1000])), capabilities=draw(MAYBE),
        ),
        sysctls=draw(st.dictionaries(st.sampled_from(SYSCTLS), COUNTS)),
        rlimits=draw(st.dictionaries(st.sampled_from(RLIMITS), LIMITS)),
        memory=draw(st.dictionaries(st.sampled_from(["MemAvailable", "CommitLimit", "Committed_AS"]), COUNTS)),
        quotas=tuple(draw(st.lists(quota, max_size=3))),
        tasks=draw(MAYBE),
        low_tasks=draw(MAYBE),
        user_tasks=draw(MAYBE),
        open_files=draw(MAYBE),
    )  # fmt: skip


def predicted(machine: Facts, resource: str = "threads") -> list[Ceiling]:
    return ceilings(bounds(resource, machine), readings())


def names(machine: Facts, resource: str = "threads") -> list[str]:
    return [ceiling.name for ceiling in predicted(machine, resource)]


@FEWER
@given(machines(), st.sampled_from(RESOURCES))
def test_the_lowest_ceiling_is_first_and_none_is_below_zero(machine: Facts, resource: str) -> None:
    most = [ceiling.most for ceiling in predicted(machine, resource)]

    assert most == sorted(most)
    assert all(number >= 0 for number in most)


@FEWER
@given(machines(), st.sampled_from(RESOURCES))
def test_what_is_unknown_or_unlimited_is_no_ceiling(machine: Facts, resource: str) -> None:
    known = {*machine.sysctls, *machine.rlimits, *machine.memory, *(quota.file for quota in machine.quotas)}

    for bound in bounds(resource, machine):
        assert bound.name in known | {"listen(2) backlog"}
        assert bound.limit < inf


@FEWER
@given(machines(), st.sampled_from(RESOURCES))
def test_an_unknown_use_is_said_and_never_makes_a_limit_lower(machine: Facts, resource: str) -> None:
    for bound in bounds(resource, machine):
        if bound.used is None:
            assert "unknown" in bound.sentence
            found = ceilings([bound], readings())
            assert not found or bound.costs != "one" or found[0].most == bound.limit


@FEWER
@given(machines(), st.sampled_from(RESOURCES), st.integers(1, 1 << 40))
def test_a_ramp_stops_by_itself_at_nine_tenths_of_what_is_shared_and_within_the_budget(
    machine: Facts, resource: str, budget_bytes: int
) -> None:
    found = predicted(machine, resource)

    end = stop(found, budget_bytes, 50_000, through_shared=False)

    assert end.most * 50_000 <= budget_bytes
    assert all(end.most <= 0.9 * ceiling.most for ceiling in found if ceiling.shared)
    if end.why == "shared limit":
        assert end.name in {ceiling.name for ceiling in found if ceiling.shared}
        assert "--through-shared" in end.sentence


@FEWER
@given(machines(), st.integers(1, 256))
def test_a_calibration_takes_little_of_what_is_shared(machine: Facts, cores: int) -> None:
    known = bounds("threads", machine)

    for step in steps(allowed(known), cores):
        for bound in known:
            if bound.shared and bound.costs == "one":
                assert step <= PART_OF_SHARED * (bound.limit - (bound.used or 0))


def test_the_first_maps_then_the_process_ids() -> None:
    first, second, *_ = predicted(facts())

    assert (first.name, first.most, first.shared) == ("vm.max_map_count", 20_000, False)
    assert "each further thread takes 3.00 maps" in first.evidence
    assert first.remedy == "sysctl -w vm.max_map_count=120100"
    assert (second.name, second.most, second.shared) == ("kernel.pid_max", 32_768 - 300 - 100, True)
    assert lowest([first, second]) == ("vm.max_map_count",)


def test_two_limits_within_one_percent_are_ambiguous_and_the_third_is_next() -> None:
    found = predicted(
        facts(sysctls={"vm.max_map_count": 60_050, "kernel.threads-max": 20_390, "kernel.pid_max": 32_768})
    )

    assert lowest(found) == ("vm.max_map_count", "kernel.threads-max")
    answer = Finding(found, 1, ("kernel.pid_max",), "failure", []).to_dict()
    assert answer["predicted_by"] == ["vm.max_map_count", "kernel.threads-max"]
    assert answer["bound_by"] == "kernel.pid_max"
    after = following(found, lowest(found))
    assert after is not None
    assert after.name == "kernel.pid_max"


def test_with_no_limit_known_nothing_is_predicted() -> None:
    assert lowest([]) == ()
    assert following([], ()) is None
    assert polite([]) is None
    assert Finding([], None, (), "not tried", []).to_dict()["predicted_by"] is None


@pytest.mark.parametrize(
    ("changes", "binds"),
    [
        ({}, True),
        ({"uid": 0}, False),
        ({"capabilities": CAP_SYS_RESOURCE}, False),
        ({"capabilities": CAP_SYS_ADMIN}, False),
        ({"uid": 0, "in_first_user_namespace": False}, True),
        ({"uid": 0, "in_first_user_namespace": None}, True),
    ],
)
def test_the_limit_of_a_users_tasks_does_not_bind_root_or_the_capable(changes: dict[str, Any], binds: bool) -> None:
    machine = facts(process=process(**changes), rlimits={"RLIMIT_NPROC": (100, 100)})

    assert ("RLIMIT_NPROC" in names(machine)) is binds
    assert not binds or predicted(machine)[0].most == 60


def test_the_table_of_open_files_does_not_bind_who_may_exceed_it() -> None:
    sysctls = {"fs.file-max": 5000}

    assert "fs.file-max" in names(facts(sysctls=sysctls, open_files=1000), "descriptors")
    assert names(facts(sysctls=sysctls, process=process(capabilities=CAP_SYS_ADMIN)), "descriptors") == []


def test_address_space_counts_what_is_mapped_and_data_what_is_private() -> None:
    machine = facts(rlimits={"RLIMIT_AS": (20 * MIB + 800 * MIB, inf), "RLIMIT_DATA": (5 * MIB + 400 * MIB, inf)})

    assert [(ceiling.name, ceiling.most) for ceiling in predicted(machine)[:2]] == [
        ("RLIMIT_DATA", 50),
        ("RLIMIT_AS", 100),
    ]


def test_commit_binds_only_where_overcommit_is_forbidden() -> None:
    memory = {"CommitLimit": 10 * GIB, "Committed_AS": 2 * GIB}

    for mode, there in ((0, False), (1, False), (2, True)):
        assert ("CommitLimit" in names(facts(sysctls={"vm.overcommit_memory": mode}, memory=memory))) is there


def test_each_group_on_the_way_up_is_a_limit() -> None:
    quotas = (
        Quota("tasks", "/cg/app/pids.max", inf, 5, 0),
        Quota("tasks", "/cg/pids.max", 300, 60, 4),
        Quota("memory", "/cg/memory.max", 100_000_000, 50_000_000, None),
    )
    machine = facts(quotas=quotas)

    assert [(c.name, c.most, c.shared) for c in predicted(machine)[:2]] == [
        ("/cg/pids.max", 240, True),
        ("/cg/memory.max", 1000, True),
    ]
    assert "4 refusals counted" in predicted(machine)[0].evidence


def test_ports_are_those_of_the_range_that_are_neither_reserved_nor_taken_everywhere() -> None:
    machine = facts(
        port_range=(32_768, 60_999),
        reserved_ports=frozenset({80, 40_000, 40_001}),
        ports_bound_to_all=frozenset({22, 40_000, 50_000}),
    )

    (range_,) = predicted(machine, "ports")

    assert (range_.most, range_.shared) == (28_232 - 2 - 1, True)


def test_one_more_than_the_limit_of_a_queue_fits() -> None:
    first, *_ = predicted(facts(sysctls={"net.core.somaxconn": 4096}), "backlog")

    assert (first.name, first.most) == ("net.core.somaxconn", 4097)
    assert "net.core.somaxconn is 4,096 connections" in first.evidence


def test_only_the_hard_limit_of_descriptors_counts_and_the_soft_one_is_told() -> None:
    first, *_ = predicted(facts(rlimits={"RLIMIT_NOFILE": (1024, 524_288)}), "descriptors")

    assert first.most == 524_288 - 10
    assert "the soft limit is 1,024 descriptors" in first.evidence


# How a process grows


def test_within_the_calibration_the_line_between_two_readings_counts_and_beyond_it_the_last_slope() -> None:
    measured = [growth.Reading(n, maps, None, None, None) for n, maps in ((0, 50), (100, 550), (200, 750), (400, 1150))]

    assert growth.each(measured, "maps") == 2
    assert growth.room(measured, "maps", 250) == 50
    assert growth.room(measured, "maps", 600) == 150
    assert growth.room(measured, "maps", 2100) == 900
    assert growth.room(measured, "vm_bytes", 1000) is None
    assert growth.room(measured, "one", 17) == 17


def test_threads_take_more_maps_once_the_holes_between_mappings_are_full() -> None:
    measured = [growth.Reading(n, 50 + 2 * n, None, None, None) for n in (0, 500, 1000)]
    steady = [growth.Reading(n, 40 + 3 * n, None, None, None) for n in (1500, 1600)]

    expected = growth.beyond(measured, 600, steady)

    assert growth.room(expected, "maps", 2 * 1600) == 1600
    assert growth.room(expected, "maps", 2 * 1600 + 3 * 400) == 2000


@pytest.mark.parametrize("steady", [[], [growth.Reading(n, 40 + 2 * n, None, None, None) for n in (1500, 1600)]])
def test_where_they_take_no_more_nothing_is_added(steady: list[growth.Reading]) -> None:
    assert growth.beyond(readings(2), 600, steady) == readings(2)


def test_frames_find_room_in_holes_in_which_no_stack_fits() -> None:
    assert growth.in_holes([8 * MIB, 40 * 1024, 16 * 1024, 4096], stack_bytes=8 * MIB) == 2 + 1
