"""Each check on both sides of its bound, on made-up evidence."""

from typing import Any

import pytest

from inflight.bench.measure.checks import MS, judge
from inflight.bench.measure.validity import CHECKS, Evidence
from inflight.bench.rows.files import Check

SOUND: dict[str, Any] = {
    "kind": "crawl",
    "planned_in_flight": 10,
    "cap": 10,
    "mean_latency_ns": 50e6,
    "cpu_ns": 2_000_000,
    "answer_difference": None,
    "pages_answered": 5000,
    "failures": 0,
    "expected_failures": 0,
    "wait_ns": 50 * MS,
    "measured": {
        "pages": 5000,
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
    "server": {
        "peak_in_flight": 10,
        "requests": 5000,
        "total_connections": 10,
        "lateness_max_ns": 2 * MS,
        "first_lateness_max_ns": 3 * MS,
    },
    "knobs": {"strategy": "callbacks", "cpus": [1], "gil": True, "descriptor_limit": 1024},
    "wanted_knobs": {"strategy": "callbacks", "cpus": [1]},
    "descriptors_needed": 74,
    "threads_needed": 10,
    "threads_allowed": 30_000,
}


def evidence(**changes: Any) -> Evidence:
    """Return good evidence with changes, also to items of a dict: ``server={"cpu_share": 1}``."""
    values = dict(SOUND)
    for name, change in changes.items():
        values[name] = values[name] | change if isinstance(change, dict) else change
    return Evidence(**values)


def the(name: str, **changes: Any) -> Check:
    (found,) = [made for made in judge(CHECKS, evidence(**changes)) if made.name == name]
    return found


def test_sound_evidence_passes_every_check() -> None:
    made = judge(CHECKS, evidence())

    assert [found.name for found in made] == list(CHECKS)
    assert {found.verdict for found in made} == {"passed"}
    assert all(found.detail and "\n" not in found.detail for found in made)


WORK, HOLE = "CPU work done", "no hole"
BOTH_SIDES: list[tuple[str, dict[str, Any], str, str]] = [
    ("answer correct", {}, "passed", "5000 pages as the site has them"),
    ("answer correct", {"answer_difference": "1 pages missing"}, "failed", "1 pages missing"),
    ("no unexpected failures", {"failures": 3, "expected_failures": 3}, "passed", "3 pages failed"),
    ("no unexpected failures", {"failures": 1}, "failed", "1 pages failed, the site makes 0 fail"),
    ("no unexpected failures", {"expected_failures": 1}, "failed", "0 pages failed, the site makes 1 fail"),
    ("cap reached, never exceeded", {}, "passed", "cap 10, most in flight: client 10, server 10"),
    ("cap reached, never exceeded", {"measured": {"peak_in_flight": 9}}, "failed", "not reached"),
    (
        "cap reached, never exceeded",
        {"mean_latency_ns": 0.0, "measured": {"peak_in_flight": 9}},
        "passed",
        "client 9",
    ),
    (
        "cap reached, never exceeded",
        {"mean_latency_ns": 0.0, "measured": {"peak_in_flight": 8}},
        "failed",
        "not reached",
    ),
    (
        "cap reached, never exceeded",
        {"kind": "memory", "mean_latency_ns": 0.0, "measured": {"peak_in_flight": 9}},
        "failed",
        "not reached",
    ),
    ("cap reached, never exceeded", {"measured": {"peak_in_flight": 11}}, "failed", "exceeded"),
    ("cap reached, never exceeded", {"server": {"peak_in_flight": 11}}, "failed", "exceeded"),
    ("cap reached, never exceeded", {"server": {"peak_in_flight": 9}}, "passed", "server 9"),
    ("cap reached, never exceeded", {"measured": {"reached_in_flight": 4}}, "passed", "reached 4 of 10, most in"),
    (
        "cap reached, never exceeded",
        {"kind": "memory", "measured": {"peak_in_flight": 4, "reached_in_flight": 4}},
        "passed",
        "reached 4 of 10, most in flight: client 4",
    ),
    (
        "cap reached, never exceeded",
        {"measured": {"peak_in_flight": 11, "reached_in_flight": 4}},
        "failed",
        "exceeded",
    ),
    ("cap reached, never exceeded", {"planned_in_flight": 4, "measured": {"peak_in_flight": 4}}, "passed", "client 4"),
    ("cap reached, never exceeded", {"planned_in_flight": 4, "measured": {"peak_in_flight": 3}}, "failed", "client 3"),
    (HOLE, {}, "passed", "no fetch ended for 60.0 ms, a response was 3.00 ms late, limit 1.05 s"),
    (HOLE, {"measured": {"hole_ns": 1050 * MS}}, "passed", "no fetch ended for 1.05 s"),
    (HOLE, {"measured": {"hole_ns": 1050 * MS + 1}}, "failed", "no fetch ended for 1.05 s"),
    (HOLE, {"server": {"lateness_max_ns": 1050 * MS}}, "passed", "1.05 s late"),
    (HOLE, {"server": {"lateness_max_ns": 1050 * MS + 1}}, "failed", "1.05 s late"),
    (HOLE, {"server": {"first_lateness_max_ns": 1050 * MS + 1}}, "failed", "1.05 s late"),
    # the site lets a fetch wait
    (HOLE, {"wait_ns": 20_000 * MS, "measured": {"hole_ns": 21_000 * MS}}, "passed", "limit 21.0 s"),
    (HOLE, {"wait_ns": 20_000 * MS, "measured": {"hole_ns": 21_000 * MS + 1}}, "failed", "limit 21.0 s"),
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
    (HOLE, {"kind": "memory", "measured": {"hole_ns": 20_000 * MS}}, "not applicable", "the gate holds all"),
    (HOLE, {"measured": {"hole_ns": None}}, "not applicable", "unknown when fetches ended"),
    ("requests counted alike", {}, "passed", "client sent 5000, server received 5000"),
    ("requests counted alike", {"server": {"requests": 5001}}, "failed", "server received 5001"),
    ("requests counted alike", {"measured": {"tries": 5001}}, "failed", "client sent 5001"),
    (
        "requests counted alike",
        {"expected_failures": 1, "failures": 1, "server": {"requests": 5003}},
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
        {"descriptors_needed": 1024, "threads_needed": 30_000},
        "passed",
        "1024 allowed; 30000 threads",
    ),
    ("limits high enough", {"knobs": {"descriptor_limit": 0}}, "failed", "74 descriptors needed, 0 allowed"),
    ("limits high enough", {"descriptors_needed": 1025}, "failed", "1025 descriptors needed, 1024 allowed"),
    ("limits high enough", {"descriptors_needed": 10**6, "knobs": {"descriptor_limit": -1}}, "passed", "any number"),
    ("limits high enough", {"threads_needed": 30_001}, "failed", "30001 threads needed, 30000 allowed"),
    ("limits high enough", {"threads_allowed": None}, "passed", "10 threads needed, unknown allowed"),
    ("limits high enough", {"threads_needed": 0}, "passed", "74 descriptors needed, 1024 allowed"),
    ("limits high enough", {"knobs": {"descriptor_limit": None}}, "not applicable", "is unknown"),
    ("settings applied", {"knobs": {"gil": False}}, "passed", "cpus, strategy"),
    ("settings applied", {"knobs": {"cpus": [0, 1]}}, "failed", "cpus: wanted [1], got [0, 1]"),
    ("settings applied", {"wanted_knobs": {"loop": "uvloop"}}, "failed", "loop: wanted 'uvloop', got None"),
    (WORK, {}, "passed", "done for 5000 of 5000 pages, 2.1 of 2 ms"),
    (WORK, {"cpu_ns": 0}, "not applicable", "no CPU work"),
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
    found = the(name, **changes)

    assert found.verdict == verdict
    assert words in found.detail


def test_every_check_is_tested_on_both_sides() -> None:
    invalid = {name for name, _, verdict, _ in BOTH_SIDES if verdict == "failed"}

    assert invalid == set(CHECKS)


def test_a_failed_check_fails_no_other() -> None:
    for name, changes, verdict, _ in BOTH_SIDES:
        made = judge(CHECKS, evidence(**changes))
        assert {found.name for found in made if found.verdict == "failed"} == ({name} if verdict == "failed" else set())


def test_a_crawl_without_pages_can_be_checked() -> None:
    nothing = {"pages": 0, "peak_in_flight": 0, "tries": 0}
    idle = {"peak_in_flight": 0, "requests": 0}

    made = judge(CHECKS, evidence(measured=nothing, server=idle, answer_difference="10 pages missing"))

    invalid = {found.name for found in made if found.verdict == "failed"}
    assert invalid == {"answer correct", "cap reached, never exceeded"}
