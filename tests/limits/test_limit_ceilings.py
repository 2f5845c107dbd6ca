"""From made-up facts to what each limit allows, where a ramp stops, and which limit refused."""

import tomllib
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.measure.limits import threads
from inflight.bench.measure.limits.ceilings import list_ceilings, lowest, make_figures, room, slope, table
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.limits.threads import PART_OF_SHARED, Ramp, culprit, extend, in_holes, stop
from inflight.bench.rows.kinds import RESOURCES
from tests.limits.made_machine import MIB, facts, readings

FEWER = settings(max_examples=40, deadline=None)
COUNTS = st.integers(0, 1 << 40)
GROUPS = {f"/cg/{limit.name}" for limit in table() if limit.used == "{name} used"}
LIMITS = sorted(GROUPS | {limit.name for limit in table()})
USES = sorted({limit.used for limit in table() if limit.used and "{" not in limit.used})
NEEDED_BY_NOTES = {"soft RLIMIT_NOFILE": 1, "first port": 1, "last port": 2}

CASES = tomllib.loads(Path(__file__).with_name("ceilings.toml").read_text("utf-8"))


def known(case: dict[str, Any], part: str) -> dict[str, float | None]:
    """Return the facts of a case, in which a text stands for null."""
    return {name: None if value == "unknown" else value for name, value in case.get(part, {}).items()}


@st.composite
def machines(draw: st.DrawFn) -> Facts:
    """Draw a machine of which anything may be unknown."""
    limits = draw(st.dictionaries(st.sampled_from(LIMITS), COUNTS | st.just(inf)))
    uses = draw(st.dictionaries(st.sampled_from([*USES, *(f"{group} used" for group in GROUPS)]), COUNTS))
    return {**limits, **uses, **NEEDED_BY_NOTES}


@FEWER
@given(machines(), st.sampled_from(RESOURCES))
def test_known_limits_are_ceilings_from_the_lowest_and_an_unknown_use_is_said(machine: Facts, resource: str) -> None:
    found = list_ceilings(resource, machine, readings())

    limited = {limit.name: limit for limit in table() if resource in limit.resources}
    names = [name for name in machine if name.removeprefix("/cg/") in limited and machine[name] < inf]
    assert sorted(ceiling.name for ceiling in found) == sorted(names)
    most = [ceiling.most for ceiling in found]
    assert most == sorted(most)
    assert all(number >= 0 for number in most)
    for ceiling in found:
        used = limited[ceiling.name.removeprefix("/cg/")].used
        is_unknown = used is not None and used.format(name=ceiling.name) not in machine
        assert ("the amount in use is unknown" in ceiling.evidence) is is_unknown
        assert ceiling.evidence.startswith(f"{ceiling.name} is ")
        assert ceiling.remedy


@FEWER
@given(machines(), st.integers(1, 1 << 40))
def test_a_ramp_stops_at_nine_tenths_of_what_is_shared_and_within_the_budget(machine: Facts, budget: int) -> None:
    found = list_ceilings("threads", machine, readings())

    end = stop(found, budget, 50_000, through_shared=False)

    assert end.most * 50_000 <= budget
    assert all(end.most <= 0.9 * ceiling.most for ceiling in found if ceiling.shared)
    if end.stopped_by == "shared limit":
        assert end.name in {ceiling.name for ceiling in found if ceiling.shared}
        assert "--through-shared" in end.sentence
    assert stop(found, inf, None, through_shared=True).name is None


@FEWER
@given(machines(), st.integers(1, 256))
def test_a_calibration_uses_little_of_what_is_shared(machine: Facts, cores: int) -> None:
    known = list_ceilings("threads", machine)

    for step in threads.steps(threads.allowed(known), cores):
        assert all(step <= PART_OF_SHARED * ceiling.most for ceiling in known if ceiling.shared)


@pytest.mark.parametrize("case", CASES["lowest"], ids=lambda case: case["name"])
def test_each_limit_leaves_what_is_not_in_use_and_says_so(case: dict[str, Any]) -> None:
    first = list_ceilings(case["resource"], facts(known(case, "facts")), readings())[0]

    assert (first.name, first.most, first.shared) == (case["name"], case["most"], case["shared"])
    assert case["words"] in first.evidence


def test_limits_within_one_percent_are_ambiguous_with_both_remedies_and_the_third_is_next() -> None:
    found = list_ceilings("threads", facts({"kernel.threads-max": 20_390}), readings())

    answer = make_figures(found, "predicted", [])

    assert lowest(found) == ("vm.max_map_count", "kernel.threads-max")
    assert answer["predicted_by"] == ["vm.max_map_count", "kernel.threads-max"]
    assert answer["remedy"] == "sysctl -w vm.max_map_count=120100; and sysctl -w kernel.threads-max=40780"
    assert answer["next"] == {"name": "kernel.pid_max", "most": 32_368}
    assert make_figures(found, "failure", [], 1, ("kernel.pid_max",))["bound_by"] == "kernel.pid_max"


def test_the_resources_of_experiments_are_those_of_the_table() -> None:
    assert {name for limit in table() for name in limit.resources} == set(RESOURCES)


# How a process grows


def test_within_the_calibration_the_line_between_two_readings_counts_and_beyond_it_the_last_slope() -> None:
    measured = [(n, {"maps": maps}) for n, maps in ((0, 50), (100, 550), (200, 750), (400, 1150))]

    assert slope(measured, "maps") == 2
    assert [room(measured, "maps", free) for free in (-1, 250, 600, 2100)] == [0, 50, 150, 900]
    assert slope(measured, "VmSize") is None
    assert room(measured, "one", 17) == 17


def test_threads_take_more_maps_once_the_holes_between_mappings_are_full() -> None:
    measured = [(n, {"maps": 50 + 2 * n}) for n in (0, 500, 1000)]
    steady = [(n, {"maps": 40 + 3 * n}) for n in (1500, 1600)]

    expected = extend(measured, 600, steady)

    assert room(expected, "maps", 2 * 1600) == 1600
    assert room(expected, "maps", 2 * 1600 + 3 * 400) == 2000


@pytest.mark.parametrize("steady", [[], [(n, {"maps": 40 + 2 * n}) for n in (1500, 1600)]])
def test_where_they_take_no_more_nothing_is_added(steady: list[tuple[int, Facts]]) -> None:
    assert extend(readings(2), 600, steady) == readings(2)


def test_frames_find_room_in_holes_in_which_no_stack_fits() -> None:
    maps = "0-1000 r\n2000-3000 r\n803000-804000 r\n80e000-80f000 r\n813000-814000 r\n"  # 4, 8192, 40 and 16 KiB

    assert in_holes(maps, stack_bytes=8 * MIB) == 2 + 1


# Which limit refused


@pytest.mark.parametrize("case", CASES["refused"])
def test_the_full_limit_that_fits_the_symptoms_is_named(case: dict[str, Any]) -> None:
    end = Ramp(20_000, "failure", symptoms=case["symptoms"])

    before, after = (facts(known(case, moment)) for moment in ("before", "after"))
    assert sorted(culprit(before, after, readings(), end)) == case["names"]
