"""The studies of a run, and its decisions. Terminal, Markdown, page, JSON, plots and answer are loops over them.

The studies of timed trials and the listings are data (``studies.toml``); memory and comparisons have code of their own.
Matplotlib is imported when something is drawn.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from inflight.bench import units
from inflight.bench.frame import frame, noise
from inflight.bench.plan import judge
from inflight.bench.rows.files import Row
from inflight.bench.show import listing, pictures, study, words
from inflight.bench.show.folder import Extras, source
from inflight.bench.show.listing import Listing
from inflight.bench.show.pictures import Picture
from inflight.bench.show.study import Part, Study
from inflight.bench.show.table import Section
from inflight.bench.show.words import NotInRunError

MEMORY, LADDER = "memory", "ladder"
"""The study of memory, which is neither a Study nor a Listing, and its second plot."""
_DATA = tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))
STUDIES = msgspec.convert(_DATA["studies"], tuple[Study, ...])
LISTINGS = msgspec.convert(_DATA["listings"], tuple[Listing, ...])
"""The studies of several figures of each trial, behind those of timed trials and of memory."""


def study_of(name: str) -> Study | Listing | str:
    """Return the study with a name; MEMORY and LADDER are themselves. Raises NotInRunError for an unknown one."""
    known: dict[str, Study | Listing | str] = {MEMORY: MEMORY, LADDER: LADDER}
    known |= {one.name: one for one in STUDIES} | {one.name: one for one in LISTINGS}
    if name not in known:
        raise NotInRunError(words.plain(f"no study {name!r}{judge.nearest(str(name), known)}"))
    return known[name]


def shown(lines: pd.DataFrame) -> list[tuple[Study, list[Part]]]:
    """Return the studies that a frame has something for, with their parts, without those that others replace."""
    found = [(one, own) for one in STUDIES if (own := study.parts(one, lines))]
    replaced = {name for one, _ in found for name in one.replaces}
    return [(one, own) for one, own in found if one.name not in replaced]


@dataclass(frozen=True)
class Studies:
    """All studies of some rows; what several outputs need is computed once."""

    rows: Sequence[Row]

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One line for each trial."""
        return frame.trials(self.rows)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """One line for each trial and figure."""
        return frame.long(self.trials)

    @cached_property
    def _timed(self) -> list[tuple[Study, list[Part]]]:
        return shown(self.lines)

    @cached_property
    def _listed(self) -> list[tuple[Listing, list[listing.Part]]]:
        return [(one, listing.parts(one, self.trials)) for one in LISTINGS]

    @cached_property
    def _is_noisy(self) -> bool:
        return noise.is_noisy(self.rows)

    @cached_property
    def sections(self) -> list[Section]:
        """The sections; of a noisy run, those of timed studies have tables only, and the first says why."""
        from inflight.bench.ab import show as compare
        from inflight.bench.show import memory

        timed = [study.section(one, parts) for one, parts in self._timed]
        found = [(True, one) for one in timed]
        found += [(False, one) for one in memory.sections(self.trials)]
        found += [(one.is_timed, listing.section(one, parts)) for one, parts in self._listed if parts]
        found += [(False, one) for one in compare.sections(self.rows)]
        if not self._is_noisy:
            return [one for _, one in found]
        warning = Section("", first=(self.warning,), findings=(self.warning,))
        bare = [replace(one, title="", findings=(), bars=None) if is_timed else one for is_timed, one in found]
        return [warning, *bare]

    @property
    def warning(self) -> str:
        """The first line of a noisy run."""
        return words.SENTENCES["noisy"].format(self._taken)

    @property
    def _taken(self) -> str:
        return units.percent(noise.taken_share(self.rows) or 0.0)

    def table(self, name: str) -> pd.DataFrame:
        """Return a study by its name: one line for each line and column of its tables. Raises NotInRunError."""
        from inflight.bench.show import memory

        asked = study_of(name)
        if isinstance(asked, str):
            return pd.DataFrame(memory.as_json(self.trials), columns=list(memory.COLUMNS_OF_JSON))
        if isinstance(asked, Listing):
            return listing.as_frame(asked, listing.parts(asked, self.trials))
        return study.as_frame(asked, study.parts(asked, self.lines))

    def as_json(self) -> dict[str, Any]:
        """Return the tables of all studies as JSON, by their names: a list of objects, in which null is unknown."""
        names = [*(one.name for one in STUDIES), MEMORY, *(one.name for one in LISTINGS)]
        tables = {name: self.table(name).astype(object) for name in names}
        return {name: found.where(found.notna(), None).to_dict("records") for name, found in tables.items()}

    def pictures(self, footer: str = "", only: Collection[str] | None = None) -> Iterator[Picture]:
        """Yield the plots of all studies, or of those in ``only``. In a noisy run, timed studies have it as title."""
        from inflight.bench.frame.moments import moments
        from inflight.bench.show import draw, memory

        def is_asked(name: str) -> bool:
            return only is None or name in only

        over_time = moments(self.rows, self.trials)
        has_valid = any(row.valid for row in self.rows)
        timed = self._timed
        if only is not None:
            timed = [(one, study.parts(one, self.lines)) for one in STUDIES if one.name in only]
        every = [(True, draw.of_study(one, parts, has_valid=has_valid)) for one, parts in timed]
        every += [(True, draw.of_windows(over_time))] if is_asked("windows") else []
        every += [(False, memory.plots(self.trials))] if is_asked(MEMORY) else []
        for one, parts in self._listed:
            every += [(one.is_timed, draw.of_listing(one, parts, over_time))] if is_asked(one.name) else []
        title = words.SENTENCES["noisy_plot"].format(self._taken) if self._is_noisy else ""
        for is_timed, drawn in every:
            for picture in drawn:
                yield replace(picture, footer=footer, title=title if title and is_timed else picture.title)

    def save_plots(self, machine: dict[str, Any], folder: Path, only: Collection[str] | None = None) -> list[Path]:
        """Write all plots, or those of some studies, as ``.png`` and ``.svg``; return the files. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        return pictures.save(self.pictures(source(self.rows, machine), only), folder)


# Decisions


def decisions(rows: Sequence[Row], extras: Extras) -> list[Section]:
    """Return a section for each decision in a run's folder: claims, a comparison of sides or of runs, a self-test."""
    from inflight.bench.ab import rates
    from inflight.bench.ab import show as ab
    from inflight.bench.claims import show as claims

    return [
        *([] if extras.claims is None else [claims.section(extras.claims)]),
        *([] if extras.comparison is None else [_stored(extras.comparison)]),
        *(ab.sections(rows, extras.verdict or {}) if extras.selftest is None else rates.sections(extras.selftest)),
    ]


def decision_pictures(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> Iterator[Picture]:
    """Yield the blocks of a comparison or of a self-test; nothing without a good block."""
    from inflight.bench.ab import decide, plot

    every: list[Picture | None] = []
    if extras.selftest is not None:
        every = [plot.picture_of_selftest(extras.selftest, rows)]
    elif any(row.of_comparison for row in rows) and (result := decide.result(rows, extras.verdict)) is not None:
        every = [plot.picture(result, machine)]
    yield from filter(None, every)


def _stored(found: Mapping[str, Any]) -> Section:
    """Return the verdict that ``inflight compare`` wrote into the folder."""
    runs = found.get("runs")
    names = [str(run.get("name")) for run in (runs if isinstance(runs, list) else ()) if isinstance(run, Mapping)]
    return Section(str(found.get("headline") or "Comparison of stored runs"), notes=tuple(names))
