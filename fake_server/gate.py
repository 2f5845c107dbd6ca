"""A gate holds responses, counts requests, and reads the CPU time of its client."""

import os
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

    from inflight.fake_server.connection import Connection
    from inflight.fake_server.requests import Job
    from inflight.fake_server.timers import Timers

_RELEASED_AT_ONCE = 256


class Jobs(Protocol):
    """Jobs for plain GET requests on kept connections, by request target."""

    def get(self, target: bytes, /) -> "Job | None":
        """Return the job; None for a target that needs full parsing."""


class Gate:
    """State that the connections of one port, or of all ports, share. The hot path reads and writes its attributes.

    ``requests`` counts the requests received since the gate was made. A client with kept connections and a constant
    number in flight sends a request when it has finished a page, so the count follows its pages without delay.
    """

    def __init__(self, jobs: Jobs, loop: "asyncio.AbstractEventLoop", timers: "Timers") -> None:
        self.jobs = jobs
        self.known: set[bytes] = set()  # bytes after the target of parsed requests; see RequestReader
        self.holding = False
        self.releasing = False
        self.keep = 0
        self.held: dict[Connection, None] = {}  # in the order in which they will be answered
        self.requests = 0
        self.pids: Sequence[int] = ()  # the processes of the client, its first one before the others
        self._loop = loop
        self._timers = timers

    def hold(self) -> None:
        """Hold every response, after its own delay, until release."""
        self.holding, self.releasing = True, False

    def release(self, keep: int = 0) -> None:
        """Answer the held requests, a few hundred per turn of the loop, so that others are served meanwhile.

        With ``keep``, the gate stays shut and keeps that many of the last requests.
        """
        self.holding, self.releasing, self.keep = keep > 0, True, keep
        self._release_some()

    def release_over(self, duration_ns: int) -> None:
        """Open the gate; answer the held requests evenly over a time, so that they do not all wake up at once."""
        self.holding = self.releasing = False
        step_ns = duration_ns // max(1, len(self.held))
        for place, connection in enumerate(self.held):
            self._timers.after(place * step_ns, connection)
        self.held.clear()

    def reading(self) -> dict[str, Any]:
        """Return the counts of received and held requests, and the client's CPU time (None: unknown)."""
        return {"requests": self.requests, "held": len(self.held), "cpu_ns": cpu_of_all_ns(self.pids)}

    def _release_some(self) -> None:
        if not self.releasing:
            return
        for connection in list(islice(self.held, min(_RELEASED_AT_ONCE, max(0, len(self.held) - self.keep)))):
            del self.held[connection]
            connection.released()
        if len(self.held) > self.keep:
            self._loop.call_soon(self._release_some)
        else:
            self.releasing = False


def cpu_of_all_ns(pids: Sequence[int]) -> int | None:
    """Return the CPU time of processes together; None if there are none, or if the first one's is unknown.

    A process that has ended has no clock any more. Its parent then has its CPU time in a counter of its ended children,
    in ticks of 10 ms, which is read if there are several processes.
    """
    clocks = [cpu_time_ns(pid) for pid in pids]
    if not clocks or clocks[0] is None:
        return None
    if len(pids) == 1:
        return clocks[0]
    return sum(clock for clock in clocks if clock is not None) + sum(map(_of_ended_children_ns, pids))


def _of_ended_children_ns(pid: int) -> int:
    """Return the CPU time of the ended children that a process has waited for: cutime and cstime of proc(5), stat."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # the process has ended
        return 0
    fields = text.rpartition(")")[2].split()  # from the third field on: the second is a name, which may have spaces
    return (int(fields[13]) + int(fields[14])) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def cpu_time_ns(pid: int) -> int | None:
    """Return the CPU time of all threads of another process; None if the system does not report it.

    Linux has a clock for each process id (clock_getcpuclockid(3)): the id inverted, shifted left by three bits, plus 2
    for the time counted by the scheduler (CPUCLOCK_SCHED in include/linux/posix-timers_types.h).
    """
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:  # the process has ended
        return None
