"""Measure how much a process can have of each resource except threads, by driving a child process into the limit."""

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from inflight.bench.measure.limits import diagnose, look
from inflight.bench.measure.limits.bounds import BACKLOG, Bound, bounds, not_known
from inflight.bench.measure.limits.ceilings import ALIKE, Ceiling, Names, ceilings, polite
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.limits.finding import NO_LIMIT_KNOWN, Finding, Stop, found, sentences, stop
from inflight.bench.measure.limits.ramps import MIB
from inflight.bench.measure.limits.watch import Guard, Probe, Ramp, probing

OF_ALL = frozenset({"ENFILE"})
"""Errno of a full table of the system, rather than of the process (open(2))."""


def find_descriptors(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Open files until one is refused."""
    own = look.look(os.getpid())
    with probing("descriptors", guard) as probe:
        # The child has raised its soft limit, as the harness's workers do; the evidence shows the limit before that.
        before = replace(look.look(probe.pid), rlimits=own.rlimits)
        known = ceilings(bounds("descriptors", before))
        end = stop(known, budget_bytes, None, through_shared=through_shared)
        ramp = probe.ramp(end.most, known[0].most if known else NO_LIMIT_KNOWN)
        after = replace(look.look(probe.pid), rlimits=own.rlimits)
    at_the_end = bounds("descriptors", after) if ramp.ended in {"failure", "reached"} else []
    culprit = descriptors_culprit(at_the_end, ramp.errno)
    return found("descriptors", before, known, ramp, end, culprit, sentences(at_the_end))


def descriptors_culprit(known: Sequence[Bound], errno: str | None) -> Names:
    """Return the full limits, of the system or of the process; the errno says which of the two."""
    return tuple(bound.name for bound in known if bound.shared == (errno in OF_ALL) and diagnose.full(bound, ()))


FURTHER = 1.05
NOT_TRIED = "not tried: reaching it would get processes killed, this one or others"


def in_bytes(facts: Facts) -> list[Bound]:
    """Return the bounds of memory, in bytes."""
    return [replace(bound, costs="one") for bound in bounds("memory", facts)]


def find_memory(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Reserve memory up to a limit of the process itself, if that is within the budget; never fill what all share."""
    with probing("memory", guard) as probe:
        before = look.look(probe.pid)
        known = ceilings(in_bytes(before))
        own = next((ceiling for ceiling in known if not ceiling.shared), None)
        if own is None or own.most > _may_take(known, budget_bytes, through_shared=through_shared):
            evidence = [NOT_TRIED, *sentences(in_bytes(before)), *not_known("memory", before)]
            return Finding(known, None, (), "not tried", evidence)
        end = Stop(
            int(own.most * FURTHER) + MIB, "memory budget", f"stopped on purpose above {own.name}, which did not refuse"
        )
        ramp = probe.ramp(end.most, own.most)
        after = look.look(probe.pid)
    at_the_end = in_bytes(after) if ramp.ended == "failure" else []
    return found("memory", before, known, ramp, end, memory_culprit(at_the_end), sentences(at_the_end))


def memory_culprit(known: Sequence[Bound]) -> Names:
    """Return the limits of the process itself that one more MiB would exceed."""
    return tuple(
        bound.name
        for bound in known
        if not bound.shared and bound.used is not None and bound.used + MIB >= bound.limit * (1 - ALIKE)
    )


def _may_take(known: Sequence[Ceiling], budget_bytes: int, *, through_shared: bool) -> int:
    shared = None if through_shared else polite(known)
    return budget_bytes if shared is None else min(budget_bytes, shared[0])


MOST_CHILDREN = 64
OWN_FULL = frozenset({"EMFILE"})
IP_BIND_ADDRESS_NO_PORT = 24
"""ip(7); Python names it from 3.12 on."""

Order = Callable[[int], dict[str, Any]]
"""The order of the child with a given number."""


def find_ports(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Bind sockets to a private address until no port is left, in as many processes as the descriptors require."""
    before = look.look(os.getpid(), sockets=True)
    known = ceilings(bounds("ports", before))
    end = stop(known, budget_bytes, None, through_shared=through_shared)
    address = private_address(1)
    first, last = before.port_range or (0, -1)
    order = {"address": address, "first": first, "last": last}
    with ExitStack() as stack:
        ramp, children = spread(stack, guard, "ports", lambda _: order, end.most, OWN_FULL)
    evidence = [
        *sentences(bounds("ports", before)),
        _meaning(address, ramp.count),
        *_in_one_process(children),
        _of_late_choice(),
    ]
    culprit = _ports_culprit(before, ramp.errno)
    return found("ports", before, known, ramp, end, culprit, evidence, {"processes": children})


def find_backlog(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Connect to a listener that never accepts until no more connections complete."""
    before = look.look(os.getpid())
    known = ceilings(bounds("backlog", before))
    end = stop(known, budget_bytes, None, through_shared=through_shared)
    address = private_address(1)
    with ExitStack() as stack:
        listener = stack.enter_context(probing("listener", guard, address=address, backlog=BACKLOG))
        port = listener.ramp(1, 1).count
        ramp, _ = spread(
            stack,
            guard,
            "connections",
            lambda child: {"address": address, "port": port, "source": private_address(2 + child)},
            min(end.most, 2 * BACKLOG),
            OWN_FULL | {"EADDRINUSE"},
        )
        after = look.look(os.getpid())
    full = tuple(
        bound.name
        for bound in bounds("backlog", before)
        if not bound.shared and diagnose.full(replace(bound, used=ramp.count), ())
    )
    evidence = [
        f"the listener asked for a backlog of {BACKLOG:,}; net.core.somaxconn is the maximum (listen(2))",
        *_overflows(before.listen_overflows, after.listen_overflows),
        *sentences([bound for bound in bounds("backlog", before) if bound.shared]),
        *_half_open(before.sysctls.get("net.ipv4.tcp_max_syn_backlog")),
    ]
    return found("backlog", before, known, ramp, end, full or _ports_culprit(before, ramp.errno), evidence)


def spread(
    stack: ExitStack, guard: Guard, resource: str, order: Order, most: int, full: frozenset[str]
) -> tuple[Ramp, int]:
    """Run a ramp in one child after another, each until a limit of its own; return the sum, and the number of children.

    The children live until the stack is closed.
    """
    total, begun_ns, points = 0, 0, [(0, 0)]
    ramp = Ramp(0, "reached", 0)
    for number in range(MOST_CHILDREN):
        probe: Probe = stack.enter_context(probing(resource, guard, **order(number)))
        ramp = probe.ramp(most - total, min(most - total, NO_LIMIT_KNOWN >> 24))
        points += [(begun_ns + ns, total + count) for ns, count in ramp.timeline[1:]]
        total, begun_ns = total + ramp.count, begun_ns + ramp.ns
        if ramp.errno not in full or not ramp.count:
            return replace(ramp, count=total, ns=begun_ns, timeline=tuple(points)), number + 1
    return replace(ramp, count=total, ns=begun_ns, timeline=tuple(points)), MOST_CHILDREN


def private_address(number: int) -> str:
    """Return an unused loopback address, where the system has more than one; else the usual one.

    On Linux all of 127/8 is local (the route ``local 127.0.0.0/8`` of the table local).
    """
    wanted = f"127.77.{os.getpid() % 250}.{number}"
    with socket.socket() as tried:
        try:
            tried.bind((wanted, 0))
        except OSError:
            return "127.0.0.1"
    return wanted


def _ports_culprit(facts: Facts, errno: str | None) -> Names:
    """Return the limit that an errno stands for: of ports, or of the descriptors of all the processes together."""
    if errno in OWN_FULL:
        return ("RLIMIT_NOFILE",)
    if errno != "EADDRINUSE":
        return ()
    return tuple(bound.name for bound in bounds("ports", facts) if bound.unit == "ports")


def _meaning(address: str, found: int) -> str:
    return (
        f"so {address} can have {found:,} simultaneous connections to one destination (address and port); "
        "each further destination or source address allows as many again (ip(7))"
    )


def _in_one_process(children: int) -> list[str]:
    if children < 2:
        return []
    return [f"{children} processes hold them, because one has too few descriptors (RLIMIT_NOFILE)"]


def _of_late_choice() -> str:
    with socket.socket() as asked:
        try:
            asked.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        except OSError:
            return "IP_BIND_ADDRESS_NO_PORT is not supported here: a socket gets its port when it is bound"
    return (
        "IP_BIND_ADDRESS_NO_PORT is supported here: with it, a client that binds an address gets its port when it "
        "connects, so the ports count for each destination; without it, they count once for all destinations"
    )


def _overflows(before: int | None, after: int | None) -> list[str]:
    if before is None or after is None:
        return []
    return [f"the kernel counted {after - before:,} ListenOverflows (/proc/net/netstat) during the ramp"]


def _half_open(most: int | None) -> list[str]:
    """Explain the other queue: a handshake on loopback is complete before the call returns, so it stays empty."""
    if most is None:
        return []
    return [
        f"net.ipv4.tcp_max_syn_backlog ({most:,}) bounds handshakes that are not complete; on loopback there are none"
    ]
