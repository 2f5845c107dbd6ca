"""Trials in which no strategy crawls on its own terms: probes and limits."""

from typing import Any, ClassVar, Literal

from msgspec import UNSET

from bench.core.records.parts import Knobs, Needed, Server, Trial
from bench.core.records.values import Bytes, Closed, Count, Limit, Maybe, Name, Ns, Number, Open, PositiveCount, Text

Argument = Name | Count | bool


class ProbeWorkload(Closed):
    """What was asked for, of a row of kind probe."""

    id: Name
    """Names the workload within its experiment."""
    probe: Name
    """Which probe: bench/studies/probes/programs/ has its program."""
    arguments: dict[Name, Argument]
    """What it was told."""


class LimitWorkload(Closed):
    """What was asked for, of a row of kind limit."""

    id: Name
    """Names the workload within its experiment."""
    resource: Literal["threads", "descriptors", "ports", "backlog", "memory"]
    """What is limited."""
    through_shared: bool
    """Whether limits shared with other processes were gone through."""


class Ceiling(Closed):
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


class NextCeiling(Closed):
    """The limit that would bind after the one that did."""

    name: Name
    """The limit's name."""
    most: Limit
    """How many more it allows."""


class LimitMeasured(Open):
    """What was predicted and found of a resource."""

    predicted: Maybe[Limit | None] = UNSET
    """How many more the lowest limit leaves, before anything was tried; null where no limit is known."""
    predicted_by: Maybe[Text | None] = UNSET
    """Which limit that is."""
    found: Maybe[Count | None] = UNSET
    """How far a process really came; null where nothing was tried."""
    bound_by: Maybe[Text | None] = UNSET
    """The limit that refused, or before which the search stopped; null where neither happened."""
    stopped_by: Maybe[Literal["failure", "shared limit", "memory budget", "deadline", "died", "not tried"]] = UNSET
    """What ended the search."""
    ceilings: Maybe[list[Ceiling]] = UNSET
    """What each limit allows, the lowest first."""
    evidence: Maybe[list[Text]] = UNSET
    """The figures behind it, in sentences."""
    next: Maybe[NextCeiling | None] = UNSET
    """The limit after that; null where none is known."""
    remedy: Maybe[Text | None] = UNSET
    """What to raise."""
    timeline: Maybe[list[tuple[Ns, Count]]] = UNSET
    """[nanoseconds since the start, how many there were]."""
    start_ns: Maybe[Ns | None] = UNSET
    """What starting one took."""
    maps_per_thread: Maybe[Number | None] = UNSET
    """Memory mappings of one thread."""
    parent_could_fork: Maybe[bool | None] = UNSET
    """Whether the parent process could still start another at the limit."""
    processes: Maybe[PositiveCount | None] = UNSET
    """In how many processes."""
    small_stack_bytes: Maybe[Bytes | None] = UNSET
    """The smaller stack that was tried too."""
    small_stack_found: Maybe[Count | None] = UNSET
    """How far the process came with it."""


class LimitFound(Trial, tag="limit"):
    """How much of a resource this machine lets a process have."""

    SINCE = 2
    NEEDED: ClassVar[Needed] = {"measured": ("found", "bound_by", "stopped_by", "evidence")}
    IS_CHECKED = False

    stack: Literal["none"]
    workload: LimitWorkload
    measured: LimitMeasured
    server: Server
    knobs: Knobs


class Probe(Trial):
    """A small program that shows one claim."""

    SINCE = 2
    IS_CHECKED = False

    stack: Literal["none"]
    workload: ProbeWorkload
    measured: dict[str, Any]
    """Whatever the program of the probe returns; ``probes`` has the records of those that there are."""
    server: Server
    knobs: Knobs
