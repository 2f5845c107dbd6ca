"""The decision map as a section and as JSON. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from inflight.bench.core import units
from inflight.bench.frame.statistics import MARGIN
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.decision_map.read import LEAST_ROUNDS, UNKNOWN, Map, Point, Ranked, Tile, of_rows

MOST_NAMED = 4
"""Maximum number of workloads named below the tables; the rest are counted."""
MOST_FASTEST = 2
"""Maximum number of strategies named in the title."""
_HEADS = ("latency", "CPU work", "in flight", "best", "over the next", "over the slowest")
LARGE = 0.15
"""Models that may differ by more than this logarithm are tied, but not alike."""
_RULE = (
    "Ratios of throughput within the same rounds, each with its 95 % interval. A winner is ahead of all others by "
    f"{units.percent(math.expm1(MARGIN))} or more and by the t test; at most 5 % of the differences in the map are "
    "expected to be false (Benjamini-Hochberg); the intervals make no allowance for that. Tied: no significant "
    "difference, so a strategy with much noise may be tied and slower. Alike: tied, and all within "
    f"{units.percent(math.expm1(LARGE))} of the fastest, noise included."
)


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the map with its finding, if the crawls of a run differ in latency and in CPU work."""
    found = of_rows(rows)
    if found is None:
        return []
    settings = found.settings()
    tables = [
        Table(f"The decision map. {_setting(number, settings)}", _HEADS, tuple(map(_cells, found.of(setting).tiles)))
        for number, setting in enumerate(settings)
    ]
    return [Section(title(found), tuple(tables), tuple(_notes(found)), findings=tuple(findings(found)) or None)]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object for each workload of the map.

    ``workload`` (latency, CPU work and number in flight in words), ``latency``, ``cpu``, ``in_flight``, ``connection``,
    ``verdict`` (winner, no significant difference, not known), ``best`` (the fastest, and all that are tied with it)
    and ``ranking`` (``strategy``, ``pages_per_s``, ``behind``: fastest / own).
    """
    found = of_rows(rows)
    return [] if found is None else [_figures(tile) for tile in found.tiles]


def title(found: Map) -> str:
    """Return the finding: the number of workloads in which the models tie, and the fastest in the others."""
    known = [tile for tile in found.tiles if tile.verdict != UNKNOWN]
    if not known:
        return "No workload has two strategies with two valid rounds: nothing to conclude"
    differ = [tile for tile in known if tile.is_decided]
    told = _ties(known)
    if not differ:
        return told
    firsts = _firsts(found, differ)[:MOST_FASTEST]
    names = [f"{words.name(name)} ({words.counted(times, 'time')})" for name, times in firsts]
    most = f"{words.listed(names)} {'is' if len(names) == 1 else 'are'} the fastest or not significantly slower"
    return f"{told}; in the other {units.count(len(differ))}, {most}; largest significant gap: {_widest(differ)[0]}"


def findings(found: Map) -> list[str]:
    """Say where the models tie, by latency, who is first in the other workloads, and where the gap is largest."""
    known = [tile for tile in found.tiles if tile.verdict != UNKNOWN]
    differ = [tile for tile in known if tile.is_decided]
    if not known:
        return []
    columns = sorted({(tile.point.latency_ns, latency(tile.point)) for tile in known})
    shares = [
        f"{units.count(sum(not tile.is_decided for tile in own))} of {units.count(len(own))} at {name}"
        for place, name in columns
        if (own := [tile for tile in known if tile.point.latency_ns == place])
    ]
    told = [f"{_ties(known)}: {', '.join(shares)} of added latency."]
    if not differ:
        return told
    names = [f"{words.name(name)} in {units.count(times)}" for name, times in _firsts(found, differ)]
    gap, widest = _widest(differ)
    return [
        *told,
        f"Fastest, or not significantly slower, in the other {units.count(len(differ))}: {words.listed(names)}.",
        f"The largest significant gap: {gap} ({_where(widest.point)}).",
    ]


def _widest(differ: Sequence[Tile]) -> tuple[str, Tile]:
    """Return the largest significant gap in words, and its workload."""
    gaps = [(slowest, tile) for tile in differ if (slowest := tile.slowest_apart)]
    slowest, widest = max(gaps, key=lambda one: one[0].behind)
    best, last = (words.name(name) for name in (widest.best[0], slowest.strategy))
    return f"{best} is {units.times(math.exp(slowest.behind))} as fast as {last}", widest


def _ties(known: Sequence[Tile]) -> str:
    number = f"{units.count(len(known))} {'workload' if len(known) == 1 else 'workloads'}"
    return f"In {units.count(sum(not tile.is_decided for tile in known))} of {number} the models tie"


def _firsts(found: Map, differ: Sequence[Tile]) -> list[tuple[str, int]]:
    """Return how often each strategy is the fastest or tied with it, the most frequent first."""
    times = {name: sum(name in tile.best for tile in differ) for name in found.strategies}
    return sorted(((name, number) for name, number in times.items() if number), key=lambda one: (-one[1], one[0]))


def latency(point: Point) -> str:
    """Write the added latency: ``10 ms``, ``0 ms``."""
    return units.latency(point.latency) if point.latency_ns else "0 ms"


def are_alike(tile: Tile) -> bool:
    """Tell whether all strategies are within LARGE of the fastest, noise included."""
    return all(one.high is not None and one.high < LARGE for one in tile.ranking[1:])


def _setting(number: int, settings: Sequence[tuple[str, str]]) -> str:
    """Name a setting by its use of connections, and by a number if there are several sites."""
    connection, _ = settings[number]
    several = len({connection for connection, _ in settings}) < len(settings)
    return f"Connections: {words.plain(connection, 20)}{f', site {number + 1}' if several else ''}"


def _cells(tile: Tile) -> tuple[str, ...]:
    point = tile.point
    work = units.latency(point.cpu) if point.cpu_ns else "none"
    margins = ("-", "-") if tile.verdict == UNKNOWN else (_margin(tile.runner_up), _margin(tile.slowest))
    return (latency(point), work, units.count(point.in_flight), _best(tile), *margins)


def _best(tile: Tile) -> str:
    """Name the winner, or the tied strategies: ``callbacks, tied with generators``; or say why none is known."""
    if tile.verdict == UNKNOWN:
        return f"{UNKNOWN}: {tile.why}"
    if len(tile.best) == 1:
        return words.name(tile.best[0])
    if len(tile.best) == len(tile.ranking):
        return f"all {len(tile.best)} {'alike' if are_alike(tile) else 'tied'}"
    names = [words.plain(name, 14) for name in tile.best]
    return f"{names[0]}, tied with {names[1] if len(names) == 2 else len(names) - 1}"


def _margin(one: Ranked | None) -> str:
    """Write how far a strategy is behind the fastest, as a ratio with its interval: ``1.21x (1.15 to 1.27)``."""
    if one is None:
        return "-"
    if one.low is None or one.high is None:
        return _ratio(one.behind)
    return f"{_ratio(one.behind)} ({_ratio(one.low)[:-1]} to {_ratio(one.high)[:-1]})"


def _ratio(log: float) -> str:
    """Write a ratio, with two decimals below 10."""
    ratio = math.exp(log)
    return f"{ratio:.2f}x" if ratio < 10 else units.times(ratio)


def _notes(found: Map) -> list[str]:
    """Return notes on the figures, their rounds and noise, and missing strategies."""
    rounds = sorted({one.rounds for tile in found.tiles for one in tile.ranking})
    if rounds[-1:] == [1]:
        told = ["One round: its noise is unknown, so nothing can be compared."]
    else:
        over = f"{rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else "".join(map(str, rounds))
        told = [*([f"Geometric means over {over} rounds."] if rounds else []), _RULE]
    if found.noise is not None:
        told.append(f"SD of a ratio between rounds, over the map: {units.percent(found.noise, 1)}.")
    if lone := sum(tile.verdict == UNKNOWN for tile in found.tiles):
        told.append(
            f"Not known: {units.count(lone)} of {units.count(len(found.tiles))} workloads; a comparison needs two "
            f"strategies with {LEAST_ROUNDS} valid rounds each."
        )
    missing = [f"{words.name(name)} ({_where(tile.point)})" for tile in found.tiles for name in tile.without]
    if missing:
        more = f" and {units.count(len(missing) - MOST_NAMED)} more" if len(missing) > MOST_NAMED else ""
        told.append(f"Too few valid trials: {'; '.join(missing[:MOST_NAMED])}{more}.")
    return told


def _where(point: Point) -> str:
    """Write a workload in few words: ``10 ms, 1 ms CPU work, 100 in flight``."""
    work = f"{units.latency(point.cpu)} CPU work" if point.cpu_ns else "no CPU work"
    return f"{latency(point)}, {work}, {words.in_flight(point.in_flight)}"


def _figures(tile: Tile) -> dict[str, Any]:
    point = tile.point
    return {
        "workload": _where(point),
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
