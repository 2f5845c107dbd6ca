"""From an experiment to the ordered list of its trials. Pure: the same experiment gives the same plan."""

from dataclasses import dataclass
from random import Random

from bench.experiment import Experiment, Workload
from strategies import Description

# What the estimate goes by; a plan is never changed by it. Rough figures of a 2.6 GHz core.
_START_NS = {"shared": 270_000_000, "own": 550_000_000}
_FETCH_NS = {"shared": 45_000, "own": 140_000}
_MEMORY_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class Trial:
    """One strategy on one workload, once."""

    id: str
    round: int
    strategy: str
    stack: str
    workload: Workload
    reachable: int
    """The most that can be in flight: the cap, or the size of the site, or what the model can do."""


def expand(experiment: Experiment, described: dict[str, Description]) -> list[Trial]:
    """Return every trial: rounds of one trial of each cell, each round in an order of its own, from the seed."""
    order = Random(experiment.seed)
    trials: list[Trial] = []
    for number in range(1, experiment.rounds + 1):
        cells = _cells(experiment, described, number)
        order.shuffle(cells)
        trials += cells
    return trials


def estimate_ns(trials: list[Trial]) -> int:
    """Return about how long the trials take together."""
    return sum(map(_trial_ns, trials))


def _cells(experiment: Experiment, described: dict[str, Description], number: int) -> list[Trial]:
    return [
        _trial(number, workload, described[name])
        for workload in experiment.workloads(number)
        for name in experiment.strategies
        if _makes_sense(workload, described[name])
    ]


def _makes_sense(workload: Workload, strategy: Description) -> bool:
    """Leave out what a model with a limit of its own cannot do more of: it would be the same trial again."""
    return strategy.most_in_flight is None or workload.in_flight <= strategy.most_in_flight


def _trial(number: int, workload: Workload, strategy: Description) -> Trial:
    limits = [workload.in_flight, workload.site.pages]
    if strategy.most_in_flight is not None:
        limits.append(strategy.most_in_flight)
    trial_id = f"{workload.id}/{strategy.name}/round={number}"
    return Trial(trial_id, number, strategy.name, strategy.stack, workload, min(limits))


def _trial_ns(trial: Trial) -> int:
    workload, fetch_ns = trial.workload, _FETCH_NS[trial.stack]
    waves = -(-workload.site.pages // trial.reachable)
    crawl_ns = max(workload.site.pages * fetch_ns, round(waves * (workload.mean_latency_ns + fetch_ns)))
    return _START_NS[trial.stack] + crawl_ns + (_MEMORY_NS if workload.kind == "memory" else 0)
