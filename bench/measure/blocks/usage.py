"""The CPU time that an arm has used so far, read from outside: that of all its processes.

``block`` opens a meter for each arm (``TaskClock`` or ``ProcessClock``) and reads it at both ends of each window. Linux
brings the CPU clock of another process up to date only at its scheduler ticks (kernel/sched/cputime.c,
thread_group_cputime), every 4 ms with HZ=250. The task clock of perf_event_open(2) is exact at any moment. It follows
the threads and processes that start after it was opened. It needs permission, and makes each context switch of them
dearer, so arms of one process on one core sample themselves instead, *in band* (``worker.finished``).
"""

import ctypes
import errno
import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from inflight.bench.measure import host

Clock = Literal["task clock", "in band", "process clock"]
"""How the CPU time of an arm is known."""
_NUMBERS = {"x86_64": 298, "aarch64": 241}
"""Numbers of the system call perf_event_open."""
_SOFTWARE, _SIZE = 1, 112
"""PERF_TYPE_SOFTWARE, and a size of perf_event_attr that all kernels since 4.1 know (PERF_ATTR_SIZE_VER5)."""
_INHERIT, _NOT_THE_KERNEL = 1 << 1, 1 << 5 | 1 << 6
"""Bits of perf_event_attr; the second does not change the task clock, and needs less permission."""
_CLOCK = 1
"""PERF_COUNT_SW_TASK_CLOCK."""
_CLOEXEC = 8
"""PERF_FLAG_FD_CLOEXEC."""
_COARSE = 6
"""CLOCK_MONOTONIC_COARSE, whose steps are the ticks of the scheduler (clock_getres(2))."""
READ_NS, READINGS = 200_000, 5
"""Time above which a reading is taken again, as the reader may have lost its core in the middle; and how often at most.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the processes of an arm have used up to a moment."""

    at_ns: int
    """When the reading began, on the monotonic clock."""
    until_ns: int
    """When it had ended. A window lasts from the begin of its first reading to the end of its last."""
    cpu_ns: int
    """CPU time of all its processes since they started."""


class TaskClock:
    """A counter of the kernel for each thread of a process, which follows the threads and children that come."""

    name: Clock = "task clock"
    step_ns = 1
    """Resolution."""

    def __init__(self, pid: int) -> None:
        """Open them. Raises OSError if this is not permitted, or if the system has none."""
        self._files: list[int] = []
        try:
            for task in _tasks(pid):
                self._files.append(_opened(task))
        except OSError:
            self.close()
            raise

    def read(self) -> Usage:
        """Return the usage until now."""
        return Usage(*_timed(lambda: sum(struct.unpack("=Q", os.read(file, 8))[0] for file in self._files)))

    def follow(self, pids: Sequence[int]) -> None:
        """Do nothing: the counters follow new processes by themselves."""

    def close(self) -> None:
        """Close the counters."""
        for file in self._files:
            os.close(file)
        self._files = []


class ProcessClock:
    """The CPU clocks of processes, which their kernel updates in steps."""

    name: Clock = "process clock"

    def __init__(self, pid: int) -> None:
        self._pids: Sequence[int] = (pid,)
        is_clock = host.cpu_ns(pid) is not None  # other systems report CPU times in units of 10 ms
        self.step_ns = round(time.clock_getres(_COARSE) * 1e9) if is_clock else 10_000_000

    def read(self) -> Usage:
        """Return the usage until now."""
        return Usage(*_timed(lambda: cpu_of_all_ns(self._pids)))

    def follow(self, pids: Sequence[int]) -> None:
        """Read these processes from now on, the first one before the others."""
        self._pids = pids

    def close(self) -> None:
        """Do nothing."""


def is_task_clock_permitted() -> bool:
    """Return whether this process may open the task clock of its children."""
    try:
        TaskClock(os.getpid()).close()
    except OSError:
        return False
    return True


def _timed(read: Callable[[], int]) -> tuple[int, int, int]:
    """Return the begin and the end of a reading, and what it read."""
    for _ in range(READINGS):
        before_ns = time.perf_counter_ns()
        value = read()
        after_ns = time.perf_counter_ns()
        if after_ns - before_ns <= READ_NS:
            break
    return before_ns, after_ns, value


def _opened(task: int) -> int:
    """Return a new task clock of one task. Raises OSError (perf_event_open(2))."""
    number = _NUMBERS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    attributes = struct.pack("=IIQQQQQ", _SOFTWARE, _SIZE, _CLOCK, 0, 0, 0, _INHERIT | _NOT_THE_KERNEL)
    library = ctypes.CDLL(None, use_errno=True)
    file: int = library.syscall(number, attributes.ljust(_SIZE, b"\0"), task, -1, -1, _CLOEXEC)  # on all cores
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return file


def _tasks(pid: int) -> list[int]:
    """Return the threads of a process."""
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


def cpu_of_all_ns(pids: Sequence[int]) -> int:
    """Return the CPU time of processes together, with their ended children.

    A process that has ended has no clock any more. Its parent then has its CPU time in a counter of its ended children,
    in ticks of 10 ms, which is read if there are several processes. Raises psutil.Error if the first one has ended.
    """
    first, *others = pids
    clock_ns = host.cpu_ns(first)
    total_ns = host.cpu_in_ticks_ns(first) if clock_ns is None else clock_ns
    if not others:
        return total_ns
    return total_ns + sum(host.cpu_ns(pid) or 0 for pid in others) + sum(map(_of_ended_children_ns, pids))


def _of_ended_children_ns(pid: int) -> int:
    """Return the CPU time of the ended children that a process has waited for: cutime and cstime of proc(5), stat."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # the process has ended
        return 0
    fields = text.rpartition(")")[2].split()  # from the third field on: the second is a name, which may have spaces
    return (int(fields[13]) + int(fields[14])) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
