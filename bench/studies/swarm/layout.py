"""How many processes a swarm takes, who has which pages, and what of it a machine allows. Pure.

Each strategy process has a server of its own, and a share of the site's pages: one connection a page, all at once.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from inflight.bench.studies.swarm.allowances import Allowances, Common, allowances
from inflight.strategies import Description

__all__ = ["Allowances", "Bound", "Common", "Layout", "LayoutError", "Share", "allowances", "bytes_each", "layout"]

DESCRIPTOR_PART = 0.95
"""How much of a descriptor limit connections may take: the rest is for libraries, logs, selectors and listeners."""
DESCRIPTORS_ASIDE = 60
"""What a process has open at least, beside its connections: a server listens on several sockets for each port."""
DESTINATION_PART = 0.17
"""How much of the ephemeral ports the connections to one address and port may take.

The kernel looks for a free port one by one from a random one on, those of one parity first
(__inet_hash_connect, net/ipv4/inet_hashtables.c), and a port is taken if the same destination has it. So each connect
searches longer than the last: one destination with 19,000 connections on 28,232 ports took 4 s to fill, four
destinations of 4,750 took 1 s together.
"""
MOST_PORTS_EACH = 64
WORTH_TWO = 2_000
"""From so many fetches on there are at least two processes where there are two cores: a process fills one core, since
its lock lets one thread run at a time, and below this it is done before a second one would have been started."""
PREDICTED_PART = 0.95
"""How far a process goes into a limit on threads that was predicted, not counted."""
EASY_THREADS = 4_000
"""So many threads a process has where nothing else is asked for. Threads that want the interpreter's lock wake every
5 ms to ask for it (sys.setswitchinterval), so that thousands that were answered together hold each other up."""
TASKS_EACH, TASKS_ASIDE = 4, 64
"""What each pair of processes takes of what all share beside its fetches, and what Locust and the harness take."""

# What a plan goes by, and nothing else does: rounded from the reference run c100k (results/reference), aiohttp_client
# from the run memory. What a swarm really takes is in its rows.
PAIR_BYTES = 31_000_000
BOTH_ENDS_BYTES = 10_200
"""Of the kernel for a connection over loopback: slab and sockets of both ends."""
SERVER_BYTES = 4_200
USER_BYTES = {
    "callbacks": 1_300,
    "generators": 2_700,
    "native_asyncio": 6_700,
    "aiohttp_client": 15_000,
    "thread_pool": 26_000,
}
UNKNOWN_USER_BYTES = 15_000
LOCUST_BYTES = 90_000_000
"""Of its master and one worker."""
MEMORY_PART = 0.9
"""How much of a budget is planned for: these figures are no more exact than that."""
THREAD_BYTES = 27_000
"""Of the kernel for a thread: its stack, its page tables, its task and what goes with it."""


class LayoutError(Exception):
    """A swarm that cannot be laid out here; the message says why, and what to ask for or to raise."""


@dataclass(frozen=True, slots=True)
class Share:
    """The pages of one strategy process and its server: ``count`` of them from number ``first`` on, from 0."""

    index: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit that keeps a swarm from what was asked for."""

    name: str
    allows: int
    """How many fetches in flight."""
    sentence: str
    """The limit with what is known of it, and how to raise it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A swarm as it can be here: ``in_flight`` of the ``asked`` fetches, in as many processes as there are shares."""

    asked: int
    in_flight: int
    shares: tuple[Share, ...]
    ports_each: int
    """How many ports each server listens on."""
    bound_by: Bound | None
    memory_bytes: int
    """About what it takes, of all processes and of the kernel."""


def layout(in_flight: int, allowed: Allowances, *, strategy: Description, processes: int | None = None) -> Layout:
    """Return how to have so many fetches in flight, or as many as the machine allows. Raises LayoutError."""
    if strategy.most_in_flight is not None and in_flight > strategy.most_in_flight:
        raise LayoutError(
            f"{strategy.name} can have only {strategy.most_in_flight} in flight, so {in_flight:,} would take a process "
            "for each fetch; choose another strategy"
        )
    each, each_name = _most_each(allowed, strategy)

    def count(fetches: int) -> int:
        fewest = 2 if fetches >= WORTH_TWO and allowed.cores > 1 else 1
        easy = math.ceil(fetches * strategy.threads_each / EASY_THREADS)
        return processes or max(fewest, easy, math.ceil(fetches / each))

    bounds = [bound for bound in _bounds(in_flight, allowed, strategy, count) if bound.allows < in_flight]
    bound_by = min(bounds, key=lambda bound: bound.allows, default=None)
    planned = in_flight if bound_by is None else bound_by.allows
    if bound_by is not None and planned < 1:
        raise LayoutError(f"not one fetch of {strategy.name} can be in flight here: {bound_by.sentence}")
    if processes is not None and planned > processes * each:
        raise LayoutError(
            f"{processes} processes can have at most {processes * each:,} of {planned:,} in flight ({each_name}); "
            f"use at least {math.ceil(planned / each)}"
        )
    if processes is not None and processes > planned:
        raise LayoutError(f"{processes} processes are more than {planned:,} fetches in flight; use fewer")
    shares = divided(planned, count(planned))
    ports_each = math.ceil(shares[0].count / _most_to_one(allowed))
    return Layout(
        in_flight, planned, shares, ports_each, bound_by, round(_memory_bytes(planned, len(shares), strategy))
    )


def among(
    in_flight: int, allowed: Allowances, *, strategy: Description, processes: int | None, workers: int, here: int
) -> Layout:
    """Return the layout for so many Locust workers, ``here`` of which are on this machine. Raises LayoutError.

    Locust gives each of its workers as many shares as any other, so that this machine gets its part of the whole; and
    it is this machine whose limits are known: the others are taken to be like it.
    """
    own = None if processes is None else math.ceil(processes * here / workers)
    laid = layout(math.ceil(in_flight * here / workers), allowed, strategy=strategy, processes=own)
    possible = min(in_flight, laid.in_flight * workers // here)
    count = processes or min(possible, math.ceil(len(laid.shares) / here) * workers)
    return replace(laid, asked=in_flight, in_flight=possible, shares=divided(possible, count))


def bytes_each(strategy: Description) -> int:
    """Return about what one fetch in flight takes: of its process, of the server and of the kernel."""
    user = USER_BYTES.get(strategy.name, UNKNOWN_USER_BYTES)
    return BOTH_ENDS_BYTES + SERVER_BYTES + user + THREAD_BYTES * strategy.threads_each


def _most_to_one(allowed: Allowances) -> int:
    """Return how many connections one address and port may have. Raises LayoutError."""
    if allowed.ports is None:
        return 1 << 62
    most = int(DESTINATION_PART * allowed.ports)
    if most < 1:
        raise LayoutError(
            f"{allowed.ports} ports for clients are too few to connect anything; widen the range: "
            'sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
        )
    return most


def most_connections(descriptors: int) -> int:
    """Return how many connections a process may have that may have so many descriptors."""
    return min(int(DESCRIPTOR_PART * descriptors), descriptors - DESCRIPTORS_ASIDE)


def _most_each(allowed: Allowances, strategy: Description) -> tuple[int, str]:
    """Return how many fetches one process can have in flight, and what bounds it. Raises LayoutError."""
    found = [(MOST_PORTS_EACH * _most_to_one(allowed), "net.ipv4.ip_local_port_range")]
    if allowed.descriptors is not None:
        found.append((most_connections(allowed.descriptors), "RLIMIT_NOFILE, ulimit -Hn"))
    if allowed.threads_each is not None and strategy.threads_each:
        most = int(PREDICTED_PART * allowed.threads_each) - TASKS_EACH
        found.append((max(0, most) // strategy.threads_each, allowed.threads_each_name or "threads of a process"))
    each, name = min(found)
    if each < 1:
        raise LayoutError(f"{name} leaves a process of {strategy.name} not one fetch in flight; raise it")
    return each, name


def _bounds(asked: int, allowed: Allowances, strategy: Description, count: Callable[[int], int]) -> Iterator[Bound]:
    """Yield how many of the fetches that were asked for fit into what all processes share."""
    commons = [common for common in allowed.commons if common.each]
    if allowed.threads is not None and strategy.threads_each:
        name = allowed.threads_name or "threads"
        commons.append(Common(name, allowed.threads, strategy.threads_each, allowed.threads_remedy))
    for common in commons:
        yield _bound(common.name, strategy, common.remedy, _most(asked, partial(_fits, common, count)))
    room = allowed.memory_bytes
    if room is not None:
        told = f"{room / 1e6:,.0f} MB may be taken, about {bytes_each(strategy) / 1e3:.1f} kB by each fetch"
        told += f" and {PAIR_BYTES / 1e6:.0f} MB by each pair of processes"
        fits = _most(asked, lambda n: _memory_bytes(n, count(n), strategy) <= MEMORY_PART * room)
        yield _bound("memory", strategy, f"{told}; to allow more: --memory-budget", fits)


def _fits(common: Common, count: Callable[[int], int], fetches: int) -> bool:
    return fetches * common.each + count(fetches) * TASKS_EACH + TASKS_ASIDE <= common.most


def _bound(name: str, strategy: Description, why: str, fits: int) -> Bound:
    return Bound(name, fits, f"{name} allows {fits:,} in flight of {strategy.name} ({why})")


def _most(asked: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to what was asked for that fits; all below one that fits do too."""
    return bisect_right(range(1, asked + 1), False, key=lambda n: not fits(n))


def _memory_bytes(fetches: int, pairs: int, strategy: Description) -> int:
    return fetches * bytes_each(strategy) + pairs * PAIR_BYTES + LOCUST_BYTES


def divided(fetches: int, count: int) -> tuple[Share, ...]:
    """Return shares that differ by one page at most, the larger ones first."""
    small, larger = divmod(fetches, count)
    firsts = [n * small + min(n, larger) for n in range(count)]
    return tuple(Share(n, first, small + (n < larger)) for n, first in enumerate(firsts))
