"""The rules of the conformance suite: each is a sentence of the contract, and has tests."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from inflight import conformance, strategies
from inflight.conformance import RULES, exceptions
from inflight.conformance.sites import SITES
from inflight.fake_server.faults import FAULTS
from inflight.strategies.base import Strategy

SUITE = Path(str(conformance.__file__)).parent


def rules_of(path: Path) -> list[str]:
    """Return the rules that a file's marks name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return [
        ast.literal_eval(call.args[0])
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.rule" and isinstance(call.args[0], ast.Constant)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_a_sentence_of_the_contract(rule: str) -> None:
    assert RULES[rule] in " ".join(str(Strategy.__doc__).split())


def test_every_test_belongs_to_a_rule_and_every_rule_has_a_test() -> None:
    files = [*SUITE.glob("test_*.py")]

    assert {rule for path in files for rule in rules_of(path)} | {site.rule for site in SITES.values()} == set(RULES)
    for path in files:
        assert "\npytestmark = pytest.mark.rule(" in path.read_text("utf-8"), path.name


def test_only_known_paths_of_known_strategies_are_limits() -> None:
    texts = "".join(path.read_text("utf-8") for path in SUITE.glob("*.py") if path.name != "exceptions.py")

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
