"""The studies of a run. Terminal, Markdown, page, JSON, plots and answer are loops over them.

Those of timed trials and listings are data (``inflight.bench.show.studies``); memory and comparisons have code of their
own. pandas and Matplotlib are imported when something is shown.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench import units
from inflight.bench.frame import noise
from inflight.bench.present.section import Section
from inflight.bench.rows.files import Row
from inflight.bench.show import pictures
from inflight.bench.show.pictures import Picture

if TYPE_CHECKING:
    import pandas as pd

    from inflight.bench.show import listing, study


@dataclass(frozen=True)
class Studies:
    """All studies of some rows; what several outputs need is computed once."""

    rows: Sequence[Row]

    @cached_property
    def _trials(self) -> "pd.DataFrame":
        from inflight.bench.frame.frame import trials

        return trials(self.rows)

    @cached_property
    def _lines(self) -> "pd.DataFrame":
        from inflight.bench.frame.frame import long

        return long(self._trials)

    @cached_property
    def _timed(self) -> "list[tuple[study.Study, list[study.Part]]]":
        from inflight.bench.show.studies import shown

        return shown(self._lines)

    @cached_property
    def _listed(self) -> "list[tuple[listing.Listing, list[listing.Part]]]":
        from inflight.bench.show.listing import parts
        from inflight.bench.show.studies import LISTINGS

        return [(study, parts(study, self._trials)) for study in LISTINGS]

    @cached_property
    def _is_noisy(self) -> bool:
        return noise.is_noisy(self.rows)

    @cached_property
    def sections(self) -> list[Section]:
        """The sections; of a noisy run, those of timed studies have tables only, and the first says why."""
        from inflight.bench.ab import show as compare
        from inflight.bench.show import listing, memory
        from inflight.bench.show.sections import section

        found = [(True, section(study, parts)) for study, parts in self._timed]
        found += [(False, one) for one in memory.sections(self._trials)]
        found += [(study.is_timed, listing.section(study, parts)) for study, parts in self._listed if parts]
        found += [(False, one) for one in compare.sections(self.rows)]
        warned = [Section("", first=(self.warning,), findings=(self.warning,))] if self._is_noisy else []
        return [
            *warned, *(_without_findings(one) if self._is_noisy and is_timed else one for is_timed, one in found),
        ]  # fmt: skip

    @property
    def warning(self) -> str:
        """The first line of a noisy run."""
        return (
            f"This run is noisy: others took {self._taken} of the client's core, so its tables compare nothing. "
            "Run it again."
        )

    @property
    def _taken(self) -> str:
        return units.percent(noise.taken_share(self.rows) or 0.0)

    def as_json(self) -> dict[str, Any]:
        """Return the values of all studies as JSON, by their names."""
        from inflight.bench.show import listing, memory
        from inflight.bench.show.sections import as_json
        from inflight.bench.show.studies import STUDIES
        from inflight.bench.show.study import parts

        found = {study.name: as_json(study, parts(study, self._lines)) for study in STUDIES}
        listed = {study.name: listing.as_json(study, own) for study, own in self._listed}
        return found | {"memory": memory.as_json(self._trials)} | listed

    def pictures(self, footer: str = "", only: Collection[str] | None = None) -> Iterator[Picture]:
        """Yield the plots of all studies, or of those in ``only``. In a noisy run, timed studies have it as title."""
        from inflight.bench.frame.moments import moments
        from inflight.bench.show import draw, listing, memory
        from inflight.bench.show.studies import LISTINGS, STUDIES
        from inflight.bench.show.study import parts

        def is_asked(name: str) -> bool:
            return only is None or name in only

        over_time = moments(self.rows, self._trials)
        has_valid = any(row.valid for row in self.rows)
        timed = self._timed if only is None else [(one, parts(one, self._lines)) for one in STUDIES if one.name in only]
        every = [(True, draw.of_study(study, own, has_valid=has_valid)) for study, own in timed]
        every += [(True, draw.of_windows(over_time))] if is_asked("windows") else []
        every += [(False, memory.plots(self._trials))] if is_asked("memory") else []
        for study in (study for study in LISTINGS if is_asked(study.name)):
            rows = listing.parts(study, self._trials)
            every.append((study.is_timed, draw.of_listing(study, rows, over_time)))
        title = f"Noisy run: others took {self._taken} of the client's core" if self._is_noisy else ""
        for is_timed, drawn in every:
            for picture in drawn:
                yield replace(picture, footer=footer, title=title if title and is_timed else picture.title)

    def save_plots(self, machine: dict[str, Any], folder: Path, only: Collection[str] | None = None) -> list[Path]:
        """Write all plots, or those of some studies, as ``.png`` and ``.svg``; return the files. Raises OSError."""
        from inflight.bench.report import provenance

        folder.mkdir(parents=True, exist_ok=True)
        return pictures.save(self.pictures(provenance.source(self.rows, machine), only), folder)


def _without_findings(section: Section) -> Section:
    return replace(section, title="", findings=(), bars=None)
