"""Groups of rows: a cell is one strategy on one workload, over all rounds. Pure."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from inflight.bench.core import units, workloads
from inflight.bench.core.figures import P50_SAMPLES, STEADY, Spread, spread
from inflight.bench.frame.statistics import Interval, Logs, compare, t_interval
from inflight.bench.rows.crawls import ArmOf
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import plain_values

R = TypeVar("R", bound=Row)
Value = TypeVar("Value")
Read = Callable[[Row], float | None]

_OWN = ("latency", "mean_latency_ns", "in_flight", "connection", "cpu", "cpu_ns", "site.delay", "site.pages", "arm")
"""Values of a workload that are fields of a cell or of its setting."""
_SETTINGS = ("revision", "repository", "python", "requirements", "variables", "cores", "busy_threads", "lag")
"""Settings of an arm that are not part of its workload."""
TIMED = frozenset({"crawl", "arm"})
"""Kinds of rows with a throughput: whole crawls, and arms of blocks."""
CRAWLED = TIMED | {"memory"}
"""Kinds of rows that cells are made of: one process of one strategy crawled."""


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """Values that the cells of one table or curve share: all except latency and number in flight.

    ``site`` is JSON: the site without its delay, and any other values of the workload (``parked``). It contains the
    number of pages, as the name of a curve, only if the workloads make several curves (``workloads.curves``).
    """

    connection: str
    site: str
    cpu_ns: int = 0
    cpu: str = "0"
    """CPU work per page, as the experiment wrote it."""

    def site_values(self) -> dict[str, Any]:
        """Return the values of ``site``."""
        values: dict[str, Any] = json.loads(self.site)
        return values

    def told(self) -> dict[str, Any]:
        """Return the values that are shown if settings differ: of the site, of the measurement, and the CPU work."""
        values = self.site_values()
        timed_in = "blocks" if values.pop("endless", False) else "whole crawls"
        return values | {"timed in": timed_in, "CPU work": units.latency(self.cpu) if self.cpu_ns else "no"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a timed cell: the geometric mean over its rounds, with the ends of the 95 % t interval.

    The rounds of an arm are its blocks. Every table, sentence, plot, JSON value and data frame shows this figure. All
    other figures are medians with a range (``figures.Spread``), because a t interval has no meaning for them: a race
    replays one whole crawl; swarms, open loops and other clients have two or three long trials, of which counts and
    quantiles are read; memory grows in steps, so its noise is not around a mean.
    """

    estimate: float
    low: float
    """0 for a single round."""
    high: float
    """Infinite for a single round."""
    valid: bool
    """False: made of invalid rows only, no basis for any conclusion."""
    logs: Logs
    """The logarithm of each round's value."""

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.logs)

    @property
    def half(self) -> float:
        """The greater half of the interval, as a share of the estimate."""
        return max(self.high / self.estimate - 1, 1 - self.low / self.estimate)

    @property
    def is_wide(self) -> bool:
        """Whether the interval reaches further than the estimate itself; its ends are not written then."""
        return self.half >= 1

    @property
    def digits(self) -> int:
        """The number of significant digits that the interval leaves."""
        return 3 if self.half <= STEADY else 2

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; None for a single round."""
        return None if math.isinf(self.high) else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Cell:
    """All rows of one strategy on one workload."""

    strategy: str
    stack: str
    kind: Literal["crawl", "memory"]
    """``crawl``: timed, as a whole crawl or as an arm of a block."""
    setting: Setting
    latency: str
    mean_latency_ns: int
    in_flight: int
    pages: int
    rows: tuple[Row, ...]

    @property
    def cpu(self) -> str:
        """CPU work per page, as the experiment wrote it; ``0``: none."""
        return self.setting.cpu

    @property
    def cpu_ns(self) -> int:
        """CPU work per page that was asked for."""
        return self.setting.cpu_ns

    @property
    def valid_rows(self) -> tuple[Row, ...]:
        """The valid rows, which conclusions may use."""
        return tuple(row for row in self.rows if row.valid)

    @property
    def invalid_rows(self) -> tuple[Row, ...]:
        """The rows with status ok and a failed check."""
        return tuple(row for row in self.rows if row.status == "ok" and not row.valid)

    def figure(self, read: Read) -> Figure | None:
        """Return the figure of the valid rows, or else of the invalid rows; None if neither have it."""
        for rows, valid in ((self.valid_rows, True), (self.invalid_rows, False)):
            if (found := spread_of(rows, read)) and found.logs:
                return figure_of(found.logs, valid=valid)
        return None

    def valid_figure(self, read: Read) -> Figure | None:
        """Return the figure of the valid rows; None without any."""
        found = self.figure(read)
        return found if found and found.valid else None


def figure_of(logs: Logs, *, valid: bool = True) -> Figure:
    """Return the figure of the logarithms of at least one round."""
    found = t_interval(list(logs.values())).ratio()
    return Figure(found.estimate, found.low, found.high, valid, logs)


def pages_per_s(row: Row) -> float | None:
    """Return the throughput in verified pages per second; for an arm, while its gate was open."""
    return _measured(row, "pages_per_s")


def cpu_per_page_ns(row: Row) -> float | None:
    """Return the client's CPU time per page, user and system."""
    return _measured(row, "cpu_per_page_ns")


def lag_ns(row: Row) -> float | None:
    """Return the median lateness of an arm's timer, at least 1 ns; None without a timer or with too few due times."""
    lag = getattr(row.measured, "lag", None)
    return max(1, lag.p50_ns) if lag is not None and lag.count >= P50_SAMPLES else None


MAX_SERVER_SHARE = 0.90
"""Share of its core, used or waited for, up to which the server limits no throughput."""
AT_LEAST = "≥"
"""Mark of a throughput that a faster server could have raised."""
MAX_LATE_NS, MAX_LATE_SHARE = 1_000_000, 0.02
"""Lateness of the server up to which a latency is what was asked for: a time, and a share of the latency."""


def knob(row: Row, name: str) -> Any:
    """Return a setting that the process of a row reported; of a swarm, that of all its processes."""
    knobs: Any = row.knobs
    return knobs.get(name) if isinstance(knobs, dict) else getattr(knobs, name)


def present(values: Iterable[float | None]) -> list[float]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]


def spread_of(rows: Iterable[R], read: Callable[[R], float | None]) -> Spread | None:
    """Return the spread of a figure over the rows that have it."""
    found = [(value, (row.run, row.round)) for row in rows if (value := read(row)) is not None]
    return spread(*zip(*found, strict=True)) if found else None


def ratio(one: Cell, other: Cell, read: Read) -> Interval | None:
    """Return a figure over that of another cell, by the rounds that they have in common; None without valid rows."""
    first, second = one.valid_figure(read), other.valid_figure(read)
    return compare(first.logs, second.logs).interval().ratio() if first and second else None


def cells(rows: Iterable[Row], kind: Literal["crawl", "memory"] = "crawl") -> list[Cell]:
    """Return the cells of one kind, sorted by setting, latency, number in flight and strategy, without placebos."""
    kinds = TIMED if kind == "crawl" else {kind}
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    own = [row for row in crawled(rows) if row.kind in kinds]
    name_of = arm_names(own)
    for row in own:
        key = name_of(row), row.stack, row.kind, workloads.identity(row.workload)
        groups.setdefault(key, []).append(row)
    curves = _curves(group[0] for group in groups.values())
    found = [_cell(key[0], kind, tuple(group), curves) for key, group in groups.items()]
    return sorted(found, key=lambda c: (c.setting, c.mean_latency_ns, c.latency, c.in_flight, c.strategy, c.pages))


def arm_names(rows: Iterable[Row]) -> Callable[[Row], str]:
    """Return a function that names the arm of a row: its name, with its settings where arms of one name differ."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row.strategy, set()).add(_label(row))
    return lambda row: row.strategy if len(labels[row.strategy]) == 1 else _label(row)


def _label(row: Row) -> str:
    """Return the name of an arm with the settings that neither its name nor its workload says."""
    arm = getattr(row.workload, "arm", None)
    values = {} if arm is None else {key: value for key, value in plain_values(arm).items() if key in _SETTINGS}
    told = [_setting_told(key, value) for key, value in values.items()]
    return f"{row.strategy} ({', '.join(told)})" if told else row.strategy


def _setting_told(key: str, value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items())
    return key if value is True else f"{key}={value}" if isinstance(value, int) else str(value)


def crawled(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that cells are made of, without placebos and comparisons."""
    return [row for row in rows if row.kind in CRAWLED and not is_placebo(row) and not row.of_comparison]


def is_timed(rows: Iterable[Row]) -> bool:
    """Return whether any row is of a kind with a throughput."""
    return any(row.kind in TIMED for row in rows)


def settings(found: Sequence[Cell]) -> list[Setting]:
    """Return the settings, the one with the most cells first."""
    numbers = {setting: sum(cell.setting == setting for cell in found) for setting in {c.setting for c in found}}
    return sorted(numbers, key=lambda setting: (-numbers[setting], setting))


def differing(setting: Setting, others: Iterable[Setting]) -> dict[str, object]:
    """Return the values of a setting, except connections, that some other setting does not share."""
    values = setting.told()
    told = [other.told() for other in others]
    return {key: values[key] for key in sorted(values) if any(other.get(key) != values[key] for other in told)}


def evenly(values: Sequence[Value], most: int) -> list[Value]:
    """Return at most so many of the values: the first, the last, and evenly from between."""
    if len(values) <= most:
        return list(values)
    return [values[round(step * (len(values) - 1) / (most - 1))] for step in range(most)]


def latencies(found: Iterable[Cell]) -> list[str]:
    """Return the added latencies, the shortest mean first."""
    means = {cell.latency: cell.mean_latency_ns for cell in found}
    return sorted(means, key=lambda latency: (means[latency], latency))


def caps(found: Iterable[Cell], latency: str) -> list[int]:
    """Return the numbers in flight at a latency, in ascending order."""
    return sorted({cell.in_flight for cell in found if cell.latency == latency})


def at(found: Iterable[Cell], strategy: str, latency: str, in_flight: int) -> Cell | None:
    """Return the one matching cell, of cells that share a setting; None without one."""
    wanted = strategy, latency, in_flight
    return next((cell for cell in found if (cell.strategy, cell.latency, cell.in_flight) == wanted), None)


def strategies(found: Iterable[Row | Cell]) -> dict[str, str]:
    """Return each strategy with its stack, sorted: shared stacks first, then by name."""
    stacks = {one.strategy: one.stack for one in found}
    return dict(sorted(stacks.items(), key=lambda item: (item[1] != "shared", item[0])))


def strategies_of(found: Iterable[Cell]) -> list[str]:
    """Return the sorted names of the cells' strategies."""
    return sorted({cell.strategy for cell in found})


def memory_points(rows: Iterable[Row]) -> list[tuple[int, int]]:
    """Return (fetches held in flight, USS in bytes) of each row that has both."""
    return [
        (row.measured.held_in_flight, row.measured.held_uss_bytes)
        for row in rows
        if row.measured.held_in_flight is not None and row.measured.held_uss_bytes is not None
    ]


def fillable(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells with at least as many pages as their cap; all cells if there is none.

    A crawl of ten pages never has ten thousand in flight, whatever its cap is, so it is no point of a curve.
    """
    return [cell for cell in found if cell.pages >= cell.in_flight] or list(found)


def _measured(row: Row, name: str) -> float | None:
    """Return a figure; None also for a kind of row that never has it."""
    found: float | None = getattr(row.measured, name, None)
    return found


def _curves(every: Iterable[Row]) -> dict[tuple[str, workloads.Size], str]:
    """Return the name of each workload's curve by place and size."""
    sizes: dict[str, set[workloads.Size]] = {}
    for row in every:
        sizes.setdefault(_place(row), set()).add(_size(row))
    return {(place, size): name for place, own in sizes.items() for size, name in workloads.curves(own).items()}


def _place(row: Row) -> str:
    return f"{row.kind} {workloads.alike(row.workload, but_for=('in_flight', 'site.pages'))}"


def _size(row: Row) -> workloads.Size:
    return row.workload.in_flight, _pages(row)


def _pages(row: Row) -> int:
    """Return the number of pages to crawl; of the endless site of a block, the pages of a lap."""
    pages: int = row.workload.site.pages
    return max(pages, row.workload.in_flight) if row.kind == "arm" else pages


def _cell(
    name: str, kind: Literal["crawl", "memory"], rows: tuple[Row, ...], curves: Mapping[tuple[str, workloads.Size], str]
) -> Cell:
    first = rows[0]
    workload = first.workload
    rest: dict[str, Any] = json.loads(workloads.alike(workload, but_for=_OWN))
    site = rest.pop("site") | rest | ({"endless": True} if first.kind == "arm" else {})
    if curve := curves[_place(first), _size(first)]:
        site["pages"] = curve
    return Cell(
        name,
        first.stack,
        kind,
        Setting(workload.connection, json.dumps(site, sort_keys=True), workload.cpu_ns or 0, workload.cpu or "0"),
        workload.latency,
        workload.mean_latency_ns,
        workload.in_flight,
        _pages(first),
        rows,
    )


def of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    """Return the rows of one kind, sorted by workload and round, without comparisons."""
    found = (row for row in rows if row.kind == kind and not row.of_comparison)
    return sorted(found, key=lambda row: (row.workload.id, row.round))


def arm_of(row: Row) -> ArmOf | None:
    """Return the arm of a row; None for rows without one."""
    found: ArmOf | None = getattr(row.workload, "arm", None)
    return found


def is_placebo(row: Row) -> bool:
    """Return whether a row is of a placebo arm."""
    return role(row) == "placebo"


def role(row: Row) -> str:
    """Return the role of an arm (reference, placebo or compared); empty for rows of other kinds."""
    return str(row.workload.arm.role) if row.kind == "arm" else ""
