"""The plots of listings: bars, a panel for each figure; and lines over time, from the trial in the middle."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench.frame.figures import figure_of
from inflight.bench.present import labels, marks, name_looks, page
from inflight.bench.present.labels import Label
from inflight.bench.show import words
from inflight.bench.show.draw import LINE, PANEL_HEIGHT, tick
from inflight.bench.show.listing import Listing, Part, figures_of, findings, line_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from inflight.bench.rows.files import Row

MAX_PANELS = 4
MAX_NAME = 30
"""Maximum length of a name for which two panels of bars fit side by side."""


def plots(
    listing: Listing, found: Sequence[Part], moments: pd.DataFrame, footer: str
) -> "Iterator[tuple[str, Figure]]":
    """Draw the first part of a listing: its bars, then its lines over time."""
    if not found:
        return
    part = found[0]
    said = marks.notes(*findings(listing, part), listing.note)
    title = ", ".join(filter(None, [listing.title, part.name]))
    shown = [name for name in listing.bars if name in part.lines and part.lines[name].notna().any()][:MAX_PANELS]
    if shown:
        yield listing.name, _bars(listing, part, shown, (title, said, footer))
    own = moments[moments["trial"].isin(part.trials["trial"]) & moments["figure"].isin(listing.over_time)]
    if len(own):
        name = f"{listing.name}_over_time" if shown else listing.name
        figures = [one for one in listing.over_time if one in set(own["figure"])]
        sheet = page.sheet(title, said, footer, 3.2 + len(figures) * (PANEL_HEIGHT - 1.5))
        yield name, _over_time(listing, part, own, figures, sheet)


def _bars(listing: Listing, part: Part, shown: Sequence[str], texts: tuple[str, str, str]) -> "Figure":
    lines = part.lines.head(page.MOST_BARS)
    names = [f"{line_name(listing, line)}{'' if line['valid'] else ' ✗'}" for _, line in lines.iterrows()]
    columns = min(2 if max(map(len, names)) <= MAX_NAME else 1, len(shown))
    height = 3.2 + -(-len(shown) // columns) * (1.3 + LINE * len(lines))
    sheet = page.sheet(*texts, max(page.HEIGHT, height))
    widest = labels.inches(sheet, names, page.TEXT)
    marks.margins(sheet, 0.65 + widest, 0.4, top=0.1)
    room = (page.WIDTH - 0.9 - columns * (0.65 + widest)) / columns
    sheet.subplots_adjust(hspace=0.4, wspace=(0.65 + widest) / room)
    for axes, name in zip(marks.panels(sheet, len(shown), columns), shown, strict=True):
        draw_bars(axes, name, lines, names)
    return sheet


def draw_bars(axes: "Axes", name: str, lines: pd.DataFrame, names: Sequence[str]) -> None:
    """Draw a figure as a bar for each line, with its value beside it."""
    figure = figure_of(name)
    for place, (_, line) in enumerate(lines.iterrows()):
        if not pd.isna(line[name]):
            colour = name_looks.look(line["arm"]).colour if line["valid"] else page.PALE
            hatch = "" if line["stack"] == "shared" else "//"
            axes.barh(place, line[name], height=marks.BAR, color=colour, hatch=hatch, edgecolor="white")
            marks.beside(axes, figure.write(line[name], 2), line[name], place)
    marks.name_rows(axes, names)
    axes.set_xlim(0, 1.5 * max(lines[name].max(), 1e-9))
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: tick(figure.write)(value))
    axes.set_title(figure.words, pad=10)


def _over_time(listing: Listing, part: Part, own: pd.DataFrame, figures: Sequence[str], sheet: "Figure") -> "Figure":
    lines = part.lines
    lines = lines[lines["in_flight"] == lines["in_flight"].max()] if "in_flight" in listing.keys else lines
    trials = {line_name(listing, line): _middle(listing, part, line) for _, line in lines.iterrows()}
    labels.share_width(sheet, 1, trials, left=1.6)
    sheet.subplots_adjust(hspace=0.3)
    for axes, figure in zip(marks.panels(sheet, len(figures), 1), figures, strict=True):
        draw_over_time(axes, own[own["figure"] == figure], figure, trials)
    return sheet


def _middle(listing: Listing, part: Part, line: "pd.Series[Any]") -> str:
    """Return the trial in the middle of the order of the listing: a valid one, if there is one."""
    own = part.trials[part.trials["arm"] == line["arm"]]
    for key in listing.keys:
        own = own[own[key] == line[key]]
    own = own[own["valid"]] if own["valid"].any() else own
    own = own.sort_values(listing.order, na_position="last") if listing.order in own else own
    return str(own["trial"].iloc[(len(own) - 1) // 2])


def draw_over_time(axes: "Axes", own: pd.DataFrame, name: str, trials: dict[str, str]) -> None:
    """Draw a line for each trial, with its name at its end; it has the look of its arm, if it is alone in that."""
    figure, ends = figure_of(name), []
    known = {line: trial for line, trial in trials.items() if trial in set(own["trial"])}
    arm_of = dict(zip(own["trial"], own["arm"], strict=True))
    arms = [arm_of[trial] for trial in known.values()]
    is_by_arm = len(set(arms)) == len(arms)
    names = arms if is_by_arm else [str(number) for number in range(len(arms))]
    looks = name_looks.looks(names)
    for number, (line, trial) in enumerate(known.items()):
        here = own[own["trial"] == trial].sort_values("at_ns")
        look = looks[names[number]] if number < page.MOST_LINES else None
        points = list(zip(here["at_ns"] / 1e9, here["value"], strict=True))
        marks.line(axes, points, look)
        if look:
            at, value = max(points, key=lambda point: (point[1], point[0])) if is_by_arm else points[-1]
            ends.append(Label(at, value, words.plain(line, 40), look.colour))
    axes.set_ylim(min(0, own["value"].min()), None)
    axes.set_xlim(0, None)
    axes.yaxis.set_major_formatter(lambda value, _: tick(figure.write)(value))
    axes.set_ylabel(figure.words)
    axes.set_xlabel("time since the start (s)")
    labels.end_labels(axes, ends)


def draw_first(axes: "Axes", listing: Listing, found: Sequence[Part], rows: "Sequence[Row]") -> bool:
    """Draw the first panel of a listing onto axes, with its title; return whether there is one."""
    from inflight.bench.frame.moments import moments

    part = found[0] if found else None
    if part is None:
        return False
    names = [line_name(listing, line) for _, line in part.lines.iterrows()]
    shown = [name for name in listing.bars if name in figures_of(listing, part)]
    if shown:
        draw_bars(axes, shown[0], part.lines, names)
        axes.set_xlabel(figure_of(shown[0]).words)
    else:
        over_time = moments(rows)
        own = over_time[over_time["trial"].isin(part.trials["trial"]) & over_time["figure"].isin(listing.over_time[:1])]
        if own.empty:
            return False
        trials = {
            name: _middle(listing, part, line) for name, (_, line) in zip(names, part.lines.iterrows(), strict=True)
        }
        draw_over_time(axes, own, listing.over_time[0], trials)
    axes.set_title(", ".join(filter(None, [listing.title, part.name])), pad=10)
    return True
