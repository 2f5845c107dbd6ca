"""All plots of a run, as PNG and SVG. Each states in its title what its data says; ``page`` has the look they share."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.core import cells as c
from bench.core.cells import Cell
from bench.core.rows import Row
from bench.present import marks, page, provenance
from bench.present.name_looks import Look
from bench.studies.decision_map import plot as plot_map
from bench.studies.decision_map import show as map_table
from bench.studies.limits import plot as plot_ramp
from bench.studies.memory import plot as memory
from bench.studies.open_loop import plot_backlog, plot_offered
from bench.studies.swarm import findings as findings_swarms
from bench.studies.swarm import plot_memory as plot_swarm_memory
from bench.studies.swarm import plot_swarm
from bench.studies.swarm import read as swarms
from bench.studies.throughput import plot as throughput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure | None"]


def save_all(rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write every plot that the rows allow into the folder, and return the files in order.

    Of crawls ``throughput``, ``times`` and ``cpu``, and before them ``map`` where they differ in latency and in CPU
    work; of memory trials and building blocks ``layers``, ``ladder`` and ``in_flight``; of the thread limit ``ramp``;
    of swarms ``swarm`` and ``swarm_memory``; of open loops ``offered`` and ``backlog``: each as ``.png`` and ``.svg``.
    Where the trials differ in their use of connections or in their site, one set for each such setting:
    ``throughput-2`` and so on. A plot that would be empty is not written. Raises OSError when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    with page.settings():
        for name, figure in figures(rows, machine):
            paths += page.save(figure, folder, name)
    return paths


def figures(rows: Sequence[Row], machine: dict[str, Any]) -> Iterator[tuple[str, "Figure"]]:
    """Draw these plots one after another, each with its name; to be called and saved under ``page.settings()``."""
    footer = provenance.source(rows, machine)
    looks = looks_of(rows)
    decided = plot_map.draw(c.cells(rows, "crawl"), looks, footer) if map_table.is_map(rows) else None
    crawls, held = throughput.plots(rows, looks, footer), _of_memory(rows, looks, footer)
    for drawn in ([("map", decided)], crawls, held, _of_swarms(rows, looks, footer), _of_open_loops(rows, footer)):
        for name, figure in drawn:
            if figure is not None:
                yield name, figure


def _of_memory(rows: Sequence[Row], looks: dict[str, Look], footer: str) -> Iterator[Named]:
    yield from memory.plots(rows, looks, footer)
    yield "ramp", plot_ramp.draw(rows, footer)


def _of_swarms(rows: Sequence[Row], looks: dict[str, Look], footer: str) -> Iterator[Named]:
    """Draw the swarms of the first setting: one plot for each size that is somebody's largest, then what one takes."""
    found = swarms.swarms(rows)
    settings = swarms.settings(found)
    own = [swarm for swarm in found if swarm.setting in settings[:1]]
    more = f"{len(settings) - 1} more settings are in the tables only." if len(settings) > 1 else ""
    for number, some in enumerate(findings_swarms.by_size(own)[: marks.MOST_SETTINGS], start=1):
        yield marks.numbered("swarm", number), plot_swarm.draw(some, looks, more, footer)
    yield "swarm_memory", plot_swarm_memory.draw(own, looks, more, footer)


def _of_open_loops(rows: Sequence[Row], footer: str) -> Iterator[Named]:
    yield "offered", plot_offered.draw(rows, footer)
    yield "backlog", plot_backlog.draw(rows, footer)


def looks_of(rows: Sequence[Row]) -> dict[str, Look]:
    """Give looks to the strategies; when they are too many to tell apart, to those with the highest throughput."""
    names = list(c.strategies([*c.crawled(rows), *(row for row in rows if row.kind == swarms.KIND)]))
    if len(names) > page.MOST_LINES:
        best: dict[str, float] = dict.fromkeys(names, 0.0)
        for cell in c.cells(rows, "crawl"):
            best[cell.strategy] = max(best[cell.strategy], _rate(cell))
        names = sorted(names, key=lambda name: (-best[name], name))[: page.MOST_LINES]
    return page.looks(names)


def _rate(cell: Cell) -> float:
    figure = cell.figure(c.pages_per_s)
    return figure.spread.median if figure is not None and figure.valid else 0.0
