"""The claims on overhead: event loops against threads, callbacks against coroutines, threads without a lock. Pure."""

from collections.abc import Sequence

from bench.analyse.cells import cpu_per_page_ns, pages_per_s
from bench.analyse.claims.evidence import (
    Difference,
    Range,
    between,
    crawls,
    decided,
    difference,
    inconclusive,
    of_kind,
    of_slope,
    rated,
    ratio,
    spread_of,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.analyse.layers import cost
from bench.analyse.stats import NoSlope, Slope, Spread
from bench.present import units
from bench.rows import Row

MODERATELY = 2.0
"""A moderate slowdown is one of at most two times: people who say "moderately" do not mean a multiple."""
EFFICIENT = 1.25
"""Within a quarter two models have the same efficiency: it is about what different releases of CPython differ by."""
SAME_ORDER = 2.0
"""Above twice the price nobody speaks of the same efficiency."""
NO_LATENCY = "0"
USUAL_CAP = 100
LOOPS = ("callbacks", "generators")
"""Event loops without asyncio: they tell the loop's price from the framework's."""
COROUTINES = ("generators", "native_asyncio")


def async_not_faster(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio is slower than threads, and moderately so, on few and very active connections."""
    caps = sorted({row.workload["in_flight"] for row in of_kind(rows, "crawl", "thread_pool")})
    region = f"no added latency, {between(caps)} in flight, keep-alive"
    slower = {cap: slowness(rows, "native_asyncio", cap) for cap in caps}
    ratios = {cap: found for cap in caps if (found := _times(rows, "thread_pool", "native_asyncio", cap))}
    loops = {(name, cap): slowness(rows, name, cap) for name in LOOPS for cap in caps}
    quick = sorted({name for (name, _), word in loops.items() if word == "less"})
    worst = max(ratios.values(), key=lambda found: found.value, default=None)
    values: dict[str, Value] = {
        "least_ratio": min((found.value for found in ratios.values()), default=None),
        "most_ratio": worst.value if worst else None,
        "cpu_ratio": _cpu_ratio(rows, "native_asyncio", "thread_pool", USUAL_CAP),
        "quicker": ", ".join(quick) or None,
    }
    figures = [
        f"{units.count(cap)} in flight: threads {rated(found)} asyncio's pages/s" for cap, found in ratios.items()
    ]
    if quick:
        figures.append(f"faster than threads somewhere: {', '.join(quick)}")
    rule = (
        "slower where pages/s, or CPU time a page, differ by more than chance explains, and the other does not "
        "contradict; "
        f"moderately is up to {units.times(MODERATELY)}"
    )
    words = list(slower.values())
    if not words or "unknown" in words:
        return inconclusive(rows, region, values, f"too few valid rounds; {why_too_little(rows)}", "; ".join(figures))
    if "more" not in words and "unclear" not in words:
        return decided("does not hold here", figures, region, values, f"{rule}; asyncio is slower nowhere")
    if "unclear" in words:
        where = ", ".join(units.count(cap) for cap, word in slower.items() if word == "unclear")
        reason = f"chance may explain it at {where} in flight: {rule}"
        return inconclusive(rows, region, values, reason, "; ".join(figures))
    moderate = worst is not None and worst.value <= MODERATELY
    everywhere = set(words) == {"more"}
    reasons = [
        "" if everywhere else "not slower everywhere",
        "" if moderate else "more than moderately",
        f"{' and '.join(quick)} are event loops too, and faster than threads: the price is the framework's"
        if quick
        else "",
    ]
    verdict: Word = "holds" if everywhere and moderate and not quick else "holds differently"
    told = "; ".join([rule, *filter(None, reasons)] if any(reasons) else [rule, "it is, everywhere"])
    return decided(verdict, figures, region, values, told, close=worst is not None and worst.is_close_to(MODERATELY))


def callbacks_efficient(rows: Sequence[Row]) -> Outcome:
    """Judge whether coroutines cost no more than callbacks: CPU time a page, and memory a fetch in flight."""
    cpu = {name: _cpu(rows, name, USUAL_CAP) for name in ("callbacks", *COROUTINES)}
    memory = {name: cost(of_kind(rows, "memory", name)).full for name in ("callbacks", *COROUTINES)}
    dearer = {name: _ratio(cpu[name], cpu["callbacks"]) for name in COROUTINES}
    heavier = {name: _slopes(memory[name], memory["callbacks"]) for name in COROUTINES}
    region = f"no added latency, {USUAL_CAP} in flight; memory at {_sizes(rows)} in flight"
    values: dict[str, Value] = {f"{name}_cpu_ratio": one.value if one else None for name, one in dearer.items()}
    values |= {f"{name}_memory_ratio": one.value if one else None for name, one in heavier.items()}
    values["callbacks_cpu_ns"] = cpu["callbacks"].median if cpu["callbacks"] else None
    figures = [f"{name}: {rated(one)} callbacks' CPU time a page" for name, one in dearer.items() if one]
    figures += [f"{name}: {rated(one)} callbacks' memory" for name, one in heavier.items() if one]
    rule = (
        f"as efficient is below {units.times(EFFICIENT, 3)} callbacks' CPU time and memory, "
        f"not at all from {units.times(SAME_ORDER)} their CPU time on"
    )
    own, native = dearer["generators"], dearer["native_asyncio"]
    rounds = [found.rounds for found in cpu.values() if found]
    if own is None or native is None or min(rounds) < 2:
        return inconclusive(rows, region, values, f"too few valid rounds; {why_too_little(rows)}", "; ".join(figures))
    weights = [one for one in heavier.values() if one]
    if len(weights) < len(COROUTINES):
        slopes = [slope.reason for slope in memory.values() if isinstance(slope, NoSlope)]
        reason = f"memory has no slope in all layers: {slopes[0] if slopes else 'none is above 0'}"
        return inconclusive(rows, region, values, reason, "; ".join(figures))
    cheapest = min(own, native, key=lambda one: one.value)
    close = cheapest.is_close_to(EFFICIENT, SAME_ORDER) or native.is_close_to(EFFICIENT)
    if cheapest.side_of(SAME_ORDER) == "above":
        return decided("does not hold here", figures, region, values, f"{rule}; no coroutines come near", close=close)
    if cheapest.side_of(SAME_ORDER) == "across":
        reason = f"the cheaper one's range lies across {units.times(SAME_ORDER)}: {rule}"
        return inconclusive(rows, region, values, reason, "; ".join(figures))
    sides = {one.side_of(EFFICIENT) for one in (own, native, *weights)}
    if sides == {"below"}:
        return decided("holds", figures, region, values, f"{rule}; both models are", close=close)
    if "above" not in sides:
        return inconclusive(rows, region, values, f"a range lies across the boundary: {rule}", "; ".join(figures))
    return decided("holds differently", figures, region, values, f"{rule}; not all of it is", close=close)


def no_gil(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads do better on busy connections in an interpreter without a global lock."""
    own = of_kind(rows, "crawl", "thread_pool")
    with_lock = [row for row in own if row.knobs.get("gil") is True]
    without = [row for row in own if row.knobs.get("gil") is False]
    caps = sorted({row.workload["in_flight"] for row in without})
    region = f"no added latency, {between(caps)} in flight, threads free to use every core"
    sides = {
        cap: tuple(
            spread_of(crawls(some, "thread_pool", NO_LATENCY, cap), pages_per_s) for some in (without, with_lock)
        )
        for cap in caps
    }
    words = {cap: difference(*pair) for cap, pair in sides.items()}
    ratios = {cap: found for cap, (one, other) in sides.items() if (found := _ratio(one, other))}
    values: dict[str, Value] = {
        "least_ratio": min((found.value for found in ratios.values()), default=None),
        "most_ratio": max((found.value for found in ratios.values()), default=None),
        "python": next((str(row.knobs.get("python")) for row in without), None),
    }
    figures = [f"{units.count(cap)} in flight: {rated(found)} the pages/s with a lock" for cap, found in ratios.items()]
    rule = "better is more pages/s, by more than chance explains, at each number in flight"
    if not without:
        lock = "the interpreter that was given has a global lock" if own else "no free-threaded interpreter"
        return inconclusive(rows, "threads without a global lock: not tested", values, lock)
    said = set(words.values())
    if said & {"unknown", "unclear"}:
        why = "too few valid rounds" if "unknown" in said else "chance may explain it"
        return inconclusive(rows, region, values, f"{why}: {rule}; {why_too_little(own)}", "; ".join(figures))
    if said == {"more"}:
        return decided("holds", figures, region, values, f"{rule}; it is")
    verdict: Word = "holds differently" if "more" in said else "does not hold here"
    return decided(verdict, figures, region, values, f"{rule}; {'not at each' if 'more' in said else 'at none'}")


def slowness(rows: Sequence[Row], strategy: str, cap: int) -> Difference:
    """Say how slow a strategy is against threads: ``more`` is slower; by pages/s, and by CPU time a page."""
    ours, theirs = (crawls(rows, name, NO_LATENCY, cap) for name in (strategy, "thread_pool"))
    speed = difference(spread_of(theirs, pages_per_s), spread_of(ours, pages_per_s))
    effort = difference(spread_of(ours, cpu_per_page_ns), spread_of(theirs, cpu_per_page_ns))
    if {speed, effort} == {"less", "more"}:
        return "unclear"
    return effort if speed in {"unclear", "alike"} and effort in {"less", "more"} else speed


def _times(rows: Sequence[Row], one: str, other: str, cap: int) -> Range | None:
    """Return how many times the other one's pages/s the one has."""
    return _ratio(*(spread_of(crawls(rows, name, NO_LATENCY, cap), pages_per_s) for name in (one, other)))


def _cpu(rows: Sequence[Row], name: str, cap: int) -> Spread | None:
    return spread_of(crawls(rows, name, NO_LATENCY, cap), cpu_per_page_ns)


def _cpu_ratio(rows: Sequence[Row], one: str, other: str, cap: int) -> float | None:
    found = _ratio(_cpu(rows, one, cap), _cpu(rows, other, cap))
    return found.value if found else None


def _ratio(one: Spread | None, other: Spread | None) -> Range | None:
    return None if one is None or other is None else ratio(one, other)


def _slopes(one: object, other: object) -> Range | None:
    if isinstance(one, Slope) and isinstance(other, Slope):
        return ratio(of_slope(one), of_slope(other))
    return None


def _sizes(rows: Sequence[Row]) -> str:
    return between([row.workload["in_flight"] for row in of_kind(rows, "memory")])
