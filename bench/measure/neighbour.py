"""A neighbour that disturbs the machine on purpose, to test the harness on a busy machine.

Each core gets one process, which works in bursts of random length (see ``neighbour_worker``).
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from inflight.bench.measure.host import Cpus, usable_cores
from inflight.bench.measure.process import start

SHARE = 0.5
MAX_S = 4 * 3600.0
"""Time after which an abandoned neighbour ends by itself."""
SEED = 20260101


@contextmanager
def neighbour(kind: str, cores: Iterable[int], share: float = SHARE, most_s: float = MAX_S) -> Iterator[None]:
    """Disturb each of these cores for a share of the time; ``kind`` is one of ``KINDS``.

    The neighbour ends with the ``with`` block, with this process, or after ``most_s`` seconds.
    """
    processes = []
    try:
        for core in cores:
            words = map(str, (kind, core, share, SEED, most_s, os.getpid()))
            processes.append(start(["inflight.bench.measure.neighbour_worker", *words], stdin=subprocess.DEVNULL))
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
