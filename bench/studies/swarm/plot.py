"""The plots of swarms: fetches in flight over time, one swarm alone with its memory, and memory per fetch in layers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.core.rows import Row
from inflight.bench.present import labels, page, words
from inflight.bench.present.labels import Label
from inflight.bench.present.name_looks import Look
from inflight.bench.studies.swarm.read import (
    LAYERS,
    Cost,
    Swarm,
    by_size,
    cost,
    costs,
    full_points,
    held,
    reach_ns,
    reach_per_s,
    released_ns,
    settings,
    swarms,
    timeline,
)
from inflight.bench.studies.swarm.record import Swarm as Trial
from inflight.bench.studies.swarm.show import MOST_NAMES, cost_title, losses, name, reach_title, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SIZES = 6
KEY_ROOM = 2.9
"""Inches to the right of the axes, for names, times and limits."""
MARK_PITCH = 17
"""Points between the lines of text above the axes, one line a mark."""
UNSEEN_S = 5.0
"""Between two looks so far apart, nobody knows."""
KILO, GIGA = 1e3, 1e9
COLOURS = dict(zip(LAYERS, ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73"), strict=True))
HATCHES = dict(zip(LAYERS, ("", "..", "//", "\\\\", "xx"), strict=True))

Line = list[tuple[float, float]]


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the swarms of the first setting: a plot for each size that is somebody's largest, then what a fetch takes.

    ``looks`` has the strategies that get a colour; the others are grey.
    """
    found = swarms(rows)
    every = settings(found)
    own = [swarm for swarm in found if swarm.setting in every[:1]]
    more = f"{len(every) - 1} more settings are in the tables only." if len(every) > 1 else ""
    for number, some in enumerate(by_size(own)[:MOST_SIZES], start=1):
        yield "swarm" if number == 1 else f"swarm-{number}", _of_size(some, looks, more, footer)
    yield "swarm_memory", _memory(own, looks, more, footer)


# Over time


def _of_size(some: Sequence[Swarm], looks: Mapping[str, Look], more: str, footer: str) -> "Figure | None":
    """Draw the swarms of one size, or one alone with its memory; None when no trial tells when it held how many."""
    drawn = [swarm for swarm in some if swarm.middle is not None and timeline(swarm.middle)]
    rows = [swarm.middle for swarm in drawn if swarm.middle is not None]
    if not rows:
        return None
    notes = [more, "All strategy processes of one strategy together, each with a server process of its own."]
    notes += _notes(some, drawn, looks)
    if len(drawn) == 1:
        return _alone(drawn[0], rows[0], looks, notes, footer)
    sheet = page.sheet(reach_title(some), " ".join(notes), footer)
    sheet.subplots_adjust(left=1.3 / page.WIDTH, right=1 - KEY_ROOM / page.WIDTH)
    _race(drawn[0].asked, rows, looks, sheet.subplots())
    return sheet


def _notes(some: Sequence[Swarm], drawn: Sequence[Swarm], looks: Mapping[str, Look]) -> Iterator[str]:
    if len(drawn) > 1:
        yield "Dashed: what was asked for."
        if any(not swarm.valid for swarm in drawn):
            yield "Hollow: failed a check and excluded."
    if any(len(swarm.shown) > 1 for swarm in drawn):
        yield "The round with the median time is drawn."
    if gone := losses(some):
        yield f"Processes lost or late, named in the table: {len(gone):,}."
    if missing := [name(swarm.strategy) for swarm in some if swarm not in drawn]:
        yield f"Without figures: {words.listed(missing[:MOST_NAMES])}."
    if grey := [swarm for swarm in drawn if swarm.strategy not in looks]:
        yield f"{len(grey)} more strategies are grey, without a name."


def _race(asked: int, rows: Sequence[Trial], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw each swarm on its way up; what it held stands at the end of its line."""
    axes.set_xlim(0, 1.04 * max(1e-3, *(_way_up(row)[-1][0] for row in rows)))
    axes.set_ylim(0, 1.06 * asked)
    axes.axhline(asked, color=page.GREY, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
    names: list[Label] = []
    for row in sorted(rows, key=lambda row: -_way_up(row)[-1][0]):  # the fastest stands on top
        look, points = looks.get(row.strategy), _way_up(row)
        colour, dashes = (look.colour, look.dashes) if look else (page.PALE, "-")
        axes.plot(*zip(*points, strict=True), color=colour, linestyle=dashes, linewidth=2.4, zorder=3 if look else 1)
        axes.plot(
            *points[-1], marker=look.marker if look else "o", markersize=11, color=colour,
            markerfacecolor=colour if row.valid else "white", linestyle="none", zorder=5, clip_on=False,
        )  # fmt: skip
        if look:
            names += [Label(*points[-1], text, colour) for text in reversed(_end(row))]
    axes.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.set_xlabel("since the order to go (s)")
    axes.set_ylabel("fetches in flight, confirmed by the servers")
    labels.end_labels(axes, names)


def _end(row: Trial) -> list[str]:
    """Return what stands at the end of a line: who, how soon; and below it, what stopped it short of what was asked."""
    took, bound = reach_ns(row), row.measured.bound_by
    who = words.plain(row.strategy, 15)
    first = f"{who}: {units.duration(took, 2)}" if took is not None and row.valid else f"{who} (red)"
    return [first, *([f"{units.count(held(row))}: {words.plain(bound.name, 18)}"] if bound else [])]


def _way_up(row: Trial) -> Line:
    """Return (seconds, fetches held) from the order until all were held; to the release where they never were."""
    took, released = reach_ns(row), released_ns(row)
    end = released if took is None else took
    points = [(at / 1e9, float(number)) for at, number, _ in timeline(row) if end is None or at < end]
    return [(0.0, 0.0), *points, *([] if took is None else [(took / 1e9, float(held(row)))])]


# One alone


def _alone(swarm: Swarm, row: Trial, looks: Mapping[str, Look], notes: list[str], footer: str) -> "Figure":
    """Draw what was in flight, and what memory the system used more, with the marks of the swarm's life."""
    counts, sizes = lines_of(row)
    rate, one = reach_per_s(row), cost([swarm])
    notes.append("Memory: what the whole system used more than before the order, both ends and the kernel included.")
    if rate is not None:
        notes.append(f"{units.number(rate, 2)} more in flight each second.")
    if one is not None and one.full is not None:
        notes.append(f"{size(one)} each, {units.size(one.full * held(row), 2)} in all.")
    if any(map(_is_unseen, pairwise(counts))):
        notes.append("Dotted: not looked at, the servers were busy.")
    marks = _marks(row)
    height = page.HEIGHT + 0.6
    sheet = page.sheet(reach_title([swarm]), " ".join(notes), footer, height)
    top = sheet.subplotpars.top - (MARK_PITCH * len(marks) - 24) / 72 / height
    sheet.subplots_adjust(left=1.5 / page.WIDTH, right=1 - 0.5 / page.WIDTH, top=top, hspace=0.12)
    upper, lower = sheet.subplots(2, 1, sharex=True)
    look = looks.get(swarm.strategy)
    for axes, line in ((upper, counts), (lower, sizes)):
        _draw_line(axes, line, look.colour if look else page.GREY)
    upper.set_xlim(0, 1.02 * max(1e-3, *(at for at, _ in [*counts, *marks])))
    upper.set_ylim(0, None)
    lower.set_ylim(min([0.0, *(used for _, used in sizes)]), None)
    upper.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    upper.set_ylabel("fetches in flight")
    lower.set_ylabel("memory in use (GB)")
    lower.set_xlabel("since the order to go (s)")
    _draw_marks(marks, upper, lower)
    sheet.align_ylabels([upper, lower])
    return sheet


def _marks(row: Trial) -> list[tuple[float, str]]:
    """Return (seconds since the order, what happened then), in order."""
    found = (
        (reach_ns(row), "all in flight"),
        (released_ns(row), "the gates opened"),
        (row.measured.makespan_ns, "the last had finished"),
    )
    return [(at / 1e9, f"{what}: {units.duration(at, 3)}") for at, what in found if at is not None]


def lines_of(row: Trial) -> tuple[Line, Line]:
    """Return (seconds, fetches in flight) and (seconds, GB in use), with what is known besides of order and release.

    A time line may have nothing between the moment when all were held and their release: neither moved meanwhile. Once
    the gates are open, their servers may be too busy to be asked: what was known before is no news then, and left out.
    """
    reached, released = reach_ns(row), released_ns(row)
    line = [seen for seen in timeline(row) if released is None or seen[0] <= released or seen[1] != held(row)]
    known = {0: 0} | {at: held(row) for at in (reached, released) if at is not None}
    counts = sorted(({at: number for at, number, _ in line} | known).items())
    sizes = [(at, used) for at, _, used in timeline(row) if used is not None]
    if released is not None and (before := [used for at, used in sizes if at <= released]):
        sizes = sorted([*sizes, (released, before[-1])])
    return [(at / 1e9, float(number)) for at, number in counts], [(at / 1e9, used / GIGA) for at, used in sizes]


def _is_unseen(pair: tuple[tuple[float, float], tuple[float, float]]) -> bool:
    return pair[1][0] - pair[0][0] > UNSEEN_S


def _draw_line(axes: "Axes", points: Line, colour: str) -> None:
    """Draw a time line, dotted where nobody looked."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    unseen = [place for place, pair in enumerate(pairwise(points), start=1) if _is_unseen(pair)]
    for first, behind in pairwise([0, *unseen, len(xs)]):
        axes.plot(xs[first:behind], ys[first:behind], color=colour, linewidth=2.4)
        axes.fill_between(xs[first:behind], ys[first:behind], color=colour, alpha=0.15, linewidth=0)
    for place in unseen:
        axes.plot(xs[place - 1 : place + 1], ys[place - 1 : place + 1], color=colour, linewidth=1.4, linestyle=":")


def _draw_marks(marks: list[tuple[float, str]], upper: "Axes", lower: "Axes") -> None:
    """Draw a line for each mark through both panels, and write what it is above them, each on a line of its own."""
    middle = upper.get_xlim()[1] / 2
    late = [mark for mark in marks if mark[0] >= middle]
    early = [mark for mark in marks if mark[0] < middle]
    points_high = 72 * upper.get_position().height * (page.HEIGHT + 0.6)
    for row, (at, text) in enumerate([*late, *reversed(early)]):  # from below: no text is crossed by another's line
        height = 5 + MARK_PITCH * row
        style: dict[str, Any] = {"color": page.GREY, "linestyle": (0, (4, 2)), "linewidth": 1.3, "zorder": 1}
        lower.axvline(at, **style)
        upper.axvline(at, ymax=1 + (height + 12) / points_high, clip_on=False, **style)
        upper.annotate(
            text, (at, 1), xycoords=("data", "axes fraction"),
            xytext=(-4 if at >= middle else 4, height), textcoords="offset points",
            ha="right" if at >= middle else "left", va="bottom", size=12,
        )  # fmt: skip


# Memory in layers


def _memory(found: Sequence[Swarm], looks: Mapping[str, Look], more: str, footer: str) -> "Figure | None":
    """Draw the strategies of one setting whose every layer is known; None when there is none."""
    every = costs(found)
    known = {name: one for name, one in every.items() if one.full is not None}
    if not known:
        return None
    shown = dict(list(known.items())[: page.MOST_BARS])
    notes = [more, *_memory_notes(found, every)]
    notes += [f"{len(known) - len(shown)} more are not shown."] if len(known) > len(shown) else []
    is_line = any(one.sizes > 1 for one in shown.values())
    height = max(page.HEIGHT if is_line else 5.0, 3.4 + 0.42 * len(shown))
    sheet = page.sheet(cost_title(every), " ".join(notes), footer, height)
    top = sheet.subplotpars.top * height + 0.18
    _layer_key(sheet, top / height)
    sheet.subplots_adjust(left=0.185, right=1 - labels.LABEL_ROOM / page.WIDTH, top=(top - 0.55) / height, wspace=0.3)
    panels = sheet.subplots(1, 2 if is_line else 1, squeeze=False)[0]
    if is_line:
        _points(found, shown, looks, panels[1])
    _bars(shown, panels[0])
    return sheet


def _memory_notes(found: Sequence[Swarm], every: Mapping[str, Cost]) -> Iterator[str]:
    known = [one for one in every.values() if one.full is not None]
    yield "Read once all are held; what was there before the order is no part of it."
    yield "Slab and sockets are of both ends; server: the server processes' own memory and page tables."
    if any(one.slope for one in known):
        yield "Slopes over five sizes or more, ± their 95 % interval."
    if any(one.slope is None for one in known):
        yield "† one size: what was added, divided by how many were held."
    if full_points(found, valid=False):
        yield "Hollow: failed a check, not part of the fits."
    if unknown := [labels.name_of(name) for name, one in every.items() if one.full is None]:
        yield f"Not every layer is known of {words.listed(unknown[:4])}."


def _bars(shown: Mapping[str, Cost], axes: "Axes") -> None:
    """Draw a bar for each strategy, the least on top, made of its layers; none is drawn below zero."""
    most = 0.0
    for n, one in enumerate(shown.values()):
        at = 0.0
        for layer in LAYERS:
            width = max(0.0, one.layers[layer] or 0.0) / KILO
            axes.barh(n, width, left=at, height=0.62, **_fill(layer))
            at += width
        most = max(most, at)
        text = size(one) if one.slope is None else words.memory(one.slope)
        axes.annotate(text, (at, n), xytext=(8, 0), textcoords="offset points", va="center", size=12, weight="bold")
    names = [f"{labels.name_of(name)}{'' if one.slope else ' †'}" for name, one in shown.items()]
    axes.set_yticks(range(len(names)), names, size=page.TEXT)
    axes.set_ylim(max(len(names), 2) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.45 * most)
    axes.set_title("Memory per fetch", pad=10)
    axes.set_xlabel("memory per fetch in flight (kB)")


def _points(found: Sequence[Swarm], shown: Mapping[str, Cost], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw what each trial added in all layers over how many it held, and the fitted lines; red trials hollow."""
    names: list[Label] = []
    for strategy, one in shown.items():
        own, look = [swarm for swarm in found if swarm.strategy == strategy], looks.get(strategy)
        colour, marker, dashes = (look.colour, look.marker, look.dashes) if look else (page.PALE, "o", "-")
        good = full_points(own)
        for points, face in ((good, colour), (full_points(own, valid=False), "white")):
            axes.plot(
                [number for number, _ in points], [used / GIGA for _, used in points], linestyle="none", marker=marker,
                markerfacecolor=face, markeredgecolor=colour, markersize=8, zorder=3 if look else 1,
            )  # fmt: skip
        end, used = max(good)
        if one.slope is not None:
            ys = [(one.slope.intercept + one.slope.per_fetch * x) / GIGA for x in (0, end)]
            axes.plot([0, end], ys, color=colour, linewidth=2, linestyle=dashes, zorder=2)
        if look:
            names.append(Label(end, used / GIGA, labels.name_of(strategy), colour))
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(lambda number, _: units.count(round(number)))
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("Readings", pad=10)
    axes.set_xlabel("fetches held in flight")
    axes.set_ylabel("memory added in all layers (GB)")
    labels.end_labels(axes, names)


def _layer_key(sheet: "Figure", top: float) -> None:
    """Write which colour is which layer, in a line above the panels."""
    from matplotlib.patches import Patch

    page.key(sheet, [Patch(label=layer, **_fill(layer)) for layer in LAYERS], 0.03, top)


def _fill(layer: str) -> dict[str, Any]:
    return {"facecolor": COLOURS[layer], "hatch": HATCHES[layer], "edgecolor": "white", "linewidth": 0}
