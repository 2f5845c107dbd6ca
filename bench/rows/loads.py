"""Records of loads: open loops at a constant rate, closed loops of other clients, and swarms of processes."""

from typing import ClassVar, Literal

from inflight.bench.rows.parts import (
    Layers,
    Load,
    LocustCounts,
    Needed,
    Row,
    Site,
    SiteWorkload,
    Times,
    TimesTold,
    Workload,
)
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
    PositiveNumber,
    Share,
    Text,
)


class OpenWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind open."""

    rate_per_s: PositiveNumber  #: Number of requests to start per second.
    seconds: PositiveNumber  #: Length of the window, after the warm-up.
    users: PositiveCount  #: Number of Locust users: the maximum number of requests in flight.
    latency: Name | None  #: The added latency as the experiment gives it; null for a target other than the fake server.
    mean_latency_ns: Ns | None  #: Its mean; null for a target.
    site: Site | None  #: The synthetic site; null for a target.
    target: Name | None  #: The URL requested instead of the synthetic site; null: the site.


class Backlog(Lists, frozen=True, kw_only=True):
    """The number of waiting arrivals over time."""

    at_ns: list[Ns]  #: Times since the window began.
    waiting: list[Count]  #: Number of arrivals that were due and not yet started.


class OpenMeasured(Load, frozen=True, kw_only=True):
    """What was measured of an open loop; empty when the trial did not get that far."""

    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    run_delay_ns: Maybe[Ns] = None  #: Time that the client waited for a core; null where the system does not say.
    offered_per_s: Maybe[Number] = None  #: Requests due per second.
    arrivals: Maybe[Count] = None  #: Number of requests whose intended start was in the window.
    started: Maybe[Count] = None  #: Number of them that were started.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of requests in flight at once.
    corrected: Maybe[Times] = None  #: Response times, from the intended start.
    uncorrected: Maybe[Times] = None  #: Service times, from the actual start, as without a schedule.
    backlog: Maybe[Backlog] = None  #: The number of waiting arrivals over time.
    kept: Maybe[bool] = None  #: Whether all due requests were sent, and neither the unanswered ones nor the lag grew.
    not_kept: Maybe[Literal["too slow", "window too short"]] = None  #: Why the rate was not kept, as a code.
    why: Maybe[Name] = None  #: Why the rate was not kept, in words; null where it was.


class OpenLoop(Row, tag="open", frozen=True, kw_only=True):
    """Requests at a constant rate of arrivals, independent of answers."""

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("offered_per_s", "arrivals", "started", "completed", "failed", "completed_per_s", "peak_in_flight"),
            *("corrected", "uncorrected", "backlog", "kept", "errors"),
        )
    }
    ABOVE_0 = ("offered_per_s",)

    workload: OpenWorkload
    measured: OpenMeasured


class ClientWorkload(SiteWorkload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind client."""

    in_flight: PositiveCount  #: Number of connections, each with a request in flight.
    seconds: PositiveNumber  #: Length of the window, after the warm-up.


class ClientMeasured(Load, frozen=True, kw_only=True):
    """What one client measured; empty when the trial did not get that far."""

    service: Maybe[TimesTold] = None  #: Service times, as far as the client reports them.
    server_requests: Maybe[Count] = None  #: Requests that the server counted in the same window.
    run_delay_share: Maybe[Number] = None  #: Share of the time in which it was runnable but waited for its core.
    requests: Maybe[Count] = None  #: Requests sent, by the client's count.
    locust_requests: Maybe[Count] = None  #: Requests in Locust's statistics, if the client is Locust.


class Client(Row, frozen=True, kw_only=True):
    """Measurements of one of several clients of the same server, in a closed loop."""

    NEEDED: ClassVar[Needed] = {"measured": ("completed", "failed", "completed_per_s", "service", "server_requests")}

    workload: ClientWorkload
    measured: ClientMeasured


Knob = Text | Limit | Number | bool | None


class SwarmWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind swarm."""

    in_flight: PositiveCount  #: Number of fetches to have in flight at once, in all strategy processes together.
    ramp_per_s: PositiveCount | None  #: Number of fetches to start per second; null: as fast as possible.
    connection: Literal["keep-alive"]  #: One kept connection for each fetch in flight.
    site: Site
    processes: PositiveCount | None  #: Number of strategy processes asked for; null: as many as limits require.
    #: How long to keep the gates shut once all are in flight; absent: until memory has been read.
    hold_ns: Maybe[PositiveNs] = None


class Loss(Closed, frozen=True, kw_only=True):
    """A process that was lost."""

    what: Literal["strategy process", "server", "Locust worker", "Locust user"]  #: The kind of process.
    share: Count | None  #: Index of its share of the pages; null for a Locust worker.
    pid: PositiveCount | None  #: Its process id; null where unknown.
    how: Name  #: How it ended, such as: was killed by signal 9 (SIGKILL).
    in_flight: Count  #: Number of fetches it had in flight, by its last report.
    at_ns: Ns  #: Time of the loss, since the start.


class Latecomer(Closed, frozen=True, kw_only=True):
    """A process that joined too late to take part."""

    what: Name  #: The kind of process.
    name: Name  #: The name it gave itself.
    at_ns: Ns  #: Time of joining, since the start.


class BoundBy(Closed, frozen=True, kw_only=True):
    """The limit that made a swarm smaller than asked for."""

    name: Name  #: Name of the limit.
    allows: Count  #: Number of fetches in flight it allows.
    sentence: Name  #: The limit, and how to raise it.


class SwarmTimeline(Lists, frozen=True, kw_only=True):
    """The swarm over time."""

    at_ns: list[Ns]  #: Times since the start.
    held: list[Count]  #: Number of requests held by the gates.
    used_bytes: list[ChangeBytes | None]  #: Decrease of the available memory since the start; null: unknown.


class SwarmMeasured(Layers, frozen=True, kw_only=True):
    """What was measured of a swarm; empty when the trial did not get that far."""

    #: Number of fetches in flight that the limits of this machine allow, at most the number asked for.
    planned_in_flight: Maybe[Count] = None
    bound_by: Maybe[BoundBy] = None  #: Why less was planned than was asked for; null where it was not.
    client_processes: Maybe[Count] = None  #: Number of strategy processes.
    server_processes: Maybe[Count] = None  #: Number of servers.
    nodes: Maybe[Count] = None  #: Number of Locust workers; each runs some of the strategy processes.
    hosts: Maybe[Count] = None  #: Number of machines.
    timeline: Maybe[SwarmTimeline] = None  #: The swarm over time.
    errors: Maybe[dict[Name, PositiveCount]] = None  #: Number of errors by the client's message.
    client_cpu_ns: Maybe[Ns] = None  #: CPU time of the strategy processes, from the start until they had finished.
    server_cpu_ns: Maybe[Ns] = None  #: CPU time of the servers in that time.
    locust_cpu_ns: Maybe[Ns] = None  #: CPU time of the Locust master and workers in that time.
    reporting_share: Maybe[Share] = None  #: Share of the strategy processes' CPU time for reports to Locust.
    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    lost: Maybe[list[Loss]] = None  #: Processes that were lost before they had finished.
    late: Maybe[list[Latecomer]] = None  #: Processes that came late.


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
    #: What the strategy processes say they ran with: one value where all agree, else a list of all.
    knobs: dict[Name, Knob | dict[Name, Knob] | list[Knob | dict[Name, Knob] | list[Knob]]]  # type: ignore[assignment]
