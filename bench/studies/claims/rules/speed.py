"""The claims on CPU time per page and throughput: asyncio, threads, callbacks, pools. Pure.

Each is decided by primary cells that were fixed before the measurement, in blocks of arms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from inflight.bench.core import units
from inflight.bench.core.cells import cpu_per_page_ns, pages_per_s
from inflight.bench.core.layers import cost
from inflight.bench.present import words
from inflight.bench.rows.crawls import Memory
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    COROUTINES,
    SPAN,
    Figure,
    Range,
    Unknown,
    arms,
    of_type,
    over,
    over_rounds,
    probes,
    ratio,
    slopes,
    value,
    values,
)
from inflight.bench.studies.claims.rules.parts import How, Part, compared, outcome
from inflight.bench.studies.claims.verdicts import Outcome, Value

SLOWER = 1.02
"""Minimum ratio that counts as slower."""
MODERATELY = 2.0
"""Maximum ratio that counts as moderately slower."""
EFFICIENT = 1.25
"""Maximum ratio that counts as equally efficient; releases of CPython differ by about as much."""
SAME_ORDER = 2.0
"""Ratio from which on no efficiency is called the same."""
PAYS = 1.05
"""Minimum ratio that counts as a saving or a gain."""
SAME = 1.05
"""Maximum ratio of pages/s that count as equal, by two one-sided tests."""
LOSS = 0.95
"""Share of the pages per second of CPU time below which a model degrades."""
ACTIVE = (10, 100)
"""In flight in the primary cells of async-not-faster: a few very active connections."""
USUAL_CAP = 100
SOME, THOUSAND = 100, 1000
"""In flight in the primary cells of async-sleepy."""
FEW, MANY = 100, 3000
"""In flight of diminishing-returns, the reference first."""
CPU = "CPU time per page"
LOOP = "callbacks"
"""An event loop without asyncio: it has the cost of a loop without that of the framework."""


def async_not_faster(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio needs more CPU time than threads, and moderately so, on few and very active connections.

    An event loop without asyncio that is faster than threads shows that the framework causes the cost.
    """
    cells = {cap: arms(rows, latency="0", in_flight=cap) for cap in ACTIVE}
    dearer = {cap: over(cell, "native_asyncio", "thread_pool", cpu_per_page_ns) for cap, cell in cells.items()}
    loops = {cap: over(cell, LOOP, "thread_pool", cpu_per_page_ns) for cap, cell in cells.items()}
    parts = [
        compared(f"{cap} in flight", found, how, edge, core, of=f"{CPU}, asyncio over threads", near=not core)
        for how, edge, core in _MODERATELY
        for cap, found in dearer.items()
    ]
    parts += [
        compared(
            f"{cap} in flight", one, "not clearly below", 1 / SLOWER, of=f"{CPU}, callbacks over threads", near=False
        )
        for cap, one in loops.items()
        if isinstance(one, Range)
    ]
    known, of_loop = ([found.value for found in some.values() if isinstance(found, Range)] for some in (dearer, loops))
    told: dict[str, Value] = {
        "least_ratio": min(known, default=None),
        "most_ratio": max(known, default=None),
        "loop_ratio": min(of_loop, default=None),
        "not_slower": _named(cap for cap, found in dearer.items() if _side(found, SLOWER) == "below"),
        "too_slow": _named(cap for cap, found in dearer.items() if _side(found, MODERATELY) == "above"),
        "cheap_loop": LOOP if any(_side(found, 1 / SLOWER) == "below" for found in loops.values()) else None,
    }
    return outcome(rows, parts, told)


def callbacks_efficient(rows: Sequence[Row]) -> Outcome:
    """Judge whether coroutines cost no more than callbacks: CPU time per page, and memory per fetch in flight."""
    cell = arms(rows, latency="0", in_flight=USUAL_CAP)
    memory = {name: cost(of_type(rows, Memory, name)).full for name in (LOOP, *COROUTINES)}
    dearer = {name: over(cell, name, LOOP, cpu_per_page_ns) for name in COROUTINES}
    heavier = {name: slopes(memory[name], memory[LOOP]) for name in COROUTINES}
    known = [found for found in dearer.values() if isinstance(found, Range)]
    cheapest = min(known, key=lambda one: one.value) if len(known) == len(COROUTINES) else Unknown("not all are known")
    base = over_rounds(arms(rows, LOOP, in_flight=USUAL_CAP), cpu_per_page_ns, SPAN, 1)
    parts = [compared(name, one, "below", EFFICIENT, of=f"{CPU} over callbacks") for name, one in dearer.items()]
    parts += [
        compared(name, one, "below", EFFICIENT, of="memory over callbacks", near=False) for name, one in heavier.items()
    ]
    near = compared("the cheapest", cheapest, "below", SAME_ORDER, "near", of=f"{CPU} over callbacks")
    found = values("_cpu_ratio", dearer) | values("_memory_ratio", heavier) | {"callbacks_cpu_ns": value(base)}
    return outcome(rows, [*parts, replace(near, figure="")], found)


def pooling_pays(rows: Sequence[Row]) -> Outcome:
    """Judge whether reusing connections, and reusing threads, saves CPU time."""
    sides = {
        f"connections of {name}": ratio(arms(rows, name, "compared"), arms(rows, name, "reference"), cpu_per_page_ns)
        for name in ("thread_pool", LOOP, "native_asyncio")
    }
    pool, each = (
        probes(rows, "thread_per_fetch", how=how, connection="per-fetch") for how in ("pool", "thread-per-fetch")
    )
    sides["threads"] = ratio(each, pool, cpu_per_page_ns)
    told = f"{CPU}, new ones over kept ones"
    return outcome(
        rows,
        [compared(name, found, "at least", PAYS, "pays", of=told) for name, found in sides.items()],
        {
            "connections_ratio": value(sides["connections of thread_pool"]),
            "threads_ratio": value(sides["threads"]),
            "kept_ns": value(over_rounds(arms(rows, "thread_pool", "reference"), cpu_per_page_ns, SPAN, 1)),
            "each_ns": value(over_rounds(each, cpu_per_page_ns, SPAN, 1)),
        },
    )


def async_sleepy(rows: Sequence[Row]) -> Outcome:
    """Judge whether asyncio waits for many slow connections as well as threads do, with less CPU time or memory."""
    speed, many_speed = (over(arms(rows, in_flight=cap), *_SLEEPY, pages_per_s) for cap in (SOME, THOUSAND))
    effort = over(arms(rows, in_flight=THOUSAND), *_SLEEPY, cpu_per_page_ns)
    held = [cost(of_type(rows, Memory, name)).full for name in _SLEEPY]
    weight = slopes(held[0], held[1])
    cells = {row.workload.in_flight: units.latency(row.workload.latency) for row in arms(rows)}
    some, thousand, of = f"{SOME} in flight", f"{units.count(THOUSAND)} in flight", "asyncio over threads"
    parts = [
        compared(f"pages/s at {some}", speed, "at least", 1 / SAME, "as fast", of=of, near=False),
        compared(f"{CPU} at {thousand}", effort, "not clearly above", 1, of=of),
        compared("memory per fetch in flight", weight, "not clearly above", 1, of=of, near=False),
        Part("CPU time or memory", _less(effort, weight), of=of, rule="clearly less", core="less of something"),
    ]
    costs = {"CPU time": effort, "memory": weight}
    ratios = values("_ratio", {"speed": speed, "many_speed": many_speed, "cpu": effort, "memory": weight})
    told: dict[str, Value] = {
        "latency": cells.get(SOME),
        "many_latency": cells.get(THOUSAND),
        "less": _named(name for name, found in costs.items() if _side(found, 1) == "below"),
        "more": _named(name for name, found in costs.items() if _side(found, 1) == "above"),
    }
    also = [f"pages/s at {thousand}: {many_speed}"] if isinstance(many_speed, Range) else []
    return outcome(rows, parts, ratios | told | {"few": SOME, "in_flight": THOUSAND}, also)


def diminishing_returns(rows: Sequence[Row]) -> Outcome:
    """Judge for each model whether many fetches in flight reduce the pages per second of CPU time."""
    names = sorted({row.workload.arm.strategy for row in arms(rows)})
    kept = {name: ratio(arms(rows, name, "reference"), arms(rows, name, "compared"), cpu_per_page_ns) for name in names}
    of = f"pages per second of CPU time, {units.count(MANY)} in flight over {FEW}"
    parts = [compared(name, found, "below", LOSS, "degrades", of=of) for name, found in kept.items()]
    return outcome(
        rows,
        parts,
        {
            "falling": _named(part.name for part in parts if part.so),
            "level": _named(part.name for part in parts if part.so is False),
            "most_in_flight": MANY,
            "worst_share": min((found.value for found in kept.values() if isinstance(found, Range)), default=None),
        },
    )


_MODERATELY: tuple[tuple[How, float, str], ...] = (("at least", SLOWER, "slower"), ("below", MODERATELY, ""))
_SLEEPY = ("native_asyncio", "thread_pool")


def _less(*costs: Figure) -> bool | None:
    """Tell whether one of the costs is surely lower; False if each is surely higher, else None."""
    sides = {_side(found, 1) for found in costs}
    return True if "below" in sides else False if sides == {"above"} else None


def _side(found: Figure, edge: float) -> str:
    """Return the side of a boundary on which a figure is; ``across`` if it is unknown."""
    return found.side_of(edge) if isinstance(found, Range) else "across"


def _named(found: Iterable[object]) -> str | None:
    """List names in words; None without one."""
    names = [str(one) for one in found]
    return words.listed(names) if names else None
