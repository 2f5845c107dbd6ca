"""From an experiment to its trials in the order of the run. Pure: the same experiment gives the same plan.

``measure.run.all_trials`` calls ``expand``. The ids of trials are the key by which a resumed run finds what it has
already measured. ``estimate_ns`` says about how long trials take; ``remarks`` and ``above_limits`` say what a plan
leaves out. *Cell*, *arm*, *block*, *slice* and *cycle* (one slice of each arm): see ``plan.trial``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from msgspec import structs, to_builtins

from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import Grid, ThroughputTable
from inflight.bench.plan.judge import need
from inflight.bench.plan.trial import LATENCIES, MAX_WAIT_S, PAGES_LATENCIES, REFERENCE, Trial, common_settings, placebo
from inflight.bench.rows.files import without_places
from inflight.bench.rows.kinds import Arm, CrawlWorkload
from inflight.bench.rows.parts import Kind
from inflight.strategies import Description

# Rough figures of a 2.6 GHz core, for the estimate only. They never change a plan.
_START_NS = {"shared": 150_000_000, "own": 300_000_000, "none": 150_000_000}
"""Nanoseconds to start and end a worker, by the HTTP stack of its strategy."""
_FETCH_NS = {"shared": 45_000, "own": 140_000, "none": 45_000}
"""Nanoseconds of CPU time for a fetch, by the HTTP stack."""
_HANDSHAKE_NS = 800_000
"""For each handshake of TLS: one for each connection."""
_MEMORY_NS, _HELD_NS, _HELD_THREAD_NS = 60_000_000, 130_000, 1_600_000
"""Nanoseconds for each memory trial, and for each fetch that it holds: without and with a thread of its own."""
_COUNT_NS, _COUNTED_NS = 900_000_000, {"shared": 400_000_000, "own": 900_000_000, "none": 300_000_000}
"""Nanoseconds for each trial that counts (500 pages after a latency each), and for each of its repeats, by stack."""
_ARM_NS = 250_000_000
"""Nanoseconds for an arm to start, warm up and end."""
_SLICE_NS, _SLICE_FETCHES, _SLICE_ROUNDS = 55_000_000, 20, 4
"""Shortest slice in nanoseconds. The CPU work of its pages adds to it: of _SLICE_FETCHES pages, and of _SLICE_ROUNDS
pages for each fetch in flight."""
_AROUND_WINDOW = 2
"""Latencies of a slice besides those of its window: in which it settles, and until all are held again."""
_LAG_SLICE_NS = 300_000_000
"""Shortest slice in nanoseconds where the lag of an arm is measured."""
_CROWD_NS, _MOST_SLICE_NS = 150_000, 750_000_000
"""A slice lasts for several turns of all fetches in flight: _CROWD_NS for each of them, at most _MOST_SLICE_NS."""
_CROWD_OF_THREADS, _EACH_THREAD_NS = 1000, 1_000_000
"""With as many ready threads or more, most CPU time goes into wake-ups: _EACH_THREAD_NS per page."""
_PATIENCE_USED = 0.3
"""The share of its patience that an arm takes on average."""

Settings = Mapping[str, Any]
"""Some fields of an arm."""


def expand(experiment: Experiment, described: dict[str, Description]) -> list[Trial]:
    """Return all trials: each round has one trial of each cell, shuffled by the seed.

    The blocks of the first ``[[throughput]]`` table come first in each round. So the first figures are available early,
    and these blocks are spread over the whole run: a temporary disturbance of the machine affects only few of them.
    """
    order = Random(experiment.seed)
    trials: list[Trial] = []
    for number in range(1, max(map(experiment.rounds_of, experiment.grids + experiment.bare)) + 1):
        first: list[Trial] = []
        crawls: list[Trial] = []
        blocks: list[Trial] = []
        for grid, workload in experiment.cells():
            if number > experiment.rounds_of(grid):
                continue
            chosen = [described[name] for name in experiment.strategies if name in (grid.strategies or [name])]
            chosen = [description for description in chosen if _fits(workload, description)]
            if isinstance(grid, ThroughputTable):
                made = first if grid is experiment.throughput[0] else blocks
                made += _blocks(experiment, grid, workload, chosen, number)
            else:
                crawls += _crawls(experiment, grid, workload, chosen, number)
        rest = [*crawls, *blocks, *_bare(experiment, described, number)]
        order.shuffle(rest)
        trials += [*first, *_ascending(rest)]
    return trials


def _ascending(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials of a round with the memory trials of each arm and workload in the order of their sizes.

    They change places among each other only. So ``measure.run`` can leave out the larger sizes of a slow client.
    """
    places = defaultdict[str, list[int]](list)
    for place, trial in enumerate(trials):
        if trial.kind == "memory":
            places[trial.of_all_sizes].append(place)
    ordered = list(trials)
    for at in places.values():
        sizes = [trials[place] for place in at]
        sizes.sort(key=_size)
        for place, trial in zip(at, sizes, strict=True):
            ordered[place] = trial
    return ordered


def _size(trial: Trial) -> int:
    """Return the number that a memory trial holds."""
    in_flight: int = trial.workload.in_flight
    return in_flight


def estimate_ns(trials: Iterable[Trial]) -> int:
    """Return the estimated total time of the trials."""
    return sum(trial.expected_ns for trial in trials)


def _crawls(
    experiment: Experiment, grid: Grid, workload: CrawlWorkload, chosen: Sequence[Description], number: int
) -> list[Trial]:
    """Return the trials of a cell of whole crawls: one for each interpreter and strategy. ``number`` is the round."""
    trials = []
    for on in _interpreters(experiment):
        for strategy in chosen:
            each = workload
            if on or grid.settings:
                each = structs.replace(workload, arm=_arm(strategy, workload, grid.settings, on))
            trials.append(trial_of(grid.trials, number, each, strategy))
    return trials


def _interpreters(experiment: Experiment) -> list[Settings]:
    """Return the settings of an arm on each interpreter of an experiment; by default that of the harness."""
    return [{"python": python, "interpreter": label} for label, python in experiment.pythons.items()] or [{}]


def _blocks(
    experiment: Experiment, grid: ThroughputTable, workload: CrawlWorkload, chosen: Sequence[Description], number: int
) -> list[Trial]:
    """Return the blocks of a cell: one of all strategies, or, with ``against``, one for each of them."""
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
    workload: CrawlWorkload,
    chosen: Sequence[Description],
    cycles: int,
    number: int,
    settings: Settings | None = None,
    each_on: Sequence[Settings] = ({},),
) -> Trial:
    """Return the block of strategies on a workload; the reference is ``callbacks``, or else the first strategy.

    ``cycles`` is the number of slices per arm, ``number`` that of the round, ``settings`` those of all arms.

    Each strategy has an arm on each of ``each_on`` (interpreters and numbers of cores); the reference is on the first.
    """
    first = next((description for description in chosen if description.name == REFERENCE), chosen[0])
    ordered = [first, *(description for description in chosen if description is not first)]
    arms = [_arm(description, workload, settings or {}, on) for on in each_on for description in ordered]
    return _block(f"{workload.id}/round={number}", number, workload, chosen, arms, cycles)


def _against_itself(grid: ThroughputTable, workload: CrawlWorkload, strategy: Description, number: int) -> Trial:
    """Return the block of one strategy with two settings.

    The reference has those of ``against``; the arms are named by the settings that differ.
    """
    arm = _arm(strategy, workload, grid.settings, {})
    against = to_builtins(grid.against)
    reference = structs.replace(arm, **against)
    need(reference != arm, f"{workload.id}: against has the settings of the table; name another value there")
    arms = []
    for side in (reference, arm):
        values = {key: getattr(side, key) for key in against}
        values = without_places(values.pop("variables", {}) | values)
        settings = ", ".join(f"{key}={value}" for key, value in values.items())
        arms.append(structs.replace(side, name=f"{side.strategy} ({settings})" if settings else side.strategy))
    name = arms[0].name
    need(
        name != arms[1].name,
        f"{workload.id}: both arms are named {name}, because rows have no folders; use a link with another name",
    )
    return _block(f"{workload.id}/{strategy.name}/round={number}", number, workload, [strategy], arms, grid.cycles)


def _block(
    block_id: str, number: int, workload: CrawlWorkload, chosen: Iterable[Description], arms: Sequence[Arm], cycles: int
) -> Trial:
    """Return a block of arms, the first of which is the reference, and its placebo.

    With an added latency there is no placebo, because each slice lasts for twenty latencies.
    """
    waits_ns = workload.mean_latency_ns * (_AROUND_WINDOW + max(LATENCIES, PAGES_LATENCIES / workload.in_flight))
    reference = structs.replace(arms[0], role="reference")
    every = (reference, *([] if waits_ns else [placebo(reference)]), *arms[1:])
    wait_s = 2 * (len(every) - 1) * waits_ns / 1e9
    need(
        wait_s < MAX_WAIT_S,
        f"{workload.id}: a fetch would wait up to {wait_s:,.0f} s for its next slice, limit {MAX_WAIT_S}"
        "; ask for less latency, or for fewer strategies",
    )
    worked_ns = (_SLICE_FETCHES + _SLICE_ROUNDS * workload.in_flight) * workload.cpu_ns
    described = {description.name: description for description in chosen}
    models = {arm.name: described[arm.strategy] for arm in every}
    slices_ns = sum(_round_ns(arm, models[arm.name]) + waits_ns + worked_ns for arm in every)
    handshakes_ns = _HANDSHAKE_NS * workload.in_flight if workload.tls else 0
    expected_ns = round(len(every) * (_ARM_NS + handshakes_ns) + cycles * slices_ns)
    return Trial(block_id, number, "arm", workload, expected_ns, every, models, cycles=cycles)


def _round_ns(arm: Arm, model: Description) -> int:
    """Return the estimated CPU time of the pages in one slice of an arm, in nanoseconds."""
    if model.threads_each and arm.in_flight >= _CROWD_OF_THREADS:
        return _EACH_THREAD_NS * arm.in_flight
    least_ns = _LAG_SLICE_NS if arm.lag else _SLICE_NS
    return max(least_ns, min(_MOST_SLICE_NS, _CROWD_NS * arm.in_flight))


def _arm(strategy: Description, workload: CrawlWorkload, settings: Settings, on: Settings) -> Arm:
    """Return an arm, named after its interpreter and number of cores if several are compared."""
    cores = f" (cores={on['cores']})" if on.get("cores", 1) != 1 else ""
    name = f"{strategy.name} {on.get('interpreter', '')}".strip() + cores
    return Arm(name, strategy.name, "compared", **{**common_settings(workload), **settings, **on})


def _bare(experiment: Experiment, described: dict[str, Description], number: int) -> list[Trial]:
    """Return the trials of one round of the tables without a crawl and of swarms, of strategies that can do them."""
    trials = []
    for table in experiment.bare:
        if number > experiment.rounds_of(table):
            continue
        for trial in table.trials(experiment.strategies, number):
            models = {arm.name: described[arm.name] for arm in trial.arms}
            if all(_fits(trial.workload, model) for model in models.values()):
                trials.append(replace(trial, models=models))
    return trials


def _fits(workload: Any, strategy: Description) -> bool:
    """Return whether a strategy can do a workload: its cap, above which a trial would only be repeated, and TLS."""
    is_reachable = strategy.most_in_flight is None or workload.in_flight <= strategy.most_in_flight
    return is_reachable and not (getattr(workload, "tls", False) and strategy.no_tls)


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


def without_tls(experiment: Experiment, described: dict[str, Description]) -> dict[str, str]:
    """Return the strategies that workloads of https leave out because they cannot do TLS, each with its reason."""
    names = {name for grid in experiment.grids if grid.tls for name in grid.strategies or experiment.strategies}
    reasons = {name: described[name].no_tls for name in experiment.strategies if name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def remarks(experiment: Experiment) -> Iterator[str]:
    """Yield what else a plan leaves out, limits or has together: a sentence each."""
    for table in experiment.grids + experiment.swarm:
        if absent := sorted({*(table.strategies or ())} - {*experiment.strategies}):
            yield f"left out of a [[{table.kind}]], because this run is without them: {', '.join(absent)}"
    first: dict[str, str] = {}
    for grid, workload in experiment.cells():
        if grid.kind == "crawl" and workload.site.pages < workload.in_flight:
            yield f"{workload.id}: never more than {workload.site.pages} in flight, which is its number of pages"
        same = grid.settings, getattr(grid, "against", None), structs.replace(workload, id="")
        alike = first.setdefault(repr(same), workload.id)
        if alike != workload.id:
            both = f"two [[{grid.kind}]] tables have the same workload with {workload.in_flight:,} in flight"
            yield f"{both}: results have the rounds of both together"


def trial_of(kind: Kind, number: int, workload: CrawlWorkload, strategy: Description) -> Trial:
    """Return the trial of a strategy on a workload: of the arm that the workload names, or of one with its settings."""
    arm = workload.arm or _arm(strategy, workload, {}, {})
    trial_id = f"{workload.id}/{arm.name}/round={number}"
    trial = Trial(trial_id, number, kind, workload, 0, (arm,), {arm.name: strategy})
    return replace(trial, expected_ns=_crawl_ns(trial, strategy))


def _crawl_ns(trial: Trial, strategy: Description) -> int:
    """Return about how long a crawl takes, or all crawls of a trial that counts."""
    workload = trial.workload
    stack = strategy.stack
    if trial.kind == "counts":
        return _COUNT_NS + int(workload.repeats) * _COUNTED_NS[stack]
    reachable = trial.reachable
    fetch_ns = _FETCH_NS[stack] + workload.cpu_ns
    if workload.tls and (trial.record.IS_HELD or workload.connection == "per-fetch"):
        fetch_ns += _HANDSHAKE_NS
    if trial.record.IS_HELD:
        fetch_ns += _HELD_THREAD_NS if strategy.threads_each and reachable > _CROWD_OF_THREADS else _HELD_NS
    waves = -(-workload.site.pages // reachable)
    crawl_ns = max(workload.site.pages * fetch_ns, round(waves * (workload.mean_latency_ns + fetch_ns)))
    return int(_START_NS[stack] + crawl_ns + (_MEMORY_NS if trial.record.IS_HELD else 0))
