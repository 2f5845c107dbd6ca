"""The resources that this machine has left for a swarm, read once before the swarm is laid out."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass

from inflight.bench.measure import limits
from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.limits.ceilings import SHARED_PART, Ceiling, list_ceilings
from inflight.bench.measure.limits.facts import Facts, look
from inflight.strategies import Description


@dataclass(frozen=True, slots=True)
class Common:
    """A limit that applies to all processes of a swarm together."""

    name: str
    most: int
    """The amount that the swarm may use."""
    each: int
    """The amount per fetch in flight."""
    remedy: str
    """Evidence for the limit, and how to raise it."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """The resources that a swarm may use on this machine; None where unknown or unlimited."""

    descriptors: int | None
    """Maximum number of open descriptors of one process."""
    ports: int | None
    """Number of client ports for each destination."""
    threads: int | None
    """Maximum number of threads of all processes together: 90 % of what the shared limits have left."""
    threads_name: str | None
    threads_each: int | None
    """Maximum number of threads of one process."""
    threads_each_name: str | None
    memory_bytes: int | None
    """Memory for the swarm, including what the kernel uses for it."""
    cores: int
    threads_remedy: str = "raise it"
    commons: tuple[Common, ...] = ()
    """Other shared limits: open files, tracked connections."""


def allowances(strategy: Description | None = None, memory_bytes: int | None = None) -> Allowances:
    """Return what this machine allows; ``memory_bytes`` defaults to 90 % of the available memory.

    For a strategy that needs threads, or when none is given, some threads are started and ended to measure their cost.
    """
    facts = look(os.getpid())  # without the ports in use: an earlier swarm leaves many in TIME_WAIT
    threaded = strategy is None or strategy.threads_each > 0
    together = _lowest(list_ceilings("threads", facts), shared=True) if threaded else None
    alone = _lowest(limits.predict("threads"), shared=False) if threaded else None
    ports = _lowest(list_ceilings("ports", facts), shared=True, of="port")
    if memory_bytes is None and (memory := _lowest(list_ceilings("memory", facts), shared=True)) is not None:
        memory_bytes = int(SHARED_PART * memory.most)
    # Each end of a connection is one file. A tracked connection is one entry.
    files = _lowest(list_ceilings("descriptors", facts), shared=True)
    is_tracking = facts.get("net.netfilter.nf_conntrack_count", 0) > 0
    tracked = _lowest(list_ceilings("backlog", facts), shared=True, of="conntrack") if is_tracking else None
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
    """Return how many descriptors a process may have. Our processes raise their soft limit to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        return hard
    found = _lowest(list_ceilings("descriptors", facts), shared=False)
    return None if found is None else found.most


def _lowest(found: Sequence[Ceiling], *, shared: bool, of: str = "") -> Ceiling | None:
    own = [ceiling for ceiling in found if ceiling.shared == shared and of in ceiling.name]
    return min(own, key=lambda ceiling: ceiling.most, default=None)


def _remedy(ceiling: Ceiling) -> str:
    return f"{ceiling.evidence}; to raise it: {ceiling.remedy}"
