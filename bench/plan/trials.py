"""The ordered list of an experiment's trials. Pure: the same experiment gives the same plan."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

from inflight.bench.plan.arm import REFERENCE, START_NS, Arm, ArmTrial, BlockTrial, placebo
from inflight.bench.plan.bare import Bare, BareKind
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import Grid, Kind, Workload
from inflight.strategies import Description

# Rough figures of a 2.6 GHz core, for the estimate only. They never change a plan.
_START_NS = {"shared": 150_000_000, "own": 300_000_000, "none": 150_000_000}
_FETCH_NS = {"shared": 45_000, "own": 140_000, "none": 45_000}
_MEMORY_NS, _HELD_NS, _HELD_THREAD_NS = 60_000_000, 130_000, 1_600_000
"""For each memory trial, and for each fetch that it holds: without and with a thread of its own."""
_SLICE_NS, _SLICE_LATENCIES, _SLICE_FETCHES, _SLICE_ROUNDS = 55_000_000, 22, 20, 4
_LAG_SLICE_NS = 300_000_000
_CROWD_NS, _MOST_SLICE_NS = 150_000, 750_000_000
"""A slice lasts for several turns of all fetches in flight, at most _MOST_SLICE_NS."""
_CROWD_OF_THREADS, _EACH_THREAD_NS = 1000, 1_000_000
"""With more ready threads than this, most CPU time goes into wake-ups: _EACH_THREAD_NS per page."""

_PATIENCE_USED = 0.3
"""The share of its patience that an arm takes on average."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One strategy on one workload, once."""

    id: str
    round: int
    strategy: str
    stack: str
    workload: Workload
    reachable: int
    """Maximum number of fetches in flight: the minimum of the cap, the size of the site and the limit of the model."""
    threads_each: int = 0
    """Number of threads that the model needs per fetch in flight."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """Further values of the workload in its row, such as its comparison."""
    arm: Arm | None = None
    """The strategy with its settings; in a run that compares interpreters with one of them, and named ``strategy``."""

    @property
    def module(self) -> str:
        """The strategy that is run."""
        return self.strategy if self.arm is None else self.arm.strategy

    @property
    def kind(self) -> Kind:
        """``crawl`` (timed) or ``memory`` (held)."""
        return self.workload.kind

    @property
    def values(self) -> dict[str, Any]:
        """What the row says of the workload."""
        return self.workload.to_dict() | dict(self.said) | ({} if self.arm is None else {"arm": self.arm.to_dict()})

    @property
    def expected_ns(self) -> int:
        """About how long it takes."""
        workload = self.workload
        fetch_ns = _FETCH_NS[self.stack] + workload.cpu_ns
        if workload.kind == "memory":
            fetch_ns += _HELD_THREAD_NS if self.threads_each and self.reachable > _CROWD_OF_THREADS else _HELD_NS
        waves = -(-workload.site.pages // self.reachable)
        crawl_ns = max(workload.site.pages * fetch_ns, round(waves * (workload.mean_latency_ns + fetch_ns)))
        return _START_NS[self.stack] + crawl_ns + (_MEMORY_NS if workload.kind == "memory" else 0)


@dataclass(frozen=True, slots=True)
class BareTrial:
    """One cell of ``bench.plan.bare`` or ``bench.plan.scale``, once."""

    id: str
    round: int
    cell: Bare

    @property
    def kind(self) -> BareKind:
        """Kind of the cell."""
        return self.cell.kind

    @property
    def strategy(self) -> str:
        """The block, the probe or the resource; for a swarm its strategy, for other clients their name."""
        return self.cell.subject

    @property
    def stack(self) -> str:
        """Whose HTTP stack is used: ``shared``, ``own`` or ``none``."""
        return self.cell.stack

    @property
    def values(self) -> dict[str, Any]:
        """What the row says of the workload."""
        return self.cell.values

    @property
    def expected_ns(self) -> int:
        """About how long it takes."""
        return self.cell.expected_ns


Cell = tuple[Grid, Workload]
AnyTrial = Trial | BareTrial | BlockTrial
RowTrial = Trial | BareTrial | ArmTrial
"""The subject of one row: a trial, or one arm of a block."""


def row_trials(trial: AnyTrial) -> Sequence[RowTrial]:
    """Return the subjects of the rows of a trial."""
    return trial.trials if isinstance(trial, BlockTrial) else [trial]


def expand(experiment: Experiment, described: dict[str, Description]) -> list[AnyTrial]:
    """Return all trials: each round has one trial of each cell, shuffled by the seed.

    The blocks of the first ``[[throughput]]`` table come first in each round. So the first figures are available early,
    and these blocks are spread over the whole run: a temporary disturbance of the machine affects only few of them.
    """
    order = Random(experiment.seed)
    trials: list[AnyTrial] = []
    cells = experiment.cells()
    timed = [grid for grid in experiment.grids if grid.kind == "throughput"]
    for number in range(1, experiment.rounds + 1):
        first, others = (_blocks(experiment, cells, described, number, grids) for grids in (timed[:1], timed[1:]))
        rest = [*_crawled(experiment, cells, described, number), *others, *_bare(experiment, described, number)]
        order.shuffle(rest)
        trials += [*first, *rest]
    return trials


def estimate_ns(trials: Iterable[AnyTrial]) -> int:
    """Return the estimated total time of the trials."""
    return sum(trial.expected_ns for trial in trials)


def _crawled(
    experiment: Experiment, cells: Iterable[Cell], described: dict[str, Description], number: int
) -> list[AnyTrial]:
    return [
        replace(
            trial_of(f"{workload.id}/{on.name(name)}/round={number}", number, workload, described[name]),
            strategy=on.name(name),
            arm=_arm(described[name], workload, grid.settings, on) if on.label or grid.settings else None,
        )
        for grid, workload in cells
        for on in _interpreters(experiment)
        for name in experiment.strategies
        if grid.kind != "throughput" and _makes_sense(grid, workload, described[name], number)
    ]


class _On(NamedTuple):
    """What each strategy has an arm on: an interpreter of a run that compares several, and a number of cores."""

    label: str = ""
    python: str | None = None
    cores: int | None = None
    """None: that of the settings."""

    def name(self, strategy: str) -> str:
        """Return the name of a strategy on this interpreter and these cores."""
        cores = "" if self.cores in {None, 1} else f" (cores={self.cores})"
        return f"{strategy} {self.label}".strip() + cores

    def with_cores(self, numbers: Sequence[int]) -> list["_On"]:
        """Return this interpreter with each of the numbers of cores; alone if there are none."""
        return [self._replace(cores=number) for number in numbers] or [self]


def _interpreters(experiment: Experiment) -> list[_On]:
    """Return the interpreters of an experiment, by default that of the harness."""
    return [_On(label, python) for label, python in experiment.pythons.items()] or [_On()]


def _blocks(
    experiment: Experiment,
    cells: Iterable[Cell],
    described: dict[str, Description],
    number: int,
    grids: Sequence[Grid],
) -> list[AnyTrial]:
    found: list[AnyTrial] = []
    for grid, workload in cells:
        names = experiment.strategies if any(grid is one for one in grids) else ()
        chosen = [described[name] for name in names if _makes_sense(grid, workload, described[name], number)]
        if grid.against is not None:
            blocks = [_against_itself(grid, workload, one, number) for one in chosen]
        else:
            on = [one for each in _interpreters(experiment) for one in each.with_cores(grid.cores)]
            blocks = [block_of(workload, chosen, grid.cycles, number, grid.settings, on)] if chosen else []
        found += blocks if grid.patience_s is None else [_patient(block, grid.patience_s) for block in blocks]
    return found


def _patient(block: BlockTrial, patience_s: float) -> BlockTrial:
    """Return a block with this patience, which says that its arms are slow: they are expected to take part of it."""
    slow_ns = round(len(block.arms) * patience_s * 1e9 * _PATIENCE_USED)
    return replace(block, patience_s=patience_s, expected_ns=block.expected_ns + slow_ns)


def block_of(
    workload: Workload,
    chosen: Sequence[Description],
    cycles: int,
    number: int,
    settings: Mapping[str, Any] | None = None,
    interpreters: Sequence[_On] = (_On(),),
) -> BlockTrial:
    """Return the block of strategies on a workload; the reference is ``callbacks``, or else the first strategy.

    With several interpreters or numbers of cores, each strategy has an arm on each; the reference is on the first.
    """
    first = next((one for one in chosen if one.name == REFERENCE), chosen[0])
    ordered = [first, *(one for one in chosen if one is not first)]
    reference, *others = (_arm(one, workload, settings or {}, on) for on in interpreters for one in ordered)
    threaded = {one.name for one in chosen if one.threads_each}
    return _block(f"{workload.id}/round={number}", workload, reference, others, cycles, number, threaded)


def _against_itself(grid: Grid, workload: Workload, strategy: Description, number: int) -> BlockTrial:
    """Return the block of one strategy with two settings; the arms are named by the settings that differ."""
    arm = _arm(strategy, workload, grid.settings)
    against = grid.against or {}
    reference, other = (replace(one, name=_named(one, against)) for one in (replace(arm, **against), arm))
    block_id = f"{workload.id}/{strategy.name}/round={number}"
    threaded = {strategy.name} if strategy.threads_each else set()
    return _block(block_id, workload, reference, [other], grid.cycles, number, threaded)


def _named(arm: Arm, keys: Iterable[str]) -> str:
    values = {key: getattr(arm, key) for key in keys}
    settings = values.pop("variables", {}) | values
    told = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{arm.strategy} ({told})" if told else arm.strategy


def _block(
    block_id: str,
    workload: Workload,
    reference: Arm,
    others: Sequence[Arm],
    cycles: int,
    number: int,
    threaded: Collection[str],
) -> BlockTrial:
    """Return a block of a reference arm, its placebo and other arms.

    With an added latency there is no placebo, because each slice lasts for twenty latencies. ``threaded`` names the
    strategies with a thread per fetch.
    """
    reference = replace(reference, role="reference")
    waits_ns = workload.mean_latency_ns
    arms = (reference, *([] if waits_ns else [placebo(reference)]), *others)
    worked_ns = (_SLICE_FETCHES + _SLICE_ROUNDS * workload.in_flight) * workload.cpu_ns
    waited_ns = _SLICE_LATENCIES * waits_ns + worked_ns
    slices_ns = sum(_round_ns(arm, threaded) + waited_ns for arm in arms)
    expected_ns = round(len(arms) * START_NS + cycles * slices_ns)
    return BlockTrial(block_id, number, workload, arms, cycles, expected_ns)


def _round_ns(arm: Arm, threaded: Collection[str]) -> int:
    """Return the estimated CPU time of the pages in one slice of an arm."""
    if arm.strategy in threaded and arm.in_flight > _CROWD_OF_THREADS:
        return _EACH_THREAD_NS * arm.in_flight
    least_ns = _LAG_SLICE_NS if arm.lag else _SLICE_NS
    return max(least_ns, min(_MOST_SLICE_NS, _CROWD_NS * arm.in_flight))


def _arm(strategy: Description, workload: Workload, settings: Mapping[str, Any], on: _On = _On()) -> Arm:  # noqa: B008
    own: dict[str, Any] = {"python": on.python, "interpreter": on.label} if on.label else {}
    own |= {} if on.cores is None else {"cores": on.cores}
    return Arm(
        on.name(strategy.name),
        strategy.name,
        stack=strategy.stack,
        in_flight=workload.in_flight,
        connection=workload.connection,
        **{**settings, **own},
    )


def _bare(experiment: Experiment, described: dict[str, Description], number: int) -> list[AnyTrial]:
    return [
        BareTrial(f"{cell.id}/round={number}", number, _with_stack(cell, described))
        for table in experiment.bare
        if table.rounds is None or number <= table.rounds
        for cell in table.cells
        if cell.kind != "swarm" or (cell.subject in experiment.strategies and _can(cell, described[cell.subject]))
    ]


def _with_stack(cell: Bare, described: dict[str, Description]) -> Bare:
    """Return a swarm with the stack of its strategy; an experiment has only the strategy's name."""
    return replace(cell, stack=described[cell.subject].stack) if cell.kind == "swarm" else cell


def _can(cell: Bare, strategy: Description) -> bool:
    return strategy.most_in_flight is None or cell.values["in_flight"] <= strategy.most_in_flight


def _makes_sense(grid: Grid, workload: Workload, strategy: Description, number: int) -> bool:
    """Return whether a strategy takes part; a cap above its own limit would only repeat a trial."""
    fits = strategy.most_in_flight is None or workload.in_flight <= strategy.most_in_flight
    return fits and grid.takes_part(strategy.name, number)


def above_limits(experiment: Experiment, described: dict[str, Description]) -> dict[str, int]:
    """Return the strategies that have no trial because all caps are above their limits, each with its limit."""
    found = {}
    for name in experiment.strategies:
        limit = described[name].most_in_flight
        caps = [workload.in_flight for grid, workload in experiment.cells() if grid.takes_part(name, 1)]
        if limit is not None and caps and min(caps) > limit:
            found[name] = limit
    return found


def reachable(workload: Workload, strategy: Description) -> int:
    """Return the maximum in flight: the minimum of the cap, the size of the site and the limit of the model."""
    limits = [workload.in_flight, workload.site.pages]
    return min(limits if strategy.most_in_flight is None else [*limits, strategy.most_in_flight])


def trial_of(trial_id: str, number: int, workload: Workload, strategy: Description) -> Trial:
    """Return the trial of a strategy on a workload."""
    most = reachable(workload, strategy)
    return Trial(trial_id, number, strategy.name, strategy.stack, workload, most, strategy.threads_each)
