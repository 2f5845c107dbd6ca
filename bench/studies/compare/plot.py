"""Plot of a comparison: each block a dot, each metric with its interval, against what a verdict asks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import change_axis, page, words
from inflight.bench.present.change_axis import Dot, Range
from inflight.bench.report import provenance
from inflight.bench.studies.compare import read, show
from inflight.bench.studies.compare.effect import FALLING, NAMES, Effect
from inflight.bench.studies.compare.read import Block, Result
from inflight.bench.studies.compare.rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"cpu_per_page": ("#0072B2", "o"), "throughput": ("#007A5A", "s"), "memory": ("#A8487C", "^")}
CONTROL_LOOKS = dict(zip(read.CONTROLS, (("#595959", "o"), ("#A66F00", "D")), strict=True))
"""Colour and marker."""
_SHAPES = {"o": "\N{WHITE CIRCLE}", "D": "\N{WHITE DIAMOND}"}
FAILED, DROPPED = "#C24E00", "#8C8C8C"
_HEAD_ROOM, _LEFT, _RIGHT, _GAP = 0.75, 1.15, 0.65, 1.3
"""Inches: above the axes for their heads, beside them, and between them."""
LOOK_ROOM = 0.15
"""Of the blocks: between the names of two looks there are at least so many."""
_SMALLER = 0.72
"""The width of the controls' axes, of that of a metric."""
_DASHED, _DOTTED, _SPARSE = (0, (6, 2)), (0, (1, 1.5)), (0, (2, 3))


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric, or one control: its dots in the order of the blocks, and what they say together."""

    name: str
    dots: tuple[Dot, ...]
    effect: Effect | None

    @property
    def direction(self) -> int:
        """Where worse is: 1, more; -1, less."""
        return -1 if self.name in FALLING else 1


@dataclass(frozen=True, slots=True)
class Frame:
    """What all axes share: the number of blocks, those without values, and after which block each look was reached."""

    blocks: int
    failed: tuple[int, ...]
    dropped: tuple[int, ...]
    reached: tuple[tuple[int, int], ...]


def save_comparison(result: Result, machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``comparison.png`` and ``comparison.svg`` into the folder; nothing without a good block.

    Raises OSError when a file cannot be written.
    """
    with page.settings():
        if (figure := draw(result, machine)) is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return page.save(figure, folder, "comparison")


def draw(result: Result, machine: dict[str, Any]) -> "Figure | None":
    """Draw the gated metrics side by side, and the controls; None without a good block."""
    good, rule = result.tally.good, result.rule
    if not good:
        return None
    each = {block.number: read.values(block) for block in good}
    metrics = _panels(each, list(read.gated_values(good) or read.series(list(each.values()))), result.decision.effects)
    checked = {block.number: read.controls_of(block) for block in good}
    controls = _panels(checked, list(read.series(list(checked.values()))), result.decision.controls)
    frame, missing = _frame_of(result), [block.number for block in good if read.why_no_memory([block])]
    footer = provenance.source([row for block in result.blocks for row in block.rows], machine)
    sheet = page.sheet(show.title(result.decision), _notes(metrics, result, frame, missing), footer)
    change_axis.fit_texts(sheet)
    every = _axes(sheet, len(metrics))
    shown = change_axis.range_of([dot.value for dot in panel.dots] for panel in metrics or controls)
    for axes, panel in zip(every, metrics, strict=False):
        _draw_frame(axes, frame)
        _draw_metric(axes, panel, shown, rule, good)
        change_axis.draw_crosses(axes, missing if panel.name == "memory" else [], LOOKS[panel.name][0])
    every[0].set_ylabel("from A to B, worse \N{RIGHTWARDS ARROW}")
    _draw_frame(every[-1], frame)
    every[-1].locator_params(axis="x", nbins=4)
    _draw_controls(every[-1], controls, shown, rule)
    return sheet


def _panels(each: Mapping[int, read.Values], names: Sequence[str], effects: Sequence[Effect]) -> list[Panel]:
    of = {one.metric: one for one in effects}
    dots = {name: tuple(Dot(number, own[name]) for number, own in each.items() if name in own) for name in names}
    return [Panel(name, dots[name], of.get(name)) for name in names]


def _frame_of(result: Result) -> Frame:
    good = [block.number for block in result.tally.good]
    lost = [block for block in result.blocks if not block.good]
    return Frame(
        len(result.blocks),
        tuple(block.number for block in lost if block.failed is not None),
        tuple(block.number for block in lost if block.failed is None),
        tuple((look, good[size - 1]) for look, size in enumerate(result.rule.looks, 1) if size <= len(good)),
    )


def _axes(sheet: "Figure", metrics: int) -> list["Axes"]:
    """Return axes for the metrics, and smaller ones for the controls, with room for their heads and ticks."""
    widths = [1.0] * metrics + [_SMALLER]
    mean = (page.WIDTH - _LEFT - _RIGHT - _GAP * metrics) / len(widths)
    sheet.subplots_adjust(
        left=_LEFT / page.WIDTH,
        right=1 - _RIGHT / page.WIDTH,
        top=sheet.subplotpars.top - _HEAD_ROOM / page.HEIGHT,
        wspace=_GAP / mean,
    )
    return list(sheet.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0])


def _draw_frame(axes: "Axes", frame: Frame) -> None:
    """Draw blocks from left to right, looks, and the blocks without values."""
    number = frame.blocks
    axes.set_xlim(0.5 - 0.03 * number, number + 0.5 + 0.09 * number)
    axes.locator_params(axis="x", nbins=6, integer=True, min_n_ticks=1)
    axes.set_xlabel("block")
    axes.grid(visible=False)
    change_axis.draw_crosses(axes, frame.dropped, DROPPED)
    change_axis.draw_crosses(axes, frame.failed, FAILED)
    _draw_looks(axes, frame)


def _draw_looks(axes: "Axes", frame: Frame) -> None:
    """Draw a faint line behind the block that completed each look; name those that have room for it."""
    named: list[tuple[int, int]] = []
    for look, place in reversed(frame.reached):
        axes.axvline(place + 0.5, color=page.PALE, linewidth=1.4, zorder=0.5)
        if not named or named[0][1] - place >= LOOK_ROOM * frame.blocks:
            named.insert(0, (look, place))
    for n, (look, place) in enumerate(named):
        axes.annotate(
            f"{look}" if n else f"look {look}", (place + 0.5, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", size=page.SMALL, color=page.GREY,
        )  # fmt: skip


def _draw_metric(axes: "Axes", panel: Panel, shown: Range, rule: Rule, good: Sequence[Block]) -> None:
    colour, marker = LOOKS[panel.name]
    change_axis.set_axis(axes, shown, panel.direction)
    _lines(axes, shown, {rule.least: _DASHED, rule.acceptable: _DOTTED}, panel.direction)
    change_axis.draw_dots(
        axes, panel.dots, shown, panel.direction, marker=marker, color=colour, alpha=0.8, markeredgewidth=0,
        markersize=change_axis.mark_size(len(good)),
    )  # fmt: skip
    a, b = (show.amount(panel.name, read.figure(good, side, panel.name)) for side in read.SIDES)
    effect = panel.effect
    if effect is not None:
        _draw_band(axes, effect, shown, colour)
    told = "no interval" if effect is None else f"{effect.change} ({effect.interval})"
    _head(axes, NAMES[panel.name], [told, f"A {a}, B {b}"], colour)


def _draw_band(axes: "Axes", effect: Effect, shown: Range, colour: str) -> None:
    """Draw the mean with its interval across all blocks, and at the end the bound that decides a pass."""
    axes.axhspan(shown.clip(effect.low), shown.clip(effect.high), color=colour, alpha=0.16, linewidth=0, zorder=1)
    axes.axhline(shown.clip(effect.estimate), color=colour, linewidth=2, zorder=2)
    left, right = axes.get_xlim()
    place = right - 0.025 * (right - left)
    ends = [shown.clip(effect.estimate), shown.clip(effect.upper)]
    axes.plot([place, place], ends, color=colour, linewidth=1.6, zorder=3)
    beyond = effect.upper > shown.high
    axes.plot(
        place, shown.edge(effect.upper) if beyond else ends[1], marker="^" if beyond else "_", color=colour,
        markersize=9 if beyond else 13, markeredgewidth=0 if beyond else 2.4, clip_on=False, zorder=3,
    )  # fmt: skip


def _draw_controls(axes: "Axes", controls: Sequence[Panel], shown: Range, rule: Rule) -> None:
    """Draw both controls in one, each with mean and interval at the end."""
    change_axis.set_axis(axes, shown)
    _lines(axes, shown, dict.fromkeys((-rule.control_least, rule.control_least), _SPARSE), 1)
    left, right = axes.get_xlim()
    right += 0.06 * (right - left)
    axes.set_xlim(left, right)
    heads = []
    for place, panel in enumerate(controls):
        colour, marker = CONTROL_LOOKS[panel.name]
        change_axis.draw_dots(
            axes, panel.dots, shown, 1, marker=marker, color=colour, alpha=0.7, markerfacecolor="white",
            markersize=0.75 * change_axis.mark_size(len(panel.dots)),
        )  # fmt: skip
        if panel.effect is not None:
            at = right - (0.07 - 0.06 * place) * (right - left)
            ends = [shown.clip(panel.effect.low), shown.clip(panel.effect.high)]
            axes.plot([at, at], ends, color=colour, linewidth=3, solid_capstyle="butt", zorder=5)
            mean = shown.clip(panel.effect.estimate)
            axes.plot(at, mean, marker=marker, color=colour, markersize=7, zorder=6, clip_on=False)
        told = "no interval" if panel.effect is None else panel.effect.change
        heads.append(f"{_SHAPES[marker]} {panel.name.removeprefix(read.PLACEBO)} {told}")
    _head(axes, "A, measured twice", heads, *(CONTROL_LOOKS[panel.name][0] for panel in controls))


def _lines(axes: "Axes", shown: Range, lines: Mapping[float, Any], direction: int) -> None:
    """Draw 0, and the values that a verdict asks about; with labels, of two that are too close the higher one."""
    axes.axhline(0, color="black", linewidth=1.2, zorder=1.5)
    taken = math.inf
    for at, dashes in sorted(lines.items(), reverse=True):
        if not shown.has(at):
            continue
        axes.axhline(at, color=page.GREY, linestyle=dashes, linewidth=1.3, zorder=1.5)
        if taken - at >= 0.05 * (shown.high - shown.low):
            taken = at
            axes.annotate(
                units.change(direction * at).replace(".0", ""), (1, at), xycoords=("axes fraction", "data"),
                xytext=(4, 0), textcoords="offset points", va="center", size=page.SMALL, color=page.GREY,
                annotation_clip=False,
            )  # fmt: skip


def _head(axes: "Axes", name: str, figures: Sequence[str], *colours: str) -> None:
    """Write a metric and its figures above its axes; the first colour is that of the first line, and so on."""
    axes.set_title(name, pad=61)
    for line, text in enumerate(figures):
        is_bold = line == 0 and len(colours) == 1
        axes.annotate(
            text, (0, 1), xycoords="axes fraction", xytext=(0, 42 - 17 * line), textcoords="offset points",
            size=12 if is_bold else page.SMALL, color=colours[line] if line < len(colours) else page.GREY,
            weight="bold" if is_bold else "normal",
        )  # fmt: skip


def _notes(metrics: Sequence[Panel], result: Result, frame: Frame, missing: Sequence[int]) -> str:
    first, tally = result.tally.good[0], result.tally
    left_out = [NAMES[name] for name in read.asked(result.blocks) if name not in {panel.name for panel in metrics}]
    least, most = (units.change_size(end) for end in (result.rule.least, result.rule.acceptable))
    crosses = [f"grey, {len(frame.dropped)} left out on an outside signal"] if frame.dropped else []
    crosses += [f"orange, failed (A in {tally.failed_a}, B in {tally.failed_b})"] if frame.failed else []
    notes = [
        _sides(first),
        f"{show.where(first)}. Each mark is a block; up is worse (of throughput, less).",
        "Band: mean and 95 % interval; at its end the bound of a pass.",
        f"Dashed: up to {least} is no regression. Dotted: a pass has its bound below {most}.",
        "Controls: the same code, measured twice.",
        f"Crosses: {'; '.join(crosses)}." if crosses else "",
        "Crosses in the metric's colour: no value." if missing else "",
        f"Not gated, so not shown: {words.listed(left_out)}." if left_out else "",
    ]
    return " ".join(filter(None, notes))


def _sides(first: Block) -> str:
    """Name both sides, and on what they ran where that differs."""
    pythons = {side: provenance.pythons(first.side(side), {}) for side in read.SIDES}
    on = {side: f" on {python}" if len(set(pythons.values())) > 1 else "" for side, python in pythons.items()}
    return " ".join(f"{side}: {words.plain(read.label(first, side), 60)}{on[side]}." for side in read.SIDES)
