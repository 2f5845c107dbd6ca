"""Series of figures over stored runs, and their change points. Pure.

Runs are measured at different times, and a busy hour changes all their times. A strategy is therefore followed by its
ratio to the reference strategy of the same run and workload, if there is one: both were measured at the same time. The
reference itself, memory, and benchmarks of pytest-benchmark are followed by their absolute figures.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from inflight.bench.core import cells as c
from inflight.bench.core import workloads
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.frame.slopes import Slope
from inflight.bench.frame.statistics import CONFIDENCE, Estimate, Interval
from inflight.bench.rows.files import Row
from inflight.bench.studies.history.changes import LEAST_RUNS, MISSING, Find, Split
from inflight.bench.studies.stored.benchmark_json import of_json
from inflight.bench.studies.stored.side import (
    CPU,
    HARDWARE,
    MEMORY,
    METRICS,
    THROUGHPUT,
    Difference,
    Key,
    Sample,
    Side,
    differences,
    of_rows,
)

By = Literal["date", "python", "version", "commit"]
MAY_CHANGE = frozenset({"system", "neighbour"})
"""Keys of HARDWARE that do not tell machines apart: a machine gets a new kernel; disturbed runs are left out."""
_READS: Mapping[str, c.Read] = {CPU: c.cpu_per_page_ns, THROUGHPUT: c.pages_per_s}
_BY_SOFTWARE: Mapping[By, tuple[str, ...]] = {
    "python": ("Python of the workers", "python_version", "python"),
    "version": ("version of inflight-bench", "pytest-benchmark"),
    "commit": ("commit", "commit id"),
}
"""Keys of ``Side.software`` that name the version of a run; the first that is known counts."""


@dataclass(frozen=True, slots=True)
class Point:
    """A figure of a series in one run, with 95 % intervals; a single round has an interval without ends."""

    label: str
    """Short name of the workload."""
    absolute: Interval
    ratio: Interval | None = None
    """Over the reference strategy on the same workload of the same run."""


@dataclass(frozen=True, slots=True)
class Run:
    """One stored run. The workload of a key is the workload itself, because an id has its meaning in a run only."""

    name: str
    began: datetime
    side: Side
    points: Mapping[Key, Point]
    repeated: int = 0
    """Number of rows that were taken from earlier runs, and do not count."""

    def told(self, by: By) -> str | None:
        """Return what the run is ordered by, as text; None if that is unknown."""
        if by == "date":
            return f"{self.began:%Y-%m-%d %H:%M}"
        found = (self.side.software.get(key) for key in _BY_SOFTWARE[by])
        return next((str(one) for one in found if one), None)

    @property
    def software(self) -> Mapping[str, Any]:
        """All that may change between runs of one machine."""
        return {"system": self.side.hardware.get("system"), **self.side.software}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that is not part of the history."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change point of a series."""

    run: int
    """Place in the history of the first run after the change."""
    split: Split
    also: tuple[Difference, ...]
    """What else differs between that run and the one before it."""

    @property
    def size(self) -> float:
        """The change, as the logarithm of a ratio."""
        return math.log(self.split.after / self.split.before)


@dataclass(frozen=True, slots=True)
class Series:
    """One figure of one strategy on one workload, over runs."""

    key: Key
    label: str
    points: Mapping[int, Point]
    """Its points by the place of their run in the history."""
    is_relative: bool
    """Whether its ratios to the reference are followed, or else its absolute figures."""
    changes: tuple[Change, ...] = ()
    was_searched: bool = False
    """Whether change points were looked for."""

    def followed(self, run: int) -> Interval | None:
        """Return the figure of a run in which change points are looked for; None if the run does not have it."""
        point = self.points.get(run)
        return None if point is None else point.ratio if self.is_relative else point.absolute


@dataclass(frozen=True, slots=True)
class History:
    """Runs of one machine in their order, and their series."""

    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]
    series: tuple[Series, ...]
    by: By
    reference: str
    not_searched: str = ""
    """Why change points were looked for in no series; empty otherwise."""

    @property
    def hardware(self) -> Mapping[str, Any]:
        """The machine."""
        return self.runs[-1].side.hardware

    @property
    def changes(self) -> list[tuple[Series, Change]]:
        """All change points, the greatest first."""
        found = [(series, change) for series in self.series for change in series.changes]
        return sorted(found, key=lambda one: -abs(one[1].size))


# Runs


def of_run(name: str, rows: Sequence[Row], machine: Mapping[str, Any], reference: str) -> Run | LeftOut:
    """Return a run from its rows and its ``machine.json``. Rows that it took from earlier runs do not count."""
    if machine.get("neighbour"):
        return LeftOut(name, f"disturbed on purpose by a neighbour ({machine['neighbour']})")
    if not rows:
        return LeftOut(name, "no rows")
    newest = max(row.run for row in rows)
    own = [row for row in rows if row.run == newest]
    side = of_rows(name, own, machine)
    points = _timed(c.cells(own), side, reference) | _memory(side)
    if not points:
        return LeftOut(name, _why_empty(own))
    began = min(datetime.fromisoformat(row.started_at) for row in own)
    return Run(name, began.astimezone(UTC), side, points, len(rows) - len(own))


def of_benchmarks(name: str, values: Mapping[str, Any]) -> Run | LeftOut:
    """Return a run from the content of a file of pytest-benchmark. Raises BenchmarkError."""
    side = of_json(name, values)
    points = {
        key: Point(entry.label, found)
        for key, entry in side.entries.items()
        if isinstance(entry.figure, Sample) and (found := _of_sample(entry.figure))
    }
    if not points:
        return LeftOut(name, "no valid benchmark")
    try:
        began = datetime.fromisoformat(str(values.get("datetime")))
    except ValueError:
        return LeftOut(name, "it does not say when it was made")
    return Run(name, began.replace(tzinfo=began.tzinfo or UTC).astimezone(UTC), side, points)


def _timed(found: Sequence[Cell], side: Side, reference: str) -> dict[Key, Point]:
    points = {}
    places = {(cell.strategy, _place(cell)): cell for cell in found}
    references = {_place(cell): cell for cell in found if _is_reference(cell, reference)}
    for (strategy, place), cell in places.items():
        other = references.get(place)
        other = None if other is cell else other
        for metric, read in _READS.items():
            if figure := cell.valid_figure(read):
                label = side.entries[Key(strategy, cell.rows[0].workload.id, metric)].label
                ratio = c.ratio(cell, other, read) if other else None
                points[Key(strategy, place, metric)] = Point(label, _of_figure(figure), ratio)
    return points


def _is_reference(cell: Cell, reference: str) -> bool:
    """Tell whether a cell is of the reference strategy; with several interpreters, of its reference arm."""
    arm = cell.rows[0].workload.arm if cell.rows[0].kind == "arm" else None
    return cell.strategy == reference or (arm is not None and arm.role == "reference" and arm.strategy == reference)


def _place(cell: Cell) -> str:
    """Return a text that is equal for equal workloads in all runs; whole crawls and arms of blocks differ."""
    row = cell.rows[0]
    return f"{row.kind} {workloads.identity(row.workload)}"


def _memory(side: Side) -> dict[Key, Point]:
    found = {}
    for key, entry in side.entries.items():
        if key.metric == MEMORY and isinstance(entry.figure, Slope):
            slope, place = entry.figure, f"{key.workload} {entry.workload}"
            interval = Interval(slope.per_fetch, slope.low, slope.high, slope.points, CONFIDENCE)
            found[Key(key.subject, place, MEMORY)] = Point(entry.label, interval)
    return found


def _of_figure(figure: Figure) -> Interval:
    return Interval(figure.estimate, figure.low, figure.high, figure.rounds, CONFIDENCE)


def _of_sample(sample: Sample) -> Interval:
    error = math.inf if sample.variance is None else math.sqrt(sample.variance / sample.number)
    return Estimate(sample.log_mean, error, max(1, sample.number - 1), sample.number).interval().ratio()


def _why_empty(rows: Iterable[Row]) -> str:
    kinds = {"comparisons (inflight ab)" if row.of_comparison else row.kind for row in rows}
    if kinds & c.CRAWLED:
        return "neither a valid crawl nor the memory of several numbers in flight"
    return f"no rows of crawls or memory, only of: {', '.join(sorted(kinds))}"


# The history


def history(found: Iterable[Run | LeftOut], by: By, reference: str, find: Find | None) -> History | list[LeftOut]:
    """Return the history of the machine that has the most runs; if no run is left, what was left out and why."""
    known: list[Run] = []
    left_out: list[LeftOut] = []
    for one in found:
        (known if isinstance(one, Run) else left_out).append(one)  # type: ignore[arg-type]
    for choose in (_once, lambda runs: _that_say(runs, by), _of_one_machine):
        known, rest = choose(known)
        left_out += rest
    if not known:
        return left_out
    runs = sorted(known, key=_order(known, by))
    series = tuple(_searched(one, runs, find) for one in _series(runs, reference))
    return History(tuple(runs), tuple(left_out), series, by, reference, _why_not_searched(series, find))


def _once(runs: Sequence[Run]) -> tuple[list[Run], list[LeftOut]]:
    """Leave out copies of runs."""
    first: dict[frozenset[str], Run] = {}
    rest = []
    for run in runs:
        same = first.setdefault(run.side.marks, run)
        if same is not run:
            rest.append(LeftOut(run.name, f"the same run as {same.name}"))
    return list(first.values()), rest


def _that_say(runs: Sequence[Run], by: By) -> tuple[list[Run], list[LeftOut]]:
    known = [run for run in runs if run.told(by) is not None]
    return known, [LeftOut(run.name, f"its {by} is not recorded") for run in runs if run.told(by) is None]


def _of_one_machine(runs: Sequence[Run]) -> tuple[list[Run], list[LeftOut]]:
    """Keep the runs of the machine with the most of them; of several such machines, the one with the newest run."""
    machines: list[list[Run]] = []
    for run in runs:
        same = next((own for own in machines if not _unlike(own[0], run)), None)
        if same is None:
            machines.append([run])
        else:
            same.append(run)
    kept = max(machines, key=lambda own: (len(own), max(run.began for run in own)), default=[])
    rest = []
    for run in runs:
        if kept and (unlike := _unlike(kept[0], run)):
            told = ", ".join(f"{one.name} {one.head}, not {one.base}" for one in unlike)
            rest.append(LeftOut(run.name, f"another machine: {told}"))
    return kept, rest


def _unlike(one: Run, other: Run) -> tuple[Difference, ...]:
    keys = [key for key in HARDWARE if key not in MAY_CHANGE]
    return differences(*({key: run.side.hardware.get(key) for key in keys} for run in (one, other)))


def _order(runs: Sequence[Run], by: By) -> Callable[[Run], tuple[object, ...]]:
    """Return the key of the order; versions are ordered by their numbers, commits by their first run."""
    first: dict[str, datetime] = {}
    for run in runs:
        told = str(run.told("commit"))
        first[told] = min(first.get(told, run.began), run.began)

    def order(run: Run) -> tuple[object, ...]:
        if by == "date":
            return run.began, run.name
        told = str(run.told(by))
        place = first[told] if by == "commit" else [int(number) for number in re.findall(r"\d+", told)]
        return place, told, run.began, run.name

    return order


def _series(runs: Sequence[Run], reference: str) -> list[Series]:
    points: dict[Key, dict[int, Point]] = {}
    for place, run in enumerate(runs):
        for key, point in run.points.items():
            points.setdefault(key, {})[place] = point
    labels = {key: own[max(own)].label for key, own in points.items()}
    found = []
    for key, own in points.items():
        alike = sorted(
            k.workload
            for k in points
            if (k.subject, k.metric) == (key.subject, key.metric) and labels[k] == labels[key]
        )
        label = labels[key] if len(alike) == 1 else f"{labels[key]} ({alike.index(key.workload) + 1})"
        relative = sum(point.ratio is not None for point in own.values())
        found.append(Series(key, label, own, is_relative=2 * relative >= len(own) and key.subject != reference))
    return sorted(found, key=lambda one: (METRICS.index(one.key.metric), one.label, one.key))


def _searched(series: Series, runs: Sequence[Run], find: Find | None) -> Series:
    """Add the change points of a series."""
    places = [place for place in sorted(series.points) if series.followed(place)]
    if find is None or len(places) < LEAST_RUNS:
        return series
    values = [found.estimate for place in places if (found := series.followed(place))]
    changes = []
    for split in find(values):
        before, after = (runs[places[n]] for n in (split.index - 1, split.index))
        changes.append(Change(places[split.index], split, differences(before.software, after.software)))
    return replace(series, changes=tuple(changes), was_searched=True)


def _why_not_searched(series: Iterable[Series], find: Find | None) -> str:
    if find is None:
        return MISSING
    if not any(one.was_searched for one in series):
        return f"change points need at least {LEAST_RUNS} runs with the same workload"
    return ""
