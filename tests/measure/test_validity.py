"""Each check on both sides of its bound, on made-up figures."""

import copy
from typing import Any

import pytest

from inflight.bench.measure import preflight, validity
from inflight.bench.measure import run as runs
from inflight.bench.measure.checks import MS, judge
from inflight.bench.measure.trial import Observation
from inflight.bench.measure.validity import CHECKS
from inflight.bench.plan.experiment import parse
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import Check

SOUND = Observation(
    measured={
        "pages": 5000,
        "failed_pages": 0,
        "peak_in_flight": 10,
        "tries": 5000,
        "port_refusals": 0,
        "work_ns": 2_100_000,
        "worked_pages": 5000,
        "hole_ns": 60 * MS,
        "service": {"count": 5000, "p50_ns": 50 * MS},
        "cpu_per_page_ns": MS,
        "listen_drops": 0,
        "ephemeral_ports": 28_232,
    },
    server={
        "peak_in_flight": 10,
        "requests": 5000,
        "total_connections": 10,
        "lateness_max_ns": 2 * MS,
        "first_lateness_max_ns": 3 * MS,
    },
    knobs={"strategy": "thread_pool", "cpus": [1], "gil": True, "descriptor_limit": 1024},
    wanted={"strategy": "thread_pool", "cpus": [1]},
)


def trial_of(kind: str = "crawl", strategy: str = "thread_pool", **changes: Any) -> Trial:
    """Return a planned trial."""
    table = {"in_flight": [10], "latency": ["50ms"]} | changes
    if kind == "crawl":
        table = {"pages": 5000, "cpu": ["2ms"]} | table
    (trial,) = runs.all_trials(parse({"strategies": [strategy], kind: [table]}, "x", [strategy], "test"))
    return trial


def checks(
    trial: dict[str, Any] | None = None,
    wrong: str | None = None,
    failing: int = 0,
    threads_allowed: int | None = 30_000,
    **changes: dict[str, Any],
) -> tuple[Check, ...]:
    """Return the checks of a good trial with changes: ``server={"requests": 1}``. Its site makes ``failing`` fail."""
    seen = copy.deepcopy(SOUND)
    seen.wrong = wrong
    for part, values in changes.items():
        getattr(seen, part).update(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "failures_of_site", lambda _trial: failing)
        patch.setattr(preflight, "threads_allowed", lambda: threads_allowed)
        return judge(CHECKS, trial_of(**trial or {}), seen)


def test_sound_figures_pass_every_check() -> None:
    made = checks()

    assert [found.name for found in made] == list(CHECKS)
    assert {found.verdict for found in made} == {"passed"}
    assert all(found.detail and "\n" not in found.detail for found in made)


def failed(pages: int) -> dict[str, Any]:
    return {"measured": {"failed_pages": pages, "worked_pages": 5000 - pages}}


TOO_MANY = {"trial": {"in_flight": [961]}, "measured": {"peak_in_flight": 961}}
WORK, HOLE = "CPU work done", "no hole"
BOTH_SIDES: list[tuple[str, dict[str, Any], str, str]] = [
    ("answer correct", {}, "passed", "5000 pages as the site has them"),
    ("answer correct", {"wrong": "1 pages missing"}, "failed", "1 pages missing"),
    (
        "no unexpected failures",
        {"failing": 3} | failed(3),
        "passed",
        "3 pages failed",
    ),
    (
        "no unexpected failures",
        {"measured": {"failed_pages": 1, "worked_pages": 4999}},
        "failed",
        "1 pages failed, the site makes 0 fail",
    ),
    ("no unexpected failures", {"failing": 1}, "failed", "0 pages failed, the site makes 1 fail"),
    ("cap reached, never exceeded", {}, "passed", "cap 10, most in flight: client 10, server 10"),
    ("cap reached, never exceeded", {"measured": {"peak_in_flight": 9}}, "failed", "not reached"),
    (
        "cap reached, never exceeded",
        {"trial": {"latency": ["0"]}, "measured": {"peak_in_flight": 9}},
        "passed",
        "client 9",
    ),
    (
        "cap reached, never exceeded",
        {"trial": {"latency": ["0"]}, "measured": {"peak_in_flight": 8}},
        "failed",
        "not reached",
    ),
    (
        "cap reached, never exceeded",
        {"trial": {"kind": "memory", "latency": ["0"]}, "measured": {"peak_in_flight": 9}},
        "failed",
        "not reached",
    ),
    ("cap reached, never exceeded", {"measured": {"peak_in_flight": 11}}, "failed", "exceeded"),
    ("cap reached, never exceeded", {"server": {"peak_in_flight": 11}}, "failed", "exceeded"),
    ("cap reached, never exceeded", {"server": {"peak_in_flight": 9}}, "passed", "server 9"),
    ("cap reached, never exceeded", {"measured": {"reached_in_flight": 4}}, "passed", "reached 4 of 10, most in"),
    (
        "cap reached, never exceeded",
        {"trial": {"kind": "memory"}, "measured": {"peak_in_flight": 4, "reached_in_flight": 4}},
        "passed",
        "reached 4 of 10, most in flight: client 4",
    ),
    (
        "cap reached, never exceeded",
        {"measured": {"peak_in_flight": 11, "reached_in_flight": 4}},
        "failed",
        "exceeded",
    ),
    ("cap reached, never exceeded", {"trial": {"pages": 4}, "measured": {"peak_in_flight": 4}}, "passed", "client 4"),
    ("cap reached, never exceeded", {"trial": {"pages": 4}, "measured": {"peak_in_flight": 3}}, "failed", "client 3"),
    (HOLE, {}, "passed", "no fetch ended for 60.0 ms, a response was 3.00 ms late, limit 1.05 s"),
    (HOLE, {"measured": {"hole_ns": 1050 * MS}}, "passed", "no fetch ended for 1.05 s"),
    (HOLE, {"measured": {"hole_ns": 1050 * MS + 1}}, "failed", "no fetch ended for 1.05 s"),
    (HOLE, {"server": {"lateness_max_ns": 1050 * MS}}, "passed", "1.05 s late"),
    (HOLE, {"server": {"lateness_max_ns": 1050 * MS + 1}}, "failed", "1.05 s late"),
    (HOLE, {"server": {"first_lateness_max_ns": 1050 * MS + 1}}, "failed", "1.05 s late"),
    # the site lets a fetch wait
    (HOLE, {"trial": {"latency": ["20s"]}, "measured": {"hole_ns": 21_000 * MS}}, "passed", "limit 21.0 s"),
    (HOLE, {"trial": {"latency": ["20s"]}, "measured": {"hole_ns": 21_000 * MS + 1}}, "failed", "limit 21.0 s"),
    # load: all fetches are slow
    (HOLE, {"measured": {"hole_ns": 4050 * MS, "service": {"p50_ns": 200 * MS}}}, "passed", "limit 4.05 s"),
    (HOLE, {"measured": {"hole_ns": 4050 * MS + 1, "service": {"p50_ns": 200 * MS}}}, "failed", "limit 4.05 s"),
    # most fetches were open during the stop
    (
        HOLE,
        {"measured": {"hole_ns": 20_000 * MS, "service": {"p50_ns": 20_050 * MS}, "cpu_per_page_ns": MS // 50}},
        "failed",
        "no fetch ended for 20.0 s, a response was 3.00 ms late, limit 2.05 s",
    ),
    (HOLE, {"trial": {"kind": "memory"}, "measured": {"hole_ns": 20_000 * MS}}, "not applicable", "the gate holds all"),
    (HOLE, {"measured": {"hole_ns": None}}, "not applicable", "unknown when fetches ended"),
    ("requests counted alike", {}, "passed", "client sent 5000, server received 5000"),
    ("requests counted alike", {"server": {"requests": 5001}}, "failed", "server received 5001"),
    ("requests counted alike", {"measured": {"tries": 5001}}, "failed", "client sent 5001"),
    (
        "requests counted alike",
        {"failing": 1, "server": {"requests": 5003}} | failed(1),
        "not applicable",
        "faults break connections",
    ),
    ("no listen drops", {"measured": {"listen_drops": 1}}, "failed", "1 in /proc/net/netstat"),
    ("no listen drops", {"measured": {"listen_drops": None}}, "not applicable", "this kernel does not count them"),
    ("client ports left", {}, "passed", "10 connections opened, 28232 ports in the range"),
    ("client ports left", {"server": {"total_connections": 28_231}}, "passed", "28231 connections opened"),
    ("client ports left", {"server": {"total_connections": 28_232}}, "failed", "28232 connections opened"),
    ("client ports left", {"measured": {"port_refusals": 2}}, "failed", "2 pages failed because no client port"),
    ("client ports left", {"measured": {"ephemeral_ports": None}}, "not applicable", "is unknown"),
    ("limits high enough", {}, "passed", "74 descriptors needed, 1024 allowed; 10 threads needed, 30000 allowed"),
    (
        "limits high enough",
        {"trial": {"in_flight": [960]}, "measured": {"peak_in_flight": 960}, "threads_allowed": 960},
        "passed",
        "1024 descriptors needed, 1024 allowed; 960 threads needed, 960 allowed",
    ),
    ("limits high enough", {"knobs": {"descriptor_limit": 0}}, "failed", "74 descriptors needed, 0 allowed"),
    (
        "limits high enough",
        TOO_MANY,
        "failed",
        "1025 descriptors needed, 1024 allowed",
    ),
    (
        "limits high enough",
        TOO_MANY | {"knobs": {"descriptor_limit": -1}},
        "passed",
        "any number",
    ),
    ("limits high enough", {"threads_allowed": 9}, "failed", "10 threads needed, 9 allowed"),
    ("limits high enough", {"threads_allowed": None}, "passed", "10 threads needed, unknown allowed"),
    ("limits high enough", {"trial": {"strategy": "callbacks"}}, "passed", "74 descriptors needed, 1024 allowed"),
    ("limits high enough", {"knobs": {"descriptor_limit": None}}, "not applicable", "is unknown"),
    ("settings applied", {"knobs": {"gil": False}}, "passed", "cpus, strategy"),
    ("settings applied", {"knobs": {"cpus": [0, 1]}}, "failed", "cpus: wanted [1], got [0, 1]"),
    ("settings applied", {"wanted": {"loop": "uvloop"}}, "failed", "loop: wanted 'uvloop', got None"),
    (WORK, {}, "passed", "done for 5000 of 5000 pages, 2.1 of 2 ms"),
    (WORK, {"trial": {"cpu": ["0"]}}, "not applicable", "no CPU work"),
    (WORK, {"measured": {"worked_pages": 4999}}, "failed", "done for 4999 of 5000 pages"),
    (WORK, {"measured": {"work_ns": 1_490_000}}, "failed", "1.49 of 2 ms"),
    (WORK, {"measured": {"work_ns": 1_500_000}}, "passed", "1.5 of 2 ms"),
    (WORK, {"measured": {"work_ns": 2_500_000}}, "passed", "2.5 of 2 ms"),
    (WORK, {"measured": {"work_ns": 2_510_000}}, "failed", "2.51 of 2 ms"),
]


@pytest.mark.parametrize(("name", "changes", "verdict", "words"), BOTH_SIDES)
def test_a_check_applies_its_bound_and_reports_its_figures(
    name: str, changes: dict[str, Any], verdict: str, words: str
) -> None:
    (found,) = [made for made in checks(**changes) if made.name == name]

    assert found.verdict == verdict
    assert words in found.detail


def test_every_check_is_tested_on_both_sides() -> None:
    invalid = {name for name, _, verdict, _ in BOTH_SIDES if verdict == "failed"}

    assert invalid == set(CHECKS)


def test_a_failed_check_fails_no_other() -> None:
    for name, changes, verdict, _ in BOTH_SIDES:
        made = checks(**changes)
        assert {found.name for found in made if found.verdict == "failed"} == ({name} if verdict == "failed" else set())


def test_a_crawl_without_pages_can_be_checked() -> None:
    nothing = {"pages": 0, "peak_in_flight": 0, "tries": 0, "worked_pages": 0}
    idle = {"peak_in_flight": 0, "requests": 0}

    made = checks(measured=nothing, server=idle, wrong="10 pages missing")

    invalid = {found.name for found in made if found.verdict == "failed"}
    assert invalid == {"answer correct", "cap reached, never exceeded"}
