"""The fastest model at each latency, CPU work and number in flight, and where there is no significant difference. Pure.

The rule (``bench.frame.statistics``): logarithms of throughput are compared within the same rounds, so that a change
of a whole round changes no difference; each comparison has its own variance. The fastest strategy of a workload is
compared with every other one, and p values are corrected for all comparisons of the map (Benjamini and Hochberg, 1995):
at most 5 % of the differences that the map shows are expected to be false. It must also be ahead by 2 %, because less
is no reason to choose a model.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal

from inflight.bench.core.cells import TIMED, Cell, cells, crawled, pages_per_s
from inflight.bench.frame.statistics import Estimate, Logs, adjusted, answer, benjamini_hochberg, compare
from inflight.bench.rows.files import Row

LEAST_ROUNDS = 2
UNKNOWN: Literal["not known"] = "not known"

Verdict = Literal["winner", "no significant difference", "not known"]
Rounds = Mapping[str, Logs]
"""Logarithms of the throughputs at one workload, by strategy and round."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One workload of the map."""

    connection: str
    site: str
    """See ``inflight.bench.core.cells.Setting``."""
    in_flight: int
    latency_ns: int
    cpu_ns: int
    latency: str
    cpu: str
    """CPU work per page; ``latency`` and ``cpu`` as in the experiment."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One strategy on one workload; ``behind`` is ln(fastest / own throughput), with its 95 % interval."""

    strategy: str
    per_s: float
    """Geometric mean over its valid rounds."""
    rounds: int
    behind: float = 0.0
    low: float | None = None
    high: float | None = None
    """None for the fastest itself, and if the noise is unknown."""
    apart: bool = False
    """Whether the fastest is ahead of it by the rule."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The result of one workload."""

    point: Point
    verdict: Verdict
    why: str
    """Why the verdict is not known."""
    ranking: tuple[Ranked, ...]
    """The fastest first; strategies with a valid trial only."""
    best: tuple[str, ...]
    """The winner, or the strategies tied with the fastest; empty if not known."""
    without: tuple[str, ...]
    """Strategies with too few valid trials to be compared."""

    @property
    def is_decided(self) -> bool:
        """Whether there is a winner, or a tied group that is ahead of the rest."""
        return self.verdict != UNKNOWN and len(self.best) < len(self.ranking)

    @property
    def runner_up(self) -> Ranked | None:
        """The second fastest."""
        return self.ranking[1] if len(self.ranking) > 1 else None

    @property
    def slowest_apart(self) -> Ranked | None:
        """The slowest of those that are significantly slower than the fastest, if there are any."""
        return next((one for one in reversed(self.ranking) if one.apart), None)

    @property
    def slowest(self) -> Ranked | None:
        """The slowest, if there are two or more."""
        return self.ranking[-1] if len(self.ranking) > 1 else None


@dataclass(frozen=True, slots=True)
class Map:
    """All workloads, by setting, number in flight, latency and CPU work."""

    tiles: tuple[Tile, ...]
    noise: float | None
    """The SD of a log ratio between rounds, root mean square over the comparisons; None without any."""
    strategies: tuple[str, ...]

    def settings(self) -> list[tuple[str, str]]:
        """Return the pairs of connection use and site, the one with the most workloads first."""
        keys = [(tile.point.connection, tile.point.site) for tile in self.tiles]
        return sorted(set(keys), key=lambda key: (-keys.count(key), key))

    def of(self, setting: tuple[str, str]) -> "Map":
        """Return the part of one setting."""
        own = tuple(tile for tile in self.tiles if (tile.point.connection, tile.point.site) == setting)
        return Map(own, self.noise, self.strategies)


def of_rows(rows: Sequence[Row]) -> Map | None:
    """Return the map of a run; None unless ``is_map``."""
    found = decide(cells(rows, "crawl")) if is_map(rows) else None
    return found if found is not None and found.tiles else None


def is_map(rows: Sequence[Row]) -> bool:
    """Return whether the crawls make a grid: two latencies, each with the same two amounts of CPU work."""
    works: dict[str, set[int]] = {}
    for row in crawled(rows):
        if row.kind in TIMED:
            works.setdefault(row.workload.latency, set()).add(row.workload.cpu_ns)
    return any(len(one & other) > 1 for one, other in combinations(works.values(), 2))


def decide(found: Iterable[Cell], only: Sequence[str] | None = None) -> Map:
    """Return the map of the cells: of all strategies that share the stack, or only of those in ``only``.

    Only valid rows count.
    """
    places = {point: _kept(rounds, only) for point, rounds in sorted(_places(found).items())}
    chosen = {point: _compared(rounds) for point, rounds in places.items()}
    behind = {(point, name): one for point, own in chosen.items() for name, one in _behind(own).items()}
    p = adjusted(behind, benjamini_hochberg)
    apart = {key for key, one in behind.items() if one.value > 0 and answer(one, p[key]) == "differs"}
    tiles = [
        _tile(point, rounds, [_ranked(point, name, own, behind, apart) for name, own in chosen[point].items()])
        for point, rounds in places.items()
    ]
    return Map(tuple(tiles), _noise(behind.values()), tuple(sorted({name for own in places.values() for name in own})))


def _places(found: Iterable[Cell]) -> dict[Point, dict[str, Logs]]:
    """Return the logarithms of throughput for each workload, strategy and round."""
    places: dict[Point, dict[str, Logs]] = {}
    for cell in found:
        if cell.stack == "shared" and cell.kind == "crawl":
            rate = cell.valid_figure(pages_per_s)
            places.setdefault(_point(cell), {})[cell.strategy] = rate.logs if rate else {}
    return places


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


def _kept(rounds: Rounds, only: Sequence[str] | None) -> Rounds:
    return {name: own for name, own in sorted(rounds.items()) if only is None or name in only}


def _compared(rounds: Rounds) -> Rounds:
    """Return the strategies with two valid rounds, or with one if none has more; the fastest first."""
    least = max(1, min(LEAST_ROUNDS, max(map(len, rounds.values()), default=0)))
    enough = [name for name, own in rounds.items() if len(own) >= least]
    return {name: rounds[name] for name in sorted(enough, key=lambda name: -fmean(rounds[name].values()))}


def _behind(chosen: Rounds) -> dict[str, Estimate]:
    """Return the logarithm of the lead of the fastest over each other strategy."""
    first, *others = list(chosen) or [""]
    return {name: compare(chosen[first], chosen[name]) for name in others}


def _noise(found: Iterable[Estimate]) -> float | None:
    variances = [one.error**2 * one.n for one in found if math.isfinite(one.error)]
    return math.sqrt(fmean(variances)) if variances else None


def _ranked(
    point: Point,
    name: str,
    own: Logs,
    behind: Mapping[tuple[Point, str], Estimate],
    apart: Container[tuple[Point, str]],
) -> Ranked:
    per_s, one = math.exp(fmean(own.values())), behind.get((point, name))
    if one is None:
        return Ranked(name, per_s, len(own))
    if math.isinf(one.error):
        return Ranked(name, per_s, len(own), one.value)
    interval = one.interval()
    return Ranked(name, per_s, len(own), one.value, interval.low, interval.high, (point, name) in apart)


def _tile(point: Point, rounds: Rounds, ranking: Sequence[Ranked]) -> Tile:
    without = tuple(name for name in rounds if all(name != one.strategy for one in ranking))
    if why := _why_unknown(ranking):
        return Tile(point, UNKNOWN, why, tuple(ranking), (), without)
    best = tuple(one.strategy for one in ranking if not one.apart)
    verdict: Verdict = "winner" if len(best) == 1 else "no significant difference"
    return Tile(point, verdict, "", tuple(ranking), best, without)


def _why_unknown(ranking: Sequence[Ranked]) -> str:
    """Return why nothing can be compared; empty if something can."""
    if len(ranking) < 2:
        return "only one strategy has valid trials" if ranking else "no valid trial"
    return "one round" if ranking[0].rounds < LEAST_ROUNDS else ""
