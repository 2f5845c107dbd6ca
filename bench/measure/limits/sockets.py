"""Find how many ports one address can use, and how many connections a listener can leave waiting."""

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bench.measure.limits import diagnose, look
from bench.measure.limits.bounds import BACKLOG, bounds, not_known
from bench.measure.limits.ceilings import ceilings, named
from bench.measure.limits.facts import Facts
from bench.measure.limits.finding import NO_LIMIT_KNOWN, Finding, bound_by, sentences, stop, stopped_by, why
from bench.measure.limits.watch import Guard, Probe, Ramp, probing

MOST_CHILDREN = 64
OWN_FULL = frozenset({"EMFILE"})
IP_BIND_ADDRESS_NO_PORT = 24
"""ip(7); Python names it from 3.12 on."""

Order = Callable[[int], dict[str, Any]]
"""What the child of a number is told."""


def find_ports(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Bind sockets to a private address until there is no port left, in as many processes as descriptors ask for."""
    before = look.look(os.getpid(), sockets=True)
    known = ceilings(bounds("ports", before))
    end = stop(known, budget_bytes, None, through_shared=through_shared)
    address = private_address(1)
    first, last = before.port_range or (0, -1)
    order = {"address": address, "first": first, "last": last}
    with ExitStack() as stack:
        ramp, children = spread(stack, guard, "ports", lambda _: order, end.most, OWN_FULL)
    return Finding(
        known,
        ramp.count,
        bound_by(ramp, end, _culprit(before, ramp.errno)),
        stopped_by(ramp, end),
        [
            why(ramp, end, "ports"),
            *sentences(bounds("ports", before)),
            _meaning(address, ramp.count),
            *_in_one_process(children),
            _of_late_choice(),
            *not_known("ports", before),
        ],
        ramp.timeline,
        {"processes": children},
    )


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
    full = [
        bound
        for bound in bounds("backlog", before)
        if not bound.shared and diagnose.full(replace(bound, used=ramp.count), ())
    ]
    return Finding(
        known,
        ramp.count,
        bound_by(ramp, end, named([bound.name for bound in full]) if full else _culprit(before, ramp.errno)),
        stopped_by(ramp, end),
        [
            why(ramp, end, "connections"),
            f"the listener asked listen(2) for {BACKLOG:,}; it gets no more than net.core.somaxconn (listen(2))",
            *_overflows(before.listen_overflows, after.listen_overflows),
            *sentences([bound for bound in bounds("backlog", before) if bound.shared]),
            *_half_open(before.sysctls.get("net.ipv4.tcp_max_syn_backlog")),
            *not_known("backlog", before),
        ],
        ramp.timeline,
    )


def spread(
    stack: ExitStack, guard: Guard, resource: str, order: Order, most: int, full: frozenset[str]
) -> tuple[Ramp, int]:
    """Ramp in one child after another, each until it is full itself; return the sum, and how many there are.

    They are held until the stack is closed.
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
    """Return a loopback address that nobody else uses, where the system has more than one; else the usual one.

    On Linux all of 127/8 is local (the route ``local 127.0.0.0/8`` of the table local).
    """
    wanted = f"127.77.{os.getpid() % 250}.{number}"
    with socket.socket() as tried:
        try:
            tried.bind((wanted, 0))
        except OSError:
            return "127.0.0.1"
    return wanted


def _culprit(facts: Facts, errno: str | None) -> str | None:
    """Name what an errno stands for: no port left, or not even many processes have descriptors enough."""
    if errno in OWN_FULL:
        return "RLIMIT_NOFILE"
    if errno != "EADDRINUSE":
        return None
    return next((bound.name for bound in bounds("ports", facts) if bound.unit == "ports"), None)


def _meaning(address: str, found: int) -> str:
    return (
        f"so {address} can have {found:,} connections at a time to one destination (address and port); "
        "another destination, or another source address, has as many again (ip(7))"
    )


def _in_one_process(children: int) -> list[str]:
    if children < 2:
        return []
    return [f"it took {children} processes to hold them: one has not enough descriptors (RLIMIT_NOFILE)"]


def _of_late_choice() -> str:
    with socket.socket() as asked:
        try:
            asked.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        except OSError:
            return "IP_BIND_ADDRESS_NO_PORT is not known here: a socket bound to an address has its port from then on"
    return (
        "IP_BIND_ADDRESS_NO_PORT is known here: with it, a client that binds an address gets its port when it "
        "connects, so the ports count for each destination; without it, they count once for all destinations"
    )


def _overflows(before: int | None, after: int | None) -> list[str]:
    if before is None or after is None:
        return []
    return [f"the kernel counted {after - before:,} more ListenOverflows (/proc/net/netstat) meanwhile"]


def _half_open(most: int | None) -> list[str]:
    """Explain the other queue: a handshake on loopback is complete before the call returns, so it stays empty."""
    if most is None:
        return []
    return [
        f"net.ipv4.tcp_max_syn_backlog ({most:,}) bounds handshakes that are not complete; on loopback there are none"
    ]
