"""One side of a comparison of stored runs: its figures by cell, and the machine that they are from. Pure.

What is compared is the same whatever it was read from: rows of a run here, or a file of pytest-benchmark
(``inflight.bench.studies.stored.benchmark_json``).
"""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units, workloads
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import NoSlope, Slope, memory_slope
from inflight.bench.core.model import sensitivity
from inflight.bench.core.records.parts import Knobs
from inflight.bench.core.records.values import plain_values
from inflight.bench.core.rows import Row

CPU, THROUGHPUT, MEMORY, WALL = "cpu_per_page_ns", "pages_per_s", "user_bytes_per_fetch", "wall_s"
METRICS = (CPU, WALL, THROUGHPUT, MEMORY)
TIMED = frozenset({CPU, THROUGHPUT, WALL})
HARDWARE = ("system", "machine", "cpu", "cores", "usable_cores", "memory_bytes", "neighbour")
"""What of ``machine.json`` must agree before times can be compared."""
MEMORY_TOLERANCE = 0.05
"""Memory sizes this near to each other are the same: kernels keep different shares of it for themselves."""
LARGEST = 1e300
_FOR_SENSITIVITY = {
    "crawl": ("cpu_per_page_ns", "pages_per_s", "pages", "makespan_ns", "cpu_user_ns", "cpu_system_ns"),
    "arm": ("cpu_per_page_ns", "pages_per_s", "pages", "cpu_share"),
}
_DECIDES_MEMORY = ("system", "machine", "libc", "python")
_KNOBS = {"Python of the workers": "python", "global lock": "gil", "garbage collector on": "gc_enabled"}
_NOT_SOFTWARE = frozenset({*HARDWARE, "command", "versions"})


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a figure is of: a strategy (or a benchmark), the id of its workload, and which figure."""

    subject: str
    workload: str
    metric: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The logarithms of a cell's figures, one a round: their mean, their variance (None for one), and how many."""

    log_mean: float
    variance: float | None
    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure of one side; or, as text, why there is none."""

    figure: Sample | Slope | str
    label: str
    """The workload in few words."""
    red: int
    workload: str = ""
    """Everything that was asked for, as JSON: an id alone may mean another workload in another experiment."""
    sensitivity: float | None = None
    """Of a throughput: the share of a slowdown that it shows, at least."""
    marks: frozenset[str] = frozenset()
    """The valid trials, by all that was measured: to find those that both sides have."""


@dataclass(frozen=True, slots=True)
class Side:
    """All figures of one side, and what they were measured on."""

    name: str
    entries: Mapping[Key, Entry]
    hardware: Mapping[str, Any]
    software: Mapping[str, Any]
    decides_memory: tuple[Any, ...]
    """What the memory of a process depends on."""
    trials: int
    red: int
    marks: frozenset[str]
    """Of all valid trials."""
    skipped: int = 0
    left_out: int = 0
    """Valid trials of kinds that are not compared: building blocks, probes, limits."""
    ceiling_per_s: float | None = None
    """What a null client got from the server before the trials: the negative control."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What the two sides do not agree in."""

    name: str
    base: str
    head: str


def of_rows(name: str, rows: Sequence[Row], machine: Mapping[str, Any]) -> Side:
    """Return a run's side of a comparison, from its rows and its ``machine.json``."""
    ceilings = [value for row in rows if (value := number(row.server.ceiling_per_s)) is not None]
    return Side(
        name=name,
        entries=_timed(c.cells(rows, "crawl")) | _memory(c.cells(rows, "memory")),
        hardware={key: machine.get(key) for key in HARDWARE},
        software=_software(machine, rows),
        decides_memory=tuple(machine.get(key) for key in _DECIDES_MEMORY),
        trials=len(rows),
        red=sum(not row.valid and row.status != "skipped" for row in rows),
        marks=_marks(rows),
        skipped=sum(row.status == "skipped" for row in rows),
        left_out=sum(row.valid and row.kind not in c.CRAWLED for row in rows),
        ceiling_per_s=statistics.median(ceilings) if ceilings else None,
    )


def sample(values: Sequence[Any]) -> Sample | str:
    """Return the sample of at least one figure; a sentence if one of them has no logarithm, or there is none."""
    numbers = [found for value in values if (found := number(value)) is not None]
    if not numbers or len(numbers) < len(values):
        return "a figure is no positive number" if values else "no figure"
    logs = [math.log(number) for number in numbers]
    variance = statistics.variance(logs) if len(set(numbers)) > 1 else 0.0 if len(numbers) > 1 else None
    return Sample(statistics.fmean(logs), variance, len(logs))


def differences(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return what two descriptions do not agree in, in the order of the first; what one does not know, differs."""
    names = [*base, *(name for name in head if name not in base)]
    return tuple(
        Difference(name, _told(name, base.get(name)), _told(name, head.get(name)))
        for name in names
        if not _alike(name, base.get(name), head.get(name))
    )


def number(value: Any) -> float | None:
    """Return a positive, finite number; None for anything else that a file may hold in its place."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < LARGEST:
        return None
    return float(value)


def _alike(name: str, base: Any, head: Any) -> bool:
    one, other = number(base), number(head)
    if name == "memory_bytes" and one is not None and other is not None:
        return math.isclose(one, other, rel_tol=MEMORY_TOLERANCE)
    return bool(base == head)


def _told(name: str, value: Any) -> str:
    if value is None:
        return "none" if name == "neighbour" else "unknown"
    size = number(value) if name == "memory_bytes" else None
    return str(value) if size is None else units.size(size)


def _timed(found: Sequence[Cell]) -> dict[Key, Entry]:
    labels = _labels(found)
    entries = {}
    for cell in found:
        workload = cell.rows[0].workload
        seen = sensitivity(cell.rows) if all(map(_is_whole, cell.valid_rows)) else None
        for metric, read in ((CPU, c.cpu_per_page_ns), (THROUGHPUT, c.pages_per_s)):
            valid = cell.valid_rows
            entries[Key(cell.strategy, workload.id, metric)] = _entry(
                cell.rows,
                sample([read(row) for row in valid]) if valid else _why_none(cell.rows),
                labels[workload.id],
                f"{workloads.identity(workload)} {workload.arm.label if workload.arm else ''}",
                seen.low if seen is not None and metric == THROUGHPUT else None,
            )
    return entries


def _entry(
    rows: Sequence[Row], figure: Sample | Slope | str, label: str, asked_for: str, sensitivity: float | None = None
) -> Entry:
    skipped = sum(row.status == "skipped" for row in rows)
    red = sum(not row.valid for row in rows) - skipped
    return Entry(figure, label, red, asked_for, sensitivity, _marks(rows))


def _is_whole(row: Row) -> bool:
    """Tell whether a row has all that a sensitivity is made from: some figures may be zero, or absent."""
    return all(number(getattr(row.measured, key)) is not None for key in _FOR_SENSITIVITY[row.kind])


def _labels(found: Sequence[Cell]) -> dict[str, str]:
    """Return each workload in few words; by its id where these words would mean two."""
    short = {cell.rows[0].workload.id: _label(cell) for cell in found}
    texts = list(short.values())
    return {name: text if texts.count(text) == 1 else name for name, text in short.items()}


def _label(cell: Cell) -> str:
    connection = "" if cell.setting.connection == "keep-alive" else f", {cell.setting.connection}"
    latency = "0 ms" if cell.latency == "0" else units.latency(cell.latency)
    work = f", {units.latency(cell.cpu)} CPU work" if cell.cpu_ns else ""
    return f"{latency}{work}, {units.count(cell.in_flight)} in flight{connection}"


def _memory(found: Sequence[Cell]) -> dict[Key, Entry]:
    """Return the slopes of user memory: one for each strategy and setting."""
    groups: dict[tuple[str, c.Setting], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.strategy, cell.setting), []).append(cell)
    settings = sorted({setting for _, setting in groups})
    several = len({setting.connection for setting in settings}) < len(settings)
    entries = {}
    for (strategy, setting), own in groups.items():
        site = ",".join(f"{key}={value}" for key, value in sorted(setting.site_values().items()))
        which = f", site {settings.index(setting) + 1}" if several else ""
        rows = [row for cell in own for row in cell.rows]
        sizes = sorted({(cell.latency, cell.in_flight) for cell in own})
        entries[Key(strategy, f"memory/{setting.connection}/{site}", MEMORY)] = _entry(
            rows, _slope(rows), f"slope, {setting.connection}{which}", json.dumps(sizes)
        )
    return entries


def _slope(rows: Sequence[Row]) -> Slope | str:
    valid = [row for row in rows if row.valid]
    if not valid:
        return _why_none(rows)
    points = c.memory_points(valid)
    if not points or any(number(value) is None for point in points for value in point):
        return "no memory was read" if not points else "a figure is no positive number"
    found = memory_slope(*zip(*points, strict=True))
    if isinstance(found, NoSlope):
        return f"no slope: {found.reason}"
    return found if min(found.low, found.per_fetch) > 0 else "no slope: its interval holds 0"


def _marks(rows: Iterable[Row]) -> frozenset[str]:
    """Return a mark for each valid trial; a run of claims may hold trials of earlier runs, under other ids."""
    return frozenset(
        f"{row.run} {row.started_at} {json.dumps(plain_values(row.measured))}" for row in rows if row.valid
    )


def _why_none(rows: Iterable[Row]) -> str:
    """Say why a cell has no valid trial."""
    states = {row.status if row.status != "ok" else "red" for row in rows}
    return f"no valid trial ({', '.join(sorted(states))})"


def _software(machine: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    versions = machine.get("versions")
    knobs = [row.knobs for row in rows if isinstance(row.knobs, Knobs) and row.knobs]  # a swarm has those of many
    pinned = {str(own.cpus is not None) for own in knobs}
    return (
        {key: value for key, value in machine.items() if key not in _NOT_SOFTWARE}
        | {f"version of {name}": value for name, value in (versions if isinstance(versions, dict) else {}).items()}
        | {told: _together({str(getattr(own, key)) for own in knobs}) for told, key in _KNOBS.items()}
        | {"pinned to cores": _together(pinned)}
    )


def _together(values: Iterable[str]) -> str | None:
    return ", ".join(sorted(values)) or None
