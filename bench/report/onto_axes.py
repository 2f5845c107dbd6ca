"""One panel of a study, drawn onto one Axes of the caller's choice. Nothing else is changed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inflight.bench.present import marks, page
from inflight.bench.rows.files import Row
from inflight.bench.show import words
from inflight.bench.show.studies import LADDER, MEMORY, study_of
from inflight.bench.show.words import NotInRunError

if TYPE_CHECKING:
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


def study(rows: Sequence[Row], name: str, axes: "Axes") -> None:
    """Draw the usual panel of a study's first part. Raises NotInRunError if the run has nothing for the study."""
    from inflight.bench.frame.frame import long, trials
    from inflight.bench.show import draw, draw_listing, listing
    from inflight.bench.show.study import parts

    asked, wide = study_of(name), trials(rows)
    if isinstance(asked, str):
        is_drawn = _memory(axes, asked, rows)
    elif isinstance(asked, listing.Listing):
        is_drawn = draw_listing.draw_first(axes, asked, listing.parts(asked, wide), rows)
    else:
        found = parts(asked, long(wide))
        is_drawn = bool(found) and draw.draw_usual(axes, asked, found[0])
    if not is_drawn:
        raise NotInRunError(f"nothing for the study {words.plain(name, 40)!r} in this run")


def _memory(axes: "Axes", name: str, rows: Sequence[Row]) -> bool:
    from inflight.bench.frame.frame import trials
    from inflight.bench.show import memory

    found = [part for part in memory.usual(trials(rows)) if name == MEMORY or memory.ladders(part)]
    for part in found:
        if name == LADDER:
            groups = memory.ladders(part)
            memory.draw_ladder(axes, part, "held" if "held" in groups else groups[0])
            axes.set_title("Memory added over the number held", pad=10)
        else:
            memory.draw_layers(axes, part)
            used = {layer: fill for layer, fill in memory.FILLS.items() if layer in set(part.slopes["layer"])}
            axes.legend(handles=marks.patches(used), loc="lower right", frameon=False, fontsize=page.SMALL)
            axes.set_title(memory.TITLE, pad=24)
    return bool(found)
