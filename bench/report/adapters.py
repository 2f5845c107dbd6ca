# ruff: noqa: D103
"""What ``bench.report.studies`` asks of a study, for those that do not have it themselves yet.

``<study>_sections``, ``<study>_figures`` and ``<study>_plots`` are used until the study's own module has the function.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.core import cells as c
from bench.core.cells import Cell, of_kind
from bench.core.figures import Slope
from bench.core.model import sensitivity
from bench.core.records.values import plain_values, whole_values
from bench.core.rows import Row
from bench.core.stats import Interval
from bench.present import words
from bench.present.name_looks import Look
from bench.present.section import Section
from bench.present.table import Group, Line, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure | None"]
Looks = Mapping[str, Look]
MOST_SETTINGS = 6


def _titled(text: str | None, tables: Sequence[Table] = ()) -> list[Section]:
    """Return a section with these tables, if there is anything in it."""
    told = "" if not text else text[0].upper() + text[1:]
    shown = tuple(table for table in tables if table.lines)
    return [Section(told, shown)] if told or shown else []


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


# Throughput


def throughput_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.throughput import show

    return [show.section(rows)] if c.is_timed(c.crawled(rows)) else []


def throughput_figures(rows: Sequence[Row]) -> dict[str, Any]:
    from bench.studies.throughput.read import contrasts, placebos

    found = placebos(contrasts(rows))
    return {
        "placebo": _contrast(found[0]) | {"noisy": found[0].is_noisy} if found else None,
        "ratios": [
            {"strategy": one.arm, "reference": one.reference} | _contrast(one) for one in contrasts(c.crawled(rows))
        ],
        "cells": [_cell(cell) for cell in c.cells(rows, "crawl")],
    }


def _contrast(one: Any) -> dict[str, Any]:
    interval = one.interval
    low, high = _bounds(interval) or (None, None)
    told = {"workload": one.workload.id, "estimate": interval.estimate, "low": low, "high": high}
    return told | {"blocks": interval.n}


def _bounds(interval: Interval) -> list[float] | None:
    return [interval.low, interval.high] if math.isfinite(interval.high) else None


def _cell(cell: Cell) -> dict[str, Any]:
    figure, found = _figure(cell, c.pages_per_s), sensitivity(cell.valid_rows)
    span = None if found is None else [found.low, found.high]
    return {
        "strategy": cell.strategy,
        "workload": cell.rows[0].workload.id,
        "latency": cell.latency,
        "mean_latency_ns": cell.mean_latency_ns,
        "cpu": cell.cpu,
        "in_flight": cell.in_flight,
        "connection": cell.setting.connection,
        "pages_per_s": None if figure is None else figure | {"sensitivity": span},
        "cpu_per_page_ns": _figure(cell, c.cpu_per_page_ns),
    }


def _figure(cell: Cell, read: c.Read) -> dict[str, Any] | None:
    figure = cell.figure(read)
    if figure is None:
        return None
    interval = figure.interval
    return figure.spread.told() | {"mean": interval.estimate, "interval": _bounds(interval), "valid": figure.valid}


_ONCE = {"times", "cpu"}
"""Not drawn again for each amount of CPU work: what work adds to them is that work."""


def throughput_plots(rows: Sequence[Row], looks: Looks, footer: str) -> Iterator[Named]:
    from bench.studies.throughput import plot_cpu, plot_throughput, plot_times

    drawings = (("throughput", plot_throughput.draw), ("times", plot_times.draw), ("cpu", plot_cpu.draw))
    yield from _per_setting(rows, c.cells(rows, "crawl"), drawings, looks, footer)


def _per_setting(
    rows: Sequence[Row], found: Sequence[Cell], drawings: Sequence[tuple[str, Any]], looks: Looks, footer: str
) -> Iterator[Named]:
    settings = c.settings(found)
    told = [s for s in settings if _is_told(rows, [cell for cell in found if cell.setting == s])]
    for number, setting in enumerate(told[:MOST_SETTINGS], start=1):
        own = [cell for cell in found if cell.setting == setting]
        for name, draw in drawings:
            if name in _ONCE and setting.cpu_ns and settings[0] != setting:
                continue
            grey = {cell.strategy for cell in own} - set(looks)
            about = f"{len(grey)} more strategies are grey, without a name." if grey and name != "cpu" else ""
            yield _numbered(name, number), draw(own, looks, f"{_subtitle(setting, settings)} {about}", footer)


def _is_told(rows: Sequence[Row], own: Sequence[Cell]) -> bool:
    """Tell whether something can be said of these cells; where nothing in the run is valid, red trials are shown."""
    return any(cell.valid_rows for cell in own) or not any(row.valid for row in rows)


def _subtitle(setting: c.Setting, settings: Sequence[c.Setting]) -> str:
    """Name the use of connections, and what of the site is not the same in all settings."""
    differing = [f"{key} {value}" for key, value in c.differing(setting, settings).items()]
    return ", ".join([f"Connections: {setting.connection}", *differing]) + "."


# Memory


def memory_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.memory import show

    return _titled("; ".join(_of_memory(rows)), show.grids(rows))


def _of_memory(rows: Sequence[Row]) -> Iterator[str]:
    """Say what one more thing costs: a building block, a fetch in flight; or how many fetches were held at once."""
    from bench.studies.memory import findings
    from bench.studies.memory.plot_in_flight import reaches_of
    from bench.studies.memory.subjects import BLOCKS, IN_FLIGHT, subjects
    from bench.studies.memory.summary import tops

    found = [cell for cell in c.cells(rows, "memory") if cell.valid_rows]
    models = [cell for cell in found if cell.stack == "shared"] or found
    settings = c.settings(models)
    own = [cell for cell in models if cell.setting == settings[0]]
    layered = subjects(
        [
            *(row for row in rows if row.kind == "block" and not row.of_comparison),
            *(r for cell in own for r in cell.rows),
        ]
    )
    groups = [[s for s in layered if s.group == group] for group in (BLOCKS, IN_FLIGHT)]
    texts = [findings.of_layers(some) for some in groups if any(map(_has_slope, some))]
    slopes = {name: ("shared", c.memory_of(own, name)) for name in c.strategies_of(own)}
    if not any(map(_has_slope, groups[1])) and any(isinstance(s, Slope) and s.straight for _, s in slopes.values()):
        texts.append(findings.of_user_memory(slopes))
    yield from texts
    if not texts and (held := tops(models)):
        number = max(cell.in_flight for cell in held)
        here = [cell for cell in held if cell.in_flight == number]
        yield findings.of_in_flight(number, reaches_of(here), len({cell.strategy for cell in here}))


def _has_slope(subject: Any) -> bool:
    slopes = (subject.cost.full, subject.cost.user)
    return any(isinstance(slope, Slope) and slope.straight and slope.per_fetch > 0 for slope in slopes)


def memory_figures(rows: Sequence[Row]) -> dict[str, Any]:
    from bench.studies.memory.summary import memory_json

    found = c.cells(rows, "memory")
    slopes = [
        (setting, name, c.memory_of(own, name))
        for setting in c.settings(found)
        if (own := [cell for cell in found if cell.setting == setting])
        for name in c.strategies_of(own)
    ]
    told = [
        {
            "strategy": name,
            "connection": setting.connection,
            "site": setting.site_values(),
            "slope": asdict(slope) if isinstance(slope, Slope) else None,
            "reason": None if isinstance(slope, Slope) else slope.reason,
        }
        for setting, name, slope in slopes
    ]
    rest = memory_json(rows)
    return {"memory": told, "layers": rest["layers"], "held": rest["held"]}


def memory_plots(rows: Sequence[Row], looks: Looks, footer: str) -> Iterator[Named]:
    from bench.studies.memory import plot_in_flight, plot_ladder, plot_layers, plot_memory
    from bench.studies.memory.subjects import is_layered, subjects

    found = c.cells(rows, "memory")
    layered = {cell.setting for cell in found if any(map(is_layered, cell.rows))}
    user = [cell for cell in found if cell.setting not in layered]
    yield from _per_setting(rows, user, (("memory", plot_memory.draw),), looks, footer)
    settings = c.settings(found)
    blocks = [row for row in rows if row.kind == "block"]
    subtitles: list[tuple[c.Setting | None, str]]
    subtitles = [(setting, _subtitle(setting, settings)) for setting in settings[:MOST_SETTINGS]] or [(None, "")]
    for number, (setting, subtitle) in enumerate(subtitles, start=1):
        crawls = [row for cell in found if cell.setting == setting for row in cell.rows]
        own = subjects([*(blocks if number == 1 else []), *crawls])
        yield _numbered("layers", number), plot_layers.draw(own, subtitle, footer)
        yield _numbered("ladder", number), plot_ladder.draw(own, dict(looks), subtitle, footer)
    yield "in_flight", plot_in_flight.draw(found, dict(looks), footer)


# Limits and probes


def limits_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.limits import show

    threads = [row for row in of_kind(rows, "limit") if row.valid and row.strategy == "threads"]
    return _titled(show.of_ramp(threads[0].measured) if threads else None, [show.grid(rows)])


def limits_figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"resource": row.strategy, "valid": row.valid} | whole_values(row.measured) for row in of_kind(rows, "limit")
    ]


def limits_plots(rows: Sequence[Row], _looks: Looks, footer: str) -> Iterator[Named]:
    from bench.studies.limits import plot

    yield "ramp", plot.draw(rows, footer)


def probes_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.probes import grid

    return _titled(None, [grid.grid(rows), *_attributed(rows)])


def _attributed(rows: Sequence[Row]) -> Iterator[Table]:
    """Return a table of each block whose bytes a probe has followed."""
    from bench.studies.probes.show import attribution_lines

    title, lines = "", list[Line]()
    for line in [*attribution_lines(rows), ""]:
        if line.startswith("    "):
            size, _, what = line.strip().partition("  ")
            lines.append((what.strip(), size))
        elif line.startswith("  "):
            lines.append(Group(line.strip()))
        elif line:
            title = line
        elif lines:
            yield Table(title.capitalize(), ("what", "bytes each"), tuple(lines))
            lines = []


def probes_figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "probe": row.strategy,
            "arguments": row.workload.arguments,
            "valid": row.valid,
            "measured": plain_values(row.measured),
        }
        for row in of_kind(rows, "probe")
    ]


# Swarms, open loops, clients, comparisons


def swarm_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.swarm import findings, show

    grids = show.grids(rows)
    first, *more = list(findings.answer(rows)) if any(row.valid for row in rows if row.kind == "swarm") else [""]
    return [*_titled(first, grids), *(section for text in more for section in _titled(text))]


def swarm_figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    from bench.studies.swarm import show

    return show.swarms_json(rows)


def swarm_plots(rows: Sequence[Row], looks: Looks, footer: str) -> Iterator[Named]:
    from bench.studies.swarm import findings, plot_memory, plot_swarm, read

    found = read.swarms(rows)
    settings = read.settings(found)
    own = [swarm for swarm in found if swarm.setting in settings[:1]]
    more = f"{len(settings) - 1} more settings are in the tables only." if len(settings) > 1 else ""
    for number, some in enumerate(findings.by_size(own)[:MOST_SETTINGS], start=1):
        yield _numbered("swarm", number), plot_swarm.draw(some, dict(looks), more, footer)
    yield "swarm_memory", plot_memory.draw(own, dict(looks), more, footer)


def open_loop_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.open_loop import findings, read, show

    found = [curve for curve in read.curves(rows) if any(point.valid for point in curve.points)]
    return _titled(findings.answer(found) if found else None, show.grids(rows))


def open_loop_figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    from bench.studies.open_loop import show

    return show.offered_json(rows)


def open_loop_plots(rows: Sequence[Row], _looks: Looks, footer: str) -> Iterator[Named]:
    from bench.studies.open_loop import plot_backlog, plot_offered

    yield "offered", plot_offered.draw(rows, footer)
    yield "backlog", plot_backlog.draw(rows, footer)


def clients_sections(rows: Sequence[Row]) -> list[Section]:
    from bench.studies.clients import table

    return _titled(table.finding(rows), table.grids(rows))


def compare_sections(rows: Sequence[Row]) -> list[Section]:
    return _titled(_of_comparisons(rows))


def _of_comparisons(rows: Sequence[Row]) -> str | None:
    """Say what B changes against A in the comparison that has most blocks, with the intervals."""
    from bench.studies.compare import read
    from bench.studies.compare.decide import DESIGNED
    from bench.studies.compare.effect import effect, told

    found = [read.tally(read.blocks(own)).good for own in read.comparisons(rows).values()]
    good = max(found, key=len, default=())
    if not good:
        return None
    a, b = (words.plain(read.label(good[0], side), 40) for side in "AB")
    changes = [
        told(effect(name, own, DESIGNED.alpha))
        for name, own in read.gated_values(good).items()
        if len(set(own)) > 1 and all(map(math.isfinite, own))
    ]
    return f"over {len(good)} blocks, {b} (B) against {a} (A): {', '.join(changes) or 'no change that varies'}"
