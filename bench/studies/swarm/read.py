"""Figures of swarms: the time until all were in flight, memory per fetch by layer, and the limit that bound. Pure.

A layer's figure is the increase since just before the start of the fetches: larger swarms have more processes, and the
memory of an idle process is not part of the cost of a fetch. The system's layers are unknown in a row that was
disturbed. An unknown layer is never counted as 0.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from inflight.bench.core import workloads
from inflight.bench.core.cells import present, spread_of
from inflight.bench.core.figures import Spread, spread
from inflight.bench.core.layers import Point
from inflight.bench.frame.slopes import Slope, memory_slope
from inflight.bench.rows.files import Row
from inflight.bench.rows.swarm import BoundBy
from inflight.bench.rows.swarm import Swarm as Trial

KIND = "swarm"
Read = Callable[[Trial], float | None]
"""Function that reads a figure of one trial."""
Setting = tuple[str, str]
"""The use of connections, and as JSON all else but size and ramp: only swarms with the same are compared."""
LAYERS = {
    "client user": ("uss_bytes",),
    "client page tables": ("page_tables_bytes",),
    "kernel stacks": ("kernel_stack_bytes",),
    "slab and sockets": ("slab_bytes", "socket_bytes"),
    "server": ("server_uss_bytes", "server_page_tables_bytes"),
}
"""The readings of each layer: those of the strategy, of the kernel for both ends, and of the server."""
_OF_SYSTEM = {"kernel stacks", "slab and sockets"}


# One trial


def held(row: Trial) -> int:
    """Return how many fetches the gates held."""
    return row.measured.held_in_flight or 0


def reach_ns(row: Trial) -> int | None:
    """Return the time until the gates held all fetches; None when they never did."""
    return row.measured.reach_ns


def reach_per_s(row: Trial) -> float | None:
    """Return how many fetches per second got in flight until the gates held all."""
    took = reach_ns(row)
    return held(row) / took * 1e9 if took else None


def released_ns(row: Trial) -> int | None:
    """Return when the gates opened, since the start; None where unknown."""
    makespan, drain = row.measured.makespan_ns, row.measured.drain_ns
    return None if makespan is None or drain is None else max(reach_ns(row) or 0, makespan - drain)


def added_bytes(row: Trial, *layers: str) -> int | None:
    """Return the increase of these layers from the start until all were held; None when one is unknown."""
    if row.measured.held_disturbed is not None and _OF_SYSTEM.intersection(layers):
        return None
    changes = [_change(row, key) for layer in layers for key in LAYERS[layer]]
    return None if None in changes else round(sum(present(changes)))


def taken_bytes(row: Trial) -> int | None:
    """Return the increase of the memory that the whole system uses; None when unknown or disturbed."""
    change = None if row.measured.held_disturbed is not None else _change(row, "unused_bytes")
    return None if change is None else -change


def timeline(row: Trial) -> list[tuple[int, int, int | None]]:
    """Return (nanoseconds since the start, fetches held, increase of the system's memory or None), in order of time."""
    line = row.measured.timeline
    seen = zip(line.at_ns, line.held, line.used_bytes, strict=True) if line else ()
    return sorted(seen, key=lambda one: one[0])


def _change(row: Trial, key: str) -> int | None:
    before, after = (getattr(row.measured, f"{stage}_{key}") for stage in ("base", "held"))
    return None if before is None or after is None else after - before


# All trials of one strategy at one size


@dataclass(frozen=True, slots=True)
class Swarm:
    """All trials of one strategy at one size; figures are of the valid trials, or of the others if none is valid."""

    setting: Setting
    strategy: str
    asked: int
    ramp_per_s: int | None
    rows: tuple[Trial, ...]

    @property
    def valid(self) -> bool:
        """Whether the figures are those of valid trials."""
        return any(row.valid for row in self.rows)

    @property
    def shown(self) -> tuple[Trial, ...]:
        """The trials that the figures come from."""
        measured = tuple(row for row in self.rows if row.measured.held_in_flight is not None)
        return tuple(row for row in measured if row.valid) or measured

    @property
    def middle(self) -> Trial | None:
        """The trial with the median time to hold all; among trials that never did, those that held more come first."""
        rows = sorted(self.shown, key=lambda row: (reach_ns(row) or float("inf"), -held(row), row.round))
        return rows[(len(rows) - 1) // 2] if rows else None

    @property
    def bound(self) -> BoundBy | None:
        """The limit that made it smaller than asked for, if any."""
        return next((found for row in self.shown if (found := row.measured.bound_by)), None)

    def of(self, read: Read) -> Spread | None:
        """Return a figure over the rounds; None where no trial has it."""
        return spread_of(self.shown, read)


def swarms(rows: Iterable[Row]) -> list[Swarm]:
    """Return the swarms: the setting with the most trials first, then by strategy, size and ramp."""
    groups: dict[tuple[Setting, str, int, int], list[Trial]] = {}
    for row in rows:
        if isinstance(row, Trial):
            name = (_setting(row), row.strategy, row.workload.in_flight, row.workload.ramp_per_s or 0)
            groups.setdefault(name, []).append(row)
    numbers = [setting for (setting, *_), own in groups.items() for _ in own]
    ordered = sorted(groups, key=lambda name: (-numbers.count(name[0]), name))
    return [Swarm(*name[:3], name[3] or None, tuple(groups[name])) for name in ordered]


def settings(found: Sequence[Swarm]) -> list[Setting]:
    """Return the settings in the order of the swarms."""
    return list(dict.fromkeys(swarm.setting for swarm in found))


def by_size(found: Sequence[Swarm]) -> list[list[Swarm]]:
    """Return the groups of swarms to show together: those of each size that is the largest of any strategy.

    The size with the most strategies comes first. A strategy is in the group of every size that it was run at. Swarms
    with a ramp are left out where the strategy also has some without.
    """
    plain = [swarm for swarm in found if swarm.ramp_per_s is None]
    known = {swarm.strategy for swarm in plain}
    plain += [swarm for swarm in found if swarm.strategy not in known]
    largest = {max(own.asked for own in plain if own.strategy == swarm.strategy) for swarm in plain}
    groups = [[swarm for swarm in plain if swarm.asked == asked] for asked in largest]
    return sorted(groups, key=lambda own: (-len(own), -own[0].asked))


def _setting(row: Trial) -> Setting:
    rest = json.loads(workloads.alike(row.workload, but_for=("connection", "in_flight", "ramp_per_s", "site.pages")))
    site = rest.pop("site") | rest
    if (pages := row.workload.site.pages) != row.workload.in_flight:
        site["pages"] = pages  # usually one page per fetch
    return row.workload.connection, json.dumps(site, sort_keys=True)


# All trials of one strategy


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory per additional fetch, in bytes, by layer and in all layers; None where unknown.

    With enough sizes these are slopes over them (``slope`` is that of all layers). Otherwise they are the increase at
    the largest size divided by the number of fetches held.
    """

    layers: dict[str, float | None]
    full: float | None
    slope: Slope | None
    sizes: int
    largest: int
    taken: float | None
    """Increase of the whole system's memory per fetch at the largest size: an independent estimate."""


def cost(found: Iterable[Swarm]) -> Cost | None:
    """Return the memory per fetch of one strategy, from its valid trials that held any; None without such a trial."""
    rows = [row for swarm in found for row in swarm.rows if row.valid and held(row)]
    if not rows:
        return None
    largest = max(map(held, rows))
    top = [row for row in rows if held(row) == largest]
    slope = _slope(rows, *LAYERS)

    def each(*layers: str) -> float | None:
        if slope is None:
            return _median([added_bytes(row, *layers) for row in top], largest)
        own = _slope(rows, *layers)
        return None if own is None else own.per_fetch

    by_layer = {layer: each(layer) for layer in LAYERS}
    taken = _median(map(taken_bytes, top), largest)
    return Cost(by_layer, each(*LAYERS), slope, len(set(map(held, rows))), largest, taken)


def costs(found: Sequence[Swarm]) -> dict[str, Cost]:
    """Return the memory per fetch of each strategy, the cheapest first; those with an unknown layer last."""
    names = dict.fromkeys(swarm.strategy for swarm in found)
    known = {name: one for name in names if (one := cost(s for s in found if s.strategy == name)) is not None}
    return dict(sorted(known.items(), key=lambda item: (item[1].full is None, item[1].full or 0, item[0])))


def full_points(found: Iterable[Swarm], *, valid: bool = True) -> list[Point]:
    """Return (held, increase in all layers) of the valid trials, or of the others, whose layers are all known."""
    return _points((row for swarm in found for row in swarm.rows if row.valid is valid and held(row)), *LAYERS)


def _points(rows: Iterable[Trial], *layers: str) -> list[Point]:
    return [(held(row), size) for row in rows if (size := added_bytes(row, *layers)) is not None]


def _slope(rows: Sequence[Trial], *layers: str) -> Slope | None:
    found = _points(rows, *layers)
    slope = memory_slope(*zip(*found, strict=True)) if found else None
    return slope if isinstance(slope, Slope) else None


def _median(sizes: Iterable[int | None], number: int) -> float | None:
    """Return the median increase per fetch over trials of one size."""
    known = present(sizes)
    return spread(known).median / number if known else None
