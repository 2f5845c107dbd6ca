"""The plots of studies: lines, bars, dots and tiles. A panel for each value of the study's facet."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records, summary
from inflight.bench.frame.figures import Write, figure_of
from inflight.bench.present import labels, marks, name_looks, page, scales
from inflight.bench.show.study import (
    Part,
    Study,
    at,
    evenly,
    findings,
    ordered,
    ratios,
    short_name,
    text,
    tile,
    tile_text,
    usual,
    value_name,
    value_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_PARTS = 6
"""Maximum number of parts with plots of their own."""
MAX_PANELS = 4
PANEL_HEIGHT = 5.6
TEXT = 2.0
"""Inches for the figure beside a bar."""
MAX_NAME = 3.0
"""Inches of a name from which on panels with names have no other one beside them."""
LINE = 0.34
"""Inches for a bar or a row of dots."""
QUANTILES = ("#262626", "#7F7F7F", "#BFBFBF")
"""The colours of dots: no name has one of them."""
ALIKE = "#E8E8E8"
"""The fill of a tile where no difference is certain."""


def plots(study: Study, many: Sequence[Part], footer: str, *, has_valid: bool) -> "Iterator[tuple[str, Figure]]":
    """Draw each part of a study with a valid trial; in a run that has none, those of invalid trials."""
    found = [part for part in many if part.means["valid"].any() or not has_valid]
    for number, part in enumerate(found[:MAX_PARTS], start=1):
        yield marks.numbered(study.name, number), draw(study, part, footer)


def draw(study: Study, part: Part, footer: str) -> "Figure":
    """Draw one part: its title is that of the study, its finding stands below."""
    about = marks.notes(*findings(study, part), study.note)
    part = _drawn(study, part)
    mark = mark_of(study, part)
    panels = evenly(_panels(study, part, mark), 2 if mark == "dots" else MAX_PANELS)
    names = [name for name, _ in ordered(study, part)]
    rows = min(page.MOST_BARS, len(names)) if mark in {"bars", "dots"} else 0
    widest = labels.inches(page.sheet("", "", ""), names, page.TEXT) if rows else 0.9
    columns = min(2 if widest < MAX_NAME else 1, len(panels))
    stories = -(-len(panels) // columns)
    height = max(page.HEIGHT, 3.4 + LINE * rows)
    if stories > 1:
        height = 3.2 + stories * max(PANEL_HEIGHT - 1.5, 1.2 + LINE * rows)
    title = ", ".join(filter(None, [study.title, part.name]))
    sheet = page.sheet(title, marks.notes(about, NOTES[mark]), footer, height)
    if mark == "lines":
        labels.share_width(sheet, columns, names[: page.MOST_LINES])
        sheet.subplots_adjust(hspace=0.3)
    else:
        marks.margins(sheet, 0.65 + widest, 0.4, top=0.5 if mark == "dots" else 0.1)
        room = (page.WIDTH - 0.9 - columns * (0.65 + widest)) / columns  # inches of a panel, without its names
        sheet.subplots_adjust(hspace=0.35, wspace=(0.65 + widest) / room)
    drawn = marks.panels(sheet, len(panels), columns)
    for axes, here in zip(drawn, panels, strict=True):
        draw_panel(axes, study, part, here, mark)
    if mark == "dots":
        handles, _ = drawn[0].get_legend_handles_labels()
        page.key(sheet, handles, sheet.subplotpars.left, sheet.subplotpars.top + 0.4 / height)
    return sheet


def draw_usual(axes: "Axes", study: Study, part: Part) -> bool:
    """Draw the panel with the usual column of a part onto axes, with its title; return whether there is one."""
    part = _drawn(study, part)
    if not part.columns:
        return False
    mark, column = mark_of(study, part), usual(study, part)
    columns = next(panel for panel in _panels(study, part, mark) if column in panel)
    draw_panel(axes, study, part, columns, mark)
    where = ", ".join(filter(None, [part.name, _panel_title(study, columns)]))
    axes.set_title("\n".join(filter(None, [study.title, where])), pad=10)
    if mark == "dots":
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=page.SMALL)
    return True


def _drawn(study: Study, part: Part) -> Part:
    """Return a part with the values that are drawn: means, or ratios along the axis of the study."""
    if not study.plot.is_ratio:
        return part
    found = ratios(study, part)
    return part._replace(
        means=found.assign(valid=True, stack=found["line"].map(dict(ordered(study, part)))),
        columns=[one for one in part.columns if len(at(study, found, one))],
    )


def mark_of(study: Study, part: Part) -> str:
    """Return the mark: lines over fewer than three values are drawn as bars."""
    if study.plot.mark == "lines" and study.plot.x == "in_flight":
        place = study.columns.index("in_flight")
        values: dict[tuple[Any, ...], set[int]] = {}
        for column in part.columns:
            values.setdefault(column[:place], set()).add(column[place])
        return "lines" if max(map(len, values.values())) > 2 else "bars"
    return study.plot.mark


def draw_panel(axes: "Axes", study: Study, part: Part, columns: Sequence[tuple[Any, ...]], mark: str) -> None:
    """Draw the columns of one panel onto axes."""
    MARKS[mark](axes, study, part, columns)
    axes.set_title(_panel_title(study, columns), pad=10)


def _panel_title(study: Study, columns: Sequence[tuple[Any, ...]]) -> str:
    """Return the values that all columns of a panel have in common."""
    told = [key for n, key in enumerate(study.columns) if len({column[n] for column in columns}) == 1]
    told = [key for key in told if key != study.plot.x or len(columns) == 1]
    return ", ".join(value_name(key, columns[0][study.columns.index(key)]) for key in told)


def _panels(study: Study, part: Part, mark: str) -> list[list[tuple[Any, ...]]]:
    """Return the columns of each panel: of bars and dots one each, else those of one value of the facet."""
    if mark in {"bars", "dots"}:
        return [[column] for column in part.columns]
    if study.plot.facet not in study.columns:
        return [part.columns]
    place = study.columns.index(study.plot.facet)
    values = list(dict.fromkeys(column[place] for column in part.columns))
    values = sorted(values) if study.plot.facet == "in_flight" else values
    return [[column for column in part.columns if column[place] == value] for value in values]


def _means(part: Part, study: Study, columns: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return the means of some columns."""
    wanted = part.means[list(study.columns)].apply(tuple, axis=1).isin(list(columns))
    return part.means[wanted]


def _lines(axes: "Axes", study: Study, part: Part, columns: Sequence[tuple[Any, ...]]) -> None:
    """Draw a line for each line of the table over the axis of the plot, with its name at its end."""
    found = _means(part, study, columns)
    place = study.columns.index(study.plot.x)
    steps = list(dict.fromkeys(column[place] for column in part.columns))
    is_number = study.plot.x == "in_flight"
    if is_number:
        scales.log_axis(axes.xaxis, lambda x: units.count(round(x)), [min(steps) / 1.25, max(steps) * 1.25])
        scales.set_ticks(axes.xaxis, steps if len(steps) <= 8 else scales.round_values(min(steps), max(steps)))
    else:
        axes.set_xticks(range(len(steps)), [short_name(study.plot.x, step) for step in steps])
        axes.set_xlim(-0.2, len(steps) - 0.8)
    ends = [
        *found["low"][found["low"] > found["estimate"] / 3],
        *found["estimate"],
        *found["high"][found["high"] < 3 * found["estimate"]],
    ]
    on_tick = units.times if study.plot.is_ratio else tick(study.figure.write)
    scales.log_axis(axes.yaxis, on_tick, [min(ends) / 1.3, max(ends) * 1.3])
    names = [name for name, _ in ordered(study, part)]
    looks = name_looks.looks(names[: page.MOST_LINES])
    shown = []
    for name in names:
        points = []
        for one in records(found[found["line"] == name]):
            x = getattr(one, study.plot.x) if is_number else steps.index(getattr(one, study.plot.x))
            low, high = (one.low, one.high) if one.n > 1 else (math.nan, math.nan)
            points.append(marks.Point(x, one.estimate, low, high, invalid=not one.valid))
        shown.append(marks.series(axes, name, sorted(points, key=lambda point: point.x), looks.get(name)))
    axes.set_xlabel(f"{value_words(study.plot.x)}{' (log scale)' if is_number else ''}")
    against = f"ratio to {value_name(study.over[0], study.over[1])}" if study.over and study.plot.is_ratio else ""
    axes.set_ylabel(f"{against or study.figure.words} (log scale)")
    if (
        study.plot.x == "in_flight"
        and study.figures[0] == "pages_per_s"
        and (latency_ns := found["latency_ns"].iloc[0] if "latency_ns" in found else 0)
    ):
        ideal = [1e9 * step / latency_ns for step in steps]
        axes.plot(
            steps, ideal, color=page.GREY, linewidth=1.5, linestyle=(0, (4, 3)), zorder=1, label="in flight / latency"
        )
    labels.end_labels(axes, [end for end in shown if end])


def _bars(axes: "Axes", study: Study, part: Part, columns: Sequence[tuple[Any, ...]]) -> None:
    """Draw a bar for each line of the table, with its figure beside it."""
    found = {one.line: one for one in records(_means(part, study, columns))}
    names = [name for name, _ in ordered(study, part) if name in found][: page.MOST_BARS]
    stacks = dict(ordered(study, part))
    ends: list[float] = []
    for place, name in enumerate(names):
        mean = found[name]
        colour = name_looks.look(name).colour if mean.valid else page.PALE
        hatch = "" if stacks[name] == "shared" else "//"
        axes.barh(place, mean.estimate, height=marks.BAR, color=colour, hatch=hatch, edgecolor="white")
        ends.append(mean.estimate)
        if mean.n > 1 and mean.high < 2 * mean.estimate:
            marks.whisker(axes, place, mean.estimate, mean.low, mean.high)
            ends[-1] = mean.high
        marks.beside(axes, text(study.figure, mean), ends[-1], place)
    marks.name_rows(axes, names)
    panel = axes.get_position().width * page.WIDTH
    axes.set_xlim(0, max(ends) * panel / max(0.3 * panel, panel - TEXT))
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: tick(study.figure.write)(value))
    axes.set_xlabel(study.figure.words)


def _dots(axes: "Axes", study: Study, part: Part, columns: Sequence[tuple[Any, ...]]) -> None:
    """Draw a row for each line of the table, and a dot for each figure of the study."""
    names = [name for name, _ in ordered(study, part)][: page.MOST_BARS]
    ends = []
    for number, name in enumerate(study.figures):
        own = part.lines[(part.lines["figure"] == name) & (part.lines["role"] != "placebo")]
        found = _means(part._replace(means=summary(own, ["line", *study.columns])), study, columns)
        found = found[found["line"].isin(names)]
        places = [names.index(line) for line in found["line"]]
        colour = QUANTILES[number % 3]
        axes.plot(
            found["estimate"],
            places,
            "osD"[number % 3],
            color=colour,
            markersize=8,
            label=figure_of(name).words,
            zorder=3,
        )
        ends += list(found["estimate"])
    marks.name_rows(axes, names)
    scales.log_axis(axes.xaxis, tick(study.figure.write), [min(ends) / 1.3, max(ends) * 1.3], 6)
    axes.set_xlabel(f"{study.title[0].lower()}{study.title[1:]} (log scale)")


def _tiles(axes: "Axes", study: Study, part: Part, columns: Sequence[tuple[Any, ...]]) -> None:
    """Draw a tile for each column: who is best, in the colour of its name; pale where no difference is certain."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    across = study.columns.index(study.plot.x)
    down = next(n for n, key in enumerate(study.columns) if key not in {study.plot.x, study.plot.facet})
    wide = list(dict.fromkeys(one[across] for one in sorted(part.columns, key=lambda one: _ns(part, across, one))))
    high = list(dict.fromkeys(one[down] for one in sorted(part.columns, key=lambda one: _ns(part, down, one))))
    for column in columns:
        found = tile(study, part, column)
        x, y = wide.index(column[across]), high.index(column[down])
        colour: Any = "white" if not found.best else ALIKE
        if found.is_decided:
            colour = tuple(0.45 + 0.55 * part for part in to_rgb(name_looks.look(found.best[0]).colour))
        axes.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5),
                1,
                1,
                facecolor=colour,
                edgecolor="white",
                linewidth=2,
                hatch="//" if found.is_decided and len(found.best) > 1 else "",
            )
        )
        told = tile_text(found).replace(", ", "\n").replace(" +", "\n+")
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
        axes.text(
            x,
            y,
            told,
            ha="center",
            va="center",
            size=page.SMALL,
            weight="bold" if found.is_decided else "normal",
            bbox=box,
        )
    axes.set_xlim(-0.5, len(wide) - 0.5)
    axes.set_ylim(-0.5, len(high) - 0.5)
    axes.set_xticks(range(len(wide)), [value_name(study.columns[across], one) for one in wide])
    axes.set_yticks(range(len(high)), ["none" if one == "0" else units.latency(one) for one in high])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xlabel(value_words(study.columns[across]))
    axes.set_ylabel(value_words(study.columns[down]))


def _ns(part: Part, place: int, column: tuple[Any, ...]) -> Any:
    """Return what a column is ordered by in one of its keys."""
    return part.columns.index(column) if place else [one[place] for one in part.columns].index(column[place])


def tick(write: Write) -> Callable[[float], str]:
    """Return the function that writes a value beside a tick."""
    if write is units.duration:
        return units.duration_tick
    return units.number_tick if write is units.rate else lambda value: write(value, 2)


MARKS: dict[str, Callable[..., None]] = {"lines": _lines, "bars": _bars, "dots": _dots, "tiles": _tiles}
NOTES = {
    "lines": "Points: means over blocks; bars: 95 % intervals; hollow: invalid trials.",
    "bars": "Bars: means over blocks; whiskers: 95 % intervals; hatched: its own HTTP stack, or a part of a page.",
    "dots": "Dots: means over blocks.",
    "tiles": "Name: the fastest; +: others that tie with it; number: its lead over the slowest.",
}
