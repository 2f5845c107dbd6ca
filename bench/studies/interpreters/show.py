"""The sections of interpreters: CPU time, throughput and memory of each strategy on each of them. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Group, Line, Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.interpreters import read
from inflight.bench.studies.interpreters.read import Matrix

_HEADS = ("interpreter", "version", "built", "global lock", "commit of its source")


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section for each workload that was crawled on several interpreters."""
    found = read.matrices(rows)
    if not found:
        return []
    tables = [table for matrix in found for table in _tables(matrix, where(matrix, found))]
    held = _memory(rows, found[0].interpreters)
    tables += [held] if held.lines else []
    first = found[0].interpreters[0]
    note = f"Ratios compare a strategy with itself on {first}, within the same blocks, with their 95 % intervals."
    told = tuple(_finding(found[0], label) for label in found[0].interpreters[1:])
    first_lines = tuple(_placebo(rows, found[0]))
    return [Section(title(found[0]), (*tables, _facts(rows)), (note,), first=first_lines, findings=told)]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object per strategy, interpreter and workload.

    ``cpu_per_page`` and ``pages_per_s`` are ratios to the first interpreter: ``estimate``, ``low`` and ``high``.
    """
    return [
        {
            "strategy": strategy,
            "interpreter": label,
            "reference": matrix.interpreters[0],
            "workload": cell.rows[0].workload.id,
            "cpu_per_page": _json(matrix.ratio(strategy, label, c.cpu_per_page_ns)),
            "pages_per_s": _json(matrix.ratio(strategy, label, c.pages_per_s)),
        }
        for matrix in read.matrices(rows)
        for (strategy, label), cell in matrix.cells.items()
    ]


def title(matrix: Matrix) -> str:
    """Return the finding: the significant change of CPU time on each interpreter, over the strategies."""
    first, *others = matrix.interpreters
    told = [f"{_changes(matrix, label)} with {label}" for label in others]
    return f"{_cpu_time(matrix)}, compared with {first}: {'; '.join(told)}"


def _finding(matrix: Matrix, label: str) -> str:
    """Return the finding on one interpreter."""
    return f"{_cpu_time(matrix)} with {label}, compared with {matrix.interpreters[0]}: {_changes(matrix, label)}."


def _cpu_time(matrix: Matrix) -> str:
    return f"CPU time per page{'' if next(iter(matrix.cells.values())).cpu_ns else ' without CPU work'}"


def _placebo(rows: Sequence[Row], matrix: Matrix) -> Iterator[str]:
    """Say how much one interpreter differs from itself."""
    found = {
        "CPU per page": read.placebo(rows, matrix, c.cpu_per_page_ns),
        "pages per second": read.placebo(rows, matrix, c.pages_per_s),
    }
    told = [f"{what} {_times(one)}" for what, one in found.items() if one is not None]
    if told and (reference := matrix.reference):
        yield f"{reference.strategy}, measured twice: {', '.join(told)} (placebo; the intervals should include 1)."


def _changes(matrix: Matrix, label: str) -> str:
    found = [matrix.ratio(name, label, c.cpu_per_page_ns) for name in matrix.strategies]
    known = [one for one in found if one is not None and math.isfinite(one.high)]
    if not known:
        return "unknown"
    sure = [one for one in known if not one.low <= 1 <= one.high]
    if not sure:
        return f"no significant difference in {units.count(len(known))} of {units.count(len(known))} strategies"
    low, high = (units.change(math.log(end(one.estimate for one in sure))) for end in (min, max))
    span = low if low == high else f"{low} to {high}"
    others = "" if len(sure) == len(known) else " (no significant difference in the others)"
    return f"{span} in {units.count(len(sure))} of {units.count(len(known))} strategies{others}"


def _tables(matrix: Matrix, place: str) -> list[Table]:
    return [
        _table(matrix, f"CPU per page{place}", c.cpu_per_page_ns, units.duration),
        _table(matrix, f"Pages per second{place}", c.pages_per_s, units.number),
    ]


def _table(matrix: Matrix, what: str, figure: c.Read, write: Callable[[float, int], str]) -> Table:
    first, *others = matrix.interpreters
    lines: list[Line] = []
    for whose in ("shared", "own"):
        own = [name for name in matrix.strategies if stack(matrix, name) == whose]
        lines += [Group("with an HTTP stack of their own")] if whose == "own" and own else []
        for name in own:
            ratios = [_ratio(matrix, name, label, figure) for label in others]
            lines.append((words.name(name), _value(matrix.cells.get((name, first)), figure, write), *ratios))
    heads = ("strategy", first, *(f"{label}, ratio (95 %)" for label in others))
    return Table(what, heads, tuple(lines), (), ("\nstrategy", f"\n{first}", *(f"{one}\nratio" for one in others)))


def stack(matrix: Matrix, strategy: str) -> str:
    """Return whose HTTP stack a strategy has."""
    return next(cell.stack for (name, _), cell in matrix.cells.items() if name == strategy)


def _value(cell: Cell | None, read_figure: c.Read, write: Callable[[float, int], str]) -> str:
    figure = None if cell is None else cell.figure(read_figure)
    if figure is None:
        return "-" if cell is None else next((row.status for row in cell.rows if row.status != "ok"), "-")
    return f"{write(figure.estimate, figure.digits)}{'' if figure.valid else '✗'}"


def _ratio(matrix: Matrix, strategy: str, label: str, figure: c.Read) -> str:
    found = matrix.ratio(strategy, label, figure)
    if found is None:
        cell = matrix.cells.get((strategy, label))
        return "-" if cell is None else next((row.status for row in cell.rows if row.status != "ok"), "-")
    return _times(found)


def _times(found: Interval) -> str:
    estimate = f"{found.estimate:.2f}x"
    return estimate if math.isinf(found.high) else f"{estimate} ({found.low:.2f} to {found.high:.2f})"


def _memory(rows: Sequence[Row], labels: Sequence[str]) -> Table:
    found = read.memory(rows)
    names = sorted({strategy for strategy, _ in found})
    lines = tuple((words.name(name), *(words.memory(found.get((name, one))) for one in labels)) for name in names)
    notes = ("Slopes over the number in flight, in all layers, ± half of their 95 % interval.",)
    return Table("Memory per additional fetch in flight", ("strategy", *labels), lines, notes)


def _facts(rows: Sequence[Row]) -> Table:
    """Return what each interpreter reported of itself."""
    found = read.samples(rows)
    lines = tuple(
        (
            words.plain(label, 30),
            str(c.knob(row, "python")),
            "free-threaded" if c.knob(row, "free_threaded") else "with the lock",
            "on" if c.knob(row, "gil") else "off",
            str(c.knob(row, "build") or "unknown"),
        )
        for label, row in sorted(found.items(), key=lambda item: read.interpreters(rows).index(item[0]))
    )
    return Table("The interpreters, as their workers reported them", _HEADS, lines)


def where(matrix: Matrix, found: Sequence[Matrix] = ()) -> str:
    """Return the workload of a matrix in words; the setting only if those of several matrices differ."""
    cell = matrix.workload
    told = f" {words.at_latency(cell.latency)}, {words.in_flight(cell.in_flight)}"
    names = c.setting_names(list(dict.fromkeys(one.workload.setting for one in found)))
    return told + (f", {words.plain(names[cell.setting], 80)}" if len(names) > 1 else "")


def _json(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    low, high = (interval.low, interval.high) if math.isfinite(interval.high) else (None, None)
    return {"estimate": interval.estimate, "low": low, "high": high, "blocks": interval.n}
