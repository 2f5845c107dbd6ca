"""The layout of a swarm: how many processes, which pages each has, and how many fetches the machine allows.

``inflight swarm`` calls ``allowances`` (reads what the machine has left, once) and ``layout`` (pure) for its plan, and
``swarm.run`` calls them before it starts anything. Each strategy process has its own server and a *share* of the site's
pages, with one connection per page, all at once; both together are a pair. The smallest number of fetches that some
limit allows decides: it is ``planned``, if that is less than what was ``asked`` for.
"""

import math
import os
import resource
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from inflight.bench.measure import limits
from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.limits.ceilings import SHARED_PART, list_ceilings
from inflight.bench.measure.limits.facts import Facts, look
from inflight.bench.rows.kinds import Ceiling
from inflight.strategies import Description

DESCRIPTOR_PART = 0.95
"""Share of a descriptor limit for connections. The rest is for libraries, logs, selectors and listeners."""
DESCRIPTORS_ASIDE = 60
"""Minimum number of other open descriptors of a process: a server listens on several sockets for each port."""
DESTINATION_PART = 0.17
"""Share of the ephemeral ports for connections to one address and port.

The kernel searches for a free port one by one from a random start, ports of one parity first (__inet_hash_connect,
net/ipv4/inet_hashtables.c). A port is taken if a connection to the same destination has it, so each connect searches
longer than the last: 19,000 connections to one destination on 28,232 ports took 4 s, four destinations with 4,750 each
took 1 s together.
"""
MAX_PORTS_EACH = 64
"""Maximum number of ports of one server."""
WORTH_TWO = 2_000
"""Minimum number of fetches for two processes on a machine with two cores. A process fills one core, as its lock lets
one thread run at a time; below this number it finishes before a second process would have started."""
PREDICTED_PART = 0.95
"""Share of a predicted limit on threads that a process uses."""
EASY_THREADS = 4_000
"""Maximum number of threads of a process, unless the number of processes is given. A thread that waits for the
interpreter's lock wakes every 5 ms to ask for it (sys.setswitchinterval), so thousands of threads that are answered
together slow each other down."""
TASKS_EACH, TASKS_ASIDE = 4, 64
"""Tasks, and entries of other shared limits, that a pair of processes needs beside its fetches, and that Locust and the
harness need."""

# Estimates for plans only; the rows of a swarm have what it really used. Rounded from the reference run c100k
# (results/reference), aiohttp_client from the run memory.
PAIR_BYTES = 31_000_000
"""Memory of a strategy process and its server without any fetch."""
BOTH_ENDS_BYTES = 10_200
"""Kernel memory for a connection over loopback: slab and sockets of both ends."""
SERVER_BYTES = 4_200
"""Memory of the server for a connection."""
USER_BYTES = {
    "callbacks": 1_300,
    "generators": 2_700,
    "native_asyncio": 6_700,
    "aiohttp_client": 15_000,
    "thread_pool": 26_000,
}
"""Memory of the strategy process for a fetch."""
UNKNOWN_USER_BYTES = 15_000
"""The same of a strategy that was not measured."""
LOCUST_BYTES = 90_000_000
"""Memory of Locust's master and one worker."""
MEMORY_PART = 0.9
"""Share of a memory budget that a plan uses: the estimates are no more exact than that."""
THREAD_BYTES = 27_000
"""Kernel memory for a thread: its stack, its page tables and its task."""


class LayoutError(Exception):
    """No layout is possible on this machine; the message says why, and what to ask for or to raise."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of which each process, or all processes of a swarm together, may use a limited amount."""

    name: str
    """The limit."""
    max: int
    """The amount that may be used."""
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


@dataclass(frozen=True, slots=True)
class Share:
    """The pages of one strategy process and its server: ``count`` pages from page ``first`` on, counted from 0."""

    index: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit that makes a swarm smaller than asked for."""

    name: str
    allows: int
    """Number of fetches in flight that it allows."""
    sentence: str
    """The limit, the evidence for it, and how to raise it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A swarm that fits this machine: ``in_flight`` of the ``asked`` fetches, one process for each share."""

    asked: int
    in_flight: int
    """Number of fetches that are planned."""
    shares: tuple[Share, ...]
    ports_each: int
    """Number of ports that each server listens on."""
    bound_by: Bound | None
    """The limit that makes it fewer than asked; None: none does."""
    memory_bytes: int
    """Estimated memory of all processes and of the kernel."""


def layout(in_flight: int, allowed: Allowances, *, strategy: Description, processes: int | None = None) -> Layout:
    """Return the layout for ``in_flight`` fetches, or for as many as the machine allows. Raises LayoutError.

    ``processes`` is their number if the user has asked for one; None: as few as limits allow.
    """
    if strategy.most_in_flight is not None and in_flight > strategy.most_in_flight:
        raise LayoutError(
            f"{strategy.name} can have only {strategy.most_in_flight} in flight, so {in_flight:,} would take a process "
            "for each fetch; choose another strategy"
        )
    each, each_name = _max_of_process(allowed, strategy)

    def count(fetches: int) -> int:
        """Return the number of processes for some fetches."""
        fewest = 2 if fetches >= WORTH_TWO and allowed.cores > 1 else 1
        easy = math.ceil(fetches * strategy.threads_each / EASY_THREADS)
        return processes or max(fewest, easy, math.ceil(fetches / each))

    bound_by = _bound(in_flight, allowed, strategy, count)
    planned = in_flight if bound_by is None else bound_by.allows
    if bound_by is not None and planned < 1:
        raise LayoutError(f"{strategy.name} cannot have a single fetch in flight here: {bound_by.sentence}")
    if processes is not None and planned > processes * each:
        raise LayoutError(
            f"{processes} processes can have at most {processes * each:,} of {planned:,} in flight ({each_name}); "
            f"use at least {math.ceil(planned / each)}"
        )
    if processes is not None and processes > planned:
        raise LayoutError(f"{processes} processes are more than {planned:,} fetches in flight; use fewer")
    pairs = count(planned)
    small, larger = divmod(planned, pairs)  # shares differ by one page at most, the larger ones first
    shares = tuple(Share(n, n * small + min(n, larger), small + (n < larger)) for n in range(pairs))
    ports_each = math.ceil(shares[0].count / _max_to_one(allowed))
    return Layout(in_flight, planned, shares, ports_each, bound_by, _memory_bytes(planned, pairs, strategy))


def bytes_each(strategy: Description) -> int:
    """Return the estimated memory for one fetch in flight: of its process, of the server and of the kernel."""
    user = USER_BYTES.get(strategy.name, UNKNOWN_USER_BYTES)
    return BOTH_ENDS_BYTES + SERVER_BYTES + user + THREAD_BYTES * strategy.threads_each


def _max_to_one(allowed: Allowances) -> int:
    """Return the maximum number of connections to one address and port. Raises LayoutError."""
    if allowed.ports is None:
        return 1 << 62  # unknown: no bound
    fitting = int(DESTINATION_PART * allowed.ports)
    if fitting < 1:
        raise LayoutError(
            f"{allowed.ports} client ports are too few for any connection; widen the range: "
            'sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
        )
    return fitting


def max_connections(descriptors: int) -> int:
    """Return the maximum number of connections of a process with this limit on descriptors."""
    return min(int(DESCRIPTOR_PART * descriptors), descriptors - DESCRIPTORS_ASIDE)


def _max_of_process(allowed: Allowances, strategy: Description) -> tuple[int, str]:
    """Return how many fetches one process can have in flight, and the limit that decides it. Raises LayoutError."""
    bounds = [(MAX_PORTS_EACH * _max_to_one(allowed), "net.ipv4.ip_local_port_range")]
    if allowed.descriptors is not None:
        bounds.append((max_connections(allowed.descriptors), "RLIMIT_NOFILE, ulimit -Hn"))
    if (threads := allowed.threads) is not None:
        bounds.append((max(0, int(PREDICTED_PART * threads.max) - TASKS_EACH) // threads.each, threads.name))
    each, name = min(bounds)
    if each < 1:
        raise LayoutError(f"{name} does not allow a process of {strategy.name} a single fetch in flight; raise it")
    return each, name


def _bound(asked: int, allowed: Allowances, strategy: Description, count: Callable[[int], int]) -> Bound | None:
    """Return the shared limit that allows the fewest of the ``asked`` fetches; None if all allow all."""
    bounds = [(_most(asked, partial(_fits, common, count)), common.name, common.remedy) for common in allowed.together]
    if (room := allowed.memory_bytes) is not None:
        why = f"{room / 1e6:,.0f} MB available, about {bytes_each(strategy) / 1e3:.1f} kB per fetch"
        why += f" and {PAIR_BYTES / 1e6:.0f} MB per pair of processes; to allow more: --memory-budget"
        fits = _most(asked, lambda n: _memory_bytes(n, count(n), strategy) <= MEMORY_PART * room)
        bounds.append((fits, "memory", why))
    fits, name, why = min(bounds, default=(asked, "", ""))
    sentence = f"{name} allows {strategy.name} {fits:,} fetches in flight ({why})"
    return Bound(name, fits, sentence) if fits < asked else None


def _fits(shared: Resource, count: Callable[[int], int], fetches: int) -> bool:
    """Return whether all processes together need no more of a shared resource than there is.

    ``count`` returns the number of pairs of processes for some fetches.
    """
    return amount(shared, fetches, count(fetches)) <= shared.max


def amount(shared: Resource, fetches: int, pairs: int) -> int:
    """Return the amount of a shared resource that a swarm of this many pairs of processes needs."""
    return fetches * shared.each + pairs * TASKS_EACH + TASKS_ASIDE


def _most(asked: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``asked`` that fits. If a number fits, all smaller ones must fit too."""
    return bisect_right(range(1, asked + 1), False, key=lambda n: not fits(n))


def _memory_bytes(fetches: int, pairs: int, strategy: Description) -> int:
    """Return the estimated memory of a swarm with this many fetches in flight and pairs of processes."""
    return fetches * bytes_each(strategy) + pairs * PAIR_BYTES + LOCUST_BYTES


# What the machine has left


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
