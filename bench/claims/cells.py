"""Which trials a choice of claims needs, each of them once, as an experiment of their own."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bench import bare, runs
from bench.bare import BareGrid
from bench.experiment import KINDS, Experiment
from bench.grid import Grid, Workload
from bench.plan import AnyTrial, Trial

Key = tuple[str, str, str, int]
"""What makes two trials the same one: kind, strategy, workload without its id, round."""


def key_of(kind: str, strategy: str, workload: Mapping[str, Any], number: int) -> Key:
    """Return the key of a trial, or of the row that it left."""
    told = {name: value for name, value in workload.items() if name != "id"}
    return kind, strategy, json.dumps(told, sort_keys=True), number


def trials_of(experiment: Experiment) -> dict[Key, AnyTrial]:
    """Return the trials of an experiment by their keys, in the order of the plan."""
    return {key_of(t.kind, t.strategy, t.values, t.round): t for t in runs.all_trials(experiment)}


def union(name: str, about: str, chosen: Iterable[Experiment]) -> Experiment:
    """Return one experiment that has every trial of the chosen ones once."""
    many = list(chosen)
    crawled: dict[Key, _Cell] = {}
    listed: dict[Key, tuple[bare.Bare, int]] = {}
    for experiment in many:
        for grid, workload in experiment.cells():
            cell = crawled.setdefault(key_of(workload.kind, "", workload.to_dict(), 0), _Cell(grid, workload))
            cell.add(grid.strategies or experiment.strategies, experiment, grid.rounds)
        for table in experiment.bare:
            for one in table.cells:
                key = key_of(one.kind, one.subject, one.values, 0)
                rounds = _rounds(experiment, table.rounds)
                listed[key] = one, max(rounds, listed[key][1] if key in listed else 0)
    strategies = tuple(dict.fromkeys(name for cell in crawled.values() for name in cell.rounds))
    grids = [grid for cell in crawled.values() for grid in cell.grids()]
    tables = [_table(one, rounds) for one, rounds in listed.values()]
    return Experiment(
        name,
        about,
        tuple(sorted(grids, key=lambda grid: KINDS.index(grid.kind))),  # as a file would list them
        strategies,
        max((experiment.rounds for experiment in many), default=1),
        bare=tuple(sorted(tables, key=lambda table: bare.KINDS.index(table.kind))),
    )


def renamed(trials: Iterable[AnyTrial], prefix: str) -> list[AnyTrial]:
    """Return crawl trials with a prefix before their ids, so that their rows stand apart from others of the cell."""
    found: list[AnyTrial] = []
    for trial in trials:
        if isinstance(trial, Trial):
            workload = replace(trial.workload, id=f"{prefix}/{trial.workload.id}")
            found.append(replace(trial, id=f"{prefix}/{trial.id}", workload=workload))
    return found


class _Cell:
    """One workload, and which strategies are tried on it in how many rounds."""

    def __init__(self, grid: Grid, workload: Workload) -> None:
        self.grid = grid
        self.workload = workload
        self.rounds: dict[str, int] = {}

    def add(self, strategies: Iterable[str], experiment: Experiment, rounds: int | None) -> None:
        """Ask for these strategies as well, as often as the grid has them tried."""
        for name in strategies:
            if name in experiment.strategies:
                self.rounds[name] = max(_rounds(experiment, rounds), self.rounds.get(name, 0))

    def grids(self) -> list[Grid]:
        """Return one grid of this cell for each number of rounds."""
        site, cap = self.workload.site, self.workload.in_flight
        return [
            Grid(
                self.workload.kind,
                (site.delay,),
                (cap,),
                (self.workload.connection,),
                None,
                replace(site, delay="0"),
                rounds,
                tuple(name for name, own in self.rounds.items() if own == rounds),
                self.grid.waves,
                self.workload.parked,
            )
            for rounds in sorted(set(self.rounds.values()))
        ]


def _rounds(experiment: Experiment, rounds: int | None) -> int:
    return experiment.rounds if rounds is None else min(rounds, experiment.rounds)


def _table(one: bare.Bare, rounds: int) -> BareGrid:
    """Return a table of the experiment that has just this cell."""
    values = one.values
    if one.kind == "block":
        table: dict[str, Any] = {"blocks": [values["block"]], "n": [values["n"]]}
    elif one.kind == "probe":
        table = {"probe": values["probe"], "each": {name: [value] for name, value in values["arguments"].items()}}
    else:
        table = {"resources": [values["resource"]], "through_shared": values["through_shared"]}
    return bare.parse(one.kind, table | {"rounds": rounds}, values["id"])
