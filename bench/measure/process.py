"""The worker from outside: a process group that answers in lines of JSON by a deadline, or is killed.

All that measures starts its workers by ``running`` and talks to them by ``send`` and ``expect``; the other side of this
protocol is ``measure.worker``. ``start``, ``finish``, ``end`` and ``output`` are also for other modules of ours that
run in processes (the server, ``costs``). Whatever happens, no process is left: see ``end`` and ``no_process_left``.
"""

import contextlib
import ctypes
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

from inflight.strategies import registry

if TYPE_CHECKING:  # the limits of a machine are measured without installed packages
    import psutil

    from inflight.bench.rows.files import Cause
    from inflight.strategies.registry import Source

PACKAGE = Path(__file__).parents[2]
"""The folder of ``inflight``."""
ROOT = PACKAGE.parent
"""The folder on the import path: the top of a checkout, or site-packages."""
TICK_S = 0.02
"""Interval in seconds at which a wait for the server looks again."""
LOOK_S = 0.01
"""Interval at which ``each_tick`` is called during the wait for a message."""
_PR_SET_CHILD_SUBREAPER = 36
"""The number of this option of prctl(2)."""
_SWEEPS, _END_S = 5, 1
"""How often descendants are looked for and killed, and how long they may take to end each time, in seconds."""
LAST_S = 3
"""Maximum time in seconds that a worker or a server that has closed its output may take to end."""
GRACE_S = 5
"""Seconds after its deadline at which an abandoned worker ends itself."""
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
    "OPENBLAS_",
)
"""Prefixes of environment variables that change the modes of interpreters, libraries and allocators."""
_HARMLESS = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"})
"""Variables that begin with such a prefix and change nothing that is measured."""


class TrialError(Exception):
    """A trial failed; the message says how, and ``cause`` why, if known."""

    def __init__(self, message: str, cause: "Cause | None" = None) -> None:
        """Take the message, and the cause as rows have it."""
        super().__init__(message)
        self.cause = cause


class SkipError(TrialError):
    """A trial cannot run on this machine."""


class WorkerError(TrialError):
    """The worker failed."""


class WorkerTimeoutError(WorkerError):
    """The worker did not finish by its deadline."""


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
    """What has been read of its output and not yet been returned as a message."""
    look_s: float = LOOK_S
    """How long to wait for a message before each call of ``each_tick``; longer where many workers are waited for."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def output(self) -> IO[bytes]:
        """The standard output of the process, from which ``hear`` reads."""
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, message: dict[str, Any]) -> None:
        """Write one line to the worker. Raises WorkerError when it has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerError(self.obituary()) from error

    def expect(self, event: str, key: str, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Return the next message, which must be ``event`` and have ``key``; call ``each_tick`` during the wait."""
        message = self.hear("event", each_tick)
        if message["event"] != event:
            raise WorkerError(f"the worker sent {message['event']!r} instead of {event!r}")
        if key not in message:
            raise WorkerError(f"the worker sent {event!r} without {key!r}")
        return message

    def crawled(self, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Return the message at the end of a crawl. Raises WorkerError when the strategy raised an exception."""
        message = self.expect("crawled", "error", each_tick)
        if message["error"] is not None:
            raise WorkerError(f"the strategy raised {message['error']}", message.get("cause"))
        return message

    def hear(self, key: str, each_tick: Callable[[], None] | None = None) -> dict[str, Any]:
        """Return the next message, which must be an object with ``key``; call ``each_tick`` during the wait."""
        line = self._read_line(each_tick)
        try:
            message: dict[str, Any] = json.loads(line)
            message[key]
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"the worker sent an invalid message: {line[:60]!r}") from error
        return message

    def kill(self) -> None:
        """Kill it with all its children before ``running`` does, so that it does not disturb others."""
        left = _descendants(self.pid)
        _kill_group(self.process)
        _kill(left)

    def dismiss(self) -> None:
        """Close its input, so that a finished worker exits while others are still running."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    @property
    def has_spoken(self) -> bool:
        """Whether a message has arrived."""
        return self.wait_for_word(0)

    def wait_for_word(self, seconds: float) -> bool:
        """Wait for a message at most this long; return whether one has arrived."""
        return b"\n" in self.buffer or bool(select.select([self.output], [], [], seconds)[0])

    def obituary(self) -> str:
        """Describe how the worker ended, with the last line of its standard error; for messages of errors."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_S)
        code = self.process.returncode
        if code is None:
            return "the worker closed its output but is still running"
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        return ": ".join([f"the worker {how_it_ended(code)}", *(line.strip() for line in lines[-1:])])

    def _read_line(self, each_tick: Callable[[], None] | None) -> bytes:
        """Return the next line of the worker.

        Raises WorkerTimeoutError after the deadline, and WorkerError when the worker has closed its output.
        """
        seen = 0  # a message may be long: look at each part of it once
        while self.buffer.find(b"\n", seen) < 0:
            seen = len(self.buffer)
            if time.monotonic() > self.deadline_s:
                raise WorkerTimeoutError("the worker did not finish by its deadline and was killed")
            if select.select([self.output], [], [], self.look_s)[0]:
                data = os.read(self.output.fileno(), 1 << 20)
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
    """What a worker runs on, where it differs from the harness."""

    python: str | None = None
    """The interpreter; None: that of the harness."""
    strategies: Path | None = None
    """A folder with a package ``inflight`` of other strategies (see ``blocks.sides``); None: those of the harness."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables to set."""
    cpus: frozenset[int] | None = None
    """The cores on which it crawls, where they differ from those of all workers."""
    flags: tuple[str, ...] = ()
    """Additional options of the interpreter."""
    sources: "Mapping[str, Source] | None" = None
    """The strategies from other places; None: those that are registered."""


def how_it_ended(code: int) -> str:
    """Describe the end of a process by its return code. Real-time signals have no name."""
    if code >= 0:
        return f"exited with {code}"
    known = -code in {number.value for number in signal.Signals}
    return f"was killed by signal {-code}" + (f" ({signal.Signals(-code).name})" if known else "")


DEFAULT = Runtime()
"""The runtime of the harness itself."""


def environment(runtime: Runtime = DEFAULT) -> dict[str, str]:
    """Return the variables for a process of ours: those of the harness without what would change measurements."""
    names = {name: value for name, value in os.environ.items() if name in _HARMLESS or not name.startswith(_MEDDLING)}
    sources = {} if runtime.sources is None else {registry.VARIABLE: registry.encoded(runtime.sources)}
    return names | dict(runtime.variables) | sources | {"PYTHONPATH": str(runtime.strategies or ROOT)}


def start(command: Sequence[str], runtime: Runtime = DEFAULT, **streams: Any) -> "subprocess.Popen[bytes]":
    """Start a module of ours, given with its arguments.

    It has a session of its own, so that Ctrl-C at the terminal reaches the harness alone. With ``-P`` and PYTHONPATH it
    imports this harness, and nothing from the current folder.
    """
    try:
        return subprocess.Popen(
            [runtime.python or sys.executable, *runtime.flags, "-P", "-m", *command],
            env=environment(runtime),
            start_new_session=True,
            **streams,
        )
    except BlockingIOError as error:  # EAGAIN of fork(2)
        raise OSError("no further process can be started: raise RLIMIT_NPROC (ulimit -u) or pids.max") from error


@contextmanager
def running(
    command: Sequence[str],
    order: Mapping[str, Any],
    cpus: set[int] | None,
    lifetime_s: float,
    runtime: Runtime = DEFAULT,
) -> Iterator[Worker]:
    """Start a worker, pinned to ``cpus`` if given, and send its order; kill it with all its children in the end.

    ``command`` is a module and its arguments. If this process ends first, the kernel kills the worker at its deadline.
    """
    with tempfile.TemporaryFile() as errors:
        process = start(command, runtime, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            pin(process.pid, cpus)
            worker = Worker(process, errors, time.monotonic() + lifetime_s)
            worker.send({**order, "lifetime_s": lifetime_s + GRACE_S})
            yield worker
        finally:
            end(process)


def pin(pid: int, cpus: AbstractSet[int] | None) -> None:
    """Pin a process to the given cores; None leaves it as it is."""
    if cpus is not None:
        os.sched_setaffinity(pid, cpus)


def output(command: Sequence[str], cpus: set[int] | None, timeout_s: float) -> tuple[int, bytes]:
    """Run a module of ours, given with its arguments, on these cores; return its exit code and its output.

    Raises subprocess.TimeoutExpired when it takes longer. It is killed then, and at any other exception.
    """
    program = start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    pin(program.pid, cpus)
    code, text, _ = finish(program, timeout_s)
    return code, text


def finish(program: "subprocess.Popen[Any]", timeout_s: float) -> tuple[int, Any, Any]:
    """Wait for the end of a process in a session of its own; return its exit code, output and errors.

    Raises subprocess.TimeoutExpired when it takes longer than ``timeout_s``. It is killed with its children then, and
    at any other exception.
    """
    with program:
        try:
            text, errors = program.communicate(timeout=timeout_s)
        except BaseException:
            _kill_group(program)
            raise
    return program.returncode, text, errors


def end(process: "subprocess.Popen[bytes]", patience_s: float = 0.5) -> None:
    """Close the input of a process, which then exits by itself; kill what is left of it and of its children."""
    assert process.stdin is not None
    assert process.stdout is not None
    left = _descendants(process.pid)  # looked for while it lives: later they are the children of another process
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
    _kill_group(process)  # the group outlives its leader if a strategy left children
    _kill(left)  # those in other groups
    process.wait()
    process.stdout.close()


def _kill_group(process: "subprocess.Popen[Any]") -> None:
    """Kill a process and what it has started in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def no_process_left() -> Iterator[None]:
    """Kill at the end the descendants that this process has got in the block, on Linux also orphaned ones."""
    adopt_orphans()
    before = _own_descendants()
    try:
        yield
    finally:
        for _ in range(_SWEEPS):
            if not (left := [child for child in _own_descendants() if child not in before]):
                break
            _kill(left)


def adopt_orphans() -> None:
    """Have Linux make this process the parent of each descendant whose own parent ends (a subreaper: prctl(2))."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _own_descendants() -> "list[psutil.Process]":
    """Return the running descendants of this process."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it has no child, as most commands; importing psutil takes time
        return []
    return _descendants(os.getpid())


def _descendants(pid: int) -> "list[psutil.Process]":
    """Return the running descendants of a process; none where psutil is not installed."""
    try:
        import psutil
    except ImportError:
        return []
    children = []
    with contextlib.suppress(psutil.Error):
        children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if _runs(child)]


def _runs(child: "psutil.Process") -> bool:
    """Return whether a process still runs: a zombie has ended, and waits for its parent to notice."""
    import psutil

    try:
        return child.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _kill(some: "list[psutil.Process]") -> None:
    """Kill processes, and wait a moment for their end."""
    if not some:
        return
    import psutil

    for child in some:
        with contextlib.suppress(psutil.Error):
            child.kill()
    psutil.wait_procs(some, _END_S)
