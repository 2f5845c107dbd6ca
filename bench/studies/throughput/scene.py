"""What of the timed crawls is compared in the answer: one setting, one workload at a time, valid trials only. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.core import cells as c
from bench.core import extremes
from bench.core.cells import Cell, Figure, Setting
from bench.core.figures import Spread
from bench.core.rows import Row

ALIKE = 1.05
"""Where the fastest is at most so many times as fast as the slowest, they fetch alike: no choice hangs on it."""


@dataclass(frozen=True, slots=True)
class Level:
    """One workload: the valid cells of the strategies that had it, the slowest first."""

    in_flight: int
    cells: tuple[Cell, ...]

    @property
    def slowest(self) -> Spread:
        """The throughput of the slowest."""
        return rate_of(self.cells[0])

    @property
    def fastest(self) -> Spread:
        """The throughput of the fastest."""
        return rate_of(self.cells[-1])

    @property
    def ratio(self) -> float:
        """How many times as fast as the slowest the fastest is."""
        return self.fastest.median / self.slowest.median

    @property
    def is_alike(self) -> bool:
        """Whether they differ by too little to matter."""
        return self.ratio <= ALIKE

    @property
    def differs(self) -> bool:
        """Whether they differ by more than that, and the rounds say so."""
        return not self.is_alike and self.is_apart

    @property
    def is_apart(self) -> bool:
        """Whether chance does not explain the difference."""
        return extremes.of_cells(self.cells, c.pages_per_s)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is compared: the models in one setting, and in those that differ from it in CPU work only.

    The models are the strategies with the shared stack; where there are none, the clients take their place.
    """

    cells: tuple[Cell, ...]
    works: tuple[tuple[Cell, ...], ...]
    """The cells by the CPU work of a page, the least first; ``cells`` are the first of them."""
    clients: tuple[Cell, ...]
    """Of clients with a stack of their own, in the same setting; empty where there is nothing else to compare."""
    longest: str
    """The longest added latency at which several numbers in flight can be compared, if there is one."""
    shortest: str
    others: tuple[Setting, ...]
    """Other uses of connections and other sites, without their CPU work, which are no part of this."""


def scene(rows: Sequence[Row]) -> Scene | None:
    """Return what the crawls allow to compare; None without a valid crawl that had pages enough to fill its cap."""
    found = [cell for cell in c.cells(rows) if cell.pages >= cell.in_flight and _is_timed(cell)]
    if not found:
        return None
    models = [cell for cell in found if cell.stack == "shared"] or found
    settings = c.settings(models)
    place = _place(settings[0])
    works = sorted((one for one in settings if _place(one) == place), key=lambda one: one.cpu_ns)
    own = [cell for cell in models if cell.setting == works[0]]
    latencies = c.latencies(own)
    telling = [latency for latency in latencies if len(comparable(own, latency)) > 1]
    return Scene(
        tuple(own),
        tuple(tuple(cell for cell in models if cell.setting == setting) for setting in works),
        tuple(cell for cell in found if cell.setting == works[0] and cell.stack != own[0].stack),
        (telling or latencies)[-1],
        latencies[0],
        tuple(sorted({_place(cell.setting) for cell in found} - {place})),
    )


def levels(found: Sequence[Cell], latency: str) -> list[Level]:
    """Return the workload of each number in flight at a latency; the cells share a setting."""
    many = []
    for cap in c.caps(found, latency):
        own = [cell for cell in found if (cell.latency, cell.in_flight) == (latency, cap)]
        many.append(Level(cap, tuple(sorted(own, key=lambda cell: (rate_of(cell).median, cell.strategy)))))
    return many


def comparable(found: Sequence[Cell], latency: str) -> list[Level]:
    """Return the levels that two strategies have or more."""
    return [level for level in levels(found, latency) if len(level.cells) > 1]


def best_of(found: Sequence[Cell], latency: str) -> str:
    """Return the fastest with the most in flight that two had, or that one had."""
    return (comparable(found, latency) or levels(found, latency))[-1].cells[-1].strategy


def by_cap(found: Sequence[Cell], strategy: str, latency: str) -> dict[int, Cell]:
    """Return a strategy's cells at a latency by the number in flight, the least first."""
    own = [cell for cell in found if cell.strategy == strategy]
    cells = {cap: c.at(own, strategy, latency, cap) for cap in c.caps(own, latency)}
    return {cap: cell for cap, cell in cells.items() if cell is not None}


def rate_of(cell: Cell) -> Spread:
    """Return the throughput of a cell that has valid trials."""
    figure = cell.figure(c.pages_per_s)
    assert isinstance(figure, Figure)
    return figure.spread


def _is_timed(cell: Cell) -> bool:
    figure = cell.figure(c.pages_per_s)
    return figure is not None and figure.valid and figure.spread.median > 0


def _place(setting: Setting) -> Setting:
    """Return the setting without its CPU work: what settings share that differ in that only."""
    return replace(setting, cpu_ns=0, cpu="0")
