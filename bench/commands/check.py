"""``inflight check``: run the conformance suite on one strategy, and say which rules of the contract it breaks.

The suite is ``inflight.conformance``: tests of pytest, each of which belongs to a rule of ``strategies/base.py``.
``check`` runs pytest in this process, with ``conformance.plugin``, which runs the cases in several processes and
collects how each ended; ``text_of`` and ``json_of`` write the result. A *case* is a test with its parameters.
"""

import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inflight import conformance, strategies
from inflight.bench.commands.options import JSON, QUIET, option
from inflight.bench.commands.output import put
from inflight.bench.commands.run import interruptible, time_s
from inflight.bench.plan.experiment import available
from inflight.bench.plan.judge import ExperimentError, check_known
from inflight.bench.show.progress import Progress, displayed
from inflight.bench.show.words import counted, plain
from inflight.conformance import RULES, sentence

if TYPE_CHECKING:
    from inflight.conformance.plugin import Case

PROCESSES = max(3, min(4, os.cpu_count() or 1))
"""Number of processes that run cases: at least three, as tests wait for half of their time; not many, as some have
short time limits."""
LEAKS = (
    "ResourceWarning", "RuntimeWarning", "pytest.PytestUnraisableExceptionWarning",
    "pytest.PytestUnhandledThreadExceptionWarning",
)  # fmt: skip
"""The warnings that are failures: something was not closed, not awaited, or failed where nobody asked."""
USUAL_NS = 15e9
"""Usual time of a check of all rules, in nanoseconds; for the time left."""


@click.argument("strategy")
@click.option("--rule", "rules", metavar="RULE", multiple=True, help="Check only this rule, e.g. cap. Repeatable.")
@option("--timeout", default="20s", note="A test that takes longer fails.")
@click.option("-v", "--verbose", is_flag=True, help="Print the traceback of each failed test.")
@JSON
@QUIET
def run(*, strategy: str, rules: Sequence[str], timeout: str, verbose: bool, as_json: bool) -> int:
    """Check that a strategy keeps the rules of a crawl.

    It runs the conformance suite, and prints which rules hold, and for each broken one what was observed and expected.
    STRATEGY is a name, a file or a module. A client with a stack of its own may break rules because of its library.

    \b
    inflight check callbacks               takes about 20 seconds
    inflight check ./my_client.py --rule cap --rule redirects
    inflight check mypkg.bench:strategy --json
    """
    from inflight.conformance.plugin import import_failure

    for rule in rules:
        check_known(rule, RULES, "rule", "--rule")
    limit_s = time_s(timeout, "--timeout")
    name = available(strategy)
    if failure := import_failure(name, limit_s):
        raise ExperimentError(f"{name} cannot be imported: {failure}")
    if strategies.is_ours(name):
        strategies.load(name)  # once for all processes, which are forked from this one
    checked = check(name, list(dict.fromkeys(rules)) or list(RULES), limit_s)
    put(json.dumps(json_of(checked), indent=2) if as_json else "\n".join(text_of(checked, verbose=verbose)))
    return 0 if checked.holds else 1


def check(strategy: str, rules: list[str], limit_s: float) -> "Checked":
    """Run the tests of these rules for a strategy.

    A test that takes longer than ``limit_s`` fails. Raises ExperimentError when the suite itself cannot run.
    """
    import pytest

    from inflight.conformance.plugin import Check

    folder = str(Path(str(conformance.__file__)).parent)
    options = ["-c", os.devnull, "--rootdir", folder, "--confcutdir", folder, "-p", "no:cacheprovider"]
    options += ["-p", "no:logging"]  # it keeps tracebacks, and with them sockets, until the end of a test
    options += [f"-Werror::{warning}" for warning in LEAKS]
    began = time.monotonic()
    with displayed(Progress(len(rules), USUAL_NS * len(rules) / len(RULES))) as progress:

        def show(case: "Case", planned: int) -> None:
            """Show a step when all ``planned`` cases of a rule have ended."""
            cases = [each for each in plugin.cases if each.topic == case.topic]
            if len(cases) == planned:
                broken = Counter(each.rule for each in cases if each.ending.outcome == "failed")
                counts = [counted(planned, "case"), *(f"{number} failed {rule}" for rule, number in broken.items())]
                progress.finished(f"{case.topic}: {', '.join(counts)}", USUAL_NS / len(RULES))

        plugin = Check(strategy, rules, PROCESSES, limit_s, show)
        with interruptible(), _plain_pytest(), redirect_stdout(io.StringIO()) as printed:
            code = pytest.main([*options, "--capture=no", "--strict-markers", folder], [plugin])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if not plugin.cases:
        raise ExperimentError(f"the suite cannot run: {printed.getvalue().strip()}")
    return Checked(strategy, plugin.cases, plugin.planned, time.monotonic() - began)


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


@dataclass(frozen=True, slots=True)
class Checked:
    """All cases of one strategy."""

    strategy: str
    cases: "Sequence[Case]"
    planned: dict[str, int]
    """Number of cases of each rule."""
    seconds: float
    """How long it took."""

    def of(self, rule: str, *outcomes: str) -> "list[Case]":
        """Return the cases of a rule with these outcomes; all outcomes unless some are given."""
        return [each for each in self.cases if each.rule == rule and each.ending.outcome in (outcomes or OUTCOMES)]

    @property
    def tried(self) -> list[str]:
        """The rules with at least one case that says something, in their order."""
        return [rule for rule in RULES if self.of(rule, "passed", "failed", "limit")]

    @property
    def not_run(self) -> int:
        """Number of cases that were not run, because too many others did not end."""
        return sum(self.planned.values()) - len(self.cases)

    @property
    def rules_not_run(self) -> list[str]:
        """The rules of which no case was run for that reason."""
        return [rule for rule in self.planned if rule not in {case.topic for case in self.cases}]

    @property
    def holds(self) -> bool:
        """Whether all cases were run, and none failed."""
        return not self.not_run and all(case.ending.outcome != "failed" for case in self.cases)


OUTCOMES = ("passed", "failed", "skipped", "limit")
"""How a case can end; limit: a known limit of the client's library."""


def text_of(checked: Checked, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of the result."""
    for rule in checked.tried:
        failed = checked.of(rule, "failed")
        yield f"{'FAILED' if failed else 'ok':<6}  {rule:<11}  {sentence(rule)}"
        for test, cases in _group(failed, lambda case: case.test).items():
            first, of = min(cases, key=lambda case: case.case), sum(case.test == test for case in checked.cases)
            where = f" ({first.case})" if first.case else ""
            yield f"        {test}{where}{f': {len(cases)} of {of} cases' if of > 1 else ''}"
            yield from (f"            {plain(line, 400)}" for line in first.ending.lines)
            if verbose:
                yield from (f"            | {line}" for line in first.ending.traceback.splitlines())
        for test, cases in _group(checked.of(rule, "limit"), lambda case: case.test).items():
            yield f"        {test}: known limit of the library: {plain(cases[0].ending.lines[0])}"
    skipped = [case for case in checked.cases if case.ending.outcome == "skipped"]
    for reason, cases in _group(skipped, lambda case: plain(case.ending.lines[0])).items():
        yield f"skipped: {counted(len(cases), 'case')}: {reason}"
    yield ""
    yield summary(checked)


def summary(checked: Checked) -> str:
    """Return how many rules hold, in one sentence."""
    broken = [rule for rule in checked.tried if checked.of(rule, "failed")]
    right = sum(case.ending.outcome != "failed" for case in checked.cases)
    end = f"; stopped because of cases that did not end, {checked.not_run} not run" if checked.not_run else ""
    missing = f"; rules not run: {', '.join(checked.rules_not_run)}" if checked.rules_not_run else ""
    return (
        f"{checked.strategy}: {len(checked.tried) - len(broken)} of {len(checked.tried)} rules hold "
        f"({right} of {counted(len(checked.cases), 'case')}{end}) in {checked.seconds:.0f} s{missing}"
    )


def json_of(checked: Checked) -> dict[str, Any]:
    """Return the result as JSON values."""

    def values_of(rule: str, outcome: str) -> list[dict[str, Any]]:
        """Return the cases of a rule with an outcome."""
        cases = checked.of(rule, outcome)
        return [{"test": case.test, "case": case.case, "lines": list(case.ending.lines)} for case in cases]

    return {
        "strategy": checked.strategy,
        "holds": checked.holds,
        "rules": [
            {
                "rule": rule,
                "sentence": sentence(rule),
                "holds": not checked.of(rule, "failed"),
                "cases": len(checked.of(rule)),
                "failures": values_of(rule, "failed"),
                "limits": values_of(rule, "limit"),
                "skipped": values_of(rule, "skipped"),
            }
            for rule in RULES
            if checked.of(rule)
        ],
        "not_run": checked.not_run,
        "rules_not_run": checked.rules_not_run,
        "seconds": round(checked.seconds, 3),
    }


def _group(cases: "Iterable[Case]", key: "Callable[[Case], str]") -> "dict[str, list[Case]]":
    """Return the cases by a key, in their order."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    return groups
