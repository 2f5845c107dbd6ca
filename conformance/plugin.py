"""The plug-in with which ``inflight check`` runs the suite for one strategy, and what its tests came to."""

import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from inflight import strategies
from inflight.conformance import CHECK, RULES, BrokenRuleError
from inflight.conformance.processes import Ending, run_tasks

MAX_HANGS = 3
"""Number of cases over the time limit after which the rest is not run."""
MAX_LINES = 8
"""Maximum number of lines on a failure."""
UNCLOSED = (ResourceWarning, pytest.PytestUnraisableExceptionWarning)
LIBRARY = str(Path(os.__file__).parent)
HINT = re.compile(r"^ *\+ |[Uu]se '?-v")
"""What pytest says about parts of a comparison, and about its own options."""
FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+) in ')


@dataclass(frozen=True, slots=True)
class Case:
    """A test with one choice of its parameters, and how it ended."""

    test: str
    """The test's name as a sentence."""
    case: str
    """Its parameters, but for the strategy; empty if there are none."""
    topic: str
    """The rule that it belongs to."""
    ending: Ending

    @property
    def rule(self) -> str:
        """The rule that it belongs to, or another one that it found broken."""
        return self.ending.rule or self.topic


class Check:
    """The plug-in: it runs the tests of one strategy, and collects their cases."""

    def __init__(
        self, strategy: str, rules: Iterable[str], processes: int, limit_s: float, ended: Callable[[Case, int], None]
    ) -> None:
        self.__name__ = CHECK
        self.strategy = strategy
        self.cases: list[Case] = []
        self.planned: Counter[str] = Counter()
        """Number of cases of each rule."""
        self._rules = set(rules)
        self._processes, self._limit_s, self._ended = processes, limit_s, ended
        self._ending = Ending("passed")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the chosen rules, in the order of the rules."""
        items[:] = sorted(
            (item for item in items if _rule(item) in self._rules), key=lambda i: [*RULES].index(_rule(i))
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in processes, until too many hang."""
        if session.testsfailed:
            return False  # the suite itself cannot be imported, which pytest reports
        self.planned.update(map(_rule, session.items))
        with closing(run_tasks(session.items, self._run, self._processes, self._limit_s)) as endings:
            for item, ending in endings:
                case = Case(_test(item), _parameters(item), _rule(item), _placed(ending))
                self.cases.append(case)
                self._ended(case, self.planned[case.topic])
                if sum(each.ending.hung for each in self.cases) == MAX_HANGS:
                    break
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the first ending of a part of a test that is no success."""
        report = yield
        if not report.passed and self._ending.outcome == "passed":
            self._ending = _ending_of(report, None if call.excinfo is None else call.excinfo.value)
        return report

    def _run(self, item: pytest.Item) -> Ending:
        strategies.load(self.strategy)  # before warnings become errors
        self._ending = Ending("passed")
        # What follows is another item of the session, so that the session's fixtures stay.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=cast("pytest.Item", item.session))
        return self._ending


def import_failure(strategy: str, limit_s: float) -> str | None:
    """Import the strategy in a process of its own; return a sentence if that fails."""
    ((_, ending),) = run_tasks([strategy], _import, 1, limit_s)
    return _placed(ending).lines[0] if ending.outcome == "failed" else None


def _import(strategy: str) -> Ending:
    try:
        strategies.load(strategy)
    except strategies.StrategyError as error:
        return Ending("failed", (str(error),))
    except BaseException as error:  # noqa: BLE001  (whatever its code raises)
        return Ending("failed", tuple(_located(each, error) for each in _members(error)))
    return Ending("passed")


def _ending_of(report: pytest.TestReport, error: BaseException | None) -> Ending:
    if hasattr(report, "wasxfail"):
        return Ending("limit", (report.wasxfail,))
    if report.skipped:
        return Ending("skipped", (str(error),))
    if isinstance(error, UNCLOSED):
        # What was not closed is found later, wherever the interpreter collects it: that place is not the cause.
        unclosed = error.__cause__ or error
        return Ending("failed", (f"{type(unclosed).__name__}: {unclosed}",), "cleanup", report.longreprtext)
    assert error is not None
    if isinstance(error, AssertionError | pytest.fail.Exception):
        lines = [line for line in str(error).splitlines() if line.strip() and not HINT.search(line)]
    else:
        lines = [_located(each, error) for each in _members(error)]
    rule = error.rule if isinstance(error, BrokenRuleError) else None
    return Ending("failed", tuple(lines[:MAX_LINES]), rule, report.longreprtext)


def _members(error: BaseException) -> list[BaseException]:
    """Return the exceptions that a group contains, and those of its groups; of any other exception, itself."""
    if isinstance(error, BaseExceptionGroup):
        return [member for each in error.exceptions for member in _members(each)]
    return [error]


def _located(error: BaseException, raised: BaseException) -> str:
    """Return an exception as one line, with the last place outside of the standard library of it or of its group."""
    for frames in map(traceback.extract_tb, (error.__traceback__, raised.__traceback__)):
        for frame in reversed(frames):
            if _is_ours(frame.filename):
                return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    return f"{type(error).__name__}: {error}"


def _placed(ending: Ending) -> Ending:
    """Say where a task hangs: the last line outside of the standard library, and the stack down to the test."""
    if not ending.hung:
        return ending
    above_test = re.match(r".*? in test_\w+|.*", ending.traceback, re.DOTALL)
    frames = [frame for frame in FRAME.finditer(ending.traceback) if _is_ours(frame["file"])]
    place = f", in {Path(frames[0]['file']).name}:{frames[0]['line']}" if frames else ""
    return replace(ending, lines=(ending.lines[0] + place,), traceback=above_test[0] if above_test else "")


def _is_ours(file: str) -> bool:
    return not file.startswith((LIBRARY, "<"))


def _rule(item: pytest.Item) -> str:
    marker = item.get_closest_marker("rule")
    assert marker is not None, item.nodeid
    return str(marker.args[0])


def _test(item: pytest.Item) -> str:
    assert isinstance(item, pytest.Function)
    return str(item.callspec.params.get("site", item.originalname.removeprefix("test_").replace("_", " ")))


def _parameters(item: pytest.Item) -> str:
    """Return the parameters of a test as ``cap 8, connection keep-alive``."""
    assert isinstance(item, pytest.Function)
    parameters = {key: value for key, value in item.callspec.params.items() if key not in {"name", "site"}}
    return ", ".join(f"{key} {getattr(value, '__name__', value)}" for key, value in parameters.items())
