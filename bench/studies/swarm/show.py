"""The sections of swarms: how many fetches each held and how soon, and memory per fetch by layer; as JSON too. Pure."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from inflight.bench.core import units
from inflight.bench.core.figures import Spread
from inflight.bench.frame.slopes import Slope
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.rows.swarm import Latecomer, Loss
from inflight.bench.rows.swarm import Swarm as Trial
from inflight.bench.studies.swarm.read import (
    LAYERS,
    Cost,
    Read,
    Swarm,
    by_size,
    cost,
    costs,
    held,
    reach_ns,
    reach_per_s,
    settings,
    swarms,
)

_HELD = ("strategy", "requested", "held", "processes", "held after", "all answered in", "failed", "lost", "verdict")
_LAYERS = ("client user", "page tables", "kernel stacks", "slab, sockets", "server")
_BYTES = ("strategy", "most held", *_LAYERS, "all layers, with server", "system", "measured at")
_ABOUT_STOPPED = (
    "A tenth of a limit that other processes share is left to them. Each process of a strategy has some threads or "
    "descriptors of its own."
)
MOST_NAMES = 5
"""Maximum number of strategies named in one title."""
MOST_LOSSES = 6
"""Maximum number of lost or late processes listed below a table."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return two sections for each setting: fetches held, and memory per fetch; none without a swarm."""
    found = swarms(rows)
    every = settings(found)
    several = len(every) > 1
    many = []
    for setting in every:
        own = [swarm for swarm in found if swarm.setting == setting]
        use = f" ({words.plain(f'{setting[0]} connections, site {setting[1]}', 60)})" if several else ""
        many.append(Section(reach_title(by_size(own)[0]), (_held_table(own, use),)))
        if sizes := costs(own):
            many.append(Section(cost_title(sizes), (_bytes_table(sizes, use),)))
    return many


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object for each strategy at each size; durations in nanoseconds, sizes in bytes, null where unknown.

    ``bytes_per_fetch`` has each layer, ``all layers`` and ``system`` (the whole system's memory), of these trials.
    ``slope_bytes`` is the slope over all sizes of the strategy, with its interval ``low`` and ``high``, or null.
    """
    found = swarms(rows)
    return [_figures(swarm, found) for swarm in found]


# Titles


def reach_title(some: Sequence[Swarm]) -> str:
    """Return how soon each strategy held all fetches, the fastest first; or the limit that stopped it."""
    asked = f"{units.count(some[0].asked)} fetches in flight at once"
    good = sorted(filter(_is_held, some), key=lambda swarm: (swarm.bound is not None, _reach(swarm), swarm.strategy))
    told = [f"{name(one.strategy)} in {words.duration(one.of(reach_ns))}" for one in good[:MOST_NAMES] if not one.bound]
    told += [f"{len(good) - MOST_NAMES} more"] if len(good) > MOST_NAMES else []
    stopped = [
        f"{name(one.strategy)} stopped at {_count(one.of(held))} by {words.plain(one.bound.name, 40)}"
        for one in good[:MOST_NAMES]
        if one.bound
    ]
    return f"{asked}: {'; '.join([*([words.listed(told)] if told else []), *stopped]) or 'no valid trial'}"


def cost_title(sizes: Mapping[str, Cost]) -> str:
    """Return the memory per fetch of the strategies with the least and the most; empty where unknown."""
    known = [(name, one) for name, one in sizes.items() if one.full is not None]
    ends = dict([*known[:1], *known[-1:]])
    told = [f"{size_and_error(one)} with {name(strategy)}" for strategy, one in ends.items()]
    return f"Memory per fetch in flight, at both ends: {words.listed(told)}" if told else ""


def _is_held(swarm: Swarm) -> bool:
    """Return whether a valid trial held as many of the fetches asked for as the machine allows."""
    return swarm.valid and swarm.of(reach_ns) is not None


def _reach(swarm: Swarm) -> float:
    reached = swarm.of(reach_ns)
    return 0.0 if reached is None else reached.median


# Tables


def _held_table(found: Sequence[Swarm], use: str) -> Table:
    stopped = {swarm.bound.sentence: swarm for swarm in found if swarm.bound is not None}
    gone = losses(found)
    notes = [
        "Held: in flight, counted by the servers. Processes: strategies + servers. Failed: fetches. Lost: processes.",
        *(f"{name(swarm.strategy)}: {words.plain(sentence, 300)}." for sentence, swarm in stopped.items()),
        *([_ABOUT_STOPPED] if stopped else []),
        *gone[:MOST_LOSSES],
        *([f"{len(gone) - MOST_LOSSES:,} more lost or late processes."] if len(gone) > MOST_LOSSES else []),
    ]
    return Table(f"Fetches in flight at once{use}", _HELD, tuple(map(_held_line, found)), tuple(notes))


def _held_line(swarm: Swarm) -> tuple[str, ...]:
    mark = " ✗" if swarm.shown and not swarm.valid else ""
    ramp = f" at {units.count(swarm.ramp_per_s)}/s" if swarm.ramp_per_s else ""
    processes = [_count(swarm.of(attrgetter(f"measured.{side}_processes"))) for side in ("client", "server")]
    failed = swarm.of(attrgetter("measured.failed_pages"))
    return (
        f"{name(swarm.strategy)}{ramp}{mark}",
        units.count(swarm.asked),
        _count(swarm.of(held)),
        "+".join(processes) if swarm.shown else "-",
        words.duration(swarm.of(reach_ns)),
        words.duration(swarm.of(attrgetter("measured.drain_ns"))),
        "-" if failed is None else units.count(round(failed.high)),
        units.count(sum(len(lost(row)) for row in swarm.rows)) if swarm.shown else "-",
        _verdict(swarm),
    )


def _verdict(swarm: Swarm) -> str:
    invalid, trials = sum(not row.valid for row in swarm.rows), len(swarm.rows)
    if not swarm.shown:
        return swarm.rows[0].status
    if invalid:
        return f"{invalid}/{trials} invalid"
    return "all held" if swarm.bound is None else words.plain(swarm.bound.name, 18)


def lost(row: Trial) -> list[str]:
    """Return a sentence for each process that was lost: which, how and when."""
    return [
        words.plain(f"{_which(one)} {one.how}{_when(one)}, {one.in_flight:,} in flight", 200)
        for one in row.measured.lost or ()
    ]


def late(row: Trial) -> list[str]:
    """Return a sentence for each process that joined late: which, and when."""
    found = row.measured.late or ()
    return [words.plain(f"{one.what} {one.name} joined late{_when(one)}", 200) for one in found]


def losses(found: Sequence[Swarm]) -> list[str]:
    """Return a sentence for each process of these swarms that was lost or late."""
    return [
        f"{name(swarm.strategy)}, {units.count(swarm.asked)}: {sentence}."
        for swarm in found
        for row in swarm.rows
        for sentence in (*lost(row), *late(row))
    ]


def _which(loss: Loss) -> str:
    share = "" if loss.share is None else f" of share {loss.share}"
    return f"{loss.what}{share}" + ("" if loss.pid is None else f" (pid {loss.pid})")


def _when(one: Loss | Latecomer) -> str:
    return f", {units.duration(one.at_ns, 2)} after the start" if one.at_ns else ""


def _bytes_table(sizes: Mapping[str, Cost], use: str) -> Table:
    notes = [
        "Increase from the start until all fetches were held. Server: its own memory and page tables.",
        "Slab and sockets include both ends of each loopback connection.",
        "System: increase of all memory of the system, also of what no layer counts and of other programs.",
        "Five sizes or more: slope ± half of its 95 % interval. Otherwise: the increase divided by the number held.",
    ]
    if any(one.full is None for one in sizes.values()):
        notes.append("-: unknown, or another process disturbed the system's layers.")
    lines = tuple(_bytes_line(name, one) for name, one in sizes.items())
    which = "additional fetch" if any(one.slope for one in sizes.values()) else "fetch in flight"
    return Table(f"Memory per {which} (bytes){use}", _BYTES, lines, tuple(notes))


def _bytes_line(strategy: str, one: Cost) -> tuple[str, ...]:
    return (
        name(strategy),
        units.count(one.largest),
        *(_bytes(one.layers[layer]) for layer in LAYERS),
        _bytes(one.full) if one.slope is None else _slope(one.slope),
        _bytes(one.taken),
        "most held" if one.slope is None else f"{one.sizes} sizes",
    )


def _slope(slope: Slope) -> str:
    if not slope.straight:
        return f"{slope.low:,.0f}..{slope.high:,.0f}"
    return f"{slope.per_fetch:,.0f} ±{max(slope.high - slope.per_fetch, slope.per_fetch - slope.low):,.0f}"


# Words and JSON


def name(strategy: str) -> str:
    """Return a strategy's name as it is shown."""
    return words.name(strategy)


def size(one: Cost) -> str:
    """Write the memory per fetch in all layers: fewer digits for one size than for a slope, a dash where unknown."""
    return "-" if one.full is None else units.size(one.full, 2 if one.slope is None else 3)


def size_and_error(one: Cost) -> str:
    """Write the memory per fetch in all layers, with its interval if it is a slope."""
    return size(one) if one.slope is None else words.memory(one.slope)


def _bytes(size: float | None) -> str:
    return "-" if size is None else units.count(round(size))


def _count(found: Spread | None) -> str:
    return "-" if found is None else units.count(round(found.median))


def _figures(swarm: Swarm, found: Sequence[Swarm]) -> dict[str, Any]:
    here = cost([swarm])
    whole = cost(s for s in found if (s.strategy, s.setting) == (swarm.strategy, swarm.setting))
    slope = None if whole is None else whole.slope
    keys = ("planned_in_flight", "client_processes", "server_processes", "nodes", "drain_ns", "failed_pages")
    reads: dict[str, Read] = {"held_in_flight": held, "reach_ns": reach_ns, "reach_per_s": reach_per_s}
    medians = {key: swarm.of(read) for key, read in reads.items()}
    medians |= {key: swarm.of(attrgetter(f"measured.{key}")) for key in keys}
    return {
        "strategy": swarm.strategy,
        "in_flight": swarm.asked,
        "ramp_per_s": swarm.ramp_per_s,
        "connection": swarm.setting[0],
        "valid": swarm.valid,
        "status": swarm.rows[0].status,
        **{key: None if own is None else own.median for key, own in medians.items()},
        "bound_by": None if swarm.bound is None else swarm.bound.name,
        "bytes_per_fetch": None if here is None else {**here.layers, "all layers": here.full, "system": here.taken},
        "slope_bytes": None
        if slope is None
        else {"per_fetch": slope.per_fetch, "low": slope.low, "high": slope.high, "straight": slope.straight},
        "lost": [sentence for row in swarm.rows for sentence in lost(row)],
        "late": [sentence for row in swarm.rows for sentence in late(row)],
    }
