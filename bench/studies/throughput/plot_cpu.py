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
USER, SYSTEM = Fill(name_looks.COLOURS[0]), Fill(name_looks.COLOURS[4], "///")
FAINT = 0.3
"""The opacity of invalid trials."""


def draw(found: Sequence[Cell], about: str, footer: str) -> "Sheet | None":
    """Draw the workload of the table of CPU per page; None if it has no CPU times."""
    every = bars_of(read.at(found, read.cpu_column(found)))
    if not every:
        return None
    bars, hidden = marks.fitting(every)
    notes = marks.notes(
        about,
        title.workload(every[0][0]),
        "CPU time of the whole client, in all of its processes. Bars: means over the rounds; whiskers: 95 % intervals.",
        len(every) > 1
        and any(cell.rows[0].kind == "arm" for cell, _ in every)
        and "Two intervals may overlap although the difference is significant: it is computed within each block.",
        labels.about_star([cell for cell, _ in every]),
        labels.about_parts(cell for cell, _ in every),
        any(not figure.valid for _, figure in every) and "Faint: invalid trials only, no basis for conclusions.",
        not _is_divided(every)
        and all(cell.rows[0].kind == "crawl" for cell, _ in every)
        and "Not divided into user and system time: there was too little CPU time to measure them.",
        marks.about_more([cell.strategy for cell, _ in hidden]),
    )
    sheet = page.sheet(title.of_cpu([cell for cell, _ in bars]), notes, footer, max(page.HEIGHT, 3 + BAR * len(bars)))
    width = labels.inches(sheet, [labels.starred(cell.strategy, cell.stack) for cell, _ in bars], page.TEXT)
    sheet.subplots_adjust(left=max(0.2, (0.3 + width) / page.WIDTH), right=0.9)
    panel(bars, sheet.subplots())
    return sheet


def bars_of(found: Sequence[Cell]) -> list[tuple[Cell, Figure]]:
    """Return the cells with a CPU time in drawing order: shared stack first, then the least CPU time."""
    bars = [(cell, figure) for cell in found if (figure := cell.figure(c.cpu_per_page_ns))]
    return sorted(bars, key=lambda bar: (bar[0].stack != "shared", bar[1].estimate))


def panel(bars: Sequence[tuple[Cell, Figure]], axes: "Axes") -> float:
    """Draw a bar for each cell with its interval, divided into user and system time if that is known of all.

    Undivided bars have the colours of their strategies. Return the padding of the axes' title in points, which leaves
    room for the key.
    """
    is_divided = _is_divided(bars)
    greatest_ns = max(_end_ns(figure) for _, figure in bars)
    scale, unit = (1e6, "ms") if greatest_ns >= 2e6 else (1e3, "µs")
    for place, (cell, figure) in enumerate(bars):
        whole, user = figure.estimate / scale, user_share(cell, figure)
        parts = [(whole, Fill(name_looks.look(cell.strategy).colour))]
        if is_divided and user is not None:
            parts = [(user * whole, USER), ((1 - user) * whole, SYSTEM)]
        marks.stacked(axes, place, parts, alpha=1.0 if figure.valid else FAINT)
        if figure.ends:
            marks.whisker(axes, place, whole, *(end / scale for end in figure.ends))
        text = units.duration(figure.estimate, figure.digits) + ("" if figure.valid else "  invalid")
        marks.beside(axes, text, _end_ns(figure) / scale, place)
    marks.name_rows(axes, [labels.starred(cell.strategy, cell.stack) for cell, _ in bars])
    axes.set_xlim(0, 1.16 * greatest_ns / scale)
    axes.set_xlabel(f"client CPU time per verified page ({unit})")
    return marks.key_above(axes, {"user: Python, libraries": USER, "system: kernel": SYSTEM} if is_divided else {})


def _end_ns(figure: Figure) -> float:
    """Return where a bar with its whisker ends; a whisker beyond twice the bar leaves the axes."""
    return min(figure.ends[1], 2 * figure.estimate) if figure.ends else figure.estimate


def _is_divided(bars: Sequence[tuple[Cell, Figure]]) -> bool:
    return all(user_share(*bar) is not None for bar in bars)


def user_share(cell: Cell, figure: Figure) -> float | None:
    """Return the share of user time in a cell's CPU time; None for arms, and if there is too little CPU time."""
    rows = cell.valid_rows if figure.valid else cell.invalid_rows
    user_ns, system_ns = (
        sum(getattr(row.measured, f"cpu_{kind}_ns", None) or 0 for row in rows) for kind in ("user", "system")
    )
    whole_ns = user_ns + system_ns
    return user_ns / whole_ns if whole_ns >= LEAST_SPLIT_NS else None
