"""Count the system calls of a child process with ptrace(2), between two marks: calls that nobody else makes.

``counts`` uses it: the child crawls, and its parent, which traces it, is the worker. Linux 5.3 or newer
(PTRACE_GET_SYSCALL_INFO), on x86-64 and arm64. No privilege is needed for a child (Yama's ptrace_scope 0 or 1).
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from collections import Counter

MARKS = {"x86_64": 146, "aarch64": 125}
"""Number of the system call of the marks, sched_get_priority_max, on each machine."""
SEIZE, INTERRUPT, SYSCALL, SYSCALL_INFO = 0x4206, 0x4207, 24, 0x420E
"""Requests of ptrace(2)."""
TRACE_SYSCALLS, TRACE_CHILDREN, KILL_ON_EXIT = 0x1, 0x2 | 0x4 | 0x8, 0x100000
"""Its options: tell system calls from signals; trace forks, vforks and clones; the end of the tracer ends all."""
ALL_CHILDREN = 0x40000000
"""The option __WALL of waitpid(2): threads, too."""
INFO = struct.Struct("=B23xQ")
"""The beginning of a struct ptrace_syscall_info: the kind of stop, and at an entry the number of the system call."""
INFO_BYTES, IS_ENTRY = 88, 1
"""Size of a struct ptrace_syscall_info; and the kind of stop at the entry of a system call."""
AT_SYSCALL = signal.SIGTRAP | 0x80
"""The signal by which a stop at a system call is told from others."""
_PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
_PTRACE.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_PTRACE.restype = ctypes.c_long


def seize(child: int) -> None:
    """Begin to trace a child, and move both processes to one core, so that no stop wakes up another core.

    A traced crawl of asyncio_sockets took 1.1 s then instead of 1.9 s, and met no answer early. Raises OSError where
    tracing is not possible or refused; then nothing has changed.
    """
    if sys.platform != "linux" or platform.machine() not in MARKS:
        raise OSError(0, "only on Linux on x86-64 and arm64")
    if _PTRACE(SEIZE, child, None, TRACE_SYSCALLS | TRACE_CHILDREN | KILL_ON_EXIT) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    _PTRACE(INTERRUPT, child, None, None)  # from its stop on, it stops at system calls
    cores = sorted(os.sched_getaffinity(0))
    for process in (os.getpid(), child):
        os.sched_setaffinity(process, {cores[child % len(cores)]})


def system_calls(child: int) -> tuple[dict[int, int] | None, int]:
    """Wait for the end of a child; return the system calls between its two marks, by number, and its status.

    None without a mark: the kernel is older than Linux 5.3. Empty without exactly two: the child ended early, or makes
    the call of the marks itself.
    """
    mark = MARKS[platform.machine()]
    buffer = ctypes.create_string_buffer(INFO_BYTES)
    counts, marks = Counter[int](), list[Counter[int]]()
    while True:
        thread, status = os.waitpid(-1, ALL_CHILDREN)
        if not os.WIFSTOPPED(status):
            if thread == child:
                break
            continue
        stopped_by, delivered = os.WSTOPSIG(status), 0
        if stopped_by == AT_SYSCALL:
            is_known = _PTRACE(SYSCALL_INFO, thread, INFO_BYTES, ctypes.addressof(buffer)) > 0
            kind, number = INFO.unpack_from(buffer)
            if is_known and kind == IS_ENTRY:
                counts[number] += 1
                if number == mark:
                    marks.append(counts.copy())
        elif not status >> 16:  # a signal, and no event of ptrace
            delivered = stopped_by
        _PTRACE(SYSCALL, thread, None, delivered)
    if not marks:
        return None, status
    if len(marks) != 2:
        return {}, status
    between = marks[1] - marks[0]
    del between[mark]
    return dict(between), status
