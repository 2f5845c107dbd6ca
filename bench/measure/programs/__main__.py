"""Run one probe, given on the command line and on standard input (see the docstring of the package)."""

import sys

from inflight.bench.measure.programs._shared import ArgumentError, find_probe, measure, read_order
from inflight.bench.measure.worker import live_for, take_over_stdout

LONGEST_LINE_BYTES = 1 << 20


def main() -> int:
    """Measure and print the result; return the exit code."""
    say = take_over_stdout()
    try:
        name = find_probe(sys.argv[1:])
        arguments, base, lifetime_s = read_order(sys.stdin.buffer.readline(LONGEST_LINE_BYTES))
        live_for(lifetime_s)
        measured = measure(name, arguments, base)
    except ArgumentError as error:
        print(error, file=sys.stderr)
        return 2
    say({"measured": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
