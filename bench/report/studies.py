"""The studies, one line each. Terminal, Markdown, page, JSON, plots and answer are loops over them.

A study is a folder of ``inflight.bench.studies``. Its ``show.py`` has ``sections(rows)``, all that is shown of the
study (an empty list where the rows have none of it), and ``figures(rows)``, its values as JSON; its ``plot.py``, if it
has one, has ``plots(rows, looks, footer)``, each with the name of its file. They are imported when rows are shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from inflight.bench.core.rows import Row
from inflight.bench.present.name_looks import Look
from inflight.bench.present.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure"]
"""A plot, and the name of its file."""


@dataclass(frozen=True, slots=True)
class Study:
    """One study: its folder, where its figures stand in the JSON of a run, and the study whose place it takes."""

    name: str
    key: str = ""
    """Without one, ``figures`` returns several values by their keys."""
    replaces: str = ""
    """Where this study has a section, the sections of that one are left out."""

    def sections(self, rows: Sequence[Row]) -> list[Section]:
        """Return what the rows say of it."""
        found: list[Section] = self._offered("show", "sections")(rows)
        return found

    def figures(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return its values as JSON, by their keys."""
        found = self._offered("show", "figures")(rows)
        return {self.key: found} if self.key else dict(found)

    def plots(self, rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[Named]:
        """Draw its plots one after another; one that would be empty is left out."""
        for name, figure in self._offered("plot", "plots")(rows, looks, footer):
            if figure is not None:
                yield name, figure

    def _offered(self, part: str, name: str) -> Callable[..., Any]:
        """Return a function of one of its modules; one that finds nothing where the study has none."""
        module = f"..studies.{self.name}.{part}"
        return (
            getattr(import_module(module, __package__), name, _nothing) if find_spec(module, __package__) else _nothing
        )


STUDIES = (
    Study("decision_map", key="map", replaces="throughput"),
    Study("throughput"),
    Study("memory"),
    Study("limits", key="limits"),
    Study("probes", key="probes"),
    Study("swarm", key="swarms"),
    Study("open_loop", key="offered"),
    Study("clients"),
    Study("compare"),
)
"""In the order in which they are shown."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return what the rows say, study by study."""
    found = {study: study.sections(rows) for study in STUDIES}
    replaced = {study.replaces for study, own in found.items() if own}
    return [section for study, own in found.items() if study.name not in replaced for section in own]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the values of all studies as JSON, by their keys."""
    return {key: value for study in STUDIES for key, value in study.figures(rows).items()}


def plots(rows: Sequence[Row], looks: Mapping[str, Look], footer: str) -> Iterator[Named]:
    """Draw the plots of all studies one after another."""
    for study in STUDIES:
        yield from study.plots(rows, looks, footer)


def _nothing(*_: object) -> tuple[()]:
    """Return what a study without sections, figures or plots has of them."""
    return ()
