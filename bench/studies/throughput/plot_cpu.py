"""CPU time per page of the workload on which strategies are compared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.present import labels, marks, name_looks, page
from inflight.bench.present.marks import Fill
from inflight.bench.studies.throughput import read, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

BAR = 0.52
"""Inches per bar."""
LEAST_SPLIT_NS = 1_000_000_000
"""Least CPU time that is divided into user and system time. The kernel samples which of both it is at each timer tick,
often every 4 ms, so less time has too few samples."""
USER, SYSTEM, BOTH = Fill(name_looks.COLOURS[0]), Fill(name_looks.COLOURS[4], "///"), Fill(page.GREY)
"""Parts of a bar; ``BOTH`` where there is too little CPU time to divide."""
PALE = 0.3
"""The opacity of red trials."""


def draw(found: Sequence[Cell], about: str, footer: str) -> "Sheet | None":
    """Draw the workload of the table of CPU per page; None if it has no CPU times."""
    bars = bars_of(read.at(found, read.cpu_column(found)))
    if not bars:
        return None
    left_out = len(bars) - page.MOST_BARS
    notes = marks.notes(
        about,
        title.workload(bars[0][0]),
        "CPU time of the whole client process. Bars: means over the rounds; whiskers: 95 % intervals.",
        any(cell.stack != "shared" for cell, _ in bars) and "* with an HTTP stack of its own.",
        any(not figure.valid for _, figure in bars) and "Pale: red trials only, no basis for conclusions.",
        any(fill == BOTH for bar in bars for _, fill in _parts(*bar))
        and "Grey: too little CPU time to tell user from system time.",
        left_out > 0 and f"{left_out} more strategies are not shown.",
    )
    bars = bars[: page.MOST_BARS]
    sheet = page.sheet(title.of_cpu([cell for cell, _ in bars]), notes, footer, max(page.HEIGHT, 3 + BAR * len(bars)))
    sheet.subplots_adjust(left=0.2, right=0.9)
    panel(bars, sheet.subplots())
    return sheet


def bars_of(found: Sequence[Cell]) -> list[tuple[Cell, Figure]]:
    """Return the cells with a CPU time in drawing order: shared stack first, then the least CPU time."""
    bars = [(cell, figure) for cell in found if (figure := cell.figure(c.cpu_per_page_ns))]
    return sorted(bars, key=lambda bar: (bar[0].stack != "shared", bar[1].estimate))


def panel(bars: Sequence[tuple[Cell, Figure]], axes: "Axes") -> None:
    """Draw a bar for each cell, stacked of user and system time if these are known, with the interval of the sum."""
    greatest_ns = max(_end_ns(figure) for _, figure in bars)
    scale, unit = (1e6, "ms") if greatest_ns >= 2e6 else (1e3, "µs")
    for place, (cell, figure) in enumerate(bars):
        whole = figure.estimate / scale
        parts = [(share * whole, fill) for share, fill in _parts(cell, figure)]
        marks.stacked(axes, place, parts, alpha=1.0 if figure.valid else PALE)
        if figure.ends:
            marks.whisker(axes, place, whole, *(end / scale for end in figure.ends))
        text = units.duration(figure.estimate, figure.digits) + ("" if figure.valid else "  red")
        marks.beside(axes, text, _end_ns(figure) / scale, place)
    marks.name_rows(axes, [labels.starred(cell.strategy, cell.stack) for cell, _ in bars])
    axes.set_xlim(0, 1.16 * greatest_ns / scale)
    axes.set_xlabel(f"client CPU time per verified page ({unit})")
    if any(len(_parts(*bar)) > 1 for bar in bars):
        key = marks.patches({"user: Python and libraries": USER, "system: kernel, for this process": SYSTEM})
        place_of_key = (-0.005, 1.0)
        axes.legend(
            handles=key, loc="lower left", bbox_to_anchor=place_of_key, ncols=2, frameon=False, borderaxespad=0.3
        )


def _end_ns(figure: Figure) -> float:
    """Return where a bar with its whisker ends; a whisker beyond twice the bar leaves the axes."""
    return min(figure.ends[1], 2 * figure.estimate) if figure.ends else figure.estimate


def _parts(cell: Cell, figure: Figure) -> list[tuple[float, Fill]]:
    """Return the shares of user and system time in a cell's CPU time; arms do not divide it, and have their colour."""
    rows = cell.valid_rows if figure.valid else cell.red_rows
    if any(row.kind == "arm" for row in rows):
        return [(1.0, Fill(name_looks.look(cell.strategy).colour))]
    user_ns, system_ns = (
        sum(getattr(row.measured, f"cpu_{kind}_ns", None) or 0 for row in rows) for kind in ("user", "system")
    )
    if (whole_ns := user_ns + system_ns) < LEAST_SPLIT_NS:
        return [(1.0, BOTH)]
    return [(user_ns / whole_ns, USER), (system_ns / whole_ns, SYSTEM)]
