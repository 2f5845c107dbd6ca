"""The studies, one line each. Terminal, Markdown, page, JSON, plots and answer are loops over them.

Those of timed trials are data (``inflight.bench.show.studies``). Any other is a folder of ``inflight.bench.studies``.
Its ``show.py`` has ``sections(rows)`` (an empty list if the rows have nothing for the study) and ``figures(rows)``, its
values as JSON. Its ``plot.py``, if it has one, has ``plots(rows, looks, footer)``, which yields each plot with the name
of its file. They are imported when rows are shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any

from inflight.bench.core import noise, units
from inflight.bench.present import page
from inflight.bench.present.name_looks import Look
from inflight.bench.present.section import Section
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure"]
"""The name of a plot's file, and the plot."""


@dataclass(frozen=True, slots=True)
class Study:
    """One study with code of its own: its folder, and the key of its figures in the JSON of a run."""

    name: str
    key: str = ""
    """If empty, ``figures`` returns several values by their keys."""
    is_timed: bool = False
    """Whether its findings compare times."""

    def sections(self, rows: Sequence[Row]) -> list[Section]:
        """Return its sections."""
        found: list[Section] = self._offered("show", "sections")(rows)
        return found

    def figures(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return its values as JSON, by their keys."""
        found = self._offered("show", "figures")(rows)
        return {self.key: found} if self.key else dict(found)

    def plots(self, rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[Named]:
        """Draw its plots one after another, without empty ones."""
        for name, figure in self._offered("plot", "plots")(rows, looks, footer):
            if figure is not None:
                yield name, figure

    def _offered(self, part: str, name: str) -> Callable[..., Any]:
        """Return a function of one of its modules; ``_nothing`` if the study does not have it."""
        module = f"..{self.name}.{part}" if self.name == "ab" else f"..studies.{self.name}.{part}"
        return (
            getattr(import_module(module, __package__), name, _nothing) if find_spec(module, __package__) else _nothing
        )


STUDIES = (
    Study("memory"),
    Study("limits", key="limits"),
    Study("probes", key="probes"),
    Study("swarm", key="swarms"),
    Study("open_loop", key="offered", is_timed=True),
    Study("clients", is_timed=True),
    Study("ab"),
)
"""In the order in which they are shown, behind those of the frame (``inflight.bench.show.studies``)."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the sections of all studies; of a noisy run, those of timed ones have tables only, and say why first."""
    from inflight.bench.show.sections import sections as of_frame

    is_noisy = noise.is_noisy(rows)
    timed = of_frame(rows)
    timed = [_without_findings(section) for section in timed] if is_noisy else timed
    others = [
        _without_findings(section) if is_noisy and study.is_timed else section
        for study in STUDIES
        for section in study.sections(rows)
    ]
    told = [Section("", first=(warning(rows),), findings=(warning(rows),))] if is_noisy else []
    return [*told, *timed, *others]


def warning(rows: Sequence[Row]) -> str:
    """Return the first line of a noisy run."""
    taken = _taken(rows)
    return f"This run is noisy: others took {taken} of the client's core, so its tables compare nothing. Run it again."


def _taken(rows: Sequence[Row]) -> str:
    return units.percent(noise.taken_share(rows) or 0.0)


def _without_findings(section: Section) -> Section:
    return replace(section, title="", findings=(), bars=None)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the values of all studies as JSON, by their keys."""
    from inflight.bench.show.sections import figures as of_frame

    return of_frame(rows) | {key: value for study in STUDIES for key, value in study.figures(rows).items()}


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[Named]:
    """Draw the plots of all studies one after another; of a noisy run, those of timed ones have that as their title."""
    from inflight.bench.show.draw import of_rows

    timed = ((True, one) for one in of_rows(rows, footer))
    others = ((study.is_timed, one) for study in STUDIES for one in study.plots(rows, looks, footer))
    is_noisy = noise.is_noisy(rows)
    for is_timed, (name, figure) in chain(timed, others):
        if is_noisy and is_timed:
            page.retitle(figure, f"Noisy run: others took {_taken(rows)} of the client's core")
        yield name, figure


def _nothing(*_: object) -> tuple[()]:
    """Stand in for a function that a study does not have."""
    return ()
