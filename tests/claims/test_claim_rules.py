"""Every rule, with made-up rows on both sides of its boundary, and with too few of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight import strategies
from inflight.bench.core.cells import cpu_per_page_ns
from inflight.bench.rows.files import Cause, Row
from inflight.bench.rows.records import changed
from inflight.bench.studies import claims
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.rules.evidence import Range, ratio
from inflight.bench.studies.claims.verdicts import WORDS, Word, places
from tests.claims.cases import CASES, Case
from tests.claims.made_claim_rows import arm_rows, held_row
from tests.made_rows import FAILED, edited

KNOWN = strategies.names()


CLOSE = {
    "thread-memory": {"just matched by 50k", "a hundred and more"},
    "coroutine-memory": {"all below"},
    "memory-ratio": {"both above ten", "neither"},
    "many-coroutines": {"in more than a minute"},
    "thread-failure": {"just tens of thousands", "fewer", "a hundred thousand", "more, without a failure"},
    "threads-before-sockets": {"between", "a tenth below", "just more threads reached"},
    "callbacks-efficient": {"as efficient", "heavier"},
    "uvloop-faster": {"a little in one case", "alike"},
    "streams-cost": {"one site only", "neither"},
    "await-is-free": {"alike", "dearer with small pages", "dearer"},
    "eager-tasks": {"twice", "a little", "no gain"},
    "diminishing-returns": {"one falls", "none falls"},
    "free-threading-cost": {"cheap", "cheap in part"},
    "newer-is-faster": {"one", "none"},
    "xkcd": {"all", "some", "none"},
    "spin-wastes": {"half a core", "nobody rests", "does not"},
    "select-scales": {"as claimed", "epoll grows", "poll does not"},
    "pooling-pays": {"connections only", "neither"},
    "grow-on-demand": {"coroutines late"},
}
"""The cases of which a figure lies within a tenth of a boundary (of thread-failure, within a hundredth)."""


def named(case: Case) -> str:
    return f"{case[0]}: {case[1]}".replace(" ", "_")


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_rule_decides_by_its_boundary_and_says_when_it_is_near(case: Case) -> None:
    claim_id, told, rows, verdict = case

    outcome = RULES[claim_id](rows)

    assert outcome.verdict == verdict, outcome.reason
    assert outcome.close is (told in CLOSE.get(claim_id, ()))
    assert outcome.figures
    assert outcome.region
    assert outcome.reason


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_explanation_has_all_its_figures(case: Case) -> None:
    claim_id, _, rows, _ = case
    claim = claims.load(claim_id, KNOWN)
    outcome = RULES[claim_id](rows)

    told = claim.verdict(outcome)

    assert places(told.template) <= set(outcome.values)
    assert "{" not in told.explanation


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("another client too", "Further clients kept: my_client: "),
        ("across", "Not decided: httpx_client (the interval includes 50 %)."),
        ("the largest cap is unknown", "Not decided: httpx_client (no valid row with 200 in flight)."),
    ],
)
def test_the_collapse_names_further_clients_and_why_nothing_is_decided(told: str, sentence: str) -> None:
    claim = claims.load("client-collapse", KNOWN)
    explanations = {
        case[1]: claim.verdict(RULES[case[0]](case[2])).explanation for case in CASES if case[0] == "client-collapse"
    }

    assert sentence in explanations.pop(told)
    assert not any(sentence in other for other in explanations.values())


@pytest.mark.parametrize("claim_id", RULES)
def test_every_verdict_is_possible(claim_id: str) -> None:
    assert {verdict for claim, _, _, verdict in CASES if claim == claim_id} == set(WORDS)


@pytest.mark.parametrize("claim_id", RULES)
def test_invalid_rows_are_part_of_no_conclusion(claim_id: str) -> None:
    rows = [changed(row, checks=(FAILED,)) for row in rows_that_hold(claim_id)]

    assert RULES[claim_id](rows).verdict == "inconclusive"


@pytest.mark.parametrize("claim_id", RULES)
@pytest.mark.parametrize("cause", ["memory budget", None])
def test_failures_without_a_limit_give_no_verdict(claim_id: str, cause: Cause | None) -> None:
    held = rows_that_hold(claim_id)
    rows = [changed(row, status="failed", reason="it broke off", cause=cause, measured={}) for row in held]

    outcome = RULES[claim_id](rows)

    assert outcome.verdict == "inconclusive"
    assert outcome.values.keys() == RULES[claim_id](held).values.keys()


@pytest.mark.parametrize("claim_id", RULES)
def test_a_claim_with_only_skipped_trials_is_not_tested(claim_id: str) -> None:
    rows = [
        changed(row, status="skipped", reason="it is missing", cause="not installed", measured={}, knobs={}, checks=())
        for row in rows_that_hold(claim_id)
    ]

    assert RULES[claim_id](rows).verdict == "not tested"


@pytest.mark.parametrize("claim_id", RULES)
def test_an_inconclusive_outcome_names_the_reason(claim_id: str) -> None:
    rows = [changed(row, status="timeout", reason="out of time", measured={}) for row in rows_that_hold(claim_id)]

    assert "timeout: out of time" in RULES[claim_id](rows).reason


@pytest.mark.parametrize("case", [case for case in CASES if case[3] == "inconclusive"], ids=named)
def test_an_inconclusive_outcome_names_the_parts_that_are_not_decided(case: Case) -> None:
    claim_id, _, rows, _ = case

    outcome = RULES[claim_id](rows)

    for part in str(outcome.values["undecided"]).split("; "):
        assert f"{part.partition(' (')[0]} unknown" in outcome.reason


@given(st.lists(st.floats(0.2, 5), min_size=2, max_size=8), st.floats(0.2, 5))
def test_a_ratio_is_that_of_pairs_and_inverts_with_its_sides(noise: list[float], factor: float) -> None:
    one = arm_rows("thread_pool", *(20_000_000 * each * factor for each in noise))
    other = arm_rows("callbacks", *(20_000_000 * each for each in noise))

    found, turned = ratio(one, other, cpu_per_page_ns), ratio(other, one, cpu_per_page_ns)

    assert isinstance(found, Range)
    assert isinstance(turned, Range)
    assert found.value == pytest.approx(factor, rel=1e-4)
    assert (found.low, found.high) == pytest.approx((1 / turned.high, 1 / turned.low), rel=1e-4)
    assert found.low <= factor * 1.0001
    assert factor <= found.high * 1.0001


def test_one_block_alone_has_no_interval() -> None:
    found = ratio(arm_rows("thread_pool", 1), arm_rows("callbacks", 1), cpu_per_page_ns)

    assert isinstance(found, Range)
    assert (found.low, found.high) == (0, math.inf)


def test_a_c10k_row_with_listen_drops_does_not_decide() -> None:
    rows = rows_that_hold("c10k")
    dropped = [edited(row, checks=(FAILED,), measured={"listen_drops": 40}) for row in rows[:1]]

    outcome = RULES["c10k"]([*dropped, *rows[1:]])

    assert outcome.verdict == "inconclusive"
    assert '"server had room" failed' in outcome.reason


def test_a_strategy_with_an_unknown_outcome_counts_as_tried() -> None:
    unknown = changed(held_row("generators", 10_000, status="failed"), cause="memory budget")

    values = RULES["c10k"]([*rows_that_hold("c10k"), unknown]).values

    assert (values["able"], values["tried"], values["unable"]) == (3, 4, None)


def test_a_strategy_that_is_not_installed_does_not_change_the_verdict() -> None:
    absent = changed(held_row("aiohttp_client", 10_000, status="skipped"), cause="not installed")

    outcome = RULES["c10k"]([*rows_that_hold("c10k"), absent])

    assert outcome.verdict == "holds"
    assert outcome.values["tried"] == 3


def rows_that_hold(claim_id: str) -> list[Row]:
    return next(rows for claim, _, rows, verdict in CASES if (claim, verdict) == (claim_id, holds()))


def holds() -> Word:
    return "holds"
