"""Pairs of processes, one after another, until the rule is satisfied: the straight line of ``inflight ab``.

::

    Comparison --prepare--> sides --calibrate--> pages a turn --run_pair--> Row --values--> decide --> again, or an end
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from bench import rows
from bench.analyse import pairs
from bench.analyse.decide import Decision, Rule, decide
from bench.analyse.pairs import Tally
from bench.comparison import Comparison, PairTrial, SideName
from bench.judge import ExperimentError
from bench.measure import host
from bench.measure.controller import Setting
from bench.measure.limits import descriptor_shortage
from bench.measure.pair import Calibration, Sides, calibrate, run_pair
from bench.measure.process import WorkerError
from bench.measure.sides import Prepared, prepare
from bench.rows import Row
from bench.runs import RunError, ServerKeeper

Report = Callable[[Row, Decision], None]
"""Called after each pair with its row, and what the pairs so far amount to."""


OVERRUN = 1.5


@dataclass(frozen=True, slots=True)
class Bench:
    """Where pairs are run: a server, and the cores."""

    keeper: ServerKeeper
    cpus: host.Cpus


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with the pairs that it rests on."""

    decision: Decision
    rows: tuple[Row, ...]
    rule: Rule

    @property
    def tally(self) -> Tally:
        """What became of the pairs."""
        return pairs.tally(self.rows)


def prepare_both(comparison: Comparison, folder: Path) -> Sides:
    """Make both sides ready, each in a folder of its own. Raises ExperimentError when one cannot be had."""
    names: tuple[SideName, ...] = ("A", "B")
    return {name: prepare(comparison.side(name), folder / name) for name in names}


def calibrated(comparison: Comparison, sides: Sides, bench: Bench, pages: int | None) -> tuple[Comparison, Calibration]:
    """Return the comparison with as many pages as make a good turn, or as were asked for.

    Memory is not measured of a model that can keep only one in flight. Raises ExperimentError when a side cannot do the
    work at all.
    """
    if any(side.described.most_in_flight is not None for side in sides.values()):
        comparison = replace(comparison, metrics=tuple(m for m in comparison.metrics if m != "memory"))
    if not comparison.metrics:
        raise ExperimentError("memory per fetch in flight is not defined for a model that can have only one in flight")
    for side in sides.values():
        if shortage := descriptor_shortage(side.side.in_flight, per_fetch=side.side.connection == "per-fetch"):
            raise ExperimentError(shortage)
    try:
        found = calibrate(comparison, sides, bench.keeper.server(), setting("calibration", bench), pages)
    except WorkerError as error:
        raise ExperimentError(f"nothing to compare: {error}") from error
    return replace(comparison, site=replace(comparison.site, pages=found.pages)), found


def run(
    folder: Path,
    comparison: Comparison,
    sides: Sides,
    bench: Bench,
    rule: Rule,
    report: Report,
    budget_s: float | None = None,
) -> Verdict:
    """Run pairs until the decision is final; each row is on the disk before the next pair begins.

    Memory is measured in as many pairs as the first look needs, and in more only while it is what keeps the decision
    open. A budget that pairs overrun by half ends the run as inconclusive, whatever they say.
    """
    found: list[Row] = []
    give_up_s = math.inf if budget_s is None else time.monotonic() + OVERRUN * budget_s
    memory_is_open = False
    while True:
        memory = "memory" in comparison.metrics and (memory_is_open or _lacks_memory(found, rule))
        trial = PairTrial(comparison, len(found) + 1, memory)
        row = run_pair(trial, sides, bench.keeper.server(), setting(folder.name, bench))
        append(folder, row)
        found.append(row)
        decision = decided(found, rule)
        if not decision.final and time.monotonic() > give_up_s:
            why = f"pairs took longer than planned: the budget was used up after {len(found)} ({decision.why})"
            decision = replace(decision, verdict="inconclusive", final=True, why=why)
        report(row, decision)
        if decision.final:
            return Verdict(decision, tuple(found), rule)
        if decision.look is not None:
            memory_is_open = _is_memory_open(decision, rule)


def decided(found: Sequence[Row], rule: Rule) -> Decision:
    """Decide on the rows of pairs so far; B never passes with a wrong answer."""
    decision = _decided(found, rule)
    wrong = sum(row.status == "wrong" and row.measured.get("failed_side") == "B" for row in found)
    if decision.verdict == "pass" and wrong:
        why = f"B gave a wrong answer in {wrong} of {len(found)} pairs, so it cannot pass"
        return replace(decision, verdict="inconclusive", why=f"{why} ({decision.why})")
    return decision


def _decided(found: Sequence[Row], rule: Rule) -> Decision:
    """Decide on what the pairs say.

    A good pair without a value of any gated metric counts as dropped, so that a run of such pairs ends too. If at the
    first look no metric is gated at all, that is the decision.
    """
    tally = pairs.tally(found)
    gated = pairs.gated(tally.good)
    if gated and "memory" in found[0].workload["metrics"]:
        gated.setdefault("memory", [])  # asked for and never had: it must keep a pass away
    controls = pairs.series([pairs.controls(row) for row in tally.good])
    failed = tally.failed_a, tally.failed_b
    if not gated and len(tally.good) < rule.looks[0]:
        return decide(_empty(found), controls, rule, *failed, tally.dropped, tally.mostly_for)
    without = len(tally.good) - max(map(len, gated.values()), default=0)
    why = "no figure of what is compared" if without > tally.dropped else tally.mostly_for
    return decide(gated, controls, rule, *failed, tally.dropped + without, why)


def append(folder: Path, row: Row) -> None:
    """Put the row of a pair behind the others. Raises RunError when it cannot be written."""
    try:
        rows.append(folder, row)
    except OSError as error:
        raise RunError(f"cannot write {folder / rows.ROWS_FILE}: {error.strerror}; the rows so far are safe") from error


def setting(run_name: str, bench: Bench) -> Setting:
    """Return what the trials of a run share."""
    return Setting(run_name, bench.cpus, lambda _: 60.0, psutil.virtual_memory().available // 2)


def _empty(found: Sequence[Row]) -> dict[str, list[float]]:
    """Return the metrics that were asked for, without a value: no pair was good yet."""
    return {metric: [] for row in found[:1] for metric in row.workload["metrics"]}


def _lacks_memory(found: Sequence[Row], rule: Rule) -> bool:
    return sum("memory" in pairs.values(row) for row in found if row.valid) < rule.looks[0]


def _is_memory_open(decision: Decision, rule: Rule) -> bool:
    return any(one.metric == "memory" and one.upper >= rule.acceptable for one in decision.effects)


def describe_commit(side: Prepared) -> str:
    """Return which files a side has: the commit and its repository, where it is one."""
    where = f" of {side.side.repository}" if side.side.repository else ""
    return f"{side.side.label}" + (f", commit {side.commit[:12]}{where}" if side.commit else "")
