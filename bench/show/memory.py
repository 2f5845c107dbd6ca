"""Memory per additional thread, task or fetch in flight: layer by layer, and over the number held."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.frame import slopes
from inflight.bench.frame.contrast import records
from inflight.bench.frame.history import History, Subject, reference_memory
from inflight.bench.frame.slopes import BY, FULL, GROUPS, LAYERS, RSS, SERVER
from inflight.bench.show import pictures
from inflight.bench.show.looks import look
from inflight.bench.show.parts import name_lines, split
from inflight.bench.show.pictures import MAX_BARS, MAX_LINES, ROW, Label, Panel, Picture
from inflight.bench.show.table import Group, Line, Section, Table
from inflight.bench.show.words import join

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = (*LAYERS, SERVER, FULL, RSS)
COLUMNS_OF_FRAME = (
    *("part", "group", "line", "stack", "connection", "layer"),
    *("estimate", "low", "high", "intercept", "is_straight", "points", "sizes", "reason"),
)
TITLE = "Memory per additional thread, task or fetch"
NOTES = (
    "Slopes over N; a range where the slope is not constant.",
    "Slab and sockets hold both ends of each loopback connection. Resident is what ps shows; no part of the sum.",
)
LADDER_TITLE = "Memory added over the number held"
LADDER_NOTES = "Added since nothing was held, all layers. Lines: least squares. Hollow: invalid trials."
UNITS = {"idle": "waiting thread or task", "parked": "parked worker", "held": "fetch in flight", "swarm": "fetch"}
TEXTS = {
    "ends": "Each additional {what} takes {most} with {dear}, {least} with {cheap}{ratio}.",
    "alone": "Each additional {what} takes {most} with {dear}.",
}
PUBLISHED = {3_000: "3 kB: a coroutine", 22_000: "22 kB: a thread (draft)", 50_000: "50 kB: a thread"}
"""Figures of the chapter "A Web Crawler With asyncio Coroutines" by Davis and van Rossum."""
PAIR = ["thread", "asyncio_task"]
"""The idle thread and the idle task that are compared if both are there."""
ROOM_FOR_NAME = 0.35
"""Share of the axis that the name of a published figure takes on a panel as wide as a phone."""
FILLS = dict(zip((*LAYERS, SERVER), pictures.FILLS, strict=True))


class Part(NamedTuple):
    """The subjects of one connection and site; idle threads and tasks belong to the first."""

    name: str
    history: History
    slopes: pd.DataFrame
    """``slopes.slopes``, with the name of each subject as ``line``, the subjects in order."""
    lines: pd.DataFrame
    """``slopes.layers``, with ``line``."""

    @property
    def trials(self) -> "pd.Series[str]":
        """The trials of the subjects that have a slope."""
        able = self.slopes.dropna(subset="estimate")
        return self.lines["trial"][self.lines["line"].isin(able["line"])]


def parts(trials: pd.DataFrame, history: History) -> list[Part]:
    """Return the parts, the one with the most trials first; empty without a trial of memory."""
    lines = slopes.layers(trials[trials["comparison"] == ""])
    if lines.empty:
        return []
    lines = name_lines(lines, lines["arm"])
    lines = lines.assign(arm=lines["line"])
    idle = lines["group"] == "idle"
    settings = split(lines[~idle], keys=("connection", "site")) or [("", lines[~idle])]
    many = []
    for number, (name, alike) in enumerate(settings):
        every = alike if number else pd.concat([alike, lines[idle].assign(site="{}")])
        many.append(Part(name, history, _ordered(slopes.slopes(every, [*BY, "line"])), every))
    return many


def _ordered(lines: pd.DataFrame) -> pd.DataFrame:
    """Order subjects by group, then the cheapest first; those without a slope of all layers come last."""
    full = lines[lines["layer"] == FULL].set_index(["group", "arm"])["estimate"]
    key = [full.get(key, math.nan) for key in zip(lines["group"], lines["arm"], strict=True)]
    groups = lines["group"].map(list(GROUPS).index)
    return lines.assign(g=groups, size=key).sort_values(["g", "size", "arm"], kind="stable").drop(columns=["g", "size"])


def sections(parts: Sequence[Part]) -> list[Section]:
    """Return a section for each part with a slope."""
    able = [part for part in parts if part.slopes["estimate"].notna().any()]
    return [
        Section("", (_table(part),), NOTES, findings=tuple(findings(part)) if part is able[0] else ()) for part in able
    ]


def _table(part: Part) -> Table:
    wide: dict[Any, pd.DataFrame] = {
        key: table.set_index("layer") for key, table in part.slopes.groupby(["group", "line"], sort=False)
    }
    tables = {key: table for key, table in wide.items() if table["estimate"].notna().any()}
    columns = [name for name in COLUMNS if any(name in table.index for table in tables.values())]
    ranges = {key: part.history.memory.get(_subject(table)) for key, table in tables.items()}
    note = "Range of runs: all layers, in the earlier runs on this machine."
    if not any(ranges.values()):
        ranges = {key: reference_memory().get(_subject(table)) for key, table in tables.items()}
        note = "Range of runs: all layers, in the stored runs of the reference (results/reference)."
    heads = ["", *(column.replace(" and ", ", ") for column in columns)]
    has_ranges = any(ranges.values())
    heads += ["range of runs"] if has_ranges else []
    lines: list[Line] = []
    for group, words_ in GROUPS.items():
        members = [(line, table) for (of, line), table in tables.items() if of == group]
        lines += [Group(words_)] if members else []
        for line, table in members:
            cells = [_cell(table, column) for column in columns]
            if has_ranges:
                ends = ranges[group, line]
                cells.append(units.size_between(*ends, 2) if ends else "-")
            lines.append((starred(line, table["stack"].iloc[0]), *cells))
    missing = ", ".join(line for _, line in wide if (_, line) not in tables)
    notes: tuple[str, ...] = (note,) if has_ranges else ()
    notes += (f"Too few valid trials for a slope: {missing}.",) if missing else ()
    unknown = part.slopes[part.slopes["reason"].ne("") & part.slopes["line"].isin({line for _, line in tables})]
    notes += tuple(f"-: {reason}." for reason in dict.fromkeys(unknown["reason"]))
    return Table(join(", ", TITLE, part.name), tuple(heads), tuple(lines), notes)


def _subject(table: pd.DataFrame) -> Subject:
    group, arm, connection = table[["group", "arm", "connection"]].iloc[0]
    return group, arm, connection


def starred(line: str, stack: str) -> str:
    """Return the name of a subject, with a star if it has an HTTP stack of its own."""
    return f"{line} *" if stack == "own" else line


def _cell(table: pd.DataFrame, layer: str) -> str:
    cell: Any = table.loc[layer] if layer in table.index else None
    if cell is None or math.isnan(cell["estimate"]):
        return "-"
    if not cell["is_straight"]:
        return units.size_between(cell["low"], cell["high"], 2)
    return units.size(cell["estimate"], 2)


def findings(part: Part) -> Iterator[str]:
    """Compare the dearest and the cheapest of what is idle, and of fetches in flight or else of parked workers."""
    able = part.slopes[(part.slopes["layer"] == FULL) & part.slopes["is_straight"] & (part.slopes["low"] > 0)]
    groups = [able[able["group"] == group] for group in GROUPS]
    idle, parked, held, swarm = groups
    for subjects in (idle, held if len(held) else parked, swarm):
        pair = subjects[subjects["arm"].isin(PAIR)]
        shared = subjects[subjects["stack"] == "shared"]
        compared = pair if len(pair) == len(PAIR) else shared if len(shared) > 1 else subjects
        if len(compared):
            yield _finding(compared.sort_values("estimate"))


def _finding(group: pd.DataFrame) -> str:
    cheap, dear = group.iloc[0], group.iloc[-1]
    is_apart = cheap["high"] < dear["low"]
    return TEXTS["ends" if len(group) > 1 else "alone"].format(
        what=UNITS[dear["group"]],
        most=units.size(dear["estimate"], 2),
        dear=dear["line"],
        least=units.size(cheap["estimate"], 2),
        cheap=cheap["line"],
        ratio=f" ({units.times(dear['estimate'] / cheap['estimate'])})" if is_apart else ": the intervals overlap",
    )


def as_frame(parts: Sequence[Part]) -> pd.DataFrame:
    """Return one line for each layer of each subject: ``part``, ``group``, ``line``, ``layer`` and its slope.

    The slope: ``estimate`` (bytes), ``low``, ``high``, ``intercept``, ``is_straight``, ``points`` (trials), ``sizes``
    (numbers held), ``reason`` (why there is none).
    """
    tables = [part.slopes.assign(part=part.name)[list(COLUMNS_OF_FRAME)] for part in parts]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS_OF_FRAME))


# Plots


def plots(parts: Sequence[Part]) -> Iterator[Picture]:
    """Yield the layers and the memory over N of each part."""
    for number, part in enumerate(parts[: pictures.MAX_PICTURES], start=1):
        suffix = "" if number == 1 else f"-{number}"
        bars = part.slopes[part.slopes["estimate"].notna()].groupby(["group", "line", "stack"], sort=False).ngroups
        if bars:
            notes = [*findings(part), *NOTES[1:], "Dashed: figures of the chapter by Davis and van Rossum."]
            height = 2.1 + ROW * (min(bars, MAX_BARS) + part.slopes["group"].nunique())
            panel = Panel("", partial(_layers, part=part), height)
            yield Picture(f"memory{suffix}", join(", ", TITLE, part.name), " ".join(notes), [panel])
        groups = [group for group in GROUPS if group != "parked" and len(set(_added(part, group)["n"])) > 1]
        if groups:
            panels = [Panel(GROUPS[group].capitalize(), partial(_ladder, part=part, group=group)) for group in groups]
            usual = groups.index("held") if "held" in groups else 0
            yield Picture(f"ladder{suffix}", LADDER_TITLE, LADDER_NOTES, panels, usual)


def _layers(axes: "Axes", part: Part) -> None:
    """Draw a bar of layers for each subject with a slope, with the interval and the figure of all layers."""
    from matplotlib.patches import Patch

    known = part.slopes[part.slopes["estimate"].notna()]
    names, figures, stacked, full, before = list[str](), dict[int, str](), dict[int, Any](), dict[int, Any](), ""
    for key, layers in islice(known.groupby(["group", "line", "stack"], sort=False), MAX_BARS):
        group, line, stack = map(str, key)
        if group != before:
            names.append(GROUPS[group].capitalize())
            before = group
        place = len(names)
        stacked[place] = layers.set_index("layer")["estimate"].reindex(list(FILLS)).fillna(0).clip(lower=0)
        figures[place] = f"{units.size(stacked[place].sum(), 2)} and more"
        for slope in records(layers[layers["layer"] == FULL]):
            is_one = slope.is_straight
            figures[place] = units.size(slope.estimate, 2) if is_one else units.size_between(slope.low, slope.high, 2)
            full[place] = slope
        names.append(starred(line, stack))
    sizes = pd.DataFrame(stacked).T
    for layer, left in sizes.cumsum(axis=1).shift(axis=1, fill_value=0).items():
        axes.barh(sizes.index, sizes[layer], left=left, height=0.66, **FILLS[str(layer)])
    for place, slope in full.items():
        reach = [[slope.estimate - slope.low], [slope.high - slope.estimate]]
        axes.errorbar(slope.estimate, place, xerr=reach, color="black", capsize=4, linewidth=1.4)
    longest = max([sizes.sum(axis=1).max(), *(slope.high for slope in full.values())])
    pictures.name_rows(axes, names, figures)
    heads = {words_.capitalize() for words_ in GROUPS.values()}
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in heads else "normal")
    _mark_published(axes, 1.05 * longest)
    pictures.set_ticks(axes.xaxis, lambda value: units.size(value, 2))
    axes.set_xlabel(TITLE.lower().replace(", ", ",\n"))
    used = {layer: fill for layer, fill in FILLS.items() if layer in set(known["layer"])}
    pictures.write_key(axes, [Patch(**fill, label=layer) for layer, fill in used.items()])


def _mark_published(axes: "Axes", end: float) -> None:
    """Draw a dashed line for each published figure up to ``end``, and its name to the right of the line's upper end.

    The smallest figure has the longest line and the highest name, so no name crosses the line of another.
    """
    sizes = [size for size in PUBLISHED if size < end]
    axes.set_xlim(0, max([end, *(size + ROOM_FOR_NAME * end for size in sizes)]))
    dashes: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 3)), "linewidth": 1.3, "zorder": 0.5}
    for number, size in enumerate(reversed(sizes)):
        axes.axvline(size, **dashes)
        name_pt = 2 + 14 * number
        aside: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
        axes.annotate("", (size, 1), xytext=(0, name_pt + 11), arrowprops={"arrowstyle": "-", **dashes}, **aside)
        axes.annotate(PUBLISHED[size], (size, 1), xytext=(4, name_pt), **aside)


def _added(part: Part, group: str) -> pd.DataFrame:
    """Return what trials of a group added in all layers."""
    lines = part.lines
    return lines[(lines["group"] == group) & (lines["layer"] == FULL) & (lines["added"] > 0) & (lines["n"] > 0)]


def _ladder(axes: "Axes", part: Part, group: str) -> None:
    """Draw the memory added over the number held of one group: a point for each trial, and the fitted lines."""
    points = _added(part, group)
    pictures.log_axis(axes.xaxis, lambda n: units.count(round(n)), points["n"], 3)
    pictures.log_axis(axes.yaxis, lambda size: units.size(size, 1), points["added"])
    fits = part.slopes[(part.slopes["group"] == group) & (part.slopes["layer"] == FULL)].set_index("line")["estimate"]
    labels = []
    for number, name in enumerate(name for name in dict.fromkeys(part.slopes["line"]) if name in set(points["line"])):
        here, style = points[points["line"] == name], look(name) if number < MAX_LINES else None
        for is_valid in (True, False):
            some = here[here["valid"] == is_valid]
            pictures.draw_dots(axes, list(zip(some["n"], some["added"], strict=True)), style, hollow=not is_valid)
        valid = here[here["valid"]]
        if len(valid) and not math.isnan(slope := fits[name]):
            start = (valid["added"] - slope * valid["n"]).median()
            low, high = valid["n"].min(), valid["n"].max()
            steps = [low * (high / low) ** (step / 30) for step in range(31)]
            pictures.draw_line(axes, [(n, start + slope * n) for n in steps if start + slope * n > 0], style, zorder=2)
        if style:
            last = here.loc[here["n"].idxmax()]
            labels.append(Label(last["n"], last["added"], name, style.ink))
    axes.set_xlabel("N (log scale)")
    axes.set_ylabel("memory added (log scale)")
    pictures.draw_labels(axes, labels)
