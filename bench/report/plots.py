"""All plots of a run, as PNG and SVG. The title of each states its finding."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.present import page
from inflight.bench.present.name_looks import Look
from inflight.bench.report import provenance, studies
from inflight.bench.report.studies import Named
from inflight.bench.rows.files import Row


def save_all(rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write all plots into the folder, as ``.png`` and ``.svg``; return the files in order.

    Empty plots are not written. Raises OSError when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with page.settings():
        return [path for name, figure in figures(rows, machine) for path in page.save(figure, folder, name)]


def figures(rows: Sequence[Row], machine: dict[str, Any]) -> Iterator[Named]:
    """Draw these plots one after another, each with its name. Call and save them under ``page.settings()``."""
    yield from studies.plots(rows, looks_of(rows), provenance.source(rows, machine))


def looks_of(rows: Sequence[Row]) -> dict[str, Look]:
    """Return the looks of the strategies; of too many, those with the highest throughput."""
    swarms = [row for row in rows if row.kind == "swarm"]
    names = list(c.strategies([*c.cells(rows, "crawl"), *c.cells(rows, "memory")]) | c.strategies(swarms))
    if len(names) > page.MOST_LINES:
        best: dict[str, float] = dict.fromkeys(names, 0.0)
        for cell in c.cells(rows, "crawl"):
            rate = cell.valid_figure(c.pages_per_s)
            best[cell.strategy] = max(best[cell.strategy], rate.estimate if rate else 0.0)
        names = sorted(names, key=lambda name: (-best[name], name))[: page.MOST_LINES]
    return page.looks(names)
