"""Grids of workloads: each combination of latency, CPU work, cap and use of connections is a cell."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from inflight.bench.plan import judge
from inflight.fake_server.delays import duration_text, parse_delay, parse_duration_ns
from inflight.fake_server.site import SiteConfig

CONNECTIONS = ("keep-alive", "per-fetch")
MOST_IN_FLIGHT = 1_000_000
MOST_WAVES = 100
MOST_CPU_NS = 1_000_000_000
LAP, LEAST_LAP = 1000, 10
"""Pages in a lap of an endless site: default and minimum."""
MOST_LEFT_NS = 250_000_000
"""Maximum CPU work of a lap: a block ends when the waiting pages, almost a lap, have been crawled."""
MOST_CORES = 1024
MOST_BUSY = 100

Kind = Literal["crawl", "memory"]
GridKind = Literal["crawl", "memory", "throughput"]
"""The tables of an experiment: whole crawls, crawls held for their memory, and blocks of arms."""
AT_LEAST = ">="
"""Beginning of the name of any interpreter from a version on, such as ``>=3.12``."""
CYCLES, MOST_CYCLES = 12, 1000
"""Slices per arm of a block: default and maximum."""

_KEYS = ("latency", "in_flight", "connection", "seconds", "pages", "rounds", "strategies", "site")
_SET = ("python", "variables", "cores", "busy_threads", "lag")
"""Settings of arms that are keys of a [[throughput]] table."""
_KEYS_OF = {
    "crawl": (*_KEYS, "cpu"),
    "memory": (*_KEYS, "waves", "parked", "python", "variables"),
    "throughput": (
        *("latency", "in_flight", "connection", "cpu", "cycles", "rounds", "strategies", "site"),
        *(*_SET, "against", "patience_s"),
    ),
}
_AGAINST = ("in_flight", "connection", *_SET)


@dataclass(frozen=True, slots=True)
class Workload:
    """One cell: site, number in flight, use of connections, and CPU work."""

    id: str
    kind: Kind
    site: SiteConfig
    in_flight: int
    connection: Literal["keep-alive", "per-fetch"]
    parked: bool = False
    """In a memory trial: read memory again when all fetches but one have been answered and their workers wait."""
    cpu: str = "0"
    """CPU work per page, as a duration on one core of this machine."""

    @property
    def cpu_ns(self) -> int:
        """CPU work per page in nanoseconds."""
        return parse_duration_ns(self.cpu)

    @property
    def roots(self) -> int:
        """Number of pages that a crawl starts with, from the first page on: enough to reach the cap at once."""
        return min(self.in_flight, self.site.pages) if self.site.links else self.site.pages

    @property
    def mean_latency_ns(self) -> float:
        """The mean of the added latency."""
        return parse_delay(self.site.delay).mean_ns

    def to_dict(self) -> dict[str, Any]:
        """Return the workload as it is stored in a row."""
        values = {
            "id": self.id,
            "latency": self.site.delay,
            "mean_latency_ns": round(self.mean_latency_ns),
            "in_flight": self.in_flight,
            "connection": self.connection,
            "site": self.site.to_dict(),
        }
        if self.cpu_ns:  # absent in rows that are older than CPU work, and in rows without it
            values |= {"cpu": self.cpu, "cpu_ns": self.cpu_ns}
        return values | ({"parked": True} if self.parked else {})


@dataclass(frozen=True, slots=True)
class Grid:
    """One table of the experiment: the lists to combine, and the site that its workloads share."""

    kind: GridKind
    latency: tuple[str, ...] = ("0",)
    in_flight: tuple[int, ...] = (100,)
    connection: tuple[Literal["keep-alive", "per-fetch"], ...] = ("keep-alive",)
    seconds: float | None = None
    """If latency or CPU work limits throughput: reduce the pages to those that an ideal client fetches in this time."""
    site: SiteConfig = field(default_factory=SiteConfig)
    rounds: int | None = None
    """Number of rounds that the grid takes part in, from the first; None: all."""
    strategies: tuple[str, ...] | None = None
    """The strategies that take part; None: all of the experiment."""
    waves: int = 1
    """In memory trials: number of pages per fetch in flight; the gate holds the first wave."""
    parked: bool = False
    """In memory trials: see ``Workload.parked``."""
    cpu: tuple[str, ...] = ("0",)
    """In crawls and blocks: see ``Workload.cpu``."""
    cycles: int = CYCLES
    """In blocks: number of slices per arm."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the arms (see ``bench.plan.arm.Arm``): python, variables; in blocks all of ``_SET``."""
    against: Mapping[str, Any] | None = None
    """In blocks: settings of the reference arm that differ; each strategy then has its own blocks, against itself."""
    patience_s: float | None = None
    """In blocks: see ``BlockTrial.patience_s``."""
    cores: tuple[int, ...] = ()
    """In blocks: numbers of cores; each strategy has an arm with each of them. Empty: that of the settings."""

    def workloads(self, prefix: str) -> list[Workload]:
        """Return the cells in the order of the lists."""
        return [
            self._workload(prefix, latency, cpu, in_flight, connection)
            for latency in self.latency
            for cpu in self.cpu
            for in_flight in self.in_flight
            for connection in self.connection
        ]

    def takes_part(self, strategy: str, number: int) -> bool:
        """Return whether a strategy takes part in round ``number``."""
        return (self.rounds is None or number <= self.rounds) and (
            self.strategies is None or strategy in self.strategies
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table from which ``parse`` makes an equal grid."""
        table: dict[str, Any] = {
            "latency": list(self.latency),
            "in_flight": list(self.in_flight),
            "connection": list(self.connection),
            "site": {k: v for k, v in self.site.to_dict().items() if k != "delay"},
        }
        optional: dict[str, Any] = {
            "seconds": self.seconds,
            "rounds": self.rounds,
            "strategies": None if self.strategies is None else list(self.strategies),
            "waves": self.waves if self.waves > 1 else None,
            "parked": self.parked or None,
            "cpu": None if self.cpu == ("0",) else list(self.cpu),
            "cycles": self.cycles if self.kind == "throughput" else None,
            "against": self.against,
            "patience_s": self.patience_s,
            "cores": list(self.cores) or None,
            **self.settings,
        }
        return table | {key: value for key, value in optional.items() if value is not None}

    def _workload(
        self, prefix: str, latency: str, cpu: str, in_flight: int, connection: Literal["keep-alive", "per-fetch"]
    ) -> Workload:
        pages = self.site.pages
        least_ns = max(parse_delay(latency).mean_ns / in_flight, parse_duration_ns(cpu))
        if self.kind == "memory":
            pages = in_flight * self.waves  # the gate holds the first wave
        elif self.seconds is not None and least_ns:
            pages = min(pages, max(in_flight, round(self.seconds * 1e9 / least_ns)))
        cell = f"{prefix}/latency={latency}/in_flight={in_flight}/{connection}" + (f"/cpu={cpu}" if cpu != "0" else "")
        site = replace(self.site, delay=latency, pages=pages)
        kind: Kind = "memory" if self.kind == "memory" else "crawl"
        return Workload(cell, kind, site, in_flight, connection, self.parked, cpu)


def parse(kind: GridKind, table: Any, common_site: Any, strategies: Iterable[str], where: str) -> Grid:
    """Parse a [[crawl]], a [[memory]] or a [[throughput]] table. Raises ExperimentError."""
    judge.need(isinstance(table, dict), f"{where} must be a table")
    judge.check_keys(table, _KEYS_OF[kind], where)
    chosen = table.get("strategies")
    if chosen is not None:
        judge.check_list(chosen, str, f"{where}: strategies")
        for name in chosen:
            judge.check_known(name, strategies, "strategy", where)
    own_site = table.get("site", {})
    judge.need(isinstance(common_site, dict) and isinstance(own_site, dict), f"{where}: site must be a table")
    latency = table.get("latency", ["0"])
    judge.check_list(latency, str, f"{where}: latency")
    in_flight = table.get("in_flight", [100])
    judge.check_list(in_flight, int, f"{where}: in_flight")
    connection = table.get("connection", ["keep-alive"])
    judge.check_list(connection, str, f"{where}: connection")
    for use in connection:
        judge.check_known(use, CONNECTIONS, "connection use", where)
    for number in in_flight:
        judge.whole(number, 1, MOST_IN_FLIGHT, f"{where}: in_flight")
    cpu = table.get("cpu", ["0"])
    judge.check_list(cpu, str, f"{where}: cpu")
    cores = _cores(table, where)
    site_values = common_site | own_site | ({"pages": table["pages"]} if "pages" in table else {})
    judge.need("delay" not in site_values, f'{where}: the site\'s delay is given as "latency" here')
    judge.need("endless" not in site_values, f"{where}: the site of [[throughput]] is endless, that of others is not")
    site = judge.judged(lambda: SiteConfig.from_dict(site_values), where)
    if kind == "throughput":
        judge.judged(lambda: endless(site, max(in_flight)), where)
    return Grid(
        kind,
        judge.distinct(
            (judge.judged(partial(_canonical, text), where) for text in latency),
            f"{where}: latency",
        ),
        judge.distinct(in_flight, f"{where}: in_flight"),
        judge.distinct(connection, f"{where}: connection"),
        judge.seconds(table.get("seconds"), f"{where}: seconds"),
        site,
        judge.rounds(table, where),
        None if chosen is None else judge.distinct(chosen, f"{where}: strategies"),
        judge.whole(table.get("waves", 1), 1, MOST_WAVES, f"{where}: waves"),
        judge.truth(table.get("parked", False), f"{where}: parked"),
        judge.distinct((_work(text, f"{where}: cpu") for text in cpu), f"{where}: cpu"),
        judge.whole(table.get("cycles", CYCLES), 1, MOST_CYCLES, f"{where}: cycles"),
        _settings(table, [name for name in _SET if not (cores and name == "cores")], where),
        None if "against" not in table else _against(table["against"], f"{where}: against"),
        judge.seconds(table.get("patience_s"), f"{where}: patience_s"),
        cores,
    )


def endless(site: SiteConfig, in_flight: int, cpu_ns: int = 0) -> SiteConfig:
    """Return the endless site of a block, whose lap has at least ``in_flight`` pages. Raises ValueError."""
    lap = LAP
    while lap > LEAST_LAP and lap * cpu_ns > MOST_LEFT_NS:
        lap //= 10
    while lap < in_flight:
        lap *= 10
    return SiteConfig.from_dict(site.to_dict() | {"endless": True, "pages": lap})


def _cores(table: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """Return the numbers of cores of a table with a list of them; empty where one number is a setting of all arms."""
    numbers = table.get("cores")
    if not isinstance(numbers, list):
        return ()
    judge.check_list(numbers, int, f"{where}: cores")
    judge.need("against" not in table, f"{where}: cores is one number where there is a table against")
    return judge.distinct((judge.whole(one, 1, MOST_CORES, f"{where}: cores") for one in numbers), f"{where}: cores")


def _against(table: Any, where: str) -> dict[str, Any]:
    judge.need(isinstance(table, dict) and bool(table), f"{where} must be a table of settings, not {table!r}")
    judge.check_keys(table, _AGAINST, where)
    return _settings(table, _AGAINST, where)


def _settings(table: Mapping[str, Any], keys: Iterable[str], where: str) -> dict[str, Any]:
    """Return the settings of arms in a table."""
    return {key: _SETTINGS[key](table[key], f"{where}: {key}") for key in keys if key in table}


def _connection(value: Any, where: str) -> str:
    judge.check_known(value, CONNECTIONS, "connection use", where)
    return str(value)


def _interpreter(value: Any, where: str) -> str:
    """Return the name of an interpreter; a version after ``>=`` must be one."""
    name = judge.text(value, where)
    version = name.removeprefix(AT_LEAST)
    fine = version == name or re.fullmatch(r"3\.\d{1,3}", version)
    judge.need(bool(fine), f"{where} must be a version such as {AT_LEAST}3.12, not {name!r}")
    return name


_SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    "in_flight": lambda value, where: judge.whole(value, 1, MOST_IN_FLIGHT, where),
    "connection": _connection,
    "python": _interpreter,
    "variables": judge.variables,
    "busy_threads": lambda value, where: judge.whole(value, 0, MOST_BUSY, where),
    "cores": lambda value, where: judge.whole(value, 1, MOST_CORES, where),
    "lag": judge.truth,
}


def _canonical(delay: str) -> str:
    return parse_delay(delay).text


def _work(text: str, where: str) -> str:
    """Return the canonical text of a duration of CPU work."""
    duration_ns = judge.judged(partial(parse_duration_ns, text), where)
    judge.need(duration_ns <= MOST_CPU_NS, f"{where} must be at most {duration_text(MOST_CPU_NS)}, not {text!r}")
    return duration_text(duration_ns)
