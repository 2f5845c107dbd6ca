"""The record of a swarm: one strategy in many processes, each with a server of its own."""

from typing import ClassVar, Literal

from inflight.bench.rows.parts import Layers, LocustCounts, Needed, Row, Site, Workload
from inflight.bench.rows.values import (
    ChangeBytes,
    Closed,
    Count,
    Limit,
    Lists,
    Maybe,
    Name,
    Ns,
    Number,
    PositiveCount,
    PositiveNs,
    Share,
    Text,
)

Knob = Text | Limit | Number | bool | None


class SwarmWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind swarm."""

    in_flight: PositiveCount
    """Number of fetches to have in flight at once, in all strategy processes together."""
    ramp_per_s: PositiveCount | None
    """Number of fetches to start per second; null: as fast as possible."""
    connection: Literal["keep-alive"]
    """One kept connection for each fetch in flight."""
    site: Site
    processes: PositiveCount | None
    """Number of strategy processes asked for; null: as many as the limits of a process require."""
    hold_ns: Maybe[PositiveNs] = None
    """How long to keep the gates shut once all are in flight; absent: until memory has been read."""


class Loss(Closed, frozen=True, kw_only=True):
    """A process that was lost."""

    what: Literal["strategy process", "server", "Locust worker", "Locust user"]
    """The kind of process."""
    share: Count | None
    """Index of its share of the pages; null for a Locust worker."""
    pid: PositiveCount | None
    """Its process id; null where unknown."""
    how: Name
    """How it ended, such as: was killed by signal 9 (SIGKILL)."""
    in_flight: Count
    """Number of fetches it had in flight, by its last report."""
    at_ns: Ns
    """Time of the loss, since the start."""


class Latecomer(Closed, frozen=True, kw_only=True):
    """A process that joined too late to take part."""

    what: Name
    """The kind of process."""
    name: Name
    """The name it gave itself."""
    at_ns: Ns
    """Time of joining, since the start."""


class BoundBy(Closed, frozen=True, kw_only=True):
    """The limit that made a swarm smaller than asked for."""

    name: Name
    """Name of the limit."""
    allows: Count
    """Number of fetches in flight it allows."""
    sentence: Name
    """The limit, and how to raise it."""


class SwarmTimeline(Lists, frozen=True, kw_only=True):
    """The swarm over time."""

    at_ns: list[Ns]
    """Times since the start."""
    held: list[Count]
    """Number of requests held by the gates."""
    used_bytes: list[ChangeBytes | None]
    """Decrease of the system's available memory since the start; null where unknown."""


class SwarmMeasured(Layers, frozen=True, kw_only=True):
    """What was measured of a swarm; empty when the trial did not get that far."""

    planned_in_flight: Maybe[Count] = None
    """Number of fetches in flight that the limits of this machine allow, at most the number asked for."""
    bound_by: Maybe[BoundBy] = None
    """Why less was planned than was asked for; null where it was not."""
    client_processes: Maybe[Count] = None
    """Number of strategy processes."""
    server_processes: Maybe[Count] = None
    """Number of servers."""
    nodes: Maybe[Count] = None
    """Number of Locust workers; each runs some of the strategy processes."""
    hosts: Maybe[Count] = None
    """Number of machines."""
    timeline: Maybe[SwarmTimeline] = None
    """The swarm over time."""
    errors: Maybe[dict[Name, PositiveCount]] = None
    """Number of errors by the client's message."""
    client_cpu_ns: Maybe[Ns] = None
    """CPU time of the strategy processes, from the start until they had finished."""
    server_cpu_ns: Maybe[Ns] = None
    """CPU time of the servers in that time."""
    locust_cpu_ns: Maybe[Ns] = None
    """CPU time of the Locust master and workers in that time."""
    reporting_share: Maybe[Share] = None
    """Share of the strategy processes' CPU time that went into reporting to Locust."""
    locust: Maybe[LocustCounts] = None
    """What Locust counted."""
    lost: Maybe[list[Loss]] = None
    """Processes that were lost before they had finished."""
    late: Maybe[list[Latecomer]] = None
    """Processes that came late."""


class Swarm(Row, frozen=True, kw_only=True):
    """One strategy in many processes, with as many servers, steered by Locust.

    The servers hold every response while the layers of memory are read.
    """

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("planned_in_flight", "client_processes", "server_processes", "nodes", "hosts"),
            *("held_in_flight", "makespan_ns", "timeline", "pages", "failed_pages", "errors", "locust", "lost", "late"),
        )
    }
    ABOVE_0 = ("planned_in_flight", "makespan_ns")

    workload: SwarmWorkload
    measured: SwarmMeasured
    knobs: dict[Name, Knob | dict[Name, Knob] | list[Knob | dict[Name, Knob] | list[Knob]]]  # type: ignore[assignment]
    """What the strategy processes say they ran with: one value where all agree, else a list of all."""
