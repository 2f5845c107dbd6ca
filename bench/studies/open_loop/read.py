"""Rows of open loops put together: what each offered rate led to, one curve a place, over all rounds. Pure.

In an open loop requests arrive at a constant rate, whatever became of those before. ``corrected`` is a response time,
from when a request was due; ``uncorrected`` is a service time, from when it was sent at last. The difference is what a
client that waits for responses leaves out (G. Tene: coordinated omission).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.core import workloads
from bench.core.cells import present
from bench.core.figures import P99_SAMPLES, Spread, spread
from bench.core.rows import Row

Quantile = Literal["p50", "p90", "p99", "p999"]
Kind = Literal["corrected", "uncorrected"]
KINDS: tuple[Kind, ...] = ("corrected", "uncorrected")
SAMPLES: dict[Quantile, int] = {"p50": 20, "p90": 100, "p99": P99_SAMPLES, "p999": 10_000}
"""A quantile needs so many samples: ten lie beyond it (the validity check goes by the same numbers)."""
PREFIX = "cannot keep the rate"
"""How the measuring half begins its reason; readers put it before the reason themselves."""
UNTOLD = "cannot tell"
"""How it begins the reason where the window was too short: no fault of the server, and the row is red."""


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


@dataclass(frozen=True, slots=True)
class Point:
    """One offered rate: its rounds together. Figures are of the valid rows; where there is none, of the red ones."""

    rate_per_s: float
    rows: tuple[Row, ...]
    """All of them, whatever became of them."""
    shown: tuple[Row, ...]
    """Those that the figures are of: empty where none came to its end."""

    @property
    def valid(self) -> bool:
        """Whether conclusions may rest on the figures."""
        return any(row.valid for row in self.shown)

    @property
    def kept(self) -> bool | None:
        """Whether every round kept the rate; None where nobody knows."""
        found = [row.measured.get("kept") for row in self.shown]
        return None if not found or None in found else all(found)

    @property
    def lost_rounds(self) -> int:
        """How many of the rounds shown did not keep the rate."""
        return sum(row.measured.get("kept") is False for row in self.shown)

    @property
    def why(self) -> str | None:
        """Why the rate was not kept, in the words of the first such round, without the words that all share."""
        for row in self.shown:
            if row.measured.get("kept") is False:
                told = str(row.measured.get("why") or "the backlog grew").removeprefix(PREFIX)
                return told.lstrip(": ").rstrip(".") or "the backlog grew"
        return None

    @property
    def waiting(self) -> Spread | None:
        """How many requests were due and not yet sent at the end."""
        return self._spread(lambda row: backlog(row)[1][-1:])

    @property
    def failed(self) -> int:
        """How many requests failed, in the worst round."""
        return max((row.measured.get("failed") or 0 for row in self.shown), default=0)

    def figure(self, name: str) -> Spread | None:
        """Return one measured number, such as ``completed_per_s``, over the rounds."""
        return self._spread(lambda row: [row.measured.get(name)])

    def time(self, kind: Kind, quantile: Quantile) -> Spread | None:
        """Return a quantile over the rounds that have samples enough for it; None where no round has."""
        return self._spread(lambda row: [_quantile(row.measured.get(kind), quantile)])

    def _spread(self, read: Callable[[Row], Sequence[float | None]]) -> Spread | None:
        values = present(value for row in self.shown for value in read(row))
        return spread(values) if values else None


@dataclass(frozen=True, slots=True)
class Curve:
    """All rates that were offered at one place, the lowest first."""

    place: Place
    points: tuple[Point, ...]

    @property
    def lowest_lost(self) -> Point | None:
        """The lowest rate that was not kept, by valid trials."""
        return next((point for point in self.points if point.valid and point.kept is False), None)

    @property
    def highest_kept(self) -> Point | None:
        """The highest rate that was kept, by valid trials, below any that was not: what may be relied upon."""
        lost = self.lowest_lost
        most = float("inf") if lost is None else lost.rate_per_s
        kept = [point for point in self.points if point.valid and point.kept and point.rate_per_s < most]
        return kept[-1] if kept else None

    @property
    def kept_beyond(self) -> tuple[Point, ...]:
        """Rates that were kept though a lower one was not: the machine, not the rate, made the difference."""
        lost = self.lowest_lost
        return tuple(
            point for point in self.points if lost and point.valid and point.kept and point.rate_per_s > lost.rate_per_s
        )


def curves(rows: Iterable[Row]) -> list[Curve]:
    """Return the curves: of the synthetic site first, the shortest added latency first; then targets by name."""
    places: dict[Place, dict[float, list[Row]]] = {}
    for row in rows:
        if row.kind == "open" and row.workload["rate_per_s"] > 0:
            rates = places.setdefault(_place(row.workload), {})
            rates.setdefault(float(row.workload["rate_per_s"]), []).append(row)
    found = [
        Curve(place, tuple(_point(rate, own) for rate, own in sorted(rates.items()))) for place, rates in places.items()
    ]
    return sorted(found, key=lambda curve: _order(curve.place))


def backlog(row: Row) -> tuple[list[int], list[int]]:
    """Return since the window began (ns), and how many requests were due and not yet sent then; empty if unknown."""
    line = row.measured.get("backlog") or {}
    return line.get("at_ns", []), line.get("waiting", [])


def _point(rate_per_s: float, rows: Sequence[Row]) -> Point:
    valid = tuple(row for row in rows if row.valid)
    return Point(rate_per_s, tuple(rows), valid or tuple(row for row in rows if row.status == "ok"))


_OWN = ("rate_per_s", "latency", "mean_latency_ns", "target", "users", "site.delay")
"""Values of a workload that a place has by name, or that make its points."""


def _place(workload: Mapping[str, Any]) -> Place:
    rest = json.loads(workloads.alike(workload, but_for=_OWN))
    site = (rest.pop("site", None) or {}) | rest
    return Place(
        workload.get("latency"),
        workload.get("mean_latency_ns"),
        workload.get("target"),
        workload["users"],
        json.dumps(site, sort_keys=True),
    )


def _order(place: Place) -> tuple[object, ...]:
    asked = place.target is not None, place.target or "", place.mean_latency_ns or 0
    return *asked, str(place.users).zfill(12), place.site


def _quantile(times: Any, name: Quantile) -> float | None:
    if times is None or times.count < SAMPLES[name]:
        return None
    found: float | None = getattr(times, f"{name}_ns")
    return found
