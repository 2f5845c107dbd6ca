"""Tables of crawls: each combination of latency, CPU work, number in flight and use of connections is a workload.

``experiment`` reads a ``[[crawl]]``, ``[[memory]]``, ``[[throughput]]`` or ``[[counts]]`` table of TOML into a
``Grid``, which checks its values; ``trials`` asks it for its ``workloads``, as rows store them. *CPU work* is Python
code that runs for each page. An *endless* site repeats the same pages in *laps*, so that a crawl can go on for as long
as a block lasts.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Meta, Struct, field, structs
from msgspec.structs import asdict, force_setattr

from inflight.bench.plan.judge import ExperimentTable, Seconds, check_process, judged, need
from inflight.bench.rows.kinds import Connection, CountsWorkload, CrawlWorkload
from inflight.bench.rows.parts import Kind, Site
from inflight.fake_server.delays import duration_text, parse_delay, parse_duration_ns
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

CONNECTIONS: tuple[str, ...] = get_args(Connection)
"""All uses of connections."""
MAX_IN_FLIGHT = 1_000_000
"""Maximum number in flight of one process."""
MAX_CPU_NS = 1_000_000_000
"""Maximum CPU work per page: one second."""
LAP, MIN_LAP = 1000, 10
"""Pages in a lap of an endless site: default and minimum."""
MAX_LEFT_NS = 250_000_000
"""Maximum CPU work and transfer of a lap: a block ends when the waiting pages, almost a lap, have been crawled."""
USUAL_PAGES = {key: SiteConfig().to_dict()[key] for key in ("links", "body_bytes", "body_spread")}
"""The values of the usual site on which the CPU time per page depends; ``predict.advice`` asks rows for them."""

InFlight = Annotated[int, Meta(ge=1, le=MAX_IN_FLIGHT)]
"""A maximum number of fetches in flight (the cap)."""
Pages = Annotated[int, Meta(ge=1, le=10**9)]
"""A number of pages of a site."""
Cores = Annotated[int, Meta(ge=1, le=1024)]
"""A number of cores of a worker."""
BusyThreads = Annotated[int, Meta(ge=0, le=100)]
"""A number of threads that compute beside a crawl."""


def served(site: SiteConfig) -> dict[str, Any]:
    """Return a site and its latency as they are stored in a row."""
    mean_ns = round(parse_delay(site.delay).mean_ns)
    return {"latency": site.delay, "mean_latency_ns": mean_ns, "site": Site(**site.to_dict())}


def check_bodies(site: SiteConfig) -> None:
    """Raise ExperimentError for bodies that no client of a job accepts."""
    most, limit = site.body_bytes * (1 + site.body_spread), Job(roots=()).max_body_bytes
    need(
        most <= limit,
        f"body_bytes: bodies of {most:,.0f} bytes are above the limit of a fetch, {limit:,}; ask for less",
    )


def latencies(texts: tuple[str, ...], site: Mapping[str, Any]) -> tuple[str, ...]:
    """Return latencies in their canonical form. Raises ExperimentError, also for a site that cannot be."""
    need("delay" not in site, 'the site\'s delay is given as "latency" here')
    check_bodies(SiteConfig.from_dict(site))
    return tuple(judged(lambda: [parse_delay(text).text for text in texts], "latency"))


class Grid(ExperimentTable, frozen=True, kw_only=True):
    """The lists to combine, and the site that the workloads share."""

    kind: ClassVar[Literal["crawl", "memory", "throughput", "counts"]]
    trials: ClassVar[Kind]  #: The kind of its trials.
    latency: tuple[str, ...] = ("0",)
    in_flight: tuple[InFlight, ...] = (100,)
    connection: tuple[Connection, ...] = ("keep-alive",)
    tls: bool | tuple[bool, ...] = False  #: Whether the site is one of https; a list: each of these.
    cpu: tuple[str, ...] = ("0",)  #: CPU work per page, as a duration on one core of this machine.
    strategies: tuple[str, ...] | None = None  #: The strategies that take part; None: all of the experiment.
    site: dict[str, Any] = field(default_factory=dict)  #: Values of the site that are not the default.

    def __post_init__(self) -> None:
        """Write durations in their canonical form. Raises ValueError for what the types cannot say."""
        force_setattr(self, "latency", latencies(self.latency, self.site))
        force_setattr(self, "cpu", tuple(duration_text(work_ns(text, "cpu")) for text in self.cpu))
        super().__post_init__()
        need("endless" not in self.site, "the site of [[throughput]] is endless, that of others is not")

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of all arms (see ``rows.kinds.Arm``) that are not the default."""
        keys = ("python", "variables", "cores", "busy_threads", "lag")
        return {key: value for key in keys if (value := getattr(self, key, None))}

    def workloads(self, prefix: str) -> list[CrawlWorkload]:
        """Return the cells in the order of the lists; ``prefix``, the name of the table, begins their ids."""
        schemes = (self.tls,) if isinstance(self.tls, bool) else self.tls
        cells = product(self.latency, self.cpu, self.in_flight, self.connection, schemes)
        return [self._workload(prefix, *cell) for cell in cells]

    def _workload(
        self, prefix: str, latency: str, cpu: str, in_flight: int, connection: Connection, tls: bool
    ) -> CrawlWorkload:
        """Return the workload of one cell."""
        cell = f"{prefix}/latency={latency}/in_flight={in_flight}/{connection}"
        if tls:
            cell += "/tls"
        if cpu != "0":
            cell += f"/cpu={cpu}"
        site = SiteConfig.from_dict(self.site | {"delay": latency})
        mean_ns, cpu_ns = parse_delay(latency).mean_ns, parse_duration_ns(cpu)
        site = replace(site, pages=self._pages(site.pages, in_flight, max(mean_ns / in_flight, cpu_ns)))
        return CrawlWorkload(
            id=cell, in_flight=in_flight, connection=connection, tls=tls, cpu=cpu, cpu_ns=cpu_ns, **served(site)
        )

    def _pages(self, pages: int, _in_flight: int, _least_ns: float) -> int:
        """Return the number of pages of a workload on a site of ``pages``, each of which takes ``least_ns`` at least.

        Tables override it.
        """
        return pages


class CrawlTable(Grid, frozen=True, kw_only=True):
    """Whole crawls."""

    kind = trials = "crawl"
    pages: Pages | None = None  #: None: those of the site.
    seconds: Seconds | None = None  #: At most as many pages as latency and CPU work allow an ideal client in this time.

    def _pages(self, pages: int, in_flight: int, least_ns: float) -> int:
        """Return the pages of the table, or as many as an ideal client could fetch in ``seconds``."""
        pages = self.pages or pages
        if self.seconds is None or not least_ns:
            return pages
        return min(pages, max(in_flight, round(self.seconds * 1e9 / least_ns)))


class MemoryTable(Grid, frozen=True, kw_only=True):
    """Crawls that the server's gate holds for their memory: they have as many pages as fetches, and no CPU work."""

    kind = trials = "memory"
    waves: Annotated[int, Meta(ge=1, le=100)] = 1  #: Number of pages per fetch in flight; the gate holds the first.
    parked: bool = False  #: See ``CrawlWorkload.parked``.
    python: str | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ExperimentError for CPU work."""
        super().__post_init__()
        need(self.cpu == ("0",), "cpu must be left out: crawls that are held for their memory do no work")

    def _workload(self, *cell: Any) -> CrawlWorkload:
        """Add whether memory is read again with all but one connection parked."""
        return structs.replace(super()._workload(*cell), parked=self.parked or None)

    def _pages(self, _pages: int, in_flight: int, _least_ns: float) -> int:
        """Return as many pages as there are fetches, in all waves."""
        return in_flight * self.waves


COUNTED_LATENCY, COUNTED_LAP = "1ms", 100
"""Latency of crawls that are counted, and pages of a lap of their site."""


class CountsTable(Grid, frozen=True, kw_only=True):
    """Crawls that are counted: one fetch in flight, so that each page is the same work, and a short latency."""

    kind = trials = "counts"
    latency: tuple[str, ...] = (COUNTED_LATENCY,)
    in_flight: tuple[InFlight, ...] = (1,)
    repeats: Annotated[int, Meta(ge=1, le=10)] = 2  #: Number of crawls for each counter.
    bytecodes: bool = False  #: Whether bytecodes are counted, too.
    python: str | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ExperimentError for a workload whose counts do not repeat, and for a site that cannot be endless."""
        super().__post_init__()
        is_fixed = (self.latency, self.in_flight, self.cpu) == ((COUNTED_LATENCY,), (1,), ("0",))
        need(is_fixed, "latency, in_flight and cpu must be left out: counts repeat only with 1 ms, 1 and 0")
        counted_site(SiteConfig.from_dict(self.site))

    def _workload(self, *cell: Any) -> CrawlWorkload:
        """Add how often is counted, and whether bytecodes are."""
        values = asdict(super()._workload(*cell))
        return CountsWorkload(**values, repeats=self.repeats, bytecodes=self.bytecodes or None)


def counted_site(site: SiteConfig) -> SiteConfig:
    """Return the endless site of crawls that are counted. Raises ValueError."""
    return SiteConfig.from_dict(site.to_dict() | {"endless": True, "pages": COUNTED_LAP})


class AgainstTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of the reference arm that differ from those of the table; None: the same."""

    in_flight: InFlight | None = None
    connection: Connection | None = None
    tls: bool | None = None
    python: str | None = None
    variables: dict[str, str] | None = None
    cores: Cores | None = None
    busy_threads: BusyThreads | None = None
    lag: bool | None = None

    def __post_init__(self) -> None:
        """Raise ExperimentError for an interpreter or a variable that cannot be."""
        check_process(self)


class ThroughputTable(Grid, frozen=True, kw_only=True):
    """Blocks of arms that take turns."""

    kind = "throughput"
    trials = "arm"
    cycles: Annotated[int, Meta(ge=1, le=1000)] = 12  #: Number of slices per arm; fewer if some arm is expensive.
    patience_s: Seconds | None = None  #: See ``Trial.patience_s``.
    python: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    cores: Cores | tuple[Cores, ...] = 1  #: A list: each strategy has an arm with each of these numbers.
    busy_threads: BusyThreads = 0
    lag: bool = False
    against: AgainstTable | None = None  #: Each strategy then has its own blocks, against itself with these settings.

    def __post_init__(self) -> None:
        """Raise ValueError for a site that cannot be endless, and for settings that cannot be together."""
        super().__post_init__()
        endless(SiteConfig.from_dict(self.site), max(self.in_flight))
        need(self.against != AgainstTable(), "against must be a table of at least one setting, not {}")
        alone = self.against is None or isinstance(self.cores, int)
        need(alone, "cores is one number where there is a table against")


def endless(site: SiteConfig, in_flight: int, cpu_ns: int = 0) -> SiteConfig:
    """Return the endless site of a block, whose lap has at least ``in_flight`` pages. Raises ValueError.

    A block ends after the lap that its arms are crawling, so the lap is short enough that its CPU work and its transfer
    take at most MAX_LEFT_NS. A byte of a body takes about a nanosecond.
    """
    lap = LAP
    while lap > MIN_LAP and lap * (cpu_ns + site.body_bytes) > MAX_LEFT_NS:
        lap //= 10
    while lap < in_flight:
        lap *= 10
    return SiteConfig.from_dict(site.to_dict() | {"endless": True, "pages": lap})


def work_ns(text: str, where: str) -> int:
    """Return a duration of CPU work. Raises ExperimentError."""
    duration_ns = judged(lambda: parse_duration_ns(text), where)
    need(duration_ns <= MAX_CPU_NS, f"{where} must be at most {duration_text(MAX_CPU_NS)}, not {text!r}")
    return duration_ns
