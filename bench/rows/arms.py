"""What one arm of one block measured, as a row of kind ``arm``."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from inflight.bench.rows.crawls import ArmOf, CrawlWorkload
from inflight.bench.rows.parts import Answer, Needed, Row, Times
from inflight.bench.rows.values import (
    ClockNs,
    Count,
    Maybe,
    Name,
    Ns,
    Number,
    Open,
    PositiveCount,
    PositiveNs,
    Share,
)


class ArmWorkload(CrawlWorkload, frozen=True, kw_only=True):
    """What was asked for."""

    arm: ArmOf


class Window(Open, frozen=True, kw_only=True):
    """The part of one slice that counts."""

    cycle: Count
    """Which cycle of slices it belongs to, from 0; a cycle has one slice of each arm."""
    begin_ns: ClockNs
    """When it began, on the monotonic clock."""
    wall_ns: PositiveNs
    """How long it was."""
    cpu_ns: Ns
    """CPU time of the worker in it, all threads, user and system."""
    server_cpu_ns: Ns
    """CPU time of the server in it."""
    pages: Annotated[float, Meta(ge=0, le=1e15)]
    """Pages that were finished in it; with an added latency, a fraction of a page at its ends is counted too."""
    faults: Maybe[Count] = None
    """Page faults of the worker in it; absent: unknown. Older rows lack it, and the next ones."""
    switches: Maybe[Count] = None
    """Context switches of the worker in it; absent: unknown."""
    late_ns: Maybe[Ns] = None
    """How late the server answered in it, median; absent without an added latency."""


class ArmMeasured(Answer, frozen=True, kw_only=True):
    """What was measured; empty when the arm did not get that far."""

    block: Maybe[Name] = None
    """The id of the block: its arms were alive at the same time."""
    windows: Maybe[list[Window]] = None
    """The windows of the arm's slices, in their order."""
    settle_ns: Maybe[Ns] = None
    """How long the gate was open before each window."""
    cpu_share: Maybe[Number] = None
    """CPU time of the worker and its children as a share of the time, in the windows; with several cores, above 1."""
    clock: Maybe[Literal["task clock", "in band", "process clock"]] = None
    """By which clock the CPU time of all arms of the block was read: the kernel's task clock; in band, so the worker's
    own, between two pages; or the CPU clock of another process. Older rows lack it, and have the last."""
    clock_step_ns: Maybe[PositiveNs] = None
    """Resolution of that clock."""
    faults_per_page: Maybe[Number] = None
    """Page faults per page, in the windows; absent: unknown."""
    late_ns: Maybe[Ns] = None
    """How late the server answered: median of the windows; absent without an added latency."""
    others_share: Maybe[Share] = None
    """Share of the core of the block's arms that other programs used while these took turns; absent: unknown."""
    unit_ns: Maybe[PositiveNs] = None
    """CPU time of a fixed amount of work, a unit of inflight.strategies.core.work, in this worker after its crawl."""
    requests: Maybe[Count] = None
    """Requests of the arm that the server received, from its first to its last page."""
    processes: Maybe[PositiveCount] = None
    """Number of processes: the worker and its children; absent: 1."""
    beside_server: Maybe[Literal[True]] = None
    """One of its cores was also the server's; absent: none was."""
    lag: Maybe[Times] = None
    """How late a timer of 10 ms fired in the model's loop, at each due time within a window; of threads, how late a
    thread that sleeps woke up. Absent: not asked for, or the model has no timer."""
    server_lost: Maybe[Literal[True]] = None
    """The server was lost in mid-block: the failure is not the arm's."""


class Arm(Row, frozen=True, kw_only=True):
    """One arm of a block."""

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("block", "windows", "settle_ns", "cpu_per_page_ns", "pages_per_s", "cpu_share"),
            *("requests", "pages", "failed_pages", "tries", "peak_in_flight", "held_in_flight", "service"),
        ),
        "knobs": ("strategy", "python", "implementation", "gil"),
    }
    ABOVE_0 = ("pages_per_s", "cpu_per_page_ns")

    workload: ArmWorkload
    measured: ArmMeasured
