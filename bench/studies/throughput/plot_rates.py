"""Pages per second of many strategies with one number in flight, as bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import labels, marks, name_looks, page
from inflight.bench.present.marks import Fill
from inflight.bench.studies.throughput import plot_cpu, read, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet


def draw(found: Sequence[Cell], about: str, footer: str) -> "Sheet":
    """Draw the throughput at the longest latency; the cells have one number in flight at each latency."""
    here = read.at(found, read.rate_columns(found)[-1])
    rates = [(cell, figure) for cell in here if (figure := cell.figure(c.pages_per_s))]
    every = sorted(rates, key=lambda bar: (bar[0].stack != "shared", -bar[1].estimate))
    bars, hidden = marks.fitting(every)
    notes = marks.notes(
        about,
        title.workload(here[0]),
        "Bars: means over the rounds; whiskers: 95 % intervals.",
        labels.about_star([cell for cell, _ in every]),
        labels.about_parts(cell for cell, _ in every),
        any(not figure.valid for _, figure in every) and "Faint: invalid trials only, no basis for conclusions.",
        marks.about_more([cell.strategy for cell, _ in hidden]),
    )
    names = [labels.starred(cell.strategy, cell.stack) for cell, _ in bars]
    sheet = page.sheet(title.of_rates(here), notes, footer, max(page.HEIGHT, 3 + plot_cpu.BAR * len(bars)))
    sheet.subplots_adjust(left=max(0.2, (0.3 + labels.inches(sheet, names, page.TEXT)) / page.WIDTH), right=0.9)
    axes = sheet.subplots()
    for place, (cell, figure) in enumerate(bars):
        fill = Fill(name_looks.look(cell.strategy).colour)
        marks.stacked(axes, place, [(figure.estimate, fill)], alpha=1.0 if figure.valid else plot_cpu.FAINT)
        if figure.ends:
            marks.whisker(axes, place, figure.estimate, *figure.ends)
        text = units.number(figure.estimate, figure.digits) + ("" if figure.valid else "  invalid")
        marks.beside(axes, text, max(figure.estimate, figure.ends[1] if figure.ends else 0), place)
    marks.name_rows(axes, names)
    axes.set_xlim(0, 1.16 * max(max(figure.estimate, (figure.ends or (0, 0))[1]) for _, figure in bars))
    axes.xaxis.set_major_formatter(lambda x, _: units.number_tick(x))
    axes.set_xlabel("verified pages per second")
    return sheet
