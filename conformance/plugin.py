"""The plug-in with which ``inflight check`` runs the suite for one strategy, and what its tests came to."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from inflight import strategies
from inflight.conformance import CHECK, RULES, BrokenRuleError, say
from inflight.conformance.crawling import LAST, NOTHING_LEFT
from inflight.conformance.processes import Ending, run_tasks
from inflight.conformance.words import (
    RULES_OF,
    Frame,
    first_difference,
    is_blocked_loop,
    located,
    members,
    place_of,
)

MAX_HANGS, MAX_HANGS_IN_ALL = 2, 12
"""Number of cases over the time limit after which the rest of their rule is not run, and the rest of all rules."""
PATIENCE = 0.2
"""The part of the time limit of a case for which a server waits for requests that do not come."""
OPERATORS = {"<=": "at most ", ">=": "at least "}
UNCLOSED = (ResourceWarning, pytest.PytestUnraisableExceptionWarning)
FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>\S+)')


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
        self.patience_s = PATIENCE * limit_s
        self.hangs: Counter[str] = Counter()
        """Number of cases of each rule that took longer than the time limit."""
        self._difference = ""
        """What differs in the comparison that has failed, and the rule that it breaks, whatever the test's."""
        self._broken: str | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the chosen rules, in the order of the rules."""
        items[:] = sorted(
            (item for item in items if _rule(item) in self._rules), key=lambda i: [*RULES].index(_rule(i))
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in processes, but for those of rules with too many that hang."""
        if session.testsfailed:
            return False  # the suite itself cannot be imported, which pytest reports
        self.planned.update(map(_rule, session.items))
        with closing(run_tasks(session.items, self._run, self._processes, self._limit_s, self._is_wanted)) as endings:
            for item, ending in endings:
                case = Case(_test(item), _parameters(item), _rule(item), _placed(ending))
                self.cases.append(case)
                self.hangs[case.topic] += ending.hung
                self._ended(case, self.planned[case.topic])
        return True

    def _is_wanted(self, item: pytest.Item) -> bool:
        """Return whether few enough cases have hung, of its rule and in all."""
        return self.hangs[_rule(item)] < MAX_HANGS and self.hangs.total() < MAX_HANGS_IN_ALL

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str]:
        """Say what differs first between what was observed, on the left, and what was expected."""
        path, expected, observed = first_difference(left, right)
        with suppress(TypeError):  # not hashable, so no outcome of a page
            self._broken = RULES_OF.get(expected)
        wanted = f"{OPERATORS.get(op, '')}{text_of(expected)}"
        line = say(wanted, text_of(observed), LAST.errors.get(path, ""))
        self._difference = f"{path}: {line}" if path else line
        return [self._difference]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the first ending of a part of a test that is no success, and the first leak."""
        report = yield
        if report.passed:
            return report
        ending = self._ending_of(report, None if call.excinfo is None else call.excinfo.value)
        if ending.rule == "cleanup":
            self._ending = replace(self._ending, leak=self._ending.leak or ending)
        elif self._ending.outcome == "passed":
            self._ending = replace(ending, leak=self._ending.leak)
        return report

    def _ending_of(self, report: pytest.TestReport, error: BaseException | None) -> Ending:
        if hasattr(report, "wasxfail"):
            return Ending("limit", (report.wasxfail,))
        if report.skipped:
            return Ending("skipped", (str(error),))
        assert error is not None
        text = report.longreprtext
        every = members(error)
        last = every[-1]
        if all(isinstance(each, UNCLOSED) for each in every):
            # What was not closed is found later, wherever the interpreter collects it: that place is not the cause.
            unclosed = last.__cause__ or last
            return Ending("failed", (say(NOTHING_LEFT, f"{type(unclosed).__name__}: {unclosed}"),), "cleanup", text)
        if isinstance(error, BrokenRuleError):
            return Ending("failed", (str(error),), error.rule, text)
        if isinstance(error, AssertionError) and self._difference:
            about = str(error).partition("\n")[0]
            line = self._difference if about.startswith("assert ") else f"{about}: {self._difference}"
            return Ending("failed", (line,), self._broken, text)
        if isinstance(error, pytest.fail.Exception):
            return Ending("failed", (str(error),), None, text)
        return Ending("failed", (say("no exception", "one", located(last, error)),), None, text)

    def _run(self, item: pytest.Item) -> Ending:
        strategies.load(self.strategy)  # before warnings become errors
        self._ending, self._difference, self._broken = Ending("passed"), "", None
        # What follows is another item of the session, so that the session's fixtures stay.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=cast("pytest.Item", item.session))
        return replace(self._ending, page_ns=LAST.page_ns)


def import_failure(strategy: str, limit_s: float) -> str | None:
    """Import the strategy in a process of its own; return a sentence if that fails."""
    ((_, ending),) = run_tasks([strategy], _import, 1, limit_s)
    if ending.hung:
        return f"{ending.lines[0]}, in {place_of(_frames(ending.traceback))}"
    return ending.lines[0] if ending.outcome == "failed" else None


def _import(strategy: str) -> Ending:
    try:
        strategies.load(strategy)
    except strategies.StrategyError as error:
        return Ending("failed", (str(error),))
    except BaseException as error:  # noqa: BLE001  (whatever its code raises)
        return Ending("failed", tuple(located(each, error) for each in members(error)))
    return Ending("passed")


def _placed(ending: Ending) -> Ending:
    """Say how a task ended its process; of one that hangs, where, and whether it blocks an event loop."""
    if not ending.hung:
        is_dead = ending.outcome == "failed" and not ending.traceback
        return replace(ending, lines=(say("crawl returns", f"it {ending.lines[0]}"),)) if is_dead else ending
    above_test = re.match(r".*? in test_\w+|.*", ending.traceback, re.DOTALL)
    stack = above_test[0] if above_test else ""
    frames = _frames(stack)
    place = f" in {place_of(frames)}" if frames else ""
    observed = f"none{place}"
    if is_blocked_loop(frames):
        observed = f"none: the event loop is blocked{place}: a blocking call in a coroutine?"
    expected = ending.lines[0].replace("did not end", "an end")
    return replace(ending, lines=(say(expected, observed),), traceback=stack)


def _frames(stack: str) -> list[Frame]:
    """Return the frames of a stack as faulthandler writes it."""
    return [Frame(each["file"], int(each["line"]), each["function"]) for each in FRAME.finditer(stack)]


def text_of(value: object) -> str:
    """Write a value that was compared."""
    if isinstance(value, Collection) and not isinstance(value, str):
        return ", ".join(sorted(map(str, value))) or "none"
    return str(value)


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
