"""Plot of a self-test: several clients of one server, with throughput above and the median time below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench import units
from inflight.bench.ab.clients import Latency, Spread, compare
from inflight.bench.ab.clients_show import title
from inflight.bench.present import labels, marks, page
from inflight.bench.present.name_looks import COLOURS, Look
from inflight.bench.rows.files import Row
from inflight.bench.show import folder as provenance
from inflight.bench.show import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
"""Maximum number of latencies side by side."""
MOST_REASONS = 3
"""Maximum number of reasons shown for missing figures."""
_BAND: dict[str, Any] = {"height": 0.7, "color": COLOURS[0], "alpha": 0.2, "zorder": 0.5, "linewidth": 0}
_MS = 1_000_000
_NOTES = (
    "Marks: medians over the rounds. Lines: their range. Blue bands: within the bound of the expected figure; a client "
    "without a band is not compared. Hollow: its core was full. Dashed: N / L, the maximum with N in flight at latency "
    "L."
)


def save_clients(rows: Sequence[Row], machine: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``clients.png`` and ``clients.svg`` into the folder; nothing if no client has a figure.

    Raises OSError when a file cannot be written.
    """
    with page.settings():
        figure = draw(rows, machine)
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        return page.save(figure, folder, "clients")


def draw(rows: Sequence[Row], machine: dict[str, Any]) -> "Figure | None":
    """Draw a column for each latency, with a mark and a range for each client; None if no client has a figure."""
    own = [row for row in rows if row.kind == "client"]
    found = compare(own)
    if found is None or not found.names:
        return None
    shown = found.latencies[:MOST_PANELS]
    names = sorted({client.name for one in shown for client in one.clients})
    notes = marks.notes(_NOTES, _about_missing(found.latencies[:MOST_PANELS]))
    sheet = page.sheet(title(found), notes, provenance.source(own, machine))
    marks.margins(sheet, max(1.5, 0.3 + labels.inches(sheet, map(words.name, names))), 0.45)
    above, below = sheet.subplots(2, len(shown), squeeze=False, gridspec_kw={"hspace": 0.55, "wspace": 0.25})
    for one, upper, lower in zip(shown, above, below, strict=True):
        upper.set_title(f"{units.latency(one.latency)}, {words.in_flight(one.in_flight)}")
        for axes, panel in ((upper, _throughput(one)), (lower, _added_time(one))):
            _draw_panel(axes, panel, page.looks(names), first=one is shown[0])
    return sheet


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
class Panel:
    """One figure of each client at one latency, in the unit of its axis."""

    label: str
    marks: dict[str, Spread]
    bands: dict[str, tuple[float, float]]
    """The expected figure and the bound of each client that is compared."""
    full: set[str]
    """The clients whose own core was full."""
    limit: float | None = None


def _throughput(one: Latency) -> Panel:
    marks = {client.name: client.per_s for client in one.clients if client.per_s is not None}
    bands = {
        client.name: (client.ideal_per_s, one.per_s.bound * client.ideal_per_s)
        for client in one.clients
        if client.ideal_per_s is not None and not client.full
    }
    return Panel("requests/s", marks, bands, _full(one), one.ideal_per_s)


def _added_time(one: Latency) -> Panel:
    marks = {
        client.name: Spread(own.median / _MS, own.low / _MS, own.high / _MS, own.rounds)
        for client in one.clients
        if (own := client.added_ns) is not None
    }
    bands = dict.fromkeys(_throughput(one).bands, (0.0, one.added.bound / _MS))
    return Panel(f"median time{' above latency' if one.mean_latency_ns else ''} (ms)", marks, bands, _full(one))


def _full(one: Latency) -> set[str]:
    return {client.name for client in one.clients if client.full}


def _draw_panel(axes: "Axes", panel: Panel, looks: Mapping[str, Look], *, first: bool) -> None:
    """Draw a mark with its range for each client, in front of its expected band."""
    ends: list[float] = []
    if panel.limit is not None:
        ends.append(panel.limit)
        axes.axvline(panel.limit, color="black", linestyle=(0, (6, 2)), linewidth=1.4, zorder=2)
    for place, (name, look) in enumerate(looks.items()):
        if (own := panel.marks.get(name)) is None:
            axes.annotate("no figure", (0.02, place), xycoords=("axes fraction", "data"), size=page.SMALL, va="center")
            continue
        if name in panel.bands:
            middle, off = panel.bands[name]
            axes.barh(place, 2 * off, left=middle - off, **_BAND)
            ends += [middle - off, middle + off]
        ends += [own.low, own.high]
        axes.plot([own.low, own.high], [place, place], color=look.colour, linewidth=2.6, zorder=4)
        marks.dots(axes, [(own.median, place)], look, hollow=name in panel.full, markersize=11, zorder=5)
    if ends:
        low, high = min(ends), max(ends)
        room = 0.15 * ((high - low) or abs(high) or 1)
        axes.set_xlim(low - room, high + room)
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(lambda value, _: units.number_tick(float(f"{value:.6g}")))
    else:
        axes.set_xticks([])
    axes.set_ylim(len(looks) - 0.4, -0.6)
    axes.set_yticks(range(len(looks)), [words.name(name) if first else "" for name in looks], size=12)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(panel.label)
