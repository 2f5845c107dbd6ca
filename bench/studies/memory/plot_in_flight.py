"""Plot 8: in flight over time at the highest N that was held: the way there, what the gate holds, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.core import cells as c
from bench.core import units
from bench.core.cells import Cell
from bench.core.figures import Spread, spread
from bench.core.rows import Row
from bench.present import labels, page, words
from bench.present.name_looks import Look
from bench.studies.memory import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 2
FOREVER_S = 1e6
"""The plateau goes on beyond the edge of its axes."""
KEY_ROOM, GATE_ROOM = 2.85, 0.25
"""Inches to the right of the axes for the key, and above them for what the gate does."""


@dataclass(frozen=True, slots=True)
class Way:
    """One trial: when how many were in flight, in seconds; up to the gate's word, and from the release on."""

    row: Row
    up: tuple[tuple[float, int], ...]
    """Since the order."""
    down: tuple[tuple[float, int], ...]
    """Since the release."""

    @property
    def reach_s(self) -> float:
        """From the order until the gate held all."""
        return float(self.row.measured["reach_ns"]) / 1e9

    @property
    def drain_s(self) -> float:
        """From the release until the crawl had ended; in a trial that parked its tasks, until they were parked."""
        return self.down[-1][0]


def draw(found: Sequence[Cell], looks: dict[str, Look], footer: str) -> "Figure | None":
    """Draw the memory cells, of all settings; None when no trial tells when it held how many."""
    timed = [cell for cell in found if any(map(_is_timed, cell.rows))]
    if not timed:
        return None
    number = max(cell.in_flight for cell in timed)
    settings = [s for s in c.settings(found) if any(cell.setting == s and cell.in_flight == number for cell in timed)]
    settings = settings[:MOST_PANELS]
    here = [cell for cell in found if cell.in_flight == number and cell.setting in settings]
    reaches = reaches_of(here)
    planned = len({cell.strategy for cell in here})
    height = page.HEIGHT if len(settings) == 1 else page.HEIGHT + 1.9
    notes = _notes(here, looks, len(c.settings(found)) - len(settings))
    sheet = page.sheet(findings.of_in_flight(number, reaches, planned), notes, footer, height)
    sheet.subplots_adjust(
        left=1.2 / page.WIDTH,
        right=1 - KEY_ROOM / page.WIDTH,
        top=sheet.subplotpars.top - GATE_ROOM / height,
        wspace=0.07,
        hspace=0.56,
    )
    names = words.settings(settings)
    grid = sheet.subplots(len(settings), 2, squeeze=False, width_ratios=[3, 2])
    for (left, right), setting in zip(grid, settings, strict=True):
        panels([cell for cell in here if cell.setting == setting], looks, number, left, right)
        left.set_title(names[setting], pad=28)
    return sheet


def reaches_of(found: Sequence[Cell]) -> dict[str, dict[str, Spread]]:
    """Return for each setting, by its name, how long each strategy took until it held all, in nanoseconds."""
    reaches: dict[str, dict[str, Spread]] = {}
    for setting, name in words.settings(c.settings(found)).items():
        own = [cell for cell in found if cell.setting == setting]
        times = {cell.strategy: c.spread_of(filter(_is_timed, cell.valid_rows), _reach_ns) for cell in own}
        reaches[name] = {strategy: found for strategy, found in sorted(times.items()) if found}
    return reaches


def panels(found: Sequence[Cell], looks: dict[str, Look], number: int, left: "Axes", right: "Axes") -> None:
    """Draw one setting: to the left the way up since the order, to the right the way down since the release."""
    ways = {cell.strategy: ways_of(cell) for cell in found}
    shown = [way for own in ways.values() for way in own]
    for axes, times in ((left, [way.reach_s for way in shown]), (right, [way.drain_s for way in shown])):
        _scale(axes, times, number)
    for strategy, own in ways.items():
        for n, way in enumerate(own):
            _draw_way(way, looks.get(strategy), left, right, is_main=n == 0)
        if own and (look := looks.get(strategy)):
            _draw_marks(own, look, left, right)
    left.set_xlabel("since the order (s)")
    right.set_xlabel("since the release (s)")
    left.set_ylabel("fetches in flight")
    left.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    right.tick_params(labelleft=False, left=False)
    right.spines["left"].set_linestyle((0, (2, 3)))
    left.annotate(
        "held by the gate while memory is read (its length means nothing, and is left out)",
        (1, 1),
        xycoords="axes fraction",
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        size=page.SMALL,
        color=page.GREY,
    )
    labels.legend(right, looks, sorted((s for s in ways if ways[s]), key=lambda s: (ways[s][0].reach_s, s)))


def _draw_way(way: Way, look: Look | None, left: "Axes", right: "Axes", *, is_main: bool) -> None:
    colour = look.colour if look else page.PALE
    dashes = look.dashes if look else "-"
    width = (2.2 if is_main else 0.9) if look else 0.9
    order = 3 if look and is_main else 1
    for axes, points in ((left, way.up), (right, way.down)):
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=colour,
            linestyle=dashes,
            linewidth=width,
            alpha=1 if is_main else 0.55,
            zorder=order,
        )


def _draw_marks(own: Sequence[Way], look: Look, left: "Axes", right: "Axes") -> None:
    """Draw the medians over the rounds: when all were there, and when the crawl had ended."""
    main = own[0].row
    reach_s, drain_s = (spread([time(way) for way in own]).median for time in (_reach_s, _drain_s))
    for axes, x, y in ((left, reach_s, main.measured["held_in_flight"]), (right, drain_s, 0)):
        axes.plot(
            x,
            y,
            marker=look.marker,
            markersize=10,
            color=look.colour,
            markerfacecolor=look.colour if main.valid else "white",
            linestyle="none",
            zorder=5,
            clip_on=False,
        )


def _reach_s(way: Way) -> float:
    return way.reach_s


def _drain_s(way: Way) -> float:
    return way.drain_s


def _scale(axes: "Axes", times: Sequence[float], number: int) -> None:
    axes.set_xlim(0, 1.08 * max(1e-3, *times))
    axes.locator_params(axis="x", nbins=6)
    axes.set_ylim(0, 1.06 * number)


def ways_of(cell: Cell) -> list[Way]:
    """Return the timed trials: the one with the median time to reach first; red ones only when there are no others."""
    rows = [row for row in cell.valid_rows if _is_timed(row)] or [row for row in cell.red_rows if _is_timed(row)]
    ordered = sorted(rows, key=lambda row: (row.measured["reach_ns"], row.round))
    middle = (len(ordered) - 1) // 2
    return [_way(row) for row in (*ordered[middle : middle + 1], *ordered[:middle], *ordered[middle + 1 :])]


def _way(row: Row) -> Way:
    """Cut a trial's timeline in two: where the gate had all, and where it let them go."""
    measured = row.measured
    bin_s, counts = measured["timeline"]["bin_ns"] / 1e9, measured["timeline"]["in_flight"]
    reach_s = measured["reach_ns"] / 1e9
    points = [((n + 1) * bin_s, count) for n, count in enumerate(counts)]
    released_s = _released_s(measured, bin_s, reach_s)
    before = [point for point in points if point[0] <= reach_s]
    after = [(at - released_s, count) for at, count in points if at > released_s]
    if "parked_uss_bytes" in measured:  # all but one were let go; that one waited until memory was read once more
        last = next((n for n, (_, count) in enumerate(after) if count <= 1), len(after) - 1)
        after = after[: last + 1]
    else:
        end_s = measured["drain_ns"] / 1e9
        after = [*(point for point in after if point[0] < end_s), (end_s, 0)]
    held = measured["held_in_flight"]
    return Way(row, ((0.0, 0), *before, (reach_s, held), (FOREVER_S, held)), ((-FOREVER_S, held), (0.0, held), *after))


def _released_s(measured: dict[str, Any], bin_s: float, reach_s: float) -> float:
    """Return when the gate opened, on the worker's clock: it holds every answer, so when the first one came."""
    completions = measured["timeline"]["completions"]
    found = (n * bin_s for n, count in enumerate(completions) if count and (n + 1) * bin_s >= reach_s)
    return next(found, max(reach_s, (measured["makespan_ns"] - measured["drain_ns"]) / 1e9))


def _reach_ns(row: Row) -> float | None:
    found: float | None = row.measured.reach_ns
    return found


def _is_timed(row: Row) -> bool:
    return row.status == "ok" and {"reach_ns", "drain_ns", "timeline", "held_in_flight"} <= row.measured.keys()


def _notes(found: Sequence[Cell], looks: dict[str, Look], left_out: int) -> str:
    missing = {cell.strategy: cell.rows[0] for cell in found if not any(map(_is_timed, cell.rows))}
    grey = {cell.strategy for cell in found} - set(looks) - set(missing)
    return " ".join(
        note
        for note in (
            "As the worker counts them: started and not yet answered.",
            "Marks, medians over the rounds: when the server's gate had them all, and when the crawl had ended"
            + (" (or all but one were parked)." if any(_is_parked(cell) for cell in found) else "."),
            "Thin: other rounds." if any(len(ways_of(cell)) > 1 for cell in found) else "",
            "Hollow marks: red trials." if any(not w.row.valid for cell in found for w in ways_of(cell)) else "",
            *(f"{words.plain(name, 18)}: {_why(row)}." for name, row in list(missing.items())[:3]),
            f"{len(missing) - 3} more did not get there." if len(missing) > 3 else "",
            f"{len(grey)} more strategies are grey, without a name." if grey else "",
            f"{left_out} more {'setting is' if left_out == 1 else 'settings are'} not shown." if left_out > 0 else "",
        )
        if note
    )


def _is_parked(cell: Cell) -> bool:
    return any("parked_uss_bytes" in row.measured for row in cell.rows)


def _why(row: Row) -> str:
    return words.plain(f"{row.status}: {row.reason}" if row.reason else row.status, 90).rstrip(".")
