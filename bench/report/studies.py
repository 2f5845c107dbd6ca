"""The studies of a run. Terminal, Markdown, page, JSON, plots and answer are loops over them.

Those of timed trials and listings are data (``inflight.bench.show.studies``); memory and comparisons have code of their
own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inflight.bench.core import noise, units
from inflight.bench.present import page
from inflight.bench.present.section import Section
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure"]
"""The name of a plot's file, and the plot."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the sections of all studies; of a noisy run, those of timed ones have tables only, and say why first."""
    from inflight.bench.frame.frame import long, trials
    from inflight.bench.show import listing, memory
    from inflight.bench.show import sections as timed
    from inflight.bench.show.studies import LISTINGS
    from inflight.bench.studies.compare import show as compare

    wide = trials(rows)
    is_noisy = noise.is_noisy(rows)
    found = [(True, one) for one in timed.sections(long(wide))]
    found += [(False, one) for one in memory.sections(wide)]
    for study in LISTINGS:
        if own := listing.parts(study, wide):
            found.append((study.is_timed, listing.section(study, own)))
    found += [(False, one) for one in compare.sections(rows)]
    warned = [Section("", first=(warning(rows),), findings=(warning(rows),))] if is_noisy else []
    return [*warned, *(_without_findings(one) if is_noisy and is_timed else one for is_timed, one in found)]


def warning(rows: Sequence[Row]) -> str:
    """Return the first line of a noisy run."""
    taken = _taken(rows)
    return f"This run is noisy: others took {taken} of the client's core, so its tables compare nothing. Run it again."


def _taken(rows: Sequence[Row]) -> str:
    return units.percent(noise.taken_share(rows) or 0.0)


def _without_findings(section: Section) -> Section:
    return replace(section, title="", findings=(), bars=None)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the values of all studies as JSON, by their names."""
    from inflight.bench.frame.frame import long, trials
    from inflight.bench.show import listing, memory
    from inflight.bench.show import sections as timed
    from inflight.bench.show.studies import LISTINGS

    wide = trials(rows)
    listed = {study.name: listing.as_json(study, listing.parts(study, wide)) for study in LISTINGS}
    return timed.figures(long(wide)) | {"memory": memory.as_json(wide)} | listed


def plots(rows: Sequence[Row], footer: str) -> Iterator[Named]:
    """Draw the plots of all studies one after another; of a noisy run, those of timed ones have that as their title."""
    from inflight.bench.frame.frame import long, trials
    from inflight.bench.frame.moments import moments
    from inflight.bench.show import draw, draw_listing, listing, memory, windows
    from inflight.bench.show.studies import LISTINGS

    wide, over_time = trials(rows), moments(rows)
    is_noisy = noise.is_noisy(rows)

    def titled(figure: "Figure") -> "Figure":
        if is_noisy:
            page.retitle(figure, f"Noisy run: others took {_taken(rows)} of the client's core")
        return figure

    yield from ((name, titled(figure)) for name, figure in draw.of_frame(long(wide), footer))
    yield from ((name, titled(figure)) for name, figure in windows.plots(over_time, footer))
    yield from memory.plots(wide, footer)
    for study in LISTINGS:
        for name, figure in draw_listing.plots(study, listing.parts(study, wide), over_time, footer):
            yield name, titled(figure) if study.is_timed else figure
