"""The claims on slow connections: where event loops win, and a whole site in three seconds. Pure."""

from collections.abc import Sequence

from bench.analyse.cells import pages_per_s
from bench.analyse.claims.evidence import (
    LEAST_ROUNDS,
    Range,
    between,
    crawls,
    decided,
    difference,
    inconclusive,
    of_kind,
    of_spread,
    rated,
    ratio,
    spread_of,
    strategies,
    timed,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.present import units
from bench.rows import Row

UNDER_NS = 3_000_000_000
XKCD_PAGES = 1500


def async_sleepy(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio gets more out of many slow connections than threads do, and from where on."""
    grid = _grid(rows)
    region = f"{', '.join(units.latency(latency) for latency in grid)}; {_caps(grid)} in flight, keep-alive"
    words = {(latency, cap): _word(rows, "native_asyncio", latency, cap) for latency in grid for cap in grid[latency]}
    crossings = [_crossing(latency, {cap: words[latency, cap] for cap in grid[latency]}) for latency in grid]
    values: dict[str, Value] = {"sleepiest_ratio": None, "latency": None, "in_flight": None, "others": None}
    if not grid:
        return inconclusive(rows, region, values)
    sleepiest, most = list(grid)[-1], max(list(grid.values())[-1])
    found = _against_threads(rows, "native_asyncio", sleepiest, most)
    winners = [name for name in ("callbacks", "generators") if _word(rows, name, sleepiest, most) == "more"]
    values |= {
        "sleepiest_ratio": found.value if found else None,
        "latency": units.latency(sleepiest),
        "in_flight": most,
        "others": " and ".join(winners) or None,
    }
    where = f"{units.latency(sleepiest)}, {units.count(most)} in flight"
    figures = ([f"{where}: asyncio {rated(found)} the threads' pages/s"] if found else []) + crossings
    rule = f"more pages/s than threads at {where}, by more than chance explains"
    word = words[sleepiest, most]
    if word == "unknown" or (word == "unclear" and not winners):
        why = "too few valid rounds" if word == "unknown" else "chance may explain it"
        own = crawls(rows, "native_asyncio", sleepiest, most) + crawls(rows, "thread_pool", sleepiest, most)
        return inconclusive(rows, region, values, f"{why}: {rule}; {why_too_little(own)}", "; ".join(figures))
    if word == "more":
        return decided("holds", figures, region, values, f"{rule}; asyncio has", close=_is_near_one(found))
    if winners:
        reason = f"{rule}; asyncio has not, {' and '.join(winners)} have"
        return decided("holds differently", figures, region, values, reason, close=_is_near_one(found))
    if word == "alike":
        return decided("holds differently", figures, region, values, f"{rule}; as many, so only memory speaks for it")
    reason = f"{rule}; no event loop has"
    return decided("does not hold here", figures, region, values, reason, close=_is_near_one(found))


def xkcd(rows: Sequence[Row]) -> Outcome:
    """Judge whether a site of 1,500 pages is visited in under three seconds, by each strategy."""
    own = of_kind(rows, "crawl")
    spans = {name: spread_of([row for row in own if row.strategy == name], _makespan) for name in strategies(own)}
    installed = {name: found for name, found in spans.items() if found or not _absent(own, name)}
    sides = {
        name: of_spread(found).side_of(UNDER_NS)
        for name, found in installed.items()
        if found is not None and found.rounds >= LEAST_ROUNDS
    }
    quick = [name for name, side in sides.items() if side == "below"]
    ranges = {name: of_spread(found) for name, found in installed.items() if found}
    delays = ", ".join(sorted({units.latency(row.workload["latency"]) for row in own}))
    region = (
        f"{units.count(XKCD_PAGES)} pages, {delays}, {between([row.workload['in_flight'] for row in own])} in flight"
    )
    best = min(ranges, key=lambda name: ranges[name].value, default=None)
    values: dict[str, Value] = {
        "quickest": best,
        "quickest_ns": ranges[best].value if best else None,
        "slowest_ns": max((one.value for one in ranges.values()), default=None),
        "slow": ", ".join(name for name, side in sides.items() if side != "below") or None,
        "pages_per_s": XKCD_PAGES / ranges[best].value * 1e9 if best and ranges[best].value else None,
    }
    figures = [f"{name} {timed(one)}" for name, one in sorted(ranges.items(), key=lambda item: item[1].value)]
    rule = f"under {units.duration(UNDER_NS, 1)} in every round"
    close = any(one.is_close_to(UNDER_NS) for one in ranges.values())
    unsure = [name for name in installed if sides.get(name, "across") == "across"]
    if unsure or not sides:
        reason = f"not known of {', '.join(unsure) or 'any'}: {rule}; {why_too_little(own)}"
        return inconclusive(own, region, values, reason, "; ".join(figures))
    verdict: Word = "holds" if len(quick) == len(sides) else "holds differently" if quick else "does not hold here"
    who = "all are" if verdict == "holds" else f"{', '.join(quick) or 'none'}"
    return decided(verdict, figures, region, values, f"{rule}; {who}", close=close)


def _grid(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Return the numbers in flight that were tried at each latency, the shortest latency first."""
    own = of_kind(rows, "crawl")
    means = {row.workload["latency"]: row.workload["mean_latency_ns"] for row in own}
    return {
        latency: sorted({row.workload["in_flight"] for row in own if row.workload["latency"] == latency})
        for latency in sorted(means, key=lambda one: means[one])
    }


def _caps(grid: dict[str, list[int]]) -> str:
    return between([cap for caps in grid.values() for cap in caps])


def _word(rows: Sequence[Row], name: str, latency: str, cap: int) -> str:
    ours, theirs = (spread_of(crawls(rows, one, latency, cap), pages_per_s) for one in (name, "thread_pool"))
    return difference(ours, theirs)


def _against_threads(rows: Sequence[Row], name: str, latency: str, cap: int) -> Range | None:
    ours, theirs = (spread_of(crawls(rows, one, latency, cap), pages_per_s) for one in (name, "thread_pool"))
    return None if ours is None or theirs is None else ratio(ours, theirs)


def _crossing(latency: str, words: dict[int, str]) -> str:
    """Say from where on asyncio is faster at a latency: between two numbers in flight, as far as they were tried."""
    told = f"at {units.latency(latency)}"
    if "unknown" in words.values():
        return f"{told} not known for each number in flight"
    faster = [cap for cap, word in words.items() if word == "more"]
    if not faster:
        return f"{told} nowhere faster"
    first = min(faster)
    lower = [cap for cap in words if cap < first and words[cap] != "more"]
    start = f"between {units.count(max(lower))} and {units.count(first)}" if lower else f"{units.count(first)} or fewer"
    return f"{told} faster from {start} in flight on"


def _is_near_one(found: Range | None) -> bool:
    return found is not None and found.is_close_to(1.0)


def _makespan(row: Row) -> float | None:
    return row.measured.get("makespan_ns")


def _absent(rows: Sequence[Row], name: str) -> bool:
    return any("not installed" in str(row.reason) for row in rows if row.strategy == name)
