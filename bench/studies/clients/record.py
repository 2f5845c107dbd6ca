"""The record of one of several clients of the same server, in a closed loop."""

from typing import ClassVar, Literal

from inflight.bench.core.records.parts import Knobs, Needed, Row, Server, Site, TimesTold, Window
from inflight.bench.core.records.values import Closed, Count, Maybe, Name, Ns, Number, PositiveCount, PositiveNumber


class ClientWorkload(Closed, frozen=True, kw_only=True):
    """What was asked for, of a row of kind client."""

    id: Name
    """Names the workload within its experiment."""
    latency: Name
    """The added latency, in the words of the experiment."""
    mean_latency_ns: Ns
    """Its mean."""
    in_flight: PositiveCount
    """How many connections, with a request in flight on each."""
    seconds: PositiveNumber
    """For how long, after the warm-up."""
    site: Site


class ClientMeasured(Window, frozen=True, kw_only=True):
    """What one client saw; empty when the trial did not get that far."""

    service: Maybe[TimesTold] = None
    """Service times, as far as the client tells them."""
    server_requests: Maybe[Count] = None
    """Requests that the server counted in the same window."""
    run_delay_share: Maybe[Number] = None
    """How long the client waited for a core, as a share of the window; null where the system does not say."""
    requests: Maybe[Count] = None
    """Requests that the client says it has sent."""
    locust_requests: Maybe[Count] = None
    """Requests that Locust's statistics have, where it was Locust."""


class Client(Row, frozen=True, kw_only=True):
    """How one of several clients sees the same server, in a closed loop."""

    SINCE = 4
    NEEDED: ClassVar[Needed] = {"measured": ("completed", "failed", "completed_per_s", "service", "server_requests")}

    stack: Literal["shared", "own"]
    workload: ClientWorkload
    measured: ClientMeasured
    server: Server
    knobs: Knobs
