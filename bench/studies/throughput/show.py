"""The sections of throughput: retention, CPU time per page with ratios, and pages per second. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import noise, retention, units
from inflight.bench.core.cells import Cell
from inflight.bench.core.model import sensitivity
from inflight.bench.core.retention import Retention
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.text_bars import Bars
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import findings, read, tables, title
from inflight.bench.studies.throughput.read import Contrast
from inflight.bench.studies.throughput.tables import SURE


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section on CPU time per page and one on pages per second; none without timed rows.

    If nothing but the number in flight differs, and there is no added latency, the first section is on retention.
    """
    found = c.cells(rows)
    if not found:
        return []
    names = c.setting_names(c.settings(found))
    each = [([cell for cell in found if cell.setting == one], words.plain(name, 80)) for one, name in names.items()]
    several = len(each) > 1
    costs, rates = (
        [make(own, f", {name}" if several else "") for own, name in each] for make in (tables.costs, tables.rates)
    )
    if not any(cell.valid_rows for cell in found):
        return [Section("", (*costs, *rates))]
    swept = [(own, name, kept) for own, name in each if (kept := retention.headline(own))]
    kept_tables = [
        table
        for cells, name, kept in swept
        for table in tables.over_in_flight(cells, kept, f", {name}" if several else "")
    ]
    own, name = each[0]
    where = f" ({name})" if several else ""
    told = tuple(filter(None, [about_blocks(found)]))
    placebo = tuple(filter(None, [about_placebo(rows)]))
    longest, is_said = findings.at_longest(own, where)
    against_one = findings.against_one(own, where)
    return [
        *(
            Section(title.of_retention(kept) + (f" ({name})" if several else ""), tuple(kept_tables))
            for _, name, kept in swept[:1]
        ),
        _told(
            Section(title.of_cpu(read.at(own, read.cpu_column(own))) + where, tuple(costs), first=placebo),
            findings.at_shortest(own, where),
            findings.order(own, where),
            own=findings.of_cpu(own),
            bars=findings.bars(own, where),
        ),
        _told(
            Section("" if is_said else title.of_rates(own) + where, tuple(rates), told),
            against_one,
            longest,
            own="" if against_one else None,
        ),
    ]


def _told(one: Section, *first: str, own: str | None = None, bars: Bars | None = None) -> Section:
    """Return a section with these findings, without empty ones; ``own`` is its title by default."""
    title = one.found if own is None else (own,)
    return replace(one, findings=tuple(filter(None, (*first, *title))), bars=bars)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of the timed trials as JSON values; durations in nanoseconds."""
    found = read.contrasts(c.crawled(rows))
    placebo = next(iter(read.placebos(read.contrasts(rows))), None)
    return {
        "placebo": None if placebo is None else _contrast_json(placebo) | {"noisy": noise.is_noisy(rows)},
        "ratios": [{"strategy": one.arm, "reference": one.reference} | _contrast_json(one) for one in found],
        "cells": [_cell_json(cell) for cell in c.cells(rows)],
        "retention": [_retention_json(one) for one in retention.of_rows(rows)],
    }


def _retention_json(one: Retention) -> dict[str, Any]:
    estimate, ends = one.share, one.ends
    return {
        "strategy": one.strategy,
        "connection": one.most.setting.connection,
        "best_in_flight": one.best.in_flight,
        "in_flight": one.most.in_flight,
        "estimate": estimate,
        "interval": ends and list(ends),
        "rounds": one.rounds,
        "failed": list(one.failed),
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


FEW = 3
"""With at most this many rounds, the t interval is more than twice as wide as the same spread would give with many."""


def about_placebo(rows: Sequence[Row]) -> str | None:
    """Say how much the same code, measured twice, differs; None if no block has a placebo."""
    found = _placebo(rows)
    if found is None:
        return None
    interval = found.interval
    told = "The same code, measured twice, differs in CPU time per page by"
    off = f"{told} {units.change(math.log(interval.estimate))}"
    if math.isinf(interval.high):
        return f"{off} (one block: its interval is unknown)."
    between = units.change_between(math.log(interval.low), math.log(interval.high))
    return f"{off} ({SURE} interval {between})."


def _placebo(rows: Sequence[Row]) -> Contrast | None:
    """Return the first placebo; None if no block has one."""
    return next(iter(read.placebos(read.contrasts(rows))), None)


def about_blocks(found: Sequence[Cell]) -> str:
    """Say what the figures are, and the number of blocks."""
    numbers = sorted({figure.rounds for cell in found if (figure := cell.figure(c.cpu_per_page_ns))})
    if not numbers:
        return ""
    what = "block" if any(row.kind == "arm" for cell in found for row in cell.rows) else "round"
    many = f"{numbers[0]} to {numbers[-1]} {what}s" if len(numbers) > 1 else f"{numbers[0]} {what}s"
    if numbers[-1] == 1:
        return f"One {what}: the noise is unknown, so two digits are shown."
    few = f" Few {what}s make wide intervals; --rounds sets their number." if numbers[0] <= FEW else ""
    return f"Means over {many}, ± half of their {SURE} interval; ratios compare strategies of one {what}.{few}"
