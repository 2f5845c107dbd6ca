"""The worker: a fresh process that does one thing for the harness, and imports nothing that this does not need.

What it does is a ``Part``, a module that is run as a program. All parts talk with the harness in the same way, in lines
of JSON on standard input and on a private copy of standard output (what a strategy prints goes to standard error)::

    harness                                 worker
    {..., "lifetime_s"}                                                   the part's order
                                            {"event": "ready", "knobs": {...}}
    {"do": NAME, ...}
                                            {"event": ...}                what the part's method NAME returns
    end of input                            exits
"""

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

Say = Callable[[dict[str, Any]], None]


class Part:
    """What a worker does. Each order names a method; what that returns is the answer."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        """Get ready; ``say`` is for what is no answer to an order."""

    def knobs(self) -> dict[str, Any]:
        """Return what really runs here: a setting that did not reach the worker must show."""
        return knobs_of_interpreter()

    def orders(self) -> Iterable[dict[str, Any]]:
        """Yield what the harness orders, until it has nothing more to say."""
        return map(json.loads, sys.stdin)

    def end(self) -> None:
        """Clean up when the input has ended."""


def serve(kind: Callable[[dict[str, Any], Say], Part]) -> None:
    """Be a worker: do what standard input says until it ends."""
    say, order = take_order()
    part = kind(order, say)
    say({"event": "ready", "knobs": part.knobs()})
    try:
        for asked in part.orders():
            say(getattr(part, asked.pop("do"))(**asked))
    finally:
        part.end()


def take_order() -> tuple[Say, dict[str, Any]]:
    """Become a worker: return how to speak to the harness, and its first line."""
    say = take_over_stdout()
    order = json.loads(sys.stdin.readline())
    live_for(order["lifetime_s"])
    raise_descriptor_limit()
    return say, order


def live_for(seconds: float) -> None:
    """Have the kernel end this process after some time, in case the harness is gone; leave Ctrl-C to the harness."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def take_over_stdout() -> Say:
    """Keep the real standard output for the harness; whatever else prints, prints to standard error."""
    channel: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message, separators=(",", ":")) + "\n")
        channel.flush()

    return say


def raise_descriptor_limit() -> None:
    """Allow this process as many descriptors as it may allow itself; the plan was checked against the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_240), hard))  # macOS grants no "unlimited"


def knobs_of_interpreter() -> dict[str, Any]:
    """Return what any program of this interpreter runs with here."""
    return {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
        "switch_interval_ns": round(sys.getswitchinterval() * 1e9),
        "gc_enabled": gc.isenabled(),
        "gc_thresholds": list(gc.get_threshold()),
        "cpus": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
