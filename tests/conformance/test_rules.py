"""The rules of the conformance suite: each is a sentence of the contract, and has tests."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench import conformance
from inflight.bench.conformance import exceptions, telling
from inflight.bench.conformance.rules import RULES
from inflight.strategies.base import Strategy
from inflight.strategies.core.page import Page

SUITE = Path(str(conformance.__file__)).parent


def rules_of(path: Path) -> list[str]:
    """Return the rules that a file's marks name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == "pytest.mark.rule"]


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_a_sentence_of_the_contract(rule: str) -> None:
    assert RULES[rule] in " ".join(str(Strategy.__doc__).split())


def test_every_test_belongs_to_a_rule_and_every_rule_has_a_test() -> None:
    found = {path.name: rules_of(path) for path in SUITE.glob("test_*.py")}

    assert {rule for rules in found.values() for rule in rules} == set(RULES)
    for path in SUITE.glob("test_*.py"):
        assert "\npytestmark = pytest.mark.rule(" in path.read_text(encoding="utf-8"), path.name


def test_only_known_tests_of_known_strategies_are_limits() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in SUITE.glob("test_*.py"))

    for tests in exceptions.LIMITS.values():
        for test, reason in tests.items():
            assert f"def {test.partition('[')[0]}(" in texts
            assert reason


CALLBACKS = strategies.describe("callbacks")


@pytest.mark.parametrize(
    ("entry", "is_limit"),
    [("test_a", True), ("test_b", False), ("test_a[8]", True), ("test_a[keep-alive]", True), ("test_a[keep]", True),
     ("test_a[8-keep-alive]", True), ("test_a[80]", False)],
)  # fmt: skip
def test_a_limit_names_a_test_or_some_of_its_cases(entry: str, is_limit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(exceptions.LIMITS, "x", {entry: "why"})

    monkeypatch.setattr(strategies, "describe", lambda _name: CALLBACKS)

    found = exceptions.limit_of("x", "test_a", "x-8-keep-alive")

    assert found == (exceptions.Limit("why", strict=True) if is_limit else None)


def test_the_limits_of_tests_with_a_short_deadline_are_not_strict() -> None:
    found = [exceptions.limit_of("urllib3_threads", test, "urllib3_threads") for test in exceptions.TIMED[:2]]

    assert [limit is not None and not limit.strict for limit in found] == [True, True]


def test_a_strategy_from_another_place_has_the_limits_of_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(CALLBACKS, name="mine", group=strategies.ELSEWHERE, requires=("urllib3", "yarl"))
    known = {name: strategies.describe(name) for name in exceptions.LIMITS} | {"mine": mine}
    monkeypatch.setattr(strategies, "describe", known.__getitem__)

    found = exceptions.limit_of("mine", "test_links_are_read_as_they_may_be_written", "mine")

    assert found is not None
    assert not found.strict
    assert exceptions.limit_of("mine", "test_a", "mine") is None


PAGE = Page("http://127.0.0.1:8/a", 200, None, None, 5, "text/html", "utf-8", 0, 0, 1)


@pytest.mark.parametrize(
    ("sign", "observed", "expected", "lines"),
    [
        ("==", {"/a": 200, "/b": 1}, {"/a": 404, "/b": 1}, ["observed: /a: 200", "expected: /a: 404"]),
        ("==", {"/a": 200}, {}, ["observed: /a: 200", "expected: /a: nothing"]),
        ("==", {PAGE.url: PAGE}, {}, ["observed: /a: status 200", "expected: /a: nothing"]),
        (
            "==",
            dict.fromkeys("abcde", 1),
            dict.fromkeys("abcde", 2),
            ["observed: a: 1, b: 1, c: 1, and 2 more", "expected: a: 2, b: 2, c: 2, and 2 more"],
        ),
        ("==", {"/a"}, {"/b"}, ["observed: also /a", "expected: /b"]),
        ("==", {"/a"}, set(), ["observed: also /a", "expected: nothing else"]),
        ("==", set(), {"/a"}, ["observed: not /a", "expected: /a"]),
        ("==", 3, 4, ["observed: 3", "expected: 4"]),
        ("<=", 3, 2, ["observed: 3", "expected: at most 2"]),
        ("==", "a\x1b", "b", ["observed: a?", "expected: b"]),
    ],
)
def test_a_comparison_is_told_by_what_differs(sign: str, observed: object, expected: object, lines: list[str]) -> None:
    assert telling.contrast(sign, observed, expected) == lines
