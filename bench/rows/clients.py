"""The record of one of several clients of the same server, in a closed loop."""

from typing import ClassVar

from inflight.bench.rows.parts import Needed, Row, SiteWorkload, TimesTold, Window
from inflight.bench.rows.values import Count, Maybe, Number, PositiveCount, PositiveNumber


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
