"""What ``inflight swarm --plan`` prints: what a swarm takes of each machine, what binds it, and what to type. Pure."""

import math
import textwrap
from collections.abc import Iterator

from inflight.bench.core import units
from inflight.bench.measure.limits.ceilings import SHARED_PART
from inflight.bench.studies.swarm.layout import (
    TASKS_ASIDE,
    TASKS_EACH,
    Allowances,
    Layout,
    bytes_each,
    layout,
    most_connections,
)
from inflight.strategies import Description

MASTER_PORT = 5557
"""On which Locust's own master listens unless told otherwise."""
LABEL, WIDTH = 12, 110
TRUST = (
    "Locust's protocol has no password: whoever reaches the master's port can take part in the swarm, and end it.\n"
    "Use a network that you trust, and no port that others can reach."
)


def plan_text(
    in_flight: int, allowed: Allowances, *, strategy: Description, processes: int | None = None, machines: int = 1
) -> str:
    """Return the plan of a swarm on so many machines, all taken to be like this one. Raises LayoutError."""
    own = math.ceil(in_flight / machines)
    planned = layout(own, allowed, strategy=strategy, processes=processes)
    where = "on this machine" if machines == 1 else f"on {machines} machines, {own:,} on each"
    possible = min(in_flight, planned.in_flight * machines)
    lines = [
        f"{in_flight:,} fetches of {strategy.name} in flight at once, {where}",
        "",
        *(_line(label, text) for label, text in _figures(planned, allowed, strategy)),
        "",
        "No limit of this machine binds."
        if planned.bound_by is None
        else f"A limit binds: {planned.bound_by.sentence}.",
        "",
        *_commands(possible, strategy.name, processes, machines),
    ]
    return "\n".join(lines)


def _line(label: str, text: str) -> str:
    indent = " " * LABEL
    return textwrap.fill(text, WIDTH, initial_indent=f"{label:{LABEL}}", subsequent_indent=indent)


def _figures(planned: Layout, allowed: Allowances, strategy: Description) -> Iterator[tuple[str, str]]:
    """Yield what one machine gives: a label, and figures with the limits behind them."""
    pairs, most, unknown = len(planned.shares), planned.shares[0].count, "; the limit is unknown"
    yield "processes", f"{pairs} strategy {'process' if pairs == 1 else 'processes'}, each with a server of its own"
    room = unknown
    if allowed.descriptors is not None:
        room = f", of {most_connections(allowed.descriptors):,} for {allowed.descriptors:,} descriptors (ulimit -Hn)"
    yield "descriptors", f"{most:,} connections in each process{room}"
    told = f"{planned.ports_each} for each server, up to {math.ceil(most / planned.ports_each):,} connections to one"
    room = unknown if allowed.ports is None else f", of {allowed.ports:,} client ports (net.ipv4.ip_local_port_range)"
    yield "ports", told + room
    if strategy.threads_each:
        yield "threads", _threads(planned, allowed, strategy.threads_each)
    room = unknown if allowed.memory_bytes is None else f"; {units.size(allowed.memory_bytes)} may be taken"
    each = f"{units.size(bytes_each(strategy), 2)} for each fetch, at both ends and in the kernel"
    yield "memory", f"about {units.size(planned.memory_bytes)}: {each}{room}"


def _threads(planned: Layout, allowed: Allowances, each: int) -> str:
    """Return how many threads it takes, and for all that was asked for, how high the limits have to be."""

    def taken(fetches: int, pairs: int) -> int:
        return fetches * each + TASKS_EACH * pairs + TASKS_ASIDE

    told = f"{taken(planned.in_flight, len(planned.shares)):,} in all"
    if allowed.threads is not None:
        told += f", of {allowed.threads:,} that {allowed.threads_name} leaves, with a tenth for others"
    if planned.in_flight < planned.asked:
        needed = taken(planned.asked, math.ceil(planned.asked / planned.shares[0].count))
        least = math.ceil(needed / SHARED_PART)
        told += f"; all {planned.asked:,} take {needed:,}: kernel.pid_max, kernel.threads-max, the tasks of the control"
        told += f" group and ulimit -u have to be above {least:,} and what others use"
    if allowed.threads_each is not None:
        told += f"; one process gets about {allowed.threads_each:,} ({allowed.threads_each_name})"
    return told


def _commands(in_flight: int, strategy: str, processes: int | None, machines: int) -> list[str]:
    told = f"inflight swarm --strategy {strategy} --in-flight {in_flight}"
    told += "" if processes is None else f" --processes {processes}"
    if machines == 1:
        return [told]
    return [
        "Each machine runs its own servers and strategy processes over its own loopback; only the messages of Locust's",
        "master and workers cross the network. ADDRESS is that of the first machine.",
        "",
        f"machine 1:  {told} --expect {machines - 1} --bind ADDRESS --port {MASTER_PORT}",
        *(f"machine {n}:  inflight swarm --join ADDRESS:{MASTER_PORT}" for n in range(2, machines + 1)),
        "",
        TRUST,
    ]
