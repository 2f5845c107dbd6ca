"""Run one block: all arms alive at once, each behind a gate of its own, in slices that take turns.

::

    start workers --> each holds its cap behind its gate --> warm up --> cycles of slices --> no more links --> reports

``blocks.run`` calls ``observe``, and makes rows of the result. An *arm* is a strategy with its settings in a worker.
The *gate* of its port holds all its responses. A *slice* is one turn: open the gate; let the arm settle; read; let the
*window* pass; read; close the gate; wait until everything in flight is held again. Only the window counts. A *cycle*
has a slice of each arm. ``usage`` reads what the arm has used, its worker (``worker.arm``) counts its pages.
"""

import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from random import Random
from typing import Any, Self

import psutil

from inflight.bench import units
from inflight.bench.measure import host, memory, process
from inflight.bench.measure.blocks.usage import Clock, ProcessClock, TaskClock, Usage, is_task_clock_permitted
from inflight.bench.measure.checks import SPARE_NS
from inflight.bench.measure.expected import root_paths
from inflight.bench.measure.held import Plateau
from inflight.bench.measure.process import Runtime
from inflight.bench.measure.server import Server, job_of
from inflight.bench.measure.trial import Setting
from inflight.bench.measure.worker.finished import SAMPLE_STEP_NS
from inflight.bench.plan.trial import LATENCIES, MAX_WAIT_S, PAGES_LATENCIES, Trial
from inflight.bench.rows.kinds import Arm
from inflight.strategies import Description

PROGRAM = "inflight.bench.measure.worker.arm"
"""The program of a worker."""
MS = 1_000_000
"""Nanoseconds of a millisecond."""
WARM_NS = 60 * MS
"""How long each arm runs before the first slice, while its cost per page is measured."""
MAX_DEMAND_SHARE = 0.7
"""Share of the server's core up to which a workload with an added latency is measured.

It is judged by the warm-up, before anything is measured: leaving out slow blocks afterwards would select by what is
measured. In the warm-up a response costs more than in the windows, because caches are cold.
"""
MIN_SAMPLES = 4
"""Minimum number of samples of a window whose CPU time is read in band. A window with fewer is dropped."""
SAMPLED_THREAD_NS = 300_000
"""Minimum length of a window per thread, for five samples: each walks through all threads, for a 200th of the time.

130 ns per thread were measured with 500 to 3,000 of them, whose data are not in the caches; this is for twice as much.
"""
SEVERAL_CORES = "cores"
"""The group of strategies that may crawl in several processes."""
WITHOUT_STACK = "none"
"""The stack of null_client, which hands all its pages over when it ends, and of its variant."""
POLL_S = 0.0004
"""Interval at which to check whether an arm holds its cap again."""
DRAIN_S, EACH_S = 60.0, 0.01
"""Seconds to wait until an arm holds its cap, and for each message of a worker: in all, and for each page.

``DRAIN_ROUNDS`` adds to it.

3,000 threads took more than 20 s to start on two cores that others kept busy.
"""
DRAIN_ROUNDS = 5
"""How many times the CPU work of all pages that are waited for may take, on a core that others use too."""
LAG_WINDOW_NS = 250 * MS
"""Minimum length of all windows of a block in which the lag is measured: 25 due times of the timer."""
PAGES, MAX_WINDOWS = 20, 20
"""Minimum number of whole pages of a window. With fewer it is extended by its own length, up to ``MAX_WINDOWS``.

A thousand threads that wake up at once finish nothing for a while when others keep their core busy.
"""
MAX_ROUND_NS = 4_000 * MS
"""Maximum length of a window that follows from the cost of a page."""
USUAL_COST_NS, USUAL_WORK = 500_000, 2
"""CPU time of a page up to which an arm has all its slices: of each page, and for each CPU time of its CPU work.

Models need 15 to 300 µs for a page. A pool of threads above 1,000 in flight may need 1 ms: it is one arm among cheaper
ones. So no workload of a preset has fewer cycles because of a model (tests/measure/test_slices.py).
"""
MIN_SLICES_NS, MIN_CYCLES = 10_000 * MS, 2
"""Time for the slices of a block, whatever its pages cost, and number of cycles, however long these take.

httpx needs 13 ms per page with 100 in flight, so 30 to 50 s for eight cycles: a ratio of 300 needs no such precision.
"""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long an arm settles after its gate has opened, and how long its window is.

    A random time up to ``jitter_ns`` is added to the first. Models that work in batches, such as an asyncio loop, send
    their requests in bursts, which the opening of the gate synchronises. Without jitter each window would begin at the
    same point between two bursts.
    """

    settle_ns: int
    window_ns: int
    jitter_ns: int = 0


def lengths(cost_ns: float, in_flight: int, latency_ns: float, work_ns: float, *, threads: bool) -> Lengths:
    """Return the lengths for an arm whose pages cost ``cost_ns`` of CPU time each, ``work_ns`` of them CPU work.

    docs/method.md has the measurements. A round is one page of each fetch in flight. After the gate has opened, the
    first round finds cold caches, and many threads wake up at once. With an added latency, an arm settles for one and a
    half latencies, and its window has at least twenty, or 24 with one in flight. Threads finish the CPU work of a round
    almost together, so a window has two rounds of it. Times derived from the cost are bounded, because a busy machine
    exaggerates it.

    An event loop may read the responses of a whole round before it sends the next requests, so a part of its round has
    another cost than the whole. Without threads, a window therefore has at least one round, up to ``MAX_ROUND_NS``.
    """
    round_ns, work_ns = in_flight * cost_ns, in_flight * work_ns
    settle_ns = max(40 * MS, 3 * round_ns) if threads else max(10 * MS, 1.5 * round_ns)
    window_ns = max(40 * MS, 2 * round_ns)
    most_window_ns = 500 * MS if threads else max(500 * MS, min(round_ns, MAX_ROUND_NS))
    page_ns = max(cost_ns, (latency_ns + cost_ns) / in_flight)
    waits_ns = max(LATENCIES, PAGES_LATENCIES / in_flight) * latency_ns
    return Lengths(
        round(max(min(settle_ns, 250 * MS), 1.5 * latency_ns, work_ns)),
        round(max(min(window_ns, most_window_ns), waits_ns, PAGES * page_ns, 2 * work_ns)),
        round(max(min(round_ns, 100 * MS), work_ns)),
    )


@dataclass(frozen=True, slots=True)
class Slice:
    """One window of one arm, with the clocks that harness, server and workers share."""

    cycle: int
    """Number of its cycle, from 0."""
    begin: Usage
    """What the arm had used at the begin of the window."""
    end: Usage
    """What it had used at its end."""
    server_cpu_ns: int
    """CPU time of the server in the window."""
    server_wall_ns: int
    """Time between the readings of the server, which are taken beside those of the arm."""
    late_ns: int | None
    """How much later than due the server answered, median; None without an added latency."""
    latest_ns: int | None
    """How late the latest of these answers was, or for how long the harness waited in vain if that is above 1 s."""
    open_ns: int
    """When the gate was opened."""
    rest_ns: int
    """When all fetches of the arm were held again."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The results of a block."""

    arms: "list[Running]"
    clock: Clock
    """The clock by which the usage of all arms was read."""
    clock_step_ns: int
    """Resolution of that clock."""
    others_share: float | None
    """Share of the client's core that other programs used while the slices took turns; None unless it is one core."""
    server_delay_share: float | None
    """Share of that time in which the server waited for its core; None if unknown."""


@dataclass(slots=True)
class Running:
    """An arm during its block, with the results so far; ``observe`` makes one for each arm."""

    arm: Arm
    model: Description
    runtime: Runtime
    port: int
    """The port of its gate."""
    worker: process.Worker | None = None
    cost_ns: float = 0.0
    """CPU time per page in its warm-up."""
    lengths: Lengths = Lengths(0, 0)
    slices: list[Slice] = field(default_factory=list)
    """Those that have ended."""
    knobs: dict[str, Any] = field(default_factory=dict)
    """The settings that its worker has reported."""
    outcome: dict[str, Any] = field(default_factory=dict)
    """The report of its worker."""
    memory: dict[str, int] = field(default_factory=dict)
    """Its memory and threads after the slices, by the names of rows."""
    pids: list[int] = field(default_factory=list)
    """Its processes: the worker, its children and theirs."""
    meter: TaskClock | ProcessClock | None = None
    """Reads the CPU time that it has used."""
    response_ns: float = 0.0
    """CPU time of the server per response to it, in its warm-up."""
    rate_per_s: float = math.inf
    """Requests per second in its warm-up."""
    requests: int = 0
    """Requests that the server received from the arm in the whole block."""
    failure: Exception | None = None
    """Why it was given up; None: it was not."""
    peak: int = 0
    """Most fetches that its gate has held at a reading, whatever the cap: the row has it, to check the cap."""
    reached: int | None = None
    """Number in flight that the client reaches, if a limit of its own keeps it below what was asked for."""

    @property
    def asked(self) -> int:
        """Maximum number of fetches that it may have in flight."""
        most = self.model.most_in_flight
        return self.arm.in_flight if most is None else min(most, self.arm.in_flight)

    @property
    def cap(self) -> int:
        """Number of fetches that it has in flight at rest."""
        return self.reached or self.asked

    @property
    def used(self) -> Usage:
        """What it has used until now."""
        assert self.meter is not None
        return self.meter.read()


def observe(
    block: Trial,
    runtimes: Mapping[str, Runtime],
    server: Server,
    setting: Setting,
    draw: Random,
    fixed: Lengths | None = None,
) -> Observed:
    """Run a block, and return the results of each arm. A failing arm does not stop the others.

    ``runtimes`` has that of each arm by its name, ``fixed`` are lengths for all arms instead of their own. ``draw``
    decides the order of starts, the ports and the order of slices. It has another seed in each block, so that no arm
    has the same place in all blocks. Raises ServerError when the server is lost, and TooMuchForServerError before the
    first slice when the workload asks for too much of its core.
    """
    cpus = setting.cpus.client
    server.configure(block.site)
    at_ports = list(block.arms)
    draw.shuffle(at_ports)
    ports = server.gates([arm.tls for arm in at_ports])
    port_of = {arm.name: port for arm, port in zip(at_ports, ports, strict=True)}
    everyone = [Running(arm, block.models[arm.name], runtimes[arm.name], port_of[arm.name]) for arm in block.arms]
    arms = draw.sample(everyone, len(everyone))
    is_sampled = all(_has_samples(running.arm, running.model) for running in arms)
    meter = TaskClock if not is_sampled and is_task_clock_permitted() else ProcessClock
    with ExitStack() as stack:
        for running in arms:
            with _blamed(running):
                order = _order(running, block, setting) | {"sampled": is_sampled}
                lifetime_s = setting.deadline_s(block)
                running.worker = stack.enter_context(
                    process.running([PROGRAM], order, host.with_harness(cpus), lifetime_s, running.runtime)
                )
        _each(arms, partial(_fill, block=block, server=server, cpus=cpus, meter=meter, stack=stack))
        _each(arms, partial(_warm_up, block=block, server=server, fixed=fixed))
        _check_demand(arms, block)
        before = _Surroundings.now(arms, server, cpus)
        cycles = block.cycles if fixed else cycles_within_budget(arms, block)
        for cycle, places in enumerate(draw_order(len(arms), cycles, draw)):
            for place in places:
                _each([arms[place]], partial(_slice, block=block, server=server, cycle=cycle, draw=draw))
        others_share, delay_share = _Surroundings.now(arms, server, cpus).since(before)
        _each(arms, partial(_weigh, cpus=cpus))  # before its busy threads end
        _each(arms, _relieve)
        server.tell("run_out")  # from now on pages have no links, so that the crawls end
        server.tell("release")
        _each(arms, partial(_ask_for_report, block=block))
        _each(arms, partial(_report, block=block))
        readings = server.tell("read")["gates"]
        for running in arms:
            running.requests = readings[str(running.port)]["requests"]
    clock, step_ns = _clock_of(everyone)
    return Observed(everyone, clock, step_ns, others_share, delay_share)


def _has_samples(arm: Arm, model: Description) -> bool:
    """Return whether the worker can take samples: on one core, of a strategy that hands pages over as they finish."""
    return arm.cores == 1 and model.stack != WITHOUT_STACK and model.group != SEVERAL_CORES


class TooMuchForServerError(Exception):
    """A workload would take too much of the server's core; the message has the figures."""


def _check_demand(arms: Sequence[Running], block: Trial) -> None:
    """Raise TooMuchForServerError if the arms would ask for too much, before the first slice.

    No arm asks for more than its fetches in flight over the latency, nor for more than its core can do, which
    its warm-up has shown: the rate of the fastest arm.
    """
    latency_ns = block.workload.mean_latency_ns
    most = max((running.cap for running in arms), default=0)
    costs = [running.response_ns for running in arms if running.cap == most and running.response_ns]
    if not latency_ns or not costs:
        return
    demand_per_s = min(most / latency_ns * 1e9, max(running.rate_per_s for running in arms if running.response_ns))
    share = demand_per_s * min(costs) / 1e9  # the first responses find cold caches, so costs are too high
    if share > MAX_DEMAND_SHARE:
        raise TooMuchForServerError(
            f"up to {demand_per_s:,.0f} pages/s would take {units.percent(share)} of the server's core here, limit "
            f"{units.percent(MAX_DEMAND_SHARE)}: ask for fewer in flight, or for more latency"
        )


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Counts up to a moment that show what other programs did to a block."""

    at_ns: int
    busy_ns: int | None
    used_ns: Mapping[int, int]
    """CPU time of each arm that has not failed, by its port."""
    delay_ns: int | None

    @classmethod
    def now(cls, arms: Sequence[Running], server: Server, cpus: set[int] | None) -> Self:
        """Return the present counts."""
        used_ns: dict[int, int] = {}
        _each(arms, lambda running: used_ns.update({running.port: running.used.cpu_ns}))
        return cls(time.monotonic_ns(), host.busy_ns(cpus), used_ns, host.run_delay_ns(server.process.pid))

    def since(self, before: Self) -> tuple[float | None, float | None]:
        """Return the shares of the time in which others used the arms' core, and in which the server waited."""
        wall_ns = max(1, self.at_ns - before.at_ns)
        busy_ns, delay_ns = host.since(before.busy_ns, self.busy_ns), host.since(before.delay_ns, self.delay_ns)
        arms_ns = sum(used_ns - before.used_ns[port] for port, used_ns in self.used_ns.items())
        others_ns = None if busy_ns is None else max(0, busy_ns - arms_ns)
        return (
            None if others_ns is None else min(1.0, others_ns / wall_ns),
            None if delay_ns is None else min(1.0, delay_ns / wall_ns),
        )


def _clock_of(arms: Sequence[Running]) -> tuple[Clock, int]:
    """Return the best clock that all arms with results have, and its step."""
    finished = [running for running in arms if running.failure is None and running.meter is not None]
    if not finished or any(running.meter is not None and running.meter.name == "task clock" for running in finished):
        return "task clock", TaskClock.step_ns
    if all(_is_sampled(running) for running in finished):
        return "in band", SAMPLE_STEP_NS
    return "process clock", max(running.meter.step_ns for running in finished if running.meter is not None)


def _is_sampled(running: Running) -> bool:
    """Return whether the arm is one process on one core with enough samples in some window."""
    alone = running.arm.cores == 1 and len(running.pids) == 1
    return alone and any(window["samples"] >= MIN_SAMPLES for window in running.outcome["windows"])


def _order(running: Running, block: Trial, setting: Setting) -> dict[str, Any]:
    """Return the order for the worker. A crawl begins with a whole lap, so that each page has one new link."""
    site = block.site
    job = job_of(
        running.port,
        root_paths(site, site.pages),
        running.arm,
        timeout_ns=MAX_WAIT_S * 1_000_000_000,
        work_units=setting.work_units(block),
    )
    return {
        "strategy": running.arm.strategy,
        "job": job.to_dict(),
        "planted_loops": running.arm.planted_loops,
        "busy_threads": running.arm.busy_threads,
        "lag": _lag(running),
        "variables": sorted(running.runtime.variables),
    }


def _lag(running: Running) -> str | None:
    """Return where the timer of an arm fires: in its loop, or in a thread beside its threads."""
    if not running.arm.lag:
        return None
    return "thread" if running.model.threads_each else "loop"


@contextmanager
def _blamed(running: Running) -> Iterator[None]:
    """Record an error as the failure of an arm, and kill its worker. The arm is left out of the rest of its block."""
    try:
        yield
    except (process.WorkerError, psutil.Error, OSError) as error:
        running.failure = error
        if running.worker is not None:
            running.worker.kill()


def _each(arms: Sequence[Running], do: Callable[[Running], object]) -> None:
    """Do something with each arm that has not failed."""
    for running in arms:
        if running.failure is None:
            with _blamed(running):
                do(running)


def _patience_s(pages: int, block: Trial) -> float:
    """Return how many seconds to wait for this many pages of an arm."""
    work_s: float = pages * block.workload.cpu_ns / 1e9
    return DRAIN_S + EACH_S * pages + DRAIN_ROUNDS * work_s


def _speaking(running: Running, event: str, block: Trial) -> process.Worker:
    """Wait for the next message of an arm, which has at most one lap to crawl; return its worker.

    The wait is shorter than the lifetime of the worker: all arms start together, so one must not use up the others'
    time.
    """
    assert running.worker is not None
    patience_s = _patience_s(block.site.pages, block)
    if not running.worker.wait_for_word(patience_s):
        raise process.WorkerTimeoutError(f"the worker did not send {event!r} within {patience_s:.0f} s and was killed")
    return running.worker


def _begin(
    running: Running, block: Trial, cpus: set[int] | None, meter: type[TaskClock | ProcessClock], stack: ExitStack
) -> None:
    """Wait until the worker of an arm is ready, pin it to its core, begin to meter it, and let it crawl."""
    worker = _speaking(running, "ready", block)
    running.knobs = worker.expect("ready", "knobs")["knobs"]
    if cpus is not None:
        process.pin(worker.pid, running.runtime.cpus or cpus)  # children inherit it
    running.pids = [worker.pid]
    running.meter = meter(worker.pid)
    stack.callback(running.meter.close)
    worker.send({"do": "crawl"})


def _fill(
    running: Running,
    block: Trial,
    server: Server,
    cpus: set[int] | None,
    meter: type[TaskClock | ProcessClock],
    stack: ExitStack,
) -> None:
    """Let an arm begin, and wait until it has its cap in flight. Arms do so one by one, each with a core of its own."""
    _begin(running, block, cpus, meter, stack)
    _await_cap(running, block, server)
    _follow_children(running)
    if cpus is not None:
        running.knobs["cpus"] = sorted(set[int]().union(*map(os.sched_getaffinity, running.pids)))
    _rest(running)


def _follow_children(running: Running) -> None:
    """Read the usage of the worker's children, too, of which a model may have some."""
    assert running.worker is not None
    assert running.meter is not None
    running.pids = host.family(running.worker.pid)
    running.meter.follow(running.pids)


def _await_cap(running: Running, block: Trial, server: Server) -> dict[str, Any]:
    """Wait until the gate of an arm holds as many requests as the arm may have in flight; return that reading.

    Fewer are enough if a limit of the client's own is the cause, and it has never had more: then they are what it has
    ``reached``, until it has more. Raises WorkerError when the gate holds fewer at the deadline, or more than asked.
    """
    assert running.worker is not None
    plateau = Plateau(time.monotonic_ns(), server.limits)
    patience_s = _patience_s(running.cap, block)
    give_up_s = time.monotonic() + patience_s
    most_ns = inf if block.patience_s is None else running.used.cpu_ns + block.patience_s * 1e9  # of CPU time
    while True:
        reading: dict[str, Any] = server.tell("read")
        held = reading["gates"][str(running.port)]["held"]
        running.peak = max(running.peak, held)
        if held > running.cap:
            running.reached = None  # it was no limit of the client: ``cap`` is what was asked for again
        if held == running.cap:
            return reading
        if held > running.cap:
            raise process.WorkerError(f"{held} in flight, above the cap of {running.cap}")
        if held == running.peak and plateau.is_seen(running.worker.pid, held):
            running.reached = held
            return reading
        if running.worker.has_spoken:
            running.worker.crawled()
            raise process.WorkerError("the crawl ended early")
        if most_ns < inf and running.used.cpu_ns > most_ns:
            raise process.WorkerError(f"{held} of {running.cap} in flight after {block.patience_s:g} s of CPU time")
        if time.monotonic() > give_up_s:
            raise process.WorkerError(f"{held} of {running.cap} in flight {patience_s:.0f} s after the gate was closed")
        time.sleep(POLL_S)


def _warm_up(running: Running, block: Trial, server: Server, fixed: Lengths | None) -> None:
    """Let an arm run, and set the length of its slices by what its pages cost; ``fixed``: use these lengths instead."""
    latency_ns = block.workload.mean_latency_ns
    _wake(running)
    used = running.used
    before = server.tell("pass", port=running.port, over_ns=round(latency_ns))
    _sleep_ns(WARM_NS + 2 * latency_ns)
    after = server.tell("pass", port=None)
    requests = max(1, _requests_between(before, _await_cap(running, block, server), running))
    answered = max(1, _requests_between(before, after, running))
    running.response_ns = (after["server_cpu_ns"] - before["server_cpu_ns"]) / answered
    running.rate_per_s = answered / (after["clock_ns"] - before["clock_ns"]) * 1e9
    running.cost_ns = (running.used.cpu_ns - used.cpu_ns) / requests
    _rest(running)
    if fixed:
        running.lengths = _at_least(fixed, running, block)
    else:
        running.lengths = _lengths_at(running.cost_ns, running, block)


def _lengths_at(cost_ns: float, running: Running, block: Trial) -> Lengths:
    """Return the lengths for an arm if its pages cost ``cost_ns`` of CPU time each."""
    chosen = lengths(
        cost_ns,
        running.cap,
        block.workload.mean_latency_ns,
        block.workload.cpu_ns,
        threads=running.model.threads_each > 0,
    )
    return _at_least(chosen, running, block)


def _at_least(chosen: Lengths, running: Running, block: Trial) -> Lengths:
    """Return lengths whose window is long enough for the samples of all threads, and for the lag."""
    threads = running.asked * running.model.threads_each
    least_ns = max(chosen.window_ns, SAMPLED_THREAD_NS * threads)
    if any(arm.lag for arm in block.arms):
        least_ns = max(least_ns, LAG_WINDOW_NS)
    return replace(chosen, window_ns=least_ns)


def cycles_within_budget(arms: Sequence[Running], block: Trial) -> int:
    """Return the number of cycles of a block: fewer than planned if its arms need more time than usual ones.

    Called once, after the warm-up and before the first slice: what is measured has no part in it. The budget is what
    all planned slices would take if each page cost ``USUAL_COST_NS``, at least ``MIN_SLICES_NS``.

    All planned cycles are run where CPU time is not that of pages (busy threads), where due times are counted (lag),
    and in comparisons, which choose their number of cycles by a block of their own.
    """
    if block.workload.comparison is not None:
        return block.cycles
    if any(map(_is_restless, arms)):
        return block.cycles
    usual_ns = USUAL_COST_NS + USUAL_WORK * block.workload.cpu_ns
    cycle_ns = usual_cycle_ns = 1.0
    for running in arms:
        if running.failure is None:
            cycle_ns += _slice_ns(running.cost_ns, running, block)
            usual_cycle_ns += _slice_ns(usual_ns, running, block)
    budget_ns = max(MIN_SLICES_NS, block.cycles * usual_cycle_ns)
    fitting = int(budget_ns / cycle_ns)
    return min(block.cycles, max(MIN_CYCLES, fitting))


def _slice_ns(cost_ns: float, running: Running, block: Trial) -> float:
    """Return about how long a slice of an arm takes whose pages cost ``cost_ns``, until all its fetches are held."""
    chosen = _lengths_at(cost_ns, running, block)
    rest_ns = running.cap * cost_ns
    return chosen.settle_ns + chosen.jitter_ns + chosen.window_ns + rest_ns


def _slice(running: Running, block: Trial, server: Server, cycle: int, draw: Random) -> None:
    """Run one slice of an arm, and append what was read to its ``slices``; ``cycle`` is its number from 0.

    The window is extended while it has fewer than PAGES whole pages. Raises an error of the arm, which ``_blamed``
    keeps.
    """
    if len(running.pids) > 1:
        _follow_children(running)
    _wake(running)
    begin_ns = time.monotonic_ns()
    open_ns = server.tell("pass", port=running.port, over_ns=round(block.workload.mean_latency_ns))["clock_ns"]
    slept_ns = running.lengths.settle_ns + draw.random() * running.lengths.jitter_ns
    _sleep_ns(slept_ns)
    late = server.tell("late")["late"]
    before = server.tell("read")
    begin = running.used
    for _ in range(MAX_WINDOWS):
        _sleep_ns(running.lengths.window_ns)
        slept_ns += running.lengths.window_ns
        if _requests_between(before, server.tell("read"), running) > PAGES:  # the last may have no response yet
            break
    end = running.used
    after = server.tell("pass", port=None)
    latest = server.tell("late")["late"]
    late_ns, latest_ns = (quantile_late_ns(late, latest, share) for share in (0.5, 1))
    silent_ns = round(time.monotonic_ns() - begin_ns - slept_ns)
    if silent_ns > SPARE_NS:  # the server did not answer, or the machine stood still: seen without a latency, too
        latest_ns = max(latest_ns or 0, silent_ns)
    rest_ns = _await_cap(running, block, server)["clock_ns"]
    _rest(running)
    server_cpu_ns, server_wall_ns = (after[key] - before[key] for key in ("server_cpu_ns", "clock_ns"))
    running.slices.append(Slice(cycle, begin, end, server_cpu_ns, server_wall_ns, late_ns, latest_ns, open_ns, rest_ns))


def quantile_late_ns(before: Mapping[str, int], after: Mapping[str, int], share: float) -> int | None:
    """Return a quantile of the lateness of responses between two readings; None if nothing was delayed.

    The server counts responses by lateness, whose keys are nanoseconds as text. ``share`` is 0.5 for the median, 1 for
    the maximum.
    """
    counts = sorted((int(late_ns), count - before.get(late_ns, 0)) for late_ns, count in after.items())
    total, seen = sum(count for _, count in counts), 0
    for late_ns, count in counts:
        seen += count
        if seen >= share * total > 0:
            return late_ns
    return None


def _is_restless(running: Running) -> bool:
    """Return whether an arm does something while its gate is closed: its threads compute, or its timer fires."""
    return bool(running.arm.busy_threads) or running.arm.lag


def _rest(running: Running) -> None:
    """Stop the process of a restless arm, which would disturb the slices of the others."""
    if _is_restless(running):
        _signal(running, signal.SIGSTOP)


def _wake(running: Running) -> None:
    """Let the process of a restless arm go on."""
    if _is_restless(running):
        _signal(running, signal.SIGCONT)


def _relieve(running: Running) -> None:
    """End the busy threads of an arm, so that its crawl ends soon."""
    if running.arm.busy_threads:
        _signal(running, signal.SIGUSR1)
    _wake(running)


def _signal(running: Running, number: signal.Signals) -> None:
    """Send a signal to the worker of an arm."""
    assert running.worker is not None
    os.kill(running.worker.pid, number)


def _requests_between(before: Mapping[str, Any], after: Mapping[str, Any], running: Running) -> int:
    """Return how many requests of the arm the server received between two readings."""
    port = str(running.port)
    requests: int = after["gates"][port]["requests"] - before["gates"][port]["requests"]
    return requests


def _weigh(running: Running, cpus: set[int] | None) -> None:
    """Read the memory of an arm after its slices, at rest behind its gate.

    It may end on any core, because nothing more is measured.
    """
    assert running.worker is not None
    processes = [psutil.Process(pid) for pid in running.pids]
    running.memory = {"peak_threads": sum(each.num_threads() for each in processes)}
    if len(processes) == 1:
        running.memory["rss_bytes"] = processes[0].memory_info().rss
    else:
        running.memory["processes"] = len(processes)
    if (shared := memory.layers_of_processes(running.pids)["pss_bytes"]) is not None:
        running.memory["pss_bytes"] = shared
    for pid in running.pids:
        process.pin(pid, host.with_harness(cpus))


def _ask_for_report(running: Running, block: Trial) -> None:
    """Wait until the crawl has ended, because pages have no more links, and ask for the report."""
    worker = _speaking(running, "crawled", block)
    worker.crawled()
    windows = [[each.begin.at_ns, each.end.until_ns] for each in running.slices]
    slices = [[each.open_ns, each.rest_ns] for each in running.slices]
    worker.send({"do": "report", "windows": windows, "slices": slices})


def _report(running: Running, block: Trial) -> None:
    """Receive the report of an arm, and let its worker exit."""
    worker = _speaking(running, "outcome", block)
    running.outcome = worker.expect("outcome", "answer")
    worker.dismiss()


def _sleep_ns(duration_ns: float) -> None:
    """Sleep for some nanoseconds."""
    time.sleep(duration_ns / 1e9)


def draw_order(arms: int, cycles: int, draw: Random) -> list[list[int]]:
    """Return an order of the arms (0, 1, ...) for each cycle, in which every arm follows every other arm equally often.

    They are the rows of a Williams design (E. J. Williams, 1949): the first one zigzags, 0, 1, n - 1, 2, n - 2 ..., and
    each next one adds 1 (mod n). For an odd number of arms, the rows of its mirror image follow. The names of the arms
    and the order of the rows are random. When all rows are used, they are taken again in another order.
    """
    names = list(range(arms))
    draw.shuffle(names)
    first = [-(place // 2) if place % 2 == 0 else (place + 1) // 2 for place in range(arms)]
    design = [[names[(number + shift) % arms] for number in first] for shift in range(arms)]
    if arms % 2:
        design += [row[::-1] for row in design]
    rows: list[list[int]] = []
    while len(rows) < cycles:
        draw.shuffle(design)
        rows += design
    return rows[:cycles]
