"""The search of a bisection with made-up verdicts, and the chance that it is right."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from inflight.bench.studies.bisect.odds import Rates, most_wrong, right
from inflight.bench.studies.bisect.walk import Answer, Range, most_steps, walk
from inflight.bench.studies.compare.rule import DESIGNED

NUMBERS = some.integers(1, 300)


@some.composite
def searches(draw: some.DrawFn) -> tuple[int, int]:
    """Draw a number of commits, and the one that made the strategy worse."""
    commits = draw(NUMBERS)
    return commits, draw(some.integers(1, commits))


def truth(commit: int, culprit: int) -> Answer:
    return "regression" if commit >= culprit else "pass"


@given(searches())
def test_right_verdicts_lead_to_the_commit_in_few_steps(search: tuple[int, int]) -> None:
    commits, culprit = search
    asked: list[int] = []

    def ask(commit: int) -> Answer:
        asked.append(commit)
        return truth(commit, culprit)

    found = walk(commits, ask)

    assert found.is_found
    assert list(found.suspects) == [culprit]
    assert len(asked) == len(set(asked)) <= most_steps(commits)
    assert all(0 < commit < commits for commit in asked)


@given(searches(), some.sets(some.integers(1, 300)))
def test_commits_that_cannot_be_tested_leave_a_range_with_the_commit(search: tuple[int, int], broken: set[int]) -> None:
    commits, culprit = search

    found = walk(commits, lambda commit: "untestable" if commit in broken else truth(commit, culprit))

    assert culprit in found.suspects
    assert set(found.suspects) - {found.bad} <= broken


@given(searches(), some.integers(0, 8))
def test_an_inconclusive_comparison_ends_the_search_with_a_range(search: tuple[int, int], after: int) -> None:
    commits, culprit = search
    asked: list[int] = []

    def ask(commit: int) -> Answer:
        asked.append(commit)
        return "inconclusive" if len(asked) > after else truth(commit, culprit)

    found = walk(commits, ask)

    assert culprit in found.suspects
    assert len(asked) <= after + 1
    assert (found.undecided is None) == found.is_found
    assert found.undecided is None or asked[-1] == found.undecided


@given(some.lists(some.sampled_from(["regression", "pass", "untestable", "inconclusive"]), max_size=400), NUMBERS)
def test_any_verdicts_end_the_search(answers: list[Answer], commits: int) -> None:
    left = iter(answers)

    found = walk(commits, lambda _: next(left, "pass"))

    assert 0 <= found.good < found.bad <= commits


def test_an_answer_about_a_commit_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="commit 5 is not between 0 and 5"):
        Range(0, 5).after(5, "pass")


@given(some.integers(1, 40), some.floats(0, 1), some.floats(0, 1))
def test_the_chance_of_the_right_commit_is_that_of_all_its_steps(commits: int, found: float, passed: float) -> None:
    rates = Rates(found=found, passed_before=passed)
    each = []
    for culprit in range(1, commits + 1):
        chances: list[float] = []

        def ask(commit: int, culprit: int = culprit, chances: list[float] = chances) -> Answer:
            chances.append(found if commit >= culprit else passed)
            return truth(commit, culprit)

        walk(commits, ask)
        each.append(math.prod(chances))

    assert right(commits, rates) == pytest.approx(sum(each) / commits)


def test_wrong_walks_are_rarer_than_the_bound() -> None:
    draw, commits, walks = Random(1), 100, 4000
    wrong = 0
    for _ in range(walks):
        culprit = draw.randint(1, commits)

        def ask(commit: int, culprit: int = culprit) -> Answer:
            if commit >= culprit:
                return "pass" if draw.random() < DESIGNED.pass_alpha else "regression"
            return "regression" if draw.random() < DESIGNED.alpha else "pass"

        wrong += list(walk(commits, ask).suspects) != [culprit]

    assert wrong / walks < most_wrong(DESIGNED, most_steps(commits)) == pytest.approx(0.07)
