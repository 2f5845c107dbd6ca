"""Records of loads from one process: open loops at a constant rate, and closed loops of other clients."""

from typing import ClassVar, Literal

from inflight.bench.rows.parts import LocustCounts, Needed, Row, Site, SiteWorkload, Times, TimesTold, Window, Workload
from inflight.bench.rows.values import Count, Lists, Maybe, Name, Ns, Number, PositiveCount, PositiveNumber


class OpenWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind open."""

    rate_per_s: PositiveNumber
    """Number of requests to start per second."""
    seconds: PositiveNumber
    """Length of the window, after the warm-up."""
    users: PositiveCount
    """Number of Locust users: the maximum number of requests in flight."""
    latency: Name | None
    """The added latency as the experiment gives it; null for a target other than the fake server."""
    mean_latency_ns: Ns | None
    """Its mean; null for a target."""
    site: Site | None
    """The synthetic site; null for a target."""
    target: Name | None
    """The URL requested instead of the synthetic site; null: the site."""


class Backlog(Lists, frozen=True, kw_only=True):
    """The number of waiting arrivals over time."""

    at_ns: list[Ns]
    """Times since the window began."""
    waiting: list[Count]
    """Number of arrivals that were due and not yet started."""


class OpenMeasured(Window, frozen=True, kw_only=True):
    """What was measured of an open loop; empty when the trial did not get that far."""

    locust: Maybe[LocustCounts] = None
    """What Locust counted."""
    run_delay_ns: Maybe[Ns] = None
    """Time that the client waited for a core; null where the system does not say."""
    offered_per_s: Maybe[Number] = None
    """Requests due per second."""
    arrivals: Maybe[Count] = None
    """Number of requests whose intended start was in the window."""
    started: Maybe[Count] = None
    """Number of them that were started."""
    peak_in_flight: Maybe[Count] = None
    """Maximum number of requests in flight at once."""
    corrected: Maybe[Times] = None
    """Response times, from the intended start."""
    uncorrected: Maybe[Times] = None
    """Service times, from the actual start, as a client without a schedule measures them."""
    backlog: Maybe[Backlog] = None
    """The number of waiting arrivals over time."""
    kept: Maybe[bool] = None
    """Whether the rate was kept: all due requests were sent, and neither the unanswered requests nor the lag grew."""
    not_kept: Maybe[Literal["too slow", "window too short"]] = None
    """Code of the reason why the rate was not kept; null where it was."""
    why: Maybe[Name] = None
    """Why the rate was not kept, in words; null where it was."""


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

    in_flight: PositiveCount
    """Number of connections, each with a request in flight."""
    seconds: PositiveNumber
    """Length of the window, after the warm-up."""


class ClientMeasured(Window, frozen=True, kw_only=True):
    """What one client measured; empty when the trial did not get that far."""

    service: Maybe[TimesTold] = None
    """Service times, as far as the client reports them."""
    server_requests: Maybe[Count] = None
    """Requests that the server counted in the same window."""
    run_delay_share: Maybe[Number] = None
    """Time that the client waited for a core, as a share of the window; null where the system does not say."""
    requests: Maybe[Count] = None
    """Requests sent, by the client's count."""
    locust_requests: Maybe[Count] = None
    """Requests in Locust's statistics, if the client is Locust."""


class Client(Row, frozen=True, kw_only=True):
    """Measurements of one of several clients of the same server, in a closed loop."""

    NEEDED: ClassVar[Needed] = {"measured": ("completed", "failed", "completed_per_s", "service", "server_requests")}

    workload: ClientWorkload
    measured: ClientMeasured
