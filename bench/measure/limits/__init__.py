"""Limits of this machine: predicted from its settings, and measured by driving a child process into them.

::

    linux | elsewhere --look--> Facts --bounds--> [Bound] --ceilings--> [Ceiling]        predict
                                                     |                     |
    watch <--> child     a ramp ---------------------+----> diagnose ---> Finding        find

``bounds``, ``growth``, ``ceilings``, ``diagnose`` and ``finding`` are pure. Nothing here needs an installed
package, except on systems without ``/proc``.
"""

import math
import resource
from collections.abc import Collection
from os import getpid
from typing import Any, Protocol

from inflight.bench.measure.limits import look
from inflight.bench.measure.limits.bounds import RESOURCES, bounds
from inflight.bench.measure.limits.ceilings import ALIKE, Ceiling, ceilings, lowest
from inflight.bench.measure.limits.finding import Finding, StoppedBy
from inflight.bench.measure.limits.resources import find_backlog, find_descriptors, find_memory, find_ports, in_bytes
from inflight.bench.measure.limits.threads import calibrate, find_threads
from inflight.bench.measure.limits.watch import Guard, ProbeError

CALIBRATION_S = 30

RESERVE = 64
"""Descriptors that a process needs besides its connections: standard streams, selector, listening sockets, files."""


__all__ = [
    "RESERVE",
    "RESOURCES",
    "Ceiling",
    "descriptor_shortage",
    "descriptors_needed",
    "find",
    "known",
    "predict",
    "server_shortage",
    "thread_shortage",
]


class Finder(Protocol):
    """Drive a child into the limit of one resource."""

    def __call__(self, guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding: ...


FINDERS: dict[str, Finder] = {
    "threads": find_threads,
    "descriptors": find_descriptors,
    "ports": find_ports,
    "backlog": find_backlog,
    "memory": find_memory,
}


def find(
    resource: str,
    *,
    through_shared: bool = False,
    memory_budget_bytes: int | None = None,
    deadline_s: float = 60,
) -> dict[str, Any]:
    """Measure how much of a resource a process can have; return the finding, ready for JSON.

    A child process takes more and more of the resource until it is refused. It stops earlier at 90 % of what other
    processes share (unless ``through_shared``), when the available memory has shrunk by the budget (by default half of
    it), and at the deadline. Afterwards everything is released. Raises ValueError for an unknown resource.
    """
    check(resource)
    budget = default_budget() if memory_budget_bytes is None else memory_budget_bytes
    guard = Guard.of(deadline_s, budget)
    try:
        return FINDERS[resource](guard, budget, through_shared=through_shared).to_dict()
    except ProbeError as error:
        stopped: StoppedBy = guard.breach() or "not tried"
        return Finding(known(resource), None, (), stopped, [str(error)]).to_dict()


def predict(resource: str) -> list[Ceiling]:
    """Return how much of a resource each limit leaves to this process, the lowest first.

    For threads, a child process starts some to measure what one costs. Raises ValueError for an unknown resource.
    """
    check(resource)
    if resource == "threads":
        calibration = calibrate(Guard.of(CALIBRATION_S, default_budget()))
        return ceilings(calibration.bounds, calibration.readings)
    return known(resource)


def known(resource: str) -> list[Ceiling]:
    """Return the same without starting threads: of the limits on threads, only those that count threads."""
    facts = look.look(getpid(), sockets=resource == "ports")
    return ceilings(in_bytes(facts) if resource == "memory" else bounds(resource, facts))


def thread_shortage(threads_wanted: int) -> str | None:
    """Describe the limit that forbids starting this many more threads, and the remedy; None when none does."""
    found = predict("threads")
    if not found:
        return None
    most = math.floor(found[0].most * (1 - ALIKE))  # the prediction is no more exact than that
    if threads_wanted <= most:
        return None
    return (
        f"{threads_wanted:,} threads are more than {' or '.join(lowest(found))} allows "
        f"({found[0].evidence}); use at most {most:,}, or raise it: {found[0].remedy}"
    )


def default_budget() -> int:
    """Return half of the available memory."""
    return (look.available_bytes() or 0) // 2


def check(resource: str) -> None:
    """Raise ValueError for an unknown resource."""
    if resource not in RESOURCES:
        raise ValueError(f"unknown resource {resource!r}; known: {', '.join(RESOURCES)}")


def descriptors_needed(in_flight: int, *, per_fetch: bool) -> int:
    """Return how many descriptors a process needs to have this many connections open.

    With per-fetch connections, each fetch may need two: an event loop closes a connection one turn later, when the next
    one may be open already.
    """
    return (2 if per_fetch else 1) * in_flight + RESERVE


def descriptor_shortage(in_flight: int, *, per_fetch: bool) -> str | None:
    """Describe the limit that forbids this many open connections, and the remedy; None when none does.

    Worker and server raise their own soft limit, so the hard one counts.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    each = 2 if per_fetch else 1
    needed = descriptors_needed(in_flight, per_fetch=per_fetch)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return None
    if hard < RESERVE + each:
        return (
            f"the harness itself needs {RESERVE} descriptors, and {in_flight:,} in flight {needed:,} in all, but "
            f"RLIMIT_NOFILE (ulimit -Hn) is {hard:,}; raise it to at least {needed:,}"
        )
    return (
        f"{in_flight:,} in flight need {needed:,} descriptors, but RLIMIT_NOFILE (ulimit -Hn) "
        f"is {hard:,}; use at most {(hard - RESERVE) // each:,}, or raise the limit"
    )


def server_shortage(arms: Collection[tuple[int, bool]]) -> str | None:
    """Describe the limit that keeps the server from holding all arms of a block, and the remedy; None when none does.

    An arm is given as its maximum number in flight, and whether it opens a connection for each fetch.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = RESERVE + sum((1 + per_fetch) * in_flight for in_flight, per_fetch in arms)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return None
    return (
        f"the {len(arms)} arms of a block are alive at once, and their server needs {needed:,} descriptors, but "
        f"RLIMIT_NOFILE (ulimit -Hn) is {hard:,}; compare fewer strategies, lower in_flight, or raise the limit"
    )
