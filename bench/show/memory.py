"""Memory per additional thread, task or fetch in flight: layer by layer, and over the number held."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.frame import slopes
from inflight.bench.frame.slopes import BY, FULL, GROUPS, LAYERS, RSS, SERVER
from inflight.bench.present import labels, marks, page, scales
from inflight.bench.present.labels import Label
from inflight.bench.present.name_looks import look
from inflight.bench.show import words
from inflight.bench.show.study import site_differences, value_name
from inflight.bench.show.table import Group, Line, Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (*LAYERS, SERVER, FULL, RSS)
COLUMNS_OF_JSON = (
    *("part", "group", "line", "stack", "connection", "layer"),
    *("estimate", "low", "high", "intercept", "is_straight", "points", "sizes", "reason"),
)
TITLE = "Memory per additional thread, task or fetch"
NOTES = (
    "Slopes over N, ± half of their 95 % interval; a range where the slope is not constant.",
    "Slab and sockets hold both ends of each loopback connection. Resident is what ps shows; no part of the sum.",
)
UNITS = {"idle": "waiting thread or task", "parked": "parked worker", "held": "fetch in flight", "swarm": "fetch"}
TEXTS = {
    "ends": "Each additional {what} takes {most} with {dear}, {least} with {cheap}{ratio}.",
    "alone": "Each additional {what} takes {most} with {dear}.",
}
PUBLISHED = {3_000: "3 kB: a coroutine", 22_000: "22 kB: a thread (draft)", 50_000: "50 kB: a thread"}
"""Figures of the chapter "A Web Crawler With asyncio Coroutines" by Davis and van Rossum."""
PAIR = ["thread", "asyncio_task"]
"""The idle thread and the idle task that are compared if both are there."""
FILLS = dict(zip((*LAYERS, SERVER), marks.FILLS, strict=True))


class Part(NamedTuple):
    """The subjects of one connection and site; idle threads and tasks belong to the first."""

    name: str
    slopes: pd.DataFrame
    """``slopes.slopes``, with the name of each subject as ``line``, the subjects in order."""
    lines: pd.DataFrame
    """``slopes.layers``, with ``line``."""


def parts(trials: pd.DataFrame) -> list[Part]:
    """Return the parts, the one with the most trials first; empty without a trial of memory."""
    lines = slopes.layers(trials[trials["comparison"] == ""])
    if lines.empty:
        return []
    idle = lines["group"] == "idle"
    sites = site_differences(lines["site"][~idle]).reindex(lines.index, fill_value="{}")
    lines = lines.assign(line=lines["arm"].map(words.name), site=sites)
    settings = lines[~idle].groupby(["connection", "site"]).size().sort_values(ascending=False, kind="stable").index
    found = []
    for number, (connection, site) in enumerate(settings if len(settings) else [("", "{}")]):
        own = lines[((lines["connection"] == connection) & (lines["site"] == site) & ~idle) | (idle & (number == 0))]
        name = ", ".join(filter(None, [value_name("connection", connection), value_name("site", site)]))
        found.append(Part(name if len(settings) > 1 else "", _ordered(slopes.slopes(own, [*BY, "line"])), own))
    return found


def _ordered(found: pd.DataFrame) -> pd.DataFrame:
    """Order subjects by group, then the cheapest first; those without a slope of all layers come last."""
    full = found[found["layer"] == FULL].set_index(["group", "arm"])["estimate"]
    key = [full.get(one, math.nan) for one in zip(found["group"], found["arm"], strict=True)]
    groups = found["group"].map(list(GROUPS).index)
    return found.assign(g=groups, size=key).sort_values(["g", "size", "arm"], kind="stable").drop(columns=["g", "size"])


def sections(trials: pd.DataFrame) -> list[Section]:
    """Return a section for each part with a slope."""
    found = [part for part in parts(trials) if part.slopes["estimate"].notna().any()]
    return [
        Section("", (_table(part),), NOTES, findings=tuple(findings(part)) if part is found[0] else ())
        for part in found
    ]


def _table(part: Part) -> Table:
    wide: dict[Any, pd.DataFrame] = {
        key: own.set_index("layer") for key, own in part.slopes.groupby(["group", "line"], sort=False)
    }
    shown = {key: own for key, own in wide.items() if own["estimate"].notna().any()}
    columns = [name for name in COLUMNS if any(name in own.index for own in shown.values())]
    lines: list[Line] = []
    for group, words_ in GROUPS.items():
        own = [(line, table) for (one, line), table in shown.items() if one == group]
        lines += [Group(words_)] if own else []
        lines += [
            (labels.starred(line, table["stack"].iloc[0]), *(_cell(table, one) for one in columns))
            for line, table in own
        ]
    missing = ", ".join(line for _, line in wide if (_, line) not in shown)
    notes: tuple[str, ...] = (f"Too few valid trials for a slope: {missing}.",) if missing else ()
    unknown = part.slopes[part.slopes["reason"].ne("") & part.slopes["line"].isin({line for _, line in shown})]
    notes += tuple(f"-: {reason}." for reason in dict.fromkeys(unknown["reason"]))
    title = ", ".join(filter(None, [TITLE, part.name]))
    return Table(f"{title} (bytes)", ("", *(one.replace(" and ", ", ") for one in columns)), tuple(lines), notes)


def _cell(table: pd.DataFrame, layer: str) -> str:
    one: Any = table.loc[layer] if layer in table.index else None
    if one is None or math.isnan(one["estimate"]):
        return "-"
    if not one["is_straight"]:
        return f"{one['low']:,.0f}..{one['high']:,.0f}"
    return f"{round(one['estimate']):,} ±{max(one['high'] - one['estimate'], one['estimate'] - one['low']):,.0f}"


def findings(part: Part) -> Iterator[str]:
    """Compare the dearest and the cheapest of what is idle, and of fetches in flight or else of parked workers."""
    able = part.slopes[(part.slopes["layer"] == FULL) & part.slopes["is_straight"] & (part.slopes["low"] > 0)]
    groups = [able[able["group"] == group] for group in GROUPS]
    idle, parked, held, swarm = groups
    for own in (idle, held if len(held) else parked, swarm):
        pair = own[own["arm"].isin(PAIR)]
        shared = own[own["stack"] == "shared"]
        compared = pair if len(pair) == len(PAIR) else shared if len(shared) > 1 else own
        if len(compared):
            yield _finding(compared.sort_values("estimate"))


def _finding(own: pd.DataFrame) -> str:
    cheap, dear = own.iloc[0], own.iloc[-1]
    is_apart = cheap["high"] < dear["low"]
    return TEXTS["ends" if len(own) > 1 else "alone"].format(
        what=UNITS[dear["group"]],
        most=units.size(dear["estimate"], 2),
        dear=dear["line"],
        least=units.size(cheap["estimate"], 2),
        cheap=cheap["line"],
        ratio=f" ({units.times(dear['estimate'] / cheap['estimate'])})" if is_apart else ": the intervals overlap",
    )


def as_json(trials: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one object for each layer of each subject: ``part``, ``group``, ``line``, ``layer`` and its slope.

    The slope: ``estimate`` (bytes), ``low``, ``high``, ``intercept``, ``is_straight``, ``points`` (trials), ``sizes``
    (numbers held), ``reason`` (why there is none). What is not known is null.
    """
    found: Any = [part.slopes.assign(part=part.name)[list(COLUMNS_OF_JSON)] for part in parts(trials)]
    return [one for table in found for one in table.astype(object).where(table.notna(), None).to_dict("records")]


# Plots


def plots(trials: pd.DataFrame, footer: str) -> "Iterator[tuple[str, Figure]]":
    """Draw the layers and the memory over N of each part."""
    for number, part in enumerate(parts(trials)[: marks.MOST_SETTINGS], start=1):
        if part.slopes["estimate"].notna().any():
            yield marks.numbered("memory", number), _of_layers(part, footer)
        if ladders(part):
            yield marks.numbered("ladder", number), _of_ladder(part, footer)


def _of_layers(part: Part, footer: str) -> "Figure":
    shown = _bars(part)
    names = [labels.starred(line, stack) for _, line, stack in shown]
    notes = marks.notes(*findings(part), *NOTES[1:], "Dashed: figures of the chapter by Davis and van Rossum.")
    height = max(page.HEIGHT, 3.4 + 0.34 * (len(shown) + 1.3 * len({group for group, *_ in shown})))
    sheet = page.sheet(", ".join(filter(None, [TITLE, part.name])), notes, footer, height)
    left = max(2.4, 0.3 + labels.inches(sheet, [*names, *GROUPS.values()]))
    used = {name: fill for name, fill in FILLS.items() if name in set(part.slopes["layer"])}
    marks.margins(sheet, left, 0.4, top=0.5)
    marks.key(sheet, used, left / page.WIDTH, sheet.subplotpars.top + 0.4 / height)
    draw_layers(sheet.subplots(), part)
    return sheet


def _bars(part: Part) -> list[tuple[str, str, str]]:
    """Return the group, the name and the stack of each subject with a slope, as far as there is room."""
    own = part.slopes[part.slopes["estimate"].notna()]
    return list(dict.fromkeys(zip(own["group"], own["line"], own["stack"], strict=True)))[: page.MOST_BARS]


def draw_layers(axes: "Axes", part: Part) -> None:
    """Draw a bar of layers for each subject with a slope, with the whisker and the figure of all layers."""
    ticks, longest, y, before = dict[float, str](), 0.0, 0.0, ""
    for group, line, stack in _bars(part):
        if group != before:
            ticks[y], before, y = _head(group), group, y + 1
        own = part.slopes[(part.slopes["group"] == group) & (part.slopes["line"] == line)].set_index("layer")
        full: Any = own.loc[FULL]
        sizes = own["estimate"].clip(lower=0).dropna()
        end = marks.stacked(axes, y, [(sizes[layer], fill) for layer, fill in FILLS.items() if layer in sizes], 0.66)
        text = f"{units.size(end, 2)} and more"
        if not math.isnan(full["estimate"]):
            marks.whisker(axes, y, full["estimate"], full["low"], full["high"])
            text, end = units.size(full["estimate"], 2), max(end, full["high"])
            text = text if full["is_straight"] else units.size_between(full["low"], full["high"], 2)
        marks.beside(axes, text, end, y)
        ticks[y], longest, y = labels.starred(line, stack), max(longest, end), y + 1
    axes.set_yticks(list(ticks), list(ticks.values()), size=12)
    heads = set(map(_head, GROUPS))
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in heads else "normal")
    axes.set_ylim(y - 0.3, -0.6)
    limit = 1.3 * longest
    axes.set_xlim(0, limit)
    axes.grid(axis="y", visible=False)
    for size, published in PUBLISHED.items():
        if size < limit:
            axes.axvline(size, color="black", linestyle=(0, (5, 3)), linewidth=1.3, zorder=0.5)
            marks.small(axes, published, (size, -0.6), color="black", va="bottom")
    axes.xaxis.set_major_formatter(lambda value, _: units.size(value, 2))
    axes.set_xlabel(TITLE.lower())


def _head(group: str) -> str:
    return f"{GROUPS[group][0].upper()}{GROUPS[group][1:]}"


def _of_ladder(part: Part, footer: str) -> "Figure":
    groups = ladders(part)
    notes = "Added since nothing was held, all layers. Lines: least squares. Hollow: invalid trials."
    sheet = page.sheet("Memory added over the number held", notes, footer)
    names = [name for group in groups for name in set(_added(part, group)["line"])]
    labels.share_width(sheet, len(groups), names, between=0.95)
    for axes, group in zip(sheet.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        draw_ladder(axes, part, group)
        axes.set_title(_head(group), pad=10)
    return sheet


def ladders(part: Part) -> list[str]:
    """Return the groups of which several numbers were held, with all layers known."""
    return [group for group in GROUPS if group != "parked" and len(set(_added(part, group)["n"])) > 1]


def _added(part: Part, group: str) -> pd.DataFrame:
    own = part.lines
    return own[(own["group"] == group) & (own["layer"] == FULL) & (own["added"] > 0) & (own["n"] > 0)]


def draw_ladder(axes: "Axes", part: Part, group: str) -> None:
    """Draw the memory added over the number held of one group: a point for each trial, and the fitted lines."""
    own = _added(part, group)
    names = list(dict.fromkeys(part.slopes["line"]))
    names = [name for name in names if name in set(own["line"])]
    scales.log_axis(axes.xaxis, lambda n: units.count(round(n)), [own["n"].min() / 1.3, own["n"].max() * 1.3], most=5)
    scales.log_axis(axes.yaxis, lambda size: units.size(size, 1), [own["added"].min() / 1.6, own["added"].max() * 1.6])
    ends = []
    for number, name in enumerate(names):
        here, style = own[own["line"] == name], look(name) if number < page.MOST_LINES else None
        for is_valid in (True, False):
            some = here[here["valid"] == is_valid]
            marks.dots(axes, list(zip(some["n"], some["added"], strict=True)), style, hollow=not is_valid)
        fit = part.slopes[
            (part.slopes["line"] == name) & (part.slopes["group"] == group) & (part.slopes["layer"] == FULL)
        ]
        slope, valid = fit["estimate"].iloc[0], here[here["valid"]]
        if len(valid) and not math.isnan(slope):
            start = (valid["added"] - slope * valid["n"]).median()
            steps = [valid["n"].min() * (valid["n"].max() / valid["n"].min()) ** (step / 60) for step in range(61)]
            marks.line(axes, [(n, start + slope * n) for n in steps if start + slope * n > 0], style, zorder=2)
        if style:
            last = here.loc[here["n"].idxmax()]
            ends.append(Label(last["n"], last["added"], name, style.colour))
    axes.set_xlabel("N (log scale)")
    axes.set_ylabel("memory added (log scale)")
    labels.end_labels(axes, ends)


def usual(trials: pd.DataFrame) -> Sequence[Part]:
    """Return the part that stands for all, if there is one with a slope."""
    return [part for part in parts(trials)[:1] if part.slopes["estimate"].notna().any()]
