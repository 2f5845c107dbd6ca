"""The record of a swarm: one strategy in many processes, with as many servers."""

from typing import Any, ClassVar, Literal

from inflight.bench.core.records.parts import Crawled, Layers, LocustCounts, Needed, Site, Workload, same_length
from inflight.bench.core.records.values import (
    ChangeBytes,
    Closed,
    Count,
    Maybe,
    Name,
    Ns,
    PositiveCount,
    PositiveNs,
    Share,
    Text,
)


class SwarmWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind swarm."""

    in_flight: PositiveCount
    """How many fetches are to be in flight at once, in all strategy processes together."""
    ramp_per_s: PositiveCount | None
    """How many more a second are to be set going; null: as fast as it goes."""
    connection: Literal["keep-alive"]
    """One connection for each fetch in flight, kept."""
    site: Site
    processes: PositiveCount | None
    """How many strategy processes were asked for; null: as many as the limits of a process make necessary."""
    hold_ns: Maybe[PositiveNs] = None
    """How long the gates were to stay shut when all were in flight; absent: until memory had been read."""


class Loss(Closed, frozen=True, kw_only=True):
    """A process that was lost."""

    what: Literal["strategy process", "server", "Locust worker", "Locust user"]
    """What died before its time."""
    share: Count | None
    """Which share of the pages was its own; null of a Locust worker."""
    pid: PositiveCount | None
    """Its process id; null where it was never known."""
    how: Name
    """How it ended, such as: was killed by signal 9 (SIGKILL)."""
    in_flight: Count
    """How many fetches were in flight in it when last heard of."""
    at_ns: Ns
    """When, from the order to go on."""


class Latecomer(Closed, frozen=True, kw_only=True):
    """A process that joined after the order to go, or not in time."""

    what: Name
    """What kind of process."""
    name: Name
    """The name it gave itself."""
    at_ns: Ns
    """When, from the order to go on."""


class BoundBy(Closed, frozen=True, kw_only=True):
    """A limit."""

    name: Name
    """The limit's name."""
    allows: Count
    """How many fetches in flight it allows."""
    sentence: Name
    """The limit, and what to raise."""


class SwarmTimeline(Closed, frozen=True, kw_only=True):
    """The swarm over time."""

    at_ns: list[Ns]
    """When, from the order to go on."""
    held: list[Count]
    """Requests that the gates held."""
    used_bytes: list[ChangeBytes | None]
    """What the memory available in the whole system had lost since the order; null where unknown."""

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        same_length(self.at_ns, self.held, self.used_bytes)


class Locust(LocustCounts, frozen=True, kw_only=True):
    """What Locust counted of a swarm."""

    version: Name
    """Locust's version."""


class SwarmMeasured(Layers, frozen=True, kw_only=True):
    """What was measured of a swarm; empty when the trial did not get that far."""

    planned_in_flight: Maybe[Count] = None
    """What the limits of this machine allow of what was asked for; all of it where none binds."""
    bound_by: Maybe[BoundBy] = None
    """Why less was planned than was asked for; null where it was not."""
    client_processes: Maybe[Count] = None
    """Strategy processes."""
    server_processes: Maybe[Count] = None
    """Servers."""
    nodes: Maybe[Count] = None
    """Locust workers, each of which has some of the strategy processes."""
    hosts: Maybe[Count] = None
    """Machines."""
    held_in_flight: Maybe[Count] = None
    """Requests that the gates of all servers together had confirmed to hold."""
    reach_ns: Maybe[Ns] = None
    """From the order to go until the gates held all; absent or null when they never did."""
    drain_ns: Maybe[Ns] = None
    """From opening the gates until the last strategy process had finished."""
    makespan_ns: Maybe[Ns] = None
    """From the order to go until the last strategy process had finished."""
    timeline: Maybe[SwarmTimeline] = None
    """The swarm over time."""
    errors: Maybe[dict[Name, PositiveCount]] = None
    """What went wrong, in the client's words, and how often."""
    client_cpu_ns: Maybe[Ns] = None
    """CPU time of the strategy processes, from the order to go until they had finished."""
    server_cpu_ns: Maybe[Ns] = None
    """CPU time of the servers in that time."""
    locust_cpu_ns: Maybe[Ns] = None
    """CPU time of the Locust master and workers in that time."""
    reporting_share: Maybe[Share] = None
    """Share of the strategy processes' CPU time that went into reporting to Locust."""
    locust: Maybe[Locust] = None
    """What Locust counted."""
    lost: Maybe[list[Loss]] = None
    """Processes that were lost before they had finished."""
    late: Maybe[list[Latecomer]] = None
    """Processes that came late."""
    ephemeral_ports: Maybe[Count] = None
    """How many ports the kernel gives to clients; null where unknown."""
    port_refusals: Maybe[Count] = None
    """Pages that failed because the client had no port left (EADDRNOTAVAIL)."""
    held_disturbed: Maybe[Text] = None
    """What of others had moved the layers of the whole system between the base and the time when all were held; null:
    nothing.
    """


class Swarm(Crawled, frozen=True, kw_only=True):
    """One strategy in many processes, with as many servers, steered by Locust.

    The servers hold every response while the layers of memory are read.
    """

    SINCE = 4
    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("planned_in_flight", "client_processes", "server_processes", "nodes", "hosts"),
            *("held_in_flight", "makespan_ns", "timeline", "pages", "failed_pages", "errors", "locust", "lost", "late"),
        )
    }
    ABOVE_0 = ("planned_in_flight", "makespan_ns")

    workload: SwarmWorkload
    measured: SwarmMeasured
    knobs: dict[str, Any]  # type: ignore[assignment]
    """What the strategy processes say they ran with: one value where all agree, else a list of all."""
