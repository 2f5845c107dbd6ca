"""Run a command beside a neighbour that disturbs every core that it may use; exit with the exit code of the command.

python -m tools.neighbour -- make test
python -m tools.neighbour --kind memory --share 0.8 --seconds 60 -- sleep 60
"""

import argparse
import subprocess
import sys

from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.neighbour import KINDS, SHARE, neighbour


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
