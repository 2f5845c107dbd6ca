"""Plot of a comparison: each block a dot, each metric with its interval, against what a verdict asks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.core import units
from bench.core.arm import IN_FLIGHT
from bench.core.rows import Row
from bench.present import change_axis, page, provenance, words
from bench.present.change_axis import Dot, Range
from bench.studies.compare import read
from bench.studies.compare.decide import Decision, Effect, Rule, better_ones
from bench.studies.compare.effect import NAMES
from bench.studies.compare.read import Block, Tally
from bench.studies.compare.show import WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"cpu_per_page": ("#0072B2", "o"), "throughput": ("#007A5A", "s"), "memory": ("#A8487C", "^")}
CONTROL_LOOKS = dict(zip(read.CONTROLS, (("#595959", "o"), ("#A66F00", "D")), strict=True))
"""Colour and marker."""
_SHAPES = {"o": "\N{WHITE CIRCLE}", "D": "\N{WHITE DIAMOND}"}
NEITHER = "neither worse nor ruled out"
"""So begins what ``decide`` says where the blocks are too few for their noise."""
FAILED, DROPPED = "#C24E00", "#8C8C8C"
_WRITE = {"cpu_per_page": units.duration, "throughput": units.rate, "memory": units.size}
_HEAD_ROOM, _LEFT, _RIGHT, _GAP = 0.75, 1.15, 0.65, 1.3
"""Inches: above the axes for their heads, beside them, and between them."""
LOOK_ROOM = 0.15
"""Of the blocks: between the names of two looks there are at least so many."""
_SMALLER = 0.72
"""The width of the controls' axes, of that of a metric."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric, or one control: its dots in the order of the blocks, and what they say together."""

    name: str
    dots: tuple[Dot, ...]
    effect: Effect | None
    missing: tuple[int, ...] = ()
    """Good blocks in which this metric was tried and not had."""

    @property
    def values(self) -> list[float]:
        """The value of each dot."""
        return [dot.value for dot in self.dots]

    @property
    def direction(self) -> int:
        """Where worse is: 1, more; -1, less."""
        return _direction(self.name)


@dataclass(frozen=True, slots=True)
class Lost:
    """The blocks without values, by their numbers."""

    failed: tuple[int, ...]
    dropped: tuple[int, ...]


def save_comparison(
    found: Sequence[Block], decision: Decision, rule: Rule, machine: dict[str, Any], folder: Path
) -> list[Path]:
    """Write ``comparison.png`` and ``comparison.svg`` into the folder; nothing without a good block.

    Raises OSError when a file cannot be written.
    """
    with page.settings():
        figure = draw(found, decision, rule, machine)
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return page.save(figure, folder, "comparison")


def draw(found: Sequence[Block], decision: Decision, rule: Rule, machine: dict[str, Any]) -> "Figure | None":
    """Draw the gated metrics side by side, and the controls; None without a good block."""
    tally = read.tally(found)
    if not tally.good:
        return None
    metrics, controls, lost = panels(found, decision), control_panels(found, decision), lost_of(found)
    footer = provenance.source(rows_of(found), machine)
    sheet = page.sheet(title(decision, rule, tally), _notes(metrics, tally, rule, lost), footer)
    change_axis.fit_texts(sheet)
    every = _axes(sheet, len(metrics))
    shown = change_axis.range_of([panel.values for panel in metrics] or [panel.values for panel in controls])
    reached = _looks_reached(found, rule)
    for axes, panel in zip(every, metrics, strict=False):
        _frame(axes, len(found), lost, reached)
        _draw_metric(axes, panel, shown, rule, tally.good)
    every[0].set_ylabel("from A to B, worse \N{RIGHTWARDS ARROW}")
    _frame(every[-1], len(found), lost, reached)
    every[-1].locator_params(axis="x", nbins=4)
    _draw_controls(every[-1], controls, shown, rule)
    return sheet


def panels(found: Sequence[Block], decision: Decision) -> list[Panel]:
    """Return the gated metrics; if none is, all that have values."""
    good = [block for block in found if block.good]
    each = [(block.number, read.values(block)) for block in good]
    names = list(read.gated_values(found) or read.series([values for _, values in each]))
    effects = {one.metric: one for one in decision.effects}
    return [
        Panel(
            name,
            tuple(Dot(number, values[name]) for number, values in each if name in values),
            effects.get(name),
            tuple(block.number for block in good if name == "memory" and read.why_no_memory([block])),
        )
        for name in names
    ]


def control_panels(found: Sequence[Block], decision: Decision) -> list[Panel]:
    """Return the negative controls."""
    each = [(block.number, read.controls_of(block)) for block in found if block.good]
    effects = {one.metric: one for one in decision.controls}
    return [
        Panel(name, tuple(Dot(number, values[name]) for number, values in each if name in values), effects.get(name))
        for name in dict.fromkeys(name for _, values in each for name in values)
    ]


def lost_of(found: Sequence[Block]) -> Lost:
    """Return which blocks failed, and which an outside signal discards."""
    lost = [block for block in found if not block.good]
    return Lost(
        tuple(block.number for block in lost if block.failed is not None),
        tuple(block.number for block in lost if block.failed is None),
    )


def rows_of(found: Sequence[Block]) -> list[Row]:
    """Return all rows of the blocks."""
    return [row for block in found for row in block.rows]


def title(decision: Decision, rule: Rule, tally: Tally) -> str:
    """Return the verdict with what it rests on."""
    word = WORDS[decision.verdict]
    a, b = (words.plain(read.label(tally.good[0], side), 36) for side in "AB")
    if decision.verdict == "pass":
        names = words.listed([NAMES[one.metric] for one in decision.effects] or ["all that is gated"])
        better = [f"{NAMES[one.metric]} {_on_one_line(_estimate(one))}" for one in better_ones(decision.effects, rule)]
        if better:
            return f"{word}: {b} is better than {a}: {words.listed(better)}"
        return f"{word}: {b} is at most {math.expm1(rule.acceptable) * 100:.0f} % worse than {a} in {names}"
    worse = _worse(decision, rule, len(read.asked(tally.good, "gated"))) if decision.verdict == "regression" else []
    if worse:
        write = _figures if len(worse) == 1 else _estimate
        told = words.listed([f"{NAMES[one.metric]} {_on_one_line(write(one))}" for one in worse])
        return f"{word}: {b} against {a}: {told}"
    undecided = [one for one in decision.effects if one.upper >= rule.acceptable]
    if decision.why.startswith(NEITHER) and undecided:
        highest = max(undecided, key=lambda one: one.upper)
        return f"{word}: {NEITHER}: {NAMES[highest.metric]} {_on_one_line(_figures(highest))}"
    why = decision.why.split("; ", 1)[0].split(", so ", 1)[0]
    for metric, name in NAMES.items():
        why = why.replace(metric, name)
    return f"{word}: {words.plain(why, 150)}"


def _worse(decision: Decision, rule: Rule, gated: int) -> list[Effect]:
    """Return the effects that make a regression, by the rule of ``decide``; none where failures make it."""
    if decision.look is None:
        return []
    level = rule.level(decision.look, max(1, gated))
    return [
        one
        for one in decision.effects
        if one.blocks >= rule.looks[0] and one.estimate > rule.least and max(one.p, one.sign_flip_p or 0.0) < level
    ]


def _on_one_line(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _figures(one: Effect) -> str:
    between = change_axis.interval(one.low, one.high, _direction(one.metric))
    return f"{_estimate(one)} ({between})"


def _estimate(one: Effect) -> str:
    return change_axis.change(_direction(one.metric) * one.estimate)


def _direction(metric: str) -> int:
    """Return 1 where more is worse; of throughput, worse is less."""
    return -1 if metric == "throughput" else 1


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


def _frame(axes: "Axes", number: int, lost: Lost, reached: Sequence[tuple[int, int]]) -> None:
    """Set what all axes have alike: blocks from left to right, looks, and the blocks without values."""
    axes.set_xlim(0.5 - 0.03 * number, number + 0.5 + 0.09 * number)
    axes.locator_params(axis="x", nbins=6, integer=True, min_n_ticks=1)
    axes.set_xlabel("block")
    axes.grid(visible=False)
    change_axis.draw_crosses(axes, lost.dropped, DROPPED)
    change_axis.draw_crosses(axes, lost.failed, FAILED)
    _draw_looks(axes, number, reached)


def _draw_looks(axes: "Axes", number: int, reached: Sequence[tuple[int, int]]) -> None:
    """Draw a faint line behind the block that completed each look; name those that have room for it."""
    named: list[tuple[int, int]] = []
    for look, place in reversed(reached):
        axes.axvline(place + 0.5, color=page.PALE, linewidth=1.4, zorder=0.5)
        if not named or named[0][1] - place >= LOOK_ROOM * number:
            named.insert(0, (look, place))
    for n, (look, place) in enumerate(named):
        axes.annotate(
            f"{look}" if n else f"look {look}", (place + 0.5, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", size=page.SMALL, color=page.GREY,
        )  # fmt: skip


def _draw_metric(axes: "Axes", panel: Panel, shown: Range, rule: Rule, good: Sequence[Block]) -> None:
    colour, marker = LOOKS[panel.name]
    change_axis.set_axis(axes, shown, panel.direction)
    _lines(axes, shown, {rule.least: (0, (6, 2)), rule.acceptable: (0, (1, 1.5))}, panel.direction)
    change_axis.draw_dots(
        axes, panel.dots, shown, panel.direction, marker=marker, color=colour, alpha=0.8, markeredgewidth=0,
        markersize=_size(len(good)),
    )  # fmt: skip
    change_axis.draw_crosses(axes, panel.missing, colour)
    a, b = (read.figure(good, side, panel.name) for side in "AB")
    figures = [f"A {_amount(panel.name, a)}, B {_amount(panel.name, b)}"]
    if panel.effect is None:
        one = len(panel.dots) == 1
        figures = [f"no interval from {len(panel.dots)} {'block' if one else 'blocks'}", *figures]
    else:
        _draw_band(axes, panel.effect, shown, colour)
        figures = [_figures(panel.effect), *figures]
    _head(axes, NAMES[panel.name], figures, colour)


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
    change_axis.set_axis(axes, shown, 1)
    _lines(axes, shown, dict.fromkeys((-rule.control_least, rule.control_least), (0, (2, 3))), 1)
    left, right = axes.get_xlim()
    axes.set_xlim(left, right + 0.06 * (right - left))
    left, right = axes.get_xlim()
    head = []
    for place, panel in enumerate(controls):
        colour, marker = CONTROL_LOOKS[panel.name]
        change_axis.draw_dots(
            axes, panel.dots, shown, 1, marker=marker, color=colour, alpha=0.7, markerfacecolor="white",
            markersize=0.75 * _size(len(panel.dots)),
        )  # fmt: skip
        told = "no interval"
        if panel.effect is not None:
            told = change_axis.change(panel.effect.estimate)
            at = right - (0.07 - 0.06 * place) * (right - left)
            ends = [shown.clip(panel.effect.low), shown.clip(panel.effect.high)]
            axes.plot([at, at], ends, color=colour, linewidth=3, solid_capstyle="butt", zorder=5)
            mean = shown.clip(panel.effect.estimate)
            axes.plot(at, mean, marker=marker, color=colour, markersize=7, zorder=6, clip_on=False)
        head.append((f"{_SHAPES[marker]} {panel.name.removeprefix(read.PLACEBO)} {told}", colour))
    _head(axes, "A, measured twice", [text for text, _ in head], *(colour for _, colour in head))


def _lines(axes: "Axes", shown: Range, lines: dict[float, Any], direction: int) -> None:
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
                change_axis.change(direction * at).replace(".0", ""), (1, at), xycoords=("axes fraction", "data"),
                xytext=(4, 0), textcoords="offset points", va="center", size=page.SMALL, color=page.GREY,
                annotation_clip=False,
            )  # fmt: skip


def _head(axes: "Axes", name: str, figures: Sequence[str], *colours: str) -> None:
    """Write a metric and its figures above its axes; the first colour is that of the first line, and so on."""
    axes.set_title(name, pad=61)
    for line, text in enumerate(figures):
        colour = colours[line] if line < len(colours) else page.GREY
        axes.annotate(
            text, (0, 1), xycoords="axes fraction", xytext=(0, 42 - 17 * line), textcoords="offset points",
            size=12 if line == 0 and len(colours) == 1 else page.SMALL, color=colour,
            weight="bold" if line == 0 and len(colours) == 1 else "normal",
        )  # fmt: skip


def _notes(metrics: Sequence[Panel], tally: Tally, rule: Rule, lost: Lost) -> str:
    first = tally.good[0]
    caps = {read.arm(first, side).get("in_flight", IN_FLIGHT) for side in "AB"}
    work = [units.latency(read.workload(first)["latency"])]
    work += [words.in_flight(caps.pop())] if len(caps) == 1 else []
    shown = {panel.name for panel in metrics}
    left_out = [NAMES[name] for name in read.workload(first)["comparison"]["metrics"] if name not in shown]
    less = " (of throughput, less)" if any(panel.direction < 0 for panel in metrics) else ""
    least, most = (f"{math.expm1(end) * 100:.0f} %" for end in (rule.least, rule.acceptable))
    return " ".join(
        note
        for note in (
            _sides(first),
            f"{words.plain(', '.join(work), 120)}. Each mark is a block; up is worse{less}.",
            "Band: mean and 95 % interval; at its end the bound of a pass.",
            f"Dashed: up to {least} is no regression. Dotted: a pass has its bound below {most}.",
            "Controls: the same code, measured twice.",
            _about(lost, tally),
            "Crosses in the metric's colour: no value." if any(panel.missing for panel in metrics) else "",
            f"Not gated, so not shown: {words.listed(left_out)}." if left_out else "",
        )
        if note
    )


def _about(lost: Lost, tally: Tally) -> str:
    """Count the blocks without values, by what their crosses look like."""
    failed = [f"{side} in {n}" for side, n in (("A", tally.failed_a), ("B", tally.failed_b)) if n]
    parts = [f"grey, {len(lost.dropped)} left out on an outside signal"] if lost.dropped else []
    parts += [f"orange, {len(lost.failed)} failed ({', '.join(failed)})"] if failed else []
    return f"Crosses: {'; '.join(parts)}." if parts else ""


def _looks_reached(found: Sequence[Block], rule: Rule) -> list[tuple[int, int]]:
    """Return each look that was reached, with the number of the block that completed it."""
    good = [block.number for block in found if block.good]
    return [(look, good[size - 1]) for look, size in enumerate(rule.looks, 1) if size <= len(good)]


def _amount(metric: str, value: float) -> str:
    return _WRITE[metric](value, 3) if math.isfinite(value) else "-"


def _size(number: int) -> float:
    """Return how large a mark is, so that many do not hide each other."""
    return max(3.0, min(9.0, 60.0 / math.sqrt(max(1, number))))


def _sides(first: Block) -> str:
    """Name both sides, and on what they ran where that differs."""
    pythons = {side: provenance.pythons(first.of(side), {}) for side in "AB"}
    on = {side: f" on {python}" if len(set(pythons.values())) > 1 else "" for side, python in pythons.items()}
    return " ".join(f"{side}: {words.plain(read.label(first, side), 60)}{on[side]}." for side in "AB")
