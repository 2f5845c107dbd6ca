"""Which limit refused, from made-up failures."""

import pytest

from inflight.bench.measure.limits import diagnose
from inflight.bench.measure.limits.bounds import bounds
from inflight.bench.measure.limits.facts import Facts, Quota
from inflight.bench.measure.limits.finding import Stop, bound_by, remedy, stopped_by, why
from inflight.bench.measure.limits.resources import descriptors_culprit, in_bytes, memory_culprit
from inflight.bench.measure.limits.threads import full_bounds
from inflight.bench.measure.limits.watch import Ramp, thinned
from tests.limits.made_machine import MIB, facts, process, readings

OK = {"page": "ok", "stack": "ok", "process": "ok"}
NO_MAP = OK | {"page": "ENOMEM", "stack": "ENOMEM"}
NO_STACK = OK | {"stack": "ENOMEM"}
NO_TASK = OK | {"process": "EAGAIN"}


def culprit(at_the_failure: Facts, symptoms: dict[str, str], before: Facts | None = None) -> tuple[str, ...]:
    return diagnose.culprit(full_bounds(before or facts(), at_the_failure), readings(), symptoms)


def test_a_full_table_of_maps_is_named() -> None:
    assert culprit(facts(process=process(maps=60_050)), NO_MAP) == ("vm.max_map_count",)


def test_no_task_left_is_named_even_where_maps_are_nearly_full_too() -> None:
    both = facts(process=process(maps=60_000), tasks=32_568, low_tasks=100)

    assert culprit(both, NO_TASK) == ("kernel.pid_max",)
    assert culprit(both, NO_MAP) == ("vm.max_map_count",)
    assert culprit(both, OK) == ("vm.max_map_count", "kernel.pid_max")


def test_two_limits_on_tasks_that_are_both_full_are_ambiguous() -> None:
    both = facts(tasks=32_568, sysctls={"kernel.pid_max": 32_768, "kernel.threads-max": 32_600})

    assert culprit(both, NO_TASK) == ("kernel.pid_max", "kernel.threads-max")


def test_a_group_that_counted_a_refusal_meanwhile_is_named_whatever_else_is_full() -> None:
    before, after = (Quota("tasks", "/cg/pids.max", 30_000, used, refused) for used, refused in ((60, 4), (29_000, 5)))

    full = facts(quotas=(after,), tasks=32_568)

    assert culprit(full, NO_TASK, facts(quotas=(before,))) == ("/cg/pids.max",)
    assert culprit(full, NO_TASK, facts(quotas=(after,))) == ("kernel.pid_max",)


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_stack_that_does_not_fit_means_address_space(name: str) -> None:
    full = facts(
        process=process(vm_bytes=995 * MIB, data_bytes=995 * MIB, maps=60_050),
        rlimits={name: (1000 * MIB, 1000 * MIB)},
    )

    assert culprit(full, NO_STACK) == (name,)


def test_where_nothing_known_is_full_no_limit_is_blamed() -> None:
    assert culprit(facts(), NO_TASK) == ()
    assert culprit(facts(process=process(maps=None)), NO_MAP) == ()


def test_the_errno_tells_the_limit_of_a_process_from_that_of_the_system() -> None:
    full = facts(
        process=process(descriptors=1024),
        rlimits={"RLIMIT_NOFILE": (1024, 1024)},
        sysctls={"fs.file-max": 5000},
        open_files=5000,
    )

    assert descriptors_culprit(bounds("descriptors", full), "EMFILE") == ("RLIMIT_NOFILE",)
    assert descriptors_culprit(bounds("descriptors", full), "ENFILE") == ("fs.file-max",)
    assert descriptors_culprit(bounds("descriptors", facts()), "EMFILE") == ()


def test_memory_is_refused_by_a_limit_that_the_next_piece_would_pass() -> None:
    full = facts(process=process(vm_bytes=64 * MIB - 500_000), rlimits={"RLIMIT_AS": (64 * MIB, 64 * MIB)})

    assert memory_culprit(in_bytes(full)) == ("RLIMIT_AS",)
    assert memory_culprit(in_bytes(facts())) == ()


@pytest.mark.parametrize(
    ("ramp", "by", "names", "words"),
    [
        (Ramp(90, "reached", 1), "shared limit", ("kernel.pid_max",), "stopped by itself"),
        (
            Ramp(70, "failure", 1, "RuntimeError: no", "EAGAIN"),
            "failure",
            ("culprit",),
            "refused: RuntimeError: no (EAGAIN)",
        ),
        (Ramp(70, "died", 1, "was killed by signal 9"), "died", (), "killed by signal 9"),
        (Ramp(50, "deadline", 1), "deadline", (), "the deadline had passed"),
        (Ramp(50, "memory budget", 1), "memory budget", (), "too little memory"),
    ],
)
def test_every_end_of_a_ramp_has_its_limits_and_its_sentence(
    ramp: Ramp, by: str, names: tuple[str, ...], words: str
) -> None:
    end = Stop(90, "shared limit", "stopped by itself at 90", "kernel.pid_max")

    assert stopped_by(ramp, end) == by
    assert bound_by(ramp, end, ("culprit",)) == names
    assert words in why(ramp, end, "threads")


def test_the_remedy_of_an_ambiguous_limit_is_that_of_both() -> None:
    from inflight.bench.measure.limits.ceilings import ceilings

    found = ceilings(bounds("threads", facts()), readings())

    assert remedy(found, ("vm.max_map_count", "kernel.threads-max")) == (
        "sysctl -w vm.max_map_count=120100; and sysctl -w kernel.threads-max=400000"
    )
    assert remedy(found, ()) is None


def test_a_long_timeline_keeps_its_ends_and_its_order() -> None:
    points = [(n * 1000, n) for n in range(12_345)]

    thin = thinned(points, 500)

    assert len(thin) == 500
    assert (thin[0], thin[-1]) == (points[0], points[-1])
    assert list(thin) == sorted(thin)
    assert thinned(points[:3]) == tuple(points[:3])
