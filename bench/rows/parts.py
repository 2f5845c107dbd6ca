"""The row, the parts that records of several kinds share, and the types of their values: bounded numbers and texts.

``kinds`` builds the records from them, and ``schema`` the schema; all that reads rows uses ``Row``. A part is ``Open``
(a newer version may add figures, which older ones ignore) or ``Closed`` (an unknown key is an error). Each value is
checked once, when a line is read, so readers need no checks.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Optional, TypeVar, cast

import msgspec
from msgspec import Meta, Struct, defstruct, field

T = TypeVar("T")
"""Any type of a value."""
Maybe = Optional[T]  # noqa: UP045 - a generic alias
"""An optional value: absent and null mean the same."""

MAX_NS = 10**17
"""Three years. Sums of such durations are exact integers, and a product of two fits into a float."""
MAX_BYTES = 10**16
"""10 PB."""
MAX_COUNT = 10**12
"""Maximum number of things that are counted, such as pages."""
MAX_NUMBER = 1e15
"""Maximum of other figures: its square is a finite float."""

Ns = Annotated[int, Meta(ge=0, le=MAX_NS)]
"""A duration in nanoseconds."""
PositiveNs = Annotated[int, Meta(ge=1, le=MAX_NS)]
"""A duration above 0."""
ClockNs = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A time in nanoseconds of the monotonic clock, which begins anywhere."""
Bytes = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
"""A size in bytes."""
ChangeBytes = Annotated[int, Meta(ge=-MAX_BYTES, le=MAX_BYTES)]
"""A change of a size, which may be below 0."""
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
"""A number of things."""
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
"""A number of things above 0."""
Limit = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A limit of the system, or what is left of it: below 0 if more is in use; -1 also stands for no limit."""
Share = Annotated[float, Meta(ge=0, le=1)]
"""A part of a whole, from 0 to 1."""
Number = Annotated[float, Meta(ge=0, le=MAX_NUMBER)]
"""A measured quantity that is not whole, such as pages per second."""
PositiveNumber = Annotated[float, Meta(gt=0, le=MAX_NUMBER)]
"""A quantity above 0."""
Name = Annotated[str, Meta(min_length=1, max_length=2000)]
"""A text that is not empty."""


class Open(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Part of a row. It ignores unknown keys, so that a new figure needs no new format. An absent figure is None."""


class Closed(Open, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Part of a row that rejects unknown keys."""


class Lists(Closed, frozen=True, kw_only=True):
    """Lists of equal length: entries at the same place belong together."""

    def __post_init__(self) -> None:
        """Reject lists of different lengths, and times out of order. Raises ValueError."""
        lists = {name: value for name in self.__struct_fields__ if isinstance(value := getattr(self, name), list)}
        if len(set(map(len, lists.values()))) > 1:
            raise ValueError("lists of different lengths in a time line")
        if (times := lists.get("at_ns", [])) != sorted(times):
            raise ValueError("times that do not rise")


Kind = Literal["crawl", "memory", "idle", "probe", "limit", "swarm", "open", "arm", "counts"]
"""The kind of a trial: the tag of its record in ``kinds``."""
Status = Literal["ok", "wrong", "failed", "timeout", "skipped"]
"""How a trial ended: see ``Row.status``."""
Cause = Literal["not installed", "no interpreter", "limit", "memory budget", "server"]
"""Why a trial was skipped or aborted, as a code: see ``Row.cause``."""
NEWEST_FORMAT = 6
"""The newest format of rows; the history is in ``files``."""
Needed = dict[str, tuple[str, ...]]
"""Names of fields by part of the row: ``measured``, ``server`` or ``knobs``."""
StartedAt = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(\+[0-9]{2}:[0-9]{2}|Z)$")
]
"""ISO 8601 with the offset from UTC."""


class Check(Closed, frozen=True):
    """One validity check of a trial, with the figures that it is based on."""

    name: Name  #: The check's name.
    verdict: Literal["passed", "failed", "not applicable"]  #: Its outcome.
    detail: str  #: The figures that it is based on.
    outside: Maybe[Literal[True]] = None  #: The surroundings failed it, and not the strategy. Older rows lack it.


class Quota(Closed, frozen=True):
    """A CPU quota of a control group, and its effect during a trial."""

    cores: PositiveNumber  #: CPU time that all processes of the group may use per time.
    periods: Count  #: Number of periods in which the group had something to run.
    throttled: Count  #: Number of those in which it used up the quota, and was stopped until the next one.
    throttled_ns: Ns  #: How long it was stopped, summed over the cores.


def together(quotas: Iterable[Quota]) -> Quota | None:
    """Return the tightest of some quotas, with the sums of their counts; None of none."""
    columns = list(zip(*map(msgspec.structs.astuple, quotas), strict=True))
    return Quota(min(columns[0]), *map(sum, columns[1:])) if columns else None


class Disturbances(Open, frozen=True, kw_only=True):
    """What disturbed a trial from outside, where the system counts it."""

    listen_drops: Maybe[Count] = None  #: Connections lost in full listen queues (ListenOverflows, ListenDrops).
    steal_share: Maybe[Share] = None  #: CPU time that the hypervisor took away from the pinned cores.
    quota: Maybe[Quota] = None  #: The tightest CPU quota, and what all together did; absent: none.
    #: Kinds of the cores of client and server, 0 for the fastest; absent: all cores of the machine are alike. A client
    #: on several cores may also have others.
    core_kinds: Maybe[list[Count]] = None


class Histogram(Closed, frozen=True, kw_only=True):
    """Histogram of durations. A bucket is at most 2**-significant_bits of its values wide."""

    significant_bits: Annotated[int, Meta(ge=1, le=64)]  #: Bits after the first in which a bucket agrees.
    #: [least value of the bucket in nanoseconds, count], in ascending order, without empty buckets.
    counts: Annotated[list[tuple[Ns, PositiveCount]], Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Reject buckets that are not in ascending order."""
        if any(low >= high for (low, _), (high, _) in pairwise(self.counts)):
            raise ValueError("buckets that do not rise")


class Times(Closed, frozen=True, kw_only=True):
    """Summary of the durations of all finished fetches."""

    count: Count  #: Number of durations.
    mean_ns: Maybe[Ns] = None  #: Mean.
    min_ns: Maybe[Ns] = None  #: Minimum.
    p50_ns: Maybe[Ns] = None  #: Median. All quantiles are nearest-rank, so they are real samples.
    p90_ns: Maybe[Ns] = None  #: 90 % quantile.
    p99_ns: Maybe[Ns] = None  #: 99 % quantile; unreliable below 1,000 samples.
    p999_ns: Maybe[Ns] = None  #: 99.9 % quantile.
    max_ns: Maybe[Ns] = None  #: Maximum.
    histogram: Maybe[Histogram] = None  #: Histogram of all durations.

    def __post_init__(self) -> None:
        """Reject missing quantiles, quantiles out of order, and a histogram with another count."""
        rising = (self.min_ns, self.p50_ns, self.p90_ns, self.p99_ns, self.p999_ns, self.max_ns)
        known = [value for value in rising if value is not None]
        if self.count and (len(known) < len(rising) or self.mean_ns is None or self.histogram is None):
            raise ValueError("durations without a mean, a quantile or a histogram")
        if known != sorted(known):
            raise ValueError("quantiles that do not rise")
        counted = self.count if self.histogram is None else sum(count for _, count in self.histogram.counts)
        if counted != self.count:
            raise ValueError(f"a histogram of {counted} durations instead of {self.count}")


class Answered(Disturbances, frozen=True, kw_only=True):
    """The answer of a crawl."""

    pages: Maybe[Count] = None  #: Pages that have a result, failed ones included.
    failed_pages: Maybe[Count] = None  #: Pages that failed after all tries, or with their process: no throughput.
    tries: Maybe[Count] = None  #: Attempts to fetch a page, over all pages.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of fetches in flight at a time, counted by the client.
    held_in_flight: Maybe[Count] = None  #: Requests held behind the gates, all at once: received and not answered.
    #: Fetches in flight at most, fewer than asked for because of a limit of the client's own; absent: as many as asked.
    reached_in_flight: Maybe[PositiveCount] = None
    makespan_ns: Maybe[Ns] = None  #: Time of the call of crawl; of a swarm, until its last process is done.
    #: Time from the order to crawl until all were in flight, as the server or the gates say.
    reach_ns: Maybe[Ns] = None
    drain_ns: Maybe[Ns] = None  #: Time from opening the gates to the end of the last crawl.
    ephemeral_ports: Maybe[Count] = None  #: Size of the kernel's ephemeral port range.
    port_refusals: Maybe[Count] = None  #: Pages that failed because the client had no free port (EADDRNOTAVAIL).
    held_disturbed: Maybe[str] = None  #: How others changed the system-wide layers since base; null: not at all.


class Timed(Answered, frozen=True, kw_only=True):
    """The times of a crawl. CPU times are those of the client and its children, user and system."""

    pages_per_s: Maybe[Number] = None  #: Throughput: verified pages per second of the makespan, or of the windows.
    cpu_per_page_ns: Maybe[Ns] = None  #: CPU time per verified page of the crawl or of the windows.
    peak_threads: Maybe[PositiveCount] = None  #: Maximum number of threads of the worker and its children in samples.
    rss_bytes: Maybe[Bytes] = None  #: RSS of the worker after the crawl; of an arm without children, after its slices.
    #: Memory of the worker and its children at the same time, with their share of shared memory (PSS).
    pss_bytes: Maybe[Bytes] = None
    hole_ns: Maybe[Ns] = None  #: Longest time in which no fetch ended: within a crawl, or from gate open to all held.
    service: Maybe[Times] = None  #: Service times, started to finished: of all fetches, or of those within one window.
    work_units: Maybe[PositiveCount] = None  #: CPU work per page, in units of strategies.core.work; absent: none.
    work_ns: Maybe[Ns] = None  #: CPU time of that work in this worker, measured after its crawl: median of five.
    worked_pages: Maybe[Count] = None  #: Number of responses with the CPU work done.


LAYERS = {
    "uss_bytes": "private memory of the process (USS)",
    "rss_bytes": "resident memory of the process",
    "page_tables_bytes": "page tables of the process (VmPTE)",
    "kernel_stack_bytes": "kernel stacks of the whole system (KernelStack)",
    "slab_bytes": "slab of the whole system, including both ends of every loopback connection",
    "socket_bytes": "pages of data in TCP sockets, of the whole system",
}
"""The layers in which memory is read, from what the process sees to what only the kernel sees, with their meanings."""
MOMENTS = {
    "base": "Before the load",
    "held": "While N were held",
    "parked": "While all workers but one were parked",
}
"""The layers are read at these moments: held_uss_bytes is the private memory while N were held."""


def _layer(moment: str, layer: str) -> tuple[str, Any, None]:
    """Return the field of a layer at a moment, as ``defstruct`` takes it: its name, its type, its default."""
    meta = Meta(description=f"{MOMENTS[moment]}: {LAYERS[layer]}; null if unknown.")
    return f"{moment}_{layer}", Annotated[Bytes | None, meta], None


if TYPE_CHECKING:
    Layers = Answered
else:
    fields = [_layer(moment, layer) for moment in MOMENTS for layer in LAYERS]
    Layers = defstruct("Layers", fields, bases=(Answered,), kw_only=True)


class Workload(Closed, frozen=True, kw_only=True):
    """What was asked for."""

    id: Name  #: Names the workload within its experiment.


class Site(Closed, frozen=True, kw_only=True):
    """The synthetic site, from which it can be built again. Shares are of its pages."""

    seed: Count  #: Pages, sizes, delays and faults are functions of the seed and the page's number.
    pages: PositiveCount  #: Number of pages.
    links: Count  #: Number of links on each HTML page.
    body_bytes: Bytes  #: Mean size of a page's body; a page is larger if its links need more.
    body_spread: Number  #: Sizes are uniform in body_bytes * (1 +- body_spread).
    redirects: Share  #: Share of pages that redirect.
    redirect_chain: Count  #: Number of redirects from the head of a chain to its last page.
    redirect_targets: Count  #: Number of pages that all redirects lead to; 0: each chain has its own.
    missing: Share  #: Share of pages that do not exist (404).
    non_html: Share  #: Share of pages that are not HTML and so have no links.
    delay: str  #: The added latency, as given to the server.
    faults: dict[Name, Share]  #: Share of pages with each kind of fault, among those that can have it.
    drip_ns: Ns  #: The time over which a response with the fault drip is spread.


class ServerCounts(Open, frozen=True, kw_only=True):
    """Counters of the fake server during the trial.

    Lateness is how late responses with an added latency were sent. The first responses on kept connections are apart:
    first_lateness.
    """

    requests: Maybe[Count] = None  #: Number of requests received.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of requests in flight at a time.
    total_connections: Maybe[Count] = None  #: Number of connections accepted.
    lateness_p50_ns: Maybe[Ns] = None  #: How late responses with an added latency were sent: median.
    lateness_p99_ns: Maybe[Ns] = None  #: Their 99 % quantile.
    lateness_max_ns: Maybe[Ns] = None  #: Their maximum.
    first_lateness_max_ns: Maybe[Ns] = None  #: Maximum of the first responses on kept connections.
    ceiling_per_s: Maybe[Number] = None  #: Responses per second without latency to a client that parses nothing.
    run_delay_share: Maybe[Number] = None  #: Share of the time in which it was runnable but waited for its core.
    cpu_share: Maybe[Number] = None  #: CPU time during the trial, as a share of one core.


class Knobs(Open, frozen=True, kw_only=True):
    """Settings in effect, as reported by the worker; null if the system does not report them."""

    strategy: Maybe[str] = None  #: The loaded strategy.
    python: Maybe[str] = None  #: Version of the interpreter.
    implementation: Maybe[str] = None  #: Name of the interpreter, such as cpython.
    executable: Maybe[str] = None  #: File name of the interpreter, without its folder.
    free_threaded: Maybe[bool] = None  #: Whether the interpreter was built without a global lock.
    gil: Maybe[bool] = None  #: Whether the global interpreter lock is enabled.
    switch_interval_ns: Maybe[Ns] = None  #: Switch interval of threads.
    gc_enabled: Maybe[bool] = None  #: Whether the garbage collector is enabled.
    gc_thresholds: Maybe[list[Count]] = None  #: Thresholds of the garbage collector.
    versions: Maybe[dict[Name, str]] = None  #: Versions of the strategy's distributions; the checksum of its file.
    openssl: Maybe[str] = None  #: Version of the interpreter's OpenSSL, of a crawl of https.
    cpus: Maybe[list[Count]] = None  #: Cores that the worker may run on.
    descriptor_limit: Maybe[Limit] = None  #: Maximum number of open descriptors; -1: no limit.
    variables: Maybe[dict[Name, str | None]] = None  #: Variables of the arm, as its worker sees them; null: not set.
    idle: Maybe[str] = None  #: What was started to be idle: a kind of thread or task.
    users: Maybe[Count] = None  #: Number of Locust users.


AGAIN = " again"
"""The end of the name of a control: the reference once more."""
REACHED = r" \([\d,]{1,9} of [\d,]{1,9}\)$"
"""The end of ``Row.name`` of a client with a limit of its own, as a pattern."""


class Row(Closed, tag_field="kind", tag=str.lower, frozen=True, kw_only=True):
    """One trial: the workload, the measurements and the validity checks. Each kind of trial has its own record.

    ``measured``, ``server`` and ``knobs`` are empty if the trial ended before they were known.
    """

    NEEDED: ClassVar[Needed] = {}
    """Figures that are present if the status is ok, by part of the row."""
    ABOVE_0: ClassVar[tuple[str, ...]] = ()
    """Figures of ``measured`` that are above 0 if the status is ok."""
    FORMAT: ClassVar[int] = 5
    """The format in which rows of this kind are written: the first one that has the kind as it is."""

    TITLE: ClassVar[str]
    """What its trials measure, as ``--dry-run`` has it."""
    SIZE: ClassVar[str] = ""
    """The field of its workload that is the size of a trial; empty: none is."""
    PREFIX: ClassVar[str] = ""
    """What the line of a trial that ended says before its workload."""
    PROGRESS: ClassVar[dict[str, str]] = {}
    """The figures in that line, and the words behind them."""
    NOUN: ClassVar[str] = "trial"
    """What ``--dry-run`` counts."""
    NEEDS_LOCUST: ClassVar[bool] = False
    """Whether its trials need Locust."""
    IS_REQUIRED: ClassVar[bool] = False
    """Whether a run is refused where the machine forbids a trial; others are then skipped."""
    HAS_STRATEGY: ClassVar[bool] = False
    """Whether a strategy crawls."""
    IS_CRAWL: ClassVar[bool] = False
    """Whether a strategy crawls in a worker of its own: its rows are in the table that shows the progress of a run."""
    IS_HELD: ClassVar[bool] = False
    """Whether the gate of the server holds all responses while memory is read, so that no latency is added."""
    IS_TIMED: ClassVar[bool] = False
    """Whether it has a throughput."""
    HAS_CHECKS: ClassVar[bool] = True
    """Whether a row with the status ok has checks."""
    PATIENCE: ClassVar[tuple[float, float]] = (60.0, 20.0)
    """The default deadline of a trial: a number of seconds, and a multiple of its estimated time, which are added."""

    format: Annotated[int, Meta(ge=1, le=NEWEST_FORMAT)]  #: Format of the row; bench/rows/files.py has the history.
    run: Name  #: Name of the run and of its folder.
    trial: Name  #: Id of the trial: cell and round. It is the same in every run of the same experiment.
    round: Annotated[int, Meta(ge=1, le=10**6)]  #: Number of the round, from 1.
    #: Name of the arm, by default its strategy; or the thread or task, the probe, the resource, or locust.
    arm: Name = field(name="strategy")
    #: shared: parses with strategies.core. own: has its own HTTP stack, so more than the concurrency model differs.
    #: none: no strategy crawls in this trial, or one that is no model but measures a part of a page.
    stack: Literal["shared", "own", "none"]
    #: ok: right answer. wrong: wrong answer. failed: crash, invalid output or dead server. timeout: killed at its
    #: deadline. skipped: never started.
    status: Status
    reason: str | None  #: Details for every status except ok.
    cause: Maybe[Cause] = None  #: Why the trial was skipped or aborted, as a code; absent for other causes.
    started_at: StartedAt  #: Start time of the trial: ISO 8601 with the offset from UTC.
    duration_ns: Ns  #: Wall time of the trial, including starting and stopping the worker.
    checks: tuple[Check, ...]  #: Validity checks. A row with a failed one is excluded from all conclusions.
    workload: Any
    measured: Any
    server: ServerCounts
    knobs: Knobs

    def __post_init__(self) -> None:
        """Reject values that contradict the status. Raises ValueError."""
        if (self.status == "ok") != (self.reason is None) or self.reason == "":
            raise ValueError("a status that is not ok needs a reason, and ok has none")
        if self.status != "ok":
            return
        for part, names in self.NEEDED.items():
            for name in names:
                if getattr(getattr(self, part), name) is None:
                    raise ValueError(f"the status is ok, but {part} has no {name}")
        for name in self.ABOVE_0:
            if not getattr(self.measured, name):
                raise ValueError(f"the status is ok, but measured.{name} is not above 0")
        if self.HAS_CHECKS and not self.checks:
            raise ValueError("the status is ok, but there are no checks")

    @property
    def kind(self) -> Kind:
        """The kind of trial."""
        return cast("Kind", self.__struct_config__.tag)

    @property
    def strategy(self) -> str:
        """The strategy of its arm; of a row without one the same as ``arm``."""
        arm = getattr(self.workload, "arm", None)
        return self.arm if arm is None else str(arm.strategy)

    @property
    def valid(self) -> bool:
        """Whether conclusions may use the row."""
        return self.status == "ok" and not self.failed_checks

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    @property
    def invalid_reasons(self) -> list[str]:
        """The reasons for which it is not valid: its status, if it did not end well, or else its failed checks."""
        if self.status != "ok":
            return [f"{self.status}: {self.reason}" if self.reason else self.status]
        return [f'failed "{check.name}": {check.detail}' for check in self.failed_checks]

    @property
    def reached(self) -> str:
        """``100 of 200``: what a client with a limit of its own reached, of what was asked for; else empty."""
        reached = getattr(self.measured, "reached_in_flight", None)
        return f"{reached:,} of {self.workload.in_flight:,}" if reached else ""

    @property
    def name(self) -> str:
        """The arm, with what it reached: ``my_client (100 of 200)``. So no output names it without."""
        return f"{self.arm} ({self.reached})" if self.reached else self.arm

    @property
    def is_compared(self) -> bool:
        """Whether the row belongs to a comparison of two arms, so that tables of strategies leave it out."""
        return getattr(self.workload, "comparison", None) is not None

    def to_json(self) -> str:
        """Return the row as one line of JSON, without a newline."""
        return msgspec.json.encode(self).decode()
