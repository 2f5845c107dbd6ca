"""The held phase of a memory trial: get exactly N fetches in flight, read every layer at rest, release them."""

import time
from collections.abc import Callable
from typing import Any

import psutil

from inflight.bench.measure import host, memory, process
from inflight.bench.measure.memory import Layers
from inflight.bench.measure.server import Server
from inflight.bench.plan.trials import Trial


def observe(
    trial: Trial, server: Server, worker: process.Worker, measured: dict[str, Any], budget_bytes: int | None
) -> None:
    """Crawl against a closed gate; record memory before, with N fetches held, and optionally with N connections parked.

    The keys are ``base_``, ``held_`` and ``parked_`` with the names of the layers in ``memory``;
    those of the server's process have ``server_`` in between. ``reach_ns`` is the time from the order until the server
    had received the last of N requests, by the server's reading of the clock that both share. ``reach_cpu_ns`` and
    ``reach_server_cpu_ns`` are the CPU times of worker and server until then: the worker waits from then on.
    """
    server.tell("hold")
    measured |= layers("base", worker, server)
    guard = Guard(budget_bytes, worker.pid)
    cpu_before_ns, server_before_ns = host.cpu_ns(worker.pid), server.stats()["cpu_ns"]
    begin_ns = time.monotonic_ns()
    worker.send({"do": "crawl"})
    stats = _wait_until(lambda held: held >= trial.reachable, trial.reachable, server, worker, guard)
    measured["reach_ns"] = stats["peak_at_ns"] - begin_ns
    measured["reach_cpu_ns"] = host.since(cpu_before_ns, host.cpu_ns(worker.pid))
    measured |= {"reach_server_cpu_ns": stats["cpu_ns"] - server_before_ns}
    measured |= layers_since(measured, "held", worker, server) | {"held_in_flight": server.stats()["in_flight"]}
    if trial.workload.parked:
        server.tell("release", keep=1)
        _wait_until(lambda held: held <= 1, 1, server, worker, guard)
        measured |= layers_since(measured, "parked", worker, server)
    measured["released_ns"] = time.monotonic_ns()
    server.tell("release")


REST_S = 3
"""Maximum time that a reading waits for memory to settle and for others to end."""
MAX_STRANGERS = 5
"""Number of tasks or sockets of others that is tolerated: the kernel's workers come and go."""


class Guard:
    """A memory budget for one process, or for everything started since."""

    def __init__(self, budget_bytes: int | None, pid: int | None = None) -> None:
        self._budget_bytes = budget_bytes
        self._process = None if pid is None else psutil.Process(pid)
        self._unused_bytes = memory.unused_bytes()

    def check(self) -> None:
        """Raise WorkerError when the budget is used up."""
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
        **{f"server_{name}": value for name, value in memory.process_layers(server.process.pid).items()},
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

    Kernel stacks and slab are not counted per process. But a process or thread of others shows in the number of tasks,
    and a connection in the number of sockets, of which each connection of the trial has two.
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


def _wait_until(
    is_there: Callable[[int], bool], wanted: int, server: Server, worker: process.Worker, guard: Guard
) -> dict[str, Any]:
    """Wait until the gate holds as many fetches as wanted; return the server's counts at that moment."""
    while not is_there((stats := server.stats())["in_flight"]):
        if time.monotonic() > worker.deadline_s:
            raise process.WorkerTimeoutError(
                f"only {stats['in_flight']} of {wanted} fetches were in flight at the deadline"
            )
        if worker.has_spoken:  # it should wait at the gate
            worker.crawled()
            raise process.WorkerError("the strategy returned before the gate opened")
        guard.check()
        time.sleep(process.TICK_S)
    return stats
