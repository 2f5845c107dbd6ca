"""What ``inflight swarm --plan`` prints: what a swarm takes of each machine, what binds it, and what to type. Pure."""

import math

from bench.core import units
from bench.measure.limits.ceilings import SHARED_PART
from bench.studies.swarm.layout import TASKS_ASIDE, TASKS_EACH, Allowances, Layout, bytes_each, layout, most_connections
from strategies import Description

MASTER_PORT = 5557
"""On which Locust's own master listens unless told otherwise."""
LABEL = 12
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
    lines = [f"{units.count(in_flight)} fetches of {strategy.name} in flight at once, {_where(machines, own)}", ""]
    lines += [
        f"{label:{LABEL}}{text}"
        for label, texts in _figures(planned, allowed, strategy)
        for label, text in zip((label, *[""] * len(texts)), texts, strict=False)
    ]
    possible = in_flight if planned.bound_by is None else min(in_flight, planned.in_flight * machines)
    lines += ["", *_binding(planned, machines), "", *_commands(possible, strategy.name, processes, machines)]
    return "\n".join(lines)


def _where(machines: int, own: int) -> str:
    return "on this machine" if machines == 1 else f"on {machines} machines, {units.count(own)} on each"


def _figures(planned: Layout, allowed: Allowances, strategy: Description) -> list[tuple[str, list[str]]]:
    """Return what one machine gives: a label, and lines."""
    pairs, most = len(planned.shares), planned.shares[0].count
    return [
        ("processes", [f"{pairs} strategy {'process' if pairs == 1 else 'processes'}, each with a server of its own"]),
        ("descriptors", [_descriptors(most, allowed)]),
        ("ports", _ports(planned, most, allowed)),
        *([("threads", _threads(planned, allowed, strategy))] if strategy.threads_each else []),
        ("memory", [_memory(planned, allowed, strategy)]),
    ]


def _descriptors(most: int, allowed: Allowances) -> str:
    if allowed.descriptors is None:
        return f"{most:,} connections in each process; no limit is known"
    room = most_connections(allowed.descriptors)
    told = f"{most:,} connections in each process, of {room:,} for which {allowed.descriptors:,} descriptors leave room"
    return f"{told} (ulimit -Hn)"


def _ports(planned: Layout, most: int, allowed: Allowances) -> list[str]:
    told = f"each server listens on {planned.ports_each}, so up to {math.ceil(most / planned.ports_each):,} connections"
    if allowed.ports is None:
        return [f"{told} share one; how many the kernel gives to clients is not known"]
    return [
        f"{told} share one, of {allowed.ports:,} ports that the kernel gives to clients",
        "(net.ipv4.ip_local_port_range): the fuller one destination is, the longer a connect looks for a free port",
    ]


def _threads(planned: Layout, allowed: Allowances, strategy: Description) -> list[str]:
    """Say how many threads it takes, and for all that was asked for, how high the limits have to be."""
    each, pairs = strategy.threads_each, len(planned.shares)
    needed = planned.asked * each + TASKS_EACH * math.ceil(planned.asked / planned.shares[0].count) + TASKS_ASIDE
    lines = [f"{planned.in_flight * each + TASKS_EACH * pairs + TASKS_ASIDE:,} in all"]
    if allowed.threads is not None:
        lines[0] += f", of {allowed.threads:,} that {allowed.threads_name} leaves, with a tenth for others"
    if planned.in_flight < planned.asked:
        least = math.ceil(needed / SHARED_PART)
        lines.append(
            f"all {planned.asked:,} take {needed:,}: kernel.pid_max and kernel.threads-max, and the tasks that a"
        )
        lines.append(f"control group or ulimit -u allows, have to be above {least:,} and what others use")
    if allowed.threads_each is not None:
        lines.append(f"one process gets about {allowed.threads_each:,} ({allowed.threads_each_name})")
    return lines


def _memory(planned: Layout, allowed: Allowances, strategy: Description) -> str:
    each = units.size(bytes_each(strategy), 2)
    told = f"about {units.size(planned.memory_bytes)}: {each} a fetch, both ends and the kernel's part"
    return told if allowed.memory_bytes is None else f"{told}; {units.size(allowed.memory_bytes)} may be taken"


def _binding(planned: Layout, machines: int) -> list[str]:
    if planned.bound_by is None:
        return ["No limit of this machine binds."]
    each = " on each machine" if machines > 1 else ""
    possible = f"{units.count(planned.in_flight)} of {units.count(planned.asked)}"
    return [
        f"A limit binds: no more than {possible} are possible{each}.",
        f"{planned.bound_by.sentence}.",
    ]


def _commands(in_flight: int, strategy: str, processes: int | None, machines: int) -> list[str]:
    told = f"inflight swarm --strategy {strategy} --in-flight {in_flight}"
    told += "" if processes is None else f" --processes {processes}"
    if machines == 1:
        return [told]
    return [
        "Each machine runs its own servers and strategy processes over its own loopback; only what Locust's master and",
        "workers say to each other crosses the network. ADDRESS is that of the first machine.",
        "",
        f"machine 1:  {told} --expect {machines - 1} --bind ADDRESS --port {MASTER_PORT}",
        *(f"machine {n}:  inflight swarm --join ADDRESS:{MASTER_PORT}" for n in range(2, machines + 1)),
        "",
        TRUST,
    ]
