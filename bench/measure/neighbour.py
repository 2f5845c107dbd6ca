"""A neighbour that disturbs the machine on purpose, to test the harness on a busy machine.

    python -m inflight.bench.measure.neighbour -- make test
    python -m inflight.bench.measure.neighbour --kind memory --share 0.8 --seconds 60 -- sleep 60

Each core gets one process, which works in bursts of random length (see ``neighbour_worker``). The program disturbs
every core that it may use, and exits with the exit code of its command.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from inflight.bench.measure.host import Cpus, usable_cores
from inflight.bench.measure.neighbour_worker import KINDS
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
    with ExitStack() as stack:
        for core in cores:
            stack.enter_context(_on(core, kind, share, most_s))
        yield


def beside(kind: str | None, cpus: Cpus) -> AbstractContextManager[None]:
    """Disturb the cores of client and server, or every core where nothing is pinned; do nothing without a kind."""
    if kind is None:
        return nullcontext()
    pinned = (cpus.server or set()) | (cpus.client or set())
    return neighbour(kind, sorted(pinned) or usable_cores())


@contextmanager
def _on(core: int, kind: str, share: float, most_s: float) -> Iterator[None]:
    words = map(str, (kind, core, share, SEED, most_s, os.getpid()))
    process = start(["inflight.bench.measure.neighbour_worker", *words], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> int:
    """Start the neighbour, run the command, end the neighbour."""
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- command ...", description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", choices=KINDS, default="spin", help="what the neighbour does")
    parser.add_argument("--share", type=float, default=SHARE, help="share of the time for which a core is busy")
    parser.add_argument("--seconds", type=float, default=3600.0, help="maximum time after which the neighbour ends")
    parser.add_argument("command", nargs="+", help="what to run, after --")
    asked = parser.parse_args()
    if not 0 < asked.share <= 1:
        parser.error("--share must be above 0 and at most 1")
    with neighbour(asked.kind, usable_cores(), asked.share, most_s=asked.seconds):
        return subprocess.run(asked.command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
