"""One side of a comparison of stored runs: its figures by cell, and the machine that they are from. Pure.

A side is read from the rows of a run, or from a file of pytest-benchmark
(``inflight.bench.studies.stored.benchmark_json``).
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units, workloads
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import NoSlope, Slope
from inflight.bench.frame.model import sensitivity
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Knobs
from inflight.bench.rows.values import plain_values

CPU, THROUGHPUT, MEMORY, WALL = "cpu_per_page_ns", "pages_per_s", "user_bytes_per_fetch", "wall_s"
METRICS = (CPU, WALL, THROUGHPUT, MEMORY)
TIMED = frozenset({CPU, THROUGHPUT, WALL})
HARDWARE = ("system", "machine", "cpu", "cores", "usable_cores", "memory_bytes", "neighbour")
"""Keys of ``machine.json`` that must agree before times can be compared."""
MEMORY_TOLERANCE = 0.05
"""Relative difference up to which memory sizes are the same: kernels reserve different shares of the memory."""
LARGEST = 1e300
"""Figures from here on are damage, not measurements."""
_DECIDES_MEMORY = ("system", "machine", "libc", "python")
_KNOBS = {"Python of the workers": "python", "global lock": "gil", "garbage collector on": "gc_enabled"}
_NOT_SOFTWARE = frozenset({*HARDWARE, "command", "versions"})


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Identify a figure: a strategy (or a benchmark), the id of its workload, and a metric."""

    subject: str
    workload: str
    metric: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The logarithms of a cell's figures, one per round: their mean, variance (None for one round) and number."""

    log_mean: float
    variance: float | None
    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure of one side, or the reason (text) why there is none."""

    figure: Sample | Slope | str
    label: str
    """Short name of the workload."""
    invalid: int
    workload: str = ""
    """The whole workload as JSON: the same id may mean another workload in another experiment."""
    sensitivity: float | None = None
    """Of a throughput: the least share of a slowdown in CPU time that it shows."""
    marks: frozenset[str] = frozenset()
    """A mark for each valid trial, made of all that it measured: to find trials that both sides have."""


@dataclass(frozen=True, slots=True)
class Side:
    """All figures of one side, and the machine and software that they were measured on."""

    name: str
    entries: Mapping[Key, Entry]
    hardware: Mapping[str, Any]
    software: Mapping[str, Any]
    decides_memory: tuple[Any, ...]
    """The values on which the memory of a process depends."""
    trials: int
    invalid: int
    marks: frozenset[str]
    """The marks of all valid trials."""
    skipped: int = 0
    left_out: int = 0
    """Valid trials of kinds that are not compared: idle threads and tasks, probes, limits."""
    ceiling_per_s: float | None = None
    """Throughput of a null client before the trials: the negative control."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value in which the two sides differ."""

    name: str
    base: str
    head: str


def of_rows(name: str, rows: Sequence[Row], machine: Mapping[str, Any]) -> Side:
    """Return a run's side of a comparison, from its rows and its ``machine.json``."""
    ceiling = c.spread_of(rows, lambda row: number(c.server_ceiling(row)))
    return Side(
        name=name,
        entries=_timed(c.cells(rows, "crawl")) | _memory(c.cells(rows, "memory")),
        hardware={key: machine.get(key) for key in HARDWARE},
        software=_software(machine, rows),
        decides_memory=tuple(machine.get(key) for key in _DECIDES_MEMORY),
        trials=len(rows),
        invalid=sum(not row.valid and row.status != "skipped" for row in rows),
        marks=_marks(rows),
        skipped=sum(row.status == "skipped" for row in rows),
        left_out=sum(row.valid and row.kind not in c.CRAWLED for row in rows),
        ceiling_per_s=ceiling.median if ceiling else None,
    )


def sample(values: Sequence[Any]) -> Sample | str:
    """Return the sample of some figures; the reason (text) if one of them has no logarithm, or there is none."""
    numbers = [found for value in values if (found := number(value)) is not None]
    if not numbers or len(numbers) < len(values):
        return "a figure is not a positive number" if values else "no figure"
    logs = [math.log(number) for number in numbers]
    one_value = 0.0 if len(logs) > 1 else None
    return Sample(fmean(logs), variance(logs) if len(set(numbers)) > 1 else one_value, len(logs))


def differences(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the values in which two descriptions differ, in the order of the first; an unknown value differs."""
    names = [*base, *(name for name in head if name not in base)]
    return tuple(
        Difference(name, _told(name, base.get(name)), _told(name, head.get(name)))
        for name in names
        if not _alike(name, base.get(name), head.get(name))
    )


def number(value: Any) -> float | None:
    """Return a positive, finite number as a float; None for any other value."""
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
        seen = sensitivity(cell.valid_rows)
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
    invalid = sum(not row.valid for row in rows) - skipped
    return Entry(figure, label, invalid, asked_for, sensitivity, _marks(rows))


def _labels(found: Sequence[Cell]) -> dict[str, str]:
    """Return a short name for each workload; its id where two workloads would have the same short name."""
    short = {cell.rows[0].workload.id: _label(cell) for cell in found}
    texts = list(short.values())
    return {name: text if texts.count(text) == 1 else name for name, text in short.items()}


def _label(cell: Cell) -> str:
    connection = "" if cell.setting.connection == "keep-alive" else f", {cell.setting.connection}"
    latency = "0 ms" if cell.latency == "0" else units.latency(cell.latency)
    work = f", {units.latency(cell.cpu)} CPU work" if cell.cpu_ns else ""
    return f"{latency}{work}, {units.count(cell.in_flight)} in flight{connection}"


def _memory(found: Sequence[Cell]) -> dict[Key, Entry]:
    """Return a slope of user memory for each strategy and setting."""
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
            rows, _slope(strategy, own), f"slope, {setting.connection}{which}", json.dumps(sizes)
        )
    return entries


def _slope(strategy: str, own: Sequence[Cell]) -> Slope | str:
    if not any(cell.valid_rows for cell in own):
        return _why_none([row for cell in own for row in cell.rows])
    found = c.memory_of(own, strategy)
    if isinstance(found, NoSlope):
        return f"no slope: {found.reason}"
    return found if min(found.low, found.per_fetch) > 0 else "no slope: its interval contains 0"


def _marks(rows: Iterable[Row]) -> frozenset[str]:
    """Return a mark for each valid trial; a run of claims may contain trials of earlier runs, under other ids."""
    return frozenset(
        f"{row.run} {row.started_at} {json.dumps(plain_values(row.measured))}" for row in rows if row.valid
    )


def _why_none(rows: Iterable[Row]) -> str:
    """Return the reason why a cell has no valid trial."""
    states = {row.status if row.status != "ok" else "invalid" for row in rows}
    return f"no valid trial ({', '.join(sorted(states))})"


def _software(machine: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    versions = machine.get("versions")
    knobs = [
        row.knobs for row in rows if isinstance(row.knobs, Knobs) and row.knobs
    ]  # those of a swarm are of many processes
    pinned = {str(own.cpus is not None) for own in knobs}
    return (
        {key: value for key, value in machine.items() if key not in _NOT_SOFTWARE}
        | {f"version of {name}": value for name, value in (versions if isinstance(versions, dict) else {}).items()}
        | {told: _together({str(getattr(own, key)) for own in knobs}) for told, key in _KNOBS.items()}
        | {"pinned to cores": _together(pinned)}
    )


def _together(values: Iterable[str]) -> str | None:
    return ", ".join(sorted(values)) or None
