"""Plot 3: CPU time a page, user and system."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.core import cells as c
from bench.core import units
from bench.core.cells import Cell, Figure
from bench.core.columns import choose_columns
from bench.present import labels, name_looks, page, words
from bench.present.name_looks import Look
from bench.studies.throughput import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

BAR = 0.52
"""Inches a bar."""
LEAST_SPLIT_NS = 1_000_000_000
"""The kernel tells user from system time by looking at each tick of its timer, often 4 ms: less than about 250 ticks
say too little of how a cell's CPU time divides."""
USER: dict[str, Any] = {"facecolor": name_looks.COLOURS[0]}
SYSTEM: dict[str, Any] = {"facecolor": name_looks.COLOURS[4], "hatch": "///", "edgecolor": "white", "linewidth": 0}


def draw(found: Sequence[Cell], _looks: dict[str, Look], subtitle: str, footer: str) -> "Sheet | None":
    """Draw the workload of the headline's CPU column; None when it has no CPU times."""
    columns = [column for column in choose_columns(found) if column.measure == "cpu_per_page_ns"]
    names = sorted({cell.strategy for cell in found})
    here = [c.at(found, name, column.latency, column.in_flight) for column in columns for name in names]
    bars = [(cell, figure) for cell in here if cell and (figure := cell.figure(c.cpu_per_page_ns))]
    if not bars:
        return None
    bars.sort(key=lambda bar: (bar[0].stack != "shared", bar[1].spread.median))
    left_out = len(bars) - page.MOST_BARS
    notes = [
        subtitle,
        words.workload(bars[0][0]),
        "CPU time of the whole client process, crawl and all; bars: medians over the rounds; whiskers: all rounds.",
        "* with an HTTP stack of its own." if any(cell.stack != "shared" for cell, _ in bars) else "",
        "Pale: red trials only, no basis for conclusions." if any(not figure.valid for _, figure in bars) else "",
        "Grey: too little CPU time to tell user from system time."
        if any(user_share(*bar) is None for bar in bars)
        else "",
        f"{left_out} more strategies are not shown." if left_out > 0 else "",
    ]
    bars = bars[: page.MOST_BARS]
    title = findings.of_cpu([cell for cell, _ in bars])
    sheet = page.sheet(title, " ".join(notes), footer, max(page.HEIGHT, 3 + BAR * len(bars)))
    sheet.subplots_adjust(left=0.2, right=0.9)
    panel(bars, sheet.subplots())
    return sheet


def panel(bars: Sequence[tuple[Cell, Figure]], axes: "Axes") -> None:
    """Draw a stacked bar for each cell: user time, then system time, with the range of their sum."""
    greatest_ns = max(figure.spread.high for _, figure in bars)
    scale, unit = (1e6, "ms") if greatest_ns >= 2e6 else (1e3, "µs")
    for place, (cell, figure) in enumerate(bars):
        _bar(cell, figure, place, scale, axes)
        _total(figure, place, scale, axes)
    names = [labels.name_of(cell.strategy) + ("" if cell.stack == "shared" else " *") for cell, _ in bars]
    axes.set_yticks(range(len(bars)), names, size=page.TEXT)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.16 * greatest_ns / scale)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"client CPU time per verified page ({unit})")
    _legend(axes, can_split=any(user_share(cell, figure) is not None for cell, figure in bars))


def user_share(cell: Cell, figure: Figure) -> float | None:
    """Return which part of a cell's CPU time was user time; None when there was too little of it to tell."""
    rows = cell.valid_rows if figure.valid else cell.red_rows
    user, system = (sum(row.measured.get(f"cpu_{kind}_ns", 0) for row in rows) for kind in ("user", "system"))
    return user / (user + system) if user + system >= LEAST_SPLIT_NS else None


def _bar(cell: Cell, figure: Figure, place: int, scale: float, axes: "Axes") -> None:
    length, alpha = figure.spread.median / scale, 1.0 if figure.valid else 0.3
    share = user_share(cell, figure)
    if share is None:
        axes.barh(place, length, color=page.GREY, alpha=alpha, height=0.62)
        return
    user = share * length
    axes.barh(place, user, **USER, alpha=alpha, height=0.62)
    axes.barh(place, length - user, left=user, **SYSTEM, alpha=alpha, height=0.62)


def _total(figure: Figure, place: int, scale: float, axes: "Axes") -> None:
    s = figure.spread
    reach = [[(s.median - s.low) / scale], [(s.high - s.median) / scale]]
    axes.errorbar(s.median / scale, place, xerr=reach, color="black", capsize=5, linewidth=1.4, linestyle="none")
    axes.annotate(
        units.duration(s.median, words.digits(s)) + ("" if figure.valid else "  red"),
        (s.high / scale, place),
        xytext=(10, 0),
        textcoords="offset points",
        va="center",
        size=page.TEXT,
        weight="bold",
    )


def _legend(axes: "Axes", *, can_split: bool) -> None:
    from matplotlib.patches import Patch

    if not can_split:
        return
    handles = [
        Patch(**USER, label="user: Python and libraries"),
        Patch(**SYSTEM, label="system: kernel, for this process"),
    ]
    place = (-0.005, 1.0)
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=place, ncols=2, frameon=False, borderaxespad=0.3)
