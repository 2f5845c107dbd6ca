"""Plot of a self-test: several clients of one server, with throughput above and the median time below."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from inflight.bench import units
from inflight.bench.ab.clients import Latency, Spread, compare
from inflight.bench.ab.clients_show import title
from inflight.bench.present import words
from inflight.bench.report import provenance
from inflight.bench.rows.files import Row
from inflight.bench.show.looks import COLOURS, looks
from inflight.bench.show.pictures import Panel, Picture, draw_dots, name_rows, set_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LATENCIES = 4
"""Maximum number of latencies."""
MOST_REASONS = 3
"""Maximum number of reasons shown for missing figures."""
_BAND: dict[str, Any] = {"height": 0.7, "color": COLOURS[0], "alpha": 0.2, "zorder": 0.5, "linewidth": 0}
_MS = 1_000_000
_NOTES = (
    "Marks: medians over the rounds. Lines: their range. Blue bands: within the bound of the expected figure; a client "
    "without a band is not compared. Hollow: its core was full. Dashed: N / L, the maximum with N in flight at latency "
    "L."
)


def picture(rows: Sequence[Row], machine: dict[str, Any]) -> Picture | None:
    """Return two panels for each latency, with a mark and a range for each client; None if no client has a figure."""
    own = [row for row in rows if row.kind == "client"]
    compared = compare(own)
    if compared is None or not compared.names:
        return None
    latencies = compared.latencies[:MAX_LATENCIES]
    names = sorted({client.name for latency in latencies for client in latency.clients})
    panels = [
        Panel(where, partial(_draw_panel, figure=figure, names=names), 1.2 + 0.4 * len(names))
        for latency in latencies
        for where in [f"{units.latency(latency.latency)}, {words.in_flight(latency.in_flight)}"]
        for figure in (_throughput(latency), _added_time(latency))
    ]
    notes = " ".join(filter(None, [_NOTES, _about_missing(latencies)]))
    return Picture("clients", title(compared), notes, panels, footer=provenance.source(own, machine))


def _about_missing(found: Sequence[Latency]) -> str:
    """Say why clients have no figure, each reason once."""
    told: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for client in one.clients:
            if client.reason:
                told.setdefault((client.name, client.reason), []).append(words.at_latency(one.latency))
    reasons = [
        f"{words.name(name)}{'' if len(places) == len(found) else f' {words.listed(places)}'}: "
        f"{words.plain(reason, 120).rstrip('.')}"
        for (name, reason), places in told.items()
    ]
    return f"No figure: {'; '.join(reasons[:MOST_REASONS])}." if reasons else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of each client at one latency, in the unit of its axis."""

    label: str
    marks: dict[str, Spread]
    bands: dict[str, tuple[float, float]]
    """The expected figure and the bound of each client that is compared."""
    full: set[str]
    """The clients whose own core was full."""
    limit: float | None = None


def _throughput(one: Latency) -> Figure:
    marks = {client.name: client.per_s for client in one.clients if client.per_s is not None}
    bands = {
        client.name: (client.ideal_per_s, one.per_s.bound * client.ideal_per_s)
        for client in one.clients
        if client.ideal_per_s is not None and not client.full
    }
    return Figure("requests/s", marks, bands, _full(one), one.ideal_per_s)


def _added_time(one: Latency) -> Figure:
    marks = {
        client.name: Spread(own.median / _MS, own.low / _MS, own.high / _MS, own.rounds)
        for client in one.clients
        if (own := client.added_ns) is not None
    }
    bands = dict.fromkeys(_throughput(one).bands, (0.0, one.added.bound / _MS))
    return Figure(f"median time{' above latency' if one.mean_latency_ns else ''} (ms)", marks, bands, _full(one))


def _full(one: Latency) -> set[str]:
    return {client.name for client in one.clients if client.full}


def _draw_panel(axes: "Axes", figure: Figure, names: Sequence[str]) -> None:
    """Draw a mark with its range for each client, in front of its expected band."""
    ends: list[float] = []
    if figure.limit is not None:
        ends.append(figure.limit)
        axes.axvline(figure.limit, color="black", linestyle=(0, (6, 2)), linewidth=1.4, zorder=2)
    name_rows(axes, [words.name(name) for name in names])
    for place, (name, look) in enumerate(looks(names).items()):
        if (own := figure.marks.get(name)) is None:
            axes.annotate("no figure", (0.02, place), xycoords=("axes fraction", "data"), va="center")
            continue
        if name in figure.bands:
            middle, off = figure.bands[name]
            axes.barh(place, 2 * off, left=middle - off, **_BAND)
            ends += [middle - off, middle + off]
        ends += [own.low, own.high]
        axes.plot([own.low, own.high], [place, place], color=look.colour, linewidth=2.6, zorder=4)
        draw_dots(axes, [(own.median, place)], look, hollow=name in figure.full, markersize=10, zorder=5)
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = 0.15 * ((high - low) or abs(high) or 1)
    axes.set_xlim(low - room, high + room)
    set_ticks(axes.xaxis, lambda value: units.number_tick(float(f"{value:.6g}")), 3)
    axes.set_xlabel(figure.label)
