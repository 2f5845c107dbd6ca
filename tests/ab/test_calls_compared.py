"""``inflight ab --metric calls``: its rule, refusals and output, and real code whose counts are known to change."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.ab import counts, show
from inflight.bench.ab.counts import Difference, judge, verdict
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Counts
from inflight.bench.rows.records import changed
from inflight.bench.show import terminal
from tests.ab.repositories import commit, new_repository
from tests.cli.command import call
from tests.laboratory import Laboratory, only_run
from tests.made_counts import EQUAL, LESS, MORE, PAGES, side_row
from tests.outputs import RECORDED, as_lines, compare
from tools.counts import plant

ROOT = Path(__file__).parents[2]
CALLS = ("--metric", "calls")
pytestmark = pytest.mark.usefixtures("scratch")


def both(a: Mapping[str, Sequence[int]], b: Mapping[str, Sequence[int]], **of_b: Any) -> list[Counts]:
    made = [side_row("A", a), side_row("B", b, **of_b)]
    assert all(isinstance(each, Counts) for each in made)
    return made  # type: ignore[return-value]


# The rule


@pytest.mark.parametrize(
    ("a", "b", "spread", "answer"),
    [
        (18.0, 18.0, 0.0, "does the same"),
        (18.0, 18.09, 0.0, "does the same"),
        (18.0, 18.1, 0.0, "does more"),
        (18.0, 17.9, 0.0, "does less"),
        (0.0, 1.0, 0.0, "does more"),
        (0.0, 0.0, 0.0, "does the same"),
        # three times the spread of the repeats
        (200.0, 201.4, 0.5, "does the same"),
        (200.0, 201.5, 0.5, "does more"),
        # 0.2 % of the count
        (200.0, 200.3, 0.01, "does the same"),
        (200.0, 199.5, 0.01, "does less"),
        # 2 %
        (200.0, 300.0, 6.1, "does not repeat here"),
        (200.0, 300.0, 5.9, "does more"),
    ],
)
def test_a_difference_has_to_be_larger_than_what_repeats_differ_by(
    a: float, b: float, spread: float, answer: str
) -> None:
    assert Difference("python_calls", a, b, spread).answer == answer


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "does the same"),
        ({"python_calls": 1}, "does more"),
        ({"c_calls": 1}, "does more"),
        ({"system_calls": 1}, "does more"),
        ({"python_calls": -1}, "does less"),
        ({"system_calls": -1}, "does less"),
        # fewer calls in all
        ({"python_calls": -3, "c_calls": 1}, "does less"),
        ({"python_calls": 1, "c_calls": -3}, "does less"),
        # as many, but of another kind
        ({"python_calls": 1, "c_calls": -1}, "does more"),
        ({"python_calls": -1, "c_calls": 1}, "does less"),
        # more of anything that is weighed alike is more
        ({"python_calls": -3, "system_calls": 1}, "does more"),
        # bytecodes decide where calls are level
        ({"bytecodes": 9}, "does more"),
        ({"bytecodes": -9}, "does less"),
        ({"python_calls": -1, "bytecodes": 9}, "does less"),
    ],
)
def test_calls_and_system_calls_decide_before_their_kinds_and_bytecodes(
    changes: Mapping[str, float], answer: str
) -> None:
    usual = {"python_calls": 18.0, "c_calls": 33.0, "system_calls": 3.0, "bytecodes": 698.0}
    differences = [Difference(name, count, count + changes.get(name, 0), 0.0) for name, count in usual.items()]

    assert verdict(differences) == answer


def test_what_does_not_repeat_hides_no_rise_of_what_does() -> None:
    steady, unsteady = Difference("c_calls", 33, 33, 0), Difference("system_calls", 10, 10, 3)

    assert verdict([Difference("python_calls", 18, 19, 0), steady, unsteady]) == "does more"
    assert verdict([Difference("python_calls", 18, 17, 0), steady, unsteady]) == "does not repeat here"


def test_rounds_are_taken_together() -> None:
    a, b = both(EQUAL | {"python_calls": [5400, 5410]}, EQUAL | {"python_calls": [5420, 5400]})
    more_a, more_b = both(EQUAL | {"python_calls": [5390, 5400]}, EQUAL)

    (first, *_) = judge([a, b, more_a, more_b]).differences

    assert [first.a, first.b, first.spread] == pytest.approx([5400 / PAGES, 5405 / PAGES, 20 / PAGES])


# What is said

CALLS_ALONE = {name: EQUAL[name] for name in ("python_calls", "c_calls")}
NEW = {
    "python_calls": {"x.py:new": 1.0},
    "c_calls": {"<built-in method time.monotonic>": 1.0},
    "system_calls": {"getpid": 3.0},
}
BYTECODES = {"bytecodes": [209_400, 209_400]}
SHOWN: dict[str, Sequence[Counts]] = {
    "equal": both(EQUAL, EQUAL),
    "more-calls-of-new-functions": both(EQUAL, MORE, **NEW),
    "another-python": both(EQUAL | BYTECODES, MORE | BYTECODES, knobs={"python": "3.12.1"}),
    "free-threaded": both(EQUAL | BYTECODES, MORE | BYTECODES, knobs={"free_threaded": True}),
    "no-system-calls": both(CALLS_ALONE, CALLS_ALONE, lacks={"system calls": "ptrace(2) is refused"}),
    "system-calls-alone": both(
        {"system_calls": [5100, 5100]}, {"system_calls": [5100, 5100]}, lacks={"calls": "it has child processes"}
    ),
    "a-counter-is-lacking": both(*({"c_calls": each["c_calls"]} for each in (EQUAL, MORE))),
    "no-totals": [changed(each, measured={"pages": PAGES}) for each in both(EQUAL, MORE)],  # type: ignore[misc]
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_comparison_of_calls_is_shown_as_stored(name: str, request: pytest.FixtureRequest) -> None:
    rows = SHOWN[name]
    parts = [terminal.text(counts.section(rows), 80).plain, as_lines(counts.to_json(judge(rows)))]

    compare({RECORDED / "verdicts" / f"calls-{name}.txt": "\n".join(parts)}, request.config)


# The command, on made rows


def answers(b: Mapping[str, Sequence[int]], **of_b: Any) -> Any:
    """Answer the trials of both sides."""

    def answer(trial: Trial, _calibrates: bool) -> list[Row]:
        side = trial.name
        return [side_row(side, EQUAL if side == "A" else b, **(of_b if side == "B" else {}))]

    return answer


@pytest.mark.parametrize(
    ("b", "of_b", "code", "answer", "rounds"),
    [
        (EQUAL, {}, 0, "does the same", 1),
        (MORE, {}, 1, "does more", 1),
        (LESS, {}, 0, "does less", 1),
        (EQUAL | {"system_calls": [900, 950]}, {}, 3, "does not repeat here", 3),
        (MORE, {"knobs": {"python": "3.13.0"}}, 0, "compared, not gated", 1),
    ],
)
def test_each_verdict_has_its_exit_code_and_is_stored(
    laboratory: Laboratory, tmp_path: Path, b: Any, of_b: dict[str, Any], code: int, answer: str, rounds: int
) -> None:
    laboratory.answer = answers(b, **of_b)

    done = call("ab", "callbacks", "callbacks@HEAD", *CALLS, "--out", tmp_path / "out", folder=ROOT)

    folder = only_run(tmp_path / "out")
    stored = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    assert (done.code, stored["verdict"]) == (code, answer)
    assert answer in done.out.replace("Compared", "compared")
    assert "no pass for CPU time" in done.out
    assert answer in (folder / "verdict.md").read_text(encoding="utf-8")
    assert len(rows.read(folder)) == 2 * rounds
    (again,) = show.sections(rows.read(folder), stored)
    assert again.title.lower().endswith(answer)


def test_an_interrupted_comparison_keeps_its_rows(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer, laboratory.interrupt_at = answers(EQUAL), 2

    done = call("ab", "callbacks", "generators", *CALLS, "--out", tmp_path / "out")

    folder = only_run(tmp_path / "out")
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == f"interrupted; rows kept in {folder}"
    assert len(rows.read(folder)) == 1


# Real code


@pytest.mark.ci
def test_a_planted_call_is_found_and_named_and_equal_code_does_the_same(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository")
    plant(repository / "strategies" / "callbacks.py", "Connection.on_response")
    commit(repository, "one call more")
    sides = ("callbacks@HEAD~1", "callbacks@HEAD", "--repo", repository, *CALLS, "--json")

    more = call("ab", *sides, "--out", tmp_path / "more")
    same = call("ab", "callbacks@HEAD", *sides[1:], "--out", tmp_path / "same")

    found = json.loads(more.out)
    assert (more.code, found["verdict"]) == (1, "does more"), more.err
    assert found["functions"] == [{"name": "strategies/callbacks.py:planted", "a": 0, "b": 1}]
    assert (same.code, json.loads(same.out)["verdict"]) == (0, "does the same"), same.err


@pytest.mark.night
@pytest.mark.parametrize(
    ("revision", "answer"),
    [
        ("b542df4d", "does less"),
        ("1f53e07d", "does less"),
        ("37d91a35", "does the same"),
        ("45fcd80e", "does the same"),
        ("39307fee", "does the same"),
    ],
)
@pytest.mark.parametrize("strategy", ["callbacks", "native_asyncio"])
def test_commits_that_touched_the_core_are_told_by_what_they_changed(
    tmp_path: Path, strategy: str, revision: str, answer: str
) -> None:
    done = call(
        "ab", f"{strategy}@{revision}~1", f"{strategy}@{revision}", *CALLS, "--json", "--out", tmp_path, folder=ROOT
    )

    assert json.loads(done.out)["verdict"] == answer, done.err
