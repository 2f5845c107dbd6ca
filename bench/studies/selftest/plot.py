"""Plot of a self-test: what blocks without a change and with a planted one look like, and what that allows to find."""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.core.rows import Row
from inflight.bench.present import change_axis, name_looks, page, words
from inflight.bench.present.change_axis import Dot, Range
from inflight.bench.report import provenance
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.effect import NAMES
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.selftest import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = {"cpu_per_page": 1, "throughput": -1}
"""The metrics whose blocks are drawn, with their own directions."""
MOST_STRATEGIES = 16
JITTER = 0.5
"""How wide the dots of a group are spread, so that they do not hide each other; its groups are 1 apart."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, fill a width evenly, however many they are (H. Weyl, 1916)."""
_LEFT, _RIGHT, _BETWEEN, _NAMES_ROOM, _TICKS_ROOM = 1.15, 1.05, 0.95, 2.0, 0.45
"""Inches: at the edges, between the axes, for the names of strategies, and for the lines below the strips."""
SAME, PLANTED = "aa", "planted-"
"""Beginnings of the names of comparisons: without a change; with a planted one, then its size in percent."""

Group = tuple[str, float | None, list[Block]]
"""Blocks alike: their name, the planted logarithm as it was seen if there is one, and the good ones."""


def save_selftest(
    selftest: Mapping[str, Any], rows: Sequence[Row], machine: dict[str, Any], folder: Path
) -> list[Path]:
    """Write ``selftest.png`` and ``selftest.svg`` into the folder; nothing without a good A/A block.

    Raises OSError when a file cannot be written.
    """
    with page.settings():
        figure = draw(selftest, rows, machine)
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return page.save(figure, folder, "selftest")


def draw(selftest: Mapping[str, Any], rows: Sequence[Row], machine: dict[str, Any]) -> "Figure | None":
    """Draw the blocks to the left, and to the right how much those of each strategy vary; None without an A/A block."""
    series = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    found = groups(selftest, series)
    if not found[0][2]:
        return None
    same = {name.removeprefix(SAME).removeprefix("-") or selftest["strategy"]: blocks for name, blocks in series.items()
            if name.partition("-")[0] == SAME}  # fmt: skip
    every = [block for name, blocks in series.items() if name != "planting" for block in blocks]
    noise = dict(sorted(selftest["noise"].items(), key=lambda item: -_known(item[1].get("cpu_per_page"))))
    footer = provenance.source([row for block in every for row in block.rows], machine)
    sheet = page.sheet(show.title(selftest), _notes(selftest, every, noise), footer)
    axes = _axes(sheet)
    strips = [[_dots(place, group, metric) for place, group in enumerate(found)] for metric in DRAWN]
    shown = change_axis.range_of([[dot.value for _, dot in strip] for metric in strips for strip in metric])
    for one, (metric, direction), metric_strips in zip(axes, DRAWN.items(), strips, strict=False):
        _draw_strips(one, metric, direction, found, metric_strips, shown)
    _draw_noise(axes[-1], noise, {name: len(read.tally(blocks).good) for name, blocks in same.items()})
    change_axis.fit_texts(sheet)
    return sheet


def groups(selftest: Mapping[str, Any], series: Mapping[str, Sequence[Block]]) -> list[Group]:
    """Return the A/A blocks, then those with planted slowdowns, the smallest first; only good ones."""
    same = [block for name, blocks in series.items() if name.partition("-")[0] == SAME for block in blocks]
    return [
        ("A/A", 0.0, list(read.tally(same).good)),
        *(
            (show.named(size, one), one["seen"], list(read.tally(series.get(f"{PLANTED}{size}", ())).good))
            for size, one in show.planted(selftest)
        ),
    ]


def _axes(sheet: "Figure") -> list["Axes"]:
    """Return axes for the two metrics and, with room for names, for the strategies."""
    adjust = sheet.subplotpars
    top, bottom = adjust.top, adjust.bottom + _TICKS_ROOM / page.HEIGHT
    sheet.subplots_adjust(bottom=bottom, top=top)
    width = page.WIDTH - _LEFT - _RIGHT - _BETWEEN - _NAMES_ROOM
    places = [(_LEFT, 0.37), (_LEFT + _BETWEEN + 0.37 * width, 0.37)]
    places.append((_LEFT + _BETWEEN + _NAMES_ROOM + 0.74 * width, 0.26))
    return [
        sheet.add_axes((left / page.WIDTH, bottom, share * width / page.WIDTH, top - bottom)) for left, share in places
    ]


def _dots(place: int, group: Group, metric: str) -> list[tuple[str, Dot]]:
    """Return the strategy and the dot of each block that has the metric."""
    valued = [(read.arm(block, "A").strategy, read.values(block)) for block in group[2]]
    return [
        (strategy, Dot(place + JITTER * ((n * _GOLDEN) % 1 - 0.5) - 0.08, values[metric]))
        for n, (strategy, values) in enumerate(one for one in valued if metric in one[1])
    ]


def _draw_strips(
    axes: "Axes",
    metric: str,
    direction: int,
    found: Sequence[Group],
    strips: Sequence[Sequence[tuple[str, Dot]]],
    shown: Range,
) -> None:
    """Draw one metric: each group of blocks as a strip of dots, with mean and standard deviation beside it."""
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
                axes, dots, shown, direction, marker=look.marker, color=look.colour, alpha=0.6, markeredgewidth=0,
                markersize=size,
            )  # fmt: skip
        values = [dot.value for _, dot in strip if math.isfinite(dot.value)]
        spread = _draw_spread(axes, place + 0.3, values, shown)
        names.append(f"{name}\n{'no change' if share == 0 else 'planted'}\n{_blocks(len(strip))}\n{spread}")
    axes.set_xticks(range(len(found)), names, size=page.SMALL)
    axes.tick_params(axis="x", length=0)
    axes.set_title(NAMES[metric])
    axes.set_ylabel("B worse \N{RIGHTWARDS ARROW}" + ("  (fewer pages/s)" if direction < 0 else "  (more CPU time)"))


def _draw_spread(axes: "Axes", place: float, values: Sequence[float], shown: Range) -> str:
    """Draw mean and standard deviation; return the deviation in words."""
    if len(values) < 2:
        return ""
    mean, sd = statistics.fmean(values), statistics.stdev(values)
    ends = [shown.clip(mean - sd), shown.clip(mean + sd)]
    axes.plot([place, place], ends, color="black", linewidth=2.4, solid_capstyle="butt", zorder=5)
    axes.plot(place, shown.clip(mean), marker="o", color="black", markersize=6, zorder=6)
    return f"SD {_percent(sd)}"


def _draw_noise(axes: "Axes", noise: Mapping[str, Mapping[str, float]], good: Mapping[str, int]) -> None:
    """Draw the standard deviation of each strategy's blocks, and how many there are."""
    names = list(noise)[:MOST_STRATEGIES]
    for place, name in enumerate(names):
        look = name_looks.look(name)
        for metric, fill in (("cpu_per_page", look.colour), ("throughput", "white")):
            sd = noise[name].get(metric)
            if sd is not None and math.isfinite(sd):
                axes.plot(
                    100 * sd, place, marker=look.marker, markersize=10, color=look.colour, markerfacecolor=fill,
                    markeredgewidth=1.6, clip_on=False, zorder=4 if fill != "white" else 3,
                )  # fmt: skip
        axes.annotate(
            _blocks(good[name]) if name in good else "", (1.03, place), xycoords=("axes fraction", "data"),
            va="center", size=page.SMALL, color=page.GREY, annotation_clip=False,
        )  # fmt: skip
    axes.set_ylim(max(len(names), 4) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [words.plain(name, 20) for name in names], size=12)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0, right=1.12 * max([0.1, *_deviations(noise, names)]))
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("SD of a block (%)")
    axes.set_title("how much blocks vary")


def _deviations(noise: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> list[float]:
    found = [noise[name].get(metric) for name in names for metric in DRAWN]
    return [100 * sd for sd in found if sd is not None and math.isfinite(sd)]


def _notes(selftest: Mapping[str, Any], every: Sequence[Block], noise: Mapping[str, Any]) -> str:
    alarms = selftest["false_alarms"]
    tally = read.tally(every)
    lost = len(every) - len(tally.good)
    rest = len(noise) - MOST_STRATEGIES
    return " ".join(
        note
        for note in (
            "Each mark is a block: the change from A to B, up is worse for B; A/A: both sides are alike.",
            "Black: mean and SD. To the right, filled: CPU per page; hollow: throughput.",
            f"Rates: of decisions simulated with these blocks ({units.count(alarms['resampled']['blocks'])} A/A);",
            f"in the order of measuring, {show.alarms_told(alarms['real'])}.",
            f"{lost} of {len(every)} blocks failed or were dropped." if lost else "",
            f"{rest} more strategies are not shown." if rest > 0 else "",
        )
        if note
    )


def _blocks(number: int) -> str:
    return f"{units.count(number)} {'block' if number == 1 else 'blocks'}"


def _percent(sd: float) -> str:
    return f"{units.number(100 * sd, 2)} %"


def _known(sd: float | None) -> float:
    return -1.0 if sd is None or not math.isfinite(sd) else sd
