"""The decisions of a run, by the files in its folder: claims, a comparison, a self-test, two stored runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench.ab import decide as deciding
from inflight.bench.ab import plot as plot_ab
from inflight.bench.ab import rates
from inflight.bench.ab import show as ab
from inflight.bench.claims import show as claims
from inflight.bench.present.section import Section
from inflight.bench.report.files import Extras
from inflight.bench.report.studies import Named
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sections(rows: Sequence[Row], extras: Extras) -> list[Section]:
    """Return a section for each decision in the folder."""
    return [
        *([] if extras.claims is None else [claims.section(extras.claims)]),
        *([] if extras.comparison is None else [_stored(extras.comparison)]),
        *(ab.sections(rows, extras.verdict or {}) if extras.selftest is None else rates.sections(extras.selftest)),
    ]


def plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> Iterator[Named]:
    """Draw the blocks of a comparison or of a self-test; nothing without a good block."""
    if any(row.of_comparison for row in rows):
        for name, figure in _plots(rows, machine, extras):
            if figure is not None:
                yield name, figure


def _plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> "Iterator[tuple[str, Figure | None]]":
    if extras.selftest is not None:
        yield "selftest", plot_ab.draw_selftest(extras.selftest, rows)
    elif (result := deciding.result(rows, extras.verdict)) is not None:
        yield "comparison", plot_ab.draw(result, machine)


def _stored(found: Mapping[str, Any]) -> Section:
    """Return the verdict that ``inflight compare`` wrote into the folder."""
    runs = found.get("runs")
    names = [str(run.get("name")) for run in (runs if isinstance(runs, list) else ()) if isinstance(run, Mapping)]
    return Section(str(found.get("headline") or "Comparison of stored runs"), notes=tuple(names))
