"""The plots of swarms: fetches in flight over time, a single swarm with its memory, and memory per fetch by layer."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import labels, marks, page, words
from inflight.bench.present.labels import Label
from inflight.bench.present.marks import Points
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.rows.swarm import Swarm as Trial
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
from inflight.bench.studies.swarm.show import MOST_NAMES, cost_title, losses, reach_title, size, size_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY_ROOM = 2.9
"""Inches to the right of the axes for names, times and limits, at least."""
MARK_PITCH = 17
"""Points between the lines of text above the axes, one line per mark."""
UNSEEN_S = 5.0
"""Minimum gap of a timeline that is drawn dotted."""
KILO, GIGA = 1e3, 1e9
FILLS = dict(zip(LAYERS, marks.FILLS, strict=True))


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the swarms of the first setting: a plot for each size that is a strategy's largest, then memory per fetch.

    Strategies in ``looks`` get a colour; the others are grey.
    """
    found = swarms(rows)
    every = settings(found)
    own = [swarm for swarm in found if swarm.setting in every[:1]]
    more = f"{len(every) - 1} more settings are in the tables only." if len(every) > 1 else ""
    for number, some in enumerate(by_size(own)[: marks.MOST_SETTINGS], start=1):
        yield marks.numbered("swarm", number), _of_size(some, looks, more, footer)
    yield "swarm_memory", _memory(own, looks, more, footer)


# Over time


def _of_size(some: Sequence[Swarm], looks: Mapping[str, Look], more: str, footer: str) -> "Figure | None":
    """Draw the swarms of one size, or a single one with its memory; None when no trial has a timeline."""
    drawn = [swarm for swarm in some if swarm.middle is not None and timeline(swarm.middle)]
    rows = [swarm.middle for swarm in drawn if swarm.middle is not None]
    if not rows:
        return None
    notes = marks.notes(more, *_notes(some, drawn, looks))
    if len(drawn) == 1:
        return _alone(drawn[0], rows[0], looks, notes, footer)
    sheet = page.sheet(reach_title(some), notes, footer)
    ends = [text for row in rows if row.strategy in looks for text in _end(row)]
    marks.margins(sheet, 1.3, max(KEY_ROOM, 0.3 + labels.inches(sheet, ends)))
    _race(drawn[0].asked, rows, looks, sheet.subplots())
    return sheet


def _notes(some: Sequence[Swarm], drawn: Sequence[Swarm], looks: Mapping[str, Look]) -> Iterator[str]:
    yield "Sums over all processes of a strategy. Each process has a server of its own."
    if len(drawn) > 1:
        yield "Dashed grey line: the number asked for."
        if any(not swarm.valid for swarm in drawn):
            yield "Hollow: invalid trials, excluded from all findings."
    if any(len(swarm.shown) > 1 for swarm in drawn):
        yield "The round with the median time is drawn."
    if gone := losses(some):
        yield f"Processes lost or late, named in the table: {len(gone):,}."
    if missing := [labels.name_of(swarm.strategy) for swarm in some if swarm not in drawn]:
        yield f"Without figures: {words.listed(missing[:MOST_NAMES])}."
    yield marks.about_grey([swarm.strategy for swarm in drawn], looks)


def _race(asked: int, rows: Sequence[Trial], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw each swarm until it held all, with its result at the end of its line."""
    axes.set_xlim(0, 1.04 * max(1e-3, *(_way_up(row)[-1][0] for row in rows)))
    axes.set_ylim(0, 1.06 * asked)
    axes.axhline(asked, color=page.GREY, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
    names: list[Label] = []
    for row in sorted(rows, key=lambda row: -_way_up(row)[-1][0]):  # the fastest stands on top
        look, points = looks.get(row.strategy), _way_up(row)
        marks.line(axes, points, look, 2.4)
        marks.dots(axes, points[-1:], look, hollow=not row.valid, markersize=11, zorder=5, clip_on=False)
        if look:
            names += [Label(*points[-1], text, look.colour) for text in reversed(_end(row))]
    axes.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.set_xlabel("time since the start (s)")
    axes.set_ylabel("fetches in flight, confirmed by the servers")
    labels.end_labels(axes, names)


def _end(row: Trial) -> list[str]:
    """Return the text at the end of a line: strategy and time, and below it the limit that stopped it, if any."""
    took, bound = reach_ns(row), row.measured.bound_by
    who = words.name(row.strategy)
    first = f"{who}: {units.duration(took, 2)}" if took is not None and row.valid else f"{who} (invalid)"
    return [first, *([f"{units.count(held(row))}: {words.plain(bound.name, 18)}"] if bound else [])]


def _way_up(row: Trial) -> Points:
    """Return (seconds, fetches held) from the start until all were held, or until the release if they never were."""
    took, released = reach_ns(row), released_ns(row)
    end = released if took is None else took
    points = [(at / 1e9, float(number)) for at, number, _ in timeline(row) if end is None or at < end]
    return [(0.0, 0.0), *points, *([] if took is None else [(took / 1e9, float(held(row)))])]


# A single swarm


def _alone(swarm: Swarm, row: Trial, looks: Mapping[str, Look], about: str, footer: str) -> "Figure":
    """Draw the fetches in flight and the increase of the system's memory over time, and mark the swarm's stages."""
    counts, sizes = lines_of(row)
    rate, one = reach_per_s(row), cost([swarm])
    notes = marks.notes(
        about,
        "Memory: increase of the memory of the whole system since the start: client, server and kernel.",
        rate is not None and f"The number in flight grew by {units.number(rate, 2)} each second.",
        one is not None
        and one.full
        and f"A fetch in flight takes {size(one)}, all together {units.size(one.full * held(row), 2)}.",
        any(map(_is_unseen, pairwise(counts)))
        and "Dotted: the servers were too busy to give a value in between. The last value is from before the end.",
    )
    stages = _stages(row)
    sheet = page.sheet(reach_title([swarm]), notes, footer, page.HEIGHT + 0.6)
    marks.margins(sheet, 1.5, 0.5, (MARK_PITCH * len(stages) - 24) / 72)
    upper, lower = sheet.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.12})
    look = looks.get(swarm.strategy)
    for axes, line in ((upper, counts), (lower, sizes)):
        _draw_line(axes, line, look.colour if look else page.GREY)
    upper.set_xlim(0, 1.02 * max(1e-3, *(at for at, _ in [*counts, *stages])))
    upper.set_ylim(0, None)
    lower.set_ylim(min([0.0, *(used for _, used in sizes)]), None)
    upper.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    upper.set_ylabel("fetches in flight")
    lower.set_ylabel("memory added (GB)")
    lower.set_xlabel("time since the start (s)")
    _draw_stages(stages, upper, lower)
    sheet.align_ylabels([upper, lower])
    return sheet


def _stages(row: Trial) -> list[tuple[float, str]]:
    """Return (seconds since the start, stage that began then), in order."""
    found = (
        (reach_ns(row), "all in flight"),
        (released_ns(row), "gates opened"),
        (row.measured.makespan_ns, "finished"),
    )
    return [(at / 1e9, f"{what}: {units.duration(at, 3)}") for at, what in found if at is not None]


def lines_of(row: Trial) -> tuple[Points, Points]:
    """Return (seconds, fetches in flight) and (seconds, GB in use), with points added at start, reach and release.

    A timeline may have no point between reach and release, as nothing changes meanwhile. After the release, the servers
    may be too busy to answer, so points that only repeat the number held are left out.
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


def _draw_line(axes: "Axes", points: Points, colour: str) -> None:
    """Draw a timeline, dotted across gaps."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    unseen = [place for place, pair in enumerate(pairwise(points), start=1) if _is_unseen(pair)]
    for first, behind in pairwise([0, *unseen, len(xs)]):
        axes.plot(xs[first:behind], ys[first:behind], color=colour, linewidth=2.4)
        axes.fill_between(xs[first:behind], ys[first:behind], color=colour, alpha=0.15, linewidth=0)
    for place in unseen:
        axes.plot(xs[place - 1 : place + 1], ys[place - 1 : place + 1], color=colour, linewidth=1.4, linestyle=":")


def _draw_stages(stages: list[tuple[float, str]], upper: "Axes", lower: "Axes") -> None:
    """Draw a line for each stage through both panels, and write its name above them, one below the other."""
    middle = upper.get_xlim()[1] / 2
    late = [stage for stage in stages if stage[0] >= middle]
    early = [stage for stage in stages if stage[0] < middle]
    points_high = 72 * upper.get_position().height * (page.HEIGHT + 0.6)
    for row, (at, text) in enumerate([*late, *reversed(early)]):  # in an order in which no line crosses a text
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
    """Draw the strategies of one setting whose layers are all known; None when there is none."""
    every = costs(found)
    known = {name: one for name, one in every.items() if one.full is not None}
    if not known:
        return None
    shown = dict(list(known.items())[: page.MOST_BARS])
    notes = marks.notes(more, *_memory_notes(found, every, len(known) - len(shown)))
    is_line = any(one.sizes > 1 for one in shown.values())
    height = max(page.HEIGHT if is_line else 5.0, 3.4 + 0.42 * len(shown))
    sheet = page.sheet(cost_title(every), notes, footer, height)
    marks.key(sheet, FILLS, 0.03, sheet.subplotpars.top + 0.18 / height)
    width = labels.inches(sheet, [f"{labels.name_of(name)} †" for name in shown], page.TEXT)
    marks.margins(sheet, max(2.47, 0.3 + width), max(labels.LABEL_ROOM, 0.3 + width), 0.37)
    panels = sheet.subplots(1, 2 if is_line else 1, squeeze=False, gridspec_kw={"wspace": 0.3})[0]
    if is_line:
        _points(found, shown, looks, panels[1])
    _bars(shown, panels[0])
    return sheet


def _memory_notes(found: Sequence[Swarm], every: Mapping[str, Cost], left_out: int) -> Iterator[str]:
    known = [one for one in every.values() if one.full is not None]
    yield "The increase of memory from the start until all fetches were held."
    yield "Slab and sockets are of both ends; server: the server processes' own memory and page tables."
    if any(one.slope for one in known):
        yield "Slopes over five sizes or more, ± half of their 95 % interval."
    if any(one.slope is None for one in known):
        yield "† fewer than five sizes: the increase divided by the number held."
    if full_points(found, valid=False):
        yield "Hollow: invalid trials, not part of the fits."
    if unknown := [labels.name_of(name) for name, one in every.items() if one.full is None]:
        yield f"Some layers of {words.listed(unknown[:4])} are unknown."
    if left_out:
        yield f"Not shown: {words.counted(left_out, 'more swarm')}."


def _bars(shown: Mapping[str, Cost], axes: "Axes") -> None:
    """Draw a bar of layers for each strategy, the smallest on top. A negative layer is drawn as 0."""
    most = 0.0
    for place, one in enumerate(shown.values()):
        parts = [(max(0.0, one.layers[layer] or 0.0) / KILO, fill) for layer, fill in FILLS.items()]
        end = marks.stacked(axes, place, parts)
        marks.beside(axes, size_and_error(one), end, place)
        most = max(most, end)
    marks.name_rows(axes, [f"{labels.name_of(name)}{'' if one.slope else ' †'}" for name, one in shown.items()])
    axes.set_ylim(max(len(shown), 2) - 0.4, -0.6)
    axes.set_xlim(0, 1.45 * most)
    axes.set_title("Memory per fetch", pad=10)
    axes.set_xlabel("memory per fetch in flight (kB)")


def _points(found: Sequence[Swarm], shown: Mapping[str, Cost], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw the memory added in all layers over the number held, a point per trial, and the fitted lines."""
    names: list[Label] = []
    for strategy, one in shown.items():
        own, look = [swarm for swarm in found if swarm.strategy == strategy], looks.get(strategy)
        for valid in (True, False):
            points = [(number, used / GIGA) for number, used in full_points(own, valid=valid)]
            marks.dots(axes, points, look, hollow=not valid)
        end, used = max(full_points(own))
        if one.slope is not None:
            ends = [(x, (one.slope.intercept + one.slope.per_fetch * x) / GIGA) for x in (0, end)]
            marks.line(axes, ends, look, 2, zorder=2)
        if look:
            names.append(Label(end, used / GIGA, labels.name_of(strategy), look.colour))
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(lambda number, _: units.count(round(number)))
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("Measured trials", pad=10)
    axes.set_xlabel("fetches held in flight")
    axes.set_ylabel("memory added in all layers (GB)")
    labels.end_labels(axes, names)
