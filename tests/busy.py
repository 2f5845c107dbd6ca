"""Run a command beside a neighbour that keeps every core busy for about half of the time.

    python tests/busy.py -- make test
    python tests/busy.py --share 0.8 --seconds 60 -- sleep 60

The neighbour computes in bursts of 50 to 500 ms with pauses of random length between them, on each core by itself. It
ends with the command, with this program however that ends, and after --seconds at the latest. The exit code is that of
the command.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from random import Random

BURST_S = (0.05, 0.5)


def keep_busy(core: int, share: float, until_s: float, parent: int) -> None:
    """Compute on one core for this share of the time, until then, or until the parent is gone."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {core})
    draw = Random(core)
    while time.monotonic() < until_s and os.getppid() == parent:
        burst_end_s = time.monotonic() + draw.uniform(*BURST_S)
        while time.monotonic() < burst_end_s:
            pass
        time.sleep(draw.uniform(*BURST_S) * (1 - share) / share)


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else list(range(os.cpu_count() or 1))


def main() -> int:
    """Start the neighbour, run the command, end the neighbour."""
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- command ...", description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.5, help="share of the time in which a core is busy")
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="the neighbour ends after this time at the latest"
    )
    parser.add_argument("command", nargs="+", help="what to run, after --")
    asked = parser.parse_args()
    if not 0 < asked.share <= 1:
        parser.error("--share must be above 0 and at most 1")
    spawn, until_s = multiprocessing.get_context("spawn"), time.monotonic() + asked.seconds
    neighbours = [
        spawn.Process(target=keep_busy, args=(core, asked.share, until_s, os.getpid()), daemon=True) for core in cores()
    ]
    for neighbour in neighbours:
        neighbour.start()
    try:
        return subprocess.run(asked.command, check=False).returncode
    finally:
        for neighbour in neighbours:
            neighbour.terminate()
            neighbour.join()


if __name__ == "__main__":
    sys.exit(main())
