"""The sections of throughput: CPU time per page with ratios, and pages per second. Pure."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.arm import REFERENCE
from inflight.bench.core.cells import Cell, role
from inflight.bench.core.model import sensitivity
from inflight.bench.core.rows import Row
from inflight.bench.core.stats import CONFIDENCE
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Group, Line, Table, texts
from inflight.bench.studies.throughput import read, title
from inflight.bench.studies.throughput.read import NOISY, Column, Contrast

SURE = f"{CONFIDENCE * 100:.0f} %"


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section on CPU time per page and one on pages per second; none without timed rows."""
    found = c.cells(rows)
    if not found:
        return []
    names = c.setting_names(c.settings(found))
    each = [([cell for cell in found if cell.setting == one], words.plain(name, 80)) for one, name in names.items()]
    several = len(each) > 1
    costs, rates = ([make(own, f", {name}" if several else "") for own, name in each] for make in (_costs, _rates))
    if not any(cell.valid_rows for cell in found):
        return [Section("", (*costs, *rates))]
    own, name = each[0]
    where = f" ({name})" if several else ""
    told = tuple(filter(None, [about_blocks(found), *about_disturbed(rows)]))
    placebo = tuple(filter(None, [about_placebo(rows)]))
    return [
        Section(title.of_cpu(read.at(own, read.cpu_column(own))) + where, tuple(costs), first=placebo),
        Section(title.of_rates(own) + where, tuple(rates), told),
    ]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of the timed trials as JSON values; durations in nanoseconds."""
    found = read.contrasts(c.crawled(rows))
    placebo = next(iter(read.placebos(read.contrasts(rows))), None)
    return {
        "placebo": None if placebo is None else _contrast_json(placebo) | {"noisy": placebo.is_noisy},
        "ratios": [{"strategy": one.arm, "reference": one.reference} | _contrast_json(one) for one in found],
        "cells": [_cell_json(cell) for cell in c.cells(rows)],
    }


def _contrast_json(one: Contrast) -> dict[str, Any]:
    interval = one.interval
    low, high = (interval.low, interval.high) if math.isfinite(interval.high) else (None, None)
    told = {"workload": one.workload.id, "estimate": interval.estimate, "low": low, "high": high}
    return told | {"blocks": interval.n}


def _cell_json(cell: Cell) -> dict[str, Any]:
    rate, moves = _figure_json(cell, c.pages_per_s), sensitivity(cell.valid_rows)
    return {
        "strategy": cell.strategy,
        "workload": cell.rows[0].workload.id,
        "latency": cell.latency,
        "mean_latency_ns": cell.mean_latency_ns,
        "cpu": cell.cpu,
        "in_flight": cell.in_flight,
        "connection": cell.setting.connection,
        "pages_per_s": rate and rate | {"sensitivity": moves and [moves.low, moves.high]},
        "cpu_per_page_ns": _figure_json(cell, c.cpu_per_page_ns),
    }


def _figure_json(cell: Cell, figure_of: c.Read) -> dict[str, Any] | None:
    figure = cell.figure(figure_of)
    if figure is None:
        return None
    ends = figure.ends and list(figure.ends)
    return {"mean": figure.estimate, "interval": ends, "rounds": figure.rounds, "valid": figure.valid}


def about_placebo(rows: Sequence[Row]) -> str | None:
    """Say how much the same code, measured twice, differs; None if no block has a placebo."""
    found = read.placebos(read.contrasts(rows))
    if not found:
        return None
    interval = found[0].interval
    off = f"The same code, measured twice, differs by {_percent(interval.estimate)} %"
    if math.isinf(interval.high):
        return f"{off} (one block: its interval is unknown)."
    sentence = f"{off} ({SURE}: {_percent(interval.low)} to {_percent(interval.high)} %)."
    if not found[0].is_noisy:
        return sentence
    return f"{sentence} This run is noisy: identical code may differ by more than {NOISY * 100:.0f} %."


def about_disturbed(rows: Sequence[Row]) -> list[str]:
    """Say how many cycles were disturbed by other programs."""
    blocks = [block[0].measured for block in read.blocks(rows)]
    disturbed = sum(one.disturbed or 0 for one in blocks)
    if not disturbed:
        return []
    cycles = sum(len(one.windows) for one in blocks)
    told = f"Other programs disturbed {units.count(disturbed)} of {units.count(cycles)} cycles"
    return [f"{told}; all strategies take turns in each, and all cycles count."]


def about_blocks(found: Sequence[Cell]) -> str:
    """Say what the figures are, and the number of blocks."""
    numbers = sorted({figure.rounds for cell in found if (figure := cell.figure(c.cpu_per_page_ns))})
    if not numbers:
        return ""
    what = "block" if any(row.kind == "arm" for cell in found for row in cell.rows) else "round"
    many = f"{numbers[0]} to {numbers[-1]} {what}s" if len(numbers) > 1 else f"{numbers[0]} {what}"
    if numbers[-1] == 1:
        return f"One {what}: the noise is unknown, so two digits are shown."
    plural = "" if len(numbers) > 1 or numbers[0] == 1 else "s"
    return f"Means over {many}{plural}, ± half of their {SURE} interval; ratios compare strategies of one {what}."


# The tables


def _costs(own: Sequence[Cell], where: str) -> Table:
    """Return the table of CPU per page and its ratio to the reference, on one workload."""
    cpu = read.cpu_column(own)
    here = read.at(own, cpu)
    reference = reference_of(here)
    ratio = f"ratio to {words.name(reference.strategy)} ({SURE})" if reference else "ratio"
    short = ("\nstrategy", "CPU\nper page", ratio.replace(" to ", " to\n", 1) if reference else "\nratio")
    lines = _lines(here, here, lambda one: (_value(one, c.cpu_per_page_ns, units.duration), _ratio(one, reference)))
    what = f"CPU per page {words.at_latency(cpu.latency)}, {words.in_flight(cpu.in_flight)}{where}"
    return Table(what, ("strategy", "CPU per page", ratio), lines, tuple(_marks(lines)), short)


def _rates(own: Sequence[Cell], where: str) -> Table:
    """Return the table of pages per second on several workloads."""
    columns, cpu = read.rate_columns(own), read.cpu_column(own)

    def entries(cell: Cell) -> tuple[str, ...]:
        return tuple(_value(c.at(own, cell.strategy, *one), c.pages_per_s, units.number) for one in columns)

    lines = _lines(own, read.at(own, cpu), entries)
    return Table(
        f"Pages per second{where}",
        ("strategy", *(f"{units.latency(one.latency)}, {words.in_flight(one.in_flight)}" for one in columns)),
        lines,
        (*_marks(lines), *_left_out(own, [*columns, cpu])),
        ("added latency\nin flight", *(_short(one) for one in columns)),
    )


_HEADINGS = {"shared": "", "own": "with an HTTP stack of their own", "none": "no models, but parts of a page"}
"""Of the lines of strategies by their stack, in this order."""


def _lines(
    found: Sequence[Cell], order_by: Sequence[Cell], entries: Callable[[Cell], tuple[str, ...]]
) -> tuple[Line, ...]:
    """Return a line for each strategy, the shared stack first, the one with the least CPU per page first."""
    costs = {cell.strategy: _cpu_ns(cell) for cell in order_by}
    firsts = {cell.strategy: cell for cell in reversed(found)}
    order = sorted(
        firsts.values(),
        key=lambda one: (list(_HEADINGS).index(one.stack), costs.get(one.strategy, math.inf), one.strategy),
    )
    lines: list[Line] = []
    for stack, cells in groupby(order, key=lambda cell: cell.stack):
        lines += [Group(_HEADINGS[stack])] if _HEADINGS[stack] else []
        lines += [(words.plain(cell.strategy, 60), *entries(cell)) for cell in cells]
    return tuple(lines)


def reference_of(found: Sequence[Cell]) -> Cell | None:
    """Return the cell that others are compared with: the reference arm, or else callbacks, or else the cheapest."""
    good = [cell for cell in found if cell.valid_rows]
    named = [cell for cell in good if role(cell.valid_rows[0]) == "reference"]
    named = named or [cell for cell in good if cell.strategy == REFERENCE]
    named = named or sorted(good, key=lambda cell: (cell.stack != "shared", _cpu_ns(cell)))
    return named[0] if named else None


def _value(cell: Cell | None, figure_of: c.Read, write: Callable[[float, int], str]) -> str:
    """Write a figure with half of its interval, and a mark if it is from red trials; without a figure, the status."""
    if cell is None:
        return "-"
    figure = cell.figure(figure_of)
    if figure is None:
        return next((row.status for row in cell.rows if row.status != "ok"), "-")
    half = figure.half
    text = write(figure.estimate, figure.digits)
    off = "" if math.isinf(half) else f" ±{units.number(half * 100, 1)} %" if half < 1 else " (±>100 %)"
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


def _marks(lines: Sequence[Line]) -> list[str]:
    """Explain the marks in the lines."""
    entries = [entry for line in lines if not isinstance(line, Group) for entry in texts(line)[1:]]
    told = ["✗: from red trials only, and excluded from conclusions."] if any("✗" in entry for entry in entries) else []
    return [*told, "-: not measured."] if "-" in entries else told


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


def _cpu_ns(cell: Cell) -> float:
    figure = cell.valid_figure(c.cpu_per_page_ns)
    return figure.estimate if figure else math.inf


def _short(column: Column) -> str:
    return f"{'0 ms' if column.latency == '0' else units.latency(column.latency)}\n{units.count(column.in_flight)}"


def _percent(ratio: float) -> str:
    """Write the difference of a ratio from 1 in percent."""
    return f"{round((ratio - 1) * 100, 1) + 0.0:.1f}"  # adding 0 takes the sign from -0
