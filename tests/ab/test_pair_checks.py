"""Each check of a pair on both sides of its bound; and none of them may favour a side."""

import copy
from typing import Any

import pytest
from bench.measure.pair_checks import (
    CHECKS,
    MOST_DRIFT,
    MOST_RUN_DELAY_SHARE,
    MOST_STEAL_SHARE,
    PairEvidence,
    check,
)
from hypothesis import given
from hypothesis import strategies as st

from bench.rows import Check

ORDER = "ABBABAAB"
MS = 1_000_000


def turn(side: str, **changed: int) -> dict[str, Any]:
    usual = {"cpu_ns": 10 * MS, "makespan_ns": 10 * MS, "pages": 300, "failed_pages": 0, "tries": 300}
    return usual | {"peak_in_flight": 100, "side": side, "warm_up": False} | changed


def turns(**changed: int) -> list[dict[str, Any]]:
    """Return eight turns, of which the last, one of B, is changed."""
    return [*(turn(side) for side in ORDER[:-1]), turn(ORDER[-1], **changed)]


def counts(**changed: Any) -> list[dict[str, Any]]:
    """Return what the server counted in eight turns, of which the last is changed."""
    usual = {"requests": 300, "cpu_share": 0.4, "peak_in_flight": 100}
    return [*(dict(usual) for _ in ORDER[:-1]), usual | changed]


def drifting(share: float) -> list[dict[str, Any]]:
    """Return turns of which the later half takes so much more time than the earlier one."""
    later = round(10 * MS * (1 + share))
    return [turn(side, makespan_ns=10 * MS if place < 4 else later) for place, side in enumerate(ORDER)]


SOUND: dict[str, Any] = {
    "turns": turns(),
    "caps": {"A": 100, "B": 100},
    "waits": True,
    "differences": [],
    "expected_failures": 0,
    "client_shares": [0.99] * 8,
    "server": counts(),
    "ceiling_per_s": 100_000.0,
    "run_delay_share": 0.0,
    "steal_share": 0.0,
    "listen_drops": 0,
    "knobs": {side: {"strategy": "callbacks", "variables": {}, "cpus": [1], "gil": True} for side in "AB"},
    "wanted_knobs": {side: {"strategy": "callbacks", "variables": {}, "cpus": [1]} for side in "AB"},
}
BUSY = [dict(count, cpu_share=0.9) for count in counts()]


def judged(name: str, **changed: Any) -> Check:
    (found,) = (one for one in check(evidence(**changed)) if one.name == name)
    return found


def evidence(**changed: Any) -> PairEvidence:
    return PairEvidence(**copy.deepcopy(SOUND) | changed)


def test_a_sound_pair_passes_every_check() -> None:
    assert {one.name: one.verdict for one in check(evidence())} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("answer correct", {"differences": ["side B: 1 pages missing"]}),
        ("no unexpected failures", {"turns": turns(failed_pages=1)}),
        ("no unexpected failures", {"expected_failures": 1}),
        ("cap reached, never exceeded", {"turns": turns(peak_in_flight=99)}),
        ("cap reached, never exceeded", {"turns": turns(peak_in_flight=101)}),
        ("cap reached, never exceeded", {"server": counts(peak_in_flight=101)}),
        ("cap reached, never exceeded", {"caps": {"A": 100, "B": 99}}),
        ("cap reached, never exceeded", {"waits": False, "turns": turns(peak_in_flight=89)}),
        ("requests counted alike", {"turns": turns(tries=301)}),
        ("requests counted alike", {"server": counts(requests=299)}),
        ("server had room", {"server": BUSY, "client_shares": None}),
        ("server had room", {"server": BUSY, "ceiling_per_s": None}),
        ("server had room", {"server": BUSY, "client_shares": [0.94] * 8}),
        ("server had room", {"server": BUSY, "ceiling_per_s": 40_000.0}),
        ("client had its core", {"run_delay_share": MOST_RUN_DELAY_SHARE + 0.001}),
        ("no listen drops", {"listen_drops": 1}),
        ("no CPU steal", {"steal_share": MOST_STEAL_SHARE + 0.001}),
        ("turns steady", {"turns": drifting(MOST_DRIFT + 0.01)}),
        ("turns steady", {"turns": drifting(-MOST_DRIFT - 0.01)}),
        ("knobs reached the worker", {"wanted_knobs": {"A": {}, "B": {"cpus": [0]}}}),
        ("knobs reached the worker", {"wanted_knobs": {"A": {"executable": "/x"}, "B": {}}}),
        ("knobs reached the worker", {"wanted_knobs": {"A": {}, "B": {"variables": {"X": "1"}}}}),
    ],
)
def test_red(name: str, changed: dict[str, Any]) -> None:
    found = judged(name, **changed)

    assert found.verdict == "failed"
    assert found.detail


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("no unexpected failures", {"turns": [turn(side, failed_pages=2) for side in ORDER], "expected_failures": 2}),
        ("cap reached, never exceeded", {"server": counts(peak_in_flight=1)}),
        ("cap reached, never exceeded", {"waits": False, "turns": turns(peak_in_flight=90)}),
        ("server had room", {"server": BUSY}),
        ("server had room", {"client_shares": None, "ceiling_per_s": None}),
        ("client had its core", {"run_delay_share": MOST_RUN_DELAY_SHARE}),
        ("no CPU steal", {"steal_share": MOST_STEAL_SHARE}),
        ("turns steady", {"turns": drifting(MOST_DRIFT - 0.01)}),
        ("turns steady", {"turns": [turn(side, makespan_ns=10 * MS * (1 + 4 * (side == "B"))) for side in ORDER]}),
        ("knobs reached the worker", {"wanted_knobs": {"A": {}, "B": {}}}),
    ],
)
def test_green(name: str, changed: dict[str, Any]) -> None:
    assert judged(name, **changed).verdict == "passed"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("requests counted alike", {"expected_failures": 2}),
        ("client had its core", {"run_delay_share": None}),
        ("no listen drops", {"listen_drops": None}),
        ("no CPU steal", {"steal_share": None}),
    ],
)
def test_what_is_not_known_is_not_held_against_a_pair(name: str, changed: dict[str, Any]) -> None:
    found = judged(name, **changed)

    assert found.verdict == "not applicable"
    assert found.detail


def test_a_red_check_names_the_side_and_the_figures() -> None:
    assert judged("cap reached, never exceeded", turns=turns(peak_in_flight=99)).detail == (
        "not reached: side B: cap 100, most in flight: client 99, server 100"
    )
    assert judged("knobs reached the worker", wanted_knobs={"A": {"gil": False}, "B": {}}).detail == (
        "side A: gil: wanted False, got True"
    )
    assert judged("answer correct", differences=["side A: x", "side B: y"]).detail == "2 turns: side A: x"


figures = st.integers(1, 20 * MS)
a_turn = st.fixed_dictionaries(
    {
        "cpu_ns": figures,
        "makespan_ns": figures,
        "pages": st.just(300),
        "failed_pages": st.integers(0, 1),
        "tries": st.integers(299, 301),
        "peak_in_flight": st.integers(85, 101),
    }
)
a_count = st.fixed_dictionaries(
    {"requests": st.integers(299, 301), "cpu_share": st.floats(0, 1), "peak_in_flight": st.integers(1, 101)}
)
knobs = st.fixed_dictionaries({side: st.dictionaries(st.sampled_from("xy"), st.integers(0, 1)) for side in "AB"})


@st.composite
def evidences(draw: st.DrawFn) -> dict[str, Any]:
    drawn = draw(st.lists(a_turn, min_size=8, max_size=8))
    order = draw(st.sampled_from([ORDER, "BAABABBA"]))
    share = st.none() | st.floats(0, 1)
    return {
        "turns": [one | {"side": side, "warm_up": False} for one, side in zip(drawn, order, strict=True)],
        "caps": {side: draw(st.integers(95, 101)) for side in "AB"},
        "waits": draw(st.booleans()),
        "differences": draw(st.lists(st.sampled_from(["side A: x", "side B: y"]), max_size=2)),
        "expected_failures": draw(st.integers(0, 1)),
        "client_shares": draw(st.none() | st.lists(st.floats(0.9, 1), min_size=8, max_size=8)),
        "server": draw(st.lists(a_count, min_size=8, max_size=8)),
        "ceiling_per_s": draw(st.none() | st.floats(1, 1e6)),
        "run_delay_share": draw(share),
        "steal_share": draw(share),
        "listen_drops": draw(st.none() | st.integers(0, 1)),
        "knobs": draw(knobs),
        "wanted_knobs": draw(knobs),
    }


def verdicts(of: dict[str, Any]) -> dict[str, str]:
    return {one.name: one.verdict for one in check(PairEvidence(**of))}


def swapped(of: dict[str, Any]) -> dict[str, Any]:
    """Return the evidence of the same pair, had its sides been named the other way round."""
    other = {"A": "B", "B": "A"}
    renamed = {key: {side: of[key][other[side]] for side in "AB"} for key in ("caps", "knobs", "wanted_knobs")}
    return of | renamed | {"turns": [one | {"side": other[one["side"]]} for one in of["turns"]]}


@given(of=evidences())
def test_swapping_the_sides_changes_no_verdict(of: dict[str, Any]) -> None:
    assert verdicts(of) == verdicts(swapped(of))


@given(of=evidences(), times=st.integers(2, 50))
def test_how_much_slower_a_side_is_does_not_show_in_the_drift(of: dict[str, Any], times: int) -> None:
    steady = of | {"turns": [turn(one["side"]) for one in of["turns"]]}
    slower = [
        one | {"makespan_ns": one["makespan_ns"] * (times if one["side"] == "B" else 1)} for one in steady["turns"]
    ]

    assert verdicts(steady)["turns steady"] == verdicts(steady | {"turns": slower})["turns steady"] == "passed"
