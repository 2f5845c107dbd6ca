"""The decision map as a section and as JSON. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from bench.core import cells as c
from bench.core import units
from bench.core.rows import Row
from bench.core.stats import MARGIN
from bench.present import notes, words
from bench.present.section import Section
from bench.present.table import Table
from bench.studies.decision_map.read import LEAST_ROUNDS, Map, Point, Ranked, Tile, decide

MOST_NAMED = 4
"""So many strategies are named in a sentence or a tile; the rest are counted."""
MOST_FASTEST = 2
"""Likewise in the finding."""
_HEADS = ("latency", "CPU work", "in flight", "best", "over the next", "over the slowest")
UNKNOWN = "not known"
LARGE = 0.15
"""Models that may differ by more than this, as a logarithm, are not alike: they are tied at the most."""


def finding(found: Map) -> str:
    """Return the finding in one sentence: where nothing differs, and who is fastest where something does."""
    known = [tile for tile in found.tiles if tile.verdict != UNKNOWN]
    if not known:
        return "No workload has two strategies with two valid rounds: nothing to conclude"
    number = "1 workload" if len(known) == 1 else f"{units.count(len(known))} workloads"
    differ = [tile for tile in known if is_decided(tile)]
    alike = len(known) - len(differ)
    if not differ:
        return f"No difference between the models is significant in {number}"
    times = {name: sum(name in tile.best for tile in differ) for name in found.strategies}
    order = sorted((name for name in times if times[name]), key=lambda name: (-times[name], name))
    names = [f"{words.plain(name, 30)} ({units.count(times[name])})" for name in order[:MOST_FASTEST]]
    names += [f"{units.count(len(order) - MOST_FASTEST)} more"] if len(order) > MOST_FASTEST else []
    by = units.times(math.exp(max(tile.slowest.behind for tile in differ if tile.slowest is not None)))
    told = f"the fastest {'is' if len(names) == 1 else 'are'} {words.listed(names)}, up to {by} the slowest"
    if not alike:
        return f"In {number} {told}"
    return f"In {units.count(alike)} of {number} the models tie; in the other {units.count(len(differ))} {told}"


def is_decided(tile: Tile) -> bool:
    """Tell whether the rounds decide something: there is a winner, or a group that is ahead of the rest."""
    return tile.verdict != UNKNOWN and len(tile.best) < len(tile.ranking)


def are_alike(tile: Tile) -> bool:
    """Tell whether all are surely about as fast as the fastest, so that noise is not what keeps them from differing."""
    return all(one.high is not None and one.high < LARGE for one in tile.ranking[1:])


def best_told(tile: Tile) -> str:
    """Name the winner, or those that cannot be told from the fastest; or say why nothing is known."""
    if tile.verdict == UNKNOWN:
        return f"{UNKNOWN}: {tile.why}"
    names = [words.plain(name, 24) for name in tile.best]
    if len(names) == 1:
        return names[0]
    if len(names) == len(tile.ranking):
        return f"all {len(names)} {'alike' if are_alike(tile) else 'tied'}"
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    return f"{words.listed(names)} alike"


def _best_short(tile: Tile) -> str:
    """Return the same in few letters: ``callbacks = generators``."""
    if tile.verdict == UNKNOWN or len(tile.best) in {1, len(tile.ranking)}:
        return words.plain(best_told(tile), 34)
    names = [words.plain(name, 14) for name in tile.best]
    return " = ".join(names if len(names) == 2 else [names[0], f"{len(names) - 1} more"])


def margin(one: Ranked | None) -> str:
    """Write how far a strategy is behind the fastest, as a ratio with its interval: ``1.21x (1.15 to 1.27)``."""
    if one is None:
        return "-"
    ratio = _ratio(one.behind)
    if one.low is None or one.high is None:
        return ratio
    return f"{ratio} ({_ratio(one.low)[:-1]} to {_ratio(one.high)[:-1]})"


def where(point: Point) -> str:
    """Write a workload in few words: ``10 ms, 1 ms CPU work, 100 in flight``."""
    return f"{latency(point)}, {work(point)}, {words.in_flight(point.in_flight)}"


def latency(point: Point) -> str:
    """Write the added latency: ``10 ms``, ``0 ms``."""
    return units.latency(point.latency) if point.latency_ns else "0 ms"


def work(point: Point) -> str:
    """Write the CPU work of a page."""
    return f"{units.latency(point.cpu)} CPU work" if point.cpu_ns else "no CPU work"


def is_map(rows: Sequence[Row]) -> bool:
    """Tell whether the crawls of a run differ in latency and in CPU work."""
    crawled = [row.workload for row in c.crawled(rows) if row.kind in c.TIMED]
    sides = {one["latency"] for one in crawled}, {one.get("cpu_ns", 0) for one in crawled}
    return min(map(len, sides)) > 1


def of_rows(rows: Sequence[Row]) -> Map | None:
    """Return the map of a run; None where its crawls differ in latency only, in CPU work only, or in neither."""
    found = decide(c.cells(rows, "crawl")) if is_map(rows) else None
    return found if found is not None and found.tiles else None


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the map with its finding, where the crawls of a run differ in latency and in CPU work."""
    found = of_rows(rows)
    if found is None:
        return []
    about = tuple(notes.about_rows(c.crawled(rows)))
    return [Section(finding(found), tuple(tables(found)), (*about, *notes_of(found)))]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object for each workload of the map.

    ``workload`` (latency, CPU work and number in flight in words), ``latency``, ``cpu``, ``in_flight``, ``connection``,
    ``verdict`` (winner, no significant difference, not known), ``best`` (the fastest, and all that are tied with it)
    and ``ranking`` (``strategy``, ``pages_per_s``, ``behind``: fastest / own).
    """
    found = of_rows(rows)
    return [] if found is None else [_tile_json(tile) for tile in found.tiles]


def _tile_json(tile: Tile) -> dict[str, Any]:
    point = tile.point
    return {
        "workload": where(point),
        "latency": point.latency,
        "cpu": point.cpu,
        "in_flight": point.in_flight,
        "connection": point.connection,
        "verdict": tile.verdict,
        "best": list(tile.best),
        "ranking": [
            {"strategy": one.strategy, "pages_per_s": one.per_s, "behind": math.exp(one.behind)} for one in tile.ranking
        ],
    }


def tables(found: Map) -> list[Table]:
    """Return a table for each setting, a line for each workload."""
    return [
        Table(f"The decision map. {title}", _HEADS, tuple(_cells(tile, _best_short(tile)) for tile in own.tiles))
        for title, own in _parts(found)
    ]


def notes_of(found: Map) -> list[str]:
    """Return what the figures mean, what they rest on, and what was left out."""
    noise = found.noise
    rule = (
        "Ratios of throughput within the same rounds, each with its 95 % interval. A winner is ahead of all others by "
        f"{math.expm1(MARGIN) * 100:.0f} % or more and by the t test; of the differences in the map, 5 % at most are "
        "expected to be false (Benjamini-Hochberg)."
    )
    told = [rule]
    if noise is not None:
        told.append(f"SD of a ratio between rounds, over the map: {noise * 100:.1f} %.")
    lone = sum(tile.verdict == UNKNOWN for tile in found.tiles)
    if lone:
        told.append(
            f"Not known: {units.count(lone)} of {units.count(len(found.tiles))} workloads; to compare takes two "
            f"strategies with {LEAST_ROUNDS} valid rounds each."
        )
    missing = [f"{words.plain(name, 30)} ({where(tile.point)})" for tile in found.tiles for name in tile.without]
    if missing:
        more = f" and {units.count(len(missing) - MOST_NAMED)} more" if len(missing) > MOST_NAMED else ""
        told.append(f"Too few valid trials: {'; '.join(missing[:MOST_NAMED])}{more}.")
    return told


def _cells(tile: Tile, best: str) -> tuple[str, ...]:
    point = tile.point
    place = (latency(point), units.latency(point.cpu) if point.cpu_ns else "0", units.count(point.in_flight))
    margins = ("-", "-") if tile.verdict == UNKNOWN else (margin(tile.runner_up), margin(tile.slowest))
    return (*place, best, *margins)


def _ratio(log: float) -> str:
    """Write a ratio: two decimals below 10, where the second may be all that differs from 1."""
    ratio = math.exp(log)
    return f"{ratio:.2f}x" if ratio < 10 else units.times(ratio)


def _parts(found: Map) -> list[tuple[str, Map]]:
    """Return the map of each setting with its title; sites are numbered where there are several."""
    settings = found.settings()
    several = len({connection for connection, _ in settings}) < len(settings)
    return [
        (
            f"Connections: {words.plain(connection, 20)}" + (f", site {n}" if several else ""),
            found.of((connection, site)),
        )
        for n, (connection, site) in enumerate(settings, 1)
    ]
