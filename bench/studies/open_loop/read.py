"""Rows of open loops put together: what each offered rate led to, one curve a place, over all rounds. Pure.

In an open loop requests arrive at a constant rate, whatever became of those before. ``corrected`` is a response time,
from when a request was due; ``uncorrected`` is a service time, from when it was sent at last. The difference is what a
client that waits for responses leaves out (G. Tene: coordinated omission).
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from inflight.bench.core import units, workloads
from inflight.bench.core.cells import spread_of
from inflight.bench.core.figures import P99_SAMPLES, Spread
from inflight.bench.core.rows import Row
from inflight.bench.present import words
from inflight.bench.studies.open_loop.record import OpenLoop, OpenWorkload

Read = Callable[[OpenLoop], float | None]
"""Reads a figure of one trial."""
Quantile = Literal["p50", "p90", "p99", "p999"]
Kind = Literal["corrected", "uncorrected"]
KINDS: tuple[Kind, ...] = ("corrected", "uncorrected")
SAMPLES: dict[Quantile, int] = {"p50": 20, "p90": 100, "p99": P99_SAMPLES, "p999": 10_000}
"""A quantile needs so many samples: ten lie beyond it (the validity check goes by the same numbers)."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is asked, and by how many: all that the rates of one curve share."""

    latency: str | None
    """The added latency of the synthetic site, in the experiment's words; None for a target."""
    mean_latency_ns: int | None
    target: str | None
    users: int
    """The most requests that may be in flight."""
    site: str
    """JSON: the site without its delay, and whatever else a workload has."""

    @property
    def asked(self) -> str:
        """What is asked, as people read it."""
        if self.target is not None:
            return words.plain(self.target, 60)
        latency = units.latency(str(self.latency))
        return latency if self.latency == "0" else f"{latency} added latency"


@dataclass(frozen=True, slots=True)
class Point:
    """One offered rate: its rounds together. Figures are of the valid rows; where there is none, of the red ones."""

    rate_per_s: float
    rows: tuple[OpenLoop, ...]
    """All of them, whatever became of them."""

    @property
    def valid(self) -> bool:
        """Whether conclusions may rest on the figures."""
        return any(row.valid for row in self.rows)

    @property
    def shown(self) -> tuple[OpenLoop, ...]:
        """The rows that the figures are of: empty where none came to its end."""
        ended = tuple(row for row in self.rows if row.status == "ok")
        return tuple(row for row in ended if row.valid) or ended

    @property
    def lost(self) -> tuple[OpenLoop, ...]:
        """The rounds shown that did not keep the rate."""
        return tuple(row for row in self.shown if not row.measured.kept)

    @property
    def kept(self) -> bool | None:
        """Whether every round kept the rate; None where nobody knows."""
        return not self.lost if self.shown else None

    @property
    def why(self) -> str | None:
        """Why the rate was not kept, in the first such round, and in how many of them; None where it was kept."""
        if not self.lost:
            return None
        part = f" (in {len(self.lost)} of {len(self.shown)} rounds)" if len(self.lost) < len(self.shown) else ""
        return words.plain(str(self.lost[0].measured.why).rstrip("."), 180) + part

    @property
    def waiting(self) -> Spread | None:
        """How many requests were due and not yet sent at the end."""
        return self.of(lambda row: row.measured.backlog.waiting[-1] if row.measured.backlog else None)

    @property
    def failed(self) -> int:
        """How many requests failed, in the worst round."""
        return max((row.measured.failed or 0 for row in self.shown), default=0)

    def of(self, read: Read) -> Spread | None:
        """Return a figure over the rounds."""
        return spread_of(self.shown, read)

    def time(self, kind: Kind, quantile: Quantile) -> Spread | None:
        """Return a quantile over the rounds that have samples enough for it; None where no round has."""
        enough = [row for row in self.shown if getattr(row.measured, kind).count >= SAMPLES[quantile]]
        return spread_of(enough, lambda row: getattr(getattr(row.measured, kind), f"{quantile}_ns"))


@dataclass(frozen=True, slots=True)
class Curve:
    """All rates that were offered at one place, the lowest first."""

    place: Place
    points: tuple[Point, ...]

    @property
    def lowest_lost(self) -> Point | None:
        """The lowest rate that was not kept, by valid trials."""
        return next((point for point in self.points if point.valid and not point.kept), None)

    @property
    def highest_kept(self) -> Point | None:
        """The highest rate that was kept, by valid trials, below any that was not: what may be relied upon."""
        most = self.lowest_lost.rate_per_s if self.lowest_lost else float("inf")
        kept = [point for point in self.points if point.valid and point.kept and point.rate_per_s < most]
        return kept[-1] if kept else None


def curves(rows: Iterable[Row]) -> list[Curve]:
    """Return the curves: of the synthetic site first, the shortest added latency first; then targets by name."""
    places: dict[Place, dict[float, list[OpenLoop]]] = {}
    for row in rows:
        if isinstance(row, OpenLoop):
            places.setdefault(_place(row.workload), {}).setdefault(row.workload.rate_per_s, []).append(row)
    found = [
        Curve(place, tuple(Point(rate, tuple(own)) for rate, own in sorted(rates.items())))
        for place, rates in places.items()
    ]
    return sorted(found, key=lambda curve: _order(curve.place))


def names(found: Sequence[Curve]) -> list[str]:
    """Name the place of each curve, with the number of users or of its site where that alone tells two apart."""
    places = [curve.place for curve in found]
    told = []
    for number, place in enumerate(places, start=1):
        alike = [one for one in places if one.asked == place.asked]
        users = len({one.users for one in alike}) > 1
        sites = len({one.site for one in alike if one.users == place.users}) > 1
        more = (f", {place.users} users" if users else "") + (f", place {number}" if sites else "")
        told.append(place.asked + more)
    return told


_OWN = ("latency", "mean_latency_ns", "target", "users")


def _place(workload: OpenWorkload) -> Place:
    rest = json.loads(workloads.alike(workload, but_for=(*_OWN, "rate_per_s", "site.delay")))
    site = (rest.pop("site", None) or {}) | rest
    return Place(**{name: getattr(workload, name) for name in _OWN}, site=json.dumps(site, sort_keys=True))


def _order(place: Place) -> tuple[object, ...]:
    asked = place.target is not None, place.target or "", place.mean_latency_ns or 0
    return *asked, place.users, place.site
