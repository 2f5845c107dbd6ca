"""The worker: a fresh process with one task for the harness, which imports only what this task needs.

The task is a ``WorkerPart``, a module that is run as a program. All parts exchange lines of JSON with the harness, on
standard input and on a private copy of standard output (what a strategy prints goes to standard error)::

    harness                                 worker
    {..., "lifetime_s"}                                                   the part's order, with "variables" to report
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
"""Sends a message to the harness."""


class WorkerPart:
    """The task of a worker. Each order names a method, which returns the answer."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        """Prepare; ``say`` sends messages that are no answers."""

    def knobs(self) -> dict[str, Any]:
        """Return the settings in effect, to detect a setting that did not reach the worker."""
        return knobs_of_interpreter()

    def orders(self) -> Iterable[dict[str, Any]]:
        """Yield the orders of the harness until the end of the input."""
        return map(json.loads, sys.stdin)

    def end(self) -> None:
        """Clean up after the end of the input."""


def serve(kind: Callable[[dict[str, Any], Say], WorkerPart]) -> None:
    """Run a worker: follow the orders on standard input until it ends."""
    say, order = take_order()
    part = kind(order, say)
    seen = {"variables": {name: os.environ.get(name) for name in order["variables"]}} if "variables" in order else {}
    say({"event": "ready", "knobs": part.knobs() | seen})
    try:
        for asked in part.orders():
            if (answer := getattr(part, asked.pop("do"))(**asked)) is not None:
                say(answer)
    finally:
        part.end()


def take_order() -> tuple[Say, dict[str, Any]]:
    """Become a worker: return a function that sends messages to the harness, and the first order."""
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
    """Reserve standard output for the harness, and redirect all other output to standard error."""
    channel: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        """Send a message as one line."""
        channel.write(json.dumps(message, separators=(",", ":")) + "\n")
        channel.flush()

    return say


def raise_descriptor_limit() -> None:
    """Raise the soft limit on descriptors to the hard limit, for which the plan was checked."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_240), hard))  # macOS grants no "unlimited"


def has_lock() -> bool:
    """Return whether the global lock is on now; importing an extension can turn it on at any time."""
    enabled: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return enabled


def knobs_of_interpreter() -> dict[str, Any]:
    """Return the settings of this interpreter."""
    return {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "executable": sys.executable,
        "free_threaded": "free-threading" in sys.version,
        "gil": has_lock(),
        "switch_interval_ns": round(sys.getswitchinterval() * 1e9),
        "gc_enabled": gc.isenabled(),
        "gc_thresholds": list(gc.get_threshold()),
        "cpus": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
