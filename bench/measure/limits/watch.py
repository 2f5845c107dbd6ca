"""The watchdog: runs the child that is driven into a limit, and kills it when it takes too long or too much memory.

The child never outlives this process. It is a worker, and ``probing`` always kills it in the end. If this process is
killed, the child ends by itself (see ``child``).
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from inflight.bench.measure.limits import look
from inflight.bench.measure.process import Runtime, Worker, WorkerError, running

CHILD = "inflight.bench.measure.limits.child"
TICK_S = 0.05
POINTS = 500
PART = 20
"""Divisor of the available memory. One such part is never taken; others may take as much during a ramp."""

Breach = Literal["deadline", "memory budget"]
Ended = Breach | Literal["failure", "reached", "died"]


class ProbeError(Exception):
    """The child process failed; the message says why."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Bounds on the child: a deadline on the clock of time.monotonic(), and the memory that must stay available."""

    deadline_s: float
    least_available_bytes: int

    @classmethod
    def of(cls, deadline_s: float, budget_bytes: int) -> "Guard":
        """Return a guard whose time starts now."""
        available = look.available_bytes() or 0
        part = available // PART
        return cls(time.monotonic() + deadline_s, max(available - budget_bytes - part, part))

    def breach(self) -> Breach | None:
        """Return which bound is exceeded, or None."""
        if time.monotonic() > self.deadline_s:
            return "deadline"
        available = look.available_bytes()
        return "memory budget" if available is not None and available < self.least_available_bytes else None


@dataclass(frozen=True, slots=True)
class Ramp:
    """One ramp: the count that the child reached, and why it stopped."""

    count: int
    ended: Ended
    ns: int
    error: str | None = None
    errno: str | None = None
    symptoms: dict[str, str] = field(default_factory=dict)
    timeline: tuple[tuple[int, int], ...] = ()


@dataclass
class Probe:
    """A running child. Use ``probing()`` to get one."""

    worker: Worker
    guard: Guard

    @property
    def pid(self) -> int:
        """The process id."""
        return self.worker.pid

    def ramp(self, most: int, expected: int) -> Ramp:
        """Let the child take up to ``most`` pieces; return when it has stopped or was killed. It keeps what it took."""
        points = [(0, 0)]
        try:
            self.worker.send({"most": most, "every": max(1, min(most, expected) // POINTS)})
            while (event := self.hear())["event"] == "at":
                points.append((event["ns"], event["count"]))
        except _BreachError as breach:
            self.worker.kill()
            self.worker.process.wait()
            return Ramp(points[-1][1], breach.why, points[-1][0], timeline=thinned(points))
        except WorkerError as death:
            return Ramp(points[-1][1], "died", points[-1][0], error=str(death), timeline=thinned(points))
        points.append((event["ns"], event["count"]))
        return Ramp(
            event["count"],
            "reached" if event["error"] is None else "failure",
            event["ns"],
            event["error"],
            event["errno"],
            event["symptoms"],
            thinned(points),
        )

    def hear(self) -> dict[str, Any]:
        """Return the child's next message. Raises _BreachError when a bound of the guard is exceeded."""
        self._check()
        return self.worker.hear("event", self._check)

    def _check(self) -> None:
        if why := self.guard.breach():
            raise _BreachError(why)


class _BreachError(Exception):
    """The child exceeded a bound of its guard."""

    def __init__(self, why: Breach) -> None:
        super().__init__(why)
        self.why = why


@contextmanager
def probing(
    resource: str, guard: Guard, *, variables: Mapping[str, str] | None = None, **order: Any
) -> Iterator[Probe]:
    """Run a child for a resource; kill it in the end, which releases everything. Raises ProbeError if it cannot start.

    ``variables`` are added to its environment, other keywords to its first order. It needs no installed package (-S).
    """
    lifetime_s = max(1.0, guard.deadline_s - time.monotonic() + 1)
    runtime = Runtime(variables=variables or {}, flags=("-S",))
    with ExitStack() as stack:
        try:
            command = (CHILD, str(os.getpid()))
            worker = stack.enter_context(running(command, {"resource": resource, **order}, None, lifetime_s, runtime))
            worker.look_s = TICK_S
            probe = Probe(worker, guard)
            probe.hear()
        except _BreachError as breach:
            raise ProbeError(f"the probe's process was not ready before its {breach.why}") from breach
        except (WorkerError, OSError) as error:
            raise ProbeError(f"the probe's process could not be started: {error}") from error
        yield probe


def thinned(points: list[tuple[int, int]], most: int = POINTS) -> tuple[tuple[int, int], ...]:
    """Return at most ``most`` points, evenly spaced, including the first and the last."""
    if len(points) <= most:
        return tuple(points)
    step = (len(points) - 1) / (most - 1)
    return tuple(points[round(number * step)] for number in range(most))
