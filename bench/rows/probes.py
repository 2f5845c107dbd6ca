"""The measurements of each probe, by the name of its program in bench/measure/programs/."""

from typing import ClassVar, Literal

from inflight.bench.rows.values import Closed, Count, Maybe, Name, Ns, Number, Open, PositiveCount, PositiveNs, Text


class Probed(Open, frozen=True, kw_only=True):
    """Fields of all probes: why a probe does not apply, or what stopped it."""

    NEEDED: ClassVar[tuple[str, ...]] = ()
    """Fields of every successful measurement."""
    EXCUSED_BY: ClassVar[str] = ""
    """Field that explains a missing measurement; empty where there always is one."""

    not_applicable: Maybe[Name] = None
    """Why the probe does not apply to these arguments."""
    stopped_by: Maybe[Name] = None
    """What stopped the probe before it had measured anything."""
    error: Maybe[Text] = None
    """The underlying error; null where there was none."""

    @property
    def is_excused(self) -> bool:
        """Whether it says why there is no measurement."""
        return bool(self.EXCUSED_BY and getattr(self, self.EXCUSED_BY) is not None)


class Attribution(Probed, frozen=True, kw_only=True):
    """Where the bytes of an idle thread or task go: bytes of each, the largest pieces first."""

    NEEDED = ("n", "started")

    n: Maybe[PositiveCount] = None
    started: Maybe[Count] = None
    python: Maybe[list[tuple[Text, int]]] = None
    """[line of code, bytes], as tracemalloc sees it."""
    mappings: Maybe[list[tuple[Text, int]]] = None
    """[kind of mapping, bytes]; null where unknown."""
    kernel: Maybe[list[tuple[Text, int]]] = None
    """[slab cache, bytes]; null where unknown."""
    tables: Maybe[list[tuple[Text, int]]] = None
    """[page tables and kernel stacks, bytes]; null where unknown."""


class Left(Closed, frozen=True, kw_only=True):
    """What was left in the process after its crawl."""

    tasks: Count
    threads: Count
    coroutines: Count
    descriptors: int


class CancelWorkers(Probed, frozen=True, kw_only=True):
    """What happens when workers are not cancelled at the end, and what the process printed."""

    NEEDED = ("strategy", "variant", "pages", "ended", "complaint", "printed")
    EXCUSED_BY = "not_applicable"

    strategy: Maybe[Name] = None
    variant: Maybe[Name] = None
    pages: Maybe[Count] = None
    left: Maybe[Left] = None
    """What was left; null where the crawl did not end."""
    ended: Maybe[bool] = None
    complaint: Maybe[Text] = None
    printed: Maybe[list[Text]] = None


class Races(Probed, frozen=True, kw_only=True):
    """Duplicate fetches and lost increments when workers share a counter and a set."""

    NEEDED = ("model", "links_seen", "distinct", "fetched", "duplicates", "lost_updates")

    model: Maybe[Name] = None
    switch_interval_us: Maybe[PositiveCount] = None
    links_seen: Maybe[Count] = None
    distinct: Maybe[Count] = None
    fetched: Maybe[Count] = None
    duplicates: Maybe[Count] = None
    lost_updates: Maybe[int] = None
    workers: Maybe[PositiveCount] = None
    wall_ns: Maybe[PositiveNs] = None


class Selectors(Probed, frozen=True, kw_only=True):
    """The cost of idle connections with each selector."""

    NEEDED = ("selector", "idle", "pages", "wall_ns", "cpu_ns", "cpu_per_page_ns", "pages_per_s")
    EXCUSED_BY = "stopped_by"

    selector: Maybe[Name] = None
    idle: Maybe[Count] = None
    largest_fd: Maybe[int] = None
    waits: Maybe[Count] = None
    pages: Maybe[PositiveCount] = None
    wall_ns: Maybe[PositiveNs] = None
    cpu_ns: Maybe[Ns] = None
    cpu_per_page_ns: Maybe[Ns] = None
    pages_per_s: Maybe[Number] = None


class Spin(Probed, frozen=True, kw_only=True):
    """The cost of busy polling, with ``attempts`` attempts, compared with a selector."""

    NEEDED = ("how", "waits_for", "wall_ns", "cpu_ns", "cpu_share", "attempts")
    EXCUSED_BY = "stopped_by"

    how: Maybe[Literal["spin", "selector"]] = None
    waits_for: Maybe[Literal["answer", "connect"]] = None
    sockets: Maybe[PositiveCount] = None
    wait_ms: Maybe[PositiveCount] = None
    wall_ns: Maybe[PositiveNs] = None
    cpu_ns: Maybe[Ns] = None
    cpu_share: Maybe[Number] = None
    attempts: Maybe[Count] = None


class StackRipping(Probed, frozen=True, kw_only=True):
    """What a traceback contains about the functions that started a fetch."""

    NEEDED = ("strategy", "started_by", "traceback", "holding", "names_starter", "lost", "text")

    strategy: Maybe[Name] = None
    at: Maybe[PositiveCount] = None
    started_by: Maybe[list[Text]] = None
    """The functions through which the fetch was started."""
    traceback: Maybe[list[Text]] = None
    """The functions in the traceback."""
    holding: Maybe[list[Text]] = None
    """The functions among them that hold the fetch."""
    names_starter: Maybe[bool] = None
    """Whether one of these started the fetch."""
    lost: Maybe[list[Text]] = None
    """The starting functions that the traceback lacks."""
    text: Maybe[Text] = None


class ThreadPerFetch(Probed, frozen=True, kw_only=True):
    """A pool against a thread for each fetch."""

    NEEDED = ("how", "connection", "pages", "makespan_ns", "cpu_ns", "cpu_per_page_ns", "threads_started")
    EXCUSED_BY = "not_applicable"

    how: Maybe[Name] = None
    connection: Maybe[Name] = None
    in_flight: Maybe[PositiveCount] = None
    pages: Maybe[PositiveCount] = None
    peak_in_flight: Maybe[Count] = None
    makespan_ns: Maybe[PositiveNs] = None
    cpu_ns: Maybe[Ns] = None
    cpu_per_page_ns: Maybe[Ns] = None
    threads_started: Maybe[Count] = None


PROBES: dict[str, type[Probed]] = {
    "attribution": Attribution,
    "cancel_workers": CancelWorkers,
    "races": Races,
    "selectors": Selectors,
    "spin": Spin,
    "stack_ripping": StackRipping,
    "thread_per_fetch": ThreadPerFetch,
}
