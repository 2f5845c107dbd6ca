"""Plot 4: user memory per fetch in flight: the slopes, and the points that they were fitted to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.core import cells as c
from bench.core import units
from bench.core.cells import Cell
from bench.core.figures import NoSlope, Slope
from bench.present import labels, page, words
from bench.present.labels import Label
from bench.present.name_looks import Look
from bench.studies.memory import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEGA, KILO = 1e6, 1e3


def draw(found: Sequence[Cell], looks: dict[str, Look], subtitle: str, footer: str) -> "Figure | None":
    """Draw the memory cells of one setting; None when nothing was held."""
    if not any(c.memory_points(row for cell in found for row in cell.rows)):
        return None
    stacks = c.strategies([row for cell in found for row in cell.rows])
    slopes = {name: (stack, c.memory_of(found, name)) for name, stack in stacks.items()}
    bars = sorted(
        ((name, slope) for name, (_, slope) in slopes.items() if isinstance(slope, Slope)),
        key=lambda bar: bar[1].per_fetch,
    )
    notes = [
        subtitle,
        "The server holds every response while memory (USS) is read at rest; kernel memory is not included.",
        "Whiskers: 95 % interval of the slope.",
        "* with an HTTP stack of its own." if any(stack != "shared" for stack in stacks.values()) else "",
        "Hatched: a bent line, reported as a range." if any(not slope.straight for _, slope in bars) else "",
        "Hollow: red trials, not part of the fits." if any(cell.red_rows for cell in found) else "",
        *_without(slopes),
        f"{len(bars) - page.MOST_BARS} more slopes are not shown." if len(bars) > page.MOST_BARS else "",
    ]
    bars = bars[: page.MOST_BARS]
    sheet = page.sheet(findings.of_user_memory(slopes), " ".join(notes), footer, max(page.HEIGHT, 3 + 0.42 * len(bars)))
    sheet.subplots_adjust(left=0.17, right=1 - labels.LABEL_ROOM / page.WIDTH, wspace=0.32)
    if bars:
        left, right = sheet.subplots(1, 2)
        slopes_panel(bars, stacks, looks, left)
    else:
        right = sheet.subplots()
    points_panel(found, {name: slope for name, (_, slope) in slopes.items()}, looks, right)
    return sheet


def slopes_panel(
    bars: Sequence[tuple[str, Slope]], stacks: dict[str, str], looks: dict[str, Look], axes: "Axes"
) -> None:
    """Draw each slope as a bar with its interval, the least on top; of a bent line, only the range."""
    for n, (name, slope) in enumerate(bars):
        low, high = slope.low / KILO, slope.high / KILO
        colour = looks[name].colour if name in looks else page.GREY
        if slope.straight:
            middle = slope.per_fetch / KILO
            axes.barh(n, middle, color=colour, height=0.62)
            axes.errorbar(middle, n, xerr=[[middle - low], [high - middle]], color="black", capsize=5, linewidth=1.4)
        else:
            axes.barh(n, high - low, left=low, facecolor="white", edgecolor=colour, hatch="///", height=0.62)
        axes.annotate(
            words.memory(slope),
            (max(high, 0), n),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            size=12,
            weight="bold",
        )
    names = [labels.name_of(name) + ("" if stacks[name] == "shared" else " *") for name, _ in bars]
    axes.set_yticks(range(len(bars)), names, size=page.TEXT)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(min(0, *(s.low / KILO for _, s in bars)), 1.55 * max(0.01, *(s.high / KILO for _, s in bars)))
    axes.set_title("Per fetch in flight: slope", pad=10)
    axes.set_xlabel("user memory per fetch in flight (kB)")


def points_panel(
    found: Sequence[Cell], slopes: dict[str, Slope | NoSlope], looks: dict[str, Look], axes: "Axes"
) -> None:
    """Draw every trial's memory over the number held, and the fitted lines; red trials hollow."""
    names: list[Label] = []
    for name, slope in slopes.items():
        own = [cell for cell in found if cell.strategy == name]
        look = looks.get(name)
        colour = look.colour if look else page.PALE
        marker = look.marker if look else "o"
        good = c.memory_points(row for cell in own for row in cell.valid_rows)
        red = c.memory_points(row for cell in own for row in cell.red_rows)
        for points, face in ((good, colour), (red, "white")):
            axes.plot(
                [n for n, _ in points],
                [size / MEGA for _, size in points],
                linestyle="none",
                marker=marker,
                markerfacecolor=face,
                markeredgecolor=colour,
                markersize=8,
                zorder=3 if look else 1,
            )
        if not (points := good or red):
            continue
        end = max(points)
        if isinstance(slope, Slope):
            ends = [min(good)[0], max(good)[0]]
            line = [(slope.intercept + slope.per_fetch * n) / MEGA for n in ends]
            axes.plot(
                ends, line, color=colour, linewidth=2, linestyle=look.dashes if look else "-", zorder=2 if look else 1
            )
        if look:
            names.append(Label(end[0], end[1] / MEGA, labels.name_of(name, red=not good), colour))
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    axes.locator_params(axis="x", nbins=6)
    axes.set_title("What was read: process memory", pad=10)
    axes.set_xlabel("fetches held in flight")
    axes.set_ylabel("user memory of the process (USS, MB)")
    labels.end_labels(axes, names)


def _without(slopes: dict[str, tuple[str, Slope | NoSlope]]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, (_, slope) in slopes.items():
        if isinstance(slope, NoSlope):
            reasons.setdefault(slope.reason, []).append(labels.name_of(name))
    return [
        f"No slope for {words.listed(names) if len(names) <= 4 else f'{len(names)} strategies'}: {reason}."
        for reason, names in reasons.items()
    ]
