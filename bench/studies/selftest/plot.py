"""The plot of a self-test: blocks without a change and with a planted one, and how much blocks vary."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import change_axis, marks, name_looks, page, words
from inflight.bench.present.change_axis import Dot, Range
from inflight.bench.report import provenance
from inflight.bench.rows.files import Row
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.effect import NAMES
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.selftest import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = {"cpu_per_page": 1, "throughput": -1}
"""The metrics whose blocks are drawn, with their directions: 1 where more is worse."""
MOST_STRATEGIES = 16
JITTER = 0.5
"""Width over which the dots of a group are spread, so that they do not hide each other; groups are 1 apart."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""The multiples of it, modulo 1, fill a width evenly, however many they are (H. Weyl, 1916)."""
_LEFT, _RIGHT, _BETWEEN, _NAMES_ROOM, _TICKS_ROOM = 1.15, 1.05, 0.95, 2.0, 0.45
"""Inches: at the edges, between the axes, for the names of strategies, and for the labels below the groups."""
SAME, PLANTED = "aa", "planted-"
"""Prefixes of the names of comparisons: without a change; with a planted one, followed by its size in percent."""

Group = tuple[str, float | None, list[Block]]
"""A name, the planted logarithm as it was measured (None if it was not), and the good blocks."""


def save_selftest(
    selftest: Mapping[str, Any], rows: Sequence[Row], machine: dict[str, Any], folder: Path
) -> list[Path]:
    """Write ``selftest.png`` and ``selftest.svg`` into the folder; nothing without a good A/A block. Raises OSError."""
    return page.draw_and_save(lambda: draw(selftest, rows, machine), folder, "selftest")


def draw(selftest: Mapping[str, Any], rows: Sequence[Row], machine: dict[str, Any]) -> "Figure | None":
    """Draw the blocks of each metric, then how much those of each strategy vary; return None without an A/A block."""
    series = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    found = groups(selftest, series)
    if not found[0][2]:
        return None
    every = [block for name, blocks in series.items() if name != "planting" for block in blocks]
    noise = dict(sorted(selftest["noise"].items(), key=lambda item: -max([-1.0, *_sds(item[1], ["cpu_per_page"])])))
    footer = provenance.source([row for block in every for row in block.rows], machine)
    sheet = page.sheet(show.title(selftest), _notes(every, noise), footer)
    *panels, last = _axes(sheet)
    strips = {metric: [_dots(place, group, metric) for place, group in enumerate(found)] for metric in DRAWN}
    shown = change_axis.range_of([dot.value for _, dot in strip] for own in strips.values() for strip in own)
    for axes, metric in zip(panels, DRAWN, strict=True):
        _draw_strips(axes, metric, found, strips[metric], shown)
    same = {name.removeprefix(SAME).removeprefix("-") or selftest["strategy"]: len(read.tally(blocks).good)
            for name, blocks in series.items() if _is_same(name)}  # fmt: skip
    _draw_noise(last, noise, same)
    change_axis.fit_texts(sheet)
    return sheet


def groups(selftest: Mapping[str, Any], series: Mapping[str, Sequence[Block]]) -> list[Group]:
    """Return the good blocks: the A/A blocks, then those with planted slowdowns, the smallest first."""
    same = [block for name, blocks in series.items() if _is_same(name) for block in blocks]
    return [
        ("A/A", 0.0, list(read.tally(same).good)),
        *(
            (show.named(size, one), one["seen"], list(read.tally(series.get(f"{PLANTED}{size}", ())).good))
            for size, one in show.planted(selftest)
        ),
    ]


def _is_same(name: str) -> bool:
    """Tell whether a comparison has the same strategy on both sides."""
    return name.partition("-")[0] == SAME


def _axes(sheet: "Figure") -> list["Axes"]:
    """Return axes for the two metrics and, with room for their names, for the strategies."""
    width = page.WIDTH - _LEFT - _RIGHT - _BETWEEN - _NAMES_ROOM
    lefts = _LEFT, _LEFT + _BETWEEN + 0.37 * width, _LEFT + _BETWEEN + _NAMES_ROOM + 0.74 * width
    bottom = sheet.subplotpars.bottom + _TICKS_ROOM / page.HEIGHT
    height = sheet.subplotpars.top - bottom
    return [
        sheet.add_axes((left / page.WIDTH, bottom, share * width / page.WIDTH, height))
        for left, share in zip(lefts, (0.37, 0.37, 0.26), strict=True)
    ]


def _dots(place: int, group: Group, metric: str) -> list[tuple[str, Dot]]:
    """Return the strategy and the dot of each block that has the metric."""
    valued = [(read.arm(block, "A").strategy, read.values(block)) for block in group[2]]
    return [
        (strategy, Dot(place + JITTER * ((n * _GOLDEN) % 1 - 0.5) - 0.08, values[metric]))
        for n, (strategy, values) in enumerate(one for one in valued if metric in one[1])
    ]


def _draw_strips(
    axes: "Axes", metric: str, found: Sequence[Group], strips: Sequence[Sequence[tuple[str, Dot]]], shown: Range
) -> None:
    """Draw one metric: each group of blocks as a strip of dots, with mean and standard deviation beside it."""
    direction = DRAWN[metric]
    axes.set_xlim(-0.6, len(found) - 0.3)
    change_axis.set_axis(axes, shown, direction)
    axes.grid(visible=False)
    axes.axhline(0, color="black", linewidth=1.2, zorder=1.5)
    size = change_axis.mark_size(max(map(len, strips)))
    names = []
    for place, ((name, share, _), strip) in enumerate(zip(found, strips, strict=True)):
        for strategy in dict.fromkeys(strategy for strategy, _ in strip):
            look = name_looks.look(strategy)
            dots = [dot for own, dot in strip if own == strategy]
            change_axis.draw_dots(
                axes, dots, shown, marker=look.marker, color=look.colour, alpha=0.6, markeredgewidth=0,
                markersize=size,
            )  # fmt: skip
        change_axis.write_farthest(axes, [dot for _, dot in strip], shown, direction)
        values = [dot.value for _, dot in strip if math.isfinite(dot.value)]
        spread = _draw_spread(axes, place + 0.3, values, shown)
        kind = "no change" if share == 0 else "CPU planted"
        names.append("\n".join([name, kind, words.counted(len(strip), "block"), spread]))
    axes.set_xticks(range(len(found)), names, size=page.SMALL)
    axes.tick_params(axis="x", length=0)
    axes.set_title(NAMES[metric])
    axes.set_ylabel("B worse \N{RIGHTWARDS ARROW}" + ("  (fewer pages/s)" if direction < 0 else "  (more CPU time)"))


def _draw_spread(axes: "Axes", place: float, values: Sequence[float], shown: Range) -> str:
    """Draw mean and standard deviation; return the deviation as a line of text."""
    if len(values) < 2:
        return ""
    mean, sd = statistics.fmean(values), statistics.stdev(values)
    ends = [(place, shown.clip(mean - sd)), (place, shown.clip(mean + sd))]
    marks.line(axes, ends, None, color="black", linewidth=2.4, solid_capstyle="butt", zorder=5)
    style: dict[str, Any] = {"color": "black", "markerfacecolor": "black", "markersize": 6, "zorder": 6}
    marks.dots(axes, [(place, shown.clip(mean))], None, **style)
    return f"SD {units.number(100 * sd, 2)} %"


def _draw_noise(axes: "Axes", noise: Mapping[str, Mapping[str, float]], good: Mapping[str, int]) -> None:
    """Draw the standard deviation of each strategy's blocks, and write how many there are."""
    names = list(noise)[:MOST_STRATEGIES]
    for place, name in enumerate(names):
        look = name_looks.look(name)
        for metric, is_hollow in (("cpu_per_page", False), ("throughput", True)):
            points = [(sd, place) for sd in _sds(noise[name], [metric])]
            style: dict[str, Any] = {"markersize": 10, "markeredgewidth": 1.6, "clip_on": False}
            marks.dots(axes, points, look, hollow=is_hollow, zorder=3 if is_hollow else 4, **style)
        style = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "center", "annotation_clip": False}
        number = words.counted(good[name], "block") if name in good else ""
        marks.small(axes, number, (1.03, place), xytext=(0, 0), **style)
    marks.name_rows(axes, [words.name(name) for name in names])
    axes.tick_params(axis="y", length=0, labelsize=12)
    axes.set_ylim(max(len(names), 4) - 0.4, -0.6)
    axes.set_xlim(left=0, right=1.12 * max([0.1, *(sd for name in names for sd in _sds(noise[name], DRAWN))]))
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("SD of a block (%)")
    axes.set_title("how much blocks vary")


def _sds(noise: Mapping[str, float | None], metrics: Iterable[str]) -> list[float]:
    """Return the standard deviations that are known, in percent."""
    found = [noise.get(metric) for metric in metrics]
    return [100 * sd for sd in found if sd is not None and math.isfinite(sd)]


def _notes(every: Sequence[Block], noise: Mapping[str, Any]) -> str:
    lost = read.tally(every).lost
    return marks.notes(
        "Each mark is a block: the change from A to B; up is worse for B. A/A: both sides are the same code.",
        "Black: mean and SD. On the right, filled: CPU per page; hollow: throughput.",
        lost and f"{lost} of {len(every)} blocks failed or were dropped.",
        marks.about_more(list(noise)[MOST_STRATEGIES:]),
    )
