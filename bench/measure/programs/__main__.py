"""Run one probe, given on the command line and on standard input (see the docstring of the package)."""

import json
import sys

from inflight.bench.measure.programs._shared import measure
from inflight.bench.measure.worker import live_for, take_over_stdout


def main() -> None:
    """Measure and print the result."""
    say = take_over_stdout()
    order = json.loads(sys.stdin.readline())
    live_for(order["lifetime_s"])
    say({"measured": measure(sys.argv[1], order["arguments"], order["base"])})


if __name__ == "__main__":
    main()
