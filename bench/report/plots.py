"""All plots of a run, as PNG and SVG."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from inflight.bench.present import page
from inflight.bench.rows.files import Row
from inflight.bench.show import folder as provenance
from inflight.bench.show.studies import Named, Studies


def save_all(
    rows: Sequence[Row], machine: dict[str, Any], folder: Path, only: Collection[str] | None = None
) -> list[Path]:
    """Write all plots, or those of some studies, into the folder, as ``.png`` and ``.svg``; return the files in order.

    Empty plots are not written. Raises OSError when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with page.settings():
        return [path for name, figure in figures(rows, machine, only) for path in page.save(figure, folder, name)]


def figures(rows: Sequence[Row], machine: dict[str, Any], only: Collection[str] | None = None) -> Iterator[Named]:
    """Draw these plots one after another, each with its name. Call and save them under ``page.settings()``."""
    yield from Studies(rows).plots(provenance.source(rows, machine), only)
