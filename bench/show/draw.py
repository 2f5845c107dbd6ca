"""The plots of studies, of listings and of windows."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.figures import figure_of
from inflight.bench.show import listing as listings
from inflight.bench.show import pictures, words
from inflight.bench.show import study as studies
from inflight.bench.show.listing import Listing, line_name
from inflight.bench.show.looks import COLOURS, GREY, MIDDLE, PALE, look, looks
from inflight.bench.show.pictures import MAX_BARS, MAX_LINES, ROW, Bar, Label, Panel, Picture, Point
from inflight.bench.show.study import Column, Part, evenly, tile_text
from inflight.bench.show.words import join, short_name, value_name, value_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PANELS = 4
NOTES = {
    "lines": "Points: means over blocks; bars of a ratio: where the next run lies in 90 %; hollow: invalid trials.",
    "bars": "Bars: means over blocks; hatched: its own HTTP stack, or a part of a page.",
    "dots": "Dots: means over blocks.",
    "tiles": "Name: the fastest; +: others that tie with it; number: its lead over the slowest; pale: no difference.",
}


# Studies


def draw_study(parts: Sequence[Part], *, has_valid: bool) -> Iterator[Picture]:
    """Yield a picture of each part with a valid trial; in a run that has none, those of invalid trials."""
    able = [part for part in parts if part.means["valid"].any() or not has_valid]
    for number, part in enumerate(able[: pictures.MAX_PICTURES], start=1):
        study = part.study
        if study.plot.is_ratio and part.ratios.empty:
            continue
        mark = mark_of(part)
        every = _panels(part, mark)
        first = next(columns for columns in every if part.usual in columns)
        chosen = evenly(every, 2 if mark == "dots" else MAX_PANELS)
        if first not in chosen:
            chosen[1] = first
        rows = ROW * max(2, min(MAX_BARS, len(part.stacks)))
        height = {"bars": 1 + rows, "dots": 1.8 + rows}.get(mark, pictures.HEIGHT)
        panels = [
            Panel(_panel_title(part, columns), partial(MARKS[mark], part=part, columns=columns), height)
            for columns in chosen
        ]
        yield Picture(
            study.name if number == 1 else f"{study.name}-{number}",
            join(", ", study.title, part.name),
            join(" ", *part.findings, study.note, NOTES[mark]),
            panels,
            chosen.index(first),
        )


def mark_of(part: Part) -> str:
    """Return the mark: lines over fewer than three values are drawn as bars."""
    study = part.study
    if study.plot.mark == "lines" and study.plot.x == "in_flight":
        place = study.columns.index("in_flight")
        values: dict[Column, set[int]] = {}
        for column in part.columns:
            values.setdefault(column[:place], set()).add(column[place])
        return "lines" if max(map(len, values.values())) > 2 else "bars"
    return study.plot.mark


def _panel_title(part: Part, columns: Sequence[Column]) -> str:
    """Return the values that all columns of a panel have in common."""
    keys = part.study.columns
    common = [key for n, key in enumerate(keys) if len({column[n] for column in columns}) == 1]
    common = [key for key in common if key != part.study.plot.x or len(columns) == 1]
    return ", ".join(value_name(key, columns[0][keys.index(key)]) for key in common)


def _panels(part: Part, mark: str) -> list[list[Column]]:
    """Return the columns of each panel: of bars and dots one each, else those of one value of the facet."""
    study, columns = part.study, part.columns
    if study.plot.is_ratio:
        columns = [column for column in columns if len(part.at(part.ratios, [column]))]
    if mark in {"bars", "dots"}:
        return [[column] for column in columns]
    if study.plot.facet not in study.columns:
        return [columns]
    place = study.columns.index(study.plot.facet)
    values = list(dict.fromkeys(column[place] for column in columns))
    values = sorted(values) if study.plot.facet == "in_flight" else values
    return [[column for column in columns if column[place] == value] for value in values]


def _lines(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a line for each line of the table over the axis of the plot, with its name at its end."""
    study = part.study
    means = part.at(part.ratios.assign(valid=True) if study.plot.is_ratio else part.means, columns)
    place = study.columns.index(study.plot.x)
    steps = list(dict.fromkeys(column[place] for column in part.columns))
    is_number = study.plot.x == "in_flight"
    if is_number:
        pictures.log_axis(axes.xaxis, lambda x: units.count(round(x)), steps)
        if len(steps) <= 5:
            axes.set_xticks(steps)
    else:
        axes.set_xticks(range(len(steps)), [short_name(study.plot.x, step) for step in steps])
        axes.set_xlim(-0.2, len(steps) - 0.8)
    ends = list(means["estimate"])
    if study.plot.is_ratio:
        ends += means["next_low"][means["next_low"] > means["estimate"] / 3].tolist()
        ends += means["next_high"][means["next_high"] < 3 * means["estimate"]].tolist()
    on_tick = units.times if study.plot.is_ratio else pictures.tick(study.figure.write)
    pictures.log_axis(axes.yaxis, on_tick, ends)
    known = looks(list(part.stacks)[:MAX_LINES])
    labels: list[Label] = []
    for name in part.stacks:
        points = []
        for mean in records(means[means["line"] == name]):
            x = getattr(mean, study.plot.x) if is_number else steps.index(getattr(mean, study.plot.x))
            low, high = (mean.next_low, mean.next_high) if study.plot.is_ratio else (math.nan, math.nan)
            points.append(Point(x, mean.estimate, low, high, is_invalid=not mean.valid))
        labels += pictures.draw_series(axes, name, sorted(points, key=lambda point: point.x), known.get(name))
    axes.set_xlabel(f"{value_words(study.plot.x)}{' (log scale)' if is_number else ''}")
    against = f"ratio to {value_name(study.over[0], study.over[1])}" if study.over and study.plot.is_ratio else ""
    axes.set_ylabel(f"{against or study.figure.words} (log scale)")
    latency_ns = means["latency_ns"].iloc[0] if "latency_ns" in means else 0
    if is_number and study.figures[0] == "pages_per_s" and latency_ns:
        ideal = [1e9 * step / latency_ns for step in steps]
        axes.plot(steps, ideal, color=GREY, linewidth=1.5, linestyle=(0, (4, 3)), zorder=1)
    pictures.draw_labels(axes, labels)


def _bars(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a bar for each line of the table, with its figure beside it."""
    figure, means = part.study.figure, {mean.line: mean for mean in records(part.at(part.means, columns))}
    bars = []
    for name in islice((name for name in part.stacks if name in means), MAX_BARS):
        mean = means[name]
        fill = pictures.bar_fill(name, mean.stack, is_valid=mean.valid)
        bars.append(Bar(name, mean.estimate, studies.text(figure, mean), fill))
    pictures.draw_bars(axes, bars)
    pictures.set_ticks(axes.xaxis, pictures.tick(figure.write), 3)
    axes.set_xlabel(figure.words)


def _dots(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a row for each line of the table, and a dot for each figure of the study."""
    study, names = part.study, list(part.stacks)[:MAX_BARS]
    ends = []
    for number, name in enumerate(study.figures):
        means = part.at(part.means_of(name), columns)
        means = means[means["line"].isin(names)]
        places = [names.index(line) for line in means["line"]]
        style: dict[str, Any] = {"color": (COLOURS[6], GREY, MIDDLE)[number % 3], "markersize": 7, "zorder": 3}
        axes.plot(means["estimate"], places, "osD"[number % 3], label=figure_of(name).words, **style)
        ends += list(means["estimate"])
    pictures.name_rows(axes, names)
    if ends:
        pictures.log_axis(axes.xaxis, pictures.tick(study.figure.write), ends, 4)
    axes.set_xlabel(f"{study.title[0].lower()}{study.title[1:]} (log scale)")
    pictures.write_key(axes, axes.get_legend_handles_labels()[0], 1)


def _tiles(axes: "Axes", part: Part, columns: Sequence[Column]) -> None:
    """Draw a tile for each column: who is best, in the colour of its name; pale where no difference is certain."""
    study = part.study
    across = study.columns.index(study.plot.x)
    down = next(n for n, key in enumerate(study.columns) if key not in {study.plot.x, study.plot.facet})
    keys = (study.columns[place] for place in (across, down))
    wide, high = (list(dict.fromkeys(part.means.sort_values(studies.ORDER.get(key, key))[key])) for key in keys)
    for column in columns:
        best = part.tiles[column]
        x, y = wide.index(column[across]), high.index(column[down])
        colour, alpha = (look(best.best[0]).colour, 0.5) if best.is_decided else (PALE, 0.5 if best.best else 0)
        hatch = "//" if best.is_decided and len(best.best) > 1 else ""
        axes.barh(y, 0.96, left=x - 0.48, height=0.96, color=colour, alpha=alpha, hatch=hatch, edgecolor="white")
        name, _, lead = tile_text(best).partition(" ")
        weight = "bold" if best.is_decided else "normal"
        label = join("\n", name.rstrip(",").replace("_", "_\n", 1), lead)
        axes.text(x, y, label, ha="center", va="center", weight=weight, size=min(pictures.SMALL, 40 / len(wide)))
    axes.set_xlim(-0.5, len(wide) - 0.5)
    axes.set_ylim(-0.5, len(high) - 0.5)
    axes.set_xticks(range(len(wide)), [value_name(study.columns[across], value) for value in wide])
    axes.set_yticks(range(len(high)), [short_name(study.columns[down], value) for value in high])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xlabel(value_words(study.columns[across]))
    axes.set_ylabel(value_words(study.columns[down]))


MARKS = {"lines": _lines, "bars": _bars, "dots": _dots, "tiles": _tiles}


# Listings


def draw_listing(parts: Sequence[listings.Part], moments: pd.DataFrame) -> Iterator[Picture]:
    """Yield, for each part of a listing, its bars, then its lines over time, each from the trial in the middle."""
    listing = parts[0].listing
    for number, part in enumerate(parts[: pictures.MAX_PICTURES], start=1):
        suffix = "" if number == 1 else f"-{number}"
        title = join(", ", listing.title, part.name)
        notes = join(" ", *part.findings, listing.note)
        figures = [name for name in listing.bars if name in part.lines and part.lines[name].notna().any()][:MAX_PANELS]
        if figures:
            lines = part.lines.head(MAX_BARS)
            height = 1 + ROW * max(2, len(lines))
            panels = [
                Panel(figure_of(name).words, partial(_listed, name=name, listing=listing, lines=lines), height)
                for name in figures
            ]
            yield Picture(f"{listing.name}{suffix}", title, notes, panels)
        over_time = moments[moments["trial"].isin(part.trials["trial"]) & moments["figure"].isin(listing.over_time)]
        if len(over_time):
            lines = part.lines
            if "in_flight" in listing.keys:
                lines = lines[lines["in_flight"] == lines["in_flight"].max()]
            trials = {line_name(listing, line): _middle(part, line) for _, line in lines.iterrows()}
            panels = [
                Panel("", partial(_over_time, lines=over_time[over_time["figure"] == name], name=name, trials=trials))
                for name in listing.over_time
                if name in set(over_time["figure"])
            ]
            if figures:
                title, notes = f"{title}, over time", ""
            yield Picture(f"{listing.name}{'_over_time' if figures else ''}{suffix}", title, notes, panels)


def _listed(axes: "Axes", name: str, listing: Listing, lines: pd.DataFrame) -> None:
    """Draw a figure as a bar for each line, with its value beside it."""
    figure, bars = figure_of(name), []
    for _, line in lines.iterrows():
        label = f"{line_name(listing, line)}{'' if line['valid'] else ' ✗'}"
        value, written = (0.0, "") if pd.isna(line[name]) else (line[name], figure.write(line[name], 2))
        bars.append(Bar(label, value, written, pictures.bar_fill(line["arm"], line["stack"], is_valid=line["valid"])))
    pictures.draw_bars(axes, bars)
    pictures.set_ticks(axes.xaxis, pictures.tick(figure.write), 3)
    axes.set_xlabel(figure.words)


def _middle(part: listings.Part, line: "pd.Series[Any]") -> str:
    """Return the trial in the middle of the order of the listing: a valid one, if there is one."""
    listing, trials = part.listing, part.trials[part.trials["arm"] == line["arm"]]
    for key in listing.keys:
        trials = trials[trials[key] == line[key]]
    trials = trials[trials["valid"]] if trials["valid"].any() else trials
    trials = trials.sort_values(listing.order, na_position="last") if listing.order in trials else trials
    return str(trials["trial"].iloc[(len(trials) - 1) // 2])


def _over_time(axes: "Axes", lines: pd.DataFrame, name: str, trials: dict[str, str]) -> None:
    """Draw a line for each trial, with its name at its end; it has the look of its arm, if it is alone in that."""
    known = {line: trial for line, trial in trials.items() if trial in set(lines["trial"])}
    arms = dict(zip(lines["trial"], lines["arm"], strict=True))
    is_by_arm = len({arms[trial] for trial in known.values()}) == len(known)
    keys = {line: arms[trial] if is_by_arm else str(number) for number, (line, trial) in enumerate(known.items())}
    every, labels = looks(keys.values()), []
    for number, (line, trial) in enumerate(known.items()):
        here = lines[lines["trial"] == trial].sort_values("at_ns")
        style = every[keys[line]] if number < MAX_LINES else None
        points = list(zip(here["at_ns"] / 1e9, here["value"], strict=True))
        pictures.draw_line(axes, points, style)
        if style:
            end = max(points, key=lambda point: (point[1], point[0])) if is_by_arm else points[-1]
            labels.append(Label(*end, words.plain(line, 40), style.ink))
    axes.set_ylim(min(0, lines["value"].min()), None)
    axes.set_xlim(0, None)
    pictures.set_ticks(axes.yaxis, pictures.tick(figure_of(name).write), 5)
    axes.set_ylabel(figure_of(name).words)
    axes.set_xlabel("time since the start (s)")
    pictures.draw_labels(axes, labels)


# Windows


WINDOW = "window_cpu_per_page_ns"
WINDOW_NOTES = (
    "A dot for each window, in the order of time from the top down; a shade for each second block; hollow: invalid."
)
MAX_WINDOWS = 6
"""Maximum number of workloads whose windows are drawn; those of all are in ``results.moments``."""
WORKLOAD = ("latency", "in_flight", "cpu", "connection", "site")


def draw_windows(moments: pd.DataFrame) -> Iterator[Picture]:
    """Yield a panel for each of the first workloads in blocks: what the mean of a block is made of."""
    windows = moments[(moments["figure"] == WINDOW) & (moments["comparison"] == "") & (moments["value"] > 0)]
    panels = []
    for key, lines in islice(windows.groupby(list(WORKLOAD), sort=False), MAX_WINDOWS):
        where = words.workload("arm", dict(zip(WORKLOAD, key, strict=True)))
        height = 1 + 0.5 * len(lines[["arm", "role"]].drop_duplicates())
        panels.append(Panel(where, partial(_windows, windows=lines), height))
    if panels:
        yield Picture("windows", "CPU time per page of every window", WINDOW_NOTES, panels)


def _windows(axes: "Axes", windows: pd.DataFrame) -> None:
    """Draw the windows of each arm in a row of its own."""
    windows = windows[["arm", "role", "strategy", "trial", "started_at", "at_ns", "value", "valid"]]
    names = []
    for place, ((arm, _), lines) in enumerate(windows.groupby(["arm", "role"], sort=False)):
        names.append(words.name(str(arm)))
        lines = lines.sort_values(["started_at", "trial", "at_ns"])  # noqa: PLW2901
        step = 0.9 / len(lines)
        lines = lines.assign(y=[place - 0.45 + step * (n + 0.5) for n in range(len(lines))])  # noqa: PLW2901
        for number, (_, block) in enumerate(lines.groupby("trial", sort=False)):
            if number % 2:
                span = block["y"].min() - step / 2, block["y"].max() + step / 2
                axes.axhspan(*span, color=PALE, alpha=0.5, linewidth=0, zorder=0)
        for is_valid, some in lines.groupby("valid"):
            points, style = list(zip(some["value"], some["y"], strict=True)), look(some["strategy"].iloc[0])
            pictures.draw_dots(axes, points, style, hollow=not is_valid, markersize=3)
    pictures.name_rows(axes, names)
    pictures.log_axis(axes.xaxis, units.duration_tick, windows["value"], 4)
    axes.set_xlabel("CPU time per page (log scale)")
