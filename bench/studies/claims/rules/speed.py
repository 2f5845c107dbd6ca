"""The claims on what a page costs: asyncio against threads, coroutines against callbacks, pools, no lock. Pure.

Each is decided by primary cells that were fixed before anything was measured, in blocks of arms.
"""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import cpu_per_page_ns, pages_per_s
from bench.core.figures import NoSlope, Slope
from bench.core.layers import cost
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import (
    Case,
    Range,
    arguments,
    arms,
    of_kind,
    of_slope,
    over_rounds,
    quotient,
    rated,
)
from bench.studies.claims.rules.evidence import between as counted
from bench.studies.claims.rules.evidence import ratio as ratio_of
from bench.studies.claims.rules.outcome import Outcome, Value, Word

SLOWER = 1.02
"""Less than two percent is no slowdown that anybody would choose a model by."""
MODERATELY = 2.0
"""A moderate slowdown is one of at most two times: people who say "moderately" do not mean a multiple."""
EFFICIENT = 1.25
"""Within a quarter two models have the same efficiency: it is about what different releases of CPython differ by."""
SAME_ORDER = 2.0
"""Above twice the price nobody speaks of the same efficiency."""
PAYS = 1.05
"""A saving, or a gain, below a twentieth is none that anybody would build something for."""
FREE = 0.8
"""With less than this share of a core for the one thread that runs at a time, no second core was free for others."""
ACTIVE = (10, 100)
"""The primary cells of async-not-faster: a few very active connections."""
USUAL_CAP = 100
LOOP = "callbacks"
"""An event loop without asyncio: it tells the loop's price from the framework's."""
COROUTINES = ("generators", "native_asyncio")


def async_not_faster(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio takes more CPU time than threads, and moderately so, on few and very active connections."""
    dearer = {cap: _cpu(rows, "native_asyncio", "thread_pool", cap) for cap in ACTIVE}
    loops = {cap: _cpu(rows, LOOP, "thread_pool", cap) for cap in ACTIVE}
    known = {cap: found for cap, found in dearer.items() if found}
    quick = [cap for cap, found in loops.items() if found and found.side_of(1 / SLOWER) == "below"]
    case = Case(
        rows,
        f"no added latency, {counted(ACTIVE)} in flight, keep-alive",
        {
            "least_ratio": min((found.value for found in known.values()), default=None),
            "most_ratio": max((found.value for found in known.values()), default=None),
            "loop_ratio": min((found.value for found in loops.values() if found), default=None),
        },
        [
            f"{units.count(cap)} in flight: {who} {rated(found)} the threads' CPU time per page"
            for who, some in (("asyncio", dearer), (LOOP, loops))
            for cap, found in some.items()
            if found
        ],
        f"slower is more than {units.times(SLOWER, 3)} the CPU time per page, moderately is up to "
        f"{units.times(MODERATELY)}, by 95 % intervals over blocks, at {' and '.join(map(str, ACTIVE))} in flight",
    )
    if len(known) < len(ACTIVE):
        return case.undecided("too few valid blocks")
    slower = [found.side_of(SLOWER) for found in known.values()]
    moderate = [found.side_of(MODERATELY) for found in known.values()]
    close = any(found.is_close_to(MODERATELY) for found in known.values())
    if set(slower) == {"below"}:
        return case.decided("does not hold here", "asyncio is slower nowhere")
    if "above" in slower and ("below" in slower or "above" in moderate or quick):
        why = [
            "not slower everywhere" if "below" in slower else "",
            "more than moderately somewhere" if "above" in moderate else "",
            f"{LOOP} is an event loop too, and faster than threads: the price is the framework's" if quick else "",
        ]
        return case.decided("holds differently", "; ".join(filter(None, why)), close=close)
    if set(slower) == {"above"} and set(moderate) == {"below"}:
        return case.decided("holds", "it is, everywhere", close=close)
    return case.undecided("an interval lies across a boundary")


def callbacks_efficient(rows: Sequence[Row]) -> Outcome:
    """Judge whether coroutines cost no more than callbacks: CPU time per page, and memory per fetch in flight."""
    memory = {name: cost(of_kind(rows, "memory", name)).full for name in (LOOP, *COROUTINES)}
    dearer = {name: _cpu(rows, name, LOOP, USUAL_CAP) for name in COROUTINES}
    heavier = {name: slopes(memory[name], memory[LOOP]) for name in COROUTINES}
    base = over_rounds(arms(rows, LOOP, in_flight=USUAL_CAP), cpu_per_page_ns, 1)
    told = [f"{name}: {rated(one)} callbacks' CPU time per page" for name, one in dearer.items() if one]
    values: dict[str, Value] = {f"{name}_cpu_ratio": one.value if one else None for name, one in dearer.items()}
    values |= {f"{name}_memory_ratio": one.value if one else None for name, one in heavier.items()}
    sizes = counted([row.workload["in_flight"] for row in of_kind(rows, "memory")])
    case = Case(
        rows,
        f"no added latency, {USUAL_CAP} in flight; memory at {sizes} in flight",
        values | {"callbacks_cpu_ns": base.value if base else None},
        told + [f"{name}: {rated(one)} callbacks' memory" for name, one in heavier.items() if one],
        f"as efficient is below {units.times(EFFICIENT, 3)} callbacks' CPU time and memory, not at all from "
        f"{units.times(SAME_ORDER)} their CPU time on, by 95 % intervals",
    )
    speeds = [one for one in dearer.values() if one]
    if len(speeds) < len(COROUTINES):
        return case.undecided("too few valid blocks")
    cheapest = min(speeds, key=lambda one: one.value)
    close = cheapest.is_close_to(EFFICIENT, SAME_ORDER) or any(one.is_close_to(EFFICIENT) for one in speeds)
    if cheapest.side_of(SAME_ORDER) == "above":
        return case.decided("does not hold here", "no coroutines come near", close=close)
    weights = [one for one in heavier.values() if one]
    sides = [one.side_of(EFFICIENT) for one in (*speeds, *weights)]
    if "above" in sides and cheapest.side_of(SAME_ORDER) == "below":
        return case.decided("holds differently", "not all of it is", close=close)
    if len(weights) < len(COROUTINES):
        reasons = [slope.reason for slope in memory.values() if isinstance(slope, NoSlope)]
        return case.undecided(f"memory has no slope in all layers: {reasons[0] if reasons else 'none is above 0'}")
    if set(sides) == {"below"}:
        return case.decided("holds", "both models are", close=close)
    return case.undecided("an interval lies across a boundary")


def no_gil(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads fetch more without a global lock: what two cores gain, and what one core pays."""
    busy = [row for row in arms(rows) if row.workload["arm"].get("cores", 1) > 1]
    alone = [row for row in arms(rows) if row.workload["arm"].get("cores", 1) == 1]
    gain = ratio_of(_gil(busy, on=False), _gil(busy, on=True), pages_per_s)
    price = ratio_of(_gil(alone, on=False), _gil(alone, on=True), cpu_per_page_ns)
    share = over_rounds(_gil(busy, on=True), lambda row: row.measured.get("cpu_share"), 1)
    figures = [f"two cores: {rated(gain)} the pages/s with the lock"] if gain else []
    figures += [f"one core: {rated(price)} the CPU time per page with the lock"] if price else []
    python = next((str(row.knobs["python"]) for row in _gil(rows, on=False)), None)
    case = Case(
        rows,
        f"{_in_flight(alone)} in flight on one core; {_in_flight(busy)} in flight, 1 ms of CPU work per page, on two",
        {"gain_ratio": gain.value if gain else None, "price_ratio": price.value if price else None, "python": python},
        figures,
        f"better is more than {units.times(PAYS, 3)} the pages/s on two cores by a 95 % interval, and one core pays "
        "if it needs more than as much CPU time per page, likewise; the same interpreter with and without its lock",
    )
    if gain is None or price is None or share is None:
        return case.undecided()
    close = gain.is_close_to(PAYS)
    if gain.side_of(PAYS) == "below" and share.value >= FREE:
        return case.decided("does not hold here", "two cores gain nothing", close=close)
    if gain.side_of(PAYS) != "above":
        full = f"with the lock a thread had {share.value:.0%} of a core only" if share.value < FREE else ""
        return case.undecided(full or "an interval lies across a boundary")
    if price.side_of(PAYS) == "above":
        return case.decided("holds differently", "two cores gain, and one core pays for it", close=close)
    paid = (
        "one core does not pay for it" if price.side_of(PAYS) == "below" else "that one core pays for it is not shown"
    )
    return case.decided("holds", f"two cores gain, and {paid}", close=close)


def pooling_pays(rows: Sequence[Row]) -> Outcome:
    """Judge whether keeping connections saves CPU time, and whether keeping threads does."""
    sides = {f"connections of {name}": _opened(rows, name) for name in ("thread_pool", LOOP, "native_asyncio")}
    probes = of_kind(rows, "probe", "thread_per_fetch")
    pool, each = (arguments(probes, how=how, connection="per-fetch") for how in ("pool", "thread-per-fetch"))
    sides["threads"] = ratio_of(each, pool, cpu_per_page_ns)
    found = {name: one for name, one in sides.items() if one}
    kept = over_rounds(arms(rows, "thread_pool", "reference"), cpu_per_page_ns, 1)
    apart = over_rounds(each, cpu_per_page_ns, 1)
    connections, threads = sides["connections of thread_pool"], sides["threads"]
    case = Case(
        rows,
        "no added latency, 10 in flight",
        {
            "connections_ratio": connections.value if connections else None,
            "threads_ratio": threads.value if threads else None,
            "kept_ns": kept.value if kept else None,
            "each_ns": apart.value if apart else None,
        },
        [f"without kept {name}: {rated(one)} the CPU time per page" for name, one in found.items()],
        f"pays: more than {units.times(PAYS, 3)} the CPU time per page without, by a 95 % interval",
    )
    words = {name: one.side_of(PAYS) for name, one in found.items()}
    unsure = [name for name in sides if words.get(name, "across") == "across"]
    if unsure:
        return case.undecided(f"not known of {', '.join(unsure)}")
    paying = [name for name, word in words.items() if word == "above"]
    close = any(one.is_close_to(PAYS) for one in found.values())
    verdict: Word = "holds" if len(paying) == len(words) else "holds differently" if paying else "does not hold here"
    return case.decided(
        verdict, "all of it does" if verdict == "holds" else ", ".join(paying) or "nothing", close=close
    )


def slopes(one: Slope | NoSlope, other: Slope | NoSlope) -> Range | None:
    """Return how many times the other slope the one is."""
    if isinstance(one, NoSlope) or isinstance(other, NoSlope):
        return None
    return quotient(of_slope(one), of_slope(other))


def _cpu(rows: Sequence[Row], one: str, other: str, cap: int) -> Range | None:
    """Return how many times the other strategy's CPU time per page the one takes, with no added latency."""
    cell = arms(rows, latency="0", in_flight=cap)
    return ratio_of(arms(cell, one), arms(cell, other), cpu_per_page_ns)


def _opened(rows: Sequence[Row], name: str) -> Range | None:
    """Return what a connection per fetch costs a strategy, over kept ones."""
    return ratio_of(arms(rows, name, "compared"), arms(rows, name, "reference"), cpu_per_page_ns)


def _gil(rows: Sequence[Row], *, on: bool) -> list[Row]:
    return [row for row in arms(rows, "thread_pool") if row.knobs.get("gil") is on]


def _in_flight(rows: Sequence[Row]) -> str:
    return counted([row.workload["in_flight"] for row in rows])
