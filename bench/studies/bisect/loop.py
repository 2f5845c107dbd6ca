"""The comparisons of a bisection: prepare a commit, compare GOOD with it, once more if the answer is unclear."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inflight.bench.commands.output import say
from inflight.bench.core.judge import ExperimentError
from inflight.bench.measure import run as runs
from inflight.bench.present import progress
from inflight.bench.studies.bisect.record import Change, Step
from inflight.bench.studies.compare import command, loop, show
from inflight.bench.studies.compare.comparison import Comparison
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.read import Block, Result
from inflight.bench.studies.compare.rule import Rule, with_looks
from inflight.bench.studies.compare.run import Arms, Calibration, Place

MORE = 2
"""Factor by which the second comparison of a commit has more blocks."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how the comparisons of a bisection are run."""

    place: Place
    folder: Path
    """The folder of the bisection; each comparison gets a folder in it."""
    machine: dict[str, Any]
    budget_s: float | None
    rates: Mapping[str, Any] | None
    """The latest self-test of this machine."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A step, and what later steps are planned by."""

    step: Step
    result: Result
    cycles: int
    gated: int
    """Number of gated metrics."""


def compare(
    bench: Bench, commit: str, planned: Comparison, cycles: int | None, tell: Callable[[Rule, Calibration], None]
) -> Compared:
    """Compare GOOD with a commit, and once more with more blocks if the first answer is inconclusive.

    ``tell`` is called after the calibration. Raises ExperimentError when the two cannot be compared.
    """
    with tempfile.TemporaryDirectory(prefix="inflight-") as files:
        planned, prepared = loop.ready(planned, Path(files))
        planned, calibration = loop.calibrated(planned, prepared, bench.place, cycles)
        rule = command.rule_within(bench.budget_s, calibration, planned)
        tell(rule, calibration)
        results = [_once(bench, planned, prepared, calibration, rule, bench.budget_s)]
        if results[0][1].decision.verdict == "inconclusive":
            say(f"inconclusive: {results[0][1].decision.why}; once more, with {MORE} times as many blocks")
            budget_s = None if bench.budget_s is None else MORE * bench.budget_s
            results.append(_once(bench, planned, prepared, calibration, longer(rule), budget_s))
    result = results[-1][1]
    step = Step(
        commit,
        result.decision.verdict,
        result.decision.why,
        comparisons=len(results),
        blocks=sum(len(one.blocks) for _, one in results),
        changes=_changes(result.decision),
        folders=tuple(folder.name for folder, _ in results),
    )
    return Compared(step, result, planned.cycles, max(1, len(planned.gated)))


def step(bench: Bench, commit: str, planned: Comparison, cycles: int | None) -> Step:
    """Return the comparison of GOOD with a commit between; a commit that cannot be compared is ``untestable``."""
    try:
        return compare(bench, commit, planned, cycles, lambda _rule, _calibration: None).step
    except ExperimentError as error:
        return Step(commit, "untestable", str(error))


def longer(rule: Rule) -> Rule:
    """Return the rule of a second comparison."""
    return with_looks(tuple(MORE * look for look in rule.looks), rule)


def shorter(rule: Rule) -> Rule:
    """Return the rule of the first comparison, given that of the second."""
    return with_looks(tuple(look // MORE for look in rule.looks), rule)


def worse(result: Result) -> tuple[str, ...]:
    """Return the metrics that are worse; later steps need no others. Empty if B failed instead of being slower."""
    effects = result.decision.effects
    return tuple(one.metric for one in effects if one.low > 0 and one.estimate > result.rule.least)


def only(planned: Comparison, metrics: Sequence[str]) -> Comparison:
    """Return the comparison with these metrics alone; with all if there are none."""
    kept = tuple(metric for metric in planned.metrics if metric in metrics)
    return replace(planned, metrics=kept) if kept else planned


def _once(
    bench: Bench, planned: Comparison, prepared: Arms, calibration: Calibration, rule: Rule, budget_s: float | None
) -> tuple[Path, Result]:
    """Run a comparison in a folder of its own, and keep its verdict there. Raises RunError."""
    folder = runs.new_folder(bench.folder, planned, bench.machine)
    blocks, block_ns = rule.looks[-1], calibration.block_s * 1e9
    with progress.shown(progress.Stand(blocks, blocks * block_ns, guess="at most")) as shown:

        def report(block: Block, decision: Decision) -> None:
            command.show_block(shown, block, show.block_line(block, decision), block_ns)

        result = loop.run(folder, planned, prepared, bench.place, rule, report, budget_s)
    try:
        command.keep(folder, result, bench.rates)
    except OSError as error:
        raise runs.RunError(f"cannot write to {folder}: {error.strerror}; the rows are complete") from error
    return folder, result


def _changes(decision: Decision) -> tuple[Change, ...]:
    ends = ((one.metric, one.estimate, one.low, one.high) for one in decision.effects)
    return tuple(Change(metric, *map(math.exp, found)) for metric, *found in ends)
