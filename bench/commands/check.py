"""``inflight check``: run the conformance suite on one strategy, and say which rules of the contract it breaks.

The suite is ``inflight.conformance``: tests of pytest, each of which belongs to a rule of ``strategies/base.py``.
``check`` runs pytest in this process, with ``conformance.plugin``, which runs the cases in several processes and
collects how each ended; ``text_of`` and ``json_of`` write the result. A *case* is a test with its parameters.
"""

import io
import json
import os
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inflight import conformance, strategies
from inflight.bench.commands.options import JSON, QUIET, option
from inflight.bench.commands.output import put, say
from inflight.bench.commands.run import interruptible, time_s
from inflight.bench.plan.experiment import available
from inflight.bench.plan.judge import ExperimentError, check_known
from inflight.bench.show.progress import Progress, displayed
from inflight.bench.show.words import counted, plain
from inflight.bench.units import duration
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
"""Usual time of a check of all rules, in nanoseconds, but for the pages of the client."""
PAGES = 1200
"""Number of pages that each process fetches in such a check, one after another, when the client fetches no others
at once."""
MAX_CAUSES = 4
"""Maximum number of causes that are named for a rule."""


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
    if checked.holds and not rules:
        say(f"measure it: {shlex.join(['inflight', 'run', 'quick', '--strategy', strategy])}")
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
    steps_ns = USUAL_NS / len(RULES)
    with displayed(Progress(len(rules), steps_ns * len(rules))) as progress:

        def show(case: "Case", planned: int) -> None:
            """Show a step when all ``planned`` cases of a rule have ended; the first says how fast the client is."""
            nonlocal steps_ns
            cases = [each for each in plugin.cases if each.topic == case.topic]
            if len(cases) < planned:
                return
            broken = Counter(each.rule for each in failures_of(cases))
            counts = [counted(planned, "case"), *(f"{number} failed {rule}" for rule, number in broken.items())]
            line = f"{case.topic}: {', '.join(counts)}"
            times_ns = [each.ending.page_ns for each in cases if each.ending.page_ns]
            if progress.done == 0 and times_ns:
                all_ns = USUAL_NS + PAGES * min(times_ns)
                steps_ns = all_ns / len(RULES)
                progress.ahead_ns = progress.announced_ns = steps_ns * len(rules)
                line += f"\na page takes {duration(min(times_ns), 2)}, so about {duration(progress.ahead_ns, 2)} in all"
            progress.finished(line, steps_ns)

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
        cases = [*self.cases, *leaks_of(self.cases)]
        return [each for each in cases if each.rule == rule and each.ending.outcome in (outcomes or OUTCOMES)]

    @property
    def tried(self) -> list[str]:
        """The rules with at least one case that says something, in their order."""
        return [rule for rule in RULES if self.of(rule, "passed", "failed", "limit")]

    @property
    def not_run(self) -> int:
        """Number of cases that were not run, because too many others did not end."""
        return sum(self.planned.values()) - len(self.cases)

    @property
    def not_run_by_rule(self) -> Counter[str]:
        """The number of cases of each rule that were not run for that reason, without those that have none."""
        return Counter(self.planned) - Counter(case.topic for case in self.cases)

    @property
    def rules_not_run(self) -> list[str]:
        """The rules of which no case was run for that reason."""
        return [rule for rule, number in self.not_run_by_rule.items() if number == self.planned[rule]]

    @property
    def holds(self) -> bool:
        """Whether all cases were run, and none failed."""
        return not self.not_run and not failures_of(self.cases)


OUTCOMES = ("passed", "failed", "skipped", "limit")
"""How a case can end; limit: a known limit of the client's library."""
NO_FAILURES = {"limit": "known limit of the library, which breaks no rule", "skipped": "skipped"}
"""What is printed of the cases that neither passed nor failed."""


def leaks_of(cases: "Iterable[Case]") -> "list[Case]":
    """Return the cases that left something behind, each as a failure."""
    return [replace(case, ending=case.ending.leak) for case in cases if case.ending.leak]


def failures_of(cases: "Sequence[Case]") -> "list[Case]":
    """Return what failed: cases, and what cases left behind."""
    return [case for case in cases if case.ending.outcome == "failed"] + leaks_of(cases)


def text_of(checked: Checked, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of the result: one for each rule, and below it one for each cause of failures."""
    for rule in checked.tried:
        failed = sorted(checked.of(rule, "failed"), key=lambda case: (case.test, case.case))  # they end in any order
        causes = _group(failed, _cause)
        yield f"{'FAILED' if causes else 'ok':<6}  {rule:<11}  {sentence(rule)}"
        for cases in [*causes.values()][:MAX_CAUSES]:
            first = min(cases, key=lambda case: case.case)
            example = f"{first.test} ({first.case})" if first.case else first.test
            yield f"        {plain(first.ending.lines[0], 300)} — {counted(len(cases), 'case')}, such as: {example}"
            if verbose:
                yield from (f"            | {line}" for line in first.ending.traceback.splitlines())
        if len(causes) > MAX_CAUSES:
            yield f"        and {len(causes) - MAX_CAUSES} more"
    not_run = [f"{number} of {checked.planned[rule]} {rule}" for rule, number in checked.not_run_by_rule.items()]
    if not_run:
        yield f"cases not run, because too many others did not end: {', '.join(not_run)}"
    for outcome, title in NO_FAILURES.items():
        others = [case for case in checked.cases if case.ending.outcome == outcome]
        if others and not verbose:
            yield f"{title}: {counted(len(others), 'case')}; --verbose prints each with its reason"
        elif verbose:
            yield from (f"{title}: {case.test}: {plain(case.ending.lines[0])}" for case in others)
    yield ""
    yield summary(checked)


def _cause(case: "Case") -> tuple[str, ...]:
    """Return what the failures of one cause have in common.

    That is what was expected, but for paths and numbers, and the class and the place of an exception.
    """
    expected, _, rest = case.ending.lines[0].partition(" — ")
    error = rest.partition(" — ")[2]
    return re.sub(r"/\S*|\d+", "", expected), re.split(" from |:", error)[0], error.rpartition(" (")[2]


def summary(checked: Checked) -> str:
    """Return how many rules hold, in one sentence."""
    broken = [rule for rule in checked.tried if checked.of(rule, "failed")]
    right = sum(case.ending.outcome != "failed" for case in checked.cases)
    missing = f", {checked.not_run} not run" if checked.not_run else ""
    return (
        f"{checked.strategy}: {len(checked.tried) - len(broken)} of {len(checked.tried)} rules hold "
        f"({right} of {counted(len(checked.cases), 'case')}{missing}) in {checked.seconds:.0f} s"
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


def _group(cases: "Iterable[Case]", key: "Callable[[Case], tuple[str, ...]]") -> "dict[tuple[str, ...], list[Case]]":
    """Return the cases by a key, in their order."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    return groups
