"""What one arm of one block measured, as a row of kind ``arm``."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from inflight.bench.rows.crawls import ArmOf, CrawlWorkload
from inflight.bench.rows.parts import Answer, Crawled, Needed, Times
from inflight.bench.rows.values import (
    Bytes,
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
    cpu_per_page_ns: Maybe[Ns] = None
    """CPU time of the worker and its children per page, in the windows."""
    pages_per_s: Maybe[Number] = None
    """Pages per second in the windows."""
    cpu_share: Maybe[Number] = None
    """CPU time of the worker and its children as a share of the time, in the windows; with several cores, above 1."""
    clock: Maybe[Literal["task clock", "in band", "process clock"]] = None
    """By which clock the CPU time of all arms of the block was read: the kernel's task clock; in band, so the worker's
    own, between two pages; or the CPU clock of another process. Older rows lack it, and have the last."""
    clock_step_ns: Maybe[PositiveNs] = None
    """Resolution of that clock."""
    faults_per_page: Maybe[Number] = None
    """Page faults per page, in the windows; absent: unknown."""
    switches_per_page: Maybe[Number] = None
    """Context switches per page, in the windows; absent: unknown."""
    late_ns: Maybe[Ns] = None
    """How late the server answered: median of the windows; absent without an added latency."""
    others_share: Maybe[Share] = None
    """Share of the core of the block's arms that other programs used while these took turns; absent: unknown."""
    unit_ns: Maybe[PositiveNs] = None
    """CPU time of a fixed amount of work, a unit of inflight.strategies.core.work, in this worker after its crawl."""
    requests: Maybe[Count] = None
    """Requests of the arm that the server received, from its first to its last page."""
    peak_in_flight: Maybe[Count] = None
    """The most fetches that were in flight at a time, as the client counted."""
    held_in_flight: Maybe[Count] = None
    """How many were held behind the arm's gate after each of its slices."""
    peak_threads: Maybe[PositiveCount] = None
    """Threads of the worker and its children at the end of its slices."""
    rss_bytes: Maybe[Bytes] = None
    """Resident memory of the worker at the end of its slices; absent if it has children."""
    pss_bytes: Maybe[Bytes] = None
    """Memory of the worker and its children then, with its share of what other processes use too (PSS). Older rows lack
    it."""
    processes: Maybe[PositiveCount] = None
    """Number of processes: the worker and its children; absent: 1."""
    beside_server: Maybe[Literal[True]] = None
    """One of its cores was also the server's; absent: none was."""
    service: Maybe[Times] = None
    """Service times of the fetches that were started and finished within one window."""
    lag: Maybe[Times] = None
    """How late a timer of 10 ms fired in the model's loop, at each due time within a window; of threads, how late a
    thread that sleeps woke up. Absent: not asked for, or the model has no timer."""
    work_units: Maybe[PositiveCount] = None
    """The CPU work of each page, in units of inflight.strategies.core.work; absent for none."""
    work_ns: Maybe[Ns] = None
    """What the CPU work of a page costs in this worker, measured after its crawl: CPU time, median of five."""
    worked_pages: Maybe[Count] = None
    """For how many responses the CPU work was done."""
    server_lost: Maybe[Literal[True]] = None
    """The server was lost in mid-block: the failure is not the arm's."""


class Arm(Crawled, frozen=True, kw_only=True):
    """One arm of a block."""

    SINCE = 5
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
