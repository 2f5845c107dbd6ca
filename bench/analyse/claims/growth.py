"""The claim on growth: a thread pool that waits for demand, coroutine workers that are all there at once. Pure."""

from collections.abc import Iterable, Sequence

from bench.analyse.claims.evidence import (
    LEAST_ROUNDS,
    Range,
    decided,
    inconclusive,
    of_kind,
    of_spread,
    spread_of,
    timed,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.analyse.stats import Spread
from bench.present import units
from bench.rows import Row

AT_ONCE_NS = 1_000_000_000
"""Ten thousand workers within a second are started at once: no user would notice more of them."""
ON_DEMAND = 0.1
"""A pool that grew on demand has at most a tenth of the threads that the cap allows, for a thousandth of the work."""
COROUTINES = ("generators", "native_asyncio")


def grow_on_demand(rows: Sequence[Row]) -> Outcome:
    """Judge whether the pool starts few threads for little work, and coroutines start all their workers at once."""
    own = of_kind(rows, "crawl")
    caps = sorted({row.workload["in_flight"] for row in own})
    pages = max((row.workload["site"]["pages"] for row in own), default=0)
    most = caps[-1] if caps else 0
    threads = spread_of(_at(own, "thread_pool", most), lambda row: row.measured.get("peak_threads"))
    extra = {name: _extra(own, name, caps, "makespan_ns") for name in COROUTINES}
    memory = {name: _extra(own, name, caps, "uss_bytes") for name in (*COROUTINES, "thread_pool")}
    region = f"{pages} pages of work, a cap of {units.count(most)} against one of {units.count(caps[0] if caps else 0)}"
    values: dict[str, Value] = {
        "threads": threads.high if threads else None,
        "workers": most or None,
        "pages": pages or None,
        "asyncio_ns": extra["native_asyncio"].value if extra["native_asyncio"] else None,
        "generators_ns": extra["generators"].value if extra["generators"] else None,
        "asyncio_bytes": memory["native_asyncio"].value if memory["native_asyncio"] else None,
        "generators_bytes": memory["generators"].value if memory["generators"] else None,
    }
    figures = [f"pool: {units.count(round(threads.high))} threads at most"] if threads else []
    figures += [
        f"{name}: {timed(one)} more" + (f", {units.size(max(0.0, heavy.value), 2)}" if (heavy := memory[name]) else "")
        for name, one in extra.items()
        if one
    ]
    rule = (
        f"on demand is at most {ON_DEMAND:.0%} of the threads that the cap allows; "
        f"at once is all {units.count(most)} workers within {units.duration(AT_ONCE_NS, 1)}"
    )
    times = [one for one in extra.values() if one is not None]
    if threads is None or threads.rounds < LEAST_ROUNDS or len(times) < len(COROUTINES) or len(caps) < 2:
        return inconclusive(own, region, values, f"too few valid rounds; {why_too_little(own)}", "; ".join(figures))
    close = any(one.is_close_to(AT_ONCE_NS) for one in times)
    sides = {one.side_of(AT_ONCE_NS) for one in times}
    on_demand = threads.high <= ON_DEMAND * most
    if "across" in sides:
        return inconclusive(own, region, values, f"a range lies across the boundary: {rule}", "; ".join(figures))
    if not on_demand:
        return decided("does not hold here", figures, region, values, f"{rule}; the pool did not wait for demand")
    verdict: Word = "holds" if sides == {"below"} else "holds differently"
    told = "both did" if verdict == "holds" else "not all coroutines were there at once"
    return decided(verdict, figures, region, values, f"{rule}; {told}", close=close)


def _extra(rows: Sequence[Row], name: str, caps: Sequence[int], key: str) -> Range | None:
    """Return how much more the largest cap takes than the smallest one, at least and at most."""
    if len(caps) < 2:
        return None
    few, many = (spread_of(_at(rows, name, cap), lambda row: row.measured.get(key)) for cap in (caps[0], caps[-1]))
    if few is None or many is None or min(few.rounds, many.rounds) < LEAST_ROUNDS:
        return None
    return _difference(many, few)


def _difference(many: Spread, few: Spread) -> Range:
    one, other = of_spread(many), of_spread(few)
    return Range(one.value - other.value, one.low - other.high, one.high - other.low)


def _at(rows: Iterable[Row], name: str, cap: int) -> list[Row]:
    return [row for row in rows if row.strategy == name and row.workload["in_flight"] == cap]
