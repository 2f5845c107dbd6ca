"""The plots of a run, each drawn onto one Axes of the caller's choice. Nothing else is changed.

``plots`` makes whole sheets with a finding as their title. Here the same panels have the workload as their title. If a
run has several settings (use of connections, site, CPU work), the one with the most cells is drawn and named.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell
from inflight.bench.present import labels, marks, page, words
from inflight.bench.report import plots
from inflight.bench.report.tidy import NotInRunError
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import plot as plot_memory
from inflight.bench.studies.memory.read import IN_FLIGHT, Subject, by_setting
from inflight.bench.studies.throughput import plot as plot_throughput
from inflight.bench.studies.throughput import plot_cpu, plot_times
from inflight.bench.studies.throughput.read import usual_cap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

SIZE = 10.0, 6.0
"""Size of a new figure in inches."""


@contextmanager
def drawing(axes: "Axes | None") -> Iterator["Axes"]:
    """Yield the Axes to draw on, by default those of a new figure, with the settings of our plots in force."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    with page.settings():
        chosen = Figure(figsize=SIZE, layout="constrained").subplots() if axes is None else axes
        yield chosen
        for text in chosen.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(False)  # ticks of the caller's own Axes were made before our settings were in force


def figure_of(axes: "Axes") -> "Figure":
    """Return the top-level figure of the Axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def throughput(rows: Sequence[Row], latency: str | None, axes: "Axes") -> None:
    """Draw throughput over the number in flight at one added latency, by default the longest."""
    found, where = _settled([cell for cell in c.cells(rows, "crawl") if cell.figure(c.pages_per_s)], "throughput")
    chosen = _known(latency, c.latencies(found), "added latency") or c.latencies(found)[-1]
    here = [cell for cell in found if cell.latency == chosen]
    plot_throughput.panel(here, plots.looks_of(rows), axes, plot_throughput.ceiling_of(found))
    axes.set_ylabel("verified pages per second (log scale)")
    axes.set_title(_titled(f"Throughput {words.at_latency(chosen)}", where))


def cpu(rows: Sequence[Row], latency: str | None, in_flight: int | None, axes: "Axes") -> None:
    """Draw CPU time per page: by default at the shortest latency, with about 100 in flight."""
    found, where = _settled([cell for cell in c.cells(rows, "crawl") if cell.figure(c.cpu_per_page_ns)], "CPU times")
    latency = _known(latency, c.latencies(found), "added latency") or c.latencies(found)[0]
    caps = c.caps(found, latency)
    in_flight = _known(in_flight, caps, "number in flight") or usual_cap(caps)
    here = [c.at(found, name, latency, in_flight) for name in c.strategies_of(found)]
    pad = plot_cpu.panel(plot_cpu.bars_of([cell for cell in here if cell])[: page.MOST_BARS], axes)
    axes.set_title(_titled(f"CPU time {_workload(latency, in_flight)}", where), pad=pad)


def times(rows: Sequence[Row], kind: plot_times.Kind, latency: str | None, in_flight: int | None, axes: "Axes") -> None:
    """Draw the share of fetches that take longer; by default at the longest latency with the most in flight."""
    _known(kind, ("service", "response"), "kind of time")
    timed = [cell for cell in c.cells(rows, "crawl") if plot_times.histogram(cell, kind)]
    found, where = _settled(timed, "valid trial with times")
    _known(latency, c.latencies(found), "added latency")
    found = [cell for cell in found if latency in (None, cell.latency)]
    _known(in_flight, sorted({cell.in_flight for cell in found}), "number in flight")
    here = plot_times.choose([cell for cell in found if in_flight in (None, cell.in_flight)])
    looks = plots.looks_of(rows)
    plot_times.panel(here, kind, looks, axes)
    axes.set_ylabel("share of fetches that take longer (log scale)")
    title = f"{kind.capitalize()} time {_workload(here[0].latency, here[0].in_flight)}"
    axes.set_title(_titled(title, where))
    labels.legend(axes, looks, [cell.strategy for cell in here], plot_times.about_marks(here, kind))


def memory(rows: Sequence[Row], axes: "Axes") -> None:
    """Draw the memory per additional task, layer by layer."""
    own, where = _held(rows)
    fitted = [subject for subject in own if subject.fitted][: page.MOST_BARS]
    if not fitted:
        raise NotInRunError(
            "no memory slope in this run: a slope needs valid trials at five different numbers in flight"
        )
    axes.set_title(_titled("Memory per task", where), pad=_layers(fitted, axes))


def ladder(rows: Sequence[Row], axes: "Axes") -> None:
    """Draw memory added over the number of fetches held in flight: all layers thick, user memory thin."""
    own, where = _held(rows)
    held = [subject for subject in own if subject.group == IN_FLIGHT]
    if not any(subject.added(subject.rows) for subject in held):
        raise NotInRunError("no memory trial of a strategy in this run has every layer")
    plot_memory.panel_ladder(held, plots.looks_of(rows), axes)
    axes.set_title(_titled("Memory of fetches in flight", where), pad=24)
    axes.set_xlabel("fetches in flight (log scale)")


def decision_map(rows: Sequence[Row], in_flight: int, axes: "Axes") -> None:
    """Draw the fastest model at each latency and CPU work, at one number in flight."""
    from inflight.bench.studies.decision_map import plot as plot_map
    from inflight.bench.studies.decision_map import read as maps

    found = c.cells(rows, "crawl")
    whole = maps.decide(found)
    if not whole.tiles:
        raise NotInRunError("no crawl of a strategy that shares the stack in this run")
    connection, site = whole.settings()[0]
    shown = whole.of((connection, site))
    _known(in_flight, sorted({tile.point.in_flight for tile in shown.tiles}), "number in flight")
    plot_map.panel(shown, plots.looks_of(rows), in_flight, axes, plot_map.costs_of(found, shown, in_flight))
    where = f"connection {connection}" if len(whole.settings()) > 1 else ""
    axes.set_title(_titled(f"Fastest model, {words.in_flight(in_flight)}", where))


def _settled(found: Sequence[Cell], what: str) -> tuple[list[Cell], str]:
    """Return the cells of the setting that has most, and its name if there are others. Raises NotInRunError."""
    settings = c.settings(found)
    if not settings:
        raise NotInRunError(f"no {what} in this run")
    where = words.plain(c.setting_names(settings)[settings[0]], 80) if len(settings) > 1 else ""
    return [cell for cell in found if cell.setting == settings[0]], where


def _held(rows: Sequence[Row]) -> tuple[list[Subject], str]:
    """Return the subjects of memory trials in the first setting, and its name if there are others."""
    found, where = c.cells(rows, "memory"), ""
    if found or not any(row.kind == "idle" for row in rows):
        _, where = _settled(found, "memory trial")
    return by_setting(rows)[0][1], where


def _layers(found: Sequence[Subject], axes: "Axes") -> float:
    """Draw stacked bars with the key above; return the padding of the title in points."""
    places, heads = plot_memory.place(found)
    plot_memory.panel_layers(places, axes, 1.5 * max(map(plot_memory.end_of, found)))
    axes.set_ylim(max(places) + 0.75, -0.75)
    plot_memory.name_places(places, heads, axes)
    return marks.key_above(axes, plot_memory.FILLS)


def _known(wanted: T | None, known: Sequence[T], what: str) -> T | None:
    """Return the wanted value. Raises NotInRunError for a value, other than None, that is not known."""
    if wanted is None or wanted in known:
        return wanted
    raise NotInRunError(f"no {what} {wanted!r} in this run: it has {words.listed([str(value) for value in known])}")


def _workload(latency: str, in_flight: int) -> str:
    return f"{words.at_latency(latency)}, {words.in_flight(in_flight)}"


def _titled(title: str, where: str) -> str:
    return f"{title} ({where})" if where else title
