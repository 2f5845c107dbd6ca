"""The claims on libraries: an HTTP client that collapses with many requests in flight, gevent beside threads. Pure."""

from collections.abc import Sequence

from inflight.bench.core import retention, units
from inflight.bench.core.cells import cpu_per_page_ns
from inflight.bench.core.layers import cost
from inflight.bench.core.retention import Retention
from inflight.bench.rows.crawls import Crawl, Memory
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    SHARE,
    SPAN,
    Figure,
    Range,
    Unknown,
    arms,
    by_strategy,
    of_subjects,
    of_type,
    over,
    over_rounds,
    slope,
    slopes,
    value,
    values,
)
from inflight.bench.studies.claims.rules.parts import compared, outcome
from inflight.bench.studies.claims.rules.speed import CPU, USUAL_CAP
from inflight.bench.studies.claims.verdicts import Outcome, Value

COLLAPSED = 0.5
"""Share of its best rate below which a client has collapsed at the largest cap."""
COLLAPSES, KEEPS = "httpx_client", "aiohttp_client"
"""The client that the claim says collapses, and the one that does not."""
LIGHTER = 2.0
"""Minimum ratio of memory that counts as lighter."""
GREENLETS, THREADS = "gevent_greenlets", "thread_pool"


def client_collapse(rows: Sequence[Row]) -> Outcome:
    """Judge whether httpx loses most of its rate with hundreds of requests in flight, and aiohttp does not.

    Further clients are shown, and have no part in the verdict.
    """
    own = by_strategy(of_type(rows, Crawl))
    kept = kept_by(of_type(rows, Crawl))
    caps = sorted({row.workload.in_flight for some in own.values() for row in some})
    few, most = (caps[0], caps[-1]) if len(caps) > 1 else (0, 0)
    of = "share of its best pages/s that a client keeps at the largest cap"
    unknown = Unknown("not measured")
    parts = [
        compared(COLLAPSES, kept.get(COLLAPSES, unknown), "below", COLLAPSED, "collapses", of=of),
        compared(KEEPS, kept.get(KEEPS, unknown), "at least", COLLAPSED, of=of),
    ]
    found: dict[str, Value] = {"few": few or None, "most": most or None}
    for name in (COLLAPSES, KEEPS):
        for end, cap in (("few", few), ("most", most)):
            at = [row for row in own.get(name, ()) if row.workload.in_flight == cap]
            found[f"{name}_{end}_ns"] = value(over_rounds(at, cpu_per_page_ns, SPAN, 1))
    others = [f"{name}: {one}" for name, one in kept.items() if name not in {COLLAPSES, KEEPS}]
    found |= values("_share", {name: kept.get(name, unknown) for name in (COLLAPSES, KEEPS)})
    found["others"] = "; ".join(others) or None
    return outcome(of_subjects(rows, COLLAPSES), parts, found, others)


def kept_by(rows: Sequence[Crawl]) -> dict[str, Figure]:
    """Return the share of its best rate that each client keeps at the largest cap; unknown if it failed there."""
    return {one.strategy: _share(one) for one in retention.of_rows(rows)}


def _share(found: Retention) -> Figure:
    if found.failed:
        return Unknown(f"no valid row with {', '.join(map(units.count, found.failed))} in flight")
    if found.interval is None:
        return Range(1, 1, 1, SHARE)
    return Range(found.share, *found.ends, SHARE) if found.ends else Unknown("one round")


def gevent_like_threads(rows: Sequence[Row]) -> Outcome:
    """Judge whether a greenlet needs at most half of the memory of a thread, and no more CPU time per page."""
    memory = {name: cost(of_type(rows, Memory, name)) for name in (GREENLETS, THREADS)}
    of = "threads over greenlets"
    lighter = slopes(memory[THREADS].full, memory[GREENLETS].full)
    user = slopes(memory[THREADS].user, memory[GREENLETS].user)
    effort = over(arms(rows, in_flight=USUAL_CAP), GREENLETS, THREADS, cpu_per_page_ns)
    parts = [
        compared("memory per fetch in all layers", lighter, "at least", LIGHTER, "lighter", of=of),
        compared(CPU, effort, "not clearly above", 1, of="greenlets over threads", near=False),
    ]
    ratios = values("_ratio", {"memory": lighter, "user": user, "cpu": effort})
    sizes = values("_bytes", {"greenlet": slope(memory[GREENLETS].full), "thread": slope(memory[THREADS].full)})
    shown = [f"threads over greenlets, user memory: {user}"] if isinstance(user, Range) else []
    return outcome(of_subjects(rows, GREENLETS), parts, ratios | sizes, shown)
