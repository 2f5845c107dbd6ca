"""Trials in which no strategy crawls on its own terms: probes and limits."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from inflight.bench.core.records.parts import Knobs, Needed, Row, Server
from inflight.bench.core.records.values import (
    Bytes,
    Closed,
    Count,
    Limit,
    Maybe,
    Name,
    Ns,
    Number,
    Open,
    PositiveCount,
    Text,
)

Argument = Name | Count | bool


class ProbeWorkload(Closed, frozen=True, kw_only=True):
    """What was asked for, of a row of kind probe."""

    id: Name
    """Names the workload within its experiment."""
    probe: Name
    """Which probe: bench/studies/probes/programs/ has its program."""
    arguments: dict[Name, Argument]
    """What it was told."""


class LimitWorkload(Closed, frozen=True, kw_only=True):
    """What was asked for, of a row of kind limit."""

    id: Name
    """Names the workload within its experiment."""
    resource: Literal["threads", "descriptors", "ports", "backlog", "memory"]
    """What is limited."""
    through_shared: bool
    """Whether limits shared with other processes were gone through."""


class Ceiling(Closed, frozen=True, kw_only=True):
    """One limit, and how many more of the resource it lets the process have."""

    name: Name
    """The limit's name."""
    most: Limit
    """How many more it allows; below 0 where more is in use than it allows."""
    shared: bool
    """With other processes: who goes up to it takes from them."""
    evidence: Text
    """The figures of the limit."""
    remedy: Text
    """What to raise, and how."""


class NextCeiling(Closed, frozen=True, kw_only=True):
    """The limit that would bind after the one that did."""

    name: Name
    """The limit's name."""
    most: Limit
    """How many more it allows."""


LimitNames = Text | list[Text]
"""Which limit binds: its name, or the names of all that cannot be told apart."""


def limit_text(names: str | Sequence[str] | None) -> str | None:
    """Write which limit binds; None where none is known."""
    return names if names is None or isinstance(names, str) else f"ambiguous: {' or '.join(names)}"


class LimitMeasured(Open, frozen=True, kw_only=True):
    """What was predicted and found of a resource."""

    predicted: Maybe[Limit] = None
    """How many more the lowest limit leaves, before anything was tried; null where no limit is known."""
    predicted_by: Maybe[LimitNames] = None
    """Which limit that is."""
    found: Maybe[Count] = None
    """How far a process really came; null where nothing was tried."""
    bound_by: Maybe[LimitNames] = None
    """The limit that refused, or before which the search stopped; null where neither happened."""
    stopped_by: Maybe[Literal["failure", "shared limit", "memory budget", "deadline", "died", "not tried"]] = None
    """What ended the search."""
    ceilings: Maybe[list[Ceiling]] = None
    """What each limit allows, the lowest first."""
    evidence: Maybe[list[Text]] = None
    """The figures behind it, in sentences."""
    next: Maybe[NextCeiling] = None
    """The limit after that; null where none is known."""
    remedy: Maybe[Text] = None
    """What to raise."""
    timeline: Maybe[list[tuple[Ns, Count]]] = None
    """[nanoseconds since the start, how many there were]."""
    start_ns: Maybe[Ns] = None
    """What starting one took."""
    maps_per_thread: Maybe[Number] = None
    """Memory mappings of one thread."""
    parent_could_fork: Maybe[bool] = None
    """Whether the parent process could still start another at the limit."""
    processes: Maybe[PositiveCount] = None
    """In how many processes."""
    small_stack_bytes: Maybe[Bytes] = None
    """The smaller stack that was tried too."""
    small_stack_found: Maybe[Count] = None
    """How far the process came with it."""


class LimitFound(Row, tag="limit", frozen=True, kw_only=True):
    """How much of a resource this machine lets a process have."""

    SINCE = 2
    NEEDED: ClassVar[Needed] = {"measured": ("stopped_by", "evidence")}
    IS_CHECKED = False

    stack: Literal["none"]
    workload: LimitWorkload
    measured: LimitMeasured
    server: Server
    knobs: Knobs


class Probe(Row, frozen=True, kw_only=True):
    """A small program that shows one claim."""

    SINCE = 2
    IS_CHECKED = False

    stack: Literal["none"]
    workload: ProbeWorkload
    measured: Any
    """What the program of the probe returns; bench/studies/probes/record.py has the record of each."""
    server: Server
    knobs: Knobs
