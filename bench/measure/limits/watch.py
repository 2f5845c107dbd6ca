"""The watchdog: runs the child that is driven into a limit, and kills it when it takes too long or too much.

Nothing of it outlives this process: it is a process group of its own, killed on every way out of ``probing``; should
this process be killed, the child dies by itself (see ``child``).
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from bench.measure.limits import look
from bench.measure.process import environment

TICK_S = 0.05
POINTS = 500
PART = 20
"""One part in so many of the memory that was there is never taken, and as much may be taken by others meanwhile."""

Breach = Literal["deadline", "memory budget"]
Ended = Breach | Literal["failure", "reached", "died"]


class ProbeError(Exception):
    """The probe's own process could not do its part; the message says why."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What the child may take: time, on the clock of time.monotonic(), and memory of the machine."""

    deadline_s: float
    least_available_bytes: int

    @classmethod
    def of(cls, deadline_s: float, budget_bytes: int) -> "Guard":
        """Return a guard that begins now."""
        available = look.available_bytes() or 0
        part = available // PART
        return cls(time.monotonic() + deadline_s, max(available - budget_bytes - part, part))

    def breach(self) -> Breach | None:
        """Say what is used up, if anything is."""
        if time.monotonic() > self.deadline_s:
            return "deadline"
        available = look.available_bytes()
        return "memory budget" if available is not None and available < self.least_available_bytes else None


@dataclass(frozen=True, slots=True)
class Ramp:
    """How far the child came, and why it went no further."""

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

    process: "subprocess.Popen[bytes]"
    errors: IO[bytes]
    guard: Guard
    buffer: bytearray = field(default_factory=bytearray)

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def begin(self, order: dict[str, Any]) -> None:
        """Say what the child is for, and wait until it stands ready. Raises ProbeError when it does not."""
        self._send(order | {"lifetime_s": max(1.0, self.guard.deadline_s - time.monotonic() + 1)})
        try:
            self._hear()
        except _BreachError as breach:
            raise ProbeError(f"the probe's process was not ready before its {breach.why}") from breach

    def ramp(self, most: int, expected: int) -> Ramp:
        """Let the child take up to ``most``, and wait until it has stopped or was stopped. It then stands still."""
        points = [(0, 0)]
        try:
            self._send({"most": most, "every": max(1, min(most, expected) // POINTS)})
            while (event := self._hear())["event"] == "at":
                points.append((event["ns"], event["count"]))
        except _BreachError as breach:
            self.kill()
            return Ramp(points[-1][1], breach.why, points[-1][0], timeline=thinned(points))
        except ProbeError as death:
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

    def kill(self) -> None:
        """End the child and whatever it has started, unless it has ended."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise ProbeError(self._obituary()) from error

    def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            if why := self.guard.breach():
                raise _BreachError(why)
            if select.select([output], [], [], TICK_S)[0]:
                data = os.read(output, 1 << 16)
                if not data:
                    raise ProbeError(self._obituary())
                self.buffer += data
        line, _, rest = self.buffer.partition(b"\n")
        self.buffer = rest
        message: dict[str, Any] = json.loads(line)
        return message

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.returncode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with {code}"
        self.errors.seek(0)
        last = self.errors.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"the probe's process {how}{''.join(f': {line.strip()}' for line in last)}"


class _BreachError(Exception):
    """The child has used up what it was allowed."""

    def __init__(self, why: Breach) -> None:
        super().__init__(why)
        self.why = why


@contextmanager
def probing(
    resource: str, guard: Guard, *, variables: Mapping[str, str] | None = None, **order: Any
) -> Iterator[Probe]:
    """Start a child for a resource; kill it and all that it took in the end. Raises ProbeError when it cannot start.

    ``variables`` are added to its environment, the rest to its first order.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                # -S: nothing that is installed is needed; -P: nor what lies in the current folder.
                [sys.executable, "-S", "-P", "-m", "bench.measure.limits.child", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment() | dict(variables or {}),
                start_new_session=True,
            )
        except OSError as error:
            raise ProbeError(f"the probe's process could not be started: {error.strerror}") from error
        probe = Probe(process, errors, guard)
        try:
            probe.begin({"resource": resource, **order})
            yield probe
        finally:
            _close(process)
            probe.kill()


def _close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            assert pipe is not None
            pipe.close()


def thinned(points: list[tuple[int, int]], most: int = POINTS) -> tuple[tuple[int, int], ...]:
    """Return at most so many points, evenly taken, the first and the last among them."""
    if len(points) <= most:
        return tuple(points)
    step = (len(points) - 1) / (most - 1)
    return tuple(points[round(number * step)] for number in range(most))
