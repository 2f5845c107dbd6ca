"""The held phase of a memory trial: get exactly N fetches in flight, read every layer of memory at rest, release them.

``measure.crawl`` calls ``observe`` in place of a timed crawl. The server's gate is closed: it receives requests and
answers none, so all N stay in flight, and nothing moves while memory is read. Idle threads (``bare``) use ``layers``,
swarms use ``disturbance``, both use ``Guard`` (the memory budget); blocks use ``Plateau``. *Layers*: see ``memory``.
Names of figures begin with the moment: ``base_`` before, ``held_`` with N held, ``parked_`` when all but one are
answered.
"""

import sys
import time
from dataclasses import dataclass
from typing import Any

import psutil

from inflight.bench.measure import host, memory, process
from inflight.bench.measure.blocks.usage import cpu_of_all_ns
from inflight.bench.measure.memory import Layers
from inflight.bench.measure.server import Server
from inflight.bench.plan.trial import Trial

STILL_NS, KNOWN_NS = 5_000_000_000, 1_000_000_000
"""How long a client that keeps fewer in flight than asked for must be still, and where an earlier trial found the same.

Then its own limit is the cause, such as the size of its pool.
"""
LOOK_NS, MAX_GAP_NS = 250_000_000, 1_000_000_000
"""Least time between two looks at the processes of a client, and the longest time between them for which the client
counts as watched."""
MAX_CPU_SHARE = 0.01
"""Maximum CPU time of a still client, as a share of the time: a timer may fire, but no fetch begins."""


@dataclass(slots=True)
class Plateau:
    """Decide from a series of readings whether a client has reached a limit of its own, such as the size of its pool.

    It has when for ``STILL_NS`` the number held did not change, and its processes used no CPU time. A client that is
    slow, on a busy machine or because it starts threads, does one or the other. A time without readings does not count:
    the whole machine may have been stopped.
    """

    at_ns: int
    """When the last reading was taken, on the monotonic clock; at first, when the wait began."""
    known: set[int]
    """Numbers in flight at which clients have turned out to have a limit; a number is added when it is reached."""
    since: tuple[int, int, int] = (0, 0, 0)
    """The reading since which the client is still: time and CPU time in nanoseconds, and number held."""

    def is_reached(self, now_ns: int, cpu_ns: int, held: int) -> bool:
        """Take a reading; return whether the client has reached its limit. A stopped one has no readings.

        ``cpu_ns`` is the CPU time of its processes so far, ``held`` the number of its fetches that the server holds.
        """
        still_ns = KNOWN_NS if held in self.known else STILL_NS
        _, used_ns, before = self.since
        if now_ns - self.at_ns > MAX_GAP_NS or held != before or cpu_ns - used_ns > MAX_CPU_SHARE * still_ns:
            self.since = (now_ns, cpu_ns, held)
        self.at_ns = now_ns
        is_limited = held > 0 and now_ns - self.since[0] >= still_ns
        if is_limited:
            self.known.add(held)
        return is_limited

    def is_seen(self, pid: int, held: int) -> bool:
        """Take a reading of a worker and its children if one is due; return whether it has reached its limit."""
        now_ns = time.monotonic_ns()
        if now_ns - self.at_ns < LOOK_NS or psutil.Process(pid).status() == psutil.STATUS_STOPPED:
            return False
        return self.is_reached(now_ns, cpu_of_all_ns(host.family(pid)), held)


def observe(
    trial: Trial, server: Server, worker: process.Worker, measured: dict[str, Any], budget_bytes: int | None
) -> None:
    """Crawl against a closed gate; record memory before, with N fetches held, and optionally with N connections parked.

    The keys are ``base_``, ``held_`` and ``parked_`` with the names of the layers in ``memory``; rows have those
    of memory. ``reach_ns`` is the time from the order until the server had received the last of N requests, by the
    server's reading of the clock that both share. ``reach_cpu_ns`` and
    ``reach_server_cpu_ns`` are the CPU times of worker and server until then: the worker waits from then on. N is
    ``reached_in_flight`` if a limit of the client's own keeps it below what was asked for.
    """
    server.tell("hold")
    measured |= layers("base", worker, server)
    guard = Guard(budget_bytes, worker.pid)
    cpu_before_ns, server_before_ns = host.cpu_ns(worker.pid), server.stats()["cpu_ns"]
    begin_ns = time.monotonic_ns()
    worker.send({"do": "crawl"})
    stats = _wait_until(range(trial.reachable, sys.maxsize), server, worker, guard)
    measured["reach_ns"] = stats["peak_at_ns"] - begin_ns
    measured["reach_cpu_ns"] = host.since(cpu_before_ns, host.cpu_ns(worker.pid))
    measured["reach_server_cpu_ns"] = stats["cpu_ns"] - server_before_ns
    measured |= layers_since(measured, "held", worker, server)
    measured["held_in_flight"] = held = server.stats()["in_flight"]
    if held < trial.reachable:
        measured["reached_in_flight"] = held
    if trial.workload.parked:
        server.tell("release", keep=1)
        _wait_until(range(2), server, worker, guard)
        measured |= layers_since(measured, "parked", worker, server)
    measured["released_ns"] = time.monotonic_ns()
    server.tell("release")


REST_S = 3
"""Maximum time that a reading waits for memory to settle and for others to end."""
MAX_STRANGERS = 5
"""Number of tasks or sockets of others that is tolerated: the kernel's workers (kworker) come and go."""


class Guard:
    """A memory budget for one process, or for everything started since."""

    def __init__(self, budget_bytes: int | None, pid: int | None = None) -> None:
        """Note the memory in use now. ``budget_bytes`` None: no limit; ``pid`` is that of the one process, if any."""
        self._budget_bytes = budget_bytes
        self._process = None if pid is None else psutil.Process(pid)
        self._unused_bytes = memory.unused_bytes()

    def check(self) -> None:
        """Raise WorkerError when the budget is used up; called in every wait of a trial."""
        if self._budget_bytes is None:
            return
        taken = self._unused_bytes - memory.unused_bytes()
        used = taken if self._process is None else max(taken, self._process.memory_info().rss)
        if used > self._budget_bytes:
            raise process.WorkerError(
                f"stopped by the memory budget: {used / 1e6:,.0f} MB were used, "
                f"{self._budget_bytes / 1e6:,.0f} MB allowed",
                "memory budget",
            )


def layers(stage: str, worker: process.Worker, server: Server) -> dict[str, Any]:
    """Return every layer of memory once it is at rest, under names that begin with the stage."""
    process_layers, system = memory.at_rest(worker.pid, _patience_s(worker))
    values: Layers = {
        **process_layers,
        **system,
        "threads": sum(psutil.Process(pid).num_threads() for pid in host.family(worker.pid)),
        "connections": server.stats()["connections"],
        "server_uss_bytes": memory.process_layers(server.process.pid)["uss_bytes"],
    }
    return {f"{stage}_{name}": value for name, value in values.items()}


def layers_since(base: dict[str, Any], stage: str, worker: process.Worker, server: Server) -> dict[str, Any]:
    """Return the layers once only this trial has changed them since ``base``; after REST_S, mark them as disturbed.

    ``{stage}_disturbed`` is None, or describes the processes and sockets of others that came or went. The kernel's
    layers are unknown then.
    """
    give_up_s = _patience_s(worker)
    while True:
        values = layers(stage, worker, server)
        others = disturbance(base, values, stage)
        if others is None or time.monotonic() > give_up_s:
            return values | {f"{stage}_disturbed": others}


def _patience_s(worker: process.Worker) -> float:
    """Return the time until which to wait for rest, well before the deadline of the trial."""
    now_s = time.monotonic()
    return now_s + min(REST_S, max(0.0, worker.deadline_s - now_s) / 4)


def disturbance(base: dict[str, Any], since: dict[str, Any], stage: str) -> str | None:
    """Describe what others changed in the kernel's system-wide memory; None when nothing is seen.

    ``base`` and ``since`` are two results of ``layers``; ``stage`` is the moment of the second. Kernel stacks and slab
    are not counted per process. But a process or thread of others shows in the number of tasks, and a connection in the
    number of sockets, of which each connection of the trial has two.
    """
    by_trial = {
        "tasks": since[f"{stage}_threads"] - base["base_threads"],
        "tcp_sockets": 2 * (since[f"{stage}_connections"] - base["base_connections"]),
    }
    moved = []
    for what, expected in by_trial.items():
        before, after = base[f"base_{what}"], since[f"{stage}_{what}"]
        if before is not None and after is not None and abs(after - before - expected) > MAX_STRANGERS:
            moved.append(f"{after - before - expected:+,} {what.replace('_', ' ')}")
    return f"of others: {', '.join(moved)}" if moved else None


def _wait_until(wanted: range, server: Server, worker: process.Worker, guard: Guard) -> dict[str, Any]:
    """Wait until the gate holds as many fetches as wanted, or as many as a client with a limit of its own ever starts.

    Return the server's counts when this number was first seen.
    """
    plateau, first = Plateau(time.monotonic_ns(), server.limits), server.stats()
    # ``first`` has the counts when the present number was first seen. After a release, fewer are wanted (``range(2)``),
    # and a client that stands still has reached nothing.
    while (held := (stats := server.stats())["in_flight"]) not in wanted:
        if held != first["in_flight"]:
            first = stats
        if wanted.start and plateau.is_seen(worker.pid, held):
            return first
        if time.monotonic() > worker.deadline_s:
            raise process.WorkerTimeoutError(f"only {held} of {wanted.start} fetches were in flight at the deadline")
        if worker.has_spoken:  # it should wait at the gate
            worker.crawled()
            raise process.WorkerError("the strategy returned before the gate opened")
        guard.check()
        time.sleep(process.TICK_S)
    return stats
