"""The tables of swarms: who held how many and how soon, what a fetch takes in each layer; the same as JSON. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from bench.core import units
from bench.core.figures import Slope
from bench.core.rows import Row
from bench.present import words
from bench.present.table import Table
from bench.studies.swarm import findings
from bench.studies.swarm.read import Cost, Setting, Swarm, cost, settings, swarms
from bench.studies.swarm.read_row import LAYERS, held, late, lost, reach_ns, reach_per_s

_HELD = ("", "asked", "held", "processes", "reached in", "drained in", "failed", "lost", "verdict")
_BYTES = (
    "",
    "up to",
    "client user",
    "page tables",
    "kernel stacks",
    "slab, sockets",
    "server",
    "all layers",
    "system",
    "from",
)
MOST_TOLD = 6
"""So many sentences of one sort stand below a table."""
MARK = " ✗"


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return two tables for each setting: what was held, and what a fetch takes; none without a swarm."""
    found = swarms(rows)
    every = settings(found)
    many = []
    for setting in every:
        own = [swarm for swarm in found if swarm.setting == setting]
        use = f" ({words.plain(_told(setting), 60)})" if len(every) > 1 else ""
        many += [_held_grid(own, use), _bytes_grid(own, use)]
    return [grid for grid in many if grid.lines]


def swarms_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object for each strategy at each size; durations in nanoseconds, sizes in bytes, null where unknown.

    ``bytes_per_fetch`` has each layer, ``all layers`` and ``system`` (what all of it used more), of these trials alone;
    ``slope_bytes`` is the slope over all sizes of the strategy, with its interval ``low`` and ``high``, or null.
    """
    found = swarms(rows)
    return [_json(swarm, found) for swarm in found]


def _held_grid(found: Sequence[Swarm], use: str) -> Table:
    stopped = {swarm.bound.sentence or swarm.bound.name: swarm for swarm in found if swarm.bound is not None}
    notes = [
        "Held: confirmed by the gates of all servers together; processes: strategy + server.",
        *(f"{findings.name(swarm.strategy)}: {words.plain(told, 300)}." for told, swarm in stopped.items()),
        *_listed([(swarm, sentence) for swarm in found for row in swarm.rows for sentence in lost(row)]),
        *_listed([(swarm, sentence) for swarm in found for row in swarm.rows for sentence in late(row)]),
    ]
    return Table(f"Fetches in flight at once{use}", _HELD, tuple(map(_held_line, found)), tuple(notes))


def _held_line(swarm: Swarm) -> tuple[str, ...]:
    reached, drained = swarm.of(reach_ns), swarm.of(lambda row: row.measured.get("drain_ns"))
    mark = MARK if swarm.shown and not swarm.valid else ""
    ramp = f" at {units.count(swarm.ramp_per_s)}/s" if swarm.ramp_per_s else ""
    return (
        f"{words.plain(swarm.strategy, 30)}{ramp}{mark}",
        units.count(swarm.asked),
        _count(swarm, held),
        _processes(swarm),
        "-" if reached is None else findings.duration(reached),
        "-" if drained is None else findings.duration(drained),
        _worst(swarm, "failed_pages"),
        units.count(sum(len(lost(row)) for row in swarm.rows)) if swarm.shown else "-",
        _verdict(swarm),
    )


def _verdict(swarm: Swarm) -> str:
    """Say in a word or two how it ended: how many trials are red, or what stopped it."""
    red, trials = sum(not row.valid for row in swarm.rows), len(swarm.rows)
    if not swarm.shown:
        return swarm.rows[0].status
    if red:
        return f"{red}/{trials} red"
    return "all held" if swarm.bound is None else words.plain(swarm.bound.name, 18)


def _bytes_grid(found: Sequence[Swarm], use: str) -> Table:
    costs = findings.costs_of(found)
    notes = (
        "What was added between the order and when all were held; server: its own memory and page tables.",
        "Slab and sockets hold both ends of each loopback connection. System: what all of it used more.",
        "From five sizes or more: a slope, ± its 95 % interval; else: what was added, divided by how many were held.",
        "-: unknown, or others disturbed the system's layers."
        if any(one.full is None for one in costs.values())
        else "",
    )
    lines = tuple(_bytes_line(name, one) for name, one in costs.items())
    return Table(f"Bytes that one more fetch takes{use}", _BYTES, lines, tuple(filter(None, notes)))


def _bytes_line(strategy: str, one: Cost) -> tuple[str, ...]:
    full = _size(one.full)
    if one.slope is not None:
        full = _slope(one.slope)
    sizes = f"{one.sizes} sizes" if one.slope is not None else "1 size"
    layers = [_size(one.layers[layer]) for layer in LAYERS]
    return (findings.name(strategy), units.count(one.largest), *layers, full, _size(one.taken), sizes)


def _slope(slope: Slope) -> str:
    if not slope.straight:
        return f"{slope.low:,.0f}..{slope.high:,.0f}"
    return f"{slope.per_fetch:,.0f} ±{max(slope.high - slope.per_fetch, slope.per_fetch - slope.low):,.0f}"


def _size(size: float | None) -> str:
    return "-" if size is None else units.count(round(size))  # a float would have a zero below zero


def _count(swarm: Swarm, read: Callable[[Row], float | None]) -> str:
    found = swarm.of(read)
    return "-" if found is None else units.count(round(found.median))


def _processes(swarm: Swarm) -> str:
    keys = ("client_processes", "server_processes")
    found = [swarm.of(lambda row, key=key: row.measured.get(key)) for key in keys]  # type: ignore[misc]
    return "+".join("?" if one is None else f"{one.median:.0f}" for one in found) if any(found) else "-"


def _worst(swarm: Swarm, key: str) -> str:
    found = swarm.of(lambda row: row.measured.get(key))
    return "-" if found is None else units.count(round(found.high))


def _listed(told: Sequence[tuple[Swarm, str]]) -> list[str]:
    """Return sentences with the swarm that each is of; beyond the first few, their number."""
    shown = [
        f"{findings.name(swarm.strategy)}, {units.count(swarm.asked)}: {words.plain(sentence, 200)}."
        for swarm, sentence in told[:MOST_TOLD]
    ]
    return [*shown, *([f"{units.count(len(told) - MOST_TOLD)} more such losses."] if len(told) > MOST_TOLD else [])]


def _told(setting: Setting) -> str:
    connection, site = setting
    return f"{connection} connections, site {site}"


def _json(swarm: Swarm, found: Sequence[Swarm]) -> dict[str, Any]:
    here = cost([swarm])
    whole = cost(s for s in found if (s.strategy, s.setting) == (swarm.strategy, swarm.setting))
    slope = None if whole is None else whole.slope
    keys = ("planned_in_flight", "client_processes", "server_processes", "nodes", "drain_ns", "failed_pages")
    return {
        "strategy": swarm.strategy,
        "in_flight": swarm.asked,
        "ramp_per_s": swarm.ramp_per_s,
        "connection": swarm.setting[0],
        "valid": swarm.valid,
        "status": swarm.rows[0].status,
        "held_in_flight": _median(swarm, held),
        "reach_ns": _median(swarm, reach_ns),
        "reach_per_s": _median(swarm, reach_per_s),
        **{key: _median(swarm, lambda row, key=key: row.measured.get(key)) for key in keys},  # type: ignore[misc]
        "bound_by": None if swarm.bound is None else swarm.bound.name,
        "bytes_per_fetch": None if here is None else {**here.layers, "all layers": here.full, "system": here.taken},
        "slope_bytes": None
        if slope is None
        else {"per_fetch": slope.per_fetch, "low": slope.low, "high": slope.high, "straight": slope.straight},
        "lost": [sentence for row in swarm.rows for sentence in lost(row)],
        "late": [sentence for row in swarm.rows for sentence in late(row)],
    }


def _median(swarm: Swarm, read: Callable[[Row], float | None]) -> float | None:
    found = swarm.of(read)
    return None if found is None else found.median
