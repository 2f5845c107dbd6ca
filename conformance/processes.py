"""Do tasks in processes: a task that hangs or dies ends its process only, and leaves nothing behind."""

import ctypes
import faulthandler
import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, ForkProcess
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""prctl(2)."""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TRACEBACK_S, MOST_TRACEBACK = 5, 100_000
"""Maximum time for writing a traceback, and the most bytes that are read of it."""
PAUSE_S = 0.2
"""A traceback that has not grown meanwhile is complete."""


class Result(Protocol):
    """What a task came to."""

    @property
    def is_clean(self) -> bool:
        """Whether the process is as good as new for the next task."""


R = TypeVar("R", bound=Result)
Lost = Callable[[T, str, str | None], R]
"""Makes the result of a task that did not end or whose process died: from the task, why, and the stack."""


@dataclass
class _Child(Generic[T]):
    """A process that does tasks one after another."""

    process: ForkProcess
    pipe: Connection
    stack: int
    """File to which the process writes its traceback when it gets SIGUSR1."""
    left: deque[T]
    began: float

    def end(self) -> None:
        """Kill the process with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.process.close()
        self.pipe.close()
        os.close(self.stack)

    def traceback(self) -> str:
        """Return the traceback of the main thread; empty if the process cannot write it."""
        os.kill(self.process.pid or 0, signal.SIGUSR1)
        give_up_s = time.monotonic() + TRACEBACK_S
        seen, size = -1, 0
        while seen != size or not (size or time.monotonic() > give_up_s):
            time.sleep(PAUSE_S)
            seen, size = size, os.fstat(self.stack).st_size
        return os.pread(self.stack, MOST_TRACEBACK, 0).decode(errors="replace")


def results(
    batches: Sequence[Sequence[T]],
    work: Callable[[T, T | None], R],
    lost: Lost[T, R],
    processes: int,
    limit_s: float,
) -> Generator[R]:
    """Yield the result of each task as it ends.

    Each batch is done in a process of its own, by ``work(task, next task)``. After a result that is not clean, the rest
    of the batch continues in a new process. A task whose process dies, or that takes longer than ``limit_s``, gets
    the result ``lost(task, why, stack)``; the stack is that of the main thread, the most recent call first, and None
    if the process died. All processes have ended when the iterator is closed.
    """
    waiting = deque(deque(batch) for batch in batches)
    children: list[_Child[T]] = []
    try:
        while waiting or children:
            while waiting and len(children) < processes:
                children.append(_started(waiting.popleft(), work))
            until = min(child.began for child in children) + limit_s
            ready = wait([child.pipe for child in children], max(0, until - time.monotonic()))
            for child in [*children]:
                found = _next(child, ready, lost, limit_s)
                if found is not None:
                    child.left.popleft()
                    child.began = time.monotonic()
                if child.pipe.closed:
                    children.remove(child)
                    if child.left:
                        waiting.appendleft(child.left)
                if found is not None:
                    yield found
    finally:
        for child in children:
            child.end()


def _next(child: _Child[T], ready: Sequence[object], lost: Lost[T, R], limit_s: float) -> R | None:
    """Return the next result of a process; end the process if no more will come."""
    if child.pipe in ready:
        try:
            found: R = child.pipe.recv()
        except (EOFError, OSError):
            child.process.join()
            found = lost(child.left[0], _death(child.process.exitcode), None)
            child.end()
        else:
            if len(child.left) == 1 or not found.is_clean:
                child.end()
        return found
    if time.monotonic() < child.began + limit_s:
        return None
    found = lost(child.left[0], f"did not end within {limit_s:g} s", child.traceback())
    child.end()
    return found


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"ended the process: {signal.Signals(-code).name}"
    return f"ended the process with the exit code {code}"


def _started(tasks: deque[T], work: Callable[[T, T | None], R]) -> _Child[T]:
    context = ForkContext()
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryFile() as file:
        stack = os.dup(file.fileno())
    process = context.Process(target=_work_off, args=(tuple(tasks), work, theirs, stack, os.getpid()))
    sys.stdout.flush()
    # The hooks of os.fork, such as that of logging, are Python functions whose exceptions are printed and dropped.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return _Child(process, ours, stack, tasks, time.monotonic())


def _work_off(tasks: Sequence[T], work: Callable[[T, T | None], R], pipe: Connection, stack: int, parent: int) -> None:
    """Do the tasks in this process, which gets a group of its own and writes nowhere."""
    os.setsid()
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so that a test finds orphans
    if os.getppid() != parent:
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    faulthandler.register(signal.SIGUSR1, stack, all_threads=False)
    for task, following in zip(tasks, (*tasks[1:], None), strict=True):
        result = work(task, following)
        pipe.send(result)
        if not result.is_clean:
            break
    pipe.close()
    os._exit(0)
