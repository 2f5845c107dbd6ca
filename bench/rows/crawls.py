"""Records of crawls, of the arms of blocks, and of idle threads and tasks, whose memory is read like that of crawls."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from inflight.bench.rows.parts import Answer, Layers, Needed, Row, Samples, SiteWorkload, Timeline, Times, Workload
from inflight.bench.rows.values import (
    Bytes,
    ClockNs,
    Closed,
    Connection,
    Count,
    Maybe,
    Name,
    Ns,
    Number,
    Open,
    PositiveCount,
    PositiveNs,
    Share,
    Text,
)

Metric = Literal["cpu_per_page", "throughput", "memory"]


class ArmOf(Closed, frozen=True, kw_only=True):
    """One strategy with its settings; settings with their default value are absent."""

    name: Name  #: Name of the arm within its block.
    strategy: Name  #: Id of the strategy.
    #: reference: the others are compared with it. placebo: a copy of the reference. compared: any other arm.
    role: Literal["reference", "placebo", "compared"]
    label: Name  #: Name of the arm with all settings that are not the default.
    in_flight: Maybe[PositiveCount] = None  #: The in-flight cap; absent: 100.
    connection: Maybe[Connection] = None  #: The use of connections; absent: keep-alive.
    revision: Maybe[Name] = None  #: Git revision of its strategies; absent: the files as they are.
    repository: Maybe[Name] = None  #: Git repository of its strategies; absent: those of the harness.
    python: Maybe[Name] = None  #: Interpreter of its worker; absent: that of the harness.
    interpreter: Maybe[Name] = None  #: Label of the interpreter in a run that compares several; absent: one.
    requirements: Maybe[list[Text]] = None  #: Requirements installed into an environment of its own.
    variables: Maybe[dict[Name, Text]] = None  #: Environment variables of its worker; absent: none.
    cores: Maybe[PositiveCount] = None  #: Number of cores for its worker; absent: 1.
    busy_threads: Maybe[PositiveCount] = None  #: Number of threads of its worker that compute while it crawls.
    lag: Maybe[Literal[True]] = None  #: Whether the lag of its loop is measured.
    planted_loops: Maybe[Count] = None  #: A planted slowdown: empty loop iterations added to each page.


class ComparisonOf(Closed, frozen=True, kw_only=True):
    """The comparison of a row."""

    name: Name  #: Name of the comparison within its run.
    metrics: list[Metric]  #: Metrics asked for; empty: memory alone, of a model with one fetch in flight.
    gated: list[Metric]  #: Metrics of the verdict: chosen before the first block, by a block that is not stored.


class CrawlWorkload(SiteWorkload, frozen=True, kw_only=True):
    """What was asked for."""

    in_flight: PositiveCount  #: The in-flight cap: maximum number of fetches open at a time.
    connection: Connection  #: keep-alive: a connection per worker, reopened if it was closed; per-fetch: one per fetch.
    cpu: Maybe[Text] = None  #: CPU work per page, as the experiment wrote it, such as 2ms; absent: none.
    cpu_ns: Maybe[PositiveNs] = None  #: CPU work per page that was asked for, on one core.
    parked: Maybe[Literal[True]] = None  #: Memory is read again when all fetches but one are answered.
    arm: Maybe[ArmOf] = None  #: The arm of a block or comparison, or of a run that compares interpreters.
    comparison: Maybe[ComparisonOf] = None  #: The comparison that the row belongs to, if any.

    def __post_init__(self) -> None:
        """Reject cpu without cpu_ns or the reverse, and a comparison without an arm. Raises ValueError."""
        if (self.cpu is None) != (self.cpu_ns is None):
            raise ValueError("of cpu and cpu_ns one alone")
        if self.comparison is not None and self.arm is None:
            raise ValueError("a comparison without the arm that the row is of")


class Measured(Layers, frozen=True, kw_only=True):
    """Measurements of the client; empty if the trial ended before them."""

    cpu_user_ns: Maybe[Ns] = None  #: User CPU time of the client process during the crawl (getrusage).
    cpu_system_ns: Maybe[Ns] = None  #: System CPU time of the client process during the crawl (getrusage).
    voluntary_switches: Maybe[Count] = None  #: Number of voluntary context switches: the process waited.
    involuntary_switches: Maybe[Count] = None  #: Number of involuntary context switches: the process was preempted.
    gc_collections: Maybe[Count] = None  #: Number of garbage collections during the crawl.
    gc_total_ns: Maybe[Ns] = None  #: Total time of these collections.
    gc_max_ns: Maybe[Ns] = None  #: Time of the longest one.
    uss_bytes: Maybe[Bytes] = None  #: Private memory of the worker (USS), at rest after the crawl.
    response: Maybe[Times] = None  #: Response times in this closed loop: admitted to the frontier, to finished.
    queueing: Maybe[Times] = None  #: Queueing delays: admitted to started.
    timeline: Maybe[Timeline] = None  #: The crawl over time.
    steady_service: Maybe[Times] = None  #: Service times of the fetches started after the cap was first reached.
    steady_response: Maybe[Times] = None  #: Response times of the same fetches.
    run_delay_ns: Maybe[Ns] = None  #: Time in which the main thread was runnable but waited for its core.
    samples: Maybe[Samples] = None  #: Samples of the worker taken from outside during the crawl.
    warm_up_ns: Maybe[Ns] = None  #: Time from the call of crawl until the cap was reached; null: it was not.
    #: Time in which other processes used the client's core during the crawl (its busy time minus the client's CPU
    #: time), in ticks of 10 ms; absent unless the client is pinned to one core.
    others_ns: Maybe[Ns] = None
    reach_cpu_ns: Maybe[Ns] = None  #: CPU time of the worker in that time, in ticks of 10 ms.
    reach_server_cpu_ns: Maybe[Ns] = None  #: CPU time of the server in that time.
    started: Maybe[Count] = None  #: Number of idle threads or tasks started.
    start_ns: Maybe[Ns] = None  #: Time to start them.
    cpu_ns: Maybe[Ns] = None  #: CPU time to start them.
    ps_rss_bytes: Maybe[Bytes] = None  #: Resident memory as shown by ps -o rss=.
    parked_disturbed: Maybe[Text] = None  #: How other processes changed them between base and parked; null: not at all.

    def __post_init__(self) -> None:
        """Reject different numbers of times for the same fetches. Raises ValueError."""
        for alike in ((self.service, self.response, self.queueing), (self.steady_service, self.steady_response)):
            if len({None if times is None else times.count for times in alike}) > 1:
                raise ValueError("times of the same fetches that differ in their number")


class IdleWorkload(Workload, frozen=True, kw_only=True):
    """Workload of idle threads or tasks."""

    what: Name  #: The kind of thread or task.
    n: PositiveCount  #: Number to start.
    variables: Maybe[dict[Name, Text]] = None  #: Environment variables of the process; absent: none.


_ANSWER = (
    *("pages", "failed_pages", "pages_per_s", "makespan_ns", "cpu_per_page_ns", "cpu_user_ns", "cpu_system_ns"),
    *("peak_in_flight", "tries", "service", "response", "queueing", "timeline"),
)
_SERVED = (
    *("requests", "peak_in_flight", "responses_by_status", "cpu_ns", "cpu_share"),
    *("lateness_count", "lateness_p90_ns", "lateness_p99_ns"),
)
_SIZES = ("held_uss_bytes", "held_rss_bytes")
_RAN_WITH = ("strategy", "python", "implementation", "gil")


class Crawl(Row, frozen=True, kw_only=True):
    """A timed crawl."""

    NEEDED: ClassVar[Needed] = {"measured": _ANSWER, "server": _SERVED, "knobs": _RAN_WITH}
    ABOVE_0 = ("pages", "peak_in_flight", "pages_per_s", "makespan_ns", "cpu_per_page_ns")

    workload: CrawlWorkload
    measured: Measured


class Memory(Row, frozen=True, kw_only=True):
    """A crawl in which the server holds all responses while the layers of memory are read.

    Of its times, only reach_ns and drain_ns are meaningful.
    """

    NEEDED: ClassVar[Needed] = {
        "measured": (*_ANSWER, "held_in_flight", *_SIZES, "reach_ns"),
        "server": _SERVED,
        "knobs": _RAN_WITH,
    }
    ABOVE_0 = ("held_in_flight", *_SIZES)

    workload: CrawlWorkload
    measured: Measured


class Idle(Row, frozen=True, kw_only=True):
    """N idle threads or tasks of one kind, held while memory is read."""

    NEEDED: ClassVar[Needed] = {"measured": ("started", "start_ns", "cpu_ns", *_SIZES)}
    ABOVE_0 = _SIZES

    stack: Literal["none"]
    workload: IdleWorkload
    measured: Measured


class ArmWorkload(CrawlWorkload, frozen=True, kw_only=True):
    """What was asked for."""

    arm: ArmOf


class Window(Open, frozen=True, kw_only=True):
    """The part of one slice that counts."""

    cycle: Count  #: Which cycle of slices it belongs to, from 0; a cycle has one slice of each arm.
    begin_ns: ClockNs  #: When it began, on the monotonic clock.
    wall_ns: PositiveNs  #: How long it was.
    cpu_ns: Ns  #: CPU time of the worker in it, all threads, user and system.
    server_cpu_ns: Ns  #: CPU time of the server in it.
    pages: Annotated[float, Meta(ge=0, le=1e15)]  #: Pages finished in it; with latency also fractions at its ends.
    faults: Maybe[Count] = None  #: Page faults of the worker in it. Older rows lack it, and the next ones.
    switches: Maybe[Count] = None  #: Context switches of the worker in it; absent: unknown.
    late_ns: Maybe[Ns] = None  #: How late the server answered in it, median; absent without an added latency.


class ArmMeasured(Answer, frozen=True, kw_only=True):
    """What was measured; empty when the arm did not get that far."""

    block: Maybe[Name] = None  #: The id of the block: its arms were alive at the same time.
    windows: Maybe[list[Window]] = None  #: The windows of the arm's slices, in their order.
    settle_ns: Maybe[Ns] = None  #: How long the gate was open before each window.
    cpu_share: Maybe[Number] = None  #: CPU time of the worker and its children as a share of the time; cores add up.
    #: By which clock the CPU time of all arms of the block was read: the kernel's task clock; in band, so the worker's
    #: own, between two pages; or the CPU clock of another process. Older rows lack it, and have the last.
    clock: Maybe[Literal["task clock", "in band", "process clock"]] = None
    clock_step_ns: Maybe[PositiveNs] = None  #: Resolution of that clock.
    faults_per_page: Maybe[Number] = None  #: Page faults per page, in the windows; absent: unknown.
    late_ns: Maybe[Ns] = None  #: How late the server answered: median of the windows; absent without an added latency.
    others_share: Maybe[Share] = None  #: Share of the core that other programs used while the block's arms took turns.
    unit_ns: Maybe[PositiveNs] = None  #: CPU time of a unit of strategies.core.work in this worker, after its crawl.
    requests: Maybe[Count] = None  #: Requests of the arm that the server received, from its first to its last page.
    processes: Maybe[PositiveCount] = None  #: Number of processes: the worker and its children; absent: 1.
    beside_server: Maybe[Literal[True]] = None  #: One of its cores was also the server's; absent: none was.
    #: How late a timer of 10 ms fired in the model's loop, at each due time within a window; of threads, how late a
    #: thread that sleeps woke up. Absent: not asked for, or the model has no timer.
    lag: Maybe[Times] = None
    server_lost: Maybe[Literal[True]] = None  #: The server was lost in mid-block: the failure is not the arm's.


class Arm(Row, frozen=True, kw_only=True):
    """One arm of a block."""

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("block", "windows", "settle_ns", "cpu_per_page_ns", "pages_per_s", "cpu_share"),
            *("requests", "pages", "failed_pages", "tries", "peak_in_flight", "held_in_flight", "service"),
        ),
        "knobs": _RAN_WITH,
    }
    ABOVE_0 = ("pages_per_s", "cpu_per_page_ns")

    workload: ArmWorkload
    measured: ArmMeasured
