"""The trials that some claims need, each of them once, and the stored rows of earlier runs that answer them.

``command`` calls ``union`` and ``trials_of`` for its plan, and ``find_rows`` and ``as_rows_of`` for what need not be
measured again. A trial is known by its key (kind, strategy, workload, round), not by its id, so that a row of another
run or another claim can be used.
"""

import json
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from inflight.bench.measure import host, interpreters
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import TABLES, Experiment, ExperimentError
from inflight.bench.plan.grid import Grid
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.rows.records import changed

Key = tuple[str, str, str, int]
"""Identity of a trial: kind, strategy (of a block its arms), workload without its id, round."""
Measured = list[Row]
"""The rows of one trial in one run; of a block those of all its arms."""
MAX_INVALID = 2
"""Number of measurements of a trial, none of them valid, after which their rows are reused instead of a further one."""
TIMED_PROBES = ("selectors", "spin", "thread_per_fetch")
"""Probes whose times are compared with each other."""


def key_of(trial: Trial) -> Key:
    """Return the key of a trial, or of a part of it that becomes a row."""
    name, values = trial.name, msgspec.to_builtins(trial.workload)
    if trial.is_block:
        name = ", ".join(sorted(arm.name for arm in trial.arms))
        values |= {"labels": sorted(arm.label for arm in trial.arms)}  # names have only what differs
    return _key(trial.kind, name, values, trial.round)


def key_of_row(row: Row) -> Key:
    """Return the key of a row's trial."""
    return _key(row.kind, row.arm, msgspec.to_builtins(row.workload), row.round)


def _key(kind: str, strategy: str, workload: Mapping[str, Any], number: int) -> Key:
    """Return the key: what identifies a trial, whatever its workload is called."""
    values = {name: value for name, value in workload.items() if name != "id"}
    if "arm" in values:  # the measurement does not depend on which arm is the reference
        values["arm"] = {name: value for name, value in values["arm"].items() if name != "role"}
    return kind, strategy, json.dumps(values, sort_keys=True), number


def trials_of(experiment: Experiment) -> dict[Key, Trial]:
    """Return the trials of an experiment by their keys, in the order of the plan."""
    return {key_of(trial): trial for trial in runs.all_trials(experiment)}


def parts_of(trials: Iterable[Trial]) -> set[Key]:
    """Return the keys of the rows that trials become."""
    return {key_of(part) for trial in trials for part in row_trials(trial)}


def union(name: str, about: str, chosen: Iterable[Experiment]) -> Experiment:
    """Return one experiment with the tables of the chosen ones; equal tables are one."""
    many = list(chosen)
    tables: dict[str, list[Any]] = {table.kind: [] for table in TABLES}
    for experiment in many:
        for kind, wholes in tables.items():
            for table in getattr(experiment, kind):
                rounds = experiment.rounds_of(table)
                common = {"strategies": table.strategies or experiment.strategies} if isinstance(table, Grid) else {}
                whole = replace(table, rounds=rounds, **common)
                if whole not in wholes:
                    wholes.append(whole)
    names = tuple(dict.fromkeys(name for experiment in many for name in experiment.strategies))
    rounds = max((experiment.rounds for experiment in many), default=1)
    union_of_tables: dict[str, Any] = {kind: tuple(wholes) for kind, wholes in tables.items()}
    return Experiment(name=name, about=about, strategies=names, rounds=rounds, **union_of_tables)


def find_rows(
    out: Path,
    wanted: Mapping[Key, Trial],
    together: Iterable[Collection[Key]],
    given: tuple[str, ...] = (),
) -> dict[Key, Measured]:
    """Return for each wanted trial the rows to reuse, if any: the newest valid ones.

    Without valid rows they are the newest invalid ones, if there are MAX_INVALID of them. Skipped trials are not
    reused: they may be possible now. Nor are rows of another interpreter than a trial would have now; ``given`` are
    those that the user gives.

    ``together`` has the trials of each claim. Times of different runs are never compared (docs/method.md), because the
    load of a machine changes. So the timed trials of a claim in one round are reused if one run has all of them, else
    none is. Claims share no timed trial. A block has all its comparisons in itself.
    """
    timed = {key for key in wanted if key[0] == "crawl" or (key[0] == "probe" and key[1] in TIMED_PROBES)}
    moments: dict[tuple[str, str], dict[Key, Row]] = {}
    for row in _rows_of_this_machine(out):
        if _has_its_interpreter(row, given):  # a reused row is in several folders
            moments.setdefault((row.started_at, row.run), {})[key_of_row(row)] = row
    ordered = [moments[moment] for moment in sorted(moments)]
    usable = {key: _usable(trial, ordered) for key, trial in wanted.items()}
    chosen: dict[Key, Measured] = {}
    for key, many in usable.items():
        ended = [measured for measured in many if not _is_skipped(measured)]
        if ended and key not in timed:
            chosen[key] = next(filter(_is_valid, reversed(ended)), ended[-1])
    for keys in together:
        rounds: dict[int, list[Key]] = {}
        for key in keys:
            if key in timed:
                rounds.setdefault(key[3], []).append(key)
        for group in rounds.values():
            by_run = {key: {measured[0].run: measured for measured in usable[key]} for key in group}
            common = set.intersection(*map(set, by_run.values()))
            newest = max(common, default="")  # a run's name begins with its time
            for key in group if common else ():
                if not _is_skipped(by_run[key][newest]):
                    chosen[key] = by_run[key][newest]
    return chosen


def as_rows_of(trial: Trial, measured: Measured) -> Measured:
    """Return rows with the trial names of this run; each keeps the name of its own run."""
    parts = {key_of(part): part for part in row_trials(trial)}
    keyed = [(row, parts[key_of_row(row)]) for row in measured]
    return [changed(row, trial=part.id, workload=part.workload) for row, part in keyed]


def _has_its_interpreter(row: Row, given: tuple[str, ...]) -> bool:
    """Return whether a row's interpreter is the one that its trial would have now; also if none is found now."""
    arm = getattr(row.workload, "arm", None)
    if arm is None or arm.python is None or row.knobs.python is None:
        return True
    try:
        path = interpreters.path_of(arm.python, given)
    except ExperimentError:
        return True
    now = interpreters.ask(path or sys.executable)
    return (row.knobs.python, bool(row.knobs.free_threaded)) == (now.version, now.free_threaded)


def _usable(trial: Trial, moments: Iterable[dict[Key, Row]]) -> list[Measured]:
    """Return the stored rows of a trial that are valid or skipped, and the others if there are MAX_INVALID of them.

    The oldest come first. Those of a block count only if it had the same arms.
    """
    parts, is_block = parts_of([trial]), trial.kind == "arm"
    there = (moment for moment in moments if parts <= moment.keys() and (not is_block or parts == moment.keys()))
    many = [[moment[part] for part in parts] for moment in there]
    invalid = [each for each in many if not _is_valid(each) and not _is_skipped(each)]
    return many if len(invalid) >= MAX_INVALID else [each for each in many if each not in invalid]


def _is_valid(measured: Measured) -> bool:
    """Return whether all rows of a trial are valid."""
    return all(row.valid for row in measured)


def _is_skipped(measured: Measured) -> bool:
    """Return whether a row of a trial was skipped."""
    return any(row.status == "skipped" for row in measured)


def _rows_of_this_machine(out: Path) -> Iterator[Row]:
    """Yield the rows of all runs in a folder that were made on this machine, with pinned trials."""
    machine = json.loads(json.dumps(host.machine()))
    for folder in rows.folders_in(out):
        try:
            before = rows.machine(folder)
            experiment = tomllib.loads(rows.content(folder / rows.EXPERIMENT_FILE).decode())
            is_same = not rows.machine_changes(before, machine) and before.get("versions") == machine.get("versions")
            if is_same and experiment.get("pin", True):
                yield from (row for row in rows.read(folder) if row.format == row.FORMAT)
        except (OSError, ValueError, AttributeError, RecursionError, RowsError):
            continue  # an unreadable run is not reused
