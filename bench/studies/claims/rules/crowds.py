"""The claims on many in flight: slow connections, and more fetches than help. Decided in blocks of arms. Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import Read, cpu_per_page_ns, pages_per_s
from bench.core.layers import cost
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import Case, Range, arms, of_kind, rated, ratio
from bench.studies.claims.rules.outcome import Outcome, Value
from bench.studies.claims.rules.speed import slopes

SAME = 1.05
"""Pages/s whose ratio is surely within 5 % are the same, by two one-sided tests."""
LOSS = 0.95
"""Less than this share of the pages that a second of CPU time fetches is a degradation."""
BELOW, BEYOND = 100, 1000
"""The primary cells of async-sleepy: fetches in flight below the knee, and beyond it."""
MANY, FEW = 3000, 100
"""Of diminishing-returns."""


def async_sleepy(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio serves many slow connections as well as threads do, for less of the core or of memory."""
    speed, many_speed = (_against_threads(rows, cap, pages_per_s) for cap in (BELOW, BEYOND))
    effort = _against_threads(rows, BEYOND, cpu_per_page_ns)
    held = [cost(of_kind(rows, "memory", name)).full for name in ("native_asyncio", "thread_pool")]
    weight = slopes(held[0], held[1])
    cells = {row.workload["in_flight"]: units.latency(row.workload["latency"]) for row in arms(rows)}
    named = {"speed": speed, "many_speed": many_speed, "cpu": effort, "memory": weight}
    values: dict[str, Value] = {f"{name}_ratio": one.value if one else None for name, one in named.items()}
    told = {
        f"{BELOW} in flight: asyncio": ("the threads' pages/s", speed),
        f"{units.count(BEYOND)} in flight: asyncio": ("the threads' pages/s", many_speed),
        "at": ("their CPU time per page", effort),
        "with": ("their memory per fetch in flight", weight),
    }
    case = Case(
        rows,
        "; ".join(f"{units.count(cap)} in flight at {cells[cap]}" for cap in sorted(cells)) or "nothing",
        values | {"latency": cells.get(BELOW), "few": BELOW, "many_latency": cells.get(BEYOND), "in_flight": BEYOND},
        [f"{start} {rated(one)} {what}" for start, (what, one) in told.items() if one],
        f"right: at {BELOW} in flight pages/s surely within {SAME - 1:.0%} of the threads', or more; and at "
        f"{units.count(BEYOND)} surely less of the core or of memory, and not more of the other",
    )
    if speed is None or effort is None or weight is None:
        return case.undecided("too few valid trials")
    if speed.side_of(1 / SAME) == "below":
        return case.decided("does not hold here", "asyncio is slower where nothing is full")
    costs = {"CPU time": effort.side_of(1), "memory": weight.side_of(1)}
    less, more = ([name for name, side in costs.items() if side == word] for word in ("below", "above"))
    if len(more) == len(costs):
        return case.decided("does not hold here", "more of both")
    if speed.side_of(1 / SAME) != "above" or not less:
        return case.undecided("an interval lies across a boundary")
    if more:
        return case.decided("holds differently", f"less {less[0]}, but more {more[0]}", close=effort.is_close_to(1))
    return case.decided("holds", f"less {' and less '.join(less)}", close=effort.is_close_to(1))


def diminishing_returns(rows: Sequence[Row]) -> Outcome:
    """Judge for each model whether many in flight degrade it: pages per second of CPU time, against few."""
    names = sorted({row.workload["arm"]["strategy"] for row in arms(rows)})
    kept = {
        name: found
        for name in names
        if (found := ratio(arms(rows, name, "reference"), arms(rows, name, "compared"), cpu_per_page_ns))
    }
    words = {name: _WORDS[found.side_of(LOSS)] for name, found in kept.items()}
    falling = [name for name, word in words.items() if word == "degrades"]
    case = Case(
        rows,
        f"no added latency, {units.count(MANY)} in flight against {FEW}, keep-alive",
        {
            "falling": ", ".join(falling) or None,
            "level": ", ".join(name for name, word in words.items() if word == "keeps up") or None,
            "most_in_flight": MANY,
            "worst_share": min((found.value for found in kept.values()), default=None),
        },
        [f"{name} {words[name]}: {rated(found)} the pages per second of CPU time" for name, found in kept.items()],
        f"degrades: surely below {LOSS:.0%} of the pages per second of CPU time that it has with {FEW} in flight",
    )
    if not kept or len(kept) < len(names):
        return case.undecided("too few valid blocks")
    close = any(found.is_close_to(LOSS) for found in kept.values())
    if set(words.values()) == {"degrades"}:
        return case.decided("holds", "all do", close=close)
    if falling:
        unknown = [name for name, word in words.items() if word == "is unclear"]
        told = f"{', '.join(falling)} only" + (f"; not known of {', '.join(unknown)}" if unknown else "")
        return case.decided("holds differently", told, close=close)
    if set(words.values()) == {"keeps up"}:
        return case.decided("does not hold here", "none does", close=close)
    return case.undecided(f"an interval lies across {LOSS:.0%}")


_WORDS = {"below": "degrades", "above": "keeps up", "across": "is unclear"}


def _against_threads(rows: Sequence[Row], cap: int, read: Read) -> Range | None:
    cell = arms(rows, in_flight=cap)
    return ratio(arms(cell, "native_asyncio"), arms(cell, "thread_pool"), read)
