"""The text of ``inflight swarm --plan``: what a swarm needs, which limit binds, and the commands. Pure."""

import math
import textwrap
from collections.abc import Iterator

from inflight.bench import units
from inflight.bench.measure.limits.ceilings import SHARED_PART
from inflight.bench.measure.swarm.allowances import Allowances
from inflight.bench.measure.swarm.layout import TASKS_ASIDE, TASKS_EACH, Layout, bytes_each, layout, most_connections
from inflight.strategies import Description

MASTER_PORT = 5557
"""Default port of Locust's master."""
LABEL, WIDTH = 12, 110
"""Widths of the column of labels, and of the text."""
TRUST = (
    "Locust's protocol has no password: anybody who reaches the master's port can join the swarm, and end it.\n"
    "Use a network that you trust, and a port that nobody else can reach."
)


def plan_text(
    in_flight: int, allowed: Allowances, *, strategy: Description, processes: int | None = None, machines: int = 1
) -> str:
    """Return the plan of a swarm on ``machines`` machines with the limits of this one. Raises LayoutError."""
    own = math.ceil(in_flight / machines)
    planned = layout(own, allowed, strategy=strategy, processes=processes)
    where = "on this machine" if machines == 1 else f"on {machines} machines, {own:,} on each"
    possible = min(in_flight, planned.in_flight * machines)
    lines = [
        f"{in_flight:,} fetches of {strategy.name} in flight at once, {where}",
        "",
        *(
            textwrap.fill(text, WIDTH, initial_indent=f"{label:{LABEL}}", subsequent_indent=" " * LABEL)
            for label, text in _figures(planned, allowed, strategy)
        ),
        "",
        "No limit of this machine binds."
        if planned.bound_by is None
        else f"A limit binds: {planned.bound_by.sentence}.",
        "",
        *_commands(possible, strategy.name, processes, machines),
    ]
    return "\n".join(lines)


def _figures(planned: Layout, allowed: Allowances, strategy: Description) -> Iterator[tuple[str, str]]:
    """Yield what the swarm needs of one machine: a label, and figures with the limits behind them."""
    pairs, most, unknown = len(planned.shares), planned.shares[0].count, "; the limit is unknown"
    yield "processes", f"{pairs} strategy {'process' if pairs == 1 else 'processes'}, each with a server of its own"
    room = unknown
    if allowed.descriptors is not None:
        room = f", of {most_connections(allowed.descriptors):,} for {allowed.descriptors:,} descriptors (ulimit -Hn)"
    yield "descriptors", f"{most:,} connections in each process{room}"
    ports = f"{planned.ports_each} for each server, up to {math.ceil(most / planned.ports_each):,} connections to one"
    room = unknown if allowed.ports is None else f", of {allowed.ports:,} client ports (net.ipv4.ip_local_port_range)"
    yield "ports", ports + room
    if strategy.threads_each:
        yield "threads", _threads(planned, allowed, strategy.threads_each)
    room = unknown if allowed.memory_bytes is None else f", of {units.size(allowed.memory_bytes)} for the swarm"
    each = f"{units.size(bytes_each(strategy), 2)} for each fetch, at both ends and in the kernel"
    yield "memory", f"about {units.size(planned.memory_bytes)}: {each}{room}"


def _threads(planned: Layout, allowed: Allowances, each: int) -> str:
    """Return how many threads the swarm needs, and how high the limits must be for all that was asked for."""

    def needed(fetches: int, pairs: int) -> int:
        return fetches * each + TASKS_EACH * pairs + TASKS_ASIDE

    text = f"{needed(planned.in_flight, len(planned.shares)):,} in all"
    if allowed.threads is not None:
        text += f", of {allowed.threads:,} that {allowed.threads_name} leaves, with a tenth for other processes"
    if planned.in_flight < planned.asked:
        all_of_it = needed(planned.asked, math.ceil(planned.asked / planned.shares[0].count))
        least = math.ceil(all_of_it / SHARED_PART)
        text += f"; all {planned.asked:,} need {all_of_it:,}: kernel.pid_max, kernel.threads-max, the tasks of the"
        text += f" control group and ulimit -u must be above {least:,} plus what other processes use"
    if allowed.threads_each is not None:
        text += f"; one process gets about {allowed.threads_each:,} ({allowed.threads_each_name})"
    return text


def _commands(in_flight: int, strategy: str, processes: int | None, machines: int) -> list[str]:
    command = f"inflight swarm --strategy {strategy} --in-flight {in_flight}"
    command += "" if processes is None else f" --processes {processes}"
    if machines == 1:
        return [command]
    return [
        "Each machine runs its own servers and strategy processes over its own loopback. Only messages between",
        "Locust's master and workers cross the network. ADDRESS is the address of machine 1.",
        "",
        f"machine 1:  {command} --expect {machines - 1} --host ADDRESS --port {MASTER_PORT}",
        *(f"machine {n}:  inflight swarm --join ADDRESS:{MASTER_PORT}" for n in range(2, machines + 1)),
        "",
        TRUST,
    ]
