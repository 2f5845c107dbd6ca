"""The plot of a comparison: a dot for each block, the interval of each metric, and the limits of the rule."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import change_axis, marks, page, words
from inflight.bench.present.change_axis import Dot, Range
from inflight.bench.report import provenance
from inflight.bench.studies.compare import read, show
from inflight.bench.studies.compare.effect import FALLING, NAMES, Effect
from inflight.bench.studies.compare.read import Block, Result
from inflight.bench.studies.compare.rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"cpu_per_page": ("#0072B2", "o"), "throughput": ("#007A5A", "s"), "memory": ("#A03070", "^")}
"""Colour and marker of each metric."""
CONTROL_LOOKS = dict(zip(read.CONTROLS, (("#595959", "o"), ("#A66F00", "D")), strict=True))
_SHAPES = {"o": "\N{WHITE CIRCLE}", "D": "\N{WHITE DIAMOND}"}
FAILED, DROPPED = "#C24E00", "#8C8C8C"
_HEAD_ROOM, _LEFT, _RIGHT, _GAP = 0.75, 1.15, 0.65, 1.3
"""Inches: above the axes for their heads, beside them, and between them."""
LOOK_ROOM = 0.06
"""Minimum distance between the numbers of two looks, as a share of the blocks."""
_CONTROL_WIDTH = 0.72
"""Width of the axes of the controls, as a share of that of a metric."""
_DASHED, _DOTTED, _SPARSE = (0, (6, 2)), (0, (1, 1.5)), (0, (2, 3))


@dataclass(frozen=True, slots=True)
class Panel:
    """A metric or a control: its dots in the order of the blocks, and its effect."""

    name: str
    dots: tuple[Dot, ...]
    effect: Effect | None

    @property
    def direction(self) -> int:
        """1 where more is worse, -1 where less is."""
        return -1 if self.name in FALLING else 1


def save_comparison(result: Result, machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``comparison.png`` and ``comparison.svg`` into the folder; nothing without a good block. Raises OSError."""
    return page.draw_and_save(lambda: draw(result, machine), folder, "comparison")


def draw(result: Result, machine: dict[str, Any]) -> "Figure | None":
    """Draw the gated metrics side by side, then the controls; return None without a good block."""
    good = result.tally.good
    if not good:
        return None
    values = {block.number: read.values(block) for block in good}
    names = read.gated_values(good) or read.series(list(values.values()))
    metrics = _panels(values, list(names), result.decision.effects)
    checked = {block.number: read.controls_of(block) for block in good}
    controls = _panels(checked, list(read.series(list(checked.values()))), result.decision.controls)
    missing = [block.number for block in good if read.why_no_memory([block])]
    footer = provenance.source([row for block in result.blocks for row in block.rows], machine)
    title = show.verdict(result).removesuffix(".")
    sheet = page.sheet(title, _notes(metrics, result, lacks_memory=bool(missing)), footer)
    change_axis.fit_texts(sheet)
    every = _axes(sheet, len(metrics))
    for axes in every:
        _draw_blocks(axes, result)
    shown = change_axis.range_of([dot.value for dot in panel.dots] for panel in metrics or controls)
    for axes, panel in zip(every, metrics, strict=False):
        _draw_metric(axes, panel, shown, result.rule, good)
        change_axis.draw_crosses(axes, missing if panel.name == "memory" else [], LOOKS[panel.name][0])
    every[0].set_ylabel("change from A to B, worse \N{RIGHTWARDS ARROW}")
    every[-1].locator_params(axis="x", nbins=4)
    _draw_controls(every[-1], controls, shown, result.rule)
    return sheet


def _panels(each: Mapping[int, read.Values], names: Sequence[str], effects: Sequence[Effect]) -> list[Panel]:
    of = {one.metric: one for one in effects}
    dots = {name: tuple(Dot(number, own[name]) for number, own in each.items() if name in own) for name in names}
    return [Panel(name, dots[name], of.get(name)) for name in names]


def _axes(sheet: "Figure", metrics: int) -> list["Axes"]:
    """Return axes for the metrics and narrower ones for the controls, with room for their heads and ticks."""
    widths = [1.0] * metrics + [_CONTROL_WIDTH]
    marks.margins(sheet, _LEFT, _RIGHT, top=_HEAD_ROOM)
    sheet.subplots_adjust(wspace=_GAP * len(widths) / (page.WIDTH - _LEFT - _RIGHT - _GAP * metrics))
    return list(sheet.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0])


def _draw_blocks(axes: "Axes", result: Result) -> None:
    """Set the axis of blocks, and mark the looks and the blocks without values."""
    number, good = len(result.blocks), result.tally.good
    axes.set_xlim(0.5 - 0.03 * number, number + 0.5 + 0.09 * number)
    axes.locator_params(axis="x", nbins=6, integer=True, min_n_ticks=1)
    axes.set_xlabel("block")
    axes.grid(visible=False)
    lost = [block for block in result.blocks if not block.good]
    change_axis.draw_crosses(axes, [block.number for block in lost if block.failed is None], DROPPED)
    change_axis.draw_crosses(axes, [block.number for block in lost if block.failed is not None], FAILED)
    _draw_looks(axes, [good[size - 1].number for size in result.rule.looks if size <= len(good)], number)


def _draw_looks(axes: "Axes", reached: Sequence[int], blocks: int) -> None:
    """Draw a faint line behind the block that completed each look; number the looks that have room for it."""
    named: dict[int, int] = {}
    for look, place in reversed(list(enumerate(reached, 1))):
        axes.axvline(place + 0.5, color=page.PALE, linewidth=1.4, zorder=0.5)
        if not named or min(named.values()) - place >= LOOK_ROOM * blocks:
            named[look] = place
    for look, place in named.items():
        marks.small(axes, str(look), (place + 0.5, 1), xycoords=("data", "axes fraction"), xytext=(0, 2))


def _draw_metric(axes: "Axes", panel: Panel, shown: Range, rule: Rule, good: Sequence[Block]) -> None:
    colour, marker = LOOKS[panel.name]
    change_axis.set_axis(axes, shown, panel.direction)
    _draw_limits(axes, shown, {rule.least: _DASHED, rule.acceptable: _DOTTED}, panel.direction)
    change_axis.draw_dots(
        axes, panel.dots, shown, marker=marker, color=colour, alpha=0.8, markeredgewidth=0,
        markersize=change_axis.mark_size(len(good)),
    )  # fmt: skip
    change_axis.write_farthest(axes, panel.dots, shown, panel.direction)
    a, b = (show.amount(panel.name, read.figure(good, side, panel.name)) for side in read.SIDES)
    effect = panel.effect
    if effect is not None:
        _draw_band(axes, effect, shown, colour)
    told = "no interval" if effect is None else f"{effect.change} ({effect.interval})"
    _head(axes, NAMES[panel.name], {told: colour, f"A {a}, B {b}": page.GREY}, is_bold=True)


def _draw_band(axes: "Axes", effect: Effect, shown: Range, colour: str) -> None:
    """Draw the mean with its interval across all blocks, and at the end the bound that decides a pass."""
    mean = shown.clip(effect.estimate)
    axes.axhspan(shown.clip(effect.low), shown.clip(effect.high), color=colour, alpha=0.16, linewidth=0, zorder=1)
    axes.axhline(mean, color=colour, linewidth=2, zorder=2)
    left, right = axes.get_xlim()
    place, bound = right - 0.025 * (right - left), shown.clip(effect.upper)
    marks.line(axes, [(place, mean), (place, bound)], None, color=colour, linewidth=1.6, zorder=3)
    style: dict[str, Any] = {"color": colour, "clip_on": False, "zorder": 3}
    if effect.upper > shown.high:
        end = shown.edge(effect.upper)
        marks.dots(axes, [(place, end)], None, marker="^", markersize=9, markerfacecolor=colour, **style)
    else:
        marks.dots(axes, [(place, bound)], None, marker="_", markersize=13, markeredgewidth=2.4, **style)


def _draw_controls(axes: "Axes", controls: Sequence[Panel], shown: Range, rule: Rule) -> None:
    """Draw both controls on the same axes, each with its mean and interval at the end."""
    change_axis.set_axis(axes, shown)
    axes.axhline(0, color="black", linewidth=1.2, zorder=1.5)
    for limit in (-rule.control_least, rule.control_least):
        axes.axhline(limit, color=page.GREY, linestyle=_SPARSE, linewidth=1.3, zorder=1.5)
    _write_limit(axes, f"±{units.change_size(rule.control_least)}".replace(".0", ""), 0)
    left, right = axes.get_xlim()
    right += 0.06 * (right - left)
    axes.set_xlim(left, right)
    heads = {}
    for n, panel in enumerate(controls):
        colour, marker = CONTROL_LOOKS[panel.name]
        change_axis.draw_dots(
            axes, panel.dots, shown, marker=marker, color=colour, alpha=0.7, markerfacecolor="white",
            markersize=0.75 * change_axis.mark_size(len(panel.dots)),
        )  # fmt: skip
        if panel.effect is not None:
            at, mean = right - (0.07 - 0.06 * n) * (right - left), shown.clip(panel.effect.estimate)
            ends = [(at, shown.clip(end)) for end in (panel.effect.low, panel.effect.high)]
            marks.line(axes, ends, None, color=colour, linewidth=3, solid_capstyle="butt", zorder=5)
            style: dict[str, Any] = {
                "color": colour,
                "markerfacecolor": colour,
                "markersize": 7,
                "zorder": 6,
                "clip_on": False,
            }
            marks.dots(axes, [(at, mean)], None, marker=marker, **style)
        told = "no interval" if panel.effect is None else panel.effect.change
        heads[f"{_SHAPES[marker]} {panel.name.removeprefix(read.PLACEBO)} {told}"] = colour
    change_axis.write_farthest(axes, [dot for panel in controls for dot in panel.dots], shown, 1)
    _head(axes, "A, measured twice", heads)


def _draw_limits(axes: "Axes", shown: Range, limits: Mapping[float, Any], direction: int) -> None:
    """Draw 0 and the limits of the rule, with their labels; of two that are too close, only the higher has a label."""
    axes.axhline(0, color="black", linewidth=1.2, zorder=1.5)
    taken = math.inf
    for at, dashes in sorted(limits.items(), reverse=True):
        if not shown.has(at):
            continue
        axes.axhline(at, color=page.GREY, linestyle=dashes, linewidth=1.3, zorder=1.5)
        if taken - at >= 0.05 * (shown.high - shown.low):
            taken = at
            _write_limit(axes, units.change(direction * at).replace(".0", ""), at)


def _write_limit(axes: "Axes", text: str, at: float) -> None:
    style: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "center"}
    marks.small(axes, text, (1, at), xytext=(4, 0), annotation_clip=False, **style)


def _head(axes: "Axes", name: str, lines: Mapping[str, str], *, is_bold: bool = False) -> None:
    """Write a name and lines of text above the axes; ``lines`` maps each text to its colour."""
    axes.set_title(name, pad=61)
    for n, (text, colour) in enumerate(lines.items()):
        style: dict[str, Any] = {"size": 12, "weight": "bold"} if is_bold and n == 0 else {}
        style |= {"xycoords": "axes fraction", "ha": "left", "color": colour}
        marks.small(axes, text, (0, 1), xytext=(0, 42 - 17 * n), **style)


def _notes(metrics: Sequence[Panel], result: Result, *, lacks_memory: bool) -> str:
    first, tally = result.tally.good[0], result.tally
    left_out = [NAMES[name] for name in read.asked(result.blocks) if name not in {panel.name for panel in metrics}]
    least, most = (units.change_size(end) for end in (result.rule.least, result.rule.acceptable))
    failed = tally.failed_a + tally.failed_b
    crosses = [f"grey, {tally.dropped} left out on an outside signal"] if tally.dropped else []
    crosses += [f"orange, failed (A in {tally.failed_a}, B in {tally.failed_b})"] if failed else []
    return marks.notes(
        _sides(first),
        f"Workload: {show.where(first)}.",
        "Each mark is a block; up is worse (of throughput, less).",
        "Band: mean and 95 % interval. The bar at its end reaches to the worst change that is still plausible; for a "
        f"pass, it ends below the dotted line ({most} worse; of throughput, lower by the same factor).",
        f"Dashed: a change up to {least} is no regression.",
        "Numbered vertical lines: after these blocks, it was decided whether to go on.",
        "Controls: the same code, measured twice; there, up is more. A significant difference beyond the dotted lines "
        "refuses a verdict.",
        *(
            f"{NAMES[panel.name]}: in {len(panel.dots)} of {len(result.tally.good)} blocks.".capitalize()
            for panel in metrics
            if len(panel.dots) < len(result.tally.good)
        ),
        crosses and f"Crosses: {'; '.join(crosses)}.",
        lacks_memory and "Crosses in the metric's colour: no value.",
        left_out and f"Not gated, so not shown: {words.listed(left_out)}.",
    )


def _sides(first: Block) -> str:
    """Name both sides, and the interpreters where they differ."""
    pythons = {side: provenance.pythons(first.side(side), {}) for side in read.SIDES}
    on = {side: f" on {python}" if len(set(pythons.values())) > 1 else "" for side, python in pythons.items()}
    return " ".join(f"{side}: {words.plain(read.label(first, side), 60)}{on[side]}." for side in read.SIDES)
