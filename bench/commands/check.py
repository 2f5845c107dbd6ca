"""``inflight check``: run the conformance suite on one strategy, and say which rules of the contract it breaks."""

import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight import conformance, strategies
from inflight.bench.commands.crawl import CrawlError, available
from inflight.bench.plan.judge import nearest
from inflight.bench.show.progress import Progress, shown
from inflight.bench.show.words import counted, plain
from inflight.conformance import RULES, sentence
from inflight.fake_server.delays import parse_duration_ns

if TYPE_CHECKING:
    from inflight.conformance.plugin import Case

PROCESSES = max(3, min(4, os.cpu_count() or 1))
"""At least three, as tests wait for half of their time; not many, as some have short time limits."""
LEAKS = (
    "ResourceWarning", "RuntimeWarning", "pytest.PytestUnraisableExceptionWarning",
    "pytest.PytestUnhandledThreadExceptionWarning",
)  # fmt: skip
"""The warnings that are failures: something was not closed, not awaited, or failed where nobody asked."""
USUAL_NS = 15e9
"""Usual time of a check."""


class CheckError(Exception):
    """The strategy cannot be checked; the message says why."""


REFUSALS = (CheckError, CrawlError)


def run(*, strategy: str, rules: Sequence[str], timeout: str, verbose: bool, as_json: bool) -> int:
    """Check a strategy and print the result; return 0 if all rules hold, else 1. Raises CheckError and CrawlError."""
    checked_rules = chosen(rules)
    limit_s = _seconds(timeout)
    name = available(strategy)
    _import(name, limit_s)
    checked = check(name, checked_rules, limit_s)
    if as_json:
        print(json.dumps(json_of(checked), indent=2))
    else:
        for line in text_of(checked, verbose=verbose):
            print(line)
    return 0 if checked.holds else 1


def chosen(names: Sequence[str]) -> list[str]:
    """Return the named rules; all without a name. Raises CheckError for an unknown rule."""
    for name in names:
        if name not in RULES:
            raise CheckError(f"--rule: unknown rule {name!r}{nearest(name, RULES)}")
    return list(dict.fromkeys(names)) or list(RULES)


def check(strategy: str, rules: list[str], limit_s: float) -> "Checked":
    """Run the tests of these rules for a strategy.

    A test that takes longer than ``limit_s`` fails. Raises CheckError when the suite itself cannot run.
    """
    import pytest

    from inflight.bench.commands.run import interruptible
    from inflight.conformance.plugin import Check

    folder = str(Path(str(conformance.__file__)).parent)
    options = ["-c", os.devnull, "--rootdir", folder, "--confcutdir", folder, "-p", "no:cacheprovider"]
    options += ["-p", "no:logging"]  # it keeps tracebacks, and with them sockets, until the end of a test
    options += [f"-Werror::{warning}" for warning in LEAKS]
    began = time.monotonic()
    with shown(Progress(len(rules), USUAL_NS * len(rules) / len(RULES))) as progress:
        plugin = Check(strategy, rules, PROCESSES, limit_s, _Steps(progress).ended)
        with interruptible(), _plain_pytest(), redirect_stdout(io.StringIO()) as printed:
            code = pytest.main([*options, "--capture=no", "--strict-markers", folder], [plugin])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if not plugin.cases:
        raise CheckError(f"the suite cannot run: {printed.getvalue().strip()}")
    return Checked(strategy, plugin.cases, plugin.not_run, plugin.rules_not_run, time.monotonic() - began)


class _Steps:
    """The progress of a check: a step ends with the last case of a rule."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._ended: dict[str, list[Case]] = {}

    def ended(self, case: "Case", planned: int) -> None:
        """Count a case; ``planned`` is the number of cases of its rule."""
        own = self._ended.setdefault(case.topic, [])
        own.append(case)
        if len(own) == planned:
            self._progress.finished(f"{case.topic}: {came_to(own)}", USUAL_NS / len(RULES))


def came_to(cases: "Sequence[Case]") -> str:
    """Say how the cases of a rule ended: ``45 cases passed, 7 known limits``, ``3 cases passed, 2 broke cleanup``.

    A case that found another rule broken is counted for that rule, as in the result.
    """
    kinds = Counter(_kind(case) for case in cases)
    told = [f"{counted(kinds.pop('passed', 0), 'case')} passed"]
    if limits := kinds.pop("known limit", 0):
        told.append(counted(limits, "known limit"))
    return ", ".join([*told, *(f"{number} {kind}" for kind, number in kinds.items())])


def _kind(case: "Case") -> str:
    if case.outcome == "failed" and case.rule != case.topic:
        return f"broke {case.rule}"
    return "known limit" if case.outcome == "limit" else case.outcome


@dataclass(frozen=True, slots=True)
class _Import:
    """What the import of a strategy came to."""

    failure: str | None
    """A sentence; None if it was imported."""
    is_clean: bool = True


def _import(strategy: str, limit_s: float) -> None:
    """Import the strategy in a process of its own. Raises CheckError when it cannot be imported."""
    from inflight.conformance import processes

    with closing(processes.results([[strategy]], _imported, _not_imported, 1, limit_s)) as found:
        for one in found:
            if one.failure is not None:
                raise CheckError(one.failure)
    if strategies.is_ours(strategy):
        strategies.load(strategy)  # once for all processes, which are forked from this one


def _imported(strategy: str, _next: str | None) -> _Import:
    try:
        strategies.load(strategy)
    except strategies.StrategyError as error:
        return _Import(str(error))
    except SystemExit as error:
        code = "" if error.code is None else repr(error.code)
        return _Import(f"{strategy} cannot be imported: it called sys.exit({code})")
    except BaseException as error:  # noqa: BLE001  (whatever its code raises)
        return _Import(f"{strategy} cannot be imported: {type(error).__name__}: {error}")
    return _Import(None)


def _not_imported(strategy: str, why: str, stack: str | None) -> _Import:
    from inflight.conformance import telling

    (line,), _ = telling.stopped(why, stack or "")
    return _Import(f"{strategy} cannot be imported: it {line.removeprefix(telling.OBSERVED)}")


@contextmanager
def _plain_pytest() -> Iterator[None]:
    """Keep out of pytest what the environment adds to it, and which other tests may need."""
    before = dict(os.environ)
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _seconds(text: str) -> float:
    try:
        limit_s = parse_duration_ns(text) / 1e9
    except ValueError as error:
        raise CheckError(f"--timeout: {error}") from error
    if limit_s <= 0:
        raise CheckError(f"--timeout must be longer than 0, not {text}")
    return limit_s


@dataclass(frozen=True, slots=True)
class Checked:
    """All cases of one strategy."""

    strategy: str
    cases: "Sequence[Case]"
    not_run: int
    """Number of cases that were not run, because too many others did not end."""
    rules_not_run: Sequence[str]
    """The rules of which no case was run for that reason."""
    seconds: float

    def of(self, rule: str, *outcomes: str) -> "list[Case]":
        """Return the cases of a rule with these outcomes; all outcomes unless some are given."""
        return [case for case in self.cases if case.rule == rule and (not outcomes or case.outcome in outcomes)]

    @property
    def tried(self) -> list[str]:
        """The rules with at least one case that says something, in their order."""
        return [rule for rule in RULES if self.of(rule, "passed", "failed", "limit")]

    @property
    def broken(self) -> list[str]:
        """The broken rules."""
        return [rule for rule in self.tried if self.of(rule, "failed")]

    @property
    def holds(self) -> bool:
        """Whether all cases were run, and none failed."""
        return not self.broken and not self.not_run


def text_of(checked: Checked, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of the result."""
    for rule in checked.tried:
        failed = checked.of(rule, "failed")
        yield f"{'FAILED' if failed else 'ok':<6}  {rule:<11}  {sentence(rule)}"
        for test, cases in _by(_test, failed).items():
            yield from _failure(test, cases, checked.cases, verbose=verbose)
        for test, cases in _by(_test, checked.of(rule, "limit")).items():
            yield f"        {test}: known limit of the library: {plain(cases[0].lines[0])}"
    skipped = [case for case in checked.cases if case.outcome == "skipped"]
    for reason, cases in _by(_reason, skipped).items():
        yield f"skipped: {counted(len(cases), 'case')}: {reason}"
    yield ""
    yield summary(checked)


def summary(checked: Checked) -> str:
    """Return how many rules hold, in one sentence."""
    run, tried = len(checked.cases), len(checked.tried)
    right = sum(case.outcome != "failed" for case in checked.cases)
    from inflight.conformance.plugin import MOST_HANGS

    end = f"; stopped after {MOST_HANGS} that did not end, {checked.not_run} not run" if checked.not_run else ""
    missing = f"; rules not run: {', '.join(checked.rules_not_run)}" if checked.rules_not_run else ""
    return (
        f"{checked.strategy}: {tried - len(checked.broken)} of {tried} rules hold "
        f"({right} of {counted(run, 'case')}{end}) in {checked.seconds:.0f} s{missing}"
    )


def json_of(checked: Checked) -> dict[str, Any]:
    """Return the result as JSON values."""
    return {
        "strategy": checked.strategy,
        "holds": checked.holds,
        "rules": [
            {
                "rule": rule,
                "sentence": sentence(rule),
                "holds": rule not in checked.broken,
                "cases": len(checked.of(rule)),
                "failures": [_shown(case) for case in checked.of(rule, "failed")],
                "limits": [_shown(case) for case in checked.of(rule, "limit")],
                "skipped": [_shown(case) for case in checked.of(rule, "skipped")],
            }
            for rule in RULES
            if checked.of(rule)
        ],
        "not_run": checked.not_run,
        "rules_not_run": list(checked.rules_not_run),
        "seconds": round(checked.seconds, 3),
    }


def _shown(case: "Case") -> dict[str, Any]:
    return {"test": case.test, "case": case.case, "lines": list(case.lines)}


def _test(case: "Case") -> str:
    return case.test


def _reason(case: "Case") -> str:
    return plain(case.lines[0])


def _failure(test: str, cases: "list[Case]", everything: "Iterable[Case]", *, verbose: bool) -> Iterator[str]:
    first, of = cases[0], sum(case.test == test for case in everything)
    where = f" ({first.case})" if first.case else ""
    number = f": {len(cases)} of {of} cases" if of > 1 else ""
    yield f"        {test}{number}{', such as' if number and where else ''}{where}"
    for line in first.lines:
        yield f"            {plain(line, 400)}"
    if verbose and first.traceback:
        yield from (f"            | {line}" for line in first.traceback.splitlines())


def _by(key: "Callable[[Case], str]", cases: "Iterable[Case]") -> "dict[str, list[Case]]":
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    return found
