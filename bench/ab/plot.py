"""Plots of blocks: a panel for each metric or planted slowdown, with a dot for each block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.ab import rates, show
from inflight.bench.ab.decide import NAMES, Result, effects_of
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import FALLING, SIDES, Block
from inflight.bench.present import change_axis, marks, page
from inflight.bench.present.change_axis import Dot
from inflight.bench.rows.files import Row
from inflight.bench.show import folder as provenance
from inflight.bench.show import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = (("#0072B2", "o"), ("#007A5A", "s"), ("#A03070", "^"), ("#595959", "D"), ("#A66F00", "p"))
"""Colours and markers of the panels."""
LOST = "#C24E00"
GAP = 0.9
"""Inches between the panels."""
NOTE = (
    "Each mark is a block; up is worse (of throughput, less). Band: mean and 95 % interval. Crosses: blocks without a "
    "value. Dashed lines: the least change that counts, and, of a metric, the change that a pass rules out."
)


@dataclass(frozen=True, slots=True)
class Panel:
    """The blocks of a metric or control."""

    title: str
    head: str
    metric: str
    values: Mapping[int, float]
    """By the number of the block."""
    blocks: Sequence[Block]
    """All in which it was measured."""
    limits: tuple[float, ...] = ()


def save_comparison(result: Result, machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``comparison.png`` and ``comparison.svg`` into the folder; nothing without a good block. Raises OSError."""
    return page.draw_and_save(lambda: draw(result, machine), folder, "comparison")


def draw(result: Result, machine: Mapping[str, Any]) -> "Figure | None":
    """Draw the gated metrics side by side, then the controls; return None without a good block."""
    good, rule = result.tally.good, result.rule
    if not good:
        return None
    values = {block.number: {**read.values(block), **read.controls_of(block)} for block in good}
    panels = []
    for name in (*good[0].comparison.gated, *read.controls_of(good[0])):
        is_metric, here = name in NAMES, {number: each[name] for number, each in values.items() if name in each}
        figures = [f"{side} {show.amount(name, read.figure(good, side, name))}" for side in SIDES if is_metric]
        limits = (rule.least, rule.acceptable) if is_metric else (-rule.control_least, rule.control_least)
        head = "\n".join(figures) or "A, measured twice\n"
        tried = [block for block in result.blocks if not block.good or name != "memory" or block.memory]
        panels.append(Panel(NAMES.get(name, name), head, name, here, tried, limits))
    pythons = [provenance.pythons(good[0].side(side), {}) for side in SIDES]
    labels = [f"{side}: {words.plain(good[0].arm(side).label, 60)}" for side in SIDES]
    on = [f" on {python}" if pythons[0] != pythons[1] else "" for python in pythons]
    sides = [f"{label}{where}." for label, where in zip(labels, on, strict=True)]
    notes = marks.notes(*sides, f"Workload: {show.where(good[0])}.", NOTE)
    return _draw(show.title(result.decision), notes, machine, panels)


def save_selftest(selftest: Mapping[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write ``selftest.png`` and ``selftest.svg`` into the folder; nothing without a good block. Raises OSError."""
    return page.draw_and_save(lambda: draw_selftest(selftest, rows), folder, "selftest")


def draw_selftest(selftest: Mapping[str, Any], rows: Sequence[Row]) -> "Figure | None":
    """Draw the CPU time of blocks without a change and of those with each planted slowdown; None without a block."""
    series, panels = read.comparisons(rows), []
    titles = {"aa": "no change"} | {f"planted-{size}": f"about +{size} %" for size in selftest["detection"]}
    for name, title in titles.items():
        found = series.get(name, [])
        here = {block.number: read.values(block)["cpu_per_page"] for block in found if block.good}
        panels.append(Panel(title, words.counted(len(here), "block"), "cpu_per_page", here, found))
    notes = marks.notes("CPU time per page of B against A, with planted slowdowns.", NOTE)
    return _draw(rates.title(selftest), notes, selftest["machine"], panels) if panels[0].values else None


def _draw(title: str, notes: str, machine: Mapping[str, Any], panels: Sequence[Panel]) -> "Figure":
    rows = {row.trial: row for panel in panels for block in panel.blocks for row in block.rows}
    sheet = page.sheet(title, notes, provenance.source(list(rows.values()), machine))
    marks.margins(sheet, 1.15, 0.5, top=0.6)
    sheet.subplots_adjust(wspace=GAP * len(panels) / (page.WIDTH - 1.65 - GAP * (len(panels) - 1)))
    change_axis.fit_texts(sheet)
    shown = change_axis.range_of([list(panel.values.values()) for panel in panels])
    every = marks.panels(sheet, len(panels), len(panels))
    for axes, panel, (colour, marker) in zip(every, panels, LOOKS, strict=False):
        direction = -1 if panel.metric in FALLING else 1
        change_axis.set_axis(axes, shown, direction)
        for limit in (0.0, *panel.limits):
            axes.axhline(limit, color=page.GREY if limit else "black", linestyle="--" if limit else "-", zorder=1.5)
        dots = [Dot(number, value) for number, value in panel.values.items()]
        size = change_axis.mark_size(len(dots))
        change_axis.draw_dots(axes, dots, shown, marker=marker, color=colour, alpha=0.8, markersize=size)
        change_axis.write_farthest(axes, dots, shown, direction)
        lost = [block.number for block in panel.blocks if block.number not in panel.values]
        change_axis.draw_crosses(axes, lost, LOST)
        told = "no interval"
        for effect in effects_of({panel.metric: list(panel.values.values())}, 0.05):
            ends = effect.mean.interval()
            axes.axhspan(shown.clip(ends.low), shown.clip(ends.high), color=colour, alpha=0.16, linewidth=0, zorder=1)
            axes.axhline(shown.clip(ends.estimate), color=colour, linewidth=2, zorder=2)
            told = f"{effect.change} ({effect.interval})"
        axes.set_title(f"{panel.title}\n{told}\n{panel.head}", size=page.SMALL)
        axes.locator_params(axis="x", nbins=4, integer=True)
        axes.set_xlabel("block")
    every[0].set_ylabel("change from A to B, worse \N{RIGHTWARDS ARROW}")
    return sheet
