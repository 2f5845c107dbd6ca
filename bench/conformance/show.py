"""What a check found, as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inflight.bench.conformance import RULES, sentence
from inflight.bench.conformance.plugin import MOST_HANGS, Case
from inflight.bench.show.words import counted, plain


@dataclass(frozen=True, slots=True)
class Checked:
    """All cases of one strategy."""

    strategy: str
    cases: Sequence[Case]
    not_run: int
    """Number of cases that were not run, because too many others did not end."""
    rules_not_run: Sequence[str]
    """The rules of which no case was run for that reason."""
    seconds: float

    def of(self, rule: str, *outcomes: str) -> list[Case]:
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


def text(checked: Checked, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of the result."""
    for rule in checked.tried:
        failed = checked.of(rule, "failed")
        yield f"{'FAILED' if failed else 'ok':<6}  {rule:<11}  {sentence(rule)}"
        for test, cases in _by_test(failed).items():
            yield from _failure(test, cases, checked.cases, verbose=verbose)
        for test, cases in _by_test(checked.of(rule, "limit")).items():
            yield f"        {test}: known limit of the library: {plain(cases[0].lines[0])}"
    skipped = [case for case in checked.cases if case.outcome == "skipped"]
    for reason, cases in _by_reason(skipped).items():
        yield f"skipped: {counted(len(cases), 'case')}: {reason}"
    yield ""
    yield summary(checked)


def summary(checked: Checked) -> str:
    """Return how many rules hold, in one sentence."""
    run, tried = len(checked.cases), len(checked.tried)
    right = sum(case.outcome != "failed" for case in checked.cases)
    end = f"; stopped after {MOST_HANGS} that did not end, {checked.not_run} not run" if checked.not_run else ""
    missing = f"; rules not run: {', '.join(checked.rules_not_run)}" if checked.rules_not_run else ""
    return (
        f"{checked.strategy}: {tried - len(checked.broken)} of {tried} rules hold "
        f"({right} of {counted(run, 'case')}{end}) in {checked.seconds:.0f} s{missing}"
    )


def data(checked: Checked) -> dict[str, Any]:
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


def _shown(case: Case) -> dict[str, Any]:
    return {"test": case.test, "case": case.case, "lines": list(case.lines)}


def _failure(test: str, cases: list[Case], everything: Iterable[Case], *, verbose: bool) -> Iterator[str]:
    first, of = cases[0], sum(case.test == test for case in everything)
    where = f" ({first.case})" if first.case else ""
    number = f": {len(cases)} of {of} cases" if of > 1 else ""
    yield f"        {test}{number}{', such as' if number and where else ''}{where}"
    for line in first.lines:
        yield f"            {plain(line, 400)}"
    if verbose and first.traceback:
        yield from (f"            | {line}" for line in first.traceback.splitlines())


def _by_test(cases: Iterable[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.test, []).append(case)
    return found


def _by_reason(cases: Iterable[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(plain(case.lines[0]), []).append(case)
    return found
