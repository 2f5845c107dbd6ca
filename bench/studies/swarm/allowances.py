"""What this machine leaves to a swarm: looked up once, before anything is laid out."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass

from inflight.bench.measure import limits
from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.limits.bounds import bounds
from inflight.bench.measure.limits.ceilings import SHARED_PART, Ceiling, ceilings
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.limits.look import look
from inflight.bench.measure.limits.resources import in_bytes
from inflight.strategies import Description


@dataclass(frozen=True, slots=True)
class Common:
    """A limit that all processes of a swarm have together."""

    name: str
    most: int
    """What may be taken of it."""
    each: int
    """What a fetch in flight takes of it."""
    remedy: str
    """What is known of the limit, and how to raise it."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """What this machine leaves to a swarm; None where nobody says, or where there is no limit."""

    descriptors: int | None
    """That one process may have open."""
    ports: int | None
    """That the kernel gives to clients, for each destination."""
    threads: int | None
    """Of all processes together: 90 % of what is left of limits that others share."""
    threads_name: str | None
    threads_each: int | None
    """Of one process."""
    threads_each_name: str | None
    memory_bytes: int | None
    """That the swarm may take, the kernel's part included."""
    cores: int
    threads_remedy: str = "raise it"
    commons: tuple[Common, ...] = ()
    """Other limits that are shared: open files, tracked connections."""


def allowances(strategy: Description | None = None, memory_bytes: int | None = None) -> Allowances:
    """Look at what this machine allows, with so much memory (by default nine tenths of what is available).

    For a strategy that needs threads, or for any, some are started and ended to see what one costs a process.
    """
    facts = look(os.getpid())  # which ports are taken it leaves out: a swarm before this one left very many
    threaded = strategy is None or strategy.threads_each > 0
    together = _lowest(ceilings(bounds("threads", facts)), shared=True) if threaded else None
    alone = _lowest(limits.predict("threads"), shared=False) if threaded else None
    ports = _lowest(ceilings(bounds("ports", facts)), shared=True, of="port")
    if memory_bytes is None and (memory := _lowest(ceilings(in_bytes(facts)), shared=True)) is not None:
        memory_bytes = int(SHARED_PART * memory.most)
    # Both ends of a connection are a file each; where connections are tracked at all, it is one of these.
    files = _lowest(ceilings(bounds("descriptors", facts)), shared=True)
    tracked = _lowest(
        ceilings([bound for bound in bounds("backlog", facts) if bound.used]), shared=True, of="conntrack"
    )
    return Allowances(
        descriptors=_descriptors(facts),
        ports=None if ports is None else ports.most,
        threads=None if together is None else int(SHARED_PART * together.most),
        threads_name=None if together is None else together.name,
        threads_each=None if alone is None else alone.most,
        threads_each_name=None if alone is None else alone.name,
        memory_bytes=memory_bytes,
        cores=len(usable_cores()),
        threads_remedy="raise it" if together is None else _remedy(together),
        commons=tuple(
            Common(ceiling.name, int(SHARED_PART * ceiling.most), each, _remedy(ceiling))
            for ceiling, each in ((files, 2), (tracked, 1))
            if ceiling is not None
        ),
    )


def _descriptors(facts: Facts) -> int | None:
    """Return how many descriptors a process may have: ours raise their own soft limit, so the hard one counts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        return hard
    found = _lowest(ceilings(bounds("descriptors", facts)), shared=False)
    return None if found is None else found.most


def _lowest(found: Sequence[Ceiling], *, shared: bool, of: str = "") -> Ceiling | None:
    own = [ceiling for ceiling in found if ceiling.shared == shared and of in ceiling.name]
    return min(own, key=lambda ceiling: ceiling.most, default=None)


def _remedy(ceiling: Ceiling) -> str:
    return f"{ceiling.evidence}; to raise it: {ceiling.remedy}"
