"""Run one block: all arms alive at once, each behind a gate of its own, in slices that go round.

::

    start workers --> each holds its cap behind its gate --> warm up --> cycles of slices --> no more links --> reports

A slice: open the gate; let the arm settle; read; let the window pass; read; shut the gate; wait until all that was in
flight is held again. Only the window counts. The server reads CPU times and requests, all at one moment.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import psutil

from inflight.bench.core.arm import Arm, BlockTrial
from inflight.bench.core.grid import endless
from inflight.bench.measure import host, process
from inflight.bench.measure.blocks.order import balanced
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.expected import root_paths
from inflight.bench.measure.server import Server
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

PROGRAM = "inflight.bench.measure.worker.arm"
MS = 1_000_000
WARM_NS = 60 * MS
"""How long each arm runs before anything counts; its cost per page is found meanwhile."""
LATENCIES = 20
"""Length of a window, at the least, in added latencies."""
MOST_TAKEN = 0.1
"""A cycle of which others took more than this share is disturbed."""
POLL_S = 0.0004
"""How often to look whether an arm holds its cap again."""
DRAIN_S, EACH_S = 20.0, 0.01
"""How long to wait for that, and for each word of a worker, beside ``DRAIN_ROUNDS`` of the CPU work.

So much more for each page that is due: 3,000 threads took more than 20 s to start on two cores that others had filled.
"""
DRAIN_ROUNDS = 5
"""So many times the CPU work of all that is in flight may take, on a core that others use too."""
PAGES, MOST_WINDOWS = 20, 20
"""Pages of a window, at the least: one that has fewer is prolonged by its own length, and again, up to so many times.

A thousand threads that wake up at once finish nothing for a while when others have filled their core.
"""
FETCH_TIMEOUT_NS = 600_000_000_000
"""The deadline of a fetch: it waits behind its gate for the slices of all others."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long an arm settles behind its open gate before its window, and how long the window is.

    Up to ``jitter_ns`` are added to the first, at random. Models that work in batches, as an asyncio loop does, send
    their requests in bursts, which the opening of the gate puts in step: without it each window would begin at the same
    place between two bursts.
    """

    settle_ns: int
    window_ns: int
    jitter_ns: int = 0


def lengths(cost_ns: float, in_flight: int, latency_ns: float, work_ns: float, *, threads: bool) -> Lengths:
    """Return the lengths for an arm whose pages cost ``cost_ns`` of CPU time each, ``work_ns`` of them CPU work.

    docs/method.md has the measurements. After the gate has opened, the first round of all that is in flight finds cold
    caches, and a crowd of threads wakes up at once. What waits for an added latency settles for one latency, and its
    window has at least twenty of them. Threads finish the CPU work of a round almost together, so a window has two
    rounds of it. What follows from the cost is bounded, because a busy machine exaggerates it.
    """
    round_ns, work_ns = in_flight * cost_ns, in_flight * work_ns
    settle_ns = max(40 * MS, 3 * round_ns) if threads else max(10 * MS, 1.5 * round_ns)
    window_ns = max(40 * MS, 2 * round_ns)
    page_ns = max(cost_ns, (latency_ns + cost_ns) / in_flight)
    return Lengths(
        round(max(min(settle_ns, 250 * MS), 1.5 * latency_ns, work_ns)),
        round(max(min(window_ns, 500 * MS), LATENCIES * latency_ns, PAGES * page_ns, 2 * work_ns)),
        round(max(min(round_ns, 100 * MS), work_ns)),
    )


@dataclass(frozen=True, slots=True)
class Slice:
    """One window of one arm."""

    cycle: int
    begin_ns: int
    """On the monotonic clock, which workers, server and harness share."""
    end_ns: int
    cpu_ns: int
    """CPU time of the arm's worker, all threads, user and system."""
    server_cpu_ns: int
    requests: int
    """What the server received of it."""


@dataclass(slots=True)
class Running:
    """An arm while its block goes on, and what is known of it so far."""

    arm: Arm
    prepared: Prepared
    port: int
    worker: process.Worker | None = None
    lengths: Lengths = Lengths(0, 0)
    slices: list[Slice] = field(default_factory=list)
    knobs: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    """What the server received of it in all."""
    failure: Exception | None = None

    @property
    def cap(self) -> int:
        """The most that it can have in flight."""
        most = self.prepared.described.most_in_flight
        return self.arm.in_flight if most is None else min(most, self.arm.in_flight)


def observe(
    block: BlockTrial,
    prepared: Mapping[str, Prepared],
    server: Server,
    cpus: set[int] | None,
    lifetime_s: float,
    draw: Random,
    unit_ns: float | None = None,
    fixed: Lengths | None = None,
) -> list[Running]:
    """Run a block, and return what was seen of each arm; one that fails leaves the others going.

    ``prepared`` has each arm by its name, ``unit_ns`` is what a unit of CPU work costs, ``fixed`` are lengths for all
    arms instead of their own. ``draw`` decides which arm starts first and has which port, and the order of the slices:
    another seed for each block, so that no arm has the same place in all of them. Raises ServerError when the server is
    lost.
    """
    site = site_of(block)
    server.configure(site)
    ports = server.gates(len(block.arms))
    draw.shuffle(ports)
    everyone = [Running(arm, prepared[arm.name], port) for arm, port in zip(block.arms, ports, strict=True)]
    arms = draw.sample(everyone, len(everyone))
    with ExitStack() as stack:
        for one in arms:
            with _blamed(one):
                told = _order(one, block, site, unit_ns)
                one.worker = stack.enter_context(
                    process.running([PROGRAM], told, _start_cpus(cpus), lifetime_s, one.prepared.runtime)
                )
        _each(arms, partial(_begin, block=block, server=server, cpus=cpus))
        _each(arms, partial(_await_cap, block=block, server=server))
        _each(arms, partial(_warm_up, block=block, server=server, fixed=fixed))
        for cycle, order in enumerate(balanced(len(arms), block.cycles, draw)):
            for place in order:
                _each([arms[place]], partial(_slice, block=block, server=server, cycle=cycle, draw=draw))
        _each(arms, partial(_weigh, cpus=cpus))
        server.tell("run_out")
        server.tell("release")
        _each(arms, partial(_ask_for_report, block=block))
        _each(arms, partial(_report, block=block))
        readings = server.tell("read")["gates"]
        for one in arms:
            one.requests = readings[str(one.port)]["requests"]
    return everyone


def missing(arms: Sequence[Running]) -> dict[int, float]:
    """Return for each cycle the share of its windows in which no worker of ours ran.

    The arms are the same in all cycles, and so is what they wait by themselves. What is more than that was taken by
    others. It is CPU time over wall time and knows nothing of pages, so it is blind to what is compared.
    """
    cpu_ns: dict[int, int] = {}
    wall_ns: dict[int, int] = {}
    for one in arms:
        for each in one.slices:
            cpu_ns[each.cycle] = cpu_ns.get(each.cycle, 0) + each.cpu_ns
            wall_ns[each.cycle] = wall_ns.get(each.cycle, 0) + each.end_ns - each.begin_ns
    return {cycle: max(0.0, 1 - cpu_ns[cycle] / wall_ns[cycle]) for cycle in wall_ns}


def disturbed(arms: Sequence[Running]) -> set[int]:
    """Return the cycles in which others took the core of the arms, compared with the quietest quarter of them all."""
    shares = missing(arms)
    if not shares:
        return set()
    quiet = sorted(shares.values())[len(shares) // 4]
    return {cycle for cycle, share in shares.items() if share > quiet + MOST_TAKEN}


def site_of(block: BlockTrial) -> SiteConfig:
    """Return the endless site of a block."""
    return endless(block.workload.site, max(arm.in_flight for arm in block.arms), block.workload.cpu_ns)


def _order(one: Running, block: BlockTrial, site: SiteConfig, unit_ns: float | None) -> dict[str, Any]:
    """Return what the worker is told. A crawl begins with a whole lap, so that each page brings one new link."""
    cpu_ns = block.workload.cpu_ns
    job = Job(
        roots=tuple(f"http://127.0.0.1:{one.port}{path}" for path in root_paths(site, site.pages)),
        max_in_flight=one.arm.in_flight,
        connection=one.arm.connection,
        timeout_ns=FETCH_TIMEOUT_NS,
        work_units=max(1, round(cpu_ns / unit_ns)) if cpu_ns and unit_ns else 0,
    )
    return {
        "strategy": one.arm.strategy,
        "job": job.to_dict(),
        "planted_loops": one.arm.planted_loops,
        "variables": sorted(one.prepared.runtime.variables),
    }


@contextmanager
def _blamed(one: Running) -> Iterator[None]:
    """Note what breaks an arm, and end its worker: it is left out of the rest of its block, and disturbs nobody."""
    try:
        yield
    except (process.WorkerError, psutil.Error, OSError) as error:
        one.failure = error
        if one.worker is not None:
            one.worker.kill()


def _each(arms: list[Running], do: Callable[[Running], object]) -> None:
    """Do something with each arm that is well."""
    for one in arms:
        if one.failure is None:
            with _blamed(one):
                do(one)


def _start_cpus(cpus: set[int] | None) -> set[int] | None:
    """Return the cores on which workers start: theirs and the harness's own, because nothing is measured yet."""
    return None if cpus is None else cpus | os.sched_getaffinity(0)


def _patience_s(pages: int, block: BlockTrial) -> float:
    """Return how long to wait for so many pages of an arm."""
    return DRAIN_S + EACH_S * pages + DRAIN_ROUNDS * pages * block.workload.cpu_ns / 1e9


def _speaking(one: Running, event: str, block: BlockTrial) -> process.Worker:
    """Return the worker of an arm, which has a lap to crawl at the most, as soon as it says what is due.

    Not as long as its worker may live: all arms start together, so that would use up the time of the others.
    """
    assert one.worker is not None
    patience_s = _patience_s(site_of(block).pages, block)
    if not one.worker.wait_for_word(patience_s):
        raise process.WorkerTimeoutError(f"the worker did not say {event!r} within {patience_s:.0f} s, and was killed")
    return one.worker


def _begin(one: Running, block: BlockTrial, server: Server, cpus: set[int] | None) -> None:
    worker = _speaking(one, "ready", block)
    one.knobs = worker.expect("ready", "knobs")["knobs"]
    if cpus is not None:
        process.pin(worker.pid, one.prepared.runtime.cpus or cpus)
        one.knobs["cpus"] = sorted(os.sched_getaffinity(worker.pid))
    server.tell("watch", port=one.port, pid=worker.pid)
    worker.send({"do": "crawl"})


def _await_cap(one: Running, block: BlockTrial, server: Server) -> dict[str, Any]:
    """Wait until as many requests as the arm may have in flight are held behind its gate; return that reading.

    Raises WorkerError when it does not come to that, or when there are more.
    """
    assert one.worker is not None
    patience_s = _patience_s(one.cap, block)
    give_up_s = time.monotonic() + patience_s
    while True:
        reading: dict[str, Any] = server.tell("read")
        held = reading["gates"][str(one.port)]["held"]
        if held == one.cap:
            return reading
        if held > one.cap:
            raise process.WorkerError(f"{held} in flight, where the cap is {one.cap}")
        if one.worker.has_spoken:
            one.worker.crawled()
            raise process.WorkerError("the crawl ended early")
        if time.monotonic() > give_up_s:
            raise process.WorkerError(
                f"{held} in flight, where {one.cap} are due, {patience_s:.0f} s after the gate was shut"
            )
        time.sleep(POLL_S)


def _warm_up(one: Running, block: BlockTrial, server: Server, fixed: Lengths | None) -> None:
    """Let an arm run, and decide how long its slices are."""
    latency_ns = block.workload.mean_latency_ns
    before = server.tell("pass", port=one.port, over_ns=round(latency_ns))
    _sleep_ns(WARM_NS + 2 * latency_ns)
    server.tell("pass", port=None)
    after = _await_cap(one, block, server)
    old, new = before["gates"][str(one.port)], after["gates"][str(one.port)]
    cost_ns = (_cpu_ns(new, one) - _cpu_ns(old, one)) / max(1, new["requests"] - old["requests"])
    threads = one.prepared.described.threads_each > 0
    one.lengths = fixed or lengths(cost_ns, one.cap, latency_ns, block.workload.cpu_ns, threads=threads)


def _slice(one: Running, block: BlockTrial, server: Server, cycle: int, draw: Random) -> None:
    server.tell("pass", port=one.port, over_ns=round(block.workload.mean_latency_ns))
    _sleep_ns(one.lengths.settle_ns + draw.random() * one.lengths.jitter_ns)
    before = server.tell("read")
    for _ in range(MOST_WINDOWS):
        _sleep_ns(one.lengths.window_ns)
        if _pages_since(before, server.tell("read"), one) >= PAGES:
            break
    after = server.tell("pass", port=None)
    old, new = before["gates"][str(one.port)], after["gates"][str(one.port)]
    _await_cap(one, block, server)
    one.slices.append(
        Slice(
            cycle,
            before["clock_ns"],
            after["clock_ns"],
            _cpu_ns(new, one) - _cpu_ns(old, one),
            after["server_cpu_ns"] - before["server_cpu_ns"],
            _pages_since(before, after, one),
        )
    )


def _pages_since(before: Mapping[str, Any], after: Mapping[str, Any], one: Running) -> int:
    """Return how many requests of the arm the server received between two readings."""
    port = str(one.port)
    pages: int = after["gates"][port]["requests"] - before["gates"][port]["requests"]
    return pages


def _cpu_ns(gate: Mapping[str, Any], one: Running) -> int:
    """Return the CPU time of the arm at a reading: from the server, or from the system where the server cannot tell."""
    if (known := gate["cpu_ns"]) is not None:
        return int(known)
    assert one.worker is not None
    return host.cpu_in_ticks_ns(one.worker.pid)


def _weigh(one: Running, cpus: set[int] | None) -> None:
    """Read the memory of an arm whose slices are over. It ends on any core: nothing is measured any more."""
    assert one.worker is not None
    one.memory = {"rss_bytes": psutil.Process(one.worker.pid).memory_info().rss}
    one.memory["peak_threads"] = psutil.Process(one.worker.pid).num_threads()
    process.pin(one.worker.pid, _start_cpus(cpus))


def _ask_for_report(one: Running, block: BlockTrial) -> None:
    """Wait until the crawl has come to its end, because pages have no more links, and ask for the report."""
    worker = _speaking(one, "crawled", block)
    worker.crawled()
    worker.send({"do": "report", "windows": [[each.begin_ns, each.end_ns] for each in one.slices]})


def _report(one: Running, block: BlockTrial) -> None:
    worker = _speaking(one, "outcome", block)
    one.outcome = worker.expect("outcome", "answer")
    worker.dismiss()


def _sleep_ns(duration_ns: float) -> None:
    time.sleep(duration_ns / 1e9)
