"""What ``inflight ab`` compares: two sides, the work that both do, and a pair of processes as a trial of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.grid import Workload
from fake_server.delays import parse_delay
from fake_server.site import SiteConfig

SideName = Literal["A", "B"]
Metric = Literal["cpu_per_page", "throughput", "memory"]
IN_FLIGHT = 100
"""How many are in flight unless something else is asked for."""
METRICS: tuple[Metric, ...] = ("cpu_per_page", "throughput", "memory")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a strategy, where its code comes from, what it runs on, and its settings."""

    strategy: str
    revision: str | None = None
    """A commit, tag or branch of the repository; None: its files as they lie there."""
    repository: Path | None = None
    """The folder of a git repository with a folder ``strategies``; None: the strategies of this very harness."""
    python: str | None = None
    """The interpreter of the workers; None: that of the harness."""
    requirements: tuple[str, ...] = ()
    """What is installed into an environment made for this side alone; none: no environment is made."""
    in_flight: int = IN_FLIGHT
    connection: Literal["keep-alive", "per-fetch"] = "keep-alive"
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the workers."""
    planted_loops: int | None = None
    """A known slowdown, in rounds of an empty loop a page: only ``inflight selftest`` plants one."""

    @property
    def label(self) -> str:
        """Name the side by all that is not as usual: ``callbacks@v1.2 (python3.12, in_flight=10)``."""
        name = self.strategy + (f"@{self.revision}" if self.revision else "")
        told = [
            *([str(self.repository)] if self.repository and not self.revision else []),
            *([self.python] if self.python else []),
            *self.requirements,
            *([f"in_flight={self.in_flight}"] if self.in_flight != IN_FLIGHT else []),
            *([self.connection] if self.connection != "keep-alive" else []),
            *(f"{key}={value}" for key, value in self.variables.items()),
            *([f"{self.planted_loops} loops planted"] if self.planted_loops else []),
        ]
        return f"{name} ({', '.join(told)})" if told else name

    def to_dict(self) -> dict[str, Any]:
        """Return what a row says of the side; what is as usual is left out."""
        usual = asdict(Side(self.strategy))
        values = {key: value for key, value in asdict(self).items() if key == "strategy" or value != usual[key]}
        values |= {"requirements": list(self.requirements)} if self.requirements else {}
        return values | ({"repository": str(self.repository)} if self.repository else {}) | {"label": self.label}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, and the site that both crawl. ``site.pages`` is how much work a turn is."""

    a: Side
    b: Side
    site: SiteConfig
    metrics: tuple[Metric, ...] = METRICS
    name: str = "ab"

    def workload(self, side: SideName) -> Workload:
        """Return what a side does in a turn."""
        own = self.side(side)
        return Workload(f"pair/{side}", "crawl", self.site, own.in_flight, own.connection)

    def side(self, name: SideName) -> Side:
        """Return the side of that name."""
        return self.a if name == "A" else self.b

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as the rows and the run's folder have it."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "latency": self.site.delay,
            "mean_latency_ns": round(parse_delay(self.site.delay).mean_ns),
            "site": self.site.to_dict(),
            "metrics": list(self.metrics),
        }


@dataclass(frozen=True, slots=True)
class PairTrial:
    """One pair of processes, a fresh one for each side, that take turns."""

    comparison: Comparison
    round: int
    """Which pair it is, from 1; odd ones begin with A, even ones with B."""
    memory: bool
    """Whether marginal memory is measured in this pair too."""
    expected_ns: int = 5_000_000_000

    @property
    def id(self) -> str:
        """Name the pair."""
        return f"pair/{self.comparison.name}/round={self.round}"

    @property
    def kind(self) -> Literal["pair"]:
        """What it is."""
        return "pair"

    @property
    def strategy(self) -> str:
        """Both sides."""
        return f"{self.comparison.a.label} : {self.comparison.b.label}"

    @property
    def stack(self) -> str:
        """No two strategies need share a stack here; the tables of crawls leave pairs out."""
        return "none"

    @property
    def values(self) -> dict[str, Any]:
        """What the row says of the workload."""
        return {"id": f"pair/{self.comparison.name}"} | self.comparison.to_dict()

    @property
    def order(self) -> str:
        """The sides in the order of their turns: ABBA BAAB, in which drifts of first and second order cancel."""
        return "ABBABAAB" if self.round % 2 else "BAABABBA"
