"""The worker as the controller sees it: a process group that answers in lines of JSON by a deadline, or is killed."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is driven into a limit runs without anything that is installed
    from inflight.bench.core.rows import Cause

PACKAGE = Path(__file__).parents[2]
"""The folder of ``inflight``."""
ROOT = PACKAGE.parent
"""Where it is found: the top of a checkout, or site-packages."""
TICK_S = 0.02
LOOK_S = 0.01
"""So often whoever waits for a worker's word may look at it."""
GRACE_S = 5
"""So much longer than its deadline a worker lives that nobody ends."""
_MEDDLING = (
    "PYTHON",
    "AIOHTTP_",
    "MULTIDICT_",
    "YARL_",
    "FROZENLIST_",
    "MALLOC_",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "UV_",
    "LOCUST_",
    "GEVENT",
)
"""Beginnings of variables that switch interpreters, libraries and allocators into other modes."""
_HARMLESS = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"})


class TrialError(Exception):
    """A trial broke off; the message says how, and ``cause`` why, where that is known."""

    def __init__(self, message: str, cause: "Cause | None" = None) -> None:
        super().__init__(message)
        self.cause = cause


class SkipError(TrialError):
    """A trial cannot be run here."""


class WorkerError(TrialError):
    """The worker did not do its part."""


class WorkerTimeoutError(WorkerError):
    """The worker was not done by its deadline."""


def without_subject(message: object) -> str:
    """Return a message about a worker or a server, or such an error's message, without its subject."""
    return str(message).removeprefix("the worker ").removeprefix("the fake server ")


@dataclass
class Worker:
    """A running worker. Use ``running()`` to get one."""

    process: "subprocess.Popen[bytes]"
    errors: IO[bytes]
    deadline_s: float
    """On the clock of time.monotonic()."""
    buffer: bytearray = field(default_factory=bytearray)
    look_s: float = LOOK_S
    """How long to wait for its word before ``each_tick``; who waits for many at once, waits longer."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def send(self, message: dict[str, Any]) -> None:
        """Write one line to the worker. Raises WorkerError when it is gone."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerError(self.obituary()) from error

    def expect(self, event: str, key: str, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Wait for the worker's next line, calling ``each_tick`` meanwhile; it must be ``event`` and have ``key``."""
        message = self.hear("event", each_tick)
        if message["event"] != event:
            raise WorkerError(f"the worker said {message['event']!r} when {event!r} was due")
        if key not in message:
            raise WorkerError(f"the worker said {event!r} without {key!r}")
        return message

    def crawled(self, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Wait until the worker has crawled, and return its message. Raises WorkerError when its strategy raised."""
        message = self.expect("crawled", "error", each_tick)
        if message["error"] is not None:
            raise WorkerError(f"the strategy raised {message['error']}", message.get("cause"))
        return message

    def hear(self, key: str, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Wait for the worker's next line, calling ``each_tick`` meanwhile; it must be an object that has ``key``."""
        line = self._read_line(each_tick)
        try:
            message: dict[str, Any] = json.loads(line)
            message[key]
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"the worker printed rubbish: {line[:60]!r}") from error
        return message

    def kill(self) -> None:
        """Kill it with all its children, before ``running`` would: what it still does would disturb others."""
        _kill_group(self.process)

    def dismiss(self) -> None:
        """End its input, so that a worker that is done exits while others are still asked."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    @property
    def has_spoken(self) -> bool:
        """Whether ``expect`` would return at once."""
        return self.wait_for_word(0)

    def wait_for_word(self, seconds: float) -> bool:
        """Wait at most so long until ``expect`` would return at once; tell whether it would."""
        assert self.process.stdout is not None
        return b"\n" in self.buffer or bool(select.select([self.process.stdout], [], [], seconds)[0])

    def obituary(self) -> str:
        """Say how the worker ended, with the last line that it wrote to standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.returncode
        if code is None:
            return "the worker closed its output and went on running"
        how = f"was killed by signal {-code}{_signal_name(-code)}" if code < 0 else f"exited with {code}"
        return f"the worker {how}{self.last_words()}"

    def last_words(self) -> str:
        """Return the last line of standard error, if any, as a clause."""
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""

    def _read_line(self, each_tick: Callable[[], None] | None) -> bytes:
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            if time.monotonic() > self.deadline_s:
                raise WorkerTimeoutError("the worker was not done by its deadline, and was killed")
            if select.select([output], [], [], self.look_s)[0]:
                data = os.read(output, 1 << 20)
                if not data:
                    raise WorkerError(self.obituary())
                self.buffer += data
            elif each_tick is not None:
                each_tick()
        line, _, rest = self.buffer.partition(b"\n")
        self.buffer = rest
        return bytes(line)


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a worker runs on, where that is not what the harness itself runs on."""

    python: str | None = None
    """The interpreter; None: that of the harness."""
    strategies: Path | None = None
    """A folder in which ``inflight`` has the strategies to use (``blocks.sides`` makes it); None: our own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that are set on purpose."""
    cpus: frozenset[int] | None = None
    """The cores on which it crawls, where they are not those of all workers."""
    flags: tuple[str, ...] = ()
    """More options of the interpreter."""


def _signal_name(number: int) -> str:
    """Return the name of a signal in brackets; real-time signals have none."""
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


DEFAULT = Runtime()


def environment(runtime: Runtime = DEFAULT) -> dict[str, str]:
    """Return the environment for a process of ours: that of the harness, without what would change what is measured."""
    kept = {name: value for name, value in os.environ.items() if name in _HARMLESS or not name.startswith(_MEDDLING)}
    return kept | dict(runtime.variables) | {"PYTHONPATH": str(runtime.strategies or ROOT)}


@contextmanager
def running(
    command: Sequence[str],
    order: Mapping[str, Any],
    cpus: set[int] | None,
    lifetime_s: float,
    runtime: Runtime = DEFAULT,
) -> Iterator[Worker]:
    """Start a worker and give it its order, pinned to ``cpus`` if given; kill it with all its children in the end.

    ``command`` is a module and its arguments. If this process cannot end it any more, the kernel does.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            # -P: what lies in the current folder is not imported by accident; PYTHONPATH: this very harness is.
            [runtime.python or sys.executable, *runtime.flags, "-P", "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(runtime),
            start_new_session=True,
        )
        try:
            pin(process.pid, cpus)
            worker = Worker(process, errors, time.monotonic() + lifetime_s)
            worker.send({**order, "lifetime_s": lifetime_s + GRACE_S})
            yield worker
        finally:
            _end(process)


def pin(pid: int, cpus: AbstractSet[int] | None) -> None:
    """Put a process on the given cores; on any where there are none to choose."""
    if cpus is not None:
        os.sched_setaffinity(pid, cpus)


def output(command: Sequence[str], cpus: set[int] | None, timeout_s: float) -> tuple[int, bytes]:
    """Run a module of ours with its arguments to its end, on these cores; return its exit code and what it printed.

    Raises subprocess.TimeoutExpired when it takes longer; it is killed then, as at a Ctrl-C, which is not its affair.
    """
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    ) as program:
        pin(program.pid, cpus)
        try:
            said, _ = program.communicate(timeout=timeout_s)
        except BaseException:
            program.kill()
            raise
    return program.returncode, said


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()  # a worker that is done exits by itself
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    _kill_group(process)  # it outlives its leader if a strategy left children
    process.wait()
    process.stdout.close()


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
