"""The claims that whole crawls show: a site in three seconds, a pool that grows, redirects that coalesce. Pure."""

from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.core.cells import Read
from inflight.bench.rows.crawls import Crawl, Memory
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    COROUTINES,
    COUNT,
    SIZE,
    SPAN,
    Figure,
    Range,
    Unknown,
    by_strategy,
    is_absent,
    of_type,
    over_rounds,
    values,
)
from inflight.bench.studies.claims.rules.parts import Part, compared, outcome
from inflight.bench.studies.claims.verdicts import Outcome, Value

UNDER_NS = 3_000_000_000
XKCD_PAGES = 1500
AT_ONCE_NS = 1_000_000_000
"""Maximum time to start all workers "at once"."""
ON_DEMAND = 0.1
"""Maximum share of the allowed threads in a pool that grows on demand, with work for a thousandth of them."""


def xkcd(rows: Sequence[Row]) -> Outcome:
    """Judge whether a site of 1,500 pages is visited in under three seconds, by each strategy."""
    own = by_strategy(row for row in of_type(rows, Crawl) if not is_absent(row))
    spans = {name: over_rounds(some, _makespan_ns, SPAN) for name, some in own.items()}
    known = {name: found.value for name, found in spans.items() if isinstance(found, Range)}
    parts = [
        compared(name, spans[name], "below", UNDER_NS, "any")
        for name in sorted(spans, key=lambda name: known.get(name, 0))
    ]
    best = min(known, key=lambda name: known[name], default=None)
    return outcome(
        rows,
        parts,
        {
            "quickest": best,
            "quickest_ns": known[best] if best else None,
            "slowest_ns": max(known.values(), default=None),
            "slow": ", ".join(part.name for part in parts if not part.so and part.name in known) or None,
            "pages_per_s": XKCD_PAGES / known[best] * 1e9 if best and known[best] else None,
        },
    )


def grow_on_demand(rows: Sequence[Row]) -> Outcome:
    """Judge whether the pool starts few threads for little work, and coroutines start all their workers at once."""
    own = of_type(rows, Crawl)
    caps = sorted({row.workload.in_flight for row in own})
    few, most = (caps[0], caps[-1]) if len(caps) > 1 else (0, 0)
    threads = over_rounds(_at(own, "thread_pool", most), lambda row: row.measured.peak_threads, COUNT)
    extra = {name: _extra(own, name, few, most, _makespan_ns) for name in COROUTINES}
    memory = {name: _extra(own, name, few, most, lambda row: row.measured.uss_bytes) for name in COROUTINES}
    high = threads.high if isinstance(threads, Range) else None
    pool = Part(
        "threads of the pool",
        None if high is None else high <= ON_DEMAND * most,
        "" if high is None else units.count(round(high)),
        rule=f"up to {units.count(round(ON_DEMAND * most))}",
        core="on demand",
    )
    coroutines = [
        compared(name, one, "below", AT_ONCE_NS, of="more time for all workers") for name, one in extra.items()
    ]
    pages = max((row.workload.site.pages for row in own), default=None)
    asked: dict[str, Value] = {"threads": high, "workers": most or None, "pages": pages}
    found = values("_ns", extra) | values("_bytes", memory) | asked
    sizes = (
        f"more memory, {name}: {units.size(one.value, 2)}" for name, one in memory.items() if isinstance(one, Range)
    )
    return outcome(rows, [pool, *coroutines], found, sizes)


def redirects_coalesce(rows: Sequence[Row]) -> Outcome:
    """Judge whether each strategy fetches a page only once, whatever number of redirects lead to it."""
    own = [row for row in of_type(rows, Memory) if not is_absent(row)]
    good = [row for row in own if row.valid]
    extra = {name: max(map(_extra_fetches, some)) for name, some in by_strategy(good).items()}
    redirects = max(map(_redirects, good), default=0)
    parts = [
        Part(
            name,
            None if not redirects or name not in extra else extra[name] <= 0,
            rule="fetches each URL once",
            core="any",
        )
        for name in by_strategy(own)
    ]
    found: dict[str, Value] = {
        "redirects": redirects or None,
        "targets": max((row.workload.site.redirect_targets for row in own), default=0) or None,
        "pages": max((row.measured.pages or 0 for row in good), default=0) or None,
        "strategies": len(extra),
        "twice": ", ".join(name for name, more in extra.items() if more > 0) or None,
        "extra": max(extra.values(), default=None),
    }
    told = ("redirects", "targets", "pages", "strategies")
    figures = [f"{name}: {units.count(n)}" for name in told if isinstance(n := found[name], int)]
    figures.append(f"requests beyond one for each URL: {units.count(sum(extra.values()))}")
    return outcome(rows, parts, found, figures if good else [])


def _makespan_ns(row: Row) -> float | None:
    found: float | None = row.measured.makespan_ns
    return found


def _extra(rows: Sequence[Crawl], name: str, few: int, most: int, read: Read) -> Figure:
    """Return the difference between the largest and the smallest cap, with its range."""
    one, other = (
        over_rounds(_at(rows, name, cap), read, SPAN if read is _makespan_ns else SIZE) for cap in (most, few)
    )
    if isinstance(one, Range) and isinstance(other, Range):
        return Range(one.value - other.value, one.low - other.high, one.high - other.low, one.unit)
    return Unknown("too few valid rounds")


def _at(rows: Sequence[Crawl], name: str, cap: int) -> list[Crawl]:
    return [row for row in rows if row.strategy == name and row.workload.in_flight == cap]


def _extra_fetches(row: Memory) -> int:
    return (row.server.requests or 0) - (row.measured.pages or 0)


def _redirects(row: Memory) -> int:
    return sum(n for status, n in (row.server.responses_by_status or {}).items() if status.startswith("3"))
