"""The process that is driven into a limit: it takes more and more of one resource, and reports its progress.

It has the protocol of a worker (``inflight.bench.measure.worker``), but reads its orders in a thread::

    parent                                        child
    {"resource", "lifetime_s", ...}               {"event": "ready"}
    {"most": 200, "every": 10}                    {"event": "at", "count": 10, "ns": ...}  ...
                                                  {"event": "stopped", "count": 200, "error": null, ...}
    {"most": 400, ...}                            and continues from there
    end of input                                  exits, which releases everything

At a failure it immediately tries some other calls (``symptoms``). The parent reads everything else from outside. The
process ends with its parent, with its input or with its lifetime, whichever ends first.
"""

import ctypes
import json
import os
import queue
import signal
import sys
import time
from _thread import start_new_thread
from collections.abc import Iterator
from typing import Any

from inflight.bench.measure.limits.ramps import MIB, RAMPS, Order, RefusedError, symptoms
from inflight.bench.measure.worker import Say, take_order

PR_SET_PDEATHSIG = 1
"""prctl(2)."""


def main() -> None:
    """Follow the orders until the input ends."""
    die_with_parent(int(sys.argv[1]))
    say, order = take_order()
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
    start_new_thread(read_orders, (orders,))
    ballast = [bytearray(MIB)]  # released at a failure, to make room for the report
    say({"event": "ready"})
    held: list[Any] = []  # outlives a failed ramp, to be seen from outside
    ramp = RAMPS[order["resource"]](order, held)
    begin_ns = 0
    while True:
        order |= orders.get()
        begin_ns = begin_ns or time.perf_counter_ns()
        count, error, number = advance(ramp, order["most"], order["every"], begin_ns, say)
        end_ns = time.perf_counter_ns()
        seen = {} if error is None else symptoms(order)
        ballast.clear()
        say(
            {
                "event": "stopped",
                "count": count,
                "ns": end_ns - begin_ns,
                "error": error,
                "errno": number,
                "symptoms": seen,
            }
        )


def advance(ramp: Iterator[int], most: int, every: int, begin_ns: int, say: Say) -> tuple[int, str | None, str | None]:
    """Continue to ``most`` or to a failure; return the count, and of a failure the error and the name of its errno."""
    count = reported = 0
    try:
        for count in ramp:
            if count >= most:
                return count, None, None
            if count >= reported + every:
                reported = count
                say({"event": "at", "count": count, "ns": time.perf_counter_ns() - begin_ns})
    except RefusedError as refusal:
        return refusal.args[0], refusal.args[1], refusal.args[2]
    return count, None, None


def read_orders(orders: "queue.SimpleQueue[Order]") -> None:
    """Pass on the orders of the parent; end this process when they end."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)


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
