"""Parts that records of several kinds share."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, defstruct

from inflight.bench.core.records.values import (
    MOST_NS,
    BinNs,
    Bytes,
    ClockNs,
    Closed,
    Count,
    Limit,
    Maybe,
    Name,
    Ns,
    Number,
    Open,
    PositiveCount,
    PositiveNs,
    Share,
    Text,
    plain_values,
)

Kind = Literal["crawl", "memory", "block", "probe", "limit", "swarm", "open", "client", "arm"]
Status = Literal["ok", "wrong", "failed", "timeout", "skipped"]
"""ok: the right answer came. wrong: an answer, but not the right one. failed: crash, rubbish or a dead server. timeout:
killed at its deadline. skipped: never started.
"""
Cause = Literal["not installed", "no interpreter", "limit", "memory budget"]
"""Why a trial was skipped or broke off, where a program decides by it; ``reason`` is for people."""
NEWEST_FORMAT = 5
Needed = dict[str, tuple[str, ...]]
HttpStatus = Annotated[str, Meta(pattern=r"^[1-5][0-9][0-9]$")]
StartedAt = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(\+[0-9]{2}:[0-9]{2}|Z)$")
]


def same_length(*lists: Sequence[object]) -> None:
    """Raise ValueError unless lists of a time line are as long as each other."""
    if len({len(values) for values in lists}) > 1:
        raise ValueError("lists of different lengths in a time line")


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One named reason to believe the row, or not to."""

    name: Name
    """The check's name."""
    verdict: Literal["passed", "failed", "not applicable"]
    """What it found."""
    detail: Text
    """The figures that it went by."""


class Row(Closed, tag_field="kind", tag=str.lower, frozen=True, kw_only=True):
    """One trial: what was asked for, what was measured, and whether to believe it. Each kind has a record of its own.

    ``measured``, ``server`` and ``knobs`` are empty when the trial did not get that far.
    """

    SINCE: ClassVar[int] = 1
    """The format that brought this kind."""
    NEEDED: ClassVar[Needed] = {}
    """What a trial that ended well has, by part of the row."""
    ABOVE_0: ClassVar[tuple[str, ...]] = ()
    """What it has measured above 0, so it is never null."""
    IS_CHECKED: ClassVar[bool] = True
    """Whether a trial of this kind that ended well has checks."""

    format: Annotated[int, Meta(ge=1, le=NEWEST_FORMAT)]
    """The format of the row; bench/core/rows.py has the history. A newer format only adds kinds and figures, so rows of
    older ones are valid as they are.
    """
    run: Name
    """The run's name, which is also its folder's."""
    trial: Name
    """Names the cell and the round; the same in every run of the same experiment."""
    round: Annotated[int, Meta(ge=1, le=10**6)]
    """Which round the trial belongs to, from 1."""
    strategy: Name
    """The strategy's id (the name of its file in strategies/); of the other kinds, the building block, the probe, the
    resource, or the client (locust, wrk).
    """
    stack: Literal["shared", "own", "none"]
    """shared: parses with strategies.core; own: brings an HTTP stack of its own, so not only the concurrency model
    differs; none: no strategy crawls in this trial.
    """
    status: Status
    """ok: the right answer came. wrong: an answer, but not the right one. failed: crash, rubbish or a dead server.
    timeout: killed at its deadline. skipped: never started.
    """
    reason: Text | None
    """Says more for every status but ok."""
    cause: Maybe[Cause] = None
    """Why the trial was skipped or broke off; left out where it is none of these. limit: the machine does not allow
    it.
    """
    started_at: StartedAt
    """When the trial started: ISO 8601, with its offset from UTC."""
    duration_ns: Ns
    """How long the trial took the harness, with starting and stopping the worker."""
    checks: tuple[Check, ...]
    """Reasons to believe the row, or not to; empty when the trial did not get that far. A row with a failed check is
    red: shown, kept, and part of no conclusion.
    """
    workload: Any
    measured: Any
    server: Any
    knobs: Any

    def __post_init__(self) -> None:
        """Refuse what the status of the row contradicts. Raises ValueError."""
        if self.format < self.SINCE:
            raise ValueError(f"a row of format {self.format}, which did not have this kind")
        if (self.status == "ok") != (self.reason is None) or self.reason == "":
            raise ValueError("a status that is not ok needs a reason, and ok has none")
        if self.status == "ok":
            self._refuse_gaps()

    def _refuse_gaps(self) -> None:
        for part, names in self.NEEDED.items():
            found = getattr(self, part)
            for name in names:
                if getattr(found, name) is None:
                    raise ValueError(f"the status is ok, but {part} has no {name}")
        for name in self.ABOVE_0:
            if not getattr(self.measured, name):
                raise ValueError(f"the status is ok, but measured.{name} is not above 0")
        if self.IS_CHECKED and not self.checks:
            raise ValueError("the status is ok, but there are no checks")

    @property
    def kind(self) -> Kind:
        """Which kind of trial it was."""
        found: Kind = self.__struct_config__.tag  # type: ignore[assignment]
        return found

    @property
    def valid(self) -> bool:
        """Whether the row may be part of a conclusion."""
        return self.status == "ok" and not self.failed_checks

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The red ones."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    @property
    def why_red(self) -> list[str]:
        """The reasons for which it is not valid: its status, if it did not end well, or else its failed checks."""
        if self.status != "ok":
            return [f"{self.status}: {self.reason}" if self.reason else self.status]
        return [f'failed "{check.name}": {check.detail}' for check in self.failed_checks]

    @property
    def of_comparison(self) -> bool:
        """Whether it belongs to a comparison of two arms, and so to no table of strategies."""
        return getattr(self.workload, "comparison", None) is not None

    def to_json(self) -> str:
        """Return the row as one line, without its line end."""
        return json.dumps(plain_values(self), separators=(",", ":"), allow_nan=False)

    @staticmethod
    def from_json(line: str) -> "Row":
        """Read one line. Raises ValueError, with a sentence, for anything that is not a row of a known format."""
        from inflight.bench.core import records

        return records.read(line)


LAYERS = {
    "uss_bytes": "memory of the process's own (USS)",
    "rss_bytes": "resident memory of the process",
    "pss_bytes": "its share of resident memory, pages of others counted in part",
    "page_tables_bytes": "page tables of the process (VmPTE)",
    "kernel_stack_bytes": "kernel stacks of the whole system (KernelStack)",
    "slab_bytes": "slab of the whole system, with both ends of every loopback connection",
    "socket_bytes": "pages of data in TCP sockets, of the whole system",
    "all_page_tables_bytes": "page tables of the whole system",
    "available_bytes": "memory available in the whole system",
    "unused_bytes": "memory that neither a process nor the kernel uses, in the whole system; swarms only",
    "tcp_sockets": "TCP sockets of the network namespace",
    "time_waits": "TCP connections in TIME_WAIT",
    "tasks": "threads of all processes",
    "threads": "threads of the worker",
    "connections": "connections that the server has",
    "server_uss_bytes": "USS of the server",
    "server_rss_bytes": "RSS of the server",
    "server_pss_bytes": "PSS of the server",
    "server_page_tables_bytes": "page tables of the server",
}
MOMENTS = {
    "base": "Before the trial's own",
    "held": "When N were held",
    "parked": "When all workers but one were parked",
}


def _layers() -> list[tuple[str, Any, Any]]:
    """Return the fields of all layers at all moments."""
    fields: list[tuple[str, Any, Any]] = []
    for moment, when in MOMENTS.items():
        for layer, what in LAYERS.items():
            meta = Meta(description=f"{when}: {what}; null where unknown.")
            kind: Any = Bytes if layer.endswith("_bytes") else Count
            fields.append((f"{moment}_{layer}", Annotated[kind | None, meta], None))
    return fields


if TYPE_CHECKING:
    Layers = Open
else:
    Layers = defstruct("Layers", _layers(), bases=(Open,), kw_only=True)


class Site(Closed, frozen=True, kw_only=True):
    """The synthetic site, from which it can be built again."""

    seed: Count
    """Pages, sizes, delays and faults are functions of the seed and the page's number."""
    pages: PositiveCount
    """How many pages."""
    links: Count
    """Links on each HTML page."""
    body_bytes: Bytes
    """The mean size of a page's body; a page that needs more for its links is larger."""
    body_spread: Number
    """Sizes are uniform in body_bytes * (1 +- body_spread)."""
    redirects: Share
    """Share of pages that redirect."""
    redirect_chain: Count
    """Redirects from the head of a chain to its last page."""
    redirect_targets: Count
    """How many pages all redirects lead to; 0: each chain to one of its own."""
    missing: Share
    """Share of pages that are not there (404)."""
    non_html: Share
    """Share of pages that are no HTML, so have no links."""
    delay: Text
    """The added latency again, as the server was given it."""
    faults: dict[Name, Share]
    """The share of pages with each kind of fault, of those that can have one."""
    drip_ns: Ns
    """The time over which a response with the fault drip is spread."""


class Histogram(Closed, frozen=True, kw_only=True):
    """Durations in buckets."""

    significant_bits: Annotated[int, Meta(ge=1, le=64)]
    """A bucket holds values that agree in their first bit and so many more: it is at most 2**-significant_bits of its
    values wide.
    """
    counts: Annotated[list[tuple[Ns, PositiveCount]], Meta(min_length=1)]
    """[least value of the bucket in nanoseconds, how many], in order; empty buckets are left out."""

    def __post_init__(self) -> None:
        """Refuse buckets that do not rise."""
        starts = [start_ns for start_ns, _ in self.counts]
        if any(one >= other for one, other in pairwise(starts)):
            raise ValueError("buckets that do not rise")


class TimesTold(Closed, frozen=True, kw_only=True):
    """Durations, as far as a client tells them."""

    count: Count
    """How many."""
    mean_ns: Maybe[Ns] = None
    """Mean."""
    min_ns: Maybe[Ns] = None
    """Least."""
    p50_ns: Maybe[Ns] = None
    """Median; all quantiles are of nearest rank, so real samples."""
    p90_ns: Maybe[Ns] = None
    """90 % quantile."""
    p99_ns: Maybe[Ns] = None
    """99 % quantile; rests on too little below 1,000 samples."""
    p999_ns: Maybe[Ns] = None
    """99.9 % quantile."""
    max_ns: Maybe[Ns] = None
    """Greatest."""
    histogram: Maybe[Histogram] = None
    """All of them, in buckets."""


class Times(TimesTold, frozen=True, kw_only=True):
    """Durations of all finished fetches."""

    def __post_init__(self) -> None:
        """Refuse durations without their quantiles, quantiles that do not rise, and a histogram of other durations."""
        rising = (self.min_ns, self.p50_ns, self.p90_ns, self.p99_ns, self.p999_ns, self.max_ns)
        known = [value for value in rising if value is not None]
        if self.count and (len(known) < len(rising) or self.mean_ns is None or self.histogram is None):
            raise ValueError("durations without a mean, a quantile or a histogram")
        if known != sorted(known):
            raise ValueError("quantiles that do not rise")
        if self.histogram is not None:
            counted = sum(count for _, count in self.histogram.counts)
            if counted != self.count:
                raise ValueError(f"a histogram of {counted} durations instead of {self.count}")


class Timeline(Closed, frozen=True, kw_only=True):
    """The crawl over time."""

    bin_ns: BinNs
    """Length of a bin: a microsecond or more."""
    completions: list[Count]
    """Fetches finished in each bin."""
    in_flight: list[Count]
    """Fetches in flight at the end of each bin."""

    def __post_init__(self) -> None:
        """Refuse lists of different lengths, and more time than a trial takes."""
        same_length(self.completions, self.in_flight)
        if self.bin_ns * len(self.completions) > MOST_NS:
            raise ValueError("bins of a time line that are too long")


class Samples(Closed, frozen=True, kw_only=True):
    """What was seen of the worker from outside while it crawled: lists of equal length, at most 200."""

    at_ns: list[Ns]
    """When, since the crawl was ordered; in order."""
    threads: list[Count]
    """How many threads there were."""
    rss_bytes: list[Bytes]
    """Resident memory (RSS)."""
    cpu_ns: list[Ns | None]
    """CPU time since the crawl was ordered; null where unknown."""

    def __post_init__(self) -> None:
        """Refuse lists of different lengths, and times that are not in order."""
        same_length(self.at_ns, self.threads, self.rss_bytes, self.cpu_ns)
        if self.at_ns != sorted(self.at_ns):
            raise ValueError("times that do not rise")


class Steady(Closed, frozen=True, kw_only=True):
    """The time in which as many fetches were in flight as may be."""

    window_ns: PositiveNs
    """Its length."""
    completions: Count
    """Fetches finished in it."""
    mean_service_ns: Ns
    """Their mean service time."""
    mean_in_flight: Number
    """The mean number in flight."""


class Window(Open, frozen=True, kw_only=True):
    """What a client and its server did in the time that is looked at; empty when the trial did not get that far."""

    completed: Maybe[Count] = None
    """Requests that were answered rightly."""
    failed: Maybe[Count] = None
    """Requests that were not."""
    completed_per_s: Maybe[Number] = None
    """Answered a second."""
    client_cpu_share: Maybe[Number] = None
    """CPU time of the client as a share of the window, of one core."""
    server_cpu_share: Maybe[Number] = None
    """CPU time of the server likewise; null for a target other than the fake server."""
    errors: Maybe[dict[Name, PositiveCount]] = None
    """What went wrong, in the client's words, and how often."""
    listen_drops: Maybe[Count] = None
    """Connections lost in full listen queues; null where the kernel does not count them."""
    steal_share: Maybe[Share] = None
    """Share of CPU time that the hypervisor took; null where the system does not say."""


class LocustCounts(Closed, frozen=True, kw_only=True):
    """What Locust counted."""

    requests: Count
    """Requests in Locust's statistics."""
    failures: Count
    """Failures in Locust's statistics."""


class Server(Open, frozen=True, kw_only=True):
    """What the fake server counted during the trial; empty when the trial did not get that far."""

    requests: Maybe[Count] = None
    """Requests received."""
    in_flight: Maybe[Count] = None
    """Requests received and not answered, at the end."""
    peak_in_flight: Maybe[Count] = None
    """The most of them at a time."""
    connections: Maybe[Count] = None
    """Connections open at the end."""
    peak_connections: Maybe[Count] = None
    """The most open at a time."""
    total_connections: Maybe[Count] = None
    """Connections accepted."""
    bytes_sent: Maybe[Count] = None
    """Bytes sent."""
    responses_by_status: Maybe[dict[HttpStatus, Count]] = None
    """Responses by their status."""
    faults: Maybe[dict[Name, Count]] = None
    """Faults made, by kind."""
    lateness_count: Maybe[Count] = None
    """Responses that were delayed on purpose."""
    lateness_p50_ns: Maybe[Ns] = None
    """How much later than due they were sent: median."""
    lateness_p90_ns: Maybe[Ns] = None
    """90 % quantile."""
    lateness_p99_ns: Maybe[Ns] = None
    """99 % quantile."""
    first_lateness_p99_ns: Maybe[Ns] = None
    """99 % quantile of the first responses on kept connections, which are not among the others."""
    first_lateness_count: Maybe[Count] = None
    """How many first responses on kept connections were delayed on purpose."""
    ceiling_per_s: Maybe[Number] = None
    """Responses per second that the server gave a client that parses nothing, before the trials, without added
    latency; null where it was not looked for.
    """
    run_delay_share: Maybe[Number] = None
    """Share of the time in which the server could run and had to wait for its core; null where unknown."""
    lateness_max_ns: Maybe[Ns] = None
    """Greatest."""
    cpu_user_ns: Maybe[Ns] = None
    """User CPU time of the server since its start."""
    cpu_system_ns: Maybe[Ns] = None
    """System CPU time of the server since its start."""
    cpu_ns: Maybe[Ns] = None
    """CPU time of the server during the trial."""
    cpu_share: Maybe[Number] = None
    """The same as a share of the trial's time: of one core."""
    clock_ns: Maybe[ClockNs] = None
    """The server's clock at the end."""
    held: Maybe[bool] = None
    """Whether the gate was shut at the end."""
    cached_pages: Maybe[Count] = None
    """Pages that it had rendered and kept."""
    cached_bytes: Maybe[Bytes] = None
    """Their size."""


class Knobs(Open, frozen=True, kw_only=True):
    """What the worker says it really ran with; empty when it did not get that far."""

    strategy: Maybe[Text] = None
    """The strategy that it loaded."""
    python: Maybe[Text] = None
    """The interpreter's version."""
    implementation: Maybe[Text] = None
    """The interpreter's name, such as cpython."""
    executable: Maybe[Text] = None
    """The name of the interpreter's file, without its folder."""
    gil: Maybe[bool] = None
    """Whether the global interpreter lock is on."""
    switch_interval_ns: Maybe[Ns] = None
    """How long a thread may keep the lock when others want it."""
    gc_enabled: Maybe[bool] = None
    """Whether the garbage collector is on."""
    gc_thresholds: Maybe[list[Count]] = None
    """Its thresholds."""
    selector: Maybe[Text] = None
    """The platform's default selector."""
    versions: Maybe[dict[Name, Text]] = None
    """Versions of the distributions that the strategy requires."""
    cpus: Maybe[list[Count]] = None
    """The cores that the worker may run on; null where the system does not tell."""
    descriptor_limit: Maybe[Limit] = None
    """The most descriptors that it may open; -1: no limit."""
    variables: Maybe[dict[Name, Text | None]] = None
    """Environment variables that were set on purpose, as the worker of an arm found them; null where one was not."""
    block: Maybe[Text] = None
    """The building block that the worker started."""
    stack_bytes: Maybe[Limit] = None
    """The address space of the stack of each of its threads; null where the system does not tell."""
    locust: Maybe[Text] = None
    """The version of Locust, where it sent the requests."""
    users: Maybe[Count] = None
    """How many users Locust had."""
