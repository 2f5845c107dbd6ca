"""The record of one of several clients of the same server, in a closed loop."""

from typing import ClassVar

from inflight.bench.core.records.parts import Crawled, Needed, SiteWorkload, TimesTold, Window
from inflight.bench.core.records.values import Count, Maybe, Number, PositiveCount, PositiveNumber


class ClientWorkload(SiteWorkload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind client."""

    in_flight: PositiveCount
    """How many connections, with a request in flight on each."""
    seconds: PositiveNumber
    """For how long, after the warm-up."""


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


class Client(Crawled, frozen=True, kw_only=True):
    """How one of several clients sees the same server, in a closed loop."""

    SINCE = 4
    NEEDED: ClassVar[Needed] = {"measured": ("completed", "failed", "completed_per_s", "service", "server_requests")}

    workload: ClientWorkload
    measured: ClientMeasured
