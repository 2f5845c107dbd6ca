"""Figures of open loops: the result of each offered rate over all rounds, one curve for each place. Pure.

In an open loop requests arrive at a constant rate, independent of answers. ``corrected`` is the response time, from
when a request was due. ``uncorrected`` is the service time, from when it was sent. The difference is what a client that
waits for responses omits (G. Tene: coordinated omission).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from inflight.bench.core import units, workloads
from inflight.bench.core.cells import spread_of
from inflight.bench.core.figures import P99_SAMPLES, Spread
from inflight.bench.present import words
from inflight.bench.rows.files import Row
from inflight.bench.rows.loads import OpenLoop, OpenWorkload

Read = Callable[[OpenLoop], float | None]
"""Function that reads a figure of one trial."""
Quantile = Literal["p50", "p90", "p99", "p999"]
Kind = Literal["corrected", "uncorrected"]
KINDS: tuple[Kind, ...] = ("corrected", "uncorrected")
SAMPLES: dict[Quantile, int] = {"p50": 20, "p90": 100, "p99": P99_SAMPLES, "p999": 10_000}
"""Minimum number of samples for each quantile: ten lie beyond it. The validity check uses the same numbers."""


@dataclass(frozen=True, slots=True)
class Place:
    """What all rates of one curve have in common: the target or site, and the number of users."""

    latency: str | None
    """The added latency of the synthetic site as the experiment gives it; None for a target."""
    mean_latency_ns: int | None
    target: str | None
    users: int
    """Maximum number of requests in flight."""
    site: str
    """JSON of the site without its delay, and of any other value of the workload."""

    @property
    def asked(self) -> str:
        """The target or the added latency, for people."""
        if self.target is not None:
            return words.plain(self.target, 60)
        latency = units.latency(str(self.latency))
        return latency if self.latency == "0" else f"{latency} added latency"


@dataclass(frozen=True, slots=True)
class Point:
    """All rounds of one offered rate. Figures are of the valid rows, or of the invalid rows if none is valid."""

    rate_per_s: float
    rows: tuple[OpenLoop, ...]
    """All rows, with failed and skipped trials."""

    @property
    def valid(self) -> bool:
        """Whether conclusions may rest on the figures."""
        return any(row.valid for row in self.rows)

    @property
    def shown(self) -> tuple[OpenLoop, ...]:
        """The rows that the figures come from; empty where no trial finished."""
        ended = tuple(row for row in self.rows if row.status == "ok")
        return tuple(row for row in ended if row.valid) or ended

    @property
    def lost(self) -> tuple[OpenLoop, ...]:
        """The rounds shown that did not keep the rate."""
        return tuple(row for row in self.shown if not row.measured.kept)

    @property
    def kept(self) -> bool | None:
        """Whether every round kept the rate; None without a finished trial."""
        return not self.lost if self.shown else None

    @property
    def why(self) -> str | None:
        """Why the first round lost the rate, and how many rounds lost it; None where it was kept."""
        if not self.lost:
            return None
        part = f" (in {len(self.lost)} of {len(self.shown)} rounds)" if len(self.lost) < len(self.shown) else ""
        return words.plain(str(self.lost[0].measured.why).rstrip("."), 180) + part

    @property
    def waiting(self) -> Spread | None:
        """Number of requests that were due and not yet sent at the end."""
        return self.of(lambda row: row.measured.backlog.waiting[-1] if row.measured.backlog else None)

    @property
    def failed(self) -> int:
        """Number of requests that failed in the worst round."""
        return max((row.measured.failed or 0 for row in self.shown), default=0)

    def of(self, read: Read) -> Spread | None:
        """Return a figure over the rounds."""
        return spread_of(self.shown, read)

    def time(self, kind: Kind, quantile: Quantile) -> Spread | None:
        """Return a quantile over the rounds that have enough samples for it; None where no round has."""
        enough = [row for row in self.shown if getattr(row.measured, kind).count >= SAMPLES[quantile]]
        return spread_of(enough, lambda row: getattr(getattr(row.measured, kind), f"{quantile}_ns"))


@dataclass(frozen=True, slots=True)
class Curve:
    """All rates offered at one place, the lowest first."""

    place: Place
    points: tuple[Point, ...]

    @property
    def lowest_lost(self) -> Point | None:
        """The lowest rate that was not kept, by valid trials."""
        return next((point for point in self.points if point.valid and not point.kept), None)

    @property
    def highest_kept(self) -> Point | None:
        """The highest rate that was kept, by valid trials, below the lowest that was not."""
        most = self.lowest_lost.rate_per_s if self.lowest_lost else float("inf")
        kept = [point for point in self.points if point.valid and point.kept and point.rate_per_s < most]
        return kept[-1] if kept else None


def curves(rows: Iterable[Row]) -> list[Curve]:
    """Return the curves: those of the synthetic site by added latency, then those of targets by name."""
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
    """Name the place of each curve, with the users or a number where the name would not be unique without."""
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
    site = workloads.alike(workload, but_for=(*_OWN, "rate_per_s", "site.delay"))
    return Place(**{name: getattr(workload, name) for name in _OWN}, site=site)


def _order(place: Place) -> tuple[object, ...]:
    asked = place.target is not None, place.target or "", place.mean_latency_ns or 0
    return *asked, place.users, place.site
