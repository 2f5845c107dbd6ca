"""The ordered list of an experiment's trials. Pure: the same experiment gives the same plan."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from msgspec import to_builtins

from inflight.bench.plan.arm import MAX_WAIT_S, REFERENCE, START_NS, Arm, ArmTrial, BlockTrial, placebo
from inflight.bench.plan.bare import BareTrial
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import Grid, Kind, Throughput, Workload
from inflight.bench.plan.judge import need
from inflight.strategies import Description

# Rough figures of a 2.6 GHz core, for the estimate only. They never change a plan.
_START_NS = {"shared": 150_000_000, "own": 300_000_000, "none": 150_000_000}
_FETCH_NS = {"shared": 45_000, "own": 140_000, "none": 45_000}
_MEMORY_NS, _HELD_NS, _HELD_THREAD_NS = 60_000_000, 130_000, 1_600_000
"""For each memory trial, and for each fetch that it holds: without and with a thread of its own."""
_COUNT_NS, _COUNTED_NS = 900_000_000, {"shared": 400_000_000, "own": 900_000_000, "none": 300_000_000}
"""For each trial that counts: 500 pages after a latency each, and for each of its repeats."""
_SLICE_NS, _SLICE_FETCHES, _SLICE_ROUNDS = 55_000_000, 20, 4
_SLICE_LATENCIES, _ALONE_LATENCIES = 22, 26
"""How long a slice waits, with more in flight and with 1."""
_LAG_SLICE_NS = 300_000_000
_CROWD_NS, _MOST_SLICE_NS = 150_000, 750_000_000
"""A slice lasts for several turns of all fetches in flight, at most _MOST_SLICE_NS."""
_CROWD_OF_THREADS, _EACH_THREAD_NS = 1000, 1_000_000
"""With more ready threads than this, most CPU time goes into wake-ups: _EACH_THREAD_NS per page."""
_PATIENCE_USED = 0.3
"""The share of its patience that an arm takes on average."""

Settings = Mapping[str, Any]
"""Some fields of an arm."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One strategy on one workload, once."""

    id: str
    round: int
    strategy: str
    stack: str
    workload: Workload
    reachable: int  #: Maximum number of fetches in flight: the least of cap, site and limit of the model.
    threads_each: int = 0  #: Number of threads that the model needs per fetch in flight.
    more: Mapping[str, Any] = field(default_factory=dict)  #: Further values of the workload in its row.
    arm: Arm | None = None  #: The strategy with its settings, if it has some.

    @property
    def module(self) -> str:
        """The strategy that is run."""
        return self.strategy if self.arm is None else self.arm.strategy

    @property
    def kind(self) -> Kind:
        """``crawl`` (timed), ``memory`` (held) or ``counts``."""
        return self.workload.kind

    @property
    def values(self) -> dict[str, Any]:
        """What the row says of the workload."""
        return self.workload.to_dict() | dict(self.more) | ({} if self.arm is None else {"arm": self.arm.to_dict()})

    @property
    def expected_ns(self) -> int:
        """About how long it takes."""
        workload = self.workload
        if workload.kind == "counts":
            repeats: int = self.more["repeats"]
            return _COUNT_NS + repeats * _COUNTED_NS[self.stack]
        fetch_ns = _FETCH_NS[self.stack] + workload.cpu_ns
        if workload.kind == "memory":
            fetch_ns += _HELD_THREAD_NS if self.threads_each and self.reachable > _CROWD_OF_THREADS else _HELD_NS
        waves = -(-workload.site.pages // self.reachable)
        crawl_ns = max(workload.site.pages * fetch_ns, round(waves * (workload.mean_latency_ns + fetch_ns)))
        return _START_NS[self.stack] + crawl_ns + (_MEMORY_NS if workload.kind == "memory" else 0)


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
    for number in range(1, max(map(experiment.rounds_of, experiment.grids + experiment.bare)) + 1):
        first: list[AnyTrial] = []
        crawls: list[AnyTrial] = []
        blocks: list[AnyTrial] = []
        for grid, workload in experiment.cells():
            if number > experiment.rounds_of(grid):
                continue
            chosen = [described[name] for name in experiment.strategies if name in (grid.strategies or [name])]
            chosen = [description for description in chosen if _fits(workload.in_flight, description)]
            if isinstance(grid, Throughput):
                made = first if grid is experiment.throughput[0] else blocks
                made += _blocks(experiment, grid, workload, chosen, number)
            else:
                crawls += _crawls(experiment, grid, workload, chosen, number)
        rest = [*crawls, *blocks, *_bare(experiment, described, number)]
        order.shuffle(rest)
        trials += [*first, *rest]
    return trials


def estimate_ns(trials: Iterable[AnyTrial]) -> int:
    """Return the estimated total time of the trials."""
    return sum(trial.expected_ns for trial in trials)


def _crawls(
    experiment: Experiment, grid: Grid, workload: Workload, chosen: Sequence[Description], number: int
) -> list[Trial]:
    trials = []
    for on in _interpreters(experiment):
        for strategy in chosen:
            arm = _arm(strategy, workload, grid.settings, on)
            trial_id = f"{workload.id}/{arm.name}/round={number}"
            trial = trial_of(trial_id, number, workload, strategy, arm if on or grid.settings else None)
            trials.append(replace(trial, more=grid.more))
    return trials


def _interpreters(experiment: Experiment) -> list[Settings]:
    """Return the settings of an arm on each interpreter of an experiment; by default that of the harness."""
    return [{"python": python, "interpreter": label} for label, python in experiment.pythons.items()] or [{}]


def _blocks(
    experiment: Experiment, grid: Throughput, workload: Workload, chosen: Sequence[Description], number: int
) -> list[BlockTrial]:
    if grid.against is not None:
        blocks = [_against_itself(grid, workload, description, number) for description in chosen]
    else:
        cores: list[Settings] = [{"cores": count} for count in grid.cores] if isinstance(grid.cores, tuple) else [{}]
        on = [{**python, **each} for python in _interpreters(experiment) for each in cores]
        blocks = [block_of(workload, chosen, grid.cycles, number, grid.settings, on)] if chosen else []
    if grid.patience_s is None:
        return blocks
    slow_ns = grid.patience_s * 1e9 * _PATIENCE_USED  # arms that need patience are slow
    return [
        replace(block, patience_s=grid.patience_s, expected_ns=block.expected_ns + round(len(block.arms) * slow_ns))
        for block in blocks
    ]


def block_of(
    workload: Workload,
    chosen: Sequence[Description],
    cycles: int,
    number: int,
    settings: Settings | None = None,
    each_on: Sequence[Settings] = ({},),
) -> BlockTrial:
    """Return the block of strategies on a workload; the reference is ``callbacks``, or else the first strategy.

    Each strategy has an arm on each of ``each_on`` (interpreters and numbers of cores); the reference is on the first.
    """
    first = next((description for description in chosen if description.name == REFERENCE), chosen[0])
    ordered = [first, *(description for description in chosen if description is not first)]
    arms = [_arm(description, workload, settings or {}, on) for on in each_on for description in ordered]
    return _block(f"{workload.id}/round={number}", number, workload, chosen, arms, cycles)


def _against_itself(grid: Throughput, workload: Workload, strategy: Description, number: int) -> BlockTrial:
    """Return the block of one strategy with two settings; the arms are named by the settings that differ."""
    arm = _arm(strategy, workload, grid.settings, {})
    against = to_builtins(grid.against)
    arms = []
    for side in (replace(arm, **against), arm):
        values = {key: getattr(side, key) for key in against}
        settings = ", ".join(f"{key}={value}" for key, value in (values.pop("variables", {}) | values).items())
        arms.append(replace(side, name=f"{side.strategy} ({settings})" if settings else side.strategy))
    need(
        arms[0].name != arms[1].name, f"{workload.id}: against has the settings of the table; name another value there"
    )
    return _block(f"{workload.id}/{strategy.name}/round={number}", number, workload, [strategy], arms, grid.cycles)


def _block(
    block_id: str, number: int, workload: Workload, chosen: Iterable[Description], arms: Sequence[Arm], cycles: int
) -> BlockTrial:
    """Return a block of arms, the first of which is the reference, and its placebo.

    With an added latency there is no placebo, because each slice lasts for twenty latencies.
    """
    waits_ns = workload.mean_latency_ns * max(_SLICE_LATENCIES, _ALONE_LATENCIES / workload.in_flight)
    reference = replace(arms[0], role="reference")
    every = (reference, *([] if waits_ns else [placebo(reference)]), *arms[1:])
    wait_s = 2 * (len(every) - 1) * waits_ns / 1e9
    need(
        wait_s < MAX_WAIT_S,
        f"{workload.id}: a fetch would wait up to {wait_s:,.0f} s for its next slice, limit {MAX_WAIT_S}"
        "; ask for less latency, or for fewer strategies",
    )
    worked_ns = (_SLICE_FETCHES + _SLICE_ROUNDS * workload.in_flight) * workload.cpu_ns
    threaded = {description.name for description in chosen if description.threads_each}
    slices_ns = sum(_round_ns(arm, threaded) + waits_ns + worked_ns for arm in every)
    expected_ns = round(len(every) * START_NS + cycles * slices_ns)
    return BlockTrial(block_id, number, workload, every, cycles, expected_ns)


def _round_ns(arm: Arm, threaded: Collection[str]) -> int:
    """Return the estimated CPU time of the pages in one slice of an arm."""
    if arm.strategy in threaded and arm.in_flight > _CROWD_OF_THREADS:
        return _EACH_THREAD_NS * arm.in_flight
    least_ns = _LAG_SLICE_NS if arm.lag else _SLICE_NS
    return max(least_ns, min(_MOST_SLICE_NS, _CROWD_NS * arm.in_flight))


def _arm(strategy: Description, workload: Workload, settings: Settings, on: Settings) -> Arm:
    """Return an arm, named after its interpreter and number of cores if several are compared."""
    cores = f" (cores={on['cores']})" if on.get("cores", 1) != 1 else ""
    name = f"{strategy.name} {on.get('interpreter', '')}".strip() + cores
    given = {"stack": strategy.stack, "in_flight": workload.in_flight, "connection": workload.connection}
    return Arm(name, strategy.name, **{**given, **settings, **on})


def _bare(experiment: Experiment, described: dict[str, Description], number: int) -> list[BareTrial]:
    trials = []
    for table in experiment.bare:
        for trial in table.trials(experiment.strategies) if number <= experiment.rounds_of(table) else ():
            strategy = described[trial.strategy] if trial.strategy in experiment.strategies else None
            if trial.kind != "swarm":
                trials.append(replace(trial, round=number))
            elif strategy is not None and _fits(trial.values["in_flight"], strategy):
                trials.append(replace(trial, round=number, stack=strategy.stack))
    return trials


def _fits(in_flight: int, strategy: Description) -> bool:
    """Return whether a cap is within the limit of a strategy; above it, a trial would only be repeated."""
    return strategy.most_in_flight is None or in_flight <= strategy.most_in_flight


def above_limits(experiment: Experiment, described: dict[str, Description]) -> dict[str, int]:
    """Return the strategies that some workload leaves out because its cap is above their limit, each with its limit."""
    limits = {}
    tables = experiment.grids + experiment.swarm
    for name in experiment.strategies:
        limit = described[name].most_in_flight
        caps = [cap for table in tables for cap in table.in_flight if name in (table.strategies or [name])]
        if limit is not None and max(caps, default=0) > limit:
            limits[name] = limit
    return limits


def remarks(experiment: Experiment) -> Iterator[str]:
    """Yield what else a plan leaves out, limits or has together: a sentence each."""
    for table in experiment.grids + experiment.swarm:
        if absent := sorted({*(table.strategies or ())} - {*experiment.strategies}):
            yield f"left out of a [[{table.kind}]], because this run is without them: {', '.join(absent)}"
    first: dict[str, str] = {}
    for grid, workload in experiment.cells():
        if grid.kind == "crawl" and workload.site.pages < workload.in_flight:
            yield f"{workload.id}: never more than {workload.site.pages} in flight, which is its number of pages"
        same = grid.settings, getattr(grid, "against", None), replace(workload, id="")
        alike = first.setdefault(repr(same), workload.id)
        if alike != workload.id:
            yield f"{workload.id} is the same workload as {alike}: results have the rounds of both together"


def trial_of(trial_id: str, number: int, workload: Workload, strategy: Description, arm: Arm | None = None) -> Trial:
    """Return the trial of a strategy on a workload, with the name and the settings of an arm if there is one."""
    name = strategy.name if arm is None else arm.name
    reachable = min(workload.in_flight, workload.site.pages, strategy.most_in_flight or workload.in_flight)
    return Trial(trial_id, number, name, strategy.stack, workload, reachable, strategy.threads_each, arm=arm)
