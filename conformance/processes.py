"""Do tasks in forked processes: a task that hangs or dies ends its process only, and leaves nothing behind."""

import ctypes
import faulthandler
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""prctl(2)."""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a task ended."""

    outcome: Literal["passed", "failed", "skipped", "limit"]
    """``limit``: failed as expected, as the library cannot do it."""
    lines: tuple[str, ...] = ()
    """Of a failure: what is wrong. Otherwise the reason, if there is one."""
    rule: str | None = None
    """The rule that a failed test broke, if it is not its own."""
    traceback: str = ""
    hung: bool = False
    leak: "Ending | None" = None
    """What else failed: the task has left something behind, whatever its outcome."""
    page_ns: int = 0
    """Time per page of the last crawl of the task, in nanoseconds; 0 if there was none."""


class _Child(Generic[T]):
    """A process that does one task after another, until one fails."""

    def __init__(self, tasks: Sequence[T], work: Callable[[T], Ending], limit_s: float) -> None:
        self.task = 0
        self.limit_s = limit_s
        self.stack = tempfile.TemporaryFile()  # noqa: SIM115  (closed by end)
        self.pipe, theirs = ForkContext().Pipe()
        self.process = ForkContext().Process(
            target=_work_off, args=(tasks, work, theirs, self.stack.fileno(), limit_s, os.getpid())
        )
        sys.stdout.flush()
        # The hooks of os.fork, such as that of logging, are Python functions whose exceptions are printed and dropped.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def begin(self, task: int) -> None:
        """Have the process do the task with this number."""
        self.task = task
        self.pipe.send(task)

    def ending(self) -> Ending:
        """Return how the task ended, which may be by the end of the process."""
        with suppress(EOFError, OSError):
            ending: Ending = self.pipe.recv()
            return ending
        self.process.join()
        code = self.process.exitcode or 0
        if code == -signal.SIGALRM:
            self.stack.seek(0)
            stack = self.stack.read().decode(errors="replace")
            return Ending("failed", (f"did not end within {self.limit_s:g} s",), traceback=stack, hung=True)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Ending("failed", (f"ended the process: {how}",))

    def end(self) -> None:
        """Kill the process with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.process.close()
        self.pipe.close()
        self.stack.close()


def run_tasks(
    tasks: Sequence[T],
    work: Callable[[T], Ending],
    processes: int,
    limit_s: float,
    is_wanted: Callable[[T], bool] = lambda _: True,
) -> Generator[tuple[T, Ending]]:
    """Do ``work(task)`` for each task that is still wanted when it is its turn, and yield each task with its ending.

    A process does many tasks, but none after one that failed or left something behind. A task fails too if its process
    dies, or if it takes longer than ``limit_s``; its traceback is then that of the main thread, the most recent call
    first. All processes have ended when the iterator is closed.
    """
    waiting = deque(range(len(tasks)))
    children: dict[Connection, _Child[T]] = {}

    def is_waiting() -> bool:
        """Return whether a task waits, after those that are not wanted have been dropped."""
        while waiting and not is_wanted(tasks[waiting[0]]):
            waiting.popleft()
        return bool(waiting)

    try:
        while is_waiting() or children:
            while is_waiting() and len(children) < processes:
                child = _Child(tasks, work, limit_s)
                children[child.pipe] = child
                child.begin(waiting.popleft())
            for pipe in wait([*children]):
                child = children[pipe]  # type: ignore[index]
                done, ending = child.task, child.ending()
                yield tasks[done], ending
                if ending.outcome != "failed" and ending.leak is None and is_waiting():
                    child.begin(waiting.popleft())
                else:
                    child.end()
                    del children[pipe]  # type: ignore[arg-type]
    finally:
        for child in children.values():
            child.end()


def _work_off(
    tasks: Sequence[T], work: Callable[[T], Ending], pipe: Connection, stack: int, limit_s: float, parent: int
) -> None:
    """Do the tasks in this process, which gets a group of its own and writes nowhere."""
    os.setsid()
    os.register_at_fork(after_in_child=pipe.close)  # the pipe ends with this process, whatever it leaves behind
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so that a test finds orphans
    if os.getppid() != parent:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    # The default action, which comes after the handler, ends the process.
    faulthandler.register(signal.SIGALRM, stack, all_threads=False, chain=True)
    while True:
        task = tasks[pipe.recv()]
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        ending = work(task)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send(ending)
