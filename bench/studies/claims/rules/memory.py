"""The claims on memory: what a thread costs, what a coroutine costs, and their ratio. Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.figures import NoSlope, Slope, memory_slope
from bench.core.layers import cost, n_of
from bench.core.rows import Row
from bench.studies.claims.rules.coroutines import NAMES, PARKED
from bench.studies.claims.rules.evidence import Case, Range, of_kind, of_slope, rated, sized
from bench.studies.claims.rules.evidence import between as counted
from bench.studies.claims.rules.outcome import Outcome, Value, Word
from bench.studies.claims.rules.speed import slopes

PUBLISHED_BYTES, DRAFT_BYTES = 50_000, 22_000
TENS_FROM, TENS_TO = 10_000, 100_000
"""Tens of kilobytes: from ten to below a hundred of them."""
MATCH = 1.25
"""A published figure that says "around" is met within a quarter: it has one significant digit."""
BARELY = 3_500
"""What would still be written as 3k."""
ORDER = 10
"""An order of magnitude."""
CONNECTED = ("asyncio_task_socket", "asyncio_task_stream")


def thread_memory(rows: Sequence[Row]) -> Outcome:
    """Judge whether a parked thread costs tens of kilobytes, in all layers and as the authors read it."""
    threads = of_kind(rows, "block", "thread")
    found, by_ps = cost(threads), _by_ps(threads)
    values: dict[str, Value] = {
        "full_bytes": _value(found.full),
        "ps_bytes": _value(by_ps),
        "user_bytes": _value(found.user),
        "published_bytes": PUBLISHED_BYTES,
        "draft_bytes": DRAFT_BYTES,
    }
    values |= {f"{name.replace(' ', '_')}_bytes": _value(slope) for name, slope in found.layers.items()}
    readings = {"in all layers": found.full, "by ps": by_ps}
    case = Case(
        threads,
        f"{_sizes(threads)} threads, parked on a lock",
        values,
        [
            f"{sized(of_slope(one), straight=one.straight)} {how}"
            for how, one in readings.items()
            if isinstance(one, Slope)
        ],
        f"tens of kilobytes are {units.size(TENS_FROM, 2)} to below {units.size(TENS_TO, 3)}, in all layers",
    )
    if isinstance(found.full, NoSlope) or isinstance(by_ps, NoSlope):
        return case.undecided(_no_slope("a thread", found.full, threads))
    full, resident = of_slope(found.full), of_slope(by_ps)
    sides = full.side_of(TENS_FROM), full.side_of(TENS_TO)
    close = full.is_close_to(TENS_FROM, TENS_TO, PUBLISHED_BYTES / MATCH, PUBLISHED_BYTES * MATCH)
    if "across" in sides:
        return case.undecided("the interval lies across a boundary")
    if sides != ("above", "below"):
        return case.decided("does not hold here", "it is not", close=close)
    matched = 1 / MATCH <= PUBLISHED_BYTES / full.value <= MATCH
    met = "the published 50k is met within a quarter" if matched else "the published 50k is not met within a quarter"
    verdict: Word = "holds" if matched else "holds differently"
    return case.decided(verdict, f"{met}; {_draft(resident)}", close=close)


def coroutine_memory(rows: Sequence[Row]) -> Outcome:
    """Judge which coroutines cost barely 3k: bare, in a task, with a socket, with a stream."""
    costs = {name: cost(of_kind(rows, "block", name)) for name in (*PARKED, *CONNECTED)}
    values: dict[str, Value] = {f"{name}_bytes": _value(found.full) for name, found in costs.items()}
    values |= {f"{name}_user_bytes": _value(found.user) for name, found in costs.items()}
    missing = [name for name, found in costs.items() if isinstance(found.full, NoSlope)]
    ranges = {name: of_slope(found.full) for name, found in costs.items() if isinstance(found.full, Slope)}
    case = Case(
        rows,
        f"{_sizes(_blocks(rows, PARKED))} coroutines parked, {_sizes(_blocks(rows, CONNECTED))} with a connection",
        values,
        [f"{NAMES[name]} {sized(one)}" for name, one in ranges.items()],
        f"barely 3k is below {units.size(BARELY)} in all layers",
    )
    if missing:
        return case.undecided(_no_slope(NAMES[missing[0]], costs[missing[0]].full, of_kind(rows, "block", missing[0])))
    sides = {name: one.side_of(BARELY) for name, one in ranges.items()}
    over = [NAMES[name] for name, side in sides.items() if side == "above"]
    close = any(one.is_close_to(BARELY) for one in ranges.values())
    if "across" in sides.values():
        unclear = next(name for name, side in sides.items() if side == "across")
        return case.undecided(f"{NAMES[unclear]}'s interval lies across the boundary")
    if all(sides[name] == "above" for name in PARKED[1:]):
        return case.decided("does not hold here", "a waiting task is above", close=close)
    if over:
        return case.decided("holds differently", f"above it: {', '.join(over)}", close=close)
    return case.decided("holds", "all five are", close=close)


def memory_ratio(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads cost ten times what coroutines do: parked and in flight, user memory and all layers."""
    parked = [cost(of_kind(rows, "block", name)) for name in ("thread", "asyncio_task")]
    flying = [cost(of_kind(rows, "memory", name)) for name in ("thread_pool", "native_asyncio")]
    found = {
        "parked_user": slopes(parked[0].user, parked[1].user),
        "parked_full": slopes(parked[0].full, parked[1].full),
        "flying_user": slopes(flying[0].user, flying[1].user),
        "flying_full": slopes(flying[0].full, flying[1].full),
    }
    values: dict[str, Value] = {f"{name}_ratio": one.value if one else None for name, one in found.items()}
    values |= {"published_ratio": PUBLISHED_BYTES / 3000, "draft_ratio": DRAFT_BYTES / 3000}
    case = Case(
        rows,
        f"parked: {_sizes(_blocks(rows, ('thread',)))} threads, {_sizes(_blocks(rows, ('asyncio_task',)))} tasks; "
        f"in flight: {_sizes(of_kind(rows, 'memory'))} fetches",
        values,
        [f"{_RATIOS[name]} {rated(one)}" for name, one in found.items() if one],
        f"an order of magnitude is {ORDER} times, in all layers, parked and in flight",
    )
    full = found["parked_full"], found["flying_full"]
    if full[0] is None or full[1] is None:
        every = [parked[0].full, parked[1].full, flying[0].full, flying[1].full]
        why = next((slope.reason for slope in every if isinstance(slope, NoSlope)), "a slope is not above 0")
        return case.undecided(f"no ratio in all layers: {why}{_lost(rows)}")
    return _by_sides(full[0], full[1], case)


def _by_sides(parked: Range, flying: Range, case: Case) -> Outcome:
    """Judge two ratios against an order of magnitude; parked and in flight may differ."""
    sides = {parked.side_of(ORDER), flying.side_of(ORDER)}
    close = parked.is_close_to(ORDER) or flying.is_close_to(ORDER)
    if "across" in sides:
        return case.undecided("an interval lies across the boundary")
    if sides == {"above"}:
        return case.decided("holds", "both are", close=close)
    if sides == {"below"}:
        return case.decided("does not hold here", "neither is", close=close)
    which = "parked ones only" if parked.side_of(ORDER) == "above" else "those in flight only"
    return case.decided("holds differently", which, close=close)


def _by_ps(rows: Sequence[Row]) -> Slope | NoSlope:
    """Return the slope of what ps shows as resident."""
    points = [(n_of(row), row.measured["ps_rss_bytes"]) for row in rows if row.valid and _knows_ps(row)]
    return memory_slope(*zip(*points, strict=True)) if points else NoSlope("no valid row")


def _knows_ps(row: Row) -> bool:
    return row.measured.get("ps_rss_bytes") is not None


def _draft(resident: Range) -> str:
    factor = DRAFT_BYTES / resident.value if resident.value > 0 else 0.0
    return f"the draft's 22k is {units.times(factor)} what ps shows of a thread"


def _no_slope(what: str, slope: Slope | NoSlope, rows: Sequence[Row]) -> str:
    why = slope.reason if isinstance(slope, NoSlope) else "ps did not say"
    return f"no slope for {what}: {why}{_lost(rows)}"


def _lost(rows: Sequence[Row]) -> str:
    """Say which rows a slope in all layers had to do without."""
    disturbed = sum(row.measured.get("held_disturbed") is not None for row in rows if row.valid)
    told = f"; in {disturbed} of {len(rows)} rows other processes moved the kernel's counts"
    return told if disturbed else ""


def _value(slope: Slope | NoSlope) -> float | None:
    return slope.per_fetch if isinstance(slope, Slope) else None


def _blocks(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [row for row in of_kind(rows, "block") if row.strategy in names]


def _sizes(rows: Sequence[Row]) -> str:
    return counted([row.workload["n" if row.kind == "block" else "in_flight"] for row in rows])


_RATIOS = {
    "parked_user": "parked, user memory",
    "parked_full": "parked, all layers",
    "flying_user": "in flight, user memory",
    "flying_full": "in flight, all layers",
}
