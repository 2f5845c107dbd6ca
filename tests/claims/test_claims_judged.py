"""Every claim, with rows on each side of its boundaries, and with too few of them."""

from typing import Any

import msgspec
import pytest

from inflight.bench.claims.evaluate import decide, judge
from inflight.bench.claims.verdicts import PartAnswer, Verdict, Yes
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.claims.cases import CASES, CLAIMS, Case, made, recorded, stored
from tests.made_rows import edited
from tests.varied import Ending

ENDINGS: tuple[Ending, ...] = ("invalid", "failed", "memory budget", "not installed")


def judged(claim: str, rows: list[Row]) -> Verdict:
    return judge(CLAIMS[claim], rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1]} {len(case[2])}".replace(" ", "_"))
def test_a_claim_is_decided_by_its_boundaries(case: Case) -> None:
    claim, word, changes = case

    verdict = judged(claim, made(claim, changes))

    assert verdict.word == word, verdict.answers
    assert verdict.measured or any(one.measured for one in verdict.answers)
    assert verdict.why
    assert "{" not in verdict.why


def test_each_claim_has_a_case_of_each_verdict() -> None:
    verdicts = [(one.id, one.word) for one in stored()]
    for claim in CLAIMS.values():
        words = {word for name, word in (*verdicts, *(case[:2] for case in CASES)) if name == claim.id} - {"not tested"}
        best = "demonstration" if claim.file.is_demonstration else "true"
        assert words >= {best, "partly true", "not true here"}, claim.id
        assert claim.file.parts == () or "partly true (borderline)" in words, claim.id


def test_the_stored_verdicts_are_those_of_the_stored_rows() -> None:
    judged_again = {name: rounded(msgspec.to_builtins(judged(name, rows))) for name, rows in recorded().items()}

    assert judged_again == {one.id: rounded(msgspec.to_builtins(one)) for one in stored()}


def rounded(value: Any) -> Any:
    """Return values with nine digits: the last ones depend on the instructions that the processor has."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_every_figure_and_every_part_is_known_in_the_reference_run() -> None:
    for name, rows in recorded().items():
        verdict = judged(name, rows)
        assert [one.name for one in verdict.figures.values() if one.reason] == [] or name == "client-collapse"
        assert [one.name for one in verdict.answers if one.answer == "unknown"] == []
        names = [one.name for one in verdict.figures.values()]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("claim", [name for name, each in CLAIMS.items() if each.file.needs])
def test_a_program_without_the_figures_of_its_claim_decides_nothing(claim: str) -> None:
    rows = [
        changed(row, measured=row.workload.arguments | {"python": "3.13"}) if row.kind == "probe" else row
        for row in recorded()[claim]
    ]

    verdict = judged(claim, rows)

    assert any(one.answer == "unknown" for one in verdict.answers)
    assert verdict.word in {"not tested", "partly true (borderline)"}, verdict.answers
    if verdict.word == "not tested":
        assert "the figures of its program are missing" in verdict.why


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_that_are_not_valid_decide_nothing(claim: str, ending: Ending) -> None:
    rows = made(claim, [("round > 0", ending)])

    verdict = judged(claim, rows)

    assert (verdict.word, verdict.exhibits) == ("not tested", {})
    assert f"not valid are {len(rows)} of {len(rows)}" in verdict.why
    assert str(rows[0].invalid_reasons[0]) in verdict.why


def test_an_argument_that_is_no_number_is_none() -> None:
    row, *rows = recorded()["select-scales"]
    hostile = edited(row, workload={"arguments": {"selector": "poll", "idle": "many"}})

    assert judged("select-scales", [hostile, *rows]).word == "true"


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_row_is_no_test(claim: str) -> None:
    assert judged(claim, []).word == "not tested"


Parts = list[tuple[str, Yes]]


@pytest.mark.parametrize(
    ("parts", "word", "is_borderline"),
    [
        ([], "not tested", False),
        ([("a", "yes"), ("", "yes")], "true", False),
        ([("a", "yes"), ("", "no")], "partly true", False),
        ([("a", "yes"), ("a", "no")], "partly true", False),
        ([("a", "no"), ("a", "no"), ("", "yes")], "not true here", False),
        ([("a", "no"), ("b", "yes")], "not true here", False),
        ([("a", "yes"), ("", "borderline")], "partly true", True),
        ([("a", "yes"), ("", "no"), ("", "borderline")], "partly true", False),
        ([("a", "yes"), ("", "no"), ("", "unknown")], "partly true", False),
        ([("a", "borderline"), ("", "no")], "partly true", True),
        ([("a", "unknown"), ("", "no")], "not tested", False),
        ([("a", "yes"), ("", "unknown"), ("", "borderline")], "not tested", False),
        ([("a", "no"), ("", "unknown")], "not true here", False),
    ],
)
def test_a_verdict_follows_from_the_parts(parts: Parts, word: str, is_borderline: bool) -> None:
    answers = [PartAnswer(name="a part", answer=yes, must="be so", core=core) for core, yes in parts]

    assert decide(answers) == (word, is_borderline)


def test_further_clients_are_shown_and_decide_nothing() -> None:
    rows = recorded()["client-collapse"]
    verdict = judged("client-collapse", [*rows, *(changed(row, strategy="my_client") for row in rows)])

    assert "16, my_client: " in verdict.measured
    assert verdict.answers == judged("client-collapse", rows).answers
