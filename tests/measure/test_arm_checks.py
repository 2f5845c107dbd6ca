"""Each check of an arm fails on its own figures."""

import copy
from typing import Any

import pytest

from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks.block import MS
from inflight.bench.measure.blocks.run import CHECKS
from inflight.bench.measure.checks import judge
from inflight.bench.measure.trial import Observation
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import ThroughputTable
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.rows.files import Check

WANTED = {"strategy": "callbacks", "cpus": [1], "variables": {}}
GOOD = Observation(
    measured={
        "pages": 9000, "failed_pages": 0, "tries": 9000, "requests": 9000, "peak_in_flight": 100,
        "held_in_flight": 100, "pages_per_s": 10_000.0, "listen_drops": 0, "worked_pages": 9000, "work_ns": MS,
        "hole_ns": 3000 * MS, "cpu_per_page_ns": MS,
    },
    server={"lateness_max_ns": 1000 * MS},
    knobs=dict(WANTED),
    wanted=WANTED,
    outcome={"asked": 100, "usual_ns": 100 * MS},
)  # fmt: skip


def trial_of(cpu: str) -> Trial:
    """Return an arm of a block whose site lets a fetch wait for a second."""
    table = ThroughputTable(latency=("1s",), cpu=(cpu,))
    experiment = Experiment(name="x", strategies=("callbacks",), throughput=(table,))
    (block,) = runs.all_trials(experiment)
    return row_trials(block)[0]


def checks(wrong: str | None = None, cpu: str = "1ms", **changes: dict[str, Any]) -> tuple[Check, ...]:
    """Return the checks of a good arm with changes."""
    seen = copy.deepcopy(GOOD)
    seen.wrong = wrong
    for part, values in changes.items():
        getattr(seen, part).update(values)
    return judge(CHECKS, trial_of(cpu), seen)


def measured(**other: Any) -> dict[str, Any]:
    return {"measured": other}


FAILED = [
    ("answer correct", {"wrong": "1 of 10 pages are missing"}, "1 of 10 pages are missing"),
    ("no unexpected failures", measured(failed_pages=2), "2 pages failed"),
    (
        "cap reached, never exceeded",
        measured(peak_in_flight=101),
        "cap 100, most in flight: client 101, held by the gate 100",
    ),
    (
        "cap reached, never exceeded",
        measured(peak_in_flight=99),
        "cap 100, most in flight: client 99, held by the gate 100",
    ),
    (
        "cap reached, never exceeded",
        measured(held_in_flight=99),
        "cap 100, most in flight: client 100, held by the gate 99",
    ),
    ("no hole", measured(hole_ns=3000 * MS + 1), "no fetch ended for 3.00 s, a response was 1.00 s late, limit 3.00 s"),
    ("no hole", {"server": {"lateness_max_ns": 3000 * MS + 1}}, "a response was 3.00 s late, limit 3.00 s"),
    (
        "cap reached, never exceeded",
        measured(held_in_flight=11, reached_in_flight=10),
        "reached 10 of 100, most in flight: client 100, held by the gate 11",
    ),
    (
        "cap reached, never exceeded",
        measured(peak_in_flight=101, held_in_flight=10, reached_in_flight=10),
        "reached 10 of 100, most in flight: client 101, held by the gate 10",
    ),
    ("requests counted alike", measured(requests=9001), "client sent 9000, server received 9001"),
    ("requests counted alike", measured(tries=9001), "client sent 9001, server received 9000"),
    (
        "settings applied",
        {"knobs": {"cpus": [0, 1]}},
        "cpus: wanted [1], got [0, 1]",
    ),
    ("CPU work done", measured(worked_pages=8999), "done for 8999 of 9000 pages"),
]


def test_an_arm_with_good_figures_has_no_invalid_check() -> None:
    found = checks()

    assert {one.name: one.verdict for one in found} == dict.fromkeys(CHECKS, "passed")


def test_an_arm_whose_client_has_a_limit_of_its_own_is_valid_and_says_what_it_reached() -> None:
    found = checks(**measured(held_in_flight=10, reached_in_flight=10))

    assert {one.verdict for one in found} == {"passed"}
    assert "reached 10 of 100, most in flight: client 100, held by the gate 10" in {one.detail for one in found}


@pytest.mark.parametrize(("name", "changes", "words"), FAILED)
def test_each_check_fails_on_its_own_figures_and_reports_them(name: str, changes: dict[str, Any], words: str) -> None:
    invalid = [one for one in checks(**changes) if one.verdict == "failed"]

    assert [one.name for one in invalid] == [name]
    assert words in invalid[0].detail


def test_each_check_failed_once() -> None:
    assert {name for name, _, _ in FAILED} == set(CHECKS)


def test_unused_checks_are_not_applicable() -> None:
    found = {one.name: one.verdict for one in checks(cpu="0")}

    assert {name for name, verdict in found.items() if verdict == "not applicable"} == {"CPU work done"}


@pytest.mark.parametrize(("late_ns", "is_outside"), [(0, None), (1999 * MS, None), (2000 * MS, True)])
def test_a_hole_is_outside_only_if_the_server_was_late_for_half_of_it(late_ns: int, is_outside: bool | None) -> None:
    found = checks(measured={"hole_ns": 4000 * MS}, server={"lateness_max_ns": late_ns})

    assert {one.name: one.outside for one in found if one.verdict == "failed"} == {"no hole": is_outside}
