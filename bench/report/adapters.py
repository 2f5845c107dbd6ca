# ruff: noqa: D103
"""What ``bench.report.studies`` asks of a study, for those that do not have it themselves yet.

``<study>_sections``, ``<study>_figures`` and ``<study>_plots`` are used until the study's own module has the function.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.core.cells import of_kind
from bench.core.records.values import plain_values, whole_values
from bench.core.rows import Row
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
