"""The worker of a building block: a fresh process that starts N of them and holds still.

It talks with the controller as ``bench.measure.worker`` does::

    controller                              worker
    {"block", "n", "port", "lifetime_s"}
                                            {"event": "ready", "knobs": {...}}
    {"do": "start"}
                                            {"event": "started", "error": null, "started": N, "start_ns", "cpu_ns"}
    end of input                            exits                           at rest: memory is read before
"""

import contextlib
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from bench.measure import building_blocks as blocks
from bench.measure.worker import knobs_of_interpreter, take_order


def main() -> None:
    """Hold what standard input asks for."""
    say, order = take_order()
    start = blocks.BLOCKS[order["block"]]
    with contextlib.suppress(blocks.ShortageError):
        _first = start(1, order["port"])  # what is needed once (imports, the first arena) belongs to the baseline
    say({"event": "ready", "knobs": {"block": order["block"]} | knobs_of_interpreter() | _stack_size()})
    if not sys.stdin.readline():
        return
    try:
        _hold(start, order, say)
    finally:
        blocks.end()  # also when nobody listens any more: taking a million tasks down one by one takes minutes


def _hold(
    start: Callable[[int, int], blocks.Held], order: dict[str, Any], say: Callable[[dict[str, Any]], None]
) -> None:
    """Start them, say so, and keep them until the input ends."""
    error, cause, held = None, None, blocks.Held(0, None)
    begin_ns, cpu_begin_ns = time.perf_counter_ns(), time.process_time_ns()
    try:
        held = start(order["n"], order["port"])
    except blocks.ShortageError as shortage:
        error, cause, held = str(shortage), "limit", blocks.Held(shortage.started, None)
    except MemoryError:
        error, cause = "MemoryError", "limit"
    spent = {"start_ns": time.perf_counter_ns() - begin_ns, "cpu_ns": time.process_time_ns() - cpu_begin_ns}
    say({"event": "started", "error": error, "cause": cause, "started": held.started} | spent)
    sys.stdin.readline()


def _stack_size() -> dict[str, int]:
    """Return how much address space a new thread's stack gets: what was set, else RLIMIT_STACK (pthread_create(3))."""
    return {"stack_bytes": threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]}


if __name__ == "__main__":
    main()
