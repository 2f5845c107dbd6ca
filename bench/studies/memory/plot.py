"""The plots of memory for each setting: memory per additional task, layer by layer, and memory over N."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.layers import LAYERS, Point
from inflight.bench.frame.slopes import Slope
from inflight.bench.present import labels, marks, page, scales, words
from inflight.bench.present.labels import Label
from inflight.bench.present.marks import UNKNOWN
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import plot_in_flight, show
from inflight.bench.studies.memory.read import GROUPS, IDLE, IN_FLIGHT, Subject, by_setting, line_start, positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KILO = 1e3
ZOOM_BYTES = 6_000
WHOLE_BYTES = 70_000
FILLS = dict(zip(LAYERS, marks.FILLS, strict=False))
PUBLISHED = (
    (22_000, "22 kB: a thread\n(draft of the chapter)", "right"),
    (50_000, "50 kB: a thread\n(chapter)", "left"),
)
PUBLISHED_SMALL = ((3_000, "3 kB: a coroutine\n(chapter)", "center"),)
CHAPTER = 'Dashed: figures of the chapter "A Web Crawler With asyncio Coroutines" by Davis and van Rossum.'
CLOSE = 1.3
"""If the axis is longer than this times WHOLE_BYTES, the names of published figures are moved apart."""
_ROW, _LEFT, _RIGHT, _BETWEEN, _HEAD, _KEY = 0.31, 2.85, 0.35, 0.45, 0.9, 0.32
"""Inches: a row, the margins, the gap between panels, the titles of panels, the key to the layers."""
LEAST_SIZES = 2
DEEP = 40
"""User memory is shown down to the least memory of all layers, divided by this."""
GUIDES = (100, 1_000, 10_000, 100_000)
"""Bytes per task of the faint guide lines."""
_TITLES = {
    IDLE: ("Idle threads and tasks", "waiting threads or tasks"),
    IN_FLIGHT: ("Fetches in flight", "fetches in flight"),
}


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> "Iterator[tuple[str, Figure | None]]":
    """Draw ``layers`` and ``ladder`` of each setting, the idle threads and tasks with the first; then ``in_flight``."""
    every = by_setting(rows)
    names = c.setting_names([setting for setting, _ in every if setting is not None])
    for number, (setting, own) in enumerate(every[: marks.MOST_SETTINGS], start=1):
        about = "" if setting is None else marks.about_setting(names[setting])
        yield marks.numbered("layers", number), draw_layers(own, about, footer)
        yield marks.numbered("ladder", number), draw_ladder(own, looks, about, footer)
    yield "in_flight", plot_in_flight.draw(c.cells(rows, "memory"), looks, footer)


# Memory per additional task


def draw_layers(found: Sequence[Subject], about: str, footer: str) -> "Figure | None":
    """Draw the subjects of one setting that have a slope; None if none has."""
    fitted = [subject for subject in found if subject.fitted]
    if not fitted:
        return None
    shown = fitted[: page.MOST_BARS]
    places, heads = place(shown)
    depth = max(places) + 0.75
    height = max(page.HEIGHT, 3.9 + _ROW * depth)
    sheet = page.sheet(show.of_layers(found), _about_layers(found, shown, about), footer, height)
    top = sheet.subplotpars.top + (0.5 - _KEY) / height  # the sheet left 0.5 for a title
    fills = FILLS | ({"unknown": UNKNOWN} if any(subject.unknown for subject in shown) else {})
    names = [labels.starred(subject.name, subject.stack) for subject in shown]
    left = max(_LEFT, 0.3 + labels.inches(sheet, names))
    marks.key(sheet, fills, left / page.WIDTH, top)
    marks.margins(sheet, left, _RIGHT, top=_HEAD + _KEY - 0.5)
    wide = page.WIDTH - left - _RIGHT - _BETWEEN
    sheet.subplots_adjust(wspace=2 * _BETWEEN / wide)
    has_zoom = any(end_of(subject) < ZOOM_BYTES for subject in shown)
    whole, *others = sheet.subplots(1, 1 + has_zoom, squeeze=False, width_ratios=[3, 2][: 1 + has_zoom])[0]
    panel_layers(places, whole, max(WHOLE_BYTES, 1.35 * max(map(end_of, shown))))
    name_places(places, heads, whole)
    whole.set_title(f"Memory per {show.one_more(shown)}, in all layers", pad=42)
    for zoom in others:
        panel_layers(places, zoom, ZOOM_BYTES, room=0.7)
        zoom.set_yticks([])
        zoom.set_title(f"Enlarged: up to {ZOOM_BYTES // 1000} kB", pad=42)
    for axes, references in zip((whole, *others), (PUBLISHED, PUBLISHED_SMALL), strict=False):
        axes.set_ylim(depth, -0.75)
        _mark_published(axes, references)
    return sheet


def place(found: Sequence[Subject]) -> tuple[dict[float, Subject], dict[float, str]]:
    """Return the subjects and the heads of their groups by their heights, from the top down."""
    places, heads, y = dict[float, Subject](), dict[float, str](), 0.0
    for group in GROUPS:
        if own := [subject for subject in found if subject.group == group]:
            heads[y] = group[0].upper() + group[1:]
            places |= {y + n: subject for n, subject in enumerate(own, start=1)}
            y += len(own) + 1.3
    return places, heads


def name_places(places: Mapping[float, Subject], heads: Mapping[float, str], axes: "Axes") -> None:
    """Write the names of the subjects to the left, with the heads of their groups in bold."""
    names = {**heads, **{y: labels.starred(subject.name, subject.stack) for y, subject in places.items()}}
    axes.set_yticks(list(names), list(names.values()), size=12)
    for label in axes.get_yticklabels()[: len(heads)]:
        label.set_fontweight("bold")


def end_of(subject: Subject) -> float:
    """Return the end of a subject's bar in bytes, including the whisker."""
    full = subject.cost.full
    return max(sum(_parts(subject).values()), full.high if isinstance(full, Slope) else 0.0)


def _parts(subject: Subject) -> dict[str, float]:
    return {name: max(0.0, slope.per_fetch) for name, slope in subject.fitted.items()}


def panel_layers(places: Mapping[float, Subject], axes: "Axes", limit_bytes: float, room: float = 1.0) -> None:
    """Draw the stacks up to a limit, with the whisker of the total; a longer stack ends in an arrow.

    The figure is written beside a stack that ends within ``room``, a share of the limit.
    """
    for y, subject in places.items():
        parts = [(size / KILO, FILLS[name]) for name, size in _parts(subject).items()]
        parts += [(0.06 * limit_bytes / KILO, UNKNOWN)] if subject.unknown else []
        end, full = marks.stacked(axes, y, parts, 0.66), subject.cost.full
        if isinstance(full, Slope):
            low, high = max(0, full.low) / KILO, max(0, full.high) / KILO
            marks.whisker(axes, y, min(max(full.per_fetch / KILO, low), high), low, high)
        if end > limit_bytes / KILO:
            _mark_longer(axes, y)
        elif (at := max(end, end_of(subject) / KILO)) < room * limit_bytes / KILO:
            known = f"{units.size(sum(_parts(subject).values()), 2)} and more"
            marks.beside(axes, words.memory(full) if isinstance(full, Slope) else known, at, y)
    axes.set_xlim(0, limit_bytes / KILO)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"memory per {show.one_more(list(places.values()))} (kB)")


def _mark_longer(axes: "Axes", y: float) -> None:
    arrow: dict[str, Any] = {
        "marker": ">",
        "markeredgecolor": "black",
        "markersize": 10,
        "transform": axes.get_yaxis_transform(),
    }
    marks.line(axes, [(0.985, y)], None, color="white", zorder=6, **arrow)


def _mark_published(axes: "Axes", references: Sequence[tuple[int, str, str]]) -> None:
    are_close = axes.get_xlim()[1] * KILO > CLOSE * WHOLE_BYTES
    for size, text, aside in references:
        axes.axvline(size / KILO, color="black", linestyle=(0, (5, 3)), linewidth=1.3, zorder=3)
        style = {"xycoords": ("data", "axes fraction"), "ha": aside if are_close else "center", "va": "bottom"}
        marks.small(axes, text, (size / KILO, 1), color="black", **style)


def _about_layers(found: Sequence[Subject], shown: Sequence[Subject], about: str) -> str:
    slopes = [slope for s in shown for slope in s.cost.slopes.values() if isinstance(slope, Slope)]
    missing = list(dict.fromkeys(subject.name for subject in found if not subject.fitted))
    names = words.listed(missing) if 0 < len(missing) <= 4 else f"{len(missing)} more"
    unknown = [subject for subject in shown if subject.unknown]
    more = sum(bool(subject.fitted) for subject in found) - len(shown)
    return marks.notes(
        about,
        "Slopes over N in fresh processes; whisker: 95 % interval of all layers together.",
        "Slab and sockets hold both ends of each loopback connection: the server's end too.",
        CHAPTER,
        any(slope.per_fetch < 0 for slope in slopes) and "Slopes below zero (noise) are drawn as 0.",
        any(isinstance(s.cost.full, Slope) and not s.cost.full.straight for s in shown)
        and "A range: the slope is not constant.",
        unknown and f"Some layers are unknown: {show.why_unknown(unknown)}.",
        _about_star(shown),
        missing and f"No slope: {names} (too few valid trials).",
        more and f"{more} more are not shown.",
    )


def _about_star(shown: Sequence[Subject]) -> str:
    """Explain the star, and that the title leaves those out if it can compare others."""
    if all(subject.stack != "own" for subject in shown):
        return ""
    shared = {subject.strategy for subject in shown if subject.stack == "shared"}
    return f"{labels.ABOUT_STAR.removesuffix('.')}, and not in the title." if len(shared) > 1 else labels.ABOUT_STAR


# Memory over N


def draw_ladder(found: Sequence[Subject], looks: Mapping[str, Look], about: str, footer: str) -> "Figure | None":
    """Draw the subjects of one setting; None if nothing was held at two sizes or more."""
    panels = [(group, own) for group in _TITLES if (own := [s for s in found if s.group == group and _is_ladder(s)])]
    if not panels:
        return None
    shown = [subject for _, own in panels for subject in own]
    bent = [s.name for s in shown if isinstance(s.cost.full, Slope) and not s.cost.full.straight]
    drawn = {group: _looks_of(own, looks) for group, own in panels}
    notes = marks.notes(
        about,
        "Added since nothing was held. Thick: all layers together, with every trial; thin: user memory alone.",
        any(isinstance(subject.cost.full, Slope) for subject in shown)
        and "Lines: least squares. The title has the sizes of the lines; without a line, the median of the trials.",
        bent and f"Not a straight line: {words.listed(bent[:3])}.",
        any(subject.invalid_rows for subject in shown) and "Hollow: invalid trials, excluded from the fits.",
        any(len(s.added(s.rows)) < len(s.rows) for s in shown) and "Trials without all layers are not shown.",
        marks.about_grey(
            (s.strategy for s in shown), {name: one for own in drawn.values() for name, one in own.items()}
        ),
    )
    sheet = page.sheet(show.of_ladder(shown), notes, footer)
    ends = [labels.name_of(subject.name, invalid=not subject.valid_rows) for subject in shown]
    labels.share_width(sheet, len(panels), ends, between=0.95)
    sheet.subplots_adjust(top=sheet.subplotpars.top - 0.22 / page.HEIGHT)  # for the labels of the guide lines
    for axes, (group, own) in zip(sheet.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel_ladder(own, drawn[group], axes)
        axes.set_title(_TITLES[group][0], pad=24)
        axes.set_xlabel(f"N: {_TITLES[group][1]} (log scale)")
    return sheet


def _looks_of(found: Sequence[Subject], looks: Mapping[str, Look]) -> dict[str, Look]:
    """Return the looks of the subjects of one panel, with those that the title may name."""
    whole = [subject for subject in found if subject.numbers]
    ends = show.ends_of_ladder(whole)[0] if whole else []
    return page.looks_of_plot((s.strategy for s in found), looks, (s.strategy for s in ends))


def panel_ladder(found: Sequence[Subject], looks: Mapping[str, Look], axes: "Axes") -> None:
    """Draw one group: points, fitted lines and names."""
    points = [point for subject in found for point in positive(subject.added(subject.rows))]
    if not points:
        axes.text(0.5, 0.5, "no trial has every layer", ha="center", transform=axes.transAxes, color=page.GREY)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    numbers, sizes = [n for n, _ in points], [size for _, size in points]
    user = [size for s in found for _, size in positive(s.added(s.valid_rows, "user"))]
    low, high = min(numbers) / 1.3, max(numbers) * 1.3
    bottom = max(min([*sizes, *user]), min(sizes) / DEEP) / 1.6
    scales.log_axis(axes.xaxis, lambda n: units.count(round(n)), [low, high], most=5)
    scales.log_axis(axes.yaxis, lambda size: units.size(size, 1), [bottom, max([*sizes, *user]) * 1.6], most=7)
    _draw_guides(axes)
    axes.set_ylabel("memory added (log scale)")
    names = [_draw_subject(subject, looks.get(subject.strategy), axes) for subject in found]
    labels.end_labels(axes, [label for label in names if label])


def _draw_subject(subject: Subject, look: Look | None, axes: "Axes") -> Label | None:
    good, invalid = (positive(subject.added(rows)) for rows in (subject.valid_rows, subject.invalid_rows))
    marks.dots(axes, good, look)
    marks.dots(axes, invalid, look, hollow=True)
    if good:
        _draw_fit(good, subject.cost.full, axes, look, 2.2)
        _draw_fit(positive(subject.added(subject.valid_rows, "user")), subject.cost.user, axes, look, 0.9)
    if look is None or not (good or invalid):
        return None
    name = subject.name if good else labels.name_of(subject.name, invalid=True)
    return Label(*max(good or invalid), name, look.colour)


def _draw_fit(points: Sequence[Point], slope: object, axes: "Axes", look: Look | None, width: float) -> None:
    """Draw the fitted line through the points."""
    if not isinstance(slope, Slope) or not points:
        return
    start = line_start(points, slope)
    low, high = math.log10(min(points)[0]), math.log10(max(points)[0])
    numbers = [10 ** (low + (high - low) * step / 60) for step in range(61)]
    line = [(n, size) for n in numbers if (size := start + slope.per_fetch * n) > 0]
    marks.line(axes, line, look, width, zorder=2)


def _draw_guides(axes: "Axes") -> None:
    """Draw faint lines of constant memory per task that leave the axes at the top, where their labels have room."""
    (low, high), (_, top) = axes.get_xlim(), axes.get_ylim()
    for each in GUIDES:
        if low * 1.05 < top / each < high:
            dots = (0, (1, 3))
            axes.plot([low, high], [each * low, each * high], color="#BBBBBB", linewidth=0.9, linestyle=dots, zorder=0)
            marks.small(axes, f"{units.size(each, 1)} each", (top / each, top))


def _is_ladder(subject: Subject) -> bool:
    """Tell whether added memory is known at two sizes or more."""
    return len({n for n, _ in subject.added(subject.rows, "user")}) >= LEAST_SIZES
