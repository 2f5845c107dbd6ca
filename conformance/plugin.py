"""The plug-in with which ``inflight check`` runs the suite: which tests, in which processes, and what they came to."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from inflight import strategies
from inflight.conformance import CHECK, RULES, processes, telling

BATCH = 8
"""Number of cases that one process runs, unless one of them fails."""
MOST_HANGS = 3
"""Number of cases over the time limit after which the rest is not run."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a test came to, for one choice of its parameters."""

    test: str
    """The test's name as a sentence."""
    case: str
    """Its parameters, but for the strategy; empty if there are none."""
    topic: str
    """The rule that it belongs to."""
    rule: str
    """The same, or another one that it found broken."""
    outcome: Literal["passed", "failed", "skipped", "limit"]
    """``limit``: failed as expected, as the library cannot do it."""
    lines: tuple[str, ...] = ()
    """Of a failure: observed and expected. Otherwise the reason, if there is one."""
    traceback: str = ""
    hung: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether the process is as good as new for the next case."""
        return self.outcome != "failed"


class Check:
    """The plug-in: it runs the tests of one strategy, and collects their cases."""

    def __init__(
        self, strategy: str, rules: Iterable[str], jobs: int, limit_s: float, ended: Callable[[Case, int], None]
    ) -> None:
        self.__name__ = CHECK
        self.strategy = strategy
        self.cases: list[Case] = []
        self.planned: Counter[str] = Counter()
        """Number of cases of each rule."""
        self.not_run = 0
        self._rules = set(rules)
        self._jobs, self._limit_s, self._ended = jobs, limit_s, ended
        self._is_imported = False
        self._reports: list[pytest.TestReport] = []
        self._errors: dict[str, BaseException] = {}

    @property
    def rules_not_run(self) -> list[str]:
        """The rules of which no case was run."""
        run = {case.topic for case in self.cases}
        return [rule for rule in self.planned if rule not in run]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the chosen rules, in the order of the rules."""
        order = list(RULES)
        items[:] = sorted(
            (item for item in items if _rule(item) in self._rules), key=lambda item: order.index(_rule(item))
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in processes, until too many hang."""
        if session.testsfailed:
            return False  # the suite itself cannot be imported, which pytest reports
        self.planned.update(map(_rule, session.items))
        batches = [session.items[start : start + BATCH] for start in range(0, len(session.items), BATCH)]
        hangs = 0
        with closing(processes.results(batches, self._work, _lost, self._jobs, self._limit_s)) as found:
            for case in found:
                self.cases.append(case)
                self._ended(case, self.planned[case.topic])
                hangs += case.hung
                if hangs == MOST_HANGS:
                    break
        self.not_run = len(session.items) - len(self.cases)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Iterator[None]:
        """Remember the exception of each part of a test."""
        if call.excinfo is not None and call.when is not None:
            self._errors[call.when] = call.excinfo.value
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the report of each part of a test."""
        self._reports.append(report)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str]:
        """Say what was observed, and what was expected."""
        return ["", *telling.contrast(op, left, right)]

    def _work(self, item: pytest.Item, following: pytest.Item | None) -> Case:
        if not self._is_imported:  # in each process once, before warnings become errors
            strategies.load(self.strategy)
            self._is_imported = True
        self._errors.clear()
        self._reports.clear()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._case(item)

    def _case(self, item: pytest.Item) -> Case:
        names = _test(item), _parameters(item), _rule(item)
        for report in self._reports:
            if report.failed:
                error = self._errors.get(report.when)
                rule = telling.broken_rule(error) or _rule(item)
                lines = () if error is None else telling.told(error)
                return Case(*names, rule, "failed", lines, report.longreprtext)
            if report.skipped:
                if hasattr(report, "wasxfail"):
                    return Case(*names, _rule(item), "limit", (report.wasxfail,))
                return Case(*names, _rule(item), "skipped", (str(self._errors.get(report.when, "")),))
        return Case(*names, _rule(item), "passed")


def _lost(item: pytest.Item, why: str, stack: str | None) -> Case:
    rule = _rule(item)
    lines, shown = telling.stopped(why, stack or "")
    return Case(_test(item), _parameters(item), rule, rule, "failed", lines, shown, hung=stack is not None)


def _rule(item: pytest.Item) -> str:
    marker = item.get_closest_marker("rule")
    assert marker is not None, item.nodeid
    return str(marker.args[0])


def _test(item: pytest.Item) -> str:
    assert isinstance(item, pytest.Function)
    return item.originalname.removeprefix("test_").replace("_", " ")


def _parameters(item: pytest.Item) -> str:
    """Return the parameters of a test as ``cap 8, connection keep-alive``."""
    assert isinstance(item, pytest.Function)
    return ", ".join(f"{key} {_value(value)}" for key, value in item.callspec.params.items() if key != "name")


def _value(value: object) -> str:
    text = getattr(value, "__name__", None) or (value if isinstance(value, str) else repr(value))
    return text if len(text) <= 40 else re.sub(r"\s+", " ", text)[:39] + "…"
