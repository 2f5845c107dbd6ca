"""Each check on both sides of its bound, on made-up evidence."""

from typing import Any

import pytest

from inflight.bench.core.rows import Check
from inflight.bench.measure.checks import judge
from inflight.bench.measure.validity import CHECKS, Evidence

STEADY = {"window_ns": 100_000, "completions": 1000, "mean_service_ns": 1000, "mean_in_flight": 10.0}


def line(*completions: int) -> dict[str, Any]:
    """Return the timeline of a loop of ten that is full from its first bin until the last start."""
    in_flight = [10] * (len(completions) - 1) + [0]
    return {"timeline": {"bin_ns": 10_000_000, "completions": list(completions), "in_flight": in_flight}}


EVEN = line(0, *[50] * 20, 11)
SLOWLY_FILLED = line(1, 2, 3, 4, *[50] * 20, 11)
SLOWLY_FILLED["timeline"]["in_flight"][:4] = [2, 3, 3, 10]

SOUND: dict[str, Any] = {
    "kind": "crawl",
    "client_share": 0.8,
    "planned_in_flight": 10,
    "cap": 10,
    "mean_latency_ns": 50e6,
    "mean_delay_ns": 100.0,
    "cpu_ns": 2_000_000,
    "answer_difference": None,
    "pages_answered": 5000,
    "failures": 0,
    "expected_failures": 0,
    "measured": {
        "pages": 5000,
        "peak_in_flight": 10,
        "tries": 5000,
        "steady": STEADY,
        **EVEN,
        "port_refusals": 0,
        "service": {"count": 5000, "mean_ns": 1000, "max_ns": 1000},
        "makespan_ns": 1_000_000,
        "pages_per_s": 50_000.0,
        "peak_threads": 1,
        "run_delay_ns": 0,
        "work_ns": 2_100_000,
        "worked_pages": 5000,
    },
    "server": {
        "peak_in_flight": 10,
        "requests": 5000,
        "total_connections": 10,
        "cpu_share": 0.5,
        "ceiling_per_s": 100_000.0,
        "lateness_count": 5000,
        "lateness_p50_ns": 50_000,
        "lateness_p90_ns": 80_000,
        "lateness_p99_ns": 100_000,
    },
    "host": {"listen_drops": 0, "steal_share": 0.0, "ephemeral_ports": 28_232},
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


STEADY_LAW, SAMPLES = "Little's law in the steady state", "enough samples for each quantile"
WORK, CORE = "CPU work done", "client had its core"
MS = 1_000_000
THREADS = {
    "peak_threads": 9,
    "makespan_ns": 1000 * MS,
    "pages_per_s": 5000.0,
    "others_ns": 0,
    "service": {"count": 5000, "mean_ns": MS, "max_ns": MS},
}
HALF = STEADY | {"completions": 500, "mean_in_flight": 5.0}
SHORT = STEADY | {"window_ns": 4_000, "completions": 20}


def count(samples: int) -> dict[str, int]:
    """Return service times of this many fetches, short enough to fail no other check."""
    return {"count": samples, "mean_ns": 1_000_000 // samples, "max_ns": 1000}


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
    ("cap reached, never exceeded", {"planned_in_flight": 4, "measured": {"peak_in_flight": 4}}, "passed", "client 4"),
    ("cap reached, never exceeded", {"planned_in_flight": 4, "measured": {"peak_in_flight": 3}}, "failed", "client 3"),
    ("requests counted alike", {}, "passed", "client sent 5000, server received 5000"),
    ("requests counted alike", {"server": {"requests": 5001}}, "failed", "server received 5001"),
    ("requests counted alike", {"measured": {"tries": 5001}}, "failed", "client sent 5001"),
    (
        "requests counted alike",
        {"expected_failures": 1, "failures": 1, "server": {"requests": 5003}},
        "not applicable",
        "faults break connections",
    ),
    ("server had room", {"server": {"cpu_share": 0.70}}, "passed", "70 % of its core, limit 70 %"),
    ("server had room", {"server": {"cpu_share": 0.701}}, "failed", "70 % of its core"),
    (
        "server had room",
        {"server": {"cpu_share": 0.99}, "client_share": 0.95},
        "passed",
        "the client used 95 % of its own",
    ),
    (
        "server had room",
        {"server": {"cpu_share": 0.99}, "client_share": 0.94},
        "failed",
        "the client used 94 % of its own",
    ),
    ("server had room", {"server": {"cpu_share": 0.99}, "client_share": None}, "failed", "99 % of its core"),
    (
        "server had room",
        {"server": {"cpu_share": 0.99}, "client_share": 0.99, "measured": {"pages_per_s": 70_001.0}},
        "failed",
        "asked for 70 % of the server's ceiling",
    ),
    (
        "server had room",
        {"server": {"cpu_share": 0.99, "ceiling_per_s": None}, "client_share": 0.99},
        "failed",
        "99 % of its core",
    ),
    ("client had its core", {"measured": {"run_delay_ns": 50_000}}, "passed", "waited 5.0 % of the time"),
    ("client had its core", {"measured": {"run_delay_ns": 50_100}}, "failed", "limit 5 %"),
    ("client had its core", {"measured": {"run_delay_ns": None}}, "not applicable", "unknown on this system"),
    ("client had its core", {"measured": {"run_delay_ns": 10**6, "peak_threads": 2}}, "not applicable", "threads"),
    ("server had room", {"server": {"cpu_share": 0.99}, "kind": "memory"}, "not applicable", "gate"),
    ("added latency exact", {"server": {"lateness_p99_ns": 2_000_000}}, "passed", "limit 2.00 ms"),
    ("added latency exact", {"server": {"lateness_p99_ns": 2_000_001}}, "failed", "p99 2.00 ms late"),
    (
        "added latency exact",
        {"server": {"lateness_p99_ns": 9_000_000, "lateness_count": 999}},
        "passed",
        "p90 0.08 ms late",
    ),
    (
        "added latency exact",
        {"server": {"lateness_p90_ns": 2_000_001, "lateness_count": 100}},
        "failed",
        "p90 2.00 ms late, limit 2.00 ms",
    ),
    (
        "added latency exact",
        {"server": {"lateness_p90_ns": 9_000_000, "lateness_count": 99}},
        "passed",
        "p50 0.05 ms late",
    ),
    (
        "added latency exact",
        {"server": {"lateness_p50_ns": 2_000_001, "lateness_count": 1, "run_delay_share": 0.25}},
        "failed",
        "the server waited 25 % of the time for its core",
    ),
    (
        "added latency exact",
        {"mean_latency_ns": 0.0, "server": {"lateness_count": 0}},
        "not applicable",
        "no latency was added",
    ),
    ("no listen drops", {"host": {"listen_drops": 1}}, "failed", "1 in /proc/net/netstat"),
    ("no listen drops", {"host": {"listen_drops": None}}, "not applicable", "this kernel does not count them"),
    ("Little's law", {}, "passed", "throughput x service time 5.0, x the site's delay 0.5, cap 10"),
    (
        "Little's law",
        {"measured": {"service": {"count": 5000, "mean_ns": 2039, "max_ns": 1000}}},
        "passed",
        "service time 10.2",
    ),
    (
        "Little's law",
        {"measured": {"service": {"count": 5000, "mean_ns": 2042, "max_ns": 1000}}},
        "failed",
        "service time 10.2",
    ),
    ("Little's law", {"mean_delay_ns": 1020.0}, "passed", "the site's delay 5.1"),
    ("Little's law", {"mean_delay_ns": 1021.0}, "failed", "the site's delay 5.1"),
    ("Little's law", {"expected_failures": 1, "failures": 1}, "not applicable", "need not wait"),
    (STEADY_LAW, {}, "passed", "mean in flight 10.0, cap 10; throughput x service time 10.0, limit 3.0 % off"),
    (STEADY_LAW, {"measured": {"steady": STEADY | {"completions": 1029}}}, "passed", "service time 10.3"),
    (STEADY_LAW, {"measured": {"steady": STEADY | {"completions": 1031}}}, "failed", "service time 10.3"),
    (STEADY_LAW, {"measured": {"steady": STEADY | {"completions": 969}}}, "failed", "service time 9.7"),
    (STEADY_LAW, {"measured": {"steady": STEADY | {"mean_in_flight": 10.3}}}, "failed", "cap 10: above it"),
    (STEADY_LAW, {"client_share": 0.5, "measured": {"steady": HALF}}, "failed", "in flight 5.0, cap 10: not kept full"),
    (STEADY_LAW, {"client_share": 0.8, "measured": {"steady": HALF}}, "passed", "mean in flight 5.0, cap 10"),
    (STEADY_LAW, {"client_share": None, "measured": {"steady": HALF}}, "passed", "mean in flight 5.0"),
    (STEADY_LAW, {"client_share": 0.5, "mean_latency_ns": 0.0, "measured": {"steady": HALF}}, "passed", "5.0, cap 10"),
    (
        STEADY_LAW,
        {"client_share": 0.5, "planned_in_flight": 5, "measured": {"steady": HALF, "peak_in_flight": 5}},
        "passed",
        "mean in flight 5.0",
    ),
    (STEADY_LAW, {"client_share": 0.5, "measured": {"steady": SHORT}}, "passed", "too short for the law"),
    (STEADY_LAW, {"measured": {"steady": SHORT}}, "not applicable", "took 25 % of it, limit 20 %"),
    (STEADY_LAW, {"measured": {"steady": None}}, "not applicable", "never full for long"),
    (STEADY_LAW, {"kind": "memory"}, "not applicable", "nothing is timed"),
    ("throughput steady", {}, "passed", "500 and 500 pages in its halves"),
    # The allowance: 40 % of the mean half, one turn of ten, and three roots of the sum.
    ("throughput steady", {"measured": line(0, *[60] * 10, *[37] * 10, 11)}, "passed", "600 and 370 pages"),
    ("throughput steady", {"measured": line(0, *[70] * 10, *[35] * 10, 11)}, "failed", "700 and 350 pages"),
    ("throughput steady", {"measured": line(0, *[35] * 10, *[70] * 10, 11)}, "failed", "350 and 700 pages"),
    ("throughput steady", {"measured": line(0, *[20, 0] * 10, 11)}, "passed", "100 and 100 pages"),
    ("throughput steady", {"measured": line(0, *[90] * 9, *[10] * 10, 11)}, "not applicable", "19 bins"),
    ("throughput steady", {"measured": line(0, *[18] * 10, *[1] * 10, 11)}, "not applicable", "19 turns"),
    ("throughput steady", {"measured": SLOWLY_FILLED}, "passed", "500 and 500 pages in its halves"),
    ("throughput steady", {"measured": {"timeline": None}}, "not applicable", "no timeline"),
    ("throughput steady", {"kind": "memory"}, "not applicable", "nothing is timed"),
    ("client ports left", {}, "passed", "10 connections opened, 28232 ports in the range"),
    ("client ports left", {"server": {"total_connections": 28_231}}, "passed", "28231 connections opened"),
    ("client ports left", {"server": {"total_connections": 28_232}}, "failed", "28232 connections opened"),
    ("client ports left", {"measured": {"port_refusals": 2}}, "failed", "2 pages failed because no client port"),
    ("client ports left", {"host": {"ephemeral_ports": None}}, "not applicable", "is unknown"),
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
    (SAMPLES, {"measured": {"service": count(10_000)}}, "passed", "enough for p50, p90, p99, p99.9"),
    (SAMPLES, {"measured": {"service": count(9_999)}}, "passed", "enough for p50, p90, p99; not for p99.9"),
    (SAMPLES, {"measured": {"service": count(999)}}, "passed", "enough for p50, p90; not for p99, p99.9"),
    (SAMPLES, {"measured": {"service": count(99)}}, "passed", "enough for p50; not for p90, p99, p99.9"),
    (SAMPLES, {"measured": {"service": count(19)}}, "not applicable", "19 samples: enough for no quantile"),
    ("no CPU steal", {"host": {"steal_share": 0.02}}, "passed", "2.0 % of CPU time stolen"),
    ("no CPU steal", {"host": {"steal_share": 0.021}}, "failed", "2.1 % of CPU time stolen, limit 2 %"),
    ("no CPU steal", {"host": {"steal_share": None}}, "not applicable", "unknown on this system"),
    ("settings applied", {"knobs": {"gil": False}}, "passed", "cpus, strategy"),
    ("settings applied", {"knobs": {"cpus": [0, 1]}}, "failed", "cpus: wanted [1], got [0, 1]"),
    ("settings applied", {"wanted_knobs": {"loop": "uvloop"}}, "failed", "loop: wanted 'uvloop', got None"),
    (CORE, {"measured": THREADS}, "passed", "others used 0.0 % of its core, limit 5 %"),
    (CORE, {"measured": THREADS | {"others_ns": 70 * MS}}, "passed", "others used 5.0 % of its core"),
    (CORE, {"measured": THREADS | {"others_ns": 80 * MS}}, "failed", "others used 6.0 % of its core, limit 5 %"),
    (CORE, {"measured": {"peak_threads": 9}}, "not applicable", "several threads that are not pinned to one core"),
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
    red = {name for name, _, verdict, _ in BOTH_SIDES if verdict == "failed"}

    assert red == set(CHECKS) - {SAMPLES}, "few samples are no reason to disbelieve the rest"


def test_a_failed_check_fails_no_other() -> None:
    for name, changes, verdict, _ in BOTH_SIDES:
        made = judge(CHECKS, evidence(**changes))
        assert {found.name for found in made if found.verdict == "failed"} == ({name} if verdict == "failed" else set())


def test_a_crawl_without_pages_can_be_checked() -> None:
    nothing = {"pages": 0, "peak_in_flight": 0, "tries": 0, "steady": None, "service": {"count": 0, "mean_ns": 1000}}
    idle = {"peak_in_flight": 0, "requests": 0, "cpu_share": 0.0, "lateness_count": 0}

    made = judge(CHECKS, evidence(measured=nothing, server=idle, answer_difference="10 pages missing"))

    red = {found.name for found in made if found.verdict == "failed"}
    assert red == {"answer correct", "cap reached, never exceeded"}
