"""A gate holds responses back, counts what comes through it, and reads the CPU time of its client."""

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

    from inflight.fake_server.connection import Connection
    from inflight.fake_server.requests import Job
    from inflight.fake_server.timers import Timers

_RELEASED_AT_ONCE = 256


class Jobs(Protocol):
    """What answers a GET that keeps its connection, by request target."""

    def get(self, target: bytes, /) -> "Job | None":
        """Return the job; None for a target that needs a closer look."""


class Gate:
    """What the connections of one port share, or of all ports. Its attributes are read and written on the hot path.

    ``requests`` counts what was received since the gate was made. A client that keeps its connections and its number in
    flight sends a request when it has finished a page, so the count follows its pages without delay.
    """

    def __init__(self, jobs: Jobs, loop: "asyncio.AbstractEventLoop", timers: "Timers") -> None:
        self.jobs = jobs
        self.known: set[bytes] = set()  # what follows the target in requests that were parsed; see RequestReader
        self.holding = False
        self.releasing = False
        self.keep = 0
        self.held: dict[Connection, None] = {}  # in the order in which they will be answered
        self.requests = 0
        self.pid: int | None = None
        self._loop = loop
        self._timers = timers

    def hold(self) -> None:
        """Let every response wait, after its own delay, until release."""
        self.holding, self.releasing = True, False

    def release(self, keep: int = 0) -> None:
        """Answer what was held, a few hundred in each turn of the loop: others are served meanwhile.

        With ``keep``, the gate stays shut, and the so many that came last go on waiting behind it.
        """
        self.holding, self.releasing, self.keep = keep > 0, True, keep
        self._release_some()

    def release_over(self, duration_ns: int) -> None:
        """Open the gate; answer what was held one after another, evenly over a time: no crowd wakes up at once."""
        self.holding = self.releasing = False
        step_ns = duration_ns // max(1, len(self.held))
        for place, connection in enumerate(self.held):
            self._timers.after(place * step_ns, connection)
        self.held.clear()

    def reading(self) -> dict[str, Any]:
        """Return what has come through, what waits behind the gate, and the client's CPU time (None: not known)."""
        cpu_ns = None if self.pid is None else cpu_time_ns(self.pid)
        return {"requests": self.requests, "held": len(self.held), "cpu_ns": cpu_ns}

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


def cpu_time_ns(pid: int) -> int | None:
    """Return the CPU time of another process, of all its threads; None where the system does not say.

    Linux makes a clock of a process id (clock_getcpuclockid(3)): the id inverted, three bits further up, and 2 for what
    the scheduler has counted (CPUCLOCK_SCHED in include/linux/posix-timers_types.h).
    """
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:  # the process has ended
        return None
