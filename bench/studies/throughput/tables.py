"""The tables of throughput: a line for each strategy, those of the shared stack first. Pure."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from inflight.bench.core import cells as c
from inflight.bench.core import retention, units
from inflight.bench.core.cells import Cell
from inflight.bench.core.retention import Retention
from inflight.bench.frame.statistics import CONFIDENCE
from inflight.bench.present import words
from inflight.bench.present.table import ONLY_INVALID, Group, Line, Table, texts
from inflight.bench.studies.throughput import read, title
from inflight.bench.studies.throughput.read import Column

MOST_CAPS = 5
"""Maximum number of columns of a table over the number in flight."""
SURE = units.percent(CONFIDENCE)


_HEADINGS = {"shared": "", "own": "with an HTTP stack of their own", "none": "parts of a page, for comparison"}
"""Headings of the lines of strategies by their stack, in this order."""


def costs(own: Sequence[Cell], where: str) -> Table:
    """Return the table of CPU per page and its ratio to the reference, on one workload."""
    cpu = read.cpu_column(own)
    here = read.at(own, cpu)
    reference = read.reference_of(here)
    ratio = f"ratio to {words.name(reference.strategy)} ({SURE})" if reference else "ratio"
    short = ("\nstrategy", "CPU\nper page", ratio.replace(" to ", " to\n", 1) if reference else "\nratio")
    lines = _lines(here, here, lambda one: (_value(one, c.cpu_per_page_ns, units.duration), _ratio(one, reference)))
    marks = _marks(lines, "no valid trials to compare")
    what = f"CPU per page {words.at_latency(cpu.latency)}, {words.in_flight(cpu.in_flight)}{where}"
    return Table(what, ("strategy", "CPU per page", ratio), lines, tuple(marks), short)


def rates(own: Sequence[Cell], where: str) -> Table:
    """Return the table of pages per second on several workloads."""
    columns, cpu = read.rate_columns(own), read.cpu_column(own)

    def entries(cell: Cell) -> tuple[str, ...]:
        return tuple(_rate(c.at(own, cell.strategy, *one)) for one in columns)

    lines = _lines(own, read.at(own, cpu), entries)
    return Table(
        f"Pages per second{where}",
        ("strategy", *(f"{units.latency(one.latency)}, {words.in_flight(one.in_flight)}" for one in columns)),
        lines,
        (*_marks(lines), *_left_out(own, [*columns, cpu])),
        ("added latency\nin flight", *(_short(one) for one in columns)),
    )


def _rate(cell: Cell | None) -> str:
    """Write a cell's throughput: as a lower bound if the server was full, and with the latency that was served."""
    text = _value(cell, c.pages_per_s, units.number)
    if cell is None:
        return text
    served_ns = c.served_latency_ns(cell)
    late = f" at {units.duration(served_ns, 2)}" if served_ns else ""
    return f"{c.AT_LEAST if c.is_bounded(cell) else ''}{text}{late}"


def over_in_flight(own: Sequence[Cell], kept: Sequence[Retention], where: str) -> tuple[Table, Table]:
    """Return the table of retention, and the table of CPU per page over the number in flight."""
    return _retention(kept, where), _costs_over(retention.swept(own), where)


def _retention(kept: Sequence[Retention], where: str) -> Table:
    order = {one.strategy: place for place, one in enumerate(kept)}
    by_name = {one.strategy: one for one in kept}
    lines = _grouped([one.most for one in kept], order, lambda cell: _kept(by_name[cell.strategy]))
    return Table(
        f"Retention: pages per second with the most in flight over those at the best number in flight{where}",
        ("strategy", "best in flight", "pages/s there", "most in flight", "pages/s with most", f"retention ({SURE})"),
        lines,
        _about_failed(kept),
        (
            *("\nstrategy", "best\nin flight", "\npages/s", "most\nin flight", "\npages/s"),
            f"retention\n({SURE})",
        ),
    )


def _kept(one: Retention) -> tuple[str, ...]:
    return (
        units.count(one.best.in_flight),
        _value(one.best, c.pages_per_s, units.number),
        units.count(one.most.in_flight) + ("*" if one.failed else ""),
        _value(one.most, c.pages_per_s, units.number),
        title.kept(one),
    )


def _about_failed(kept: Sequence[Retention]) -> tuple[str, ...]:
    failed = [f"{words.name(one.strategy)} ({_numbers(one.failed)})" for one in kept if one.failed]
    return (f"*: no valid figure with more in flight: {words.listed(failed)}.",) if failed else ()


def _costs_over(found: Sequence[Cell], where: str) -> Table:
    """Return the table of CPU per page over the number in flight, without added latency."""
    caps = c.evenly(c.caps(found, found[0].latency), MOST_CAPS)
    columns = [Column(found[0].latency, cap) for cap in caps]

    def entries(cell: Cell) -> tuple[str, ...]:
        return tuple(_value(c.at(found, cell.strategy, *one), c.cpu_per_page_ns, units.duration) for one in columns)

    lines = _lines(found, read.at(found, read.cpu_column(found)), entries)
    return Table(
        f"CPU per page over the number in flight{where}",
        ("strategy", *(words.in_flight(cap) for cap in caps)),
        lines,
        (*_marks(lines), *_left_out(found, columns)),
        ("\nstrategy", *(f"{units.count(cap)}\nin flight" for cap in caps)),
    )


def _lines(
    found: Sequence[Cell], order_by: Sequence[Cell], entries: Callable[[Cell], tuple[str, ...]]
) -> tuple[Line, ...]:
    """Return a line for each strategy, the shared stack first, the one with the least CPU per page first."""
    costs = {cell.strategy: read.cpu_ns(cell) for cell in order_by}
    firsts = {cell.strategy: cell for cell in reversed(found)}
    return _grouped(firsts.values(), costs, entries)


def _grouped(
    found: Iterable[Cell], order: Mapping[str, float], entries: Callable[[Cell], tuple[str, ...]]
) -> tuple[Line, ...]:
    """Return a line for each cell, the shared stack first, then by ``order``; one stack alone has no heading."""
    cells = sorted(
        found, key=lambda one: (list(_HEADINGS).index(one.stack), order.get(one.strategy, math.inf), one.strategy)
    )
    is_mixed = len({cell.stack for cell in cells}) > 1
    lines: list[Line] = []
    for stack, own in groupby(cells, key=lambda cell: cell.stack):
        lines += [Group(_HEADINGS[stack])] if stack != "shared" and is_mixed else []
        lines += [(words.plain(cell.strategy, 60), *entries(cell)) for cell in own]
    return tuple(lines)


def _value(cell: Cell | None, figure_of: c.Read, write: Callable[[float, int], str]) -> str:
    """Write a figure with half of its interval, and a mark if its trials are invalid; without a figure, the status."""
    if cell is None:
        return "-"
    figure = cell.figure(figure_of)
    if figure is None:
        return next((row.status for row in cell.rows if row.status != "ok"), "-")
    text = write(figure.estimate, figure.digits)
    interval = words.WIDE if figure.is_wide else f"±{units.number(figure.half * 100, 1)} %"
    off = f" {interval}" if figure.ends else ""
    return f"{text}{off}{'' if figure.valid else '✗'}"


def _ratio(cell: Cell, reference: Cell | None) -> str:
    if cell is reference:
        return "reference"
    found = c.ratio(cell, reference, c.cpu_per_page_ns) if reference else None
    if found is None:
        return "-"
    estimate = f"{_times(found.estimate)}x"
    return estimate if math.isinf(found.high) else f"{estimate} ({_times(found.low)} to {_times(found.high)})"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else units.number(ratio, 3)


def _marks(lines: Sequence[Line], dash: str = "not measured") -> list[str]:
    """Explain the marks in the lines; ``dash`` is what a dash means."""
    entries = [entry for line in lines if not isinstance(line, Group) for entry in texts(line)[1:]]
    told = [ONLY_INVALID] if any("✗" in entry for entry in entries) else []
    told += [f"{c.AT_LEAST}: the server was full."] if any(c.AT_LEAST in entry for entry in entries) else []
    told += ["at 12 ms: the latency that was served."] if any(" at " in entry for entry in entries) else []
    return [*told, f"-: {dash}."] if "-" in entries else told


def _left_out(own: Sequence[Cell], shown: Sequence[Column]) -> list[str]:
    """Name the measured workloads without a column."""
    columns = {(column.latency, column.in_flight) for column in shown}
    own = [cell for cell in own if cell.figure(c.pages_per_s)]
    left = [
        f"{_numbers(caps)} in flight {words.at_latency(latency)}"
        for latency in c.latencies(own)
        if (caps := [cap for cap in c.caps(own, latency) if (latency, cap) not in columns])
    ]
    return [f"Measured, but not in this table: {'; '.join(left)}."] if left else []


def _numbers(caps: Sequence[int]) -> str:
    """Write some numbers in flight, or the range of many."""
    texts = [units.count(cap) for cap in caps]
    return words.listed(texts) if len(texts) <= 5 else f"{texts[0]} to {texts[-1]} ({len(texts)} numbers)"


def _short(column: Column) -> str:
    return f"{'0 ms' if column.latency == '0' else units.latency(column.latency)}\n{units.count(column.in_flight)}"
