"""Speed-ups: what each strategy gains from more cores, over the CPU work per page. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell, Setting
from inflight.bench.frame.statistics import Interval, compare
from inflight.bench.rows.files import Row

GAIN = 1.2
"""A strategy uses more cores if its speed-up is above this, with its whole interval."""

Series = tuple[str, str]
"""A strategy and the label of its interpreter, which is empty in a run with one."""


@dataclass(frozen=True, slots=True)
class Work:
    """One amount of CPU work per page: the cells of all strategies on all numbers of cores."""

    cpu: str
    cpu_ns: int
    cells: Mapping[tuple[Series, int], Cell]
    placebo: Interval | None
    """Pages per second of the placebo over those of the reference; None without a placebo."""

    def speed_up(self, series: Series, cores: int, base: int) -> Interval | None:
        """Return the pages per second on a number of cores over those on ``base``, by the blocks of both."""
        more, fewer = (self.cells.get((series, number)) for number in (cores, base))
        return c.ratio(more, fewer, c.pages_per_s) if more and fewer else None

    def server_share(self, series: Series, cores: int) -> float:
        """Return the share of a core that the server used beside an arm whose last core was also the server's."""
        cell = self.cells.get((series, cores))
        rows = cell.valid_rows if cell else ()
        shares = [row.server.cpu_share or 0.0 for row in rows if getattr(row.measured, "beside_server", None)]
        return max(shares, default=0.0)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Workloads that differ in their CPU work per page alone, the least first."""

    setting: Setting
    latency: str
    in_flight: int
    works: tuple[Work, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """The numbers of cores."""
        return tuple(sorted({cores for work in self.works for _, cores in work.cells}))

    @property
    def series(self) -> tuple[Series, ...]:
        """The strategies on their interpreters: those that gain most first."""
        found = {series for work in self.works for series, _ in work.cells}
        return tuple(sorted(found, key=lambda series: (-round(self.best(series) or 0.0, 2), series)))

    @property
    def interpreters(self) -> tuple[str, ...]:
        """The labels of the interpreters; one empty label in a run with one."""
        return tuple(sorted({label for work in self.works for (_, label), _ in work.cells}))

    def best(self, series: Series) -> float | None:
        """Return the greatest speed-up on all cores; None without any."""
        found = [work.speed_up(series, self.cores[-1], self.cores[0]) for work in self.works]
        return max((one.estimate for one in found if one is not None), default=None)

    @property
    def highest(self) -> float:
        """The upper end of the highest interval on all cores; 0 without any."""
        found = [work.speed_up(one, self.cores[-1], self.cores[0]) for work in self.works for one in self.series]
        return max((one.high for one in found if one is not None and math.isfinite(one.high)), default=0.0)

    def gains_from(self, series: Series) -> Work | None:
        """Return the least CPU work from which on a strategy uses all cores; None if it does not."""
        least = None
        for work in reversed(self.works):
            found = work.speed_up(series, self.cores[-1], self.cores[0])
            if found is None or found.low <= GAIN:
                break
            least = work
        return least


def scalings(rows: Sequence[Row]) -> list[Scaling]:
    """Return the workloads on which some strategy had several numbers of cores in the same blocks."""
    found: dict[tuple[Setting, str, int], dict[tuple[str, int], dict[tuple[Series, int], Cell]]] = {}
    for cell in c.cells(rows):
        arm = c.arm_of(cell.rows[0])
        if arm is not None:
            place = replace(cell.setting, cpu="0", cpu_ns=0), cell.latency, cell.in_flight
            own = found.setdefault(place, {}).setdefault((cell.cpu, cell.cpu_ns), {})
            own[(arm.strategy, arm.interpreter or ""), arm.cores or 1] = cell
    made = [
        Scaling(*place, tuple(_work(*work, cells, rows) for work, cells in sorted(own.items(), key=lambda x: x[0][1])))
        for place, own in found.items()
    ]
    return [one for one in made if _varies(one)]


def _varies(found: Scaling) -> bool:
    return any((series, found.cores[0]) in work.cells for work in found.works for series, _ in work.cells) and (
        len(found.cores) > 1
    )


def _work(cpu: str, cpu_ns: int, cells: Mapping[tuple[Series, int], Cell], rows: Sequence[Row]) -> Work:
    ids = {row.workload.id for cell in cells.values() for row in cell.rows}
    own = [row for row in rows if row.kind == "arm" and row.workload.id in ids and row.valid]
    again, first = (
        c.spread_of((row for row in own if c.role(row) == role), c.pages_per_s) for role in ("placebo", "reference")
    )
    placebo = compare(again.logs, first.logs).interval().ratio() if again and first else None
    return Work(cpu, cpu_ns, cells, placebo)
