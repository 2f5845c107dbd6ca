"""Retention: how much of its best throughput a strategy keeps with the most in flight. Pure.

Retention is pages/s at the largest cap over pages/s at the best cap, without added latency, where only the CPU time per
page counts. A client whose CPU time per page grows with the number in flight keeps a small share: it collapses. The
ratio is taken within each round and then over the rounds, as all ratios of cells. The best cap is the one with the
greatest mean, so noise alone makes retention a little less than 1, by about its own interval.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell
from inflight.bench.frame.statistics import Interval
from inflight.bench.rows.files import Row

LEAST_CAPS = 3
"""Minimum number of caps for a retention."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The share of its best throughput that one strategy keeps."""

    best: Cell
    """The cell with the greatest throughput."""
    most: Cell
    """The cell with the most in flight of those with a valid throughput."""
    interval: Interval | None
    """Throughput of ``most`` over that of ``best``; None if they are the same cell, which is a retention of 1."""
    failed: tuple[int, ...] = ()
    """The caps above that of ``most`` at which the strategy took part and has no valid throughput."""

    @property
    def strategy(self) -> str:
        """The strategy."""
        return self.most.strategy

    @property
    def share(self) -> float:
        """The estimate; 1 if the best cap is the largest."""
        return self.interval.estimate if self.interval else 1.0

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; None for a single round, and if the best cap is the largest."""
        known = self.interval is not None and math.isfinite(self.interval.high)
        return (self.interval.low, self.interval.high) if self.interval and known else None

    @property
    def rounds(self) -> int:
        """The number of rounds behind the ratio."""
        figure = self.most.valid_figure(c.pages_per_s)
        return self.interval.n if self.interval else figure.rounds if figure else 0


def swept(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells without added latency, if they have enough caps for a retention; the cells share a setting."""
    own = c.fillable([cell for cell in found if not cell.mean_latency_ns and not cell.cpu_ns])
    return own if len({cell.in_flight for cell in own if cell.valid_figure(c.pages_per_s)}) >= LEAST_CAPS else []


def retentions(found: Sequence[Cell]) -> list[Retention]:
    """Return the retention of each strategy with a valid throughput at two or more caps, the greatest first.

    Strategies that failed at larger caps come last. The cells share a setting.
    """
    cells = swept(found)
    kept = [_of_one([cell for cell in cells if cell.strategy == name]) for name in c.strategies_of(cells)]
    return sorted((one for one in kept if one), key=lambda one: (bool(one.failed), -one.share, one.strategy))


def headline(found: Sequence[Cell]) -> list[Retention]:
    """Return the retentions if the cells differ in the number in flight alone, so that retention is what they tell.

    Where latencies differ too, throughput over latency and number in flight is shown instead.
    """
    return retentions(found) if len(c.latencies(found)) == 1 else []


def of_rows(rows: Iterable[Row]) -> list[Retention]:
    """Return the retentions of all settings of a run."""
    found = c.cells(rows)
    return [one for setting in c.settings(found) for one in retentions([x for x in found if x.setting == setting])]


def _of_one(own: Sequence[Cell]) -> Retention | None:
    rates = {cell.in_flight: figure.estimate for cell in own if (figure := cell.valid_figure(c.pages_per_s))}
    if len(rates) < 2:
        return None
    cell_at = {cell.in_flight: cell for cell in own}
    best, most = cell_at[max(rates, key=lambda cap: (rates[cap], cap))], cell_at[max(rates)]
    failed = sorted(cell.in_flight for cell in own if cell.in_flight > most.in_flight and _took_part(cell))
    ratio = None if best is most else c.ratio(most, best, c.pages_per_s)
    return Retention(best, most, ratio, tuple(failed))


def _took_part(cell: Cell) -> bool:
    return any(row.status != "skipped" for row in cell.rows)
