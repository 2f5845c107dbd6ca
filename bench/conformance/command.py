"""``inflight check``: run the conformance suite on one strategy, and say which rules of the contract it breaks."""

import io
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inflight import strategies
from inflight.bench.commands.crawl import CrawlError, available
from inflight.bench.conformance import RULES
from inflight.bench.plan.judge import nearest
from inflight.bench.show.progress import Progress, shown
from inflight.bench.show.words import counted
from inflight.fake_server.delays import parse_duration_ns

if TYPE_CHECKING:
    from inflight.bench.conformance.plugin import Case
    from inflight.bench.conformance.show import Checked

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
    from inflight.bench.conformance import show

    checked = check(name, checked_rules, limit_s)
    if as_json:
        print(json.dumps(show.data(checked), indent=2))
    else:
        for line in show.text(checked, verbose=verbose):
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
    from inflight.bench.conformance.plugin import Check
    from inflight.bench.conformance.show import Checked

    folder = str(Path(__file__).parent)
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
    from inflight.bench.conformance import processes

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
    from inflight.bench.conformance import telling

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
