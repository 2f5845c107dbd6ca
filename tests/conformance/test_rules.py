"""The rules of the conformance suite: each is a sentence of the contract, and has tests."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from inflight import conformance, strategies
from inflight.conformance import RULES, exceptions, telling
from inflight.fake_server.faults import FAULTS
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


def test_only_known_paths_of_known_strategies_are_limits() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in SUITE.glob("test_*.py"))

    for strategy, limits in exceptions.LIMITS.items():
        assert strategy in strategies.names()
        for path, reason in limits.items():
            known = path.removeprefix("fault ").removesuffix("/redirect").replace("/recovers/", "/broken/")
            in_table = known.rpartition("/")[2]
            assert f'"{known}"' in texts or f'"{in_table}"' in texts or known in FAULTS
            assert reason


def test_a_strategy_from_another_place_has_the_limits_of_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks = strategies.describe("callbacks")
    mine = replace(callbacks, name="mine", group=strategies.ELSEWHERE, requires=("urllib3", "yarl"))
    known = {name: strategies.describe(name) for name in exceptions.LIMITS} | {"mine": mine}
    monkeypatch.setattr(strategies, "describe", known.__getitem__)

    assert "/odd/interim" in exceptions.limits_of("mine")
    assert "/late/second-connection" not in exceptions.limits_of("mine")


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
