"""Plot 5: what one more costs, layer by layer: building blocks and strategies, beside the published figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.core import units
from bench.core.figures import Slope
from bench.core.layers import LAYERS
from bench.present import page, words
from bench.studies.memory import findings
from bench.studies.memory.subjects import GROUPS, Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KILO = 1e3
ZOOM_BYTES = 6_000
WHOLE_BYTES = 70_000
BAR = 0.66
COLOURS = dict(zip(LAYERS, ("#0072B2", "#56B4E9", "#D55E00", "#E69F00"), strict=True))
HATCHES = dict(zip(LAYERS, ("", "..", "//", "\\\\"), strict=True))
PUBLISHED = ((22_000, "22k: draft,\na thread", "right"), (50_000, "50k: published,\na thread", "left"))
PUBLISHED_SMALL = ((3_000, "3k: published,\na coroutine", "center"),)
CLOSE = 2
"""Where the axes are so many times WHOLE_BYTES long, the published figures' names make way for each other."""
_ROW, _LEFT, _RIGHT, _BETWEEN, _HEAD, _KEY = 0.31, 2.85, 0.35, 0.45, 0.9, 0.32
"""Inches: a row, the margins, between the panels, the panels' titles, the key to the layers."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One subject: its layers' sizes from the left, none below zero; and whether there is more, of unknown size."""

    subject: Subject
    y: float
    parts: tuple[tuple[str, float], ...]
    unknown: tuple[str, ...]

    @property
    def end_bytes(self) -> float:
        """Where the bar ends, the whisker of the whole included."""
        full = self.subject.cost.full
        stacked = sum(size for _, size in self.parts)
        return max(stacked, full.high) if isinstance(full, Slope) else stacked


def draw(found: Sequence[Subject], subtitle: str, footer: str) -> "Figure | None":
    """Draw the subjects of one setting that have a slope; None when none has."""
    fitted = [subject for subject in found if subject.is_fitted]
    if not fitted:
        return None
    shown = fitted[: page.MOST_BARS]
    bars, heads = place(shown)
    depth = max(bar.y for bar in bars) + 0.75
    title = findings.of_layers(shown)
    notes = _notes(found, shown, bars, subtitle, more=len(fitted) - len(shown))
    height = max(page.HEIGHT, 3.9 + _ROW * depth)
    sheet = page.sheet(title, notes, footer, height)
    top = sheet.subplotpars.top * height + 0.5 - _KEY  # the sheet left 0.5 for a title
    _key(sheet, bars, top / height)
    wide = page.WIDTH - _LEFT - _RIGHT - _BETWEEN
    sheet.subplots_adjust(
        left=_LEFT / page.WIDTH,
        right=1 - _RIGHT / page.WIDTH,
        top=(top - _HEAD) / height,
        wspace=2 * _BETWEEN / wide,
    )
    whole, zoom = sheet.subplots(1, 2, width_ratios=[3, 2])
    panel(bars, whole, max(WHOLE_BYTES, 1.35 * max(bar.end_bytes for bar in bars)), "whole")
    panel(bars, zoom, ZOOM_BYTES, "zoom")
    for axes, references in ((whole, PUBLISHED), (zoom, PUBLISHED_SMALL)):
        axes.set_ylim(depth, -0.75)
        _mark_published(axes, references)
    whole.set_yticks([bar.y for bar in bars], [bar.subject.name + _star(bar.subject) for bar in bars], size=12)
    zoom.set_yticks([])
    for text, y in heads:
        whole.annotate(
            text,
            (0, y),
            xycoords=("axes fraction", "data"),
            xytext=(0.4 * 72 - _LEFT * 72, 0),
            textcoords="offset points",
            va="center",
            size=12,
            weight="bold",
        )
    whole.set_title("One more costs, in all layers", pad=42)
    zoom.set_title(f"The first {ZOOM_BYTES // 1000} kB", pad=42)
    return sheet


def place(found: Sequence[Subject]) -> tuple[list[Bar], list[tuple[str, float]]]:
    """Return the bars and the heads of their groups, each with its height, from the top down."""
    bars, heads, y = [], [], 0.0
    for group in GROUPS:
        own = [subject for subject in found if subject.group == group]
        if own:
            heads.append((group[0].upper() + group[1:], y))
            y += 1
        for subject in own:
            slopes = [(name, subject.cost.layers[name]) for name in LAYERS]
            parts = tuple((name, max(0.0, slope.per_fetch)) for name, slope in slopes if isinstance(slope, Slope))
            unknown = tuple(name for name, slope in slopes if not isinstance(slope, Slope))
            bars.append(Bar(subject, y, parts, unknown))
            y += 1
        y += 0.3 if own else 0
    return bars, heads


def panel(bars: Sequence[Bar], axes: "Axes", limit_bytes: float, scale: str) -> None:
    """Draw the stacks up to a limit, with the whisker of the whole; a stack that is longer ends in an arrow."""
    for bar in bars:
        at = 0.0
        for name, size in bar.parts:
            axes.barh(
                bar.y,
                size / KILO,
                left=at / KILO,
                height=BAR,
                color=COLOURS[name],
                hatch=HATCHES[name],
                edgecolor="white",
                linewidth=0,
            )
            at += size
        if bar.unknown:
            more = 0.06 * limit_bytes
            axes.barh(
                bar.y,
                more / KILO,
                left=at / KILO,
                height=BAR,
                facecolor="white",
                edgecolor=page.GREY,
                hatch="xx",
                linewidth=0.8,
            )
            at += more
        _whisker(bar, axes)
        if at > limit_bytes:
            axes.plot(
                [0.985],
                [bar.y],
                marker=">",
                color="white",
                markeredgecolor="black",
                markersize=10,
                transform=axes.get_yaxis_transform(),
                zorder=6,
            )
        elif scale == "whole" or max(bar.end_bytes, at) < 0.7 * ZOOM_BYTES:
            _write(bar, axes, max(bar.end_bytes, at))
    axes.set_xlim(0, limit_bytes / KILO)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("memory per task (kB)")


def _whisker(bar: Bar, axes: "Axes") -> None:
    full = bar.subject.cost.full
    if isinstance(full, Slope):
        middle, low, high = full.per_fetch / KILO, max(0, full.low) / KILO, max(0, full.high) / KILO
        middle = min(max(middle, low), high)
        axes.errorbar(
            middle, bar.y, xerr=[[middle - low], [high - middle]], color="black", capsize=4, linewidth=1.4, zorder=4
        )


def _write(bar: Bar, axes: "Axes", end_bytes: float) -> None:
    full = bar.subject.cost.full
    known = sum(size for _, size in bar.parts)
    text = words.memory(full) if isinstance(full, Slope) else f"{units.size(known, 2)} and more"
    axes.annotate(
        text,
        (end_bytes / KILO, bar.y),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        size=12,
        weight="bold",
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )


def _mark_published(axes: "Axes", references: Sequence[tuple[int, str, str]]) -> None:
    are_close = axes.get_xlim()[1] * KILO > CLOSE * WHOLE_BYTES
    for size, text, aside in references:
        axes.axvline(size / KILO, color="black", linestyle=(0, (5, 3)), linewidth=1.3, zorder=3)
        axes.annotate(
            text,
            (size / KILO, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha=aside if are_close else "center",
            va="bottom",
            size=page.SMALL,
        )


def _key(sheet: "Figure", bars: Sequence[Bar], top: float) -> None:
    """Write which colour is which layer, in a line above the panels."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=COLOURS[name], hatch=HATCHES[name], edgecolor="white", linewidth=0, label=name)
        for name in LAYERS
    ]
    if any(bar.unknown for bar in bars):
        handles.append(Patch(facecolor="white", hatch="xx", edgecolor=page.GREY, label="unknown"))
    page.key(sheet, handles, _LEFT / page.WIDTH, top)


def _star(subject: Subject) -> str:
    return " *" if subject.stack == "own" else ""


def _notes(found: Sequence[Subject], shown: Sequence[Subject], bars: Sequence[Bar], subtitle: str, more: int) -> str:
    slopes = [slope for s in shown for slope in (*s.cost.layers.values(), s.cost.full) if isinstance(slope, Slope)]
    missing = list(dict.fromkeys(subject.name for subject in found if not subject.is_fitted))
    unknown = sorted({name for bar in bars for name in bar.unknown}, key=LAYERS.index)
    notes = [
        subtitle,
        "Slopes over N in fresh processes; whisker: 95 % interval of all layers together.",
        "Slab and sockets hold both ends of each loopback connection: the server's end too.",
        "Slopes below zero (noise) are drawn as 0." if any(slope.per_fetch < 0 for slope in slopes) else "",
        "A range: the line is bent."
        if any(not s.cost.full.straight for s in shown if isinstance(s.cost.full, Slope))
        else "",
        f"Unknown (not told here, moved by others, or too few valid trials): {words.listed(unknown)}."
        if unknown
        else "",
        "* with an HTTP stack of its own." if any(_star(subject) for subject in shown) else "",
        f"No slope: {words.listed(missing) if len(missing) <= 4 else f'{len(missing)} more'} (too few valid trials)."
        if missing
        else "",
        f"{more} more are not shown." if more else "",
    ]
    return " ".join(note for note in notes if note)
