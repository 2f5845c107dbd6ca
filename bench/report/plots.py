"""All plots of a run, as PNG and SVG. Each states in its title what its data says; ``page`` has the look they share."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.core import cells as c
from bench.core.cells import Cell
from bench.core.rows import Row
from bench.present import page, provenance
from bench.present.name_looks import Look
from bench.studies.decision_map import plot as plot_map
from bench.studies.decision_map import show as map_table
from bench.studies.limits import plot as plot_ramp
from bench.studies.memory import plot_in_flight, plot_ladder, plot_layers, plot_memory
from bench.studies.memory.subjects import is_layered, subjects
from bench.studies.open_loop import plot as plot_offered
from bench.studies.swarm import plot as plot_swarm
from bench.studies.swarm.read import KIND as SWARM
from bench.studies.throughput import plot_cpu, plot_throughput, plot_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure | None"]

MOST_SETTINGS = 6
_CRAWL = (("throughput", plot_throughput.draw), ("times", plot_times.draw), ("cpu", plot_cpu.draw))
_MEMORY = (("memory", plot_memory.draw),)
_ONCE = {"times", "cpu"}
"""Not drawn again for each amount of CPU work: what work adds to them is that work."""


def save_all(rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write every plot that the rows allow into the folder, and return the files in order.

    Of crawls ``throughput``, ``times`` and ``cpu``, and before them ``map`` where they differ in latency and in CPU
    work; of memory trials and building blocks ``layers``, ``ladder`` and ``in_flight`` (``memory`` where no layers were
    read); of the thread limit ``ramp``; of swarms ``swarm`` and
    ``swarm_memory``; of open loops ``offered`` and ``backlog``: each as ``.png`` and ``.svg``.
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
    cells, layers = _of_cells(rows, looks, footer), _of_layers(rows, looks, footer)
    for drawn in (
        [("map", decided)],
        cells,
        layers,
        plot_swarm.plots(rows, looks, footer),
        plot_offered.plots(rows, looks, footer),
    ):
        for name, figure in drawn:
            if figure is not None:
                yield name, figure


def _of_cells(rows: Sequence[Row], looks: dict[str, Look], footer: str) -> Iterator[Named]:
    """Draw the crawls, and the user memory of rows that know no other layer."""
    crawl, memory = c.cells(rows, "crawl"), c.cells(rows, "memory")
    layered = {cell.setting for cell in memory if any(map(is_layered, cell.rows))}
    memory = [cell for cell in memory if cell.setting not in layered]
    for found, drawings in ((crawl, _CRAWL), (memory, _MEMORY)):
        settings = c.settings(found)
        told = [s for s in settings if _is_told(rows, [cell for cell in found if cell.setting == s])]
        for number, setting in enumerate(told[:MOST_SETTINGS], start=1):
            own = [cell for cell in found if cell.setting == setting]
            for name, draw in drawings:
                if name in _ONCE and setting.cpu_ns and settings[0] != setting:
                    continue
                subtitle = " ".join([_subtitle(setting, settings), "" if name == "cpu" else _about_grey(own, looks)])
                yield _numbered(name, number), draw(own, looks, subtitle, footer)


def _is_told(rows: Sequence[Row], own: Sequence[Cell]) -> bool:
    """Tell whether something can be said of these cells; where nothing in the run is valid, red trials are shown."""
    return any(cell.valid_rows for cell in own) or not any(row.valid for row in rows)


def _of_layers(rows: Sequence[Row], looks: dict[str, Look], footer: str) -> Iterator[Named]:
    """Draw memory in layers, the building blocks with the first setting; then what was in flight, and the ramp."""
    found = c.cells(rows, "memory")
    settings = c.settings(found)
    blocks = [row for row in rows if row.kind == "block"]
    subtitles: list[tuple[c.Setting | None, str]]
    subtitles = [(setting, _subtitle(setting, settings)) for setting in settings[:MOST_SETTINGS]] or [(None, "")]
    for number, (setting, subtitle) in enumerate(subtitles, start=1):
        crawls = [row for cell in found if cell.setting == setting for row in cell.rows]
        own = subjects([*(blocks if number == 1 else []), *crawls])
        yield _numbered("layers", number), plot_layers.draw(own, subtitle, footer)
        yield _numbered("ladder", number), plot_ladder.draw(own, looks, subtitle, footer)
    yield "in_flight", plot_in_flight.draw(found, looks, footer)
    yield "ramp", plot_ramp.draw(rows, footer)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _subtitle(setting: c.Setting, settings: Sequence[c.Setting]) -> str:
    """Name the use of connections, and what of the site is not the same in all settings."""
    differing = [f"{key} {value}" for key, value in c.differing(setting, settings).items()]
    return ", ".join([f"Connections: {setting.connection}", *differing]) + "."


def _about_grey(found: Sequence[Cell], looks: dict[str, Look]) -> str:
    grey = {cell.strategy for cell in found} - set(looks)
    return f"{len(grey)} more strategies are grey, without a name." if grey else ""


def looks_of(rows: Sequence[Row]) -> dict[str, Look]:
    """Give looks to the strategies; when they are too many to tell apart, to those with the highest throughput."""
    names = list(c.strategies([*c.crawled(rows), *(row for row in rows if row.kind == SWARM)]))
    if len(names) > page.MOST_LINES:
        best: dict[str, float] = dict.fromkeys(names, 0.0)
        for cell in c.cells(rows, "crawl"):
            best[cell.strategy] = max(best[cell.strategy], _rate(cell))
        names = sorted(names, key=lambda name: (-best[name], name))[: page.MOST_LINES]
    return page.looks(names)


def _rate(cell: Cell) -> float:
    figure = cell.figure(c.pages_per_s)
    return figure.spread.median if figure is not None and figure.valid else 0.0
