"""The record of an open loop: requests that are sent at a constant rate."""

from typing import ClassVar, Literal

from inflight.bench.core.records.parts import Crawled, LocustCounts, Needed, Site, Times, Window, Workload, same_length
from inflight.bench.core.records.values import Closed, Count, Maybe, Name, Ns, Number, PositiveCount, PositiveNumber


class OpenWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind open."""

    rate_per_s: PositiveNumber
    """How many requests are to be started a second."""
    seconds: PositiveNumber
    """For how long, after the warm-up."""
    users: PositiveCount
    """Locust users: the most requests that may be in flight."""
    latency: Name | None
    """The added latency, in the words of the experiment; null for a target other than the fake server."""
    mean_latency_ns: Ns | None
    """Its mean; null as above."""
    site: Site | None
    """The synthetic site; null as above."""
    target: Name | None
    """The one URL that is asked for instead of the synthetic site; null: the site."""


class Backlog(Closed, frozen=True, kw_only=True):
    """How many arrivals waited, over time."""

    at_ns: list[Ns]
    """When, from the beginning of the window."""
    waiting: list[Count]
    """Arrivals that were due and not yet started."""

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        same_length(self.at_ns, self.waiting)


class OpenMeasured(Window, frozen=True, kw_only=True):
    """What was measured of an open loop; empty when the trial did not get that far."""

    locust: Maybe[LocustCounts] = None
    """What Locust counted."""
    run_delay_ns: Maybe[Ns] = None
    """How long the client waited for a core; null where the system does not say."""
    offered_per_s: Maybe[Number] = None
    """Requests that were to be started a second."""
    arrivals: Maybe[Count] = None
    """Requests whose intended start lay in the window."""
    started: Maybe[Count] = None
    """Those of them that were started."""
    peak_in_flight: Maybe[Count] = None
    """The most that were in flight at once."""
    corrected: Maybe[Times] = None
    """Response times, from the intended start on."""
    uncorrected: Maybe[Times] = None
    """Service times, from the actual start on: what a client sees that does not know when it should have started.
    """
    backlog: Maybe[Backlog] = None
    """How many arrivals waited, over time."""
    kept: Maybe[bool] = None
    """Whether the rate was kept: all that was due was sent, and neither what was unanswered nor the lag of the
    starts grew.
    """
    not_kept: Maybe[Literal["too slow", "window too short"]] = None
    """Why it was not, as a code; null where it was."""
    why: Maybe[Name] = None
    """Why it was not, in words; null where it was."""


class OpenLoop(Crawled, tag="open", frozen=True, kw_only=True):
    """Requests that are sent at a constant rate of arrivals, whatever has been answered."""

    SINCE = 4
    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("offered_per_s", "arrivals", "started", "completed", "failed", "completed_per_s", "peak_in_flight"),
            *("corrected", "uncorrected", "backlog", "kept", "errors"),
        )
    }
    ABOVE_0 = ("offered_per_s",)

    workload: OpenWorkload
    measured: OpenMeasured
