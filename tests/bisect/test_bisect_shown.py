"""What a bisection says, and that an unfinished one can be read again."""

import json
from dataclasses import replace

import pytest

from inflight.bench.studies.bisect import show
from inflight.bench.studies.bisect.record import Bisection, Change, Commit, Step
from inflight.bench.studies.bisect.walk import Answer
from inflight.bench.studies.compare.rule import DESIGNED

COMMITS = tuple(Commit(f"{number}" * 40, f"change {number}") for number in range(1, 9))
START = Bisection("callbacks", Commit("0" * 40, "the good one"), COMMITS, {"latency": "0"})
SLOWER = (Change("cpu_per_page", 1.08, 1.06, 1.1),)


def step(number: int, answer: Answer) -> Step:
    return Step(COMMITS[number - 1].id, answer, f"as {answer}", 1, 12, SLOWER, (f"run-{number}",))


def after(*steps: tuple[int, Answer]) -> Bisection:
    found = START
    for one in steps:
        found = found.after(step(*one))
    return found


FOUND = after((8, "regression"), (4, "pass"), (6, "regression"), (5, "pass"))
OPEN = after((8, "regression"), (4, "regression"), (2, "inconclusive"))


def test_the_commit_is_named_with_its_subject() -> None:
    assert FOUND.is_over
    assert FOUND.verdict == "regression"
    assert show.title(FOUND) == "REGRESSION: 666666666666 (change 6) is the first of 8 commits that is worse than GOOD"
    assert "+8.0 %" in show.text(FOUND).plain
    assert "at most 4 %" in show.text(FOUND).plain


def test_the_chance_of_the_right_commit_says_what_it_assumes() -> None:
    (told,) = show.right_told(replace(FOUND, right=0.917, assumed=0.058))

    assert "If the change is +6.0 %" in told
    assert "92 % of simulated searches" in told
    assert "more than 99 % of simulated searches" in "".join(show.right_told(replace(FOUND, right=1.0, assumed=0.058)))
    assert not list(show.right_told(FOUND))


def test_an_inconclusive_search_names_the_commits_that_remain() -> None:
    assert OPEN.is_over
    assert OPEN.verdict == "inconclusive"
    assert show.title(OPEN) == "INCONCLUSIVE: it is one of 4 of 8 commits: after GOOD, up to 444444444444 (change 4)"
    told = show.markdown(OPEN)
    assert all(commit.short in told for commit in COMMITS[:4])
    assert "222222222222: as inconclusive" in told


@pytest.mark.parametrize(("answer", "verdict"), [("pass", "pass"), ("inconclusive", "inconclusive")])
def test_without_a_regression_there_is_nothing_to_find(answer: Answer, verdict: str) -> None:
    found = after((8, answer))

    assert found.is_over
    assert found.verdict == verdict
    assert show.title(found).startswith(verdict.upper())


def test_a_kept_search_is_read_again_and_goes_on() -> None:
    unfinished = replace(
        after((8, "regression"), (4, "untestable")), metrics=("cpu_per_page",), cycles=6, right=0.9, assumed=0.05
    )

    again = Bisection.from_dict(json.loads(json.dumps(show.to_json(unfinished))))

    assert again == unfinished
    assert not again.is_over
    assert again.found.next == 3


def test_the_plan_says_steps_times_and_error_rates() -> None:
    told = show.plan_told(20, (30.0, 120.0), DESIGNED)

    assert "20 commits to search: GOOD against BAD, then at most 5 comparisons" in told
    assert "each takes about 30 s to 120 s, all at most about 12 min" in told
    assert "any of 6 comparisons: at most 6 %" in told
