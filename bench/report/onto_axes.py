"""The plots of a run, each drawn onto one Axes of the caller's choice. Nothing else is changed.

``plots`` makes whole sheets. Here a single panel has the subject and the workload as its title. If a run has several
settings (use of connections, site, CPU work), the one with the most workloads is drawn and named.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inflight.bench.core import cells as c
from inflight.bench.core.cells import Cell
from inflight.bench.present import marks, page, words
from inflight.bench.report import plots
from inflight.bench.report.tidy import NotInRunError, study_of
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import plot as plot_memory
from inflight.bench.studies.memory.read import IN_FLIGHT, Subject, by_setting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def study(frame: "pd.DataFrame", name: str, axes: "Axes") -> None:
    """Draw the usual panel of a study's first part. Raises NotInRunError if the frame has nothing for the study."""
    from inflight.bench.show import draw
    from inflight.bench.show.study import parts

    asked = study_of(name)
    found = parts(asked, frame)
    if not found or not draw.draw_usual(axes, asked, found[0]):
        raise NotInRunError(f"nothing for the study {name!r} in this run")


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


def _titled(title: str, where: str) -> str:
    return f"{title} ({where})" if where else title
