"""Records of trials without a crawl of one strategy: limits, probes, open loops, and swarms."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from inflight.bench.rows.parts import (
    Layers,
    Load,
    LocustCounts,
    Needed,
    Row,
    Site,
    Times,
    Workload,
    refuse_gaps,
)
from inflight.bench.rows.values import (
    Bytes,
    ChangeBytes,
    Closed,
    Count,
    Limit,
    Lists,
    Maybe,
    Name,
    Ns,
    Number,
    Open,
    PositiveCount,
    PositiveNs,
    PositiveNumber,
    Share,
    Text,
)


class LimitWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a limit."""

    resource: Literal["threads", "descriptors", "ports", "backlog", "memory"]  #: The limited resource.
    through_shared: bool  #: Whether the search may exhaust limits shared with other processes.


class NextCeiling(Closed, frozen=True, kw_only=True):
    """The next limit after the one that was reached."""

    name: Name  #: The limit's name.
    most: Limit  #: Remaining amount of the resource; below 0 if more is in use than allowed.


class Ceiling(NextCeiling, frozen=True, kw_only=True):
    """One limit of a resource."""

    shared: bool  #: Whether other processes share the limit, so that using it up affects them.
    evidence: Text  #: Figures of the limit, in a sentence.
    remedy: Text  #: How to raise the limit.


LimitNames = Text | list[Text]
"""The name of the binding limit, or several names if the cause is ambiguous."""


def limit_text(names: str | Sequence[str] | None) -> str | None:
    """Write which limit binds; None where none is known."""
    return names if names is None or isinstance(names, str) else f"ambiguous: {' or '.join(names)}"


class LimitMeasured(Open, frozen=True, kw_only=True):
    """Predicted and found amount of a resource."""

    predicted: Maybe[Limit] = None  #: Amount that the lowest limit leaves, before the search; null: no limit is known.
    predicted_by: Maybe[LimitNames] = None  #: Name of the lowest limit, or several names if they are equally low.
    found: Maybe[Count] = None  #: Amount that a process reached; null if nothing was tried.
    bound_by: Maybe[LimitNames] = None  #: The limit that was reached, stopped short of, or predicted; null: none.
    #: Why the search ended; predicted: nothing but a prediction was asked for.
    stopped_by: Maybe[
        Literal["predicted", "failure", "shared limit", "memory budget", "deadline", "died", "not tried"]
    ] = None
    ceilings: Maybe[list[Ceiling]] = None  #: All limits, the lowest first.
    evidence: Maybe[list[Text]] = None  #: The figures behind the result, in sentences.
    next: Maybe[NextCeiling] = None  #: The next limit; null if none is known.
    remedy: Maybe[Text] = None  #: How to raise the limit that was reached.
    timeline: Maybe[list[tuple[Ns, Count]]] = None  #: [nanoseconds since the start, amount reached].
    start_ns: Maybe[Ns] = None  #: Time to start one.
    maps_per_thread: Maybe[Number] = None  #: Memory mappings per thread.
    parent_could_fork: Maybe[bool] = None  #: Whether the parent process could still start another at the limit.
    processes: Maybe[PositiveCount] = None  #: Number of processes in the search.
    small_stack_bytes: Maybe[Bytes] = None  #: Smaller stack size that was also tried.
    small_stack_found: Maybe[Count] = None  #: Amount that a process reached with the smaller stack.


class LimitFound(Row, tag="limit", frozen=True, kw_only=True):
    """Amount of a resource that this machine allows a process."""

    NEEDED: ClassVar[Needed] = {"measured": ("stopped_by", "evidence")}
    IS_CHECKED = False

    stack: Literal["none"]
    workload: LimitWorkload
    measured: LimitMeasured


class Left(Closed, frozen=True, kw_only=True):
    """What was left in the process after its crawl."""

    tasks: Count  #: Number of tasks.
    threads: Count  #: Number of threads.
    coroutines: Count  #: Number of coroutines.
    descriptors: int  #: Number of descriptors.


class Probed(Open, frozen=True, kw_only=True):
    """Result of a probe, which has some of these figures; its program is in bench/measure/programs/."""

    not_applicable: Maybe[Name] = None  #: Why the probe does not apply to these arguments.
    stopped_by: Maybe[Name] = None  #: What stopped the probe before it had measured anything.
    error: Maybe[Text] = None  #: The underlying error.
    strategy: Maybe[Name] = None  #: The strategy that crawled.
    connection: Maybe[Name] = None  #: Its use of connections.
    how: Maybe[Name] = None  #: Which of the compared ways was taken.
    pages: Maybe[Count] = None  #: Number of pages fetched.
    in_flight: Maybe[PositiveCount] = None  #: The in-flight cap.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of fetches in flight at a time.
    pages_per_s: Maybe[Number] = None  #: Pages per second.
    wall_ns: Maybe[PositiveNs] = None  #: Time of the measurement.
    makespan_ns: Maybe[PositiveNs] = None  #: Time of the crawl.
    cpu_ns: Maybe[Ns] = None  #: CPU time in that time.
    cpu_per_page_ns: Maybe[Ns] = None  #: CPU time per page.
    cpu_share: Maybe[Number] = None  #: CPU time as a share of the time.
    # attribution: where the bytes of an idle thread or task go, the largest pieces first
    n: Maybe[PositiveCount] = None  #: Number of idle threads or tasks asked for.
    started: Maybe[Count] = None  #: Number of them that were started.
    python: Maybe[list[tuple[Text, int]]] = None  #: [line of code, bytes of each], as tracemalloc sees it.
    mappings: Maybe[list[tuple[Text, int]]] = None  #: [kind of mapping, bytes of each].
    kernel: Maybe[list[tuple[Text, int]]] = None  #: [slab cache, bytes of each].
    tables: Maybe[list[tuple[Text, int]]] = None  #: [page tables and kernel stacks, bytes of each].
    # cancel_workers: what happens when workers are not cancelled at the end
    variant: Maybe[Name] = None  #: Whether and how the workers are cancelled at the end.
    left: Maybe[Left] = None  #: What was left; null where the crawl did not end.
    ended: Maybe[bool] = None  #: Whether the process ended.
    complaint: Maybe[Text] = None  #: First line outside a traceback, else the error of the first one.
    printed: Maybe[list[Text]] = None  #: What the process printed.
    # races: workers share a counter and a set
    model: Maybe[Name] = None  #: Which kind of workers ran.
    switch_interval_us: Maybe[PositiveCount] = None  #: Switch interval of threads.
    workers: Maybe[PositiveCount] = None  #: Number of workers.
    links_seen: Maybe[Count] = None  #: Number of links that the workers saw.
    distinct: Maybe[Count] = None  #: Number of distinct links.
    fetched: Maybe[Count] = None  #: Number of fetches.
    duplicates: Maybe[Count] = None  #: Pages that were fetched again.
    lost_updates: Maybe[int] = None  #: Increments of the counter that were lost.
    # selectors: the cost of idle connections
    selector: Maybe[Name] = None  #: The selector.
    idle: Maybe[Count | Name] = None  #: Number of idle connections; of attribution: what is idle.
    largest_fd: Maybe[int] = None  #: Highest file descriptor.
    waits: Maybe[Count] = None  #: Number of calls of the selector.
    # spin: the cost of busy polling, compared with a selector
    waits_for: Maybe[Literal["answer", "connect"]] = None  #: What the program waited for.
    sockets: Maybe[PositiveCount] = None  #: Number of sockets.
    wait_ms: Maybe[PositiveCount] = None  #: Time that the server waits.
    attempts: Maybe[Count] = None  #: Number of attempts to receive or to connect.
    # stack_ripping: what a traceback contains about the functions that started a fetch
    at: Maybe[PositiveCount] = None  #: The call of the parser that fails.
    started_by: Maybe[list[Text]] = None  #: The functions through which the fetch was started.
    traceback: Maybe[list[Text]] = None  #: The functions in the traceback.
    holding: Maybe[list[Text]] = None  #: The functions among them that hold the fetch.
    names_starter: Maybe[bool] = None  #: Whether one of these started the fetch.
    lost: Maybe[list[Text]] = None  #: The starting functions that the traceback lacks.
    text: Maybe[Text] = None  #: The traceback.
    # thread_per_fetch: a pool against a thread for each fetch
    threads_started: Maybe[Count] = None  #: Number of threads started.


NEEDED_BY_PROBE = {
    "attribution": ("n", "started"),
    "cancel_workers": ("strategy", "variant", "pages", "ended", "complaint", "printed"),
    "races": ("model", "links_seen", "distinct", "fetched", "duplicates", "lost_updates"),
    "selectors": ("selector", "idle", "pages", "wall_ns", "cpu_ns", "cpu_per_page_ns", "pages_per_s"),
    "spin": ("how", "waits_for", "wall_ns", "cpu_ns", "cpu_share", "attempts"),
    "stack_ripping": ("strategy", "started_by", "traceback", "holding", "names_starter", "lost", "text"),
    "thread_per_fetch": ("how", "connection", "pages", "makespan_ns", "cpu_ns", "cpu_per_page_ns", "threads_started"),
}
"""Figures of every successful measurement."""
EXCUSES = {
    **dict.fromkeys(("cancel_workers", "thread_per_fetch"), "not_applicable"),
    **dict.fromkeys(("selectors", "spin"), "stopped_by"),
}
"""Figures that explain why a probe has none of the others."""


class ProbeWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a probe."""

    probe: Name  #: Name of the probe; its program is in bench/measure/programs/.
    arguments: dict[Name, Name | Count | bool]  #: Arguments of the program.


class Probe(Row, frozen=True, kw_only=True):
    """A small program that tests one claim."""

    IS_CHECKED = False

    stack: Literal["none"]
    workload: ProbeWorkload
    measured: Probed

    def __post_init__(self) -> None:
        """Reject a row without the figures of its probe, unless it says why. Raises ValueError."""
        Row.__post_init__(self)
        probe, excuse = self.workload.probe, EXCUSES.get(self.workload.probe)
        if self.status == "ok" and not (excuse and getattr(self.measured, excuse)):
            refuse_gaps(self.measured, NEEDED_BY_PROBE.get(probe, ()), "measured")


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


class OpenMeasured(Load, frozen=True, kw_only=True):
    """What was measured of an open loop; empty when the trial did not get that far."""

    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    run_delay_ns: Maybe[Ns] = None  #: Time that the client waited for a core; null where the system does not say.
    offered_per_s: Maybe[Number] = None  #: Requests due per second.
    arrivals: Maybe[Count] = None  #: Number of requests whose intended start was in the window.
    started: Maybe[Count] = None  #: Number of them that were started.
    peak_in_flight: Maybe[Count] = None  #: Maximum number of requests in flight at once.
    corrected: Maybe[Times] = None  #: Response times, from the intended start.
    uncorrected: Maybe[Times] = None  #: Service times, from the actual start, as without a schedule.
    backlog: Maybe[Backlog] = None  #: The number of waiting arrivals over time.
    kept: Maybe[bool] = None  #: Whether all due requests were sent, and neither the unanswered ones nor the lag grew.
    not_kept: Maybe[Literal["too slow", "window too short"]] = None  #: Why the rate was not kept, as a code.
    why: Maybe[Name] = None  #: Why the rate was not kept, in words; null where it was.


class OpenLoop(Row, tag="open", frozen=True, kw_only=True):
    """Requests at a constant rate of arrivals, independent of answers."""

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("offered_per_s", "arrivals", "started", "completed", "failed", "completed_per_s", "peak_in_flight"),
            *("corrected", "uncorrected", "backlog", "kept", "errors"),
        )
    }
    ABOVE_0 = ("offered_per_s",)

    workload: OpenWorkload
    measured: OpenMeasured


Knob = Text | Limit | Number | bool | None


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


class Latecomer(Closed, frozen=True, kw_only=True):
    """A process that joined too late to take part."""

    what: Name  #: The kind of process.
    name: Name  #: The name it gave itself.
    at_ns: Ns  #: Time of joining, since the start.


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
    hosts: Maybe[Count] = None  #: Number of machines.
    timeline: Maybe[SwarmTimeline] = None  #: The swarm over time.
    errors: Maybe[dict[Name, PositiveCount]] = None  #: Number of errors by the client's message.
    client_cpu_ns: Maybe[Ns] = None  #: CPU time of the strategy processes, from the start until they had finished.
    server_cpu_ns: Maybe[Ns] = None  #: CPU time of the servers in that time.
    locust_cpu_ns: Maybe[Ns] = None  #: CPU time of the Locust master and workers in that time.
    reporting_share: Maybe[Share] = None  #: Share of the strategy processes' CPU time for reports to Locust.
    locust: Maybe[LocustCounts] = None  #: What Locust counted.
    lost: Maybe[list[Loss]] = None  #: Processes that were lost before they had finished.
    late: Maybe[list[Latecomer]] = None  #: Processes that came late.


class Swarm(Row, frozen=True, kw_only=True):
    """One strategy in many processes, with as many servers, steered by Locust.

    The servers hold every response while the layers of memory are read.
    """

    NEEDED: ClassVar[Needed] = {
        "measured": (
            *("planned_in_flight", "client_processes", "server_processes", "nodes", "hosts"),
            *("held_in_flight", "makespan_ns", "timeline", "pages", "failed_pages", "errors", "locust", "lost", "late"),
        )
    }
    ABOVE_0 = ("planned_in_flight", "makespan_ns")

    workload: SwarmWorkload
    measured: SwarmMeasured
    #: What the strategy processes say they ran with: one value where all agree, else a list of all.
    knobs: dict[Name, Knob | dict[Name, Knob] | list[Knob | dict[Name, Knob] | list[Knob]]]  # type: ignore[assignment]
