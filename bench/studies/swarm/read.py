"""Swarms, from rows: how soon all were in flight, what a fetch takes in each layer, and who stopped them. Pure.

A swarm is many strategy processes of one strategy, with a server process each; ``swarm_rows`` reads one trial of it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from bench.core import workloads
from bench.core.figures import NoSlope, Slope, Spread, memory_slope, spread
from bench.core.layers import Point
from bench.core.rows import Row
from bench.studies.swarm.read_row import (
    KERNEL,
    LAYERS,
    Bound,
    added_bytes,
    all_added_bytes,
    bound_by,
    held,
    reach_ns,
    taken_bytes,
)

KIND = "swarm"
Setting = tuple[str, str]
"""What swarms must share before they are compared: the use of connections, and all else but size and ramp, as JSON."""


@dataclass(frozen=True, slots=True)
class Swarm:
    """All trials of one strategy at one size; figures are of the valid ones, or of the others if that is all."""

    strategy: str
    stack: str
    asked: int
    ramp_per_s: int | None
    setting: Setting
    rows: tuple[Row, ...]

    @property
    def valid(self) -> bool:
        """Whether the figures are those of valid trials."""
        return any(row.valid for row in self.rows)

    @property
    def shown(self) -> tuple[Row, ...]:
        """The trials that the figures are of."""
        measured = tuple(row for row in self.rows if "held_in_flight" in row.measured)
        return tuple(row for row in measured if row.valid) or measured

    @property
    def middle(self) -> Row | None:
        """The trial with the median time to reach; of those that never reached it, the one that held most."""
        rows = sorted(self.shown, key=lambda row: (reach_ns(row) or float("inf"), -held(row), row.round))
        return rows[(len(rows) - 1) // 2] if rows else None

    @property
    def bound(self) -> Bound | None:
        """Who stopped it, if anybody did."""
        return next(filter(None, map(bound_by, self.shown)), None)

    def of(self, read: Callable[[Row], float | None]) -> Spread | None:
        """Return a figure over the rounds; None where no trial has it."""
        values = [value for row in self.shown if (value := read(row)) is not None]
        return spread(values) if values else None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one more fetch takes, in bytes, by layer and in all of them; None where that is unknown.

    With enough sizes these are slopes over them (``slope`` is that of all layers); otherwise what was added, divided by
    how many were held, at the largest size alone.
    """

    layers: dict[str, float | None]
    full: float | None
    slope: Slope | None
    sizes: int
    largest: int
    taken: float | None
    """What the system as a whole used more for each fetch, at the largest size: a second opinion."""

    @property
    def kernel(self) -> float | None:
        """The kernel's share: page tables of the client, stacks, slab and sockets of both ends."""
        return _sum(self.layers[name] for name in KERNEL)


def swarms(rows: Iterable[Row]) -> list[Swarm]:
    """Return the swarms: the setting with most trials first, then by strategy, size and ramp."""
    groups: dict[tuple[Setting, str, int, int], list[Row]] = {}
    for row in rows:
        if row.kind == KIND:
            name = (setting_of(row), row.strategy, int(row.workload["in_flight"]), row.workload.get("ramp_per_s") or 0)
            groups.setdefault(name, []).append(row)
    numbers = [setting for (setting, *_), own in groups.items() for _ in own]
    ordered = sorted(groups, key=lambda name: (-numbers.count(name[0]), name))
    return [Swarm(n[1], groups[n][0].stack, n[2], n[3] or None, n[0], tuple(groups[n])) for n in ordered]


def settings(found: Sequence[Swarm]) -> list[Setting]:
    """Return the settings in the order of the swarms."""
    return list(dict.fromkeys(swarm.setting for swarm in found))


def setting_of(row: Row) -> Setting:
    """Return the setting of a row."""
    rest = json.loads(workloads.alike(row.workload, but_for=("connection", "in_flight", "ramp_per_s", "site.pages")))
    site = rest.pop("site", {}) | rest
    if (pages := row.workload.get("site", {}).get("pages")) not in (None, row.workload["in_flight"]):
        site["pages"] = pages  # usually each user has a page of its own
    return str(row.workload.get("connection")), json.dumps(site, sort_keys=True)


def cost(found: Iterable[Swarm]) -> Cost | None:
    """Return what a fetch of one strategy takes, from its valid trials of any size; None without one that held any."""
    rows = [row for swarm in found for row in swarm.rows if row.valid and held(row)]
    if not rows:
        return None
    largest, sizes = max(map(held, rows)), len(set(map(held, rows)))
    top = [row for row in rows if held(row) == largest]
    taken = _each(top, taken_bytes)
    full = _slope(rows, all_added_bytes)
    if isinstance(full, Slope):
        fitted = {layer: _slope(rows, partial(added_bytes, layer=layer)) for layer in LAYERS}
        layers = {name: slope.per_fetch if isinstance(slope, Slope) else None for name, slope in fitted.items()}
        return Cost(layers, full.per_fetch, full, sizes, largest, taken)
    layers = {layer: _each(top, partial(added_bytes, layer=layer)) for layer in LAYERS}
    return Cost(layers, _each(top, all_added_bytes), None, sizes, largest, taken)


def full_points(found: Iterable[Swarm], *, valid: bool = True) -> list[Point]:
    """Return (held, bytes added in all layers) of the valid trials, or of the others, that know every layer."""
    rows = [row for swarm in found for row in swarm.rows if row.valid is valid and held(row)]
    return [(held(row), size) for row in rows if (size := all_added_bytes(row)) is not None]


def _slope(rows: Sequence[Row], read: Callable[[Row], int | None]) -> Slope | NoSlope:
    found = [(held(row), size) for row in rows if (size := read(row)) is not None]
    return memory_slope(*zip(*found, strict=True)) if found else NoSlope("unknown here")


def _each(rows: Sequence[Row], read: Callable[[Row], int | None]) -> float | None:
    """Return the median, over trials of one size, of what was added for each fetch."""
    sizes = [size / held(row) for row in rows if (size := read(row)) is not None]
    return spread(sizes).median if sizes else None


def _sum(sizes: Iterable[float | None]) -> float | None:
    many = list(sizes)
    return None if None in many else sum(size for size in many if size is not None)
