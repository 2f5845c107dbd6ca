"""Run one block: all arms alive at once, each behind a gate of its own, in slices that take turns.

::

    start workers --> each holds its cap behind its gate --> warm up --> cycles of slices --> no more links --> reports

A slice: open the gate; let the arm settle; read; let the window pass; read; close the gate; wait until everything in
flight is held again. Only the window counts. The server reads all CPU times and requests at one moment.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import psutil

from inflight.bench.core.arm import Arm, BlockTrial
from inflight.bench.core.grid import endless
from inflight.bench.measure import host, memory, process
from inflight.bench.measure.blocks.order import balanced
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.expected import root_paths
from inflight.bench.measure.server import Server
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

PROGRAM = "inflight.bench.measure.worker.arm"
MS = 1_000_000
WARM_NS = 60 * MS
"""How long each arm runs before the first slice, while its cost per page is measured."""
LATENCIES = 20
"""Minimum length of a window, in added latencies."""
MOST_TAKEN = 0.1
"""Share of a cycle above which time taken by others counts as a disturbance."""
POLL_S = 0.0004
"""Interval at which to check whether an arm holds its cap again."""
DRAIN_S, EACH_S = 60.0, 0.01
"""How long to wait for that, and for each message of a worker, in all and per page, besides ``DRAIN_ROUNDS``.

3,000 threads took more than 20 s to start on two cores that others kept busy.
"""
DRAIN_ROUNDS = 5
"""Allowed multiple of the CPU work of all fetches in flight, on a core that others use too."""
LAG_WINDOW_NS = 250 * MS
"""Minimum length of all windows of a block in which the lag is measured: 25 due times of the timer."""
PAGES, MOST_WINDOWS = 20, 20
"""Minimum number of pages of a window. A window with fewer is extended by its own length, up to ``MOST_WINDOWS`` in
all.

A thousand threads that wake up at once finish nothing for a while when others keep their core busy.
"""
MOST_ROUND_NS = 4_000 * MS
"""Maximum length of a window that follows from the cost of a page."""
FETCH_TIMEOUT_NS = 600_000_000_000
"""Timeout of a fetch, which waits behind its gate during the slices of all other arms."""


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

    docs/method-notes.md has the measurements. After the gate has opened, the first round of the fetches in flight finds
    cold caches, and many threads wake up at once. With an added latency, an arm settles for one and a half latencies,
    and its window has at least twenty. Threads finish the CPU work of a round almost together, so a window has two
    rounds of it. Times derived from the cost are bounded, because a busy machine exaggerates it.

    An event loop may read the responses of a whole round before it sends the next requests, so a part of its round has
    another cost than the whole. Without threads, a window therefore has at least one round, up to ``MOST_ROUND_NS``.
    """
    round_ns, work_ns = in_flight * cost_ns, in_flight * work_ns
    settle_ns = max(40 * MS, 3 * round_ns) if threads else max(10 * MS, 1.5 * round_ns)
    window_ns = max(40 * MS, 2 * round_ns)
    most_window_ns = 500 * MS if threads else max(500 * MS, min(round_ns, MOST_ROUND_NS))
    page_ns = max(cost_ns, (latency_ns + cost_ns) / in_flight)
    return Lengths(
        round(max(min(settle_ns, 250 * MS), 1.5 * latency_ns, work_ns)),
        round(max(min(window_ns, most_window_ns), LATENCIES * latency_ns, PAGES * page_ns, 2 * work_ns)),
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
    """CPU time of the arm's worker and its children, all threads, user and system."""
    server_cpu_ns: int
    requests: int
    """Requests that the server received from the arm."""
    rest_ns: int = 0
    """When all its fetches were held again."""


@dataclass(slots=True)
class Running:
    """An arm during its block, with the results so far."""

    arm: Arm
    prepared: Prepared
    port: int
    worker: process.Worker | None = None
    lengths: Lengths = Lengths(0, 0)
    slices: list[Slice] = field(default_factory=list)
    knobs: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    pids: list[int] = field(default_factory=list)
    """Its processes: the worker, its children and theirs."""
    requests: int = 0
    """Requests that the server received from the arm in the whole block."""
    failure: Exception | None = None

    @property
    def cap(self) -> int:
        """Maximum number of fetches that it can have in flight."""
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
    """Run a block, and return the results of each arm. A failing arm does not stop the others.

    ``prepared`` maps names to arms, ``unit_ns`` is the cost of a unit of CPU work, ``fixed`` are lengths for all arms
    instead of their own. ``draw`` decides the order of starts, the ports and the order of slices. It has another seed
    in each block, so that no arm has the same place in all blocks. Raises ServerError when the server is lost.
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
                wanted = _order(one, block, site, unit_ns)
                one.worker = stack.enter_context(
                    process.running([PROGRAM], wanted, _start_cpus(cpus), lifetime_s, one.prepared.runtime)
                )
        _each(arms, partial(_fill, block=block, server=server, cpus=cpus))
        _each(arms, partial(_warm_up, block=block, server=server, fixed=fixed))
        for cycle, order in enumerate(balanced(len(arms), block.cycles, draw)):
            for place in order:
                _each([arms[place]], partial(_slice, block=block, server=server, cycle=cycle, draw=draw))
        _each(arms, _relieve)
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
    """Return for each cycle the share of its windows in which no worker ran.

    The arms are the same in all cycles, and so is the time for which they wait by themselves. Any excess was taken by
    others. The share is CPU time over wall time, times the cores of the arm. It does not use pages, so it does not
    depend on what is compared.
    """
    cpu_ns: dict[int, int] = {}
    wall_ns: dict[int, int] = {}
    for one in arms:
        for each in one.slices:
            cpu_ns[each.cycle] = cpu_ns.get(each.cycle, 0) + each.cpu_ns
            wall_ns[each.cycle] = wall_ns.get(each.cycle, 0) + (each.end_ns - each.begin_ns) * one.arm.cores
    return {cycle: max(0.0, 1 - cpu_ns[cycle] / wall_ns[cycle]) for cycle in wall_ns}


def disturbed(arms: Sequence[Running]) -> set[int]:
    """Return the cycles in which others used the core of the arms, compared with the quietest quarter of cycles."""
    shares = missing(arms)
    if not shares:
        return set()
    quiet = sorted(shares.values())[len(shares) // 4]
    return {cycle for cycle, share in shares.items() if share > quiet + MOST_TAKEN}


def site_of(block: BlockTrial) -> SiteConfig:
    """Return the endless site of a block."""
    return endless(block.workload.site, max(arm.in_flight for arm in block.arms), block.workload.cpu_ns)


def _order(one: Running, block: BlockTrial, site: SiteConfig, unit_ns: float | None) -> dict[str, Any]:
    """Return the order for the worker. A crawl begins with a whole lap, so that each page has one new link."""
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
        "busy_threads": one.arm.busy_threads,
        "lag": _lag(one),
        "variables": sorted(one.prepared.runtime.variables),
    }


def _lag(one: Running) -> str | None:
    """Return where the timer of an arm fires: in its loop, or in a thread beside its threads."""
    if not one.arm.lag:
        return None
    return "thread" if one.prepared.described.threads_each else "loop"


@contextmanager
def _blamed(one: Running) -> Iterator[None]:
    """Record an error as the failure of an arm, and kill its worker. The arm is left out of the rest of its block."""
    try:
        yield
    except (process.WorkerError, psutil.Error, OSError) as error:
        one.failure = error
        if one.worker is not None:
            one.worker.kill()


def _each(arms: list[Running], do: Callable[[Running], object]) -> None:
    """Do something with each arm that has not failed."""
    for one in arms:
        if one.failure is None:
            with _blamed(one):
                do(one)


def _start_cpus(cpus: set[int] | None) -> set[int] | None:
    """Return the cores on which workers start: theirs and the harness's, because nothing is measured yet."""
    return None if cpus is None else cpus | os.sched_getaffinity(0)


def _patience_s(pages: int, block: BlockTrial) -> float:
    """Return how long to wait for this many pages of an arm."""
    return DRAIN_S + EACH_S * pages + DRAIN_ROUNDS * pages * block.workload.cpu_ns / 1e9


def _speaking(one: Running, event: str, block: BlockTrial) -> process.Worker:
    """Wait for the next message of an arm, which has at most one lap to crawl; return its worker.

    The wait is shorter than the lifetime of the worker: all arms start together, so one must not use up the others'
    time.
    """
    assert one.worker is not None
    patience_s = _patience_s(site_of(block).pages, block)
    if not one.worker.wait_for_word(patience_s):
        raise process.WorkerTimeoutError(f"the worker did not send {event!r} within {patience_s:.0f} s and was killed")
    return one.worker


def _begin(one: Running, block: BlockTrial, server: Server, cpus: set[int] | None) -> None:
    worker = _speaking(one, "ready", block)
    one.knobs = worker.expect("ready", "knobs")["knobs"]
    if cpus is not None:
        process.pin(worker.pid, one.prepared.runtime.cpus or cpus)  # children inherit it
    one.pids = [worker.pid]
    server.tell("watch", port=one.port, pids=one.pids)
    worker.send({"do": "crawl"})


def _fill(one: Running, block: BlockTrial, server: Server, cpus: set[int] | None) -> None:
    """Let an arm begin, and wait until it has its cap in flight. Arms do so one by one, each with a core of its own."""
    _begin(one, block, server, cpus)
    _await_cap(one, block, server)
    _watch_children(one, server)
    if cpus is not None:
        one.knobs["cpus"] = sorted(set[int]().union(*map(os.sched_getaffinity, one.pids)))
    _rest(one)


def _watch_children(one: Running, server: Server) -> None:
    """Let the server read the CPU time of the worker's children, too, of which a model may have some."""
    assert one.worker is not None
    found = host.family(one.worker.pid)
    if found != one.pids:
        one.pids = found
        server.tell("watch", port=one.port, pids=found)


def _await_cap(one: Running, block: BlockTrial, server: Server) -> dict[str, Any]:
    """Wait until the gate of an arm holds as many requests as the arm may have in flight; return that reading.

    Raises WorkerError when it holds fewer at the deadline, or more.
    """
    assert one.worker is not None
    patience_s = _patience_s(one.cap, block)
    give_up_s, begin_ns = time.monotonic() + patience_s, None
    while True:
        reading: dict[str, Any] = server.tell("read")
        gate = reading["gates"][str(one.port)]
        held, used_ns = gate["held"], _cpu_ns(gate, one)
        begin_ns = used_ns if begin_ns is None else begin_ns
        if held == one.cap:
            return reading
        if held > one.cap:
            raise process.WorkerError(f"{held} in flight, above the cap of {one.cap}")
        if one.worker.has_spoken:
            one.worker.crawled()
            raise process.WorkerError("the crawl ended early")
        if block.patience_s is not None and used_ns - begin_ns > block.patience_s * 1e9:
            raise process.WorkerError(f"{held} of {one.cap} in flight after {block.patience_s:g} s of CPU time")
        if time.monotonic() > give_up_s:
            raise process.WorkerError(f"{held} of {one.cap} in flight {patience_s:.0f} s after the gate was closed")
        time.sleep(POLL_S)


def _warm_up(one: Running, block: BlockTrial, server: Server, fixed: Lengths | None) -> None:
    """Let an arm run, and set the length of its slices."""
    latency_ns = block.workload.mean_latency_ns
    _wake(one)
    before = server.tell("pass", port=one.port, over_ns=round(latency_ns))
    _sleep_ns(WARM_NS + 2 * latency_ns)
    server.tell("pass", port=None)
    after = _await_cap(one, block, server)
    _rest(one)
    old, new = before["gates"][str(one.port)], after["gates"][str(one.port)]
    cost_ns = (_cpu_ns(new, one) - _cpu_ns(old, one)) / max(1, new["requests"] - old["requests"])
    threads = one.prepared.described.threads_each > 0
    found = fixed or lengths(cost_ns, one.cap, latency_ns, block.workload.cpu_ns, threads=threads)
    least_ns = LAG_WINDOW_NS if any(arm.lag for arm in block.arms) else 0
    one.lengths = replace(found, window_ns=max(found.window_ns, least_ns))


def _slice(one: Running, block: BlockTrial, server: Server, cycle: int, draw: Random) -> None:
    if len(one.pids) > 1:
        _watch_children(one, server)
    _wake(one)
    server.tell("pass", port=one.port, over_ns=round(block.workload.mean_latency_ns))
    _sleep_ns(one.lengths.settle_ns + draw.random() * one.lengths.jitter_ns)
    before = server.tell("read")
    for _ in range(MOST_WINDOWS):
        _sleep_ns(one.lengths.window_ns)
        if _pages_since(before, server.tell("read"), one) >= PAGES:
            break
    after = server.tell("pass", port=None)
    old, new = before["gates"][str(one.port)], after["gates"][str(one.port)]
    rest_ns = _await_cap(one, block, server)["clock_ns"]
    _rest(one)
    one.slices.append(
        Slice(
            cycle,
            before["clock_ns"],
            after["clock_ns"],
            _cpu_ns(new, one) - _cpu_ns(old, one),
            after["server_cpu_ns"] - before["server_cpu_ns"],
            _pages_since(before, after, one),
            rest_ns,
        )
    )


def _is_restless(one: Running) -> bool:
    """Return whether an arm does something while its gate is closed: its threads compute, or its timer fires."""
    return bool(one.arm.busy_threads) or one.arm.lag


def _rest(one: Running) -> None:
    """Stop the process of a restless arm, which would disturb the slices of the others."""
    if _is_restless(one):
        _signal(one, signal.SIGSTOP)


def _wake(one: Running) -> None:
    """Let the process of a restless arm go on."""
    if _is_restless(one):
        _signal(one, signal.SIGCONT)


def _relieve(one: Running) -> None:
    """End the busy threads of an arm, so that its crawl ends soon."""
    if one.arm.busy_threads:
        _signal(one, signal.SIGUSR1)
    _wake(one)


def _signal(one: Running, number: signal.Signals) -> None:
    assert one.worker is not None
    os.kill(one.worker.pid, number)


def _pages_since(before: Mapping[str, Any], after: Mapping[str, Any], one: Running) -> int:
    """Return how many requests of the arm the server received between two readings."""
    port = str(one.port)
    pages: int = after["gates"][port]["requests"] - before["gates"][port]["requests"]
    return pages


def _cpu_ns(gate: Mapping[str, Any], one: Running) -> int:
    """Return the CPU time of the arm at a reading, from the server or else from the system."""
    if (known := gate["cpu_ns"]) is not None:
        return int(known)
    assert one.worker is not None
    return host.cpu_in_ticks_ns(one.worker.pid)


def _weigh(one: Running, cpus: set[int] | None) -> None:
    """Read the memory of an arm after its slices, at rest behind its gate.

    It may end on any core, because nothing more is measured.
    """
    assert one.worker is not None
    processes = [psutil.Process(pid) for pid in one.pids]
    one.memory = {"peak_threads": sum(each.num_threads() for each in processes)}
    if len(processes) == 1:
        one.memory["rss_bytes"] = processes[0].memory_info().rss
    else:
        one.memory["processes"] = len(processes)
    if (shared := memory.of_processes(one.pids)["pss_bytes"]) is not None:
        one.memory["pss_bytes"] = shared
    for pid in one.pids:
        process.pin(pid, _start_cpus(cpus))


def _ask_for_report(one: Running, block: BlockTrial) -> None:
    """Wait until the crawl has ended, because pages have no more links, and ask for the report."""
    worker = _speaking(one, "crawled", block)
    worker.crawled()
    windows, rest_ns = [[each.begin_ns, each.end_ns] for each in one.slices], [each.rest_ns for each in one.slices]
    worker.send({"do": "report", "windows": windows, "rest_ns": rest_ns})


def _report(one: Running, block: BlockTrial) -> None:
    worker = _speaking(one, "outcome", block)
    one.outcome = worker.expect("outcome", "answer")
    worker.dismiss()


def _sleep_ns(duration_ns: float) -> None:
    time.sleep(duration_ns / 1e9)
