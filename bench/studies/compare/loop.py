"""Run blocks until the decision is final: the main loop of ``inflight ab``.

::

    Comparison --ready--> arms --calibrate--> cycles per block --measure--> [Row] --values--> decide --> again or end
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from inflight.bench.measure import interpreters
from inflight.bench.measure.run import RunError
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.comparison import Comparison
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.read import Block, Result
from inflight.bench.studies.compare.rule import Rule, budget_for
from inflight.bench.studies.compare.run import Arms, Calibration, Place, calibrate, measure, prepare_arms

Report = Callable[[Block, Decision], None]
"""Called after each block with the decision so far."""
OVERRUN = 1.5
"""Multiple of the budget after which a run ends."""


def ready(comparison: Comparison, folder: Path) -> tuple[Comparison, Arms]:
    """Prepare the arms; return the comparison of what can be measured, and the arms. Raises ExperimentError.

    Memory is not measured where it has no figure, see ``_why_no_memory``.
    """
    prepared = prepare_arms(comparison, folder)
    if why := _why_no_memory(prepared):
        metrics = tuple(metric for metric in comparison.metrics if metric != "memory")
        comparison = replace(comparison, metrics=metrics)
    if not comparison.metrics:  # memory alone was asked for
        raise ExperimentError(why)
    a, b = (replace(arm, stack=prepared[arm.name].described.stack) for arm in (comparison.a, comparison.b))
    return replace(comparison, a=a, b=b), prepared


def _why_no_memory(prepared: Arms) -> str:
    """Return why two readings give no memory per fetch in flight; empty if they do.

    On a free-threaded build, the heap varies by megabytes from process to process, more than by what fetches take.
    """
    if any(one.described.most_in_flight is not None for one in prepared.values()):
        return "memory per fetch in flight is not defined for a model that can have only one in flight"
    paths = {one.runtime.python for one in prepared.values()}
    if any(path is not None and interpreters.ask(path).free_threaded for path in paths):
        return "memory per fetch in flight is not compared on a free-threaded build: its heap varies more than that"
    return ""


def calibrated(
    comparison: Comparison, prepared: Arms, place: Place, cycles: int | None
) -> tuple[Comparison, Calibration]:
    """Calibrate; return the comparison with its number of cycles and its gated metrics, and the calibration.

    Raises ExperimentError when a side cannot do the work.
    """
    found = calibrate(comparison, prepared, place, cycles)
    for row in found.rows:
        if read.failed(row):
            label = row.workload.arm.label
            raise ExperimentError(f"nothing to compare: {row.strategy}, {label}: {read.reason(row)}")
    moves = read.moves_throughput(found.rows)
    gated = tuple(metric for metric in comparison.metrics if metric != "throughput" or moves)
    return replace(comparison, gated=gated, cycles=found.cycles), found


def run(
    folder: Path,
    comparison: Comparison,
    prepared: Arms,
    place: Place,
    rule: Rule,
    report: Report,
    budget_s: float | None = None,
) -> Result:
    """Run blocks until the decision is final; the rows of each are written before the next one begins.

    Memory is measured in as many blocks as the first look needs, and in more only while memory keeps the decision open.
    A run that takes longer than ``OVERRUN`` times its budget ends as inconclusive.
    """
    found: list[Block] = []
    most_s = math.inf if budget_s is None else OVERRUN * budget_s
    memory_is_open = False
    while True:
        memory = "memory" in comparison.metrics and (memory_is_open or _lacks_memory(found, rule))
        found.append(block(folder, comparison, len(found) + 1, prepared, place, memory=memory))
        decision = read.decided(found, rule)
        taken_s = sum(one.duration_ns for one in found) / 1e9
        if not decision.final and taken_s > most_s:
            why = f"blocks took longer than planned: {OVERRUN:g} times the budget after {len(found)} ({decision.why})"
            why += f"; try --budget {_enough_s(decision, rule, taken_s)}s"
            decision = replace(decision, verdict="inconclusive", final=True, why=why)
        report(found[-1], decision)
        if decision.final:
            return Result(decision, tuple(found), rule)
        if decision.look is not None:
            memory_is_open = _is_memory_open(decision, rule)


def block(
    folder: Path, comparison: Comparison, number: int, prepared: Arms, place: Place, *, memory: bool = False
) -> Block:
    """Run a block, append its rows to the folder, and return it. Raises RunError when they cannot be written."""
    made = measure(comparison, number, prepared, place, folder.name, memory=memory)
    for row in made:
        append(folder, row)
    (found,) = read.blocks(made)
    return found


def append(folder: Path, row: Row) -> None:
    """Append a row. Raises RunError when it cannot be written."""
    try:
        rows.append(folder, row)
    except OSError as error:
        raise RunError(f"cannot write {folder / rows.ROWS_FILE}: {error.strerror}; the rows so far are safe") from error


def _enough_s(decision: Decision, rule: Rule, taken_s: float) -> int:
    """Return a budget in seconds that allows the next look, given how long the blocks so far took."""
    next_look = next((look for look in rule.looks if look > decision.blocks), rule.looks[-1])
    return budget_for(next_look * taken_s / max(1, decision.blocks))


def _lacks_memory(found: Sequence[Block], rule: Rule) -> bool:
    return sum("memory" in read.values(one) for one in found if one.good) < rule.looks[0]


def _is_memory_open(decision: Decision, rule: Rule) -> bool:
    return any(one.metric == "memory" and one.upper >= rule.acceptable for one in decision.effects)
