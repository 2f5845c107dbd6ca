"""The claim on diminishing returns: the knee of throughput over the number in flight, predicted and found. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analyse import model
from bench.analyse.cells import cpu_per_page_ns
from bench.analyse.claims.evidence import (
    LEAST_ROUNDS,
    between,
    decided,
    difference,
    inconclusive,
    of_kind,
    spread_of,
    strategies,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value
from bench.analyse.stats import Spread
from bench.present import units
from bench.rows import Row

LOSS = 0.95
"""Less than this share of the best throughput is a degradation: rounds of one cell differ by a few percent."""
NEAR_BEST = 0.90
"""From this share of the best throughput on, more in flight has nothing left to give: the knee is found there."""
LEAST_CAPS = 4
"""Fewer numbers in flight make no curve."""
WARM, DONE = 1 / 3, 9 / 10
"""Throughput is taken between these shares of the pages: connections are open by then, and the end is not in it."""


def diminishing_returns(rows: Sequence[Row]) -> Outcome:
    """Judge whether there is a point from which more in flight degrades throughput; and find the knee before it.

    The shortest latency decides, where the core is full soonest; at the longest one the knee is looked for.
    """
    every = of_kind(rows, "crawl")
    means = sorted({row.workload["mean_latency_ns"] for row in every})
    own = [row for row in every if row.workload["mean_latency_ns"] == means[0]]
    late = [row for row in every if row.workload["mean_latency_ns"] == means[-1]]
    curves = [curve for name in strategies(own) if (curve := _curve(own, name)) is not None]
    knees = [curve for name in strategies(late) if (curve := _curve(late, name)) is not None]
    caps = [row.workload["in_flight"] for row in own]
    latencies = dict.fromkeys(units.latency(row.workload["latency"]) for row in (*own[:1], *late[:1]))
    region = f"{' and '.join(latencies) or 'nothing'}, {between(caps)} in flight, keep-alive"
    falling = [curve for curve in curves if curve.word == "degrades"]
    rising = [curve for curve in curves if curve.word == "rises"]
    values: dict[str, Value] = {
        "falling": ", ".join(curve.name for curve in falling) or None,
        "level": ", ".join(curve.name for curve in curves if curve.word == "levels off") or None,
        "most_in_flight": max(caps, default=None),
        "knee": knees[0].knee if knees else None,
        "predicted": knees[0].predicted if knees else None,
        "of": knees[0].name if knees else None,
        "worst_share": min((curve.last for curve in curves), default=None),
    }
    figures = [curve.told for curve in curves] + [curve.knee_told for curve in knees]
    rule = f"degrades if, at most in flight, throughput is below {LOSS:.0%} of the best, by more than chance explains"
    if len(curves) < len(strategies(own)) or not curves:
        return inconclusive(own, region, values, f"too few valid rounds; {why_too_little(own)}", "; ".join(figures))
    unclear = [curve.name for curve in curves if curve.word == "unclear"]
    by_chance = f"chance may explain it for {', '.join(unclear)}: {rule}"
    close = any(1 - 2 * (1 - LOSS) <= curve.last < 1 for curve in curves)
    if unclear and len(unclear) + len(falling) == len(curves):
        return inconclusive(own, region, values, by_chance, "; ".join(figures))
    if len(falling) == len(curves):
        return decided("holds", figures, region, values, f"{rule}; all do", close=close)
    if len(rising) == len(curves):
        return decided("does not hold here", figures, region, values, f"{rule}; all still rise", close=close)
    if unclear:
        return inconclusive(own, region, values, by_chance, "; ".join(figures))
    which = f"{values['falling']} only" if falling else "none, but returns end"
    return decided("holds differently", figures, region, values, f"{rule}; {which}", close=close)


@dataclass(frozen=True, slots=True)
class Curve:
    """One strategy's throughput over the number in flight."""

    name: str
    knee: int
    """The least number in flight with nearly the best throughput."""
    predicted: float
    """(L + c) / c, from the least CPU time a page."""
    last: float
    """The throughput at most in flight, as a share of the best."""
    word: str
    told: str
    knee_told: str


def sustained_per_s(row: Row) -> float | None:
    """Return the throughput in the middle of a crawl, without opening connections and without its end."""
    line, pages = row.measured.get("timeline"), row.measured.get("pages", 0)
    if not line or not pages:
        return row.measured.get("pages_per_s")
    done = 0
    times: list[tuple[float, int]] = []
    for place, count in enumerate(line["completions"], start=1):
        done += count
        times.append((place * line["bin_ns"], done))
    warm = next(((at, so_far) for at, so_far in times if so_far >= WARM * pages), None)
    late = next(((at, so_far) for at, so_far in times if so_far >= DONE * pages), None)
    if warm is None or late is None or late[0] - warm[0] < 5 * line["bin_ns"]:  # too short to be told from its bins
        return row.measured.get("pages_per_s")
    return (late[1] - warm[1]) / (late[0] - warm[0]) * 1e9


def _curve(rows: Sequence[Row], name: str) -> Curve | None:
    own = [row for row in rows if row.strategy == name]
    caps = sorted({row.workload["in_flight"] for row in own})
    points: dict[int, Spread] = {}
    for cap in caps:
        found = spread_of([row for row in own if row.workload["in_flight"] == cap], sustained_per_s)
        if found is not None and found.rounds >= LEAST_ROUNDS and found.low > 0:
            points[cap] = found
    cpu = [found.median for cap in points if (found := spread_of(_at(own, cap), cpu_per_page_ns)) and found.low > 0]
    if len(points) < LEAST_CAPS or caps[-1] not in points or not cpu:
        return None
    caps = list(points)
    latency = own[0].workload["mean_latency_ns"]
    best = max(points, key=lambda cap: points[cap].median)
    knee = next(cap for cap in caps if points[cap].median >= NEAR_BEST * points[best].median)
    before = [cap for cap in caps if cap < knee]
    last = points[caps[-1]].median / points[best].median
    predicted = model.knee(latency, min(cpu))
    word = _shape(points, caps, best, last)
    found_at = f"{units.count(before[-1])} and {units.count(knee)}" if before else f"0 and {units.count(knee)}"
    told = f"{name} {word}, {last:.0%} of its best at {units.count(caps[-1])} in flight"
    where = units.latency(own[0].workload["latency"])
    knee_told = f"{name} at {where}: knee predicted at {units.number(predicted, 2)}, found between {found_at}"
    return Curve(name, knee, predicted, last, word, told, knee_told)


def _shape(points: dict[int, Spread], caps: Sequence[int], best: int, last: float) -> str:
    if last < LOSS:
        return "degrades" if difference(points[caps[-1]], points[best]) == "less" else "unclear"
    if best == caps[-1] and difference(points[caps[-1]], points[caps[-2]]) == "more":
        return "rises" if points[caps[-2]].median < NEAR_BEST * points[best].median else "levels off"
    return "levels off"


def _at(rows: Sequence[Row], cap: int) -> list[Row]:
    return [row for row in rows if row.workload["in_flight"] == cap]
