"""The resources that this machine has left for a swarm, read once before the swarm is laid out."""

import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inflight.bench.measure import limits
from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.limits.ceilings import SHARED_PART, list_ceilings
from inflight.bench.measure.limits.facts import Facts, look
from inflight.bench.rows.kinds import Ceiling
from inflight.strategies import Description


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of which each process, or all processes of a swarm together, may use a limited amount."""

    name: str
    """The limit."""
    max: int
    each: int = 1
    """The amount per fetch in flight."""
    remedy: str = "raise it"
    """Evidence for the limit, and how to raise it."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """The resources that a swarm may use on this machine; None where unknown or unlimited."""

    descriptors: int | None
    """Maximum number of open descriptors of one process."""
    ports: int | None
    """Number of client ports for each destination."""
    threads: Resource | None
    """Threads of one process."""
    together: tuple[Resource, ...]
    """What all processes share: threads, open files, tracked connections. 90 % of what is left."""
    memory_bytes: int | None
    """Memory for the swarm, including what the kernel uses for it."""
    cores: int


def allowances(strategy: Description, memory_bytes: int | None = None) -> Allowances:
    """Return what this machine allows; ``memory_bytes`` defaults to 90 % of the available memory.

    For a strategy that needs threads, some threads are started and ended to measure their cost.
    """
    facts = look(os.getpid())  # without the ports in use: an earlier swarm leaves many in TIME_WAIT
    ports = _lowest(list_ceilings("ports", facts), shared=True, part="port")
    if memory_bytes is None and (memory := _lowest(list_ceilings("memory", facts), shared=True)) is not None:
        memory_bytes = int(SHARED_PART * memory.most)
    alone = _lowest(limits.predict("threads"), shared=False) if strategy.threads_each else None
    return Allowances(
        descriptors=_descriptors(facts),
        ports=None if ports is None else ports.most,
        threads=None if alone is None else Resource(alone.name, alone.most, strategy.threads_each),
        together=tuple(_together(facts, strategy)),
        memory_bytes=memory_bytes,
        cores=len(usable_cores()),
    )


def _together(facts: Facts, strategy: Description) -> Iterator[Resource]:
    """Yield what all processes share. Each end of a connection is one file; a tracked connection is one entry."""
    is_tracking = facts.get("net.netfilter.nf_conntrack_count", 0) > 0
    for name, part, each in (
        ("threads", "", strategy.threads_each),
        ("descriptors", "", 2),
        ("backlog", "conntrack", int(is_tracking)),
    ):
        ceiling = _lowest(list_ceilings(name, facts), shared=True, part=part) if each else None
        if ceiling is not None:
            remedy = f"{ceiling.evidence}; to raise it: {ceiling.remedy}"
            yield Resource(ceiling.name, int(SHARED_PART * ceiling.most), each, remedy)


def _descriptors(facts: Facts) -> int | None:
    """Return how many descriptors a process may have. Our processes raise their soft limit to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        return hard
    lowest = _lowest(list_ceilings("descriptors", facts), shared=False)
    return None if lowest is None else lowest.most


def _lowest(ceilings: Sequence[Ceiling], *, shared: bool, part: str = "") -> Ceiling | None:
    """Return the lowest shared limit, or the lowest of a process, with this part in its name."""
    fitting = [ceiling for ceiling in ceilings if ceiling.shared == shared and part in ceiling.name]
    return min(fitting, key=lambda ceiling: ceiling.most, default=None)
