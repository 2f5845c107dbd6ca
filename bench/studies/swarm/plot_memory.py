"""Plot 13: what a fetch in flight takes in a swarm, layer by layer at both ends, and the readings behind it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench.core import units
from bench.present import labels, page, words
from bench.present.labels import Label
from bench.present.name_looks import Look
from bench.studies.swarm import findings
from bench.studies.swarm.read import Cost, Swarm, full_points
from bench.studies.swarm.read_row import LAYERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KILO, GIGA = 1e3, 1e9
COLOURS = dict(zip(LAYERS, ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73"), strict=True))
HATCHES = dict(zip(LAYERS, ("", "..", "//", "\\\\", "xx"), strict=True))
_KEY = 0.32
"""Inches of the key to the layers, above the panels."""
_LOW = 5.0
"""Inches of the sheet where no strategy was read at more than one size: then there is nothing to draw over sizes."""


def draw(found: Sequence[Swarm], looks: dict[str, Look], subtitle: str, footer: str) -> "Figure | None":
    """Draw the strategies of one setting whose every layer is known; None when there is none."""
    costs = findings.costs_of(found)
    known = {name: one for name, one in costs.items() if one.full is not None}
    if not known:
        return None
    shown = dict(list(known.items())[: page.MOST_BARS])
    notes = _notes(found, costs, subtitle, more=len(known) - len(shown))
    title = findings.of_cost(costs)
    is_line = any(len({number for number, _ in full_points([s for s in found if s.strategy == n])}) > 1 for n in shown)
    height = max(page.HEIGHT if is_line else _LOW, 3.4 + 0.42 * len(shown))
    sheet = page.sheet(title[0].upper() + title[1:], notes, footer, height)
    top = sheet.subplotpars.top * height + 0.5 - _KEY  # the sheet left 0.5 for a title
    _key(sheet, top / height)
    sheet.subplots_adjust(left=0.185, right=1 - labels.LABEL_ROOM / page.WIDTH, top=(top - 0.55) / height, wspace=0.3)
    if is_line:
        left, right = sheet.subplots(1, 2)
        points_panel(found, shown, looks, right)
    else:
        left = sheet.subplots()
    bars_panel(shown, left)
    return sheet


def bars_panel(costs: Mapping[str, Cost], axes: "Axes") -> None:
    """Draw a bar for each strategy, the least on top, made of its layers; none is drawn below zero."""
    ends = []
    for n, one in enumerate(costs.values()):
        at = 0.0
        for layer in LAYERS:
            size = max(0.0, one.layers[layer] or 0.0)
            axes.barh(
                n,
                size / KILO,
                left=at / KILO,
                height=0.62,
                color=COLOURS[layer],
                hatch=HATCHES[layer],
                edgecolor="white",
                linewidth=0,
            )
            at += size
        ends.append(at)
        axes.annotate(
            words.memory(one.slope) if one.slope is not None else findings.size(one),
            (at / KILO, n),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            size=12,
            weight="bold",
        )
    names = [f"{labels.name_of(name)}{'' if one.slope is not None else ' †'}" for name, one in costs.items()]
    axes.set_yticks(range(len(names)), names, size=page.TEXT)
    axes.set_ylim(max(len(names), 2) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.45 * max(ends) / KILO)
    axes.set_title("One more fetch takes", pad=10)
    axes.set_xlabel("memory per fetch in flight (kB)")


def points_panel(found: Sequence[Swarm], costs: Mapping[str, Cost], looks: dict[str, Look], axes: "Axes") -> None:
    """Draw what each trial added in all layers over how many it held, and the fitted lines; red trials hollow."""
    names: list[Label] = []
    for name in costs:
        own, look = [swarm for swarm in found if swarm.strategy == name], looks.get(name)
        colour = look.colour if look else page.PALE
        good, red = full_points(own), full_points(own, valid=False)
        for points, face in ((good, colour), (red, "white")):
            axes.plot(
                [number for number, _ in points],
                [size / GIGA for _, size in points],
                linestyle="none",
                marker=look.marker if look else "o",
                markerfacecolor=face,
                markeredgecolor=colour,
                markersize=8,
                zorder=3 if look else 1,
            )
        slope, end = costs[name].slope, max(good)
        if slope is not None:
            xs = [0, end[0]]
            ys = [(slope.intercept + slope.per_fetch * x) / GIGA for x in xs]
            axes.plot(xs, ys, color=colour, linewidth=2, linestyle=look.dashes if look else "-", zorder=2)
        if look:
            names.append(Label(end[0], end[1] / GIGA, labels.name_of(name), colour))
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(lambda number, _: units.count(round(number)))
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("What was read", pad=10)
    axes.set_xlabel("fetches held in flight")
    axes.set_ylabel("memory added in all layers (GB)")
    labels.end_labels(axes, names)


def _key(sheet: "Figure", top: float) -> None:
    """Write which colour is which layer, in a line above the panels."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=COLOURS[name], hatch=HATCHES[name], edgecolor="white", linewidth=0, label=name)
        for name in LAYERS
    ]
    page.key(sheet, handles, 0.03, top)


def _notes(found: Sequence[Swarm], costs: Mapping[str, Cost], subtitle: str, more: int) -> str:
    unknown = [labels.name_of(name) for name, one in costs.items() if one.full is None]
    single = any(one.slope is None for one in costs.values() if one.full is not None)
    notes = [
        subtitle,
        "Read once all are held; what was there before the order is no part of it.",
        "Slab and sockets are of both ends; server: the server processes' own memory and page tables.",
        "Slopes over five sizes or more, ± their 95 % interval." if any(one.slope for one in costs.values()) else "",
        "† one size: what was added, divided by how many were held." if single else "",
        "Hollow: red trials, not part of the fits." if full_points(found, valid=False) else "",
        f"Not every layer is known of {words.listed(unknown[:4])}." if unknown else "",
        f"{more} more are not shown." if more else "",
    ]
    return " ".join(note for note in notes if note)
