"""The trials that some claims need, each of them once, as one experiment."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict, replace

from inflight.bench.measure import run as runs
from inflight.bench.plan.arm import BlockTrial
from inflight.bench.plan.bare import BareTable, BareTrial, Idle, Limit, Probe
from inflight.bench.plan.experiment import TABLES, Experiment
from inflight.bench.plan.grid import Grid, Throughput, Workload
from inflight.bench.plan.trials import AnyTrial, RowTrial, row_trials
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import plain_values

Key = tuple[str, str, str, int]
"""Identity of a trial: kind, strategy (of a block its arms), workload without its id, round."""


def key_of(trial: AnyTrial | RowTrial) -> Key:
    """Return the key of a trial, or of a part of it that becomes a row."""
    arms = trial.arms if isinstance(trial, BlockTrial) else ()
    name = ", ".join(sorted(arm.name for arm in arms)) or trial.strategy
    settings = {"labels": sorted(arm.label for arm in arms)} if arms else {}  # names have only what differs
    return _key(trial.kind, name, trial.values | settings, trial.round)


def key_of_row(row: Row) -> Key:
    """Return the key of a row's trial."""
    return _key(row.kind, row.strategy, plain_values(row.workload), row.round)


def _key(kind: str, strategy: str, workload: Mapping[str, Any], number: int) -> Key:
    told = {name: value for name, value in workload.items() if name != "id"}
    if "arm" in told:  # the measurement does not depend on which arm is the reference
        told["arm"] = {name: value for name, value in told["arm"].items() if name != "role"}
    return kind, strategy, json.dumps(told, sort_keys=True), number


def trials_of(experiment: Experiment) -> dict[Key, AnyTrial]:
    """Return the trials of an experiment by their keys, in the order of the plan."""
    return {key_of(trial): trial for trial in runs.all_trials(experiment)}


def parts_of(trials: Iterable[AnyTrial]) -> set[Key]:
    """Return the keys of the rows that trials become."""
    return {key_of(part) for trial in trials for part in row_trials(trial)}


def union(name: str, about: str, chosen: Iterable[Experiment]) -> Experiment:
    """Return one experiment with every trial of the chosen ones once."""
    many = list(chosen)
    crawled: dict[tuple[str, ...], tuple[Grid, Workload, dict[str, int]]] = {}
    listed: dict[Key, tuple[BareTrial, int]] = {}
    for experiment in many:
        for grid, workload in experiment.cells():
            names = [one for one in grid.strategies or experiment.strategies if one in experiment.strategies]
            together = names if isinstance(grid, Throughput) and grid.against is None else ()
            *_, rounds = crawled.setdefault(_cell_key(grid, workload, together), (grid, workload, {}))
            rounds |= {name: max(_rounds(experiment, grid.rounds), rounds.get(name, 0)) for name in names}
        for table in experiment.bare:
            for one in table.trials(experiment.strategies):
                key = _key(one.kind, one.strategy, one.values, 0)
                listed[key] = one, max(_rounds(experiment, table.rounds), listed.get(key, (one, 0))[1])
    tables: list[Grid | BareTable] = [
        _grid(grid, workload, rounds, number)
        for grid, workload, rounds in crawled.values()
        for number in sorted(set(rounds.values()))
    ]
    tables += [_table(one, rounds) for one, rounds in listed.values()]
    by_kind: dict[str, Any] = {kind.kind: tuple(one for one in tables if type(one) is kind) for kind in TABLES}
    return Experiment(
        name=name,
        about=about,
        strategies=tuple(dict.fromkeys(name for _, _, rounds in crawled.values() for name in rounds)),
        rounds=max((experiment.rounds for experiment in many), default=1),
        **by_kind,
    )


def _cell_key(grid: Grid, workload: Workload, together: Iterable[str]) -> tuple[str, ...]:
    """Return the identity of a cell: its workload, its settings, and the strategies that are in one block."""
    listed = {"latency", "in_flight", "connection", "cpu", "rounds", "strategies"}
    whole = {key: value for key, value in asdict(grid).items() if key not in listed}
    settings = repr(whole) if isinstance(grid, Throughput) else repr(grid.settings)
    return grid.kind, *_key(workload.kind, "", workload.to_dict(), 0)[1:3], *together, settings


def _grid(grid: Grid, workload: Workload, rounds: Mapping[str, int], number: int) -> Grid:
    """Return a grid of only this workload, with the strategies that have this number of rounds."""
    site = {key: value for key, value in workload.site.to_dict().items() if key != "delay"}
    found = replace(
        grid,
        latency=(workload.site.delay,),
        in_flight=(workload.in_flight,),
        connection=(workload.connection,),
        cpu=(workload.cpu,),
        site=site,
        rounds=number,
        strategies=tuple(name for name, own in rounds.items() if own == number),
    )
    return found if isinstance(found, Throughput) else replace(found, pages=None, seconds=None)


def _rounds(experiment: Experiment, rounds: int | None) -> int:
    return experiment.rounds if rounds is None else min(rounds, experiment.rounds)


def _table(one: BareTrial, rounds: int) -> BareTable:
    """Return a table of the experiment with only this trial."""
    values = one.values
    if one.kind == "idle":
        return Idle(what=(values["what"],), n=(values["n"],), variables=values.get("variables", {}), rounds=rounds)
    if one.kind == "probe":
        each: dict[str, Any] = {name: (value,) for name, value in values["arguments"].items()}
        return Probe(probe=values["probe"], each=each, rounds=rounds)
    return Limit(resources=(values["resource"],), through_shared=values["through_shared"], rounds=rounds)
