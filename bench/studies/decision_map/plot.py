"""The decision map, one panel per number in flight; each tile names the fastest strategy and its lead."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import labels, marks, page, words
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.decision_map import show
from inflight.bench.studies.decision_map.read import UNKNOWN, Map, Point, Tile, decide, is_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6
PANEL_HEIGHT = 5.4
LEAST_VALUES = 2
"""Least number of values of CPU work for a map."""
ALIKE = "#E8E8E8"
FAINT, STRONG = 0.3, 0.75
"""Opacity of a tile, from just ahead of the slowest to ``FULL`` times as fast."""
FULL = 3.0
_HATCH = "///"
_LETTERS = 56
"""Approximate number of letters in the width of a panel, of two side by side."""
_LEGEND_COLUMNS, _LEGEND_LINE = 3, 0.3
"""Entries of the legend side by side; inches per line of them."""
_THICK: dict[str, Any] = {"color": "black", "linewidth": 2.0}
"""The line at which the core is full with the cheapest strategy."""


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[tuple[str, "Figure | None"]]:
    """Draw the map of a run if its crawls differ in latency and in CPU work."""
    if is_map(rows):
        yield "map", draw(c.cells(rows, "crawl"), looks, footer)


def draw(
    found: Sequence[Cell], looks: Mapping[str, Look], footer: str, least_values: int = LEAST_VALUES
) -> "Figure | None":
    """Draw the map of the setting with the most cells; None with fewer values of CPU work than ``least_values``."""
    whole = decide(found)
    shown = whole.of(whole.settings()[0]) if whole.tiles else whole
    if len({tile.point.cpu_ns for tile in shown.tiles}) < max(1, least_values):
        return None
    caps = sorted({tile.point.in_flight for tile in shown.tiles})
    chosen = c.evenly(caps, MOST_PANELS)
    costs = {cap: costs_of([cell for cell in found if cell.strategy in looks], shown, cap) for cap in chosen}
    has_model, left_out = any(costs.values()), [cap for cap in caps if cap not in chosen]
    height = page.HEIGHT + (-(-len(chosen) // 2) - 1) * PANEL_HEIGHT
    sheet = page.sheet(show.title(shown), _notes(shown, left_out, has_model=has_model), footer, height)
    room = _legend(sheet, shown, looks, has_model=has_model)
    top = sheet.subplotpars.top - room / sheet.get_figheight()
    sheet.subplots_adjust(left=0.08, right=0.985, top=top, wspace=0.13, hspace=0.24)
    for n, (axes, cap) in enumerate(zip(marks.panels(sheet, len(chosen)), chosen, strict=True)):
        panel(shown, looks, cap, axes, costs[cap])
        axes.set_ylabel("" if n % 2 else axes.get_ylabel())
    return sheet


def panel(found: Map, looks: Mapping[str, Look], in_flight: int, axes: "Axes", costs_ns: Sequence[float] = ()) -> None:
    """Draw the tiles of one number in flight, and lines at which the core is full for pages that cost ``costs_ns``.

    The map should be of one setting (``Map.of``); tiles of several would cover each other.
    """
    tiles = [tile for tile in found.tiles if tile.point.in_flight == in_flight]
    columns = sorted({(tile.point.latency_ns, show.latency(tile.point)) for tile in tiles})
    lines = sorted({(tile.point.cpu_ns, _work(tile.point)) for tile in tiles})
    for tile in tiles:
        x = columns.index((tile.point.latency_ns, show.latency(tile.point)))
        y = lines.index((tile.point.cpu_ns, _work(tile.point)))
        _draw_tile(tile, x, y, looks, axes, len(columns))
    axes.set_xlim(-0.5, max(1, len(columns)) - 0.5)
    axes.set_ylim(-0.5, max(1, len(lines)) - 0.5)
    axes.set_xticks(range(len(columns)), [text for _, text in columns])
    axes.set_yticks(range(len(lines)), [text for _, text in lines])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_title(words.in_flight(in_flight), pad=8)
    axes.set_xlabel("added latency")
    axes.set_ylabel("CPU work per page")
    if in_flight > 1 and len(columns) > 1 and len(lines) > 1:
        _boundary(costs_ns, in_flight, [ns for ns, _ in columns], [ns for ns, _ in lines], axes)


def costs_of(found: Sequence[Cell], shown: Map, in_flight: int) -> list[float]:
    """Return the CPU time per page of each strategy without latency and CPU work, the least first."""
    own = [
        cell
        for cell in found
        if (cell.stack, cell.in_flight, cell.mean_latency_ns, cell.cpu_ns) == ("shared", in_flight, 0, 0)
        and (cell.setting.connection, cell.setting.site) == shown.settings()[0]
    ]
    return sorted(figure.estimate for cell in own if (figure := cell.valid_figure(c.cpu_per_page_ns)))


def _draw_tile(tile: Tile, x: int, y: int, looks: Mapping[str, Look], axes: "Axes", columns: int) -> None:
    from matplotlib.patches import Rectangle

    style: dict[str, Any] = {"facecolor": "white", "edgecolor": page.GREY, "hatch": None}
    if tile.is_decided:
        look = looks.get(tile.best[0])
        hatch = None if tile.verdict == "winner" else _HATCH
        colour = _pale(look.colour if look else page.PALE, _strength(tile))
        style = {"facecolor": colour, "edgecolor": "white", "hatch": hatch}
    elif tile.verdict != UNKNOWN:
        style = {"facecolor": ALIKE, "edgecolor": "white", "hatch": None}
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=1.5, zorder=1, **style))
    box = {"facecolor": style["facecolor"], "edgecolor": "none", "pad": 1.5}
    texts = _texts(tile, _LETTERS // columns)
    weights = ["bold" if tile.is_decided and n < len(texts) - 1 else "normal" for n in range(len(texts))]
    for n, (text, weight) in enumerate(zip(texts, weights, strict=True)):
        place = y + 0.22 * ((len(texts) - 1) / 2 - n)
        axes.text(x, place, text, ha="center", va="center", size=page.TEXT, weight=weight, zorder=4, bbox=box)


def _texts(tile: Tile, letters: int) -> list[str]:
    """Return the lines of a tile: the fastest, how many tie with it, and how much faster it is than the slowest."""
    if tile.verdict == UNKNOWN or tile.slowest is None or tile.runner_up is None:
        return ["?", "one round" if tile.why == "one round" else "not known"]
    gap = _ratio(tile.slowest.behind)
    if not tile.is_decided:
        return ["tie", gap]
    name = _broken(tile.best[0], letters)
    if tile.verdict == "winner":
        return [*name, gap]
    tied = f"+{len(tile.best) - 1} tied"
    return [*name, f"{tied}, {gap}"] if len(tied) + len(gap) + 2 <= letters else [*name, tied, gap]


def _broken(name: str, letters: int) -> list[str]:
    """Return a name in one line, or in two lines broken after an underscore if one is too short for it."""
    first, underscore, rest = words.plain(name, 2 * letters).rpartition("_")
    lines = [f"{first}{underscore}", rest] if first and len(name) > letters else [name]
    return [words.plain(line, letters) for line in lines]


def _boundary(
    costs_ns: Sequence[float], in_flight: int, latencies: Sequence[int], works: Sequence[int], axes: "Axes"
) -> None:
    """Draw where the core of the cheapest becomes full, at L = (N - 1) (c + w); to the left and above, CPU time limits.

    Nothing is drawn if two columns have the same mean latency: then places on the axis are ambiguous.
    """
    if any(one >= other for values in (latencies, works) for one, other in pairwise(values)):
        return
    first = -0.5 if works[0] else 0.0
    steps = [first + n / 40 for n in range(round(40 * (len(works) - 0.5 - first)) + 1)]
    for cost_ns in costs_ns[:1]:
        places = [_step((in_flight - 1) * (cost_ns + _value(step, works)), latencies) for step in steps]
        axes.plot(places, steps, zorder=3, **_THICK)


def _step(latency_ns: float, latencies: Sequence[int]) -> float:
    """Return the place of a latency on an axis of equal steps; NaN outside of the tiles.

    Places between two steps are logarithmic, or linear from 0; the outer halves of the first and the last tile continue
    the scale of their neighbours.
    """
    if latency_ns <= 0:
        return math.nan
    n = max(0, sum(latency_ns > one for one in latencies[:-1]) - 1)
    low, high = latencies[n], latencies[n + 1]
    found = n + (math.log(latency_ns / low) / math.log(high / low) if low else latency_ns / high)
    return found if -0.5 <= found <= len(latencies) - 0.5 else math.nan


def _value(step: float, values: Sequence[int]) -> float:
    """Return the value at a place of such an axis."""
    n = min(max(0, int(step)), len(values) - 2)
    low, high = values[n], values[n + 1]
    share = step - n
    return low * math.pow(high / low, share) if low else high * share


def _legend(sheet: "Figure", shown: Map, looks: Mapping[str, Look], *, has_model: bool) -> float:
    """Write the legend above the panels; return its height in inches."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    decided = [tile for tile in shown.tiles if tile.is_decided]
    winners = [name for name in looks if any(tile.best[0] == name for tile in decided)]
    entries: list[tuple[Any, str]] = [
        (Patch(facecolor=_pale(looks[name].colour, STRONG)), f"\N{ZERO WIDTH SPACE}{labels.name_of(name)}")
        for name in winners
    ]
    if any(tile.verdict != "winner" for tile in decided):
        entries.append((Patch(facecolor=page.GREY, edgecolor="white", hatch=_HATCH), "fastest, tied with others"))
    entries.append((Patch(facecolor=ALIKE, edgecolor="white"), "tie: no significant difference"))
    if any(tile.verdict == UNKNOWN for tile in shown.tiles):
        entries.append((Patch(facecolor="white", edgecolor=page.GREY), "not known"))
    if has_model:
        entries.append((Line2D([], [], **_THICK), "to the left, the core is full"))
    sheet.legend(
        [handle for handle, _ in entries],
        [text for _, text in entries],
        loc="upper left",
        bbox_to_anchor=(0.025, sheet.subplotpars.top + 0.35 / sheet.get_figheight()),
        ncols=_LEGEND_COLUMNS,
        frameon=False,
        fontsize=12,
        columnspacing=1.4,
    )
    return -(-len(entries) // _LEGEND_COLUMNS) * _LEGEND_LINE + 0.15


def _notes(shown: Map, left_out: Sequence[int], *, has_model: bool) -> str:
    noise = f"SD of a ratio {units.percent(shown.noise, 1)}" if shown.noise else "noise unknown"
    missing = sum(bool(tile.without) for tile in shown.tiles)
    return marks.notes(
        "Colour and name: the fastest strategy; hatched: tied with that many others (no significant difference).",
        "Number: throughput of the fastest over that of the slowest.",
        f"Winners are ahead by the t test (Benjamini-Hochberg, 5 %; {noise}) and by at least 2 %.",
        has_model
        and "Line: N = (L + c + w) / (c + w) with the cheapest strategy, for N in flight, latency L, CPU time per page "
        "c and CPU work w; to the left of it, the core is full.",
        missing and f"In {units.count(missing)} workloads a strategy has too few valid trials.",
        left_out and f"Not shown: {words.listed([units.count(cap) for cap in left_out])} in flight.",
    )


def _strength(tile: Tile) -> float:
    behind = tile.slowest.behind if tile.slowest else 0.0
    return FAINT + (STRONG - FAINT) * min(1.0, max(0.0, behind) / math.log(FULL))


def _pale(colour: str, strength: float) -> str:
    """Return a colour mixed with white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def _ratio(log: float) -> str:
    ratio = math.exp(log)
    return f"{ratio:.2f}x" if ratio < 2 else units.times(ratio)


def _work(point: Point) -> str:
    return units.latency(point.cpu) if point.cpu_ns else "none"
