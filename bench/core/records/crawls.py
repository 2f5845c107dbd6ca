"""Trials in which a strategy crawls, and building blocks, whose memory is read alike."""

from typing import ClassVar, Literal

from inflight.bench.core.records.parts import (
    Crawled,
    Layers,
    Needed,
    Samples,
    SiteWorkload,
    Steady,
    Timeline,
    Times,
    Uncrawled,
    Workload,
)
from inflight.bench.core.records.values import (
    Bytes,
    Closed,
    Connection,
    Count,
    Maybe,
    Name,
    Ns,
    Number,
    PositiveCount,
    PositiveNs,
    Text,
)

Metric = Literal["cpu_per_page", "throughput", "memory"]


class ArmOf(Closed, frozen=True, kw_only=True):
    """One strategy with its settings; what has its default value is left out."""

    name: Name
    """Names the arm within its block."""
    strategy: Name
    """The strategy's id."""
    role: Literal["reference", "placebo", "compared"]
    """reference: others are held against it. placebo: the reference once more. compared: any other arm."""
    label: Name
    """Names the arm by all that is not the default."""
    in_flight: Maybe[PositiveCount] = None
    """The in-flight cap; left out where it is 100."""
    connection: Maybe[Connection] = None
    """The use of connections; left out where it is keep-alive."""
    revision: Maybe[Name] = None
    """The git revision of its strategies; left out where the files were taken as they are."""
    repository: Maybe[Name] = None
    """The repository that they are from; left out where they are those of the harness."""
    python: Maybe[Name] = None
    """The interpreter of its worker; left out where it is that of the harness."""
    requirements: Maybe[list[Text]] = None
    """What was installed into an environment of its own; left out where there is none."""
    variables: Maybe[dict[Name, Text]] = None
    """Environment variables of its worker; left out where there are none."""
    cores: Maybe[PositiveCount] = None
    """How many cores its worker may use; left out where it is one."""
    planted_loops: Maybe[Count] = None
    """A known slowdown: iterations of an empty loop that are added to each page; left out where there is none."""


class ComparisonOf(Closed, frozen=True, kw_only=True):
    """The comparison that a row belongs to."""

    name: Name
    """Names it within its run."""
    metrics: list[Metric]
    """What was asked for. Nothing is left where memory alone was, of a model that can keep only one in flight."""
    gated: list[Metric]
    """What a verdict goes by: fixed before the first block, by a block that is not stored."""


class CrawlWorkload(SiteWorkload, frozen=True, kw_only=True):
    """What was asked for."""

    in_flight: PositiveCount
    """The in-flight cap: the most fetches that may be open at a time."""
    connection: Connection
    """keep-alive: one connection a worker, opened again when the server closed it. per-fetch: a new one for each
    fetch.
    """
    cpu: Maybe[Text] = None
    """The CPU work of each page, in the words of the experiment, such as 2ms; absent for none."""
    cpu_ns: Maybe[PositiveNs] = None
    """The same in nanoseconds of one core, as it was asked for."""
    parked: Maybe[Literal[True]] = None
    """Memory is read once more when all fetches but one have been answered, and their workers wait."""
    arm: Maybe[ArmOf] = None
    """Which arm of a block it is; of a row of kind memory, in a comparison only."""
    comparison: Maybe[ComparisonOf] = None
    """The comparison that it belongs to; absent where it belongs to none."""

    def __post_init__(self) -> None:
        """Refuse CPU work without its words or without its time, and a comparison of no arm. Raises ValueError."""
        if (self.cpu is None) != (self.cpu_ns is None):
            raise ValueError("of cpu and cpu_ns one alone")
        if self.comparison is not None and self.arm is None:
            raise ValueError("a comparison without the arm that the row is of")


class Measured(Layers, frozen=True, kw_only=True):
    """What was measured on the client's side; empty when the trial did not get that far."""

    pages_per_s: Maybe[Number] = None
    """Throughput: verified pages per second of makespan."""
    makespan_ns: Maybe[Ns] = None
    """From the call of crawl to its return."""
    cpu_per_page_ns: Maybe[Ns] = None
    """CPU time of the client process during the crawl, user and system, a verified page."""
    cpu_user_ns: Maybe[Ns] = None
    """User CPU time of the client process during the crawl (getrusage)."""
    cpu_system_ns: Maybe[Ns] = None
    """System CPU time of the client process during the crawl (getrusage)."""
    voluntary_switches: Maybe[Count] = None
    """Context switches because the process waited."""
    involuntary_switches: Maybe[Count] = None
    """Context switches because its time was over, or another process more urgent."""
    switches_per_page: Maybe[Number] = None
    """Context switches of both kinds, a page."""
    gc_collections: Maybe[Count] = None
    """Collections of the garbage collector during the crawl."""
    gc_total_ns: Maybe[Ns] = None
    """How long they took together."""
    gc_max_ns: Maybe[Ns] = None
    """How long the longest took."""
    peak_in_flight: Maybe[Count] = None
    """The most fetches that were in flight at a time, as the client counted."""
    peak_threads: Maybe[PositiveCount] = None
    """The most threads that were seen; looked at now and then, so perhaps not the most that there were."""
    uss_bytes: Maybe[Bytes] = None
    """Memory of the worker alone (USS), at rest after the crawl."""
    pss_bytes: Maybe[Bytes] = None
    """USS and its share of what is shared (PSS), at rest after the crawl; where the system tells."""
    rss_bytes: Maybe[Bytes] = None
    """Resident memory (RSS), at rest after the crawl."""
    held_in_flight: Maybe[Count] = None
    """Requests that the server had received and not answered when memory was read."""
    service: Maybe[Times] = None
    """Service times: started to finished."""
    response: Maybe[Times] = None
    """Response times: admitted to the frontier, to finished. The loop is closed, so they are not what independent
    users would see.
    """
    queueing: Maybe[Times] = None
    """Queueing delays: admitted to started."""
    timeline: Maybe[Timeline] = None
    """The crawl over time."""
    steady_service: Maybe[Times] = None
    """Service times of the fetches that were started when the closed loop had been full once: without warm-up."""
    steady_response: Maybe[Times] = None
    """Response times of the same fetches."""
    run_delay_ns: Maybe[Ns] = None
    """How long the client's main thread could run and had to wait for its core; absent where unknown."""
    samples: Maybe[Samples] = None
    """What was seen of the worker from outside while it crawled: lists of equal length, at most 200."""
    work_units: Maybe[PositiveCount] = None
    """The CPU work of each page, in units of inflight.strategies.core.work; absent for none."""
    work_ns: Maybe[Ns] = None
    """What the CPU work of a page costs in this worker, measured after its crawl: CPU time, median of five."""
    worked_pages: Maybe[Count] = None
    """For how many responses the CPU work was done."""
    warm_up_ns: Maybe[Ns] = None
    """From the call of crawl until as many fetches had been started as may be in flight; null when there were no
    more. Absent from rows before it was measured.
    """
    port_refusals: Maybe[Count] = None
    """Pages that failed because the client had no port left (EADDRNOTAVAIL)."""
    ephemeral_ports: Maybe[Count] = None
    """How many ports the kernel gives to clients; null where unknown."""
    steady: Maybe[Steady] = None
    """The time in which as many fetches were in flight as may be; null when there was none."""
    others_ns: Maybe[Ns] = None
    """How long others used the client's core during the crawl (its busy time less the client's CPU time), in ticks
    of 10 ms; absent where it has not one core.
    """
    reach_ns: Maybe[Ns] = None
    """From the order to crawl until the gate had confirmed that all were in flight."""
    reach_cpu_ns: Maybe[Ns] = None
    """CPU time of the worker until then, in ticks of 10 ms."""
    reach_server_cpu_ns: Maybe[Ns] = None
    """CPU time of the server until then."""
    drain_ns: Maybe[Ns] = None
    """From opening the gate until the crawl had ended."""
    started: Maybe[Count] = None
    """How many building blocks were started."""
    start_ns: Maybe[Ns] = None
    """How long that took."""
    cpu_ns: Maybe[Ns] = None
    """CPU time that it took."""
    ps_rss_bytes: Maybe[Bytes] = None
    """Resident memory as ps -o rss= shows it."""
    held_disturbed: Maybe[Text] = None
    """What of others had moved the layers of the whole system between the base and the time when N were held; null:
    nothing.
    """
    parked_disturbed: Maybe[Text] = None
    """The same for the time when all workers but one were parked."""

    def __post_init__(self) -> None:
        """Refuse times of the same fetches that differ in their number. Raises ValueError."""
        for alike in ((self.service, self.response, self.queueing), (self.steady_service, self.steady_response)):
            if len({None if times is None else times.count for times in alike}) > 1:
                raise ValueError("times of the same fetches that differ in their number")


class BlockWorkload(Workload, frozen=True, kw_only=True):
    """What was asked for, of a row of kind block."""

    block: Name
    """Which building block."""
    n: PositiveCount
    """How many."""


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


class Crawl(Crawled, frozen=True, kw_only=True):
    """A timed crawl."""

    NEEDED: ClassVar[Needed] = {"measured": _ANSWER, "server": _SERVED, "knobs": _RAN_WITH}
    ABOVE_0 = ("pages", "peak_in_flight", "pages_per_s", "makespan_ns", "cpu_per_page_ns")

    workload: CrawlWorkload
    measured: Measured


class Memory(Crawled, frozen=True, kw_only=True):
    """A crawl in which the server holds every response while the layers of memory are read.

    Its times say nothing, but reach_ns and drain_ns.
    """

    NEEDED: ClassVar[Needed] = {
        "measured": (*_ANSWER, "held_in_flight", *_SIZES, "reach_ns"),
        "server": _SERVED,
        "knobs": _RAN_WITH,
    }
    ABOVE_0 = ("held_in_flight", *_SIZES)

    workload: CrawlWorkload
    measured: Measured


class Block(Uncrawled, frozen=True, kw_only=True):
    """So many of one building block, held for their memory."""

    SINCE = 2
    NEEDED: ClassVar[Needed] = {"measured": ("started", "start_ns", "cpu_ns", *_SIZES)}
    ABOVE_0 = _SIZES

    workload: BlockWorkload
    measured: Measured
