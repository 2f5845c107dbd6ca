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


def client(**figures: Any) -> dict[str, Any]:
    return {"measured": figures}


def server(**figures: Any) -> dict[str, Any]:
    return {"server": figures}


def knob(**values: Any) -> dict[str, Any]:
    return {"knobs": values}


def trial(**table: Any) -> dict[str, Any]:
    return {"trial": table}


FULL = trial(in_flight=[960]) | client(peak_in_flight=960)
TOO_MANY = trial(in_flight=[961]) | client(peak_in_flight=961)
SLOW = {"p50_ns": 200 * MS}
STOPPED = client(hole_ns=20_000 * MS, service={"p50_ns": 20_050 * MS}, cpu_per_page_ns=MS // 50)
"""Most fetches were open during the stop."""
FAULTS = {"failing": 1} | server(requests=5003) | client(failed_pages=1, worked_pages=4999)
BOTH_SIDES: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {
    "answer correct": {
        ("passed", "5000 pages as the site has them"): [{}],
        ("failed", "1 pages missing"): [{"wrong": "1 pages missing"}],
    },
    "no unexpected failures": {
        ("passed", "3 pages failed, the site makes 3 fail"): [
            {"failing": 3} | client(failed_pages=3, worked_pages=4997)
        ],
        ("failed", "1 pages failed, the site makes 0 fail"): [client(failed_pages=1, worked_pages=4999)],
        ("failed", "0 pages failed, the site makes 1 fail"): [{"failing": 1}],
    },
    "cap reached, never exceeded": {
        ("passed", "cap 10, most in flight: client 10, server 10"): [{}],
        ("passed", "client 9, server 10"): [trial(latency=["0"]) | client(peak_in_flight=9)],
        ("passed", "client 10, server 9"): [server(peak_in_flight=9)],
        ("passed", "reached 4 of 10, most in flight: client 10"): [client(reached_in_flight=4)],
        ("passed", "reached 4 of 10, most in flight: client 4"): [
            trial(kind="memory") | client(peak_in_flight=4, reached_in_flight=4)
        ],
        ("passed", "client 4"): [trial(pages=4) | client(peak_in_flight=4)],
        ("failed", "not reached"): [
            client(peak_in_flight=9),
            trial(latency=["0"]) | client(peak_in_flight=8),
            trial(kind="memory", latency=["0"]) | client(peak_in_flight=9),
            trial(pages=4) | client(peak_in_flight=3),
        ],
        ("failed", "exceeded"): [
            client(peak_in_flight=11),
            server(peak_in_flight=11),
            client(peak_in_flight=11, reached_in_flight=4),
        ],
    },
    "no hole": {
        ("passed", "no fetch ended for 60.0 ms, a response was 3.00 ms late, limit 1.05 s"): [{}],
        ("passed", "limit 1.05 s"): [client(hole_ns=1050 * MS), server(lateness_max_ns=1050 * MS)],
        ("failed", "limit 1.05 s"): [
            client(hole_ns=1050 * MS + 1),
            server(lateness_max_ns=1050 * MS + 1),
            server(first_lateness_max_ns=1050 * MS + 1),
        ],
        ("passed", "limit 21.0 s"): [trial(latency=["20s"]) | client(hole_ns=21_000 * MS)],
        ("failed", "limit 21.0 s"): [trial(latency=["20s"]) | client(hole_ns=21_000 * MS + 1)],
        ("passed", "limit 4.05 s"): [client(hole_ns=4050 * MS, service=SLOW)],
        ("failed", "limit 4.05 s"): [client(hole_ns=4050 * MS + 1, service=SLOW)],
        ("failed", "no fetch ended for 20.0 s, a response was 3.00 ms late, limit 2.05 s"): [STOPPED],
        ("not applicable", "the gate holds all"): [trial(kind="memory") | client(hole_ns=20_000 * MS)],
        ("not applicable", "unknown when fetches ended"): [client(hole_ns=None)],
    },
    "requests counted alike": {
        ("passed", "client sent 5000, server received 5000"): [{}],
        ("failed", "server received 5001"): [server(requests=5001)],
        ("failed", "client sent 5001"): [client(tries=5001)],
        ("not applicable", "faults break connections"): [FAULTS],
    },
    "no listen drops": {
        ("failed", "1 in /proc/net/netstat"): [client(listen_drops=1)],
        ("not applicable", "this kernel does not count them"): [client(listen_drops=None)],
    },
    "client ports left": {
        ("passed", "10 connections opened, 28232 ports in the range"): [{}],
        ("passed", "28231 connections opened"): [server(total_connections=28_231)],
        ("failed", "28232 connections opened"): [server(total_connections=28_232)],
        ("failed", "2 pages failed because no client port"): [client(port_refusals=2)],
        ("not applicable", "is unknown"): [client(ephemeral_ports=None)],
    },
    "limits high enough": {
        ("passed", "74 descriptors needed, 1024 allowed; 10 threads needed, 30000 allowed"): [{}],
        ("passed", "1024 descriptors needed, 1024 allowed; 960 threads needed, 960 allowed"): [
            FULL | {"threads_allowed": 960}
        ],
        ("failed", "74 descriptors needed, 0 allowed"): [knob(descriptor_limit=0)],
        ("failed", "1025 descriptors needed, 1024 allowed"): [TOO_MANY],
        ("passed", "any number"): [TOO_MANY | knob(descriptor_limit=-1)],
        ("failed", "10 threads needed, 9 allowed"): [{"threads_allowed": 9}],
        ("passed", "10 threads needed, unknown allowed"): [{"threads_allowed": None}],
        ("passed", "74 descriptors needed, 1024 allowed"): [trial(strategy="callbacks")],
        ("not applicable", "is unknown"): [knob(descriptor_limit=None)],
    },
    "settings applied": {
        ("passed", "cpus, strategy"): [knob(gil=False)],
        ("failed", "cpus: wanted [1], got [0, 1]"): [knob(cpus=[0, 1])],
        ("failed", "loop: wanted 'uvloop', got None"): [{"wanted": {"loop": "uvloop"}}],
    },
    "CPU work done": {
        ("passed", "done for 5000 of 5000 pages, 2.1 of 2 ms"): [{}],
        ("not applicable", "no CPU work"): [trial(cpu=["0"])],
        ("failed", "done for 4999 of 5000 pages"): [client(worked_pages=4999)],
        ("failed", "1.49 of 2 ms"): [client(work_ns=1_490_000)],
        ("passed", "1.5 of 2 ms"): [client(work_ns=1_500_000)],
        ("passed", "2.5 of 2 ms"): [client(work_ns=2_500_000)],
        ("failed", "2.51 of 2 ms"): [client(work_ns=2_510_000)],
    },
}
"""What changes the verdict on good figures, by the name of the check and by what it says."""


@pytest.mark.parametrize(
    ("name", "verdict", "words", "changes"),
    [
        (name, verdict, words, changes)
        for name, judged in BOTH_SIDES.items()
        for (verdict, words), cases in judged.items()
        for changes in cases
    ],
)
def test_a_check_applies_its_bound_and_reports_its_figures_and_fails_no_other(
    name: str, verdict: str, words: str, changes: dict[str, Any]
) -> None:
    made = {check.name: check for check in checks(**changes)}

    assert made[name].verdict == verdict
    assert words in made[name].detail
    assert [check.name for check in made.values() if check.verdict == "failed"] == [name] * (verdict == "failed")


def test_every_check_is_tested_on_both_sides() -> None:
    assert list(BOTH_SIDES) == [check.name for check in checks() if check.verdict == "passed"] == list(CHECKS)
    assert all(any(verdict == "failed" for verdict, _ in judged) for judged in BOTH_SIDES.values())


def test_a_crawl_without_pages_can_be_checked() -> None:
    nothing = {"pages": 0, "peak_in_flight": 0, "tries": 0, "worked_pages": 0}
    idle = {"peak_in_flight": 0, "requests": 0}

    made = checks(measured=nothing, server=idle, wrong="10 pages missing")

    invalid = {found.name for found in made if found.verdict == "failed"}
    assert invalid == {"answer correct", "cap reached, never exceeded"}
