"""Run one probe as told on the command line and on standard input (the package's docstring is the contract)."""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from inflight.bench.studies.probes.programs._shared import ArgumentError, find_probe, measure, read_order

LONGEST_LINE_BYTES = 1 << 20


def main() -> int:
    """Measure, and say what came out. Returns the exit code."""
    say = _take_over_stdout()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's affair
    try:
        name = find_probe(sys.argv[1:])
        arguments, base, lifetime_s = read_order(sys.stdin.buffer.readline(LONGEST_LINE_BYTES))
        # Should the controller vanish, nobody would kill a hanging probe: the kernel will.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, lifetime_s)
        measured = measure(name, arguments, base)
    except ArgumentError as error:
        print(error, file=sys.stderr)
        return 2
    say({"measured": measured})
    return 0


def _take_over_stdout() -> Callable[[dict[str, Any]], None]:
    """Keep the real standard output for the answer; whatever else prints, prints to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        with channel:
            channel.write(json.dumps(message, separators=(",", ":")) + "\n")

    return say


if __name__ == "__main__":
    sys.exit(main())
