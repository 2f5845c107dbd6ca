"""Fetches in flight over time at the highest N that was held: the rise, the gate, and the fall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import spread
from inflight.bench.present import labels, marks, page, words
from inflight.bench.present.marks import Points
from inflight.bench.present.name_looks import Look
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import show
from inflight.bench.studies.memory.read import is_parked, is_timed, reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 2
FOREVER_S = 1e6
"""End of the plateau, beyond the edge of its axes."""


@dataclass(frozen=True, slots=True)
class Way:
    """The fetches in flight of one trial over time in seconds: until the gate held all, and after the release."""

    row: Row
    up: Points
    """Since the order."""
    down: Points
    """Since the release."""

    @property
    def reach_s(self) -> float:
        """Time from the order until the gate held all."""
        return float(self.row.measured.reach_ns) / 1e9

    @property
    def drain_s(self) -> float:
        """Time from the release to the end of the crawl, or until all tasks were parked."""
        return self.down[-1][0]


def draw(found: Sequence[Cell], looks: Mapping[str, Look], footer: str) -> "Figure | None":
    """Draw the memory cells of all settings; None if no trial has these times."""
    timed = [cell for cell in found if any(map(is_timed, cell.rows))]
    if not timed:
        return None
    number = max(cell.in_flight for cell in timed)
    settings = [s for s in c.settings(found) if any(cell.setting == s and cell.in_flight == number for cell in timed)]
    settings = settings[:MOST_PANELS]
    here = [cell for cell in found if cell.in_flight == number and cell.setting in settings]
    looks = page.looks_of_plot({cell.strategy for cell in here}, looks, _first_and_last(here))
    height = page.HEIGHT if len(settings) == 1 else page.HEIGHT + 1.9
    notes = _notes(here, looks, len(c.settings(found)) - len(settings))
    sheet = page.sheet(show.of_held(here), notes, footer, height)
    room = labels.legend_room(sheet, {cell.strategy for cell in here if cell.strategy in looks}, 2.85)
    marks.margins(sheet, left=1.2, right=room, top=0.25)  # for the key, and above for the note on the gate
    sheet.subplots_adjust(wspace=0.07, hspace=0.56)
    names = c.setting_names(settings)
    grid = sheet.subplots(len(settings), 2, squeeze=False, width_ratios=[3, 2])
    for (left, right), setting in zip(grid, settings, strict=True):
        _draw_setting([cell for cell in here if cell.setting == setting], looks, number, left, right)
        left.set_title(words.plain(names[setting], 80), pad=28)
    return sheet


def _first_and_last(found: Sequence[Cell]) -> list[str]:
    """Return the strategies that the title may name: the first and the last to hold all, in each setting."""
    names: list[str] = []
    for setting in c.settings(found):
        own = [cell for cell in found if cell.setting == setting]
        names += show.first_and_last({cell.strategy: time for cell in own if (time := reach(cell))})
    return names


def _draw_setting(found: Sequence[Cell], looks: Mapping[str, Look], number: int, left: "Axes", right: "Axes") -> None:
    """Draw the rise since the start to the left, and the fall since the gate opened to the right."""
    ways = {cell.strategy: own for cell in found if (own := ways_of(cell))}
    shown = [way for own in ways.values() for way in own]
    for axes, times in ((left, [way.reach_s for way in shown]), (right, [way.drain_s for way in shown])):
        axes.set_xlim(0, 1.08 * max(1e-3, *times))
        axes.locator_params(axis="x", nbins=6)
        axes.set_ylim(0, 1.06 * number)
    for strategy, own in ways.items():
        _draw_ways(own, looks.get(strategy), left, right)
    left.set_xlabel("time since the start (s)")
    right.set_xlabel("time since the gate opened (s)")
    left.set_ylabel("fetches in flight")
    left.yaxis.set_major_formatter(lambda n, _: units.count(round(n)))
    right.tick_params(labelleft=False, left=False)
    right.spines["left"].set_linestyle((0, (2, 3)))
    held = "held by the gate while memory is read (duration not to scale)"
    marks.small(left, held, (1, 1), xycoords="axes fraction", xytext=(0, 4))
    labels.legend(right, looks, sorted(ways, key=lambda name: (ways[name][0].reach_s, name)))


def _draw_ways(own: Sequence[Way], look: Look | None, left: "Axes", right: "Axes") -> None:
    """Draw the trials of one strategy, the first as a thick line, and marks at the medians over the rounds."""
    for n, way in enumerate(own):
        style = {"alpha": 0.55 if n else 1, "zorder": 3 if look and not n else 1}
        for axes, points in ((left, way.up), (right, way.down)):
            marks.line(axes, points, look, 0.9 if n or not look else 2.2, **style)
    if look:
        main = own[0].row
        reach_s, drain_s = spread([way.reach_s for way in own]).median, spread([way.drain_s for way in own]).median
        for axes, point in ((left, (reach_s, main.measured.held_in_flight)), (right, (drain_s, 0))):
            marks.dots(axes, [point], look, hollow=not main.valid, markersize=10, zorder=5, clip_on=False)


def ways_of(cell: Cell) -> list[Way]:
    """Return the timed trials, the one with the median time first; invalid ones only if there are no others."""
    rows = [row for row in cell.valid_rows if is_timed(row)] or [row for row in cell.invalid_rows if is_timed(row)]
    ordered = sorted(rows, key=lambda row: (row.measured.reach_ns, row.round))
    middle = (len(ordered) - 1) // 2
    return [_way(row) for row in (*ordered[middle : middle + 1], *ordered[:middle], *ordered[middle + 1 :])]


def _way(row: Row) -> Way:
    """Split a trial's timeline into the rise to the gate and the fall after the release."""
    measured = row.measured
    bin_s, counts = measured.timeline.bin_ns / 1e9, measured.timeline.in_flight
    reach_s = measured.reach_ns / 1e9
    points = [((n + 1) * bin_s, count) for n, count in enumerate(counts)]
    released_s = _released_s(row, bin_s, reach_s)
    before = [point for point in points if point[0] <= reach_s]
    after = [(at - released_s, count) for at, count in points if at > released_s]
    if is_parked(row):  # all but one were released; that one waited until memory was read again
        last = next((n for n, (_, count) in enumerate(after) if count <= 1), len(after) - 1)
        after = after[: last + 1]
    else:
        end_s = measured.drain_ns / 1e9
        after = [*(point for point in after if point[0] < end_s), (end_s, 0)]
    held = measured.held_in_flight
    return Way(row, ((0.0, 0), *before, (reach_s, held), (FOREVER_S, held)), ((-FOREVER_S, held), (0.0, held), *after))


def _released_s(row: Row, bin_s: float, reach_s: float) -> float:
    """Return the time of the release on the worker's clock: the first answer, since the gate holds all."""
    measured = row.measured
    completions = measured.timeline.completions
    found = (n * bin_s for n, count in enumerate(completions) if count and (n + 1) * bin_s >= reach_s)
    return next(found, max(reach_s, (measured.makespan_ns - measured.drain_ns) / 1e9))


def _notes(found: Sequence[Cell], looks: Mapping[str, Look], left_out: int) -> str:
    missing = {cell.strategy: cell.rows[0] for cell in found if not any(map(is_timed, cell.rows))}
    every = [ways_of(cell) for cell in found]
    return marks.notes(
        "Lines: fetches that the client has started and that are not yet answered.",
        "Upper marks: the server held all of them. Lower marks: the crawl had ended"
        + (", or all workers but one were parked" if any(is_parked(row) for cell in found for row in cell.rows) else "")
        + (" (medians over the rounds)." if any(len(ways) > 1 for ways in every) else "."),
        any(len(ways) > 1 for ways in every) and "Thin lines: other rounds.",
        any(not way.row.valid for ways in every for way in ways) and "Hollow marks: invalid trials.",
        *(f"{words.name(name)}: {_why(row)}." for name, row in list(missing.items())[:3]),
        len(missing) > 3 and f"{len(missing) - 3} more did not get there.",
        marks.about_grey({cell.strategy for cell in found} - set(missing), looks),
        left_out > 0 and f"{left_out} more {'setting is' if left_out == 1 else 'settings are'} not shown.",
    )


def _why(row: Row) -> str:
    return words.plain(f"{row.status}: {row.reason}" if row.reason else row.status, 90).rstrip(".")
