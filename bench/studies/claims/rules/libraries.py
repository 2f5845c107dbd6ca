"""The claims on libraries: an HTTP client that collapses with many requests in flight, gevent beside threads. Pure."""

from collections.abc import Mapping, Sequence

from inflight.bench.core.cells import cpu_per_page_ns, pages_per_s
from inflight.bench.core.layers import cost
from inflight.bench.core.records.crawls import Crawl, Memory
from inflight.bench.core.rows import Row
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
    ratio,
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
    kept = {name: retention(rates(some)) for name, some in own.items()}
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
    found |= values("_share", {name: kept.get(name, unknown) for name in (COLLAPSES, KEEPS)})
    others = [f"{name}: {one}" for name, one in kept.items() if name not in {COLLAPSES, KEEPS}]
    return outcome(of_subjects(rows, COLLAPSES), parts, found, others)


def rates(rows: Sequence[Crawl]) -> dict[int, Figure]:
    """Return a client's pages per second by cap, over those at its smallest cap in the same rounds."""
    at: dict[int, list[Crawl]] = {}
    for row in sorted(rows, key=lambda row: row.workload.in_flight):
        at.setdefault(row.workload.in_flight, []).append(row)
    return {cap: ratio(own, at[min(at)], pages_per_s) for cap, own in at.items() if cap > min(at)}


def retention(found: Mapping[int, Figure]) -> Figure:
    """Return the share of its best rate that a client keeps at the largest cap.

    The rates are multiples of that at the smallest cap, which may be the best. If another one is, the interval is the
    widest that both intervals allow.
    """
    known = {cap: one for cap, one in found.items() if isinstance(one, Range)}
    if not known or len(known) < len(found):
        return next((one for one in found.values() if isinstance(one, Unknown)), Unknown("no valid row"))
    last, best = known[max(known)], max(known.values(), key=lambda one: one.value)
    if best.value <= 1:
        return Range(last.value, last.low, last.high, SHARE)
    if best is last:
        return Range(1, 1, 1, SHARE)
    if best.low <= 0:
        return Unknown("one round")
    return Range(last.value / best.value, last.low / best.high, last.high / best.low, SHARE)


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
    shown = [f"user memory: {user}"] if isinstance(user, Range) else []
    return outcome(of_subjects(rows, GREENLETS), parts, ratios | sizes, shown)
