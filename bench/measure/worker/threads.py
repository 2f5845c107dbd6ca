"""The process that starts threads until one is refused, and reports its progress; ``limits.threads`` runs it.

It needs no installed package, and has the protocol of a worker (``inflight.bench.measure.worker``)::

    parent                                        child
    {"lifetime_s"}                                {"event": "ready"}
    {"most": 200, "every": 10}                    {"event": "at", "count": 10, "ns": ...}  ...
                                                  {"event": "stopped", "count": 200, "error": null, ...}
    {"most": 400, ...}                            and continues from there
    end of input                                  exits, which ends all threads

At a failure it immediately tries one more page, stack and process, to distinguish limits. The process ends with its
parent, with its input or with its lifetime, whichever ends first.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable

from inflight.bench.measure.worker import take_order

PR_SET_PDEATHSIG = 1
"""The option of prctl(2) by which a process is sent a signal when its parent ends."""
PAGES_TO_TRY = 16
"""Number of pages that are mapped to see whether one fits."""
FIRST_LINE_S = 5.0
"""Maximum time in seconds until a thread that was created runs."""


def main() -> None:
    """Follow the orders until the input ends."""
    die_with_parent(int(sys.argv[1]))  # the process id of the parent
    say, _ = take_order()
    start = make_starter()
    ballast = [bytearray(1 << 20)]  # released at a failure, to make room for the report
    say({"event": "ready"})
    count = begin_ns = 0
    error = None
    for line in sys.stdin:
        order = json.loads(line)
        begin_ns = begin_ns or time.perf_counter_ns()
        while error is None and count < order["most"]:
            error = start()
            count += error is None
            if error is None and count % order["every"] == 0:
                say({"event": "at", "count": count, "ns": time.perf_counter_ns() - begin_ns})
        ns = time.perf_counter_ns() - begin_ns
        tries = {} if error is None else {"page": map_pages, "stack": map_stack, "process": start_process}
        symptoms = {name: try_call(attempt) for name, attempt in tries.items()}
        ballast.clear()
        say({"event": "stopped", "count": count, "ns": ns, "error": error, "symptoms": symptoms})


def make_starter() -> Callable[[], str | None]:
    """Return a function that starts a thread that waits; it returns after the thread runs, or the reason of a refusal.

    threading.Thread waits too: started all at once, threads take fewer maps, because their first frames are adjacent
    (see ``limits.threads``). It is not used itself: its start() never returns when a thread is created without memory
    for its first frame, which happens at this limit.
    """
    gate, arrived = threading.Lock(), threading.Lock()
    gate.acquire()
    arrived.acquire()

    def wait() -> None:
        """Say that the thread runs, and wait for ever."""
        arrived.release()
        gate.acquire()

    def start() -> str | None:
        """Start one more thread; return None, or why it was refused."""
        try:
            start_new_thread(wait, ())
        except (RuntimeError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
        is_running = arrived.acquire(timeout=FIRST_LINE_S)
        return None if is_running else "a thread was created and had no memory for its first frame"

    return start


def try_call(attempt: Callable[[], None]) -> str:
    """Make a system call; return ``ok``, or the name of the errno with which it failed."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "error")
    except MemoryError:
        return "ENOMEM"
    return "ok"


def map_pages() -> None:
    """Map a few single pages, because one may still fit. Shared mappings are never merged."""
    for page in [mmap.mmap(-1, mmap.PAGESIZE) for _ in range(PAGES_TO_TRY)]:
        page.close()


def map_stack() -> None:
    """Map private memory of the size of a thread's stack."""
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if size > 0:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def start_process() -> None:
    """Start a process that does nothing."""
    program = "/bin/true" if os.access("/bin/true", os.X_OK) else "/usr/bin/true"
    os.waitpid(os.posix_spawn(program, [program], {}), 0)


def die_with_parent(parent: int) -> None:
    """Have Linux kill this process when its parent is gone. Elsewhere the end of input ends it.

    The parent is the thread that started it (prctl(2), PR_SET_PDEATHSIG).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


if __name__ == "__main__":
    main()
