"""What a trial would run into, as one sentence, before it starts."""

import resource

RESERVE = 64
"""Descriptors that a process needs beside its connections: standard streams, selector, listening sockets, files."""


def descriptors_needed(in_flight: int, *, per_fetch: bool) -> int:
    """Return how many descriptors a process needs to have this many connections open.

    With a connection a fetch the next one may be opened before the last one is closed (an event loop closes a turn
    later): each may need two.
    """
    return (2 if per_fetch else 1) * in_flight + RESERVE


def descriptor_shortage(in_flight: int, *, per_fetch: bool) -> str | None:
    """Say what forbids a process to have this many connections open, and what to do; None when nothing does.

    Worker and server raise their own soft limit, so the hard one counts.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    each = 2 if per_fetch else 1
    needed = descriptors_needed(in_flight, per_fetch=per_fetch)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return None
    if hard < RESERVE + each:
        return (
            f"the harness itself needs {RESERVE} descriptors, and {in_flight:,} in flight {needed:,} in all, but "
            f"RLIMIT_NOFILE (ulimit -Hn) is {hard:,}; raise it to at least {needed:,}"
        )
    return (
        f"{in_flight:,} in flight need {needed:,} descriptors, but RLIMIT_NOFILE (ulimit -Hn) "
        f"is {hard:,}; use at most {(hard - RESERVE) // each:,}, or raise the limit"
    )
