"""Plot of a self-test: what several clients saw of one server; throughput above, the median time below."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.core import units
from bench.core.figures import Spread
from bench.core.rows import Row
from bench.present import page, provenance, words
from bench.present.name_looks import Look
from bench.studies.clients.read import Client, Comparison, Latency, compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
"""So many latencies fit beside each other."""
_BAND = "#CFE3F1"
_MS = 1_000_000
_LEFT, _RIGHT, _BETWEEN, _ROWS_APART = 1.5, 0.45, 0.55, 1.15
"""Inches: at the edges, between the panels of a line, and between the two lines."""
_MARGIN = 0.15
"""So much wider than what is drawn an axis is, as a share."""

Measure = Literal["per_s", "added"]


def save_clients(rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``clients.png`` and ``clients.svg`` into the folder; nothing without a figure of any client.

    Raises OSError when a file cannot be written.
    """
    with page.settings():
        figure = draw(rows, machine)
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return page.save(figure, folder, "clients")


def draw(rows: Sequence[Row], machine: dict[str, Any]) -> "Figure | None":
    """Draw a column for each latency, a mark with its range for each client; None without a figure of any."""
    own = [row for row in rows if row.kind == "client"]
    found = compare(own)
    if found is None or not any(client.per_s for one in found.latencies for client in one.clients):
        return None
    shown = found.latencies[:MOST_PANELS]
    names = sorted({client.name for one in shown for client in one.clients})
    looks = page.looks(names)
    sheet = page.sheet(title(found), _NOTES, provenance.source(own, machine))
    for one, (above, below) in zip(shown, _axes(sheet, len(shown)), strict=True):
        _draw_panel(above, one, "per_s", names, looks)
        _draw_panel(below, one, "added", names, looks)
        above.set_title(f"{units.latency(one.latency)}, {words.in_flight(one.in_flight)}")
    return sheet


_NOTES = (
    "Marks: medians over the rounds; lines: their range; hollow: the client's core was full, so it is not compared; "
    "blue: within the stated bound of what must be; dashed: N / L, what N in flight complete at most at latency L."
)


def title(found: Comparison) -> str:
    """Return what was found, in a sentence."""
    judged = [one for latency in found.latencies for one in (latency.per_s, latency.added)]
    verdicts = {one.verdict for one in judged} - {"not compared"}
    who = sorted({words.plain(name, 20) for one in judged for name in one.who})
    names = sorted({words.plain(client.name, 20) for one in found.latencies for client in one.clients if client.per_s})
    if "all off" in verdicts:
        return f"{words.listed(names)} are off alike: the server or the machine is, not a client"
    if who:
        return f"Of {words.listed(names)}, {words.listed(who)} {'is' if len(who) == 1 else 'are'} off"
    if verdicts == {"agree"}:
        return f"{words.listed(names)} agree about the server, within the stated bounds"
    return f"Whether {words.listed(names)} see of the server what must be cannot be told from these rounds"


def _axes(sheet: "Figure", columns: int) -> list[tuple["Axes", "Axes"]]:
    adjust = sheet.subplotpars
    bottom, top = adjust.bottom * page.HEIGHT, adjust.top * page.HEIGHT
    width = (page.WIDTH - _LEFT - _RIGHT - (columns - 1) * _BETWEEN) / columns
    height = (top - bottom - _ROWS_APART) / 2

    def at(column: int, base: float) -> "Axes":
        left = _LEFT + column * (width + _BETWEEN)
        return sheet.add_axes((left / page.WIDTH, base / page.HEIGHT, width / page.WIDTH, height / page.HEIGHT))

    return [(at(column, top - height), at(column, bottom)) for column in range(columns)]


def _draw_panel(axes: "Axes", one: Latency, measure: Measure, names: Sequence[str], looks: dict[str, Look]) -> None:
    """Draw one figure of each client at one latency: pages per second, or milliseconds above the added latency."""
    drawn = {client.name: (client, own) for client in one.clients if (own := _figure(client, measure)) is not None}
    ends = [end for _, own in drawn.values() for end in (own.low, own.high)]
    if measure == "per_s" and one.ideal_per_s is not None:
        ends.append(one.ideal_per_s)
        axes.axvline(one.ideal_per_s, color="black", linestyle=(0, (6, 2)), linewidth=1.4, zorder=2)
    for place, name in enumerate(names):
        if name in drawn:
            ends += _draw_band(axes, place, drawn[name][0], one, measure)
            _draw_mark(axes, place, *drawn[name], looks[name])
        else:
            axes.annotate("no figure", (0.02, place), xycoords=("axes fraction", "data"), size=page.SMALL, va="center")
    if ends:
        low, high = min(ends), max(ends)
        room = _MARGIN * ((high - low) or abs(high) or 1)
        axes.set_xlim(low - room, high + room)
    else:
        axes.set_xticks([])
    axes.set_ylim(len(names) - 0.4, -0.6)
    first = axes.get_position().x0 * page.WIDTH < _LEFT + 0.01
    axes.set_yticks(range(len(names)), [words.plain(name, 14) if first else "" for name in names], size=12)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    if ends:
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(lambda value, _: units.number_tick(float(f"{value:.6g}")))
    above = " above latency" if one.mean_latency_ns else ""
    axes.set_xlabel("requests/s" if measure == "per_s" else f"median time{above} (ms)")


def _figure(client: Client, measure: Measure) -> Spread | None:
    """Return what is drawn of a client, in the unit of the axis."""
    if measure == "per_s":
        return client.per_s
    own = client.added_ns
    return None if own is None else Spread(own.median / _MS, own.low / _MS, own.high / _MS, own.rounds)


def _draw_band(axes: "Axes", place: int, client: Client, one: Latency, measure: Measure) -> tuple[float, ...]:
    """Draw what is within the bound of what a client must see; return its ends, none where it is not compared."""
    if client.ideal_per_s is None or client.full:
        return ()
    middle = client.ideal_per_s if measure == "per_s" else 0.0
    off = one.per_s.bound * middle if measure == "per_s" else one.added.bound / _MS
    axes.barh(place, 2 * off, left=middle - off, height=0.7, color=_BAND, zorder=0.5, linewidth=0)
    return middle - off, middle + off


def _draw_mark(axes: "Axes", place: int, client: Client, own: Spread, look: Look) -> None:
    axes.plot([own.low, own.high], [place, place], color=look.colour, linewidth=2.6, solid_capstyle="butt", zorder=4)
    axes.plot(
        own.median, place, marker=look.marker, color=look.colour, markersize=11, markeredgewidth=1.8,
        markerfacecolor="white" if client.full else look.colour, zorder=5,
    )  # fmt: skip
