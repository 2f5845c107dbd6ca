"""Plot 1: throughput over the number in flight, one panel a latency."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.core import cells as c
from bench.core import units
from bench.core.cells import Cell
from bench.core.columns import choose_caps
from bench.core.model import Fit, fit
from bench.present import labels, page, scales, words
from bench.present.labels import Label
from bench.present.name_looks import Look
from bench.studies.throughput import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
PANEL_HEIGHT = 5.6


def draw(found: Sequence[Cell], looks: dict[str, Look], subtitle: str, footer: str) -> "Figure | None":
    """Draw the cells of one setting; None when none of them has a throughput."""
    shown = c.fillable([cell for cell in found if cell.figure(c.pages_per_s)])
    if not shown:
        return None
    latencies = c.latencies(shown)
    panels = [latencies[n] for n in choose_caps(range(len(latencies)), MOST_PANELS)]
    rows = -(-len(panels) // 2)
    sheet = page.sheet(
        findings.of_throughput(shown),
        _subtitle(shown, panels, " ".join([subtitle, _about_pages(shown), _about_short(found, shown)])),
        footer,
        page.HEIGHT + (rows - 1) * PANEL_HEIGHT,
    )
    labels.share_width(sheet, min(2, len(panels)))
    sheet.subplots_adjust(hspace=0.3)
    grid = sheet.subplots(rows, min(2, len(panels)), squeeze=False)
    for axes in grid[:, 0]:
        axes.set_ylabel("verified pages per second (log scale)")
    ceiling = ceiling_of(shown)
    for n, axes in enumerate(grid.flat):
        if n < len(panels):
            panel([cell for cell in shown if cell.latency == panels[n]], looks, axes, ceiling)
        else:
            axes.set_axis_off()
    return sheet


def panel(found: Sequence[Cell], looks: dict[str, Look], axes: "Axes", ceiling: float | None) -> None:
    """Draw throughput over the number in flight for the cells of one latency, below the server's ceiling."""
    latency, mean_ns = found[0].latency, found[0].mean_latency_ns
    caps = c.caps(found, latency)
    rates = [rate for cell in found for rate in c.present(map(c.pages_per_s, (*cell.valid_rows, *cell.red_rows)))]
    heights = [*rates, *([ceiling] if ceiling else [])]
    ideal = [cap / mean_ns * 1e9 for cap in caps] if mean_ns else []
    scales.log_axis(axes.xaxis, lambda x: units.count(round(x)), [caps[0] / 1.25, caps[-1] * 1.25])
    scales.set_ticks(axes.xaxis, caps if len(caps) <= 8 else scales.round_values(caps[0], caps[-1]))
    scales.log_axis(axes.yaxis, units.number_tick, [min(heights) / 1.5, max(*heights, *ideal, 0) * 1.5])
    axes.set_title("No added latency" if latency == "0" else f"{units.latency(latency)} added latency", pad=10)
    axes.set_xlabel("fetches in flight (log scale)")
    names = _lines(found, looks, axes)
    _models(models(found), looks, axes, caps)
    if ideal:
        axes.plot(caps, ideal, color=page.GREY, linewidth=1.5, linestyle=(0, (4, 3)), zorder=1)
        names.append(Label(caps[-1], ideal[-1], "ideal", page.GREY))
    if ceiling:
        axes.axhline(ceiling, color=page.GREY, linewidth=1.5, linestyle=":", zorder=1)
        names.append(Label(axes.get_xlim()[1], ceiling, "server's ceiling", page.GREY))
    labels.end_labels(axes, names)


def models(found: Sequence[Cell]) -> dict[str, Fit]:
    """Return the model of each strategy that it fits; the cells share a setting and a latency.

    Without added latency there is none to draw: the knee is near one in flight, and its lines would hide the data.
    """
    if not found[0].mean_latency_ns:
        return {}
    fits = {name: fit([cell for cell in found if cell.strategy == name]) for name in c.strategies_of(found)}
    return {name: one for name, one in fits.items() if isinstance(one, Fit)}


def _models(fits: dict[str, Fit], looks: dict[str, Look], axes: "Axes", caps: Sequence[int]) -> None:
    """Draw each model as two thin lines that meet at its knee, and write the knees into the corner."""
    drawn = {name: one for name, one in fits.items() if name in looks}
    for name, one in drawn.items():
        ends = [float(caps[0]), one.knee, float(caps[-1])]
        heights = [one.per_s(end) for end in ends]
        axes.plot(ends, heights, color=looks[name].colour, linewidth=1.1, linestyle=(0, (5, 2)), zorder=2)
        axes.plot(
            [one.knee],
            heights[1:2],
            linestyle="none",
            marker="+",  # no name has it, and it is never hollow, as red trials are
            markersize=15,
            markeredgecolor=looks[name].colour,
            markeredgewidth=2.2,
            zorder=5,
        )
    order = sorted(drawn, key=lambda name: drawn[name].knee)
    lines = [f"{labels.name_of(name)}: {_knee_text(drawn[name])}" for name in order]
    if lines:
        text = "\n".join(["knee N* of the model (95 %)", *lines])
        # Below the ideal line's end there is room: throughput that far down with so many in flight would be no model.
        axes.text(
            0.985,
            0.02,
            text,
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            size=page.SMALL,
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2},
        )


def _knee_text(one: Fit) -> str:
    low, knee, high = (units.number_tick(float(f"{value:.2g}")) for value in (one.low, one.knee, one.high))
    return f"{knee} ({low} to {high})"


def _lines(found: Sequence[Cell], looks: dict[str, Look], axes: "Axes") -> list[Label]:
    """Draw a line a strategy through its valid cells, with the range over the rounds, and its red trials hollow."""
    names: list[Label] = []
    for name in sorted({cell.strategy for cell in found}):
        own = [cell for cell in found if cell.strategy == name]
        look = looks.get(name)
        colour = look.colour if look else page.PALE
        spreads = [(cell.in_flight, fig.spread) for cell in own if (fig := cell.figure(c.pages_per_s)) and fig.valid]
        if spreads:
            axes.errorbar(
                [x for x, _ in spreads],
                [s.median for _, s in spreads],
                yerr=[[s.median - s.low for _, s in spreads], [s.high - s.median for _, s in spreads]],
                color=colour,
                marker=look.marker if look else None,
                linestyle=look.dashes if look else "-",
                linewidth=2.2 if look else 1,
                markersize=8,
                capsize=4,
                zorder=3 if look else 1,
            )
        red = [
            (row.workload["in_flight"], rate) for cell in own for row in cell.red_rows if (rate := c.pages_per_s(row))
        ]
        axes.plot(
            [x for x, _ in red],
            [y for _, y in red],
            linestyle="none",
            marker=look.marker if look else "o",
            markerfacecolor="white",
            markeredgecolor=colour,
            markersize=9,
            markeredgewidth=1.6,
            zorder=4,
        )
        if look and (ends := [(x, s.median) for x, s in spreads] or red):
            names.append(Label(*max(ends), labels.name_of(name, red=not spreads), colour))
    return names


def _subtitle(found: Sequence[Cell], panels: Sequence[str], subtitle: str) -> str:
    left = [units.latency(latency) for latency in c.latencies(found) if latency not in panels]
    return " ".join(
        [
            subtitle,
            "Points: medians over the rounds; bars: all rounds.",
            "Hollow: red trials, not part of the lines." if any(cell.red_rows for cell in found) else "",
            "Thin dashes: the model min(N / (L + r), 1 / c), fitted where the core became full; +: its knee."
            if any(models([cell for cell in found if cell.latency == latency]) for latency in panels)
            else "",
            "Ideal: in flight / latency." if len(panels) > 1 or panels[0] != "0" else "",
            "Server's ceiling: what a client that parses nothing got, without added latency."
            if ceiling_of(found)
            else "",
            f"Not shown: {words.listed(left)}." if left else "",
        ]
    )


def _about_pages(found: Sequence[Cell]) -> str:
    """Say how many pages the crawls have."""
    pages = sorted({cell.pages for cell in found})
    if all(row.kind == "arm" for cell in found for row in cell.rows):
        return ""
    if len(pages) == 1:
        return f"Crawls of {units.count(pages[0])} {'page' if pages[0] == 1 else 'pages'}."
    return f"Crawls of {units.count(pages[0])} to {units.count(pages[-1])} pages, longer ones with more in flight."


def _about_short(found: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """Name the numbers in flight that no crawl reached for want of pages, and that are not drawn therefore."""
    short = sorted({(cell.in_flight, cell.pages) for cell in found if cell.pages < cell.in_flight})
    if not short or any(cell.pages < cell.in_flight for cell in shown):
        return ""
    texts = [f"{units.count(cap)} in flight ({units.count(pages)} pages)" for cap, pages in short]
    return f"Not shown, because there are fewer pages than may be in flight: {words.listed(texts)}."


def ceiling_of(found: Sequence[Cell]) -> float | None:
    """Return the median over the rows: all alike, unless the server had to be started again.

    None where a strategy got more: then the null client was disturbed, and what it found is no ceiling.
    """
    ceilings = c.present(c.server_ceiling(row) for cell in found for row in cell.rows)
    reached = c.present(c.pages_per_s(row) for cell in found for row in cell.valid_rows)
    ceiling = statistics.median(ceilings) if ceilings else None
    return None if ceiling is None or max(reached, default=0) > ceiling else ceiling
