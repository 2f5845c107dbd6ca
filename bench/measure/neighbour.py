"""A neighbour that disturbs the machine on purpose, to test the harness on a busy machine (``--disturbed``).

``inflight run`` and ``inflight selftest`` run their trials within ``beside``. Each core gets one process: bursts of 50
to 500 ms with pauses, until its time is over or its parent has ended::

    python -m inflight.bench.measure.neighbour KIND CORE SHARE SEED SECONDS PARENT

SHARE is that of the time in which it works, PARENT a process id.
"spin" computes within the caches of the core. "memory" walks through 64 MB, which is larger than most caches: it uses
memory bandwidth, and evicts the data of others from a shared cache.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from random import Random

from inflight.bench.measure.host import Cpus, usable_cores
from inflight.bench.measure.process import start

SHARE = 0.5
"""Share of the time in which it works."""
MAX_S = 4 * 3600.0
"""Seconds after which an abandoned neighbour ends by itself."""
SEED = 20260101
"""Seed of the lengths of its bursts."""
BURST_S = (0.05, 0.5)
"""Shortest and longest burst in seconds."""
LOOK_S = 0.2
"""Interval at which a pause is interrupted to check for the parent."""
BLOCK_BYTES = 64 << 20
"""Memory that "memory" walks through."""
LINE_BYTES = 64
"""Size of a cache line."""
STRIDE_BYTES = 4096 + LINE_BYTES
"""Distance of accesses, so that each is on another page. Accesses to a cached block of 8 MB took 0.8 ns each with this
stride, to all 64 MB 5.7 ns (AMD EPYC, 32 MB of L3 cache)."""


@contextmanager
def neighbour(kind: str, cores: Iterable[int], share: float = SHARE, most_s: float = MAX_S) -> Iterator[None]:
    """Disturb each of these cores for a share of the time; ``kind`` is one of ``KINDS``.

    The neighbour ends with the ``with`` block, with this process, or after ``most_s`` seconds.
    """
    processes = []
    try:
        for core in cores:
            words = map(str, (kind, core, share, SEED, most_s, os.getpid()))
            processes.append(start(["inflight.bench.measure.neighbour", *words], stdin=subprocess.DEVNULL))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def beside(kind: str | None, cpus: Cpus) -> AbstractContextManager[None]:
    """Disturb the cores of client and server, or every core where nothing is pinned; do nothing without a kind."""
    if kind is None:
        return nullcontext()
    pinned = (cpus.server or set()) | (cpus.client or set())
    return neighbour(kind, sorted(pinned) or usable_cores())


def spinning() -> Callable[[], None]:
    """Return work that uses no memory."""

    def work() -> None:
        """Count to a thousand."""
        for _ in range(1000):
            pass

    return work


def walking() -> Callable[[], None]:
    """Return work that reads one byte of every 65th cache line, one line later each time."""
    block, first = bytearray(b"\1") * BLOCK_BYTES, 0  # written, so that each page has memory of its own

    def work() -> None:
        """Read one line of each page."""
        nonlocal first
        block[first::STRIDE_BYTES]
        first = (first + LINE_BYTES) % STRIDE_BYTES

    return work


KINDS = {"spin": spinning, "memory": walking}
"""What makes the work of each kind."""


def disturb(work: Callable[[], None], share: float, draw: Random, is_over: Callable[[], bool]) -> None:
    """Work for this share of the time, in bursts of random length, until it is over."""
    while not is_over():
        burst_end_s = time.monotonic() + draw.uniform(*BURST_S)
        while time.monotonic() < burst_end_s:
            work()
        pause_end_s = time.monotonic() + draw.uniform(*BURST_S) * (1 - share) / share
        while (left_s := pause_end_s - time.monotonic()) > 0 and not is_over():
            time.sleep(min(LOOK_S, left_s))


def main() -> None:
    """Disturb the core that the command line names."""
    kind, core, share, seed, most_s, parent = sys.argv[1:]
    until_s = time.monotonic() + float(most_s)
    if sys.platform == "linux":
        os.sched_setaffinity(0, {int(core)})
    draw = Random(f"{seed}/{core}")
    disturb(KINDS[kind](), float(share), draw, lambda: time.monotonic() >= until_s or os.getppid() != int(parent))


if __name__ == "__main__":
    main()
