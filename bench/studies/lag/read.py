"""How late the timers of arms fired: medians of blocks, and quantiles over the due times of all blocks. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.core.figures import P90_SAMPLES, P99_SAMPLES, merge, quantile
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Histogram


@dataclass(frozen=True, slots=True)
class Lag:
    """How late the timer of one strategy was on one workload."""

    cell: Cell
    median: Figure | None
    """The median in nanoseconds: mean over the blocks, with its 95 % interval; None: too few due times in a block."""
    histogram: Histogram
    """Lateness at the due times of all blocks."""

    @property
    def count(self) -> int:
        """The number of due times."""
        return self.histogram.total

    @property
    def p50_ns(self) -> float | None:
        """The median; None with too few due times."""
        return None if self.median is None else self.median.estimate

    @property
    def p90_ns(self) -> int | None:
        """The 90 % quantile over all blocks; None with too few due times."""
        return self._quantile(0.9, P90_SAMPLES)

    @property
    def p99_ns(self) -> int | None:
        """The 99 % quantile over all blocks; None with too few due times."""
        return self._quantile(0.99, P99_SAMPLES)

    def _quantile(self, share: float, least: int) -> int | None:
        return quantile(self.histogram, share) if self.count >= least else None


def lags(rows: Iterable[Row]) -> list[Lag]:
    """Return the lag of each cell whose valid rows have one."""
    found = []
    for cell in c.cells(rows):
        histograms = [lag.histogram for row in cell.valid_rows if (lag := getattr(row.measured, "lag", None))]
        if histograms:
            found.append(Lag(cell, cell.valid_figure(c.lag_ns), merge(histograms)))
    return found


def by_workload(found: Sequence[Lag]) -> list[list[Lag]]:
    """Return the lags of each workload, the shortest p50 first."""
    groups: dict[tuple[object, ...], list[Lag]] = {}
    for one in sorted(found, key=lambda one: (one.p50_ns is None, one.p50_ns, one.cell.strategy)):
        cell = one.cell
        groups.setdefault((cell.setting, cell.mean_latency_ns, cell.latency, cell.in_flight), []).append(one)
    return [groups[key] for key in sorted(groups)]
