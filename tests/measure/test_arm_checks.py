"""Each check of an arm fails on its own figures."""

from dataclasses import replace
from typing import Any

import pytest

from inflight.bench.measure.blocks.block import MS
from inflight.bench.measure.blocks.checks import CHECKS, Evidence
from inflight.bench.measure.checks import judge

MEASURED = {
    "pages": 9000, "failed_pages": 0, "tries": 9000, "requests": 9000, "peak_in_flight": 100, "held_in_flight": 100,
    "pages_per_s": 10_000.0, "listen_drops": 0, "worked_pages": 9000, "work_ns": MS,
}  # fmt: skip
GOOD = Evidence(
    cap=100,
    cpu_ns=MS,
    answer_difference=None,
    client_share=0.98,
    measured=MEASURED,
    server={"cpu_share": 0.4, "ceiling_per_s": 50_000.0},
    knobs={"strategy": "callbacks", "cpus": [1], "variables": {}},
    wanted_knobs={"strategy": "callbacks", "cpus": [1], "variables": {}},
)


def measured(**other: Any) -> Evidence:
    return replace(GOOD, measured=MEASURED | other)


RED = [
    ("answer correct", replace(GOOD, answer_difference="1 of 10 pages are missing"), "1 of 10 pages are missing"),
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
    ("requests counted alike", measured(requests=9001), "client sent 9000, server received 9001"),
    ("requests counted alike", measured(tries=9001), "client sent 9001, server received 9000"),
    (
        "server had room",
        replace(GOOD, server={"cpu_share": 0.95, "ceiling_per_s": 50_000.0}, client_share=0.3),
        "95 % of its core",
    ),
    (
        "server had room",
        replace(GOOD, server=dict(GOOD.server) | {"cpu_share": 0.95}, client_share=0.85),
        "95 % of its core, limit 90 %; the client used 85 % of its own",
    ),
    ("server had room", replace(GOOD, server={"cpu_share": 0.95}, client_share=None), "95 % of its core"),
    (
        "settings applied",
        replace(GOOD, knobs=dict(GOOD.knobs) | {"cpus": [0, 1]}),
        "cpus: wanted [1], got [0, 1]",
    ),
    ("CPU work done", measured(worked_pages=8999), "done for 8999 of 9000 pages"),
]


def test_an_arm_with_good_figures_has_no_red_check() -> None:
    found = judge(CHECKS, GOOD)

    assert {one.name: one.verdict for one in found} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.parametrize(("name", "evidence", "words"), RED)
def test_each_check_fails_on_its_own_figures_and_reports_them(name: str, evidence: Evidence, words: str) -> None:
    red = [one for one in judge(CHECKS, evidence) if one.verdict == "failed"]

    assert [one.name for one in red] == [name]
    assert words in red[0].detail


def test_each_check_failed_once() -> None:
    assert {name for name, _, _ in RED} == set(CHECKS)


def test_unused_checks_are_not_applicable() -> None:
    found = {one.name: one.verdict for one in judge(CHECKS, replace(GOOD, cpu_ns=0))}

    assert {name for name, verdict in found.items() if verdict == "not applicable"} == {"CPU work done"}


def test_a_part_of_a_page_may_fill_the_server() -> None:
    evidence = replace(GOOD, server=dict(GOOD.server) | {"cpu_share": 0.98}, client_share=0.77)

    assert CHECKS["server had room"](evidence)[0] == "failed"
    assert CHECKS["server had room"](replace(evidence, is_part=True))[0] == "not applicable"


@pytest.mark.parametrize(("share", "client"), [(0.95, 0.99), (0.95, 0.86), (1.0, 0.9)])
def test_a_full_server_is_accepted_if_the_client_is_as_full(share: float, client: float) -> None:
    evidence = replace(GOOD, server=dict(GOOD.server) | {"cpu_share": share}, client_share=client)

    assert CHECKS["server had room"](evidence)[0] == "passed"
