"""Every rule, with made-up rows on both sides of its boundary, and with too few of them."""

from dataclasses import replace

import pytest

import strategies
from bench import claims
from bench.analyse.claims import RULES, WORDS, Word
from bench.analyse.claims.evidence import shows_a_limit
from bench.analyse.claims.knee import sustained_per_s
from bench.present.claims import explained, places
from bench.rows import Row, Status
from tests.claims.cases import CASES, Case
from tests.claims.made_claim_rows import held_row, timed_rows
from tests.made_rows import RED, memory_row

KNOWN = strategies.names()


CLOSE = {
    "thread-memory": {"just matched by 50k", "a hundred and more"},
    "coroutine-memory": {"all below"},
    "memory-ratio": {"both above ten", "neither"},
    "many-coroutines": {"in more than a minute"},
    "thread-failure": {"just tens of thousands", "fewer", "a hundred thousand", "more, without a failure"},
    "threads-before-sockets": {"between", "a tenth below", "just more threads reached"},
    "callbacks-efficient": {"as efficient", "heavier"},
    "diminishing-returns": {"one falls", "level"},
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
    claim_id, _, rows, verdict = case
    claim = claims.load(claim_id, KNOWN)
    outcome = RULES[claim_id](rows)

    assert places(claim.explanations[verdict]) <= set(outcome.values)
    assert places(claim.explanations["mechanism"]) <= set(outcome.values)
    assert "{" not in explained(claim.verdict(outcome))


@pytest.mark.parametrize("claim_id", RULES)
def test_every_verdict_can_come_out(claim_id: str) -> None:
    assert {verdict for claim, _, _, verdict in CASES if claim == claim_id} == set(WORDS)


@pytest.mark.parametrize("claim_id", RULES)
def test_no_row_at_all_is_inconclusive(claim_id: str) -> None:
    outcome = RULES[claim_id]([])

    assert outcome.verdict == "inconclusive"
    assert outcome.reason


@pytest.mark.parametrize("claim_id", RULES)
def test_red_rows_are_part_of_no_conclusion(claim_id: str) -> None:
    rows = [replace(row, checks=(RED,)) for row in rows_that_hold(claim_id)]

    assert RULES[claim_id](rows).verdict == "inconclusive"


@pytest.mark.parametrize("claim_id", RULES)
def test_rows_that_were_stopped_by_the_budget_or_are_not_installed_lead_to_no_verdict(claim_id: str) -> None:
    for reason in ("stopped by the memory budget: 2.00 GB of 1.00 GB were used", "not installed: aiohttp"):
        rows = [replace(row, status="failed", reason=reason, measured={}) for row in rows_that_hold(claim_id)]

        outcome = RULES[claim_id](rows)

        assert outcome.verdict == "inconclusive"
        assert outcome.values.keys() == RULES[claim_id](rows_that_hold(claim_id)).values.keys()


@pytest.mark.parametrize("claim_id", sorted(set(RULES) - {"no-gil"}))
def test_an_inconclusive_outcome_names_what_went_wrong(claim_id: str) -> None:
    rows = [replace(row, status="timeout", reason="out of time", measured={}) for row in rows_that_hold(claim_id)]

    outcome = RULES[claim_id](rows)

    assert "timeout: out of time" in outcome.reason


def timeline_row(completions: list[int]) -> Row:
    timeline = {"bin_ns": 10_000_000, "completions": completions, "in_flight": [1] * len(completions)}
    pages = {"pages": sum(completions), "timeline": timeline}
    return timed_rows("callbacks", 7.0, changes=pages)[0]


def test_sustained_throughput_leaves_out_the_beginning_and_the_end() -> None:
    slow_start, steady, slow_end = [0] * 50, [100] * 10, [1] * 10

    assert sustained_per_s(timeline_row(slow_start + steady + slow_end)) == pytest.approx(10_000)


def test_a_crawl_that_is_too_short_for_its_bins_is_taken_whole() -> None:
    assert sustained_per_s(timeline_row([100, 100, 100])) == 7.0


def test_a_c10k_row_with_listen_drops_says_nothing_of_its_strategy() -> None:
    rows = rows_that_hold("c10k")
    dropped = [replace(row, checks=(RED,), measured=row.measured | {"listen_drops": 40}) for row in rows[:1]]

    outcome = RULES["c10k"]([*dropped, *rows[1:]])

    assert outcome.verdict == "inconclusive"
    assert '"server had room" failed' in outcome.reason


@pytest.mark.parametrize(
    ("claim_id", "told", "words"),
    [
        ("thread-failure", "fewer", "it fails before that"),
        ("threads-before-sockets", "between", "threads end after descriptors, before ports"),
        ("async-not-faster", "ranges overlap at one", "chance may explain it at 100 in flight"),
        ("callbacks-efficient", "across twice", "the cheaper one's range lies across 2.0x"),
        ("callbacks-efficient", "no memory", "memory has no slope"),
        ("no-gil", "both with a lock", "the interpreter that was given has a global lock"),
        ("no-gil", "overlap", "chance may explain it:"),
        ("async-sleepy", "overlap", "chance may explain it:"),
        ("async-sleepy", "one round", "too few valid rounds:"),
        ("diminishing-returns", "overlap", "chance may explain it for callbacks:"),
        ("diminishing-returns", "one falls", "callbacks only"),
        ("diminishing-returns", "level", "none, but returns end"),
        ("xkcd", "some", "in every round; callbacks"),
        ("xkcd", "none", "in every round; none"),
        ("xkcd", "one red", "not known of thread_pool:"),
        ("select-scales", "swaying", "a range lies across its boundary"),
        ("pooling-pays", "overlap", "not known of threads:"),
        ("races", "no coroutines", "no valid row of coroutines"),
        ("grow-on-demand", "across a second", "a range lies across the boundary"),
        ("memory-ratio", "no asyncio in flight", "no ratio in all layers: unknown here"),
        ("thread-memory", "disturbed", "in 10 of 10 rows other processes moved the kernel's counts"),
        ("many-coroutines", "one kind does not", "failed: MemoryError"),
    ],
)
def test_the_reason_names_what_decided_or_what_is_not_known(claim_id: str, told: str, words: str) -> None:
    (rows,) = (rows for claim, case, rows, _ in CASES if (claim, case) == (claim_id, told))

    assert words in RULES[claim_id](rows).reason


def test_a_strategy_of_which_nothing_is_known_was_tried_all_the_same() -> None:
    unknown = held_row("generators", 10_000, status="skipped", reason="stopped by the memory budget: 9 GB")

    values = RULES["c10k"]([*rows_that_hold("c10k"), unknown]).values

    assert (values["able"], values["tried"], values["unable"]) == (3, 4, None)


@pytest.mark.parametrize(
    ("status", "reason", "told"),
    [
        ("skipped", "stopped by the memory budget: 9 GB", "1 of 1 rows are not valid: stopped by the memory budget"),
        ("failed", "the fake server died", "1 of 1 rows are not valid: failed: the fake server died"),
    ],
)
def test_a_row_that_was_skipped_is_told_by_its_reason_alone(status: Status, reason: str, told: str) -> None:
    rows = [*rows_that_hold("c10k"), held_row("generators", 10_000, status=status, reason=reason)]

    assert f"generators ({told}" in RULES["c10k"](rows).reason


def test_a_strategy_that_is_not_installed_takes_nothing_from_the_others() -> None:
    absent = held_row("aiohttp_client", 10_000, status="skipped", reason="not installed: aiohttp")

    assert "not installed: aiohttp_client" in RULES["c10k"]([*rows_that_hold("c10k"), absent]).reason


def rows_that_hold(claim_id: str) -> list[Row]:
    return next(rows for claim, _, rows, verdict in CASES if (claim, verdict) == (claim_id, holds()))


def holds() -> Word:
    return "holds"


@pytest.mark.parametrize(
    ("status", "reason", "shows"),
    [
        ("failed", "the worker was killed by signal 9 (SIGKILL)", False),
        ("failed", "the fake server died in mid-trial (the server stopped)", False),
        ("timeout", "the worker was not done by its deadline, and was killed", False),
        ("failed", "stopped by the memory budget: 9,000 MB were used, 8,000 MB allowed", False),
        ("skipped", "not installed: aiohttp", False),
        ("skipped", "10,000 threads are more than RLIMIT_NPROC allows; use at most 900", True),
        ("failed", "the strategy raised RuntimeError: can't start new thread", True),
        ("failed", "only 4,000 could be started: [Errno 24] Too many open files", True),
    ],
)
def test_only_a_limit_in_words_shows_that_something_cannot_be_done(status: Status, reason: str, shows: bool) -> None:
    assert shows_a_limit(memory_row(status=status, reason=reason)) is shows
