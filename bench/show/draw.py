"""The pictures of studies and of windows: a function for each mark, which returns panels.

``studies.pictures`` calls ``draw`` for the parts of each study. A study names its *mark* (bars, lines, tiles, ...;
``study.Plot``); MARKS has the function that yields the panels of a mark, each with a function that draws it onto axes
later (``pictures``). A *part* is one table of a study, a *column* one workload of it, the *usual* one stands for all, a
*facet* is a value (such as a latency) whose columns have a panel of their own.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.figures import Figure, figure_of
from inflight.bench.frame.slopes import FULL, GROUPS, LAYERS, SERVER
from inflight.bench.show import pictures, words
from inflight.bench.show.findings import evenly, findings
from inflight.bench.show.looks import COLOURS, GREY, MIDDLE, PALE, look, looks
from inflight.bench.show.pictures import MAX_BARS, MAX_LINES, ROW, Bar, Label, Panel, Picture, Point
from inflight.bench.show.sections import line_name, ratio_text, size_text, starred, text, tile_text
from inflight.bench.show.study import ORDER, Column, Part, Plot
from inflight.bench.show.words import join, short_name, value_name, value_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PANELS = 4
"""Maximum number of panels of a picture."""
MAX_NOISE = 1.3
"""Maximum ratio of an end of the next run to its estimate; what is noisier is text and not drawn."""
NOTES = {
    "lines": "Points: means over blocks; bars of a ratio: where the next run lies in 90 %; hollow: invalid trials.",
    "bars": "Bars: means over blocks; hatched: its own HTTP stack, or a part of a page; text: too noisy for a bar.",
    "dots": "Dots: means over blocks.",
    "tiles": "Name: the fastest; +: others that tie with it; number: its lead over the slowest; pale: no difference.",
    "ladder": "Added since nothing was held, all layers. Points: medians of trials; hollow: invalid ones.",
}
"""How to read each mark."""
PUBLISHED = {
    3_000: "3 kB: a coroutine (user part)",
    22_000: "22 kB: a thread (draft)",
    50_000: "50 kB: a thread",
}
"""Figures of the chapter "A Web Crawler With asyncio Coroutines" by Davis and van Rossum."""
ROOM_FOR_CHARACTER = 0.022
"""Share of the axis that a character of the name of a published figure takes on a panel as wide as a phone."""
TICK_WIDTH = 14
"""Width in characters of the name of a step below an axis."""
FILLS = dict(zip((*LAYERS, SERVER), pictures.FILLS, strict=True))
"""Fill of each layer of memory."""


def draw(parts: Sequence[Part], moments: pd.DataFrame, *, has_valid: bool) -> Iterator[Picture]:
    """Yield the pictures of each part of a study; of timed trials only of valid ones, if the run has any."""
    study = parts[0].study
    if study.measure == "mean" and has_valid:
        parts = [part for part in parts if part.means["valid"].any()]
    for number, part in enumerate(parts[: pictures.MAX_PICTURES], start=1):
        suffix = "" if number == 1 else f"-{number}"
        for plot in study.plots:
            mark = _mark(part, plot)
            panels = list(MARKS[mark](part, plot, moments))
            title = join(", ", plot.title or study.title, part.name)
            notes = [plot.note, NOTES.get(mark, "")]
            if plot is study.plots[0]:
                notes = [*findings(part)[:1], study.note, *notes]
            if panels:
                yield Picture(f"{plot.name or study.name}{suffix}", title, join(" ", *notes), panels)


def _mark(part: Part, plot: Plot) -> str:
    """Return the mark: lines over fewer than three numbers in flight are drawn as bars."""
    if plot.mark != "lines" or plot.x != "in_flight":
        return plot.mark
    numbers = Counter(column[:-1] for column in part.columns)  # the number in flight is the last key
    return "lines" if max(numbers.values()) > 2 else "bars"


def _load(part: Part, columns: Sequence[Column], x: str) -> list[str]:
    """Return the values that all columns of a panel have in common, the number in flight first."""
    texts = {}
    for key, values in zip(part.study.columns, zip(*columns, strict=True), strict=True):
        if len(set(values)) > 1 or (key == x and len(columns) > 1):
            continue
        texts[key] = value_name(key, values[0])
        if key == "latency":
            texts[key] = "no added latency" if texts[key] == "0 ms" else f"{texts[key]} added latency"
    return [texts.pop("in_flight", ""), *texts.values()]


def _title(part: Part, *texts: str) -> str:
    """Return the title of a panel: that of the study, and what distinguishes the panel and the part."""
    return join(": ", part.study.title, join(", ", *texts, part.name))


# Of means


def _means(part: Part, plot: Plot, _moments: pd.DataFrame) -> Iterator[Panel]:
    """Yield panels: of lines and tiles some of the facets; of bars and dots the column that stands for all."""
    mark = _mark(part, plot)
    every = [[part.usual]]
    if mark in {"lines", "tiles"}:
        every = _facets(part, plot)
    usual = [columns for columns in every if part.usual in columns] or every[:1]
    chosen = evenly(every, MAX_PANELS)
    if usual and usual[0] not in chosen:
        chosen[1] = usual[0]  # the panel that stands for all takes the place of one from between
    for columns in chosen:
        rows = ROW * max(2, min(MAX_BARS, len(_named(part, columns))))
        height = {"bars": 1.2 + rows, "dots": 2 + rows}.get(mark, pictures.HEIGHT)
        draw_panel = partial(DRAW[mark], part=part, columns=columns)
        yield Panel(_title(part, *_load(part, columns, plot.x)), draw_panel, height, is_usual=columns in usual)


def _facets(part: Part, plot: Plot) -> list[list[Column]]:
    """Return the columns of each value of the facet; where ratios are drawn, those that have some."""
    facets = dict[Any, list[Column]]()
    for column in part.columns:
        values = dict(zip(part.study.columns, column, strict=True))
        if not plot.is_ratio or len(part.at(part.ratios, [column])):
            facets.setdefault(values.get(plot.facet), []).append(column)
    order = sorted(facets) if plot.facet == "in_flight" else facets
    return [facets[value] for value in order]


def _named(part: Part, columns: Sequence[Column]) -> list[str]:
    """Return the names with a figure in some columns, in order."""
    known = set(part.at(part.means, columns)["line"])
    return [name for name in part.stacks if name in known]


def is_too_wide(ratio: Any) -> bool:
    """Return whether the interval for the next run has a half-width of more than 30 %; of one block it is unknown."""
    if math.isinf(ratio.next_high):
        return False
    return bool(ratio.next_high > MAX_NOISE * ratio.estimate or ratio.next_low * MAX_NOISE < ratio.estimate)


def _lines(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a line for each line of the table over the axis of the plot, with its name at its end."""
    study = part.study
    plot = study.plots[0]
    place = study.columns.index(plot.x)
    steps = list(dict.fromkeys(column[place] for column in part.columns))
    if plot.x == "in_flight":
        pictures.log_axis(axes.xaxis, units.count, steps)
        axes.set_xlabel("in flight (log scale)")
    else:
        names = [textwrap.fill(short_name(plot.x, step), TICK_WIDTH) for step in steps]
        axes.set_xticks(range(len(steps)), names)
        axes.set_xlim(-0.2, len(steps) - 0.8)
        axes.set_xlabel(value_words(plot.x))
    points: dict[str, list[Point]] = {name: [] for name in part.stacks}
    table = part.means
    label = study.figure.words
    write = study.figure.write
    if study.over and plot.is_ratio:
        table = part.ratios.assign(valid=True)
        label = f"ratio to {value_name(*study.over)}"
        write = units.times
    ratios = records(part.at(table, columns))
    noisy = [ratio for ratio in ratios if plot.is_ratio and is_too_wide(ratio)]
    for mean in ratios:
        x = getattr(mean, plot.x) if plot.x == "in_flight" else steps.index(getattr(mean, plot.x))
        low, high = (mean.next_low, mean.next_high) if plot.is_ratio else (math.nan, math.nan)
        if mean not in noisy:
            points[mean.line].append(Point(x, mean.estimate, low, high, is_invalid=not mean.valid))
    drawn = [end for some in points.values() for point in some for end in (point.y, point.low, point.high)]
    pictures.log_axis(axes.yaxis, write, [end for end in drawn if 0 < end < math.inf] or [1])
    axes.set_ylabel(f"{label} (log scale)")
    for some in points.values():
        some.sort(key=lambda point: point.x)
    pictures.draw_lines(axes, points)
    if noisy:
        axes.set_xlabel(f"{axes.get_xlabel()}\ntoo noisy to draw: {words.counted(len(noisy), 'ratio')}")
    latency_ns = part.at(part.means, columns).get("latency_ns", pd.Series([0])).iloc[0]
    if plot.x == "in_flight" and study.figures[0] == "pages_per_s" and latency_ns:
        ideal = [1e9 * step / latency_ns for step in steps]
        axes.plot(
            steps,
            ideal,
            color=GREY,
            linewidth=1.5,
            linestyle=(0, (4, 3)),
            zorder=1,
        )


def _bars(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a bar for each line, with its figure beside it; where its ratio is too noisy, write that."""
    figure = part.study.figure
    means = part.nearest(columns[0])
    ratios = [] if part.study.over is None else records(part.at(part.ratios, columns))
    noisy = {ratio.line: ratio_text(ratio) for ratio in ratios if is_too_wide(ratio)}
    bars = []
    for name in [name for name in part.stacks if name in means][:MAX_BARS]:
        mean = means[name]
        label = name if name in _named(part, columns) else f"{name}, {words.in_flight(mean.in_flight)}"
        instead = noisy.get(name, "")
        bars.append(Bar(label, mean.estimate, text(figure, mean), name, mean.stack, mean.valid, instead))
    _draw_bars(axes, figure, bars)


def _draw_bars(axes: "Axes", figure: Figure, bars: list[Bar]) -> None:
    """Draw bars of a figure, with its name and ticks in its unit."""
    pictures.draw_bars(axes, bars)
    pictures.set_ticks(axes.xaxis, figure.write, 3)
    axes.set_xlabel(figure.words)


def _dots(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a row for each line of the table, and a dot for each figure; the usual panel has the key of all."""
    names = _named(part, columns)[:MAX_BARS]
    ends = []
    for number, figure in enumerate(part.study.figures):
        means = part.at(part.means_of(figure), columns)
        means = means[means["line"].isin(names)]
        places = [names.index(line) for line in means["line"]]
        marker = "osD"[number]
        colour = (COLOURS[6], GREY, MIDDLE)[number]
        label = figure_of(figure).words
        axes.plot(
            means["estimate"],
            places,
            marker,
            label=label,
            color=colour,
            markersize=7,
            zorder=3,
        )
        ends += list(means["estimate"])
    pictures.name_rows(axes, names)
    if ends:
        pictures.log_axis(axes.xaxis, part.study.figure.write, ends)
    axes.set_xlabel(f"{part.study.title[0].lower()}{part.study.title[1:]} (log scale)")
    if part.usual in columns:
        pictures.write_key(axes, axes.get_legend_handles_labels()[0], 1)


def _tiles(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a tile for each column: who is best, in the colour of its name; pale where no difference is certain."""
    down, across, _ = part.study.columns
    wide, high = (part.means.sort_values(ORDER.get(key, key))[key].unique().tolist() for key in (across, down))
    for column in columns:
        tile = part.tiles[column]
        x = wide.index(column[1])
        y = high.index(column[0])
        colour = look(tile.best[0]).colour if tile.is_decided else PALE
        hatch = "//" if tile.is_decided and len(tile.best) > 1 else ""
        alpha = 0.5 if tile.best else 0
        axes.barh(
            y,
            0.96,
            left=x - 0.48,
            height=0.96,
            color=colour,
            alpha=alpha,
            hatch=hatch,
            edgecolor="white",
        )
        name, _, lead = tile_text(tile).partition(" ")
        label = join("\n", name.rstrip(",").replace("_", "_\n", 1), lead)
        weight = "bold" if tile.is_decided else "normal"
        axes.text(
            x,
            y,
            label,
            ha="center",
            va="center",
            weight=weight,
            size=min(pictures.SMALL, 40 / len(wide)),
        )
    axes.set_xlim(-0.5, len(wide) - 0.5)
    axes.set_ylim(-0.5, len(high) - 0.5)
    axes.set_xticks(range(len(wide)), [value_name(across, value) for value in wide])
    axes.set_yticks(range(len(high)), [short_name(down, value) for value in high])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xlabel(value_words(across))
    axes.set_ylabel(value_words(down))


# Of medians


def _listed(part: Part, plot: Plot, _moments: pd.DataFrame) -> Iterator[Panel]:
    """Yield a panel of bars for each figure."""
    known = part.names
    for name in [name for name in plot.figures if name in known]:
        lines = part.figures[part.figures[name].notna()].head(MAX_BARS)
        height = 1 + ROW * max(2, len(lines))
        draw_panel = partial(_listed_bars, part=part, name=name, lines=lines)
        yield Panel(_title(part, figure_of(name).words), draw_panel, height)


def _listed_bars(axes: "Axes", part: Part, name: str, lines: pd.DataFrame) -> None:
    """Draw a bar for each line of a table of medians; ``name`` is the figure."""
    figure = figure_of(name)
    bars = []
    for _, line in lines.iterrows():
        label = line_name(part.study, line) if line["valid"] else f"{line_name(part.study, line)} ✗"
        look_of_bar = line["arm"], line["stack"], line["valid"]
        bars.append(Bar(label, line[name], figure.write(line[name], 2), *look_of_bar))
    _draw_bars(axes, figure, bars)


def _over_time(part: Part, plot: Plot, moments: pd.DataFrame) -> Iterator[Panel]:
    """Yield a panel for each figure, with the trial in the middle of each line with the most in flight."""
    lines = part.lines
    order = part.study.order
    if "in_flight" in part.study.columns:
        lines = lines[lines["in_flight"] == lines["in_flight"].max()]
    lines = lines.sort_values(order, na_position="last") if order in lines else lines
    names: dict[str, tuple[str, str]] = {}
    for _, alike in lines.groupby(["arm", *part.study.columns], sort=False):
        counted = alike[alike["valid"]] if alike["valid"].any() else alike
        middle = counted.iloc[(len(counted) - 1) // 2]
        names[middle["trial"]] = middle["line"], line_name(part.study, middle)
    if len({line for line, _ in names.values()}) < len(names):  # then no line has the look of its arm
        names = {trial: (label, label) for trial, (_, label) in names.items()}
    chosen = moments[moments["trial"].isin(names)]
    for name in plot.figures:
        points = chosen[chosen["figure"] == name]
        if len(points):
            draw_panel = partial(_over_time_lines, points=points, name=name, names=names)
            yield Panel(_title(part, figure_of(name).words), draw_panel)


def _over_time_lines(axes: "Axes", points: pd.DataFrame, name: str, names: dict[str, tuple[str, str]]) -> None:
    """Draw a line for each trial, with its name at its end."""
    styles = looks([line for line, _ in names.values()][:MAX_LINES])
    labels = []
    for trial, (line, label) in names.items():
        of_trial = points[points["trial"] == trial].sort_values("at_ns")
        seconds = of_trial["at_ns"] / 1e9
        style = styles.get(line)
        pictures.draw_line(axes, seconds, of_trial["value"], style)
        if style and len(seconds):
            y, x = max(zip(of_trial["value"], seconds, strict=True))
            labels.append(Label(x, y, words.plain(label, 40), style.ink))
    axes.set_ylim(min(0, points["value"].min()), None)
    axes.set_xlim(0, None)
    pictures.set_ticks(axes.yaxis, figure_of(name).write, 5)
    axes.set_xlabel("time since the start (s)")
    pictures.draw_labels(axes, labels)


# Of slopes


def _layers(part: Part, _plot: Plot, _moments: pd.DataFrame) -> Iterator[Panel]:
    """Yield a panel with a bar of layers for each subject with a slope."""
    known = part.figures[part.figures["estimate"].notna()]
    bars = known.groupby(["group", "line", "stack"], sort=False).ngroups
    height = 2.1 + ROW * (min(bars, MAX_BARS) + known["group"].nunique())
    if bars:
        yield Panel(
            join(", ", part.study.title, part.name),
            partial(_layer_bars, part=part, known=known),
            height,
        )


def _layer_bars(axes: "Axes", part: Part, known: pd.DataFrame) -> None:
    """Draw the bars of layers, with the interval and the figure of all layers."""
    from matplotlib.patches import Patch

    names = list[str]()
    figures = dict[int, str]()
    stacked = dict[int, Any]()
    full = dict[int, Any]()
    for key, layers in islice(known.groupby(["group", "line", "stack"], sort=False), MAX_BARS):
        group, line, stack = map(str, key)
        if GROUPS[group].capitalize() not in names:
            names.append(GROUPS[group].capitalize())
        place = len(names)
        names.append(starred(line, stack))
        stacked[place] = layers.set_index("layer")["estimate"].reindex(list(FILLS)).fillna(0).clip(lower=0)
        figures[place] = f"{units.size(stacked[place].sum(), 2)} and more"
        for slope in records(layers[layers["layer"] == FULL]):
            figures[place] = size_text(slope)
            full[place] = slope
    sizes = pd.DataFrame(stacked).T
    for layer, left in sizes.cumsum(axis=1).shift(axis=1, fill_value=0).items():
        axes.barh(
            sizes.index,
            sizes[layer],
            left=left,
            height=0.66,
            **FILLS[str(layer)],
        )
    for place, slope in full.items():
        reach = [[slope.estimate - slope.low], [slope.high - slope.estimate]]
        axes.errorbar(
            slope.estimate,
            place,
            xerr=reach,
            color="black",
            capsize=4,
            linewidth=1.4,
        )
    longest = max([sizes.sum(axis=1).max(), *(slope.high for slope in full.values())])
    pictures.name_rows(axes, names, figures)
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_fontweight("normal" if place in figures else "bold")
    _mark_published(axes, 1.05 * longest)
    pictures.set_ticks(axes.xaxis, units.size)
    axes.set_xlabel(part.study.title.lower().replace(", ", ",\n"))
    used = set(known["layer"])
    pictures.write_key(axes, [Patch(**fill, label=layer) for layer, fill in FILLS.items() if layer in used])


def _mark_published(axes: "Axes", end: float) -> None:
    """Draw a dashed line for each published figure up to ``end``, and its name to the right of the line's upper end.

    The smallest figure has the longest line and the highest name, so no name crosses the line of another.
    """
    sizes = [size for size in PUBLISHED if size < end]
    room = (size + ROOM_FOR_CHARACTER * len(PUBLISHED[size]) * end for size in sizes)
    axes.set_xlim(0, max([end, *room]))
    dashes: dict[str, Any] = {
        "color": "black",
        "linestyle": (0, (5, 3)),
        "linewidth": 1.3,
        "zorder": 0.5,
    }
    for number, size in enumerate(reversed(sizes)):
        axes.axvline(size, **dashes)
        name_pt = 2 + 14 * number
        aside: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
        axes.annotate(
            "",
            (size, 1),
            xytext=(0, name_pt + 11),
            arrowprops={"arrowstyle": "-", **dashes},
            **aside,
        )
        axes.annotate(
            PUBLISHED[size],
            (size, 1),
            xytext=(4, name_pt),
            **aside,
        )


def _ladder(part: Part, plot: Plot, _moments: pd.DataFrame) -> Iterator[Panel]:
    """Yield a panel for each group that was held in several numbers; that of fetches stands for all."""
    lines = part.lines
    added = lines[(lines["layer"] == FULL) & (lines["added"] > 0) & (lines["n"] > 0)]
    sizes = added.groupby("group")["n"].nunique()
    for group in [group for group in GROUPS if group != "parked" and sizes.get(group, 0) > 1]:
        points = added[added["group"] == group]
        names = part.figures["line"].unique()
        title = join(": ", plot.title, join(", ", GROUPS[group], part.name))
        draw_panel = partial(_ladder_lines, points=points, names=names)
        yield Panel(title, draw_panel, is_usual=group == "held")


def _ladder_lines(axes: "Axes", points: pd.DataFrame, names: Iterable[str]) -> None:
    """Draw the memory added over the number held of one group: a line through the medians of trials for each name."""
    axes.set_xlim(0, 1.05 * points["n"].max())
    axes.set_ylim(0, 1.05 * points["added"].max())
    medians = points.groupby(["line", "n", "valid"])[["added"]].median().reset_index()
    series: dict[str, list[Point]] = {name: [] for name in names if name in set(points["line"])}
    for each in records(medians):
        series[each.line].append(Point(each.n, each.added, is_invalid=not each.valid))
    pictures.draw_lines(axes, series)
    pictures.set_ticks(axes.xaxis, units.count)
    pictures.set_ticks(axes.yaxis, units.size)
    axes.set_xlabel("number held")
    axes.set_ylabel("memory added")


MARKS: dict[str, Callable[[Part, Plot, pd.DataFrame], Iterator[Panel]]] = {
    **dict.fromkeys(("bars", "dots", "lines", "tiles"), _means),
    "listed": _listed,
    "over_time": _over_time,
    "layers": _layers,
    "ladder": _ladder,
}
"""What yields the panels of each mark."""
DRAW = {"bars": _bars, "dots": _dots, "lines": _lines, "tiles": _tiles}
"""What draws a panel of a study of means."""


# Windows


WINDOW = "window_cpu_per_page_ns"
"""The figure of a window, which is the part that counts of an arm's turn in a block."""
WINDOW_TITLE = "CPU time per page of every window"
"""Title of the picture of windows."""
WINDOW_NOTES = (
    "A dot for each window, in the order of time from the top down; a shade for each second block; hollow: invalid."
)
"""How to read it."""
MIN_WINDOWS = 8
"""Minimum number of windows of each arm in a panel; fewer say nothing of how they vary."""
MAX_WINDOWS = 6
"""Maximum number of workloads whose windows are drawn; those of all are in ``results.moments``."""
WORKLOAD = ("latency", "in_flight", "cpu", "connection", "site")
"""Columns in which the windows of a panel are equal."""


def draw_windows(moments: pd.DataFrame) -> Iterator[Picture]:
    """Yield a panel for each of the first workloads in blocks: what the mean of a block is made of."""
    windows = moments[(moments["figure"] == WINDOW) & (moments["comparison"] == "") & (moments["value"] > 0)]
    panels = []
    for key, lines in windows.groupby(list(WORKLOAD), sort=False):
        arms = lines.groupby(["arm", "role"]).size()
        if arms.min() >= MIN_WINDOWS:
            load = words.workload("arm", dict(zip(WORKLOAD, key, strict=True)))
            height = 1 + 0.5 * len(arms)
            panels.append(Panel(f"{WINDOW_TITLE}: {load}", partial(_windows, windows=lines), height))
    if panels:
        yield Picture("windows", WINDOW_TITLE, WINDOW_NOTES, panels[:MAX_WINDOWS])


def _windows(axes: "Axes", windows: pd.DataFrame) -> None:
    """Draw the windows of each arm in a row of its own."""
    names = []
    for place, ((arm, _), of_arm) in enumerate(windows.groupby(["arm", "role"], sort=False)):
        names.append(words.name(str(arm)))
        step = 0.9 / len(of_arm)
        lines = of_arm.sort_values(["started_at", "trial", "at_ns"]).reset_index(drop=True)
        lines["y"] = place - 0.45 + step * (lines.index + 0.5)
        for number, (_, block) in enumerate(lines.groupby("trial", sort=False)):
            if number % 2:
                span = block["y"].min() - step / 2, block["y"].max() + step / 2
                axes.axhspan(*span, color=PALE, alpha=0.5, linewidth=0, zorder=0)
        for is_valid, some in lines.groupby("valid"):
            style = look(some["strategy"].iloc[0])
            pictures.draw_dots(
                axes,
                some["value"],
                some["y"],
                style,
                hollow=not is_valid,
                size=3,
            )
    pictures.name_rows(axes, names)
    pictures.log_axis(axes.xaxis, units.duration, windows["value"])
    axes.set_xlabel("CPU time per page (log scale)")
