"""What each probe measures: the records of the programs in bench/studies/probes/programs/."""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET

from bench.core.records import values
from bench.core.records.values import Closed, Count, Maybe, Name, Ns, Number, Open, PositiveCount, PositiveNs, Text


class Probed(Open):
    """What any probe may say: why it does not apply, or what stopped it."""

    NEEDED: ClassVar[tuple[str, ...]] = ()
    """What a probe has measured that ended well."""
    EXCUSED_BY: ClassVar[str] = ""
    """The field that says why it measured nothing; empty where there is always something to measure."""

    not_applicable: Maybe[Name] = UNSET
    """Why the probe cannot be made with these arguments."""
    stopped_by: Maybe[Name] = UNSET
    """What stopped it before it had measured anything."""
    error: Maybe[Text | None] = UNSET
    """The error behind that; null where there was none."""


class Attribution(Probed):
    """Where the bytes of a building block go: bytes for each of N, the greatest pieces first."""

    NEEDED = ("n", "started")

    n: Maybe[PositiveCount] = UNSET
    """How many blocks."""
    started: Maybe[Count] = UNSET
    """How many of them were started."""
    python: Maybe[list[tuple[Text, int]] | None] = UNSET
    """[line of code, bytes], as tracemalloc sees it."""
    mappings: Maybe[list[tuple[Text, int]] | None] = UNSET
    """[kind of mapping, bytes]; null where the system does not tell."""
    kernel: Maybe[list[tuple[Text, int]] | None] = UNSET
    """[slab cache, bytes]; null where the system does not tell."""
    tables: Maybe[list[tuple[Text, int]] | None] = UNSET
    """[page tables and kernel stacks, bytes]; null where the system does not tell."""


class Left(Closed):
    """What was left in the process when its crawl had ended."""

    tasks: Count
    """Tasks."""
    threads: Count
    """Threads."""
    coroutines: Count
    """Coroutines."""
    descriptors: int
    """Descriptors more than before."""


class CancelWorkers(Probed):
    """What happens when workers are not cancelled at the end."""

    NEEDED = ("strategy", "variant", "pages", "left", "ended", "complaint", "printed")
    EXCUSED_BY = "not_applicable"

    strategy: Maybe[Name] = UNSET
    """The strategy."""
    variant: Maybe[Name] = UNSET
    """What was left out of it."""
    pages: Maybe[Count] = UNSET
    """Pages that came."""
    left: Maybe[Left | None] = UNSET
    """What was left; null where the crawl did not end."""
    ended: Maybe[bool] = UNSET
    """Whether the process ended."""
    complaint: Maybe[Text] = UNSET
    """What kind of complaint it printed."""
    printed: Maybe[list[Text]] = UNSET
    """The lines that it printed."""


class Races(Probed):
    """Which updates are lost when workers share a counter and a set without a lock."""

    NEEDED = ("model", "links_seen", "distinct", "fetched", "duplicates", "lost_updates")

    model: Maybe[Name] = UNSET
    """How the workers run."""
    switch_interval_us: Maybe[PositiveCount] = UNSET
    """The interpreter's switch interval."""
    links_seen: Maybe[Count] = UNSET
    """Links that the workers came upon."""
    distinct: Maybe[Count] = UNSET
    """Links that differ."""
    fetched: Maybe[Count] = UNSET
    """Links that were fetched."""
    duplicates: Maybe[Count] = UNSET
    """Links that were fetched again."""
    lost_updates: Maybe[int] = UNSET
    """Increments of the counter that were lost."""
    workers: Maybe[PositiveCount] = UNSET
    """How many workers."""
    wall_ns: Maybe[PositiveNs] = UNSET
    """How long it took."""


class Selectors(Probed):
    """What idle connections cost under each selector."""

    NEEDED = ("selector", "idle", "pages", "wall_ns", "cpu_ns", "cpu_per_page_ns", "pages_per_s")
    EXCUSED_BY = "stopped_by"

    selector: Maybe[Name] = UNSET
    """Which selector."""
    idle: Maybe[Count] = UNSET
    """Idle connections."""
    largest_fd: Maybe[int] = UNSET
    """The greatest descriptor."""
    waits: Maybe[Count] = UNSET
    """How often it waited."""
    pages: Maybe[PositiveCount] = UNSET
    """Pages that were crawled."""
    wall_ns: Maybe[PositiveNs] = UNSET
    """How long it took."""
    cpu_ns: Maybe[Ns] = UNSET
    """CPU time that it took."""
    cpu_per_page_ns: Maybe[Ns] = UNSET
    """The same for one page."""
    pages_per_s: Maybe[Number] = UNSET
    """Throughput."""


class Spin(Probed):
    """What it costs to ask again and again instead of being told."""

    NEEDED = ("how", "waits_for", "wall_ns", "cpu_ns", "cpu_share", "attempts")
    EXCUSED_BY = "stopped_by"

    how: Maybe[Literal["spin", "selector"]] = UNSET
    """How it waits."""
    waits_for: Maybe[Literal["answer", "connect"]] = UNSET
    """What it waits for."""
    sockets: Maybe[PositiveCount] = UNSET
    """On how many sockets."""
    wait_ms: Maybe[PositiveCount] = UNSET
    """For how long."""
    wall_ns: Maybe[PositiveNs] = UNSET
    """How long it took."""
    cpu_ns: Maybe[Ns] = UNSET
    """CPU time that it took."""
    cpu_share: Maybe[Number] = UNSET
    """The same as a share of that time."""
    attempts: Maybe[Count] = UNSET
    """How often it asked."""


class StackRipping(Probed):
    """What a traceback still says of who started a fetch."""

    NEEDED = ("strategy", "started_by", "traceback", "holding", "names_starter", "lost", "text")

    strategy: Maybe[Name] = UNSET
    """The strategy."""
    at: Maybe[PositiveCount] = UNSET
    """The page at which it failed."""
    started_by: Maybe[list[Text]] = UNSET
    """The functions through which the fetch was started."""
    traceback: Maybe[list[Text]] = UNSET
    """The functions that the traceback names."""
    holding: Maybe[list[Text]] = UNSET
    """The functions of the strategy among them."""
    names_starter: Maybe[bool] = UNSET
    """Whether one of them started it."""
    lost: Maybe[list[Text]] = UNSET
    """The functions that it does not name."""
    text: Maybe[Text] = UNSET
    """The traceback."""


class ThreadPerFetch(Probed):
    """A pool against a thread for each fetch."""

    NEEDED = ("how", "connection", "pages", "makespan_ns", "cpu_ns", "cpu_per_page_ns", "threads_started")
    EXCUSED_BY = "not_applicable"

    how: Maybe[Name] = UNSET
    """Which of the two."""
    connection: Maybe[Name] = UNSET
    """The use of connections."""
    in_flight: Maybe[PositiveCount] = UNSET
    """The in-flight cap."""
    pages: Maybe[PositiveCount] = UNSET
    """Pages that were crawled."""
    peak_in_flight: Maybe[Count] = UNSET
    """The most in flight at a time."""
    makespan_ns: Maybe[PositiveNs] = UNSET
    """How long it took."""
    cpu_ns: Maybe[Ns] = UNSET
    """CPU time that it took."""
    cpu_per_page_ns: Maybe[Ns] = UNSET
    """The same for one page."""
    threads_started: Maybe[Count] = UNSET
    """How many threads were started."""


_PROBES: dict[str, type[Probed]] = {
    "attribution": Attribution,
    "cancel_workers": CancelWorkers,
    "races": Races,
    "selectors": Selectors,
    "spin": Spin,
    "stack_ripping": StackRipping,
    "thread_per_fetch": ThreadPerFetch,
}


def judge(probe: str, measured: dict[str, Any], path: str, *, is_ok: bool) -> None:
    """Raise ValueError unless these are the figures of a probe, and leave out what its record does not know.

    Of a probe that is not known, anything may be measured.
    """
    kind = _PROBES.get(probe)
    if kind is None:
        return
    try:
        found = msgspec.convert(measured, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$", f"`{path}")) from error
    for name in [name for name in measured if name not in kind.__struct_fields__]:
        values.plain(measured.pop(name), f"{path}.{name}")
    if not is_ok or (kind.EXCUSED_BY and getattr(found, kind.EXCUSED_BY) is not UNSET):
        return
    for name in kind.NEEDED:
        if getattr(found, name) is UNSET:
            raise ValueError(f"the status is ok, but measured has no {name}")
