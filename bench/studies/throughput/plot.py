"""The plots of throughput, for each setting: pages per second over the number in flight; times; CPU time per page."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import retention, units
from inflight.bench.core.cells import Cell
from inflight.bench.core.model import Fit, fit
from inflight.bench.core.retention import Retention
from inflight.bench.present import labels, marks, page, scales, words
from inflight.bench.present.labels import Label
from inflight.bench.present.marks import Point
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import (
    plot_caps,
    plot_cpu,
    plot_possible,
    plot_rates,
    plot_times,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
PANEL_HEIGHT = 5.6


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> "Iterator[tuple[str, Figure | None]]":
    """Draw ``throughput``, ``possible``, ``times`` and ``cpu`` of each setting.

    If no trial of the run is valid, invalid ones are shown. Times and CPU time are drawn only for the first amount of
    CPU work: the others differ by the work itself.
    """
    found, is_any_valid = c.cells(rows), any(row.valid for row in rows)
    settings = c.settings(found)
    names = c.setting_names(settings)
    each = [(setting, [cell for cell in found if cell.setting == setting]) for setting in settings]
    told = [(setting, own) for setting, own in each if not is_any_valid or any(cell.valid_rows for cell in own)]
    for number, (setting, own) in enumerate(told[: marks.MOST_SETTINGS], start=1):
        about = marks.about_setting(names[setting])
        yield marks.numbered("throughput", number), draw(own, looks, about, footer)
        yield marks.numbered("possible", number), plot_possible.draw(own, looks, about, footer)
        if not setting.cpu_ns or settings[0] == setting:
            yield marks.numbered("times", number), plot_times.draw(own, looks, about, footer)
            yield marks.numbered("cpu", number), plot_cpu.draw(own, about, footer)
            yield marks.numbered("cpu_in_flight", number), plot_caps.draw_cpu(own, about, footer)


def draw(found: Sequence[Cell], looks: Mapping[str, Look], about: str, footer: str) -> "Figure | None":
    """Draw the cells of one setting, one panel per latency; None if none of them has a throughput."""
    shown = c.fillable([cell for cell in found if cell.figure(c.pages_per_s)])
    if not shown:
        return None
    kept = retention.headline(found)
    notes = _about_pages(shown), _about_short(found, shown)
    if len(c.strategies_of(shown)) > page.MOST_LINES or kept:
        return draw_each(shown, kept, marks.notes(about, *notes), footer)
    looks = page.looks_of_plot(c.strategies_of(shown), looks)
    latencies = c.latencies(shown)
    panels = c.evenly(latencies, MOST_PANELS)
    told = marks.notes(about, *notes, _about_marks(shown, panels), labels.about_title(shown))
    height = page.HEIGHT + (-(-len(panels) // 2) - 1) * PANEL_HEIGHT
    sheet = page.sheet(title.of_rates(shown), told, footer, height)
    ends = {(cell.strategy, not cell.valid_rows) for cell in shown if cell.strategy in looks}
    labels.share_width(sheet, min(2, len(panels)), [labels.name_of(name, invalid=invalid) for name, invalid in ends])
    sheet.subplots_adjust(hspace=0.3)
    for axes, latency in zip(marks.panels(sheet, len(panels)), panels, strict=True):
        panel([cell for cell in shown if cell.latency == latency], looks, axes, ceiling_of(shown))
    for axes in sheet.axes[: len(panels) : 2]:
        axes.set_ylabel("verified pages per second (log scale)")
    return sheet


def draw_each(found: Sequence[Cell], kept: Sequence[Retention], about: str, footer: str) -> "Figure":
    """Draw a panel for each strategy, at the longest latency with several numbers in flight; without one, draw bars.

    ``kept`` are the retentions; with some, the title is about them.
    """
    latencies = [latency for latency in c.latencies(found) if len(c.caps(found, latency)) > 1]
    if not latencies:
        return plot_rates.draw(found, about, footer)
    chosen = latencies[-1]
    left = [units.latency(latency) for latency in c.latencies(found) if latency != chosen]
    here = [cell for cell in found if cell.latency == chosen]
    return plot_caps.draw(
        here,
        plot_caps.RATE,
        title.of_retention(kept) if kept else title.of_rates(here),
        marks.notes(about, left and f"Not shown: {words.listed(left)}."),
        footer,
        {one.strategy: one for one in kept},
        ceiling_of(here),
    )


def panel(found: Sequence[Cell], looks: Mapping[str, Look], axes: "Axes", ceiling: float | None) -> None:
    """Draw throughput over the number in flight for the cells of one latency, with the server's ceiling."""
    latency, mean_ns = found[0].latency, found[0].mean_latency_ns
    caps = c.caps(found, latency)
    heights = [*_rates(found), *([ceiling] if ceiling else [])]
    ideal = [title.possible_per_s(cap, mean_ns) for cap in caps] if mean_ns else []
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


def _rates(found: Sequence[Cell]) -> list[float]:
    return [rate for cell in found for rate in c.present(map(c.pages_per_s, (*cell.valid_rows, *cell.invalid_rows)))]


def _has_a_long_bar(found: Sequence[Cell]) -> bool:
    """Tell whether an interval of the cells of one latency reaches below the axis."""
    ends = [figure.ends[0] for cell in found if (figure := cell.valid_figure(c.pages_per_s)) and figure.ends]
    return bool(ends) and min(ends) < min(_rates(found)) / 1.5


def models(found: Sequence[Cell]) -> dict[str, Fit]:
    """Return the fitted model of each strategy that has one; the cells share a setting and a latency.

    Without added latency no model is drawn: the knee is near one in flight, and its lines would hide the data.
    """
    if not found[0].mean_latency_ns:
        return {}
    fits = {name: fit([cell for cell in found if cell.strategy == name]) for name in c.strategies_of(found)}
    return {name: one for name, one in fits.items() if isinstance(one, Fit)}


def _models(fits: dict[str, Fit], looks: Mapping[str, Look], axes: "Axes", caps: Sequence[int]) -> None:
    """Draw each model as two thin lines that meet at the knee, and write the knees into the corner."""
    drawn = {name: one for name, one in fits.items() if name in looks}
    for name, one in drawn.items():
        ends = [(at, one.per_s(at)) for at in (float(caps[0]), one.knee, float(caps[-1]))]
        marks.line(axes, ends, looks[name], 1.1, linestyle=(0, (5, 2)), zorder=2)
        # A plus: no strategy has this marker, and it cannot look hollow like an invalid trial.
        marks.dots(axes, ends[1:2], looks[name], marker="+", markersize=15, markeredgewidth=2.2, zorder=5)
    order = sorted(drawn, key=lambda name: drawn[name].knee)
    lines = [f"{labels.name_of(name)}: {_knee_text(drawn[name])}" for name in order]
    if lines:
        text = "\n".join(["knee N*, fitted (95 %)", *lines])
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
        # The corner below the end of the ideal line is free: no throughput is that low with that many in flight.
        axes.text(
            0.985, 0.02, text, transform=axes.transAxes, ha="right", va="bottom", size=page.SMALL, zorder=6, bbox=box
        )


def _knee_text(one: Fit) -> str:
    low, knee, high = (units.number_tick(float(f"{value:.2g}")) for value in (one.low, one.knee, one.high))
    return f"{knee} ({low} to {high})"


def _lines(found: Sequence[Cell], looks: Mapping[str, Look], axes: "Axes") -> list[Label]:
    """Draw one line per strategy through its valid cells with their 95 % intervals; invalid trials are hollow."""
    ends = []
    for name in c.strategies_of(found):
        own = [cell for cell in found if cell.strategy == name]
        known = [(cell.in_flight, figure) for cell in own if (figure := cell.valid_figure(c.pages_per_s))]
        invalid = [(cell.in_flight, rate) for cell in own for row in cell.invalid_rows if (rate := c.pages_per_s(row))]
        points = [Point(x, figure.estimate, *(figure.ends or ())) for x, figure in known]
        points += [Point(x, y, invalid=True) for x, y in invalid]
        ends.append(marks.series(axes, name, points, looks.get(name)))
    return [end for end in ends if end]


def _about_marks(found: Sequence[Cell], panels: Sequence[str]) -> str:
    left = [units.latency(latency) for latency in c.latencies(found) if latency not in panels]
    return marks.notes(
        "Points: means over the rounds; bars: 95 % intervals.",
        any(_has_a_long_bar([cell for cell in found if cell.latency == latency]) for latency in panels)
        and "Some bars end below the axis.",
        any(cell.invalid_rows for cell in found) and "Hollow: invalid trials, not part of the lines.",
        any(models([cell for cell in found if cell.latency == latency]) for latency in panels)
        and "Thin dashes: the formula min(N / (L + r), 1 / c), fitted to these points if the core became full; +: its "
        "knee. N: in flight; L: latency; r: the time of a fetch besides L; c: CPU time per page.",
        (len(panels) > 1 or panels[0] != "0") and "Ideal: in flight / latency.",
        ceiling_of(found) and "Server's ceiling: what a client that parses nothing got, without added latency.",
        left and f"Not shown: {words.listed(left)}.",
    )


def _about_pages(found: Sequence[Cell]) -> str:
    """Say how many pages the crawls have; empty for blocks, which have no end."""
    pages = sorted({cell.pages for cell in found})
    if all(row.kind == "arm" for cell in found for row in cell.rows):
        return ""
    if len(pages) == 1:
        return f"Crawls of {units.count(pages[0])} {'page' if pages[0] == 1 else 'pages'}."
    return f"Crawls of {units.count(pages[0])} to {units.count(pages[-1])} pages, longer ones with more in flight."


def _about_short(found: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """Name the numbers in flight that are not drawn because the crawls have fewer pages."""
    short = sorted({(cell.in_flight, cell.pages) for cell in found if cell.pages < cell.in_flight})
    if not short or any(cell.pages < cell.in_flight for cell in shown):
        return ""
    texts = [f"{units.count(cap)} in flight ({units.count(pages)} pages)" for cap, pages in short]
    return f"Not shown, because there are fewer pages than may be in flight: {words.listed(texts)}."


def ceiling_of(found: Sequence[Cell]) -> float | None:
    """Return the median ceiling over the rows, which differ only if the server was restarted.

    None if a strategy got more: then the null client was disturbed, and its figure is not a ceiling.
    """
    ceilings = c.present(c.server_ceiling(row) for cell in found for row in cell.rows)
    reached = c.present(c.pages_per_s(row) for cell in found for row in cell.valid_rows)
    ceiling = statistics.median(ceilings) if ceilings else None
    return None if ceiling is None or max(reached, default=0) > ceiling else ceiling
