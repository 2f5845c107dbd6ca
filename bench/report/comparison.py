"""The plots of a folder that holds comparisons: of one comparison, or of a self-test."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench.core.rows import Row
from bench.present import page
from bench.report.files import Extras
from bench.report.page_plots import Plot, of_figure
from bench.studies.clients import plot as plot_clients
from bench.studies.compare import plot as plot_comparison
from bench.studies.compare import read
from bench.studies.selftest import plot as plot_selftest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> list[Plot]:
    """Draw the blocks of a comparison, or those of a self-test; nothing without a good block."""
    if not any(row.of_comparison for row in rows):
        return []
    with page.settings():
        return [of_figure(name, figure) for name, figure in _figures(rows, machine, extras) if figure is not None]


def _figures(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> Iterator[tuple[str, "Figure | None"]]:
    if extras.selftest is not None:
        yield "selftest", plot_selftest.draw(extras.selftest, rows, machine)
        yield "clients", plot_clients.draw(rows, machine)
    elif (result := read.result(rows, extras.verdict)) is not None:
        yield "comparison", plot_comparison.draw(result, machine)
