"""Which model fetches most at which latency, CPU work and number in flight, and where nobody can tell. Pure.

The rule: logarithms of throughput, and differences within the same round, so that what moves a whole round moves no
difference. A round's noise is what is left when each strategy and each round of a workload has its mean (two-way
analysis of variance), pooled over the map; where a workload's own is greater, that stands. The fastest is the winner
when it is ahead of every competitor by Student's t test (Student, 1908), at 5 % divided by their number (Bonferroni):
a false winner must beat the one that is really best, and there are only so many that could. And it must be ahead by
2 %: less is no reason to choose a model.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Literal

from bench.analyse.cells import Cell, pages_per_s
from bench.analyse.stats import CONFIDENCE
from bench.core.stats import t_quantile

PRACTICAL = math.log(1.02)
"""Being ahead by less is never a win."""
LEAST_ROUNDS = 2
LEAST_VARIANCE = 0.001**2
"""No timing repeats to better than 0.1 %: rounds that agree by chance are not that sure."""

Verdict = Literal["winner", "no significant difference", "not known"]
Rounds = Mapping[str, Mapping[int, float]]
"""Logarithms of the throughputs at one workload, by strategy and round."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One workload of the map."""

    connection: str
    site: str
    """See ``bench.analyse.cells.Setting``."""
    in_flight: int
    latency_ns: int
    cpu_ns: int
    latency: str
    cpu: str
    """CPU work of a page; ``latency`` and ``cpu`` as the experiment wrote them."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One strategy at one workload; ``behind`` is ln(fastest / its own), with the interval of the test."""

    strategy: str
    per_s: float
    """Geometric mean over its valid rounds."""
    rounds: int
    behind: float
    low: float | None
    high: float | None
    """None of the fastest itself, and where the noise is not known."""

    @property
    def apart(self) -> bool:
        """Whether the fastest is ahead of it, by the rule."""
        return self.low is not None and self.low > 0 and self.behind >= PRACTICAL


@dataclass(frozen=True, slots=True)
class Tile:
    """What the rounds say of one workload."""

    point: Point
    verdict: Verdict
    why: str
    """Of what is not known."""
    ranking: tuple[Ranked, ...]
    """The fastest first; strategies with a valid trial only."""
    best: tuple[str, ...]
    """The winner; or those that cannot be told from the fastest; none where nothing is known."""
    without: tuple[str, ...]
    """Strategies that were tried here and have too few valid trials to be compared."""

    @property
    def runner_up(self) -> Ranked | None:
        """The next to the fastest."""
        return self.ranking[1] if len(self.ranking) > 1 else None

    @property
    def slowest(self) -> Ranked | None:
        """The last one, if there are two or more."""
        return self.ranking[-1] if len(self.ranking) > 1 else None


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of a logarithm between rounds, and its degrees of freedom."""

    variance: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Map:
    """All workloads, by setting, number in flight, latency and CPU work."""

    tiles: tuple[Tile, ...]
    noise: Noise | None
    """Pooled; None where no workload was repeated by two strategies."""
    strategies: tuple[str, ...]

    def settings(self) -> list[tuple[str, str]]:
        """Return the uses of connections and sites, the one with the most workloads first."""
        keys = [(tile.point.connection, tile.point.site) for tile in self.tiles]
        return sorted(set(keys), key=lambda key: (-keys.count(key), key))

    def of(self, setting: tuple[str, str]) -> "Map":
        """Return the part of one setting."""
        own = tuple(tile for tile in self.tiles if (tile.point.connection, tile.point.site) == setting)
        return Map(own, self.noise, self.strategies)


def decide(found: Iterable[Cell], only: Sequence[str] | None = None) -> Map:
    """Return the map of the crawls' cells: of all strategies that share the stack, or of ``only`` these.

    The noise is that of all of them in both cases. Rows that are not valid never count.
    """
    places = _places(found)
    noise = pooled_noise([residual_noise(rounds) for rounds in places.values()])
    names = sorted({name for rounds in places.values() for name in rounds if only is None or name in only})
    tiles = [_tile(point, rounds, noise, names) for point, rounds in sorted(places.items())]
    return Map(tuple(tiles), noise, tuple(names))


def _places(found: Iterable[Cell]) -> dict[Point, Rounds]:
    """Return the logarithms at each workload."""
    places: dict[Point, dict[str, dict[int, float]]] = {}
    for cell in found:
        if cell.stack == "shared" and cell.kind == "crawl":
            places.setdefault(_point(cell), {})[cell.strategy] = _logs(cell)
    return dict(places)


def _point(cell: Cell) -> Point:
    return Point(
        cell.setting.connection,
        cell.setting.site,
        cell.in_flight,
        cell.mean_latency_ns,
        cell.cpu_ns,
        cell.latency,
        cell.cpu,
    )


def _logs(cell: Cell) -> dict[int, float]:
    rates = {row.round: pages_per_s(row) for row in cell.valid_rows}
    return {number: math.log(rate) for number, rate in rates.items() if rate is not None and rate > 0}


def residual_noise(rounds: Rounds) -> Noise | None:
    """Return the residual mean square of strategies x rounds; None where nothing is left over."""
    import numpy as np

    points = [(name, number, value) for name, own in rounds.items() for number, value in own.items()]
    names, numbers = sorted({name for name, _, _ in points}), sorted({number for _, number, _ in points})
    if len(names) < 2 or len(numbers) < 2:
        return None
    which = np.array([(names.index(name), len(names) + numbers.index(number)) for name, number, _ in points])
    design = (which[:, :, None] == np.arange(len(names) + len(numbers))).any(axis=1).astype(float)
    values = np.array([value for _, _, value in points])
    solution, _, rank, _ = np.linalg.lstsq(design, values - values.mean(), rcond=None)
    freedom = len(points) - int(rank)
    if freedom < 1:
        return None
    left = values - values.mean() - design @ solution
    return Noise(max(LEAST_VARIANCE, float(left @ left) / freedom), freedom)


def pooled_noise(many: Iterable[Noise | None]) -> Noise | None:
    """Return the mean of the variances, weighted by their degrees of freedom; None where none is known."""
    known = [noise for noise in many if noise is not None]
    freedom = sum(noise.freedom for noise in known)
    if not freedom:
        return None
    return Noise(math.fsum(noise.variance * noise.freedom for noise in known) / freedom, freedom)


def _tile(point: Point, rounds: Rounds, pooled: Noise | None, names: Sequence[str]) -> Tile:
    own = residual_noise(rounds)
    noise = own if own is not None and pooled is not None and own.variance > pooled.variance else pooled
    most = max((len(rounds[name]) for name in names if name in rounds), default=0)
    chosen = {name: rounds[name] for name in names if len(rounds.get(name, ())) >= max(1, min(most, LEAST_ROUNDS))}
    without = tuple(name for name in names if name in rounds and name not in chosen)
    ranking = _ranking(chosen, noise)
    if most < LEAST_ROUNDS or len(chosen) < 2 or noise is None:
        return Tile(point, "not known", _why_unknown(most, len(chosen)), ranking, (), without)
    best = tuple(one.strategy for one in ranking if not one.apart)
    verdict: Verdict = "winner" if len(best) == 1 else "no significant difference"
    return Tile(point, verdict, "", ranking, best, without)


def _why_unknown(rounds: int, strategies: int) -> str:
    if strategies < 2:
        return "one strategy alone has valid trials" if strategies else "no valid trial"
    return "one round" if rounds < LEAST_ROUNDS else "no two rounds have the same strategies"


def _ranking(chosen: Rounds, noise: Noise | None) -> tuple[Ranked, ...]:
    order = sorted(chosen, key=lambda name: (-fmean(chosen[name].values()), name))
    return tuple(_ranked(name, chosen, order[0], noise, len(order) - 1) for name in order)


def _ranked(name: str, chosen: Rounds, first: str, noise: Noise | None, competitors: int) -> Ranked:
    own, fastest = chosen[name], chosen[first]
    per_s, common = math.exp(fmean(own.values())), sorted(own.keys() & fastest.keys())
    if name == first:
        return Ranked(name, per_s, len(own), 0.0, None, None)
    if not common:
        return Ranked(name, per_s, len(own), fmean(fastest.values()) - fmean(own.values()), None, None)
    behind = fmean(fastest[number] - own[number] for number in common)
    if noise is None or len(common) < LEAST_ROUNDS:
        return Ranked(name, per_s, len(own), behind, None, None)
    half = _quantile(competitors, noise.freedom) * math.sqrt(2 * noise.variance / len(common))
    return Ranked(name, per_s, len(own), behind, behind - half, behind + half)


@lru_cache(maxsize=256)
def _quantile(competitors: int, freedom: int) -> float:
    """Return Student's t at 95 %, two-sided, after Bonferroni."""
    return t_quantile(freedom, 1 - (1 - CONFIDENCE) / competitors / 2)
