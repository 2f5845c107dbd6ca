"""The records of all kinds of trials: a class for each kind of row in rows.jsonl, and the parts that only it has.

``records.read`` makes them from stored lines, ``measure.trial`` (by ``records.make``) from what it has measured; all
readers use their fields. Most kinds have three classes: the workload (what was asked for), what was measured, and the
row with both, whose class variables (``parts.Row``) say what differs by kind. Durations are in nanoseconds (``_ns``),
sizes in bytes (``_bytes``), shares from 0 to 1. The ``#:`` comment of a field is its meaning in row.schema.json.
"""

from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta, field
from msgspec.structs import force_setattr

from inflight.bench.rows.parts import (
    MAX_NS,
    Bytes,
    ChangeBytes,
    ClockNs,
    Closed,
    Count,
    Disturbances,
    Layers,
    Limit,
    Lists,
    Maybe,
    Name,
    Needed,
    Ns,
    Number,
    Open,
    PositiveCount,
    PositiveNs,
    PositiveNumber,
    Row,
    Share,
    Site,
    Timed,
    Times,
    Workload,
)

Connection = Literal["keep-alive", "per-fetch"]
"""Use of connections: kept for further fetches, or a new one for each fetch."""
Metric = Literal["cpu_per_page", "throughput", "memory", "calls"]
"""What a comparison of two sides compares (``plan.comparison``); calls stands alone."""
Resource = Literal["threads", "descriptors", "ports", "backlog", "memory"]
"""Resources of which this machine allows a process a limited amount (``measure.limits``)."""
RESOURCES: tuple[str, ...] = get_args(Resource)
"""All of them in their order."""
Role = Literal["reference", "placebo", "compared"]
"""Role of an arm in its block: see ``Arm.role``."""
IN_FLIGHT = 100
"""Default number in flight."""
KEEP_ALIVE: Connection = "keep-alive"
"""Default use of connections."""
FEW_SIZES = 3
"""Minimum number of different numbers in flight for a slope of memory where a fetch takes much of it: over TLS, and
with an HTTP stack of its own."""
OVER_TLS = " over TLS"
"""End of the use of connections of a crawl of https, as readers have it: they compare it with no other."""


class Arm(Closed, frozen=True):
    """One strategy with its settings; settings with their default value are absent."""

    name: Name  #: Name of the arm within its block.
    strategy: Name  #: Id of the strategy.
    #: reference: the others are compared with it. placebo: a copy of the reference. compared: any other arm.
    role: Role
    label: str = ""  #: Name of the arm with all settings that are not the default.
    in_flight: PositiveCount = IN_FLIGHT  #: The in-flight cap; absent: 100.
    connection: Connection = KEEP_ALIVE  #: The use of connections; absent: keep-alive.
    tls: bool = False  #: Whether it crawls https; absent: http.
    revision: Maybe[Name] = None  #: Git revision of its strategies; absent: the files as they are.
    repository: Maybe[Name] = None  #: Git repository of its strategies; absent: those of the harness.
    #: Interpreter of its worker: a path or a name, such as those of ``plan.trial.PAIRS``; absent: that of the harness.
    python: Maybe[Name] = None
    interpreter: Maybe[Name] = None  #: Label of the interpreter in a run that compares several; absent: one.
    requirements: tuple[str, ...] = ()  #: Requirements installed into an environment of its own.
    variables: dict[Name, str] = field(default_factory=dict)  #: Environment variables of its worker; absent: none.
    cores: PositiveCount = 1  #: Number of cores for its worker; absent: 1. If several, the last may be the server's.
    busy_threads: Count = 0  #: Number of threads of its worker that compute while it crawls, without ever waiting.
    lag: bool = False  #: Whether the lag of its loop is measured: how late a timer fires while it crawls.
    planted_loops: Maybe[Count] = None  #: A planted slowdown: empty loop iterations added to each page.

    def __post_init__(self) -> None:
        """Set the label: the strategy with its settings, ``callbacks@v1.2 (python3.12, in_flight=10)``."""
        if self.connection == KEEP_ALIVE:  # a default is left out of rows only if it is the same object
            force_setattr(self, "connection", KEEP_ALIVE)
        settings = [
            *([self.repository] if self.repository and not self.revision else []),
            *([self.python] if self.python else []),
            *self.requirements,
            *([f"in_flight={self.in_flight}"] if self.in_flight != IN_FLIGHT else []),
            *([self.connection] if self.connection != KEEP_ALIVE else []),
            *(["tls"] if self.tls else []),
            *(f"{key}={value}" for key, value in self.variables.items()),
            *([f"cores={self.cores}"] if self.cores != 1 else []),
            *([f"busy_threads={self.busy_threads}"] if self.busy_threads else []),
            *(["lag"] if self.lag else []),
            *([f"{self.planted_loops} loops planted"] if self.planted_loops else []),
        ]
        name = self.strategy + (f"@{self.revision}" if self.revision else "")
        force_setattr(self, "label", f"{name} ({', '.join(settings)})" if settings else name)


class ComparisonOf(Closed, frozen=True, kw_only=True):
    """The comparison of a row."""

    name: Name  #: Name of the comparison within its run.
    metrics: list[Metric]  #: Metrics asked for; empty: memory alone, of a model with one fetch in flight.
    gated: list[Metric]  #: Metrics of the verdict: chosen before the first block, by a block that is not stored.


class CrawlWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for of a crawl."""

    latency: Name  #: The added latency, as the experiment wrote it: 0, 50ms, lognormal 50ms 400ms.
    mean_latency_ns: Ns  #: Its mean.
    site: Site
    in_flight: PositiveCount  #: The in-flight cap: maximum number of fetches open at a time.
    connection: Connection  #: keep-alive: a connection per worker, reopened if it was closed; per-fetch: one per fetch.
    tls: bool = False  #: Whether the site is one of https; absent: http.
    cpu: str = "0"  #: CPU work per page, as the experiment wrote it, such as 2ms; absent: none.
    cpu_ns: Ns = 0  #: CPU work per page that was asked for, on one core; absent: none.
    #: Memory is read again when all fetches but one are answered and their workers wait.
    parked: Maybe[Literal[True]] = None
    arm: Maybe[Arm] = None  #: The arm of a block or comparison, or of a run that compares interpreters.
    comparison: Maybe[ComparisonOf] = None  #: The comparison that the row belongs to, if any.

    def __post_init__(self) -> None:
        """Reject cpu without cpu_ns or the reverse, and a comparison without an arm. Raises ValueError."""
        if (self.cpu == "0") != (self.cpu_ns == 0):
            raise ValueError("of cpu and cpu_ns one alone")
        if self.comparison is not None and self.arm is None:
            raise ValueError("a comparison without the arm that the row is of")

    @property
    def connections(self) -> str:
        """The use of connections, ``keep-alive`` or ``per-fetch``, with ``over TLS`` behind it if they are of https."""
        return self.connection + OVER_TLS if self.tls else self.connection

    @property
    def roots(self) -> int:
        """Number of pages that a crawl starts with, from the first page on: enough to reach the cap at once."""
        return min(self.in_flight, self.site.pages) if self.site.links else self.site.pages


class Timeline(Lists, frozen=True, kw_only=True):
    """The crawl over time, in bins of equal length."""

    bin_ns: Annotated[int, Meta(ge=1000, le=10**11)]  #: Length of a bin, at least one microsecond.
    completions: Annotated[list[Count], Meta(max_length=10**6)]  #: Number of fetches finished in each bin.
    in_flight: list[Count]  #: Number of fetches in flight at the end of each bin.


class Samples(Lists, frozen=True, kw_only=True):
    """Samples of the worker taken from outside during the crawl, at most 200."""

    at_ns: list[Ns]  #: Times since the order to crawl, in ascending order.
    threads: list[Count]  #: Number of threads.
    rss_bytes: list[Bytes]  #: Resident memory (RSS).
    cpu_ns: list[Ns | None]  #: CPU time since the order to crawl; null if unknown.


class CrawlMeasured(Timed, frozen=True, kw_only=True):
    """Measurements of the client; empty if the trial ended before them."""

    cpu_user_ns: Maybe[Ns] = None  #: User CPU time of the client process during the crawl; the split is sampled.
    cpu_system_ns: Maybe[Ns] = None  #: System CPU time of the client process during the crawl; the split is sampled.
    uss_bytes: Maybe[Bytes] = None  #: Private memory of the worker (USS), at rest after the crawl.
    response: Maybe[Times] = None  #: Response times in this closed loop: admitted to the frontier, to finished.
    timeline: Maybe[Timeline] = None  #: The crawl over time.
    steady_service: Maybe[Times] = None  #: Service times of the fetches started after the cap was first reached.
    run_delay_ns: Maybe[Ns] = None  #: Time in which the main thread was runnable but waited for its core.
    samples: Maybe[Samples] = None  #: Samples of the worker taken from outside during the crawl.
    #: Time in which other processes used the client's core during the crawl (its busy time minus the client's CPU
    #: time), in ticks of 10 ms; absent unless the client is pinned to one core.
    others_ns: Maybe[Ns] = None

    def __post_init__(self) -> None:
        """Reject different numbers of times for the same fetches. Raises ValueError."""
        if len({None if times is None else times.count for times in (self.service, self.response)}) > 1:
            raise ValueError("times of the same fetches that differ in their number")


class MemoryMeasured(Layers, frozen=True, kw_only=True):
    """Measurements of a crawl whose responses were held while memory was read; empty if the trial ended before them."""

    timeline: Maybe[Timeline] = None  #: The crawl over time.
    reach_cpu_ns: Maybe[Ns] = None  #: CPU time of the worker until all were in flight; absent where no clock has it.
    reach_server_cpu_ns: Maybe[Ns] = None  #: CPU time of the server in that time.
    held_server_uss_bytes: Maybe[Bytes] = None  #: USS of the server while N were held.
    parked_disturbed: Maybe[str] = None  #: How others changed the layers between base and parked; null: not at all.


class IdleMeasured(Layers, frozen=True, kw_only=True):
    """Measurements of idle threads or tasks; empty if the trial ended before them."""

    started: Maybe[Count] = None  #: Number of idle threads or tasks started.
    start_ns: Maybe[Ns] = None  #: Time to start them.
    ps_rss_bytes: Maybe[Bytes] = None  #: Resident memory as shown by ps -o rss=.


_ANSWER = ("pages", "failed_pages", "peak_in_flight", "tries", "timeline")
"""Fields of the answer of a crawl, which a row with the status ok must have (``Row.NEEDED``)."""
_TIMES = (*("pages_per_s", "makespan_ns", "cpu_per_page_ns", "cpu_user_ns", "cpu_system_ns", "service", "response"),)
"""Fields of its times."""
_SERVED = ("requests", "peak_in_flight", "cpu_share", "lateness_p99_ns")
"""Fields of the server's counts."""
_SIZES = ("held_uss_bytes", "held_rss_bytes")
"""Fields of the memory while fetches were held."""
_TIMED = {"pages_per_s": "", "cpu_per_page_ns": "CPU/page"}
"""Figures in the line of a timed trial that has ended, and the words behind them (``Row.PROGRESS``)."""
_HELD = {"held_uss_bytes": "held (USS)"}
"""The same of a trial of memory."""
_RAN_WITH = ("strategy", "python", "implementation", "gil")
"""Settings that the worker must have reported."""


class CountsWorkload(CrawlWorkload, frozen=True, kw_only=True):
    """What was asked for: pages of an endless site, one after the other."""

    repeats: PositiveCount  #: Number of crawls for each counter.
    bytecodes: Maybe[Literal[True]] = None  #: Whether bytecodes are counted.


CounterName = Literal["python_calls", "c_calls", "system_calls", "bytecodes"]
"""What is counted, as the names of fields of ``Counted``."""


class Counted(Open, frozen=True, kw_only=True):
    """What was counted. A figure per page is a mean of the repeats; it is absent where it cannot be counted."""

    pages: Maybe[PositiveCount] = None  #: Number of pages that were counted, after those of a warm-up.
    python_calls_per_page: Maybe[Number] = None  #: Calls of Python functions; a coroutine that continues is called.
    c_calls_per_page: Maybe[Number] = None  #: Calls of C functions by Python code.
    system_calls_per_page: Maybe[Number] = None  #: Without futex and those of allocators; of children, too.
    bytecodes_per_page: Maybe[Number] = None  #: Instructions of Python bytecode.
    totals: Maybe[dict[CounterName, list[Count]]] = None  #: Totals of each repeat, from which the figures per page are.
    repeats_equal: Maybe[bool] = None  #: Whether the totals of all repeats are equal; absent: one repeat.
    python_calls: Maybe[dict[Name, Number]] = None  #: Calls per page by file and function.
    c_calls: Maybe[dict[Name, Number]] = None  #: Calls per page by function.
    system_calls: Maybe[dict[Name, Number]] = None  #: System calls per page by name.
    futex_calls: Maybe[list[Count]] = None  #: Calls of futex in each repeat: they depend on timing.
    switches: Maybe[list[Count]] = None  #: Context switches in each repeat: they depend on timing.
    page_faults: Maybe[list[Count]] = None  #: Page faults in each repeat: they depend on the state of the memory.
    lacks: Maybe[dict[Name, Name]] = None  #: What could not be counted here, with the reason.


class Counts(Row, frozen=True, kw_only=True):
    """What a strategy does per page: calls and system calls, which no load of the machine changes."""

    TITLE, SIZE, PREFIX = "calls and system calls per page", "in_flight", "counts"
    PROGRESS: ClassVar[dict[str, str]] = {
        "python_calls_per_page": "Python calls",
        "system_calls_per_page": "system calls",
    }
    HAS_STRATEGY = IS_CRAWL = True
    FORMAT = 6
    NEEDED: ClassVar[Needed] = {"measured": ("pages",), "knobs": _RAN_WITH}

    workload: CountsWorkload
    measured: Counted


class IdleWorkload(Workload, frozen=True, kw_only=True):
    """Workload of idle threads or tasks."""

    what: Name  #: The kind of thread or task.
    n: PositiveCount  #: Number to start.
    variables: dict[Name, str] = field(default_factory=dict)  #: Environment variables of the process; absent: none.


class Crawl(Row, frozen=True, kw_only=True):
    """A timed crawl."""

    TITLE, SIZE = "whole crawls, one strategy after the other", "in_flight"
    PROGRESS = _TIMED
    HAS_STRATEGY = IS_CRAWL = IS_TIMED = IS_REQUIRED = True
    NEEDED: ClassVar[Needed] = {"measured": (*_ANSWER, *_TIMES), "server": _SERVED, "knobs": _RAN_WITH}
    ABOVE_0: ClassVar[tuple[str, ...]] = ("pages", "peak_in_flight", "pages_per_s", "makespan_ns", "cpu_per_page_ns")

    workload: CrawlWorkload
    measured: CrawlMeasured


class Memory(Row, frozen=True, kw_only=True):
    """A crawl in which the server holds all responses while the layers of memory are read."""

    TITLE, PREFIX, SIZE = "memory of fetches that the server holds", "memory", "in_flight"
    PROGRESS = _HELD
    HAS_STRATEGY = IS_CRAWL = IS_HELD = True
    NEEDED: ClassVar[Needed] = Crawl.NEEDED | {"measured": (*_ANSWER, "held_in_flight", *_SIZES, "reach_ns")}
    ABOVE_0 = ("held_in_flight", *_SIZES)

    workload: CrawlWorkload
    measured: MemoryMeasured


class Idle(Row, frozen=True, kw_only=True):
    """N idle threads or tasks of one kind, held while memory is read."""

    TITLE, SIZE, PREFIX = "memory of idle threads and tasks", "n", "idle"
    PROGRESS = _HELD
    NEEDED: ClassVar[Needed] = {"measured": ("started", "start_ns", *_SIZES)}
    ABOVE_0 = _SIZES

    stack: Literal["none"]
    workload: IdleWorkload
    measured: IdleMeasured


class ArmWorkload(CrawlWorkload, frozen=True, kw_only=True):
    """What was asked for of an arm of a block."""

    arm: Arm


class Window(Open, frozen=True, kw_only=True):
    """The part of one slice that counts."""

    cycle: Count  #: Which cycle of slices it belongs to, from 0; a cycle has one slice of each arm.
    begin_ns: ClockNs  #: When it began, on the monotonic clock.
    wall_ns: PositiveNs  #: How long it was.
    cpu_ns: Ns  #: CPU time of the worker in it, all threads, user and system.
    pages: Number  #: Pages finished in it; with latency also fractions at its ends.
    late_ns: Maybe[Ns] = None  #: How late the server answered in it, median; absent without an added latency.


class ArmMeasured(Timed, frozen=True, kw_only=True):
    """What was measured of an arm of a block; empty when the arm did not get that far."""

    block: Maybe[Name] = None  #: The id of the block: its arms were alive at the same time.
    #: The windows of the arm's slices, in their order; in band, without those that have too few samples.
    windows: Maybe[list[Window]] = None
    cpu_share: Maybe[Number] = None  #: CPU time of the worker and its children as a share of the time; cores add up.
    #: By which clock the CPU time of all arms of the block was read: the kernel's task clock; in band, so the worker's
    #: own, between two pages; or the CPU clock of another process. Older rows lack it, and have the last.
    clock: Maybe[Literal["task clock", "in band", "process clock"]] = None
    clock_step_ns: Maybe[PositiveNs] = None  #: Resolution of that clock.
    late_ns: Maybe[Ns] = None  #: How late the server answered: median of the windows; absent without an added latency.
    others_share: Maybe[Share] = None  #: Share of the core that other programs used while the block's arms took turns.
    requests: Maybe[Count] = None  #: Requests of the arm that the server received, from its first to its last page.
    processes: Maybe[PositiveCount] = None  #: Number of processes: the worker and its children; absent: 1.
    beside_server: Maybe[Literal[True]] = None  #: One of its cores was also the server's; absent: none was.
    #: How late a timer of 10 ms fired in the model's loop, at each due time within a window; of threads, how late a
    #: thread that sleeps woke up. Absent: not asked for, or the model has no timer.
    lag: Maybe[Times] = None
    server_lost: Maybe[Literal[True]] = None  #: The server was lost in mid-block: the failure is not the arm's.


class ArmRow(Row, tag="arm", frozen=True, kw_only=True):
    """One arm of a block."""

    TITLE, SIZE, NOUN = "throughput, in blocks where all strategies take turns", "in_flight", "block"
    PROGRESS = _TIMED
    HAS_STRATEGY = IS_CRAWL = IS_TIMED = IS_REQUIRED = True
    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("block", "windows", "cpu_per_page_ns", "pages_per_s", "cpu_share"),
            *("requests", "pages", "failed_pages", "tries", "peak_in_flight", "held_in_flight", "service"),
        ),
        "knobs": _RAN_WITH,
    }
    ABOVE_0 = ("pages_per_s", "cpu_per_page_ns")

    workload: ArmWorkload
    measured: ArmMeasured


class LimitWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a limit."""

    resource: Resource  #: The limited resource.
    through_shared: bool  #: Whether the search may exhaust limits shared with other processes.
    predict: Maybe[Literal[True]] = None  #: The limit was only predicted; absent: threads were started up to it.


class NextCeiling(Closed, frozen=True, kw_only=True):
    """The next limit after the one that was reached."""

    name: Name  #: The limit's name.
    most: Limit  #: Remaining amount of the resource; below 0 if more is in use than allowed.


class Ceiling(NextCeiling, frozen=True, kw_only=True):
    """One limit of a resource."""

    shared: bool  #: Whether other processes share the limit, so that using it up affects them.
    evidence: str  #: Figures of the limit, in a sentence.
    remedy: str  #: How to raise the limit.


class LimitMeasured(Open, frozen=True, kw_only=True):
    """Predicted and found amount of a resource."""

    predicted: Maybe[Limit] = None  #: Amount that the lowest limit leaves, before the search; null: no limit is known.
    predicted_by: Maybe[str | list[str]] = None  #: Name of the lowest limit, or several names if they are equally low.
    found: Maybe[Count] = None  #: Amount that a process reached; null if nothing was tried.
    bound_by: Maybe[str | list[str]] = None  #: The limit that was reached, stopped short of, or predicted; null: none.
    #: Why the search ended; predicted: nothing but a prediction was asked for.
    stopped_by: Maybe[
        Literal["predicted", "failure", "shared limit", "memory budget", "deadline", "died", "not tried"]
    ] = None
    ceilings: Maybe[list[Ceiling]] = None  #: All limits, the lowest first.
    evidence: Maybe[list[str]] = None  #: The figures behind the result, in sentences.
    next: Maybe[NextCeiling] = None  #: The next limit; null if none is known.
    remedy: Maybe[str] = None  #: How to raise the limit that was reached.
    timeline: Maybe[list[tuple[Ns, Count]]] = None  #: [nanoseconds since the start, amount reached].


class LimitFound(Row, tag="limit", frozen=True, kw_only=True):
    """Amount of a resource that this machine allows a process."""

    TITLE, PREFIX = "limits of this machine", "limit"
    PROGRESS: ClassVar[dict[str, str]] = {"found": "found", "predicted": "predicted"}
    HAS_CHECKS = False
    NEEDED: ClassVar[Needed] = {"measured": ("stopped_by", "evidence")}

    stack: Literal["none"]
    workload: LimitWorkload
    measured: LimitMeasured


class ProbeWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a probe."""

    probe: Name  #: Name of the probe; its program is in bench/claims/programs/.
    arguments: dict[Name, Name | Count | bool]  #: Arguments of the program.


ProbedName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,99}$")]
"""Name of a figure that a claim's program returns."""
ProbedValue = str | Annotated[int, Meta(ge=-MAX_NS, le=MAX_NS)] | Number | bool | None
"""One value of such a figure."""


class Probe(Row, frozen=True, kw_only=True):
    """A small program that tests one claim."""

    TITLE = "programs"
    HAS_CHECKS = False

    stack: Literal["none"]
    workload: ProbeWorkload
    #: What the program returned, and its arguments: figures and texts by name, lists of them, and tables of them.
    #: ``stopped_by`` and ``error`` say what stopped it, ``not_applicable`` why it does not apply to its arguments.
    measured: Annotated[
        dict[ProbedName, ProbedValue | list[ProbedValue | list[ProbedValue]] | dict[ProbedName, ProbedValue]],
        Meta(max_length=100),
    ]

    def __post_init__(self) -> None:
        """Drop what is null. Reject a row that has its arguments only. Raises ValueError."""
        Row.__post_init__(self)
        force_setattr(self, "measured", {name: value for name, value in self.measured.items() if value is not None})
        if self.status == "ok" and not self.measured.keys() - self.workload.arguments.keys():
            raise ValueError("the status is ok, but measured has no figure")


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


class LocustCounts(Open, frozen=True, kw_only=True):
    """Counters of Locust; older swarms also have its version, which is in the description of the machine."""

    requests: Count  #: Number of requests.
    failures: Count  #: Number of failed requests.


class OpenMeasured(Disturbances, frozen=True, kw_only=True):
    """What was measured of an open loop; empty when the trial did not get that far. Shares are of one core."""

    completed: Maybe[Count] = None  #: Number of requests with the right answer.
    failed: Maybe[Count] = None  #: Number of all other requests.
    completed_per_s: Maybe[Number] = None  #: Completed requests per second.
    client_cpu_share: Maybe[Number] = None  #: CPU time of the client as a share of one core.
    server_cpu_share: Maybe[Number] = None  #: Null for a target other than the fake server.
    errors: Maybe[dict[Name, PositiveCount]] = None  #: Error messages of the client, with their counts.
    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    run_delay_ns: Maybe[Ns] = None  #: Time that the client waited for a core; null where the system does not say.
    offered_per_s: Maybe[Number] = None  #: Requests due per second.
    arrivals: Maybe[Count] = None  #: Number of requests whose intended start was in the window.
    started: Maybe[Count] = None  #: Number of them that were started.
    hole_ns: Maybe[Ns] = None  #: Longest time of the window in which no request ended.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of requests in flight at once.
    corrected: Maybe[Times] = None  #: Response times, from the intended start.
    uncorrected: Maybe[Times] = None  #: Service times, from the actual start, as without a schedule.
    backlog: Maybe[Backlog] = None  #: The number of waiting arrivals over time.
    kept: Maybe[bool] = None  #: Whether all due requests were sent, and neither the unanswered ones nor the lag grew.
    not_kept: Maybe[Literal["too slow", "window too short"]] = None  #: Why the rate was not kept, as a code.
    why: Maybe[Name] = None  #: Why the rate was not kept, in words; null where it was.


class OpenLoop(Row, tag="open", frozen=True, kw_only=True):
    """Requests at a constant rate of arrivals, independent of answers."""

    TITLE, SIZE, PREFIX = "requests at constant rates", "rate_per_s", "open"
    NEEDS_LOCUST = True
    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("offered_per_s", "arrivals", "started", "completed", "failed", "completed_per_s", "peak_in_flight"),
            *("corrected", "uncorrected", "backlog", "kept", "errors"),
        )
    }
    ABOVE_0 = ("offered_per_s",)

    workload: OpenWorkload
    measured: OpenMeasured


Knob = str | Limit | Number | bool | None
"""A setting that a process of a swarm reports."""


class SwarmWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind swarm."""

    in_flight: PositiveCount  #: Number of fetches to have in flight at once, in all strategy processes together.
    ramp_per_s: PositiveCount | None  #: Number of fetches to start per second; null: as fast as possible.
    connection: Literal["keep-alive"]  #: One kept connection for each fetch in flight.
    site: Site
    processes: PositiveCount | None  #: Number of strategy processes asked for; null: as many as limits require.
    hold_ns: Maybe[PositiveNs] = None  #: Time of shut gates once all are in flight; absent: until memory is read.


class Loss(Closed, frozen=True, kw_only=True):
    """A process that was lost."""

    what: Literal["strategy process", "server", "Locust worker", "Locust user"]  #: The kind of process.
    share: Count | None  #: Index of its share of the pages; null for a Locust worker.
    pid: PositiveCount | None  #: Its process id; null where unknown.
    how: Name  #: How it ended, such as: was killed by signal 9 (SIGKILL).
    in_flight: Count  #: Number of fetches it had in flight, by its last report.
    at_ns: Ns  #: Time of the loss, since the start.


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

    planned_in_flight: Maybe[Count] = None  #: Fetches in flight that limits of this machine allow.
    bound_by: Maybe[BoundBy] = None  #: Why less was planned than was asked for; null where it was not.
    client_processes: Maybe[Count] = None  #: Number of strategy processes.
    server_processes: Maybe[Count] = None  #: Number of servers.
    nodes: Maybe[Count] = None  #: Number of Locust workers; each runs some of the strategy processes.
    timeline: Maybe[SwarmTimeline] = None  #: The swarm over time.
    errors: Maybe[dict[Name, PositiveCount]] = None  #: Number of errors by the client's message.
    client_cpu_ns: Maybe[Ns] = None  #: CPU time of the strategy processes, from the start until they had finished.
    reporting_share: Maybe[Share] = None  #: Share of the strategy processes' CPU time for reports to Locust.
    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    base_server_uss_bytes: Maybe[Bytes] = None  #: USS of the servers before the load.
    base_server_page_tables_bytes: Maybe[Bytes] = None  #: Page tables of the servers before the load.
    held_server_uss_bytes: Maybe[Bytes] = None  #: USS of the servers while N were held.
    held_server_page_tables_bytes: Maybe[Bytes] = None  #: Page tables of the servers while N were held.
    lost: Maybe[list[Loss]] = None  #: Processes that were lost before they had finished.


class Swarm(Row, frozen=True, kw_only=True):
    """One strategy in many processes, with as many servers, steered by Locust.

    The servers hold every response while the layers of memory are read.
    """

    TITLE, SIZE, PREFIX = "swarms of many processes", "in_flight", "swarm"
    PROGRESS: ClassVar[dict[str, str]] = {"held_in_flight": "held after", "reach_ns": ""}
    HAS_STRATEGY = IS_HELD = NEEDS_LOCUST = True
    PATIENCE = (120.0, 5.0)  # many processes are slow to start, but not for each fetch
    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("planned_in_flight", "client_processes", "server_processes", "nodes"),
            *("held_in_flight", "makespan_ns", "timeline", "pages", "failed_pages", "errors", "locust", "lost"),
        )
    }
    ABOVE_0 = ("planned_in_flight", "makespan_ns")

    workload: SwarmWorkload
    measured: SwarmMeasured
    #: What the strategy processes say they ran with: one value where all agree, else a list of all.
    knobs: dict[Name, Knob | dict[Name, Knob] | list[Knob | dict[Name, Knob] | list[Knob]]]  # type: ignore[assignment]
