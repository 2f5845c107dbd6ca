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

import pandas as pd
from msgspec import convert

from inflight.bench import units
from inflight.bench.frame import frame, noise
from inflight.bench.frame.history import History, costs, history
from inflight.bench.plan.judge import nearest
from inflight.bench.rows.files import Row
from inflight.bench.show import listing, memory, pictures, study
from inflight.bench.show.folder import Extras, source
from inflight.bench.show.listing import Listing
from inflight.bench.show.pictures import Picture
from inflight.bench.show.study import Part, Study
from inflight.bench.show.table import Section
from inflight.bench.show.words import SENTENCES, NotInRunError, plain

MEMORY, LADDER = "memory", "ladder"
"""The study of memory, which is neither a Study nor a Listing, and its second plot."""
_DATA = tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))
STUDIES = convert(_DATA["studies"], tuple[Study, ...])
LISTINGS = convert(_DATA["listings"], tuple[Listing, ...])
"""The studies of several figures of each trial, behind those of timed trials and of memory."""


def study_of(name: str) -> Study | Listing | str:
    """Return the study with a name; MEMORY and LADDER are themselves. Raises NotInRunError for an unknown one."""
    known: dict[str, Study | Listing | str] = {MEMORY: MEMORY, LADDER: LADDER}
    known |= {study.name: study for study in STUDIES} | {study.name: study for study in LISTINGS}
    if name not in known:
        raise NotInRunError(plain(f"no study {name!r}{nearest(str(name), known)}"))
    return known[name]


@dataclass(frozen=True)
class Studies:
    """All studies of some rows; what several outputs need is computed once."""

    rows: Sequence[Row]
    folder: Path | None = None
    """Where the rows are stored; None: nowhere, so they have no earlier runs."""

    @cached_property
    def history(self) -> History:
        """The earlier runs on this machine."""
        return History() if self.folder is None else history(self.folder, self.rows)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One line for each trial."""
        return frame.trials(self.rows)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """One line for each trial and figure."""
        return frame.with_cycles(frame.long(self.trials), self.rows, self.history.spreads)

    @cached_property
    def parts(self) -> dict[str, list[Part]]:
        """The parts of each study of timed trials; none if there is nothing for it."""
        return {each.name: study.parts(each, self.lines) for each in STUDIES}

    @property
    def timed(self) -> list[list[Part]]:
        """The parts of the studies that have something to show, without those that others replace."""
        present = [parts for parts in self.parts.values() if parts]
        replaced = {name for parts in present for name in parts[0].study.replaces}
        return [parts for parts in present if parts[0].study.name not in replaced]

    @cached_property
    def _memory(self) -> list[memory.Part]:
        return memory.parts(self.trials, self.history)

    @cached_property
    def _listed(self) -> dict[str, list[listing.Part]]:
        """The parts of each listing. The last listing has the trials that no other table has."""
        *listings, others = LISTINGS
        listed = {each.name: listing.parts(each, self.trials) for each in listings}
        every = [part.trials for parts in self.timed for part in parts]
        every += [part.trials for part in self._memory]
        every += [part.trials["trial"] for parts in listed.values() for part in parts]
        is_shown = self.trials["trial"].isin(set().union(*every))
        return listed | {others.name: listing.parts(others, self.trials[~is_shown])}

    @cached_property
    def _is_noisy(self) -> bool:
        return noise.is_noisy([row for row in self.rows if not row.is_compared])

    @cached_property
    def sections(self) -> list[Section]:
        """The sections; of a noisy run, those of timed studies have tables only, and the first says why."""
        every = [(True, study.section(parts)) for parts in self.timed]
        every += [(False, section) for section in memory.sections(self._memory)]
        every += [(parts[0].listing.is_timed, listing.section(parts)) for parts in self._listed.values() if parts]
        if not self._is_noisy:
            return [section for _, section in every]
        warning = (self._noisy("noisy"),)
        bare = [replace(part, title="", findings=()) if is_timed else part for is_timed, part in every]
        return [Section("", first=warning, findings=warning), *bare]

    @cached_property
    def state(self) -> str:
        """The state of the machine, in a sentence; empty if nothing is known of it."""
        varies, taken = noise.variation(self.lines), noise.worst_share(self.rows)
        parts = [SENTENCES["unknown_state"]]
        if varies is not None:
            sentence = SENTENCES["unsteady" if varies >= noise.UNSTEADY else "steady"]
            parts = [sentence.format(units.percent(varies))]
        if cost := self.history.cost(costs(self.lines)):
            strategy, ratio, runs = cost
            parts.append(SENTENCES["cost"].format(plain(strategy, 60), ratio, runs))
        if taken is not None:
            parts.append(SENTENCES["taken"].format(units.percent(taken)))
        is_known = varies is not None or len(parts) > 1
        return f"{'; '.join(parts)}." if is_known else ""

    def _noisy(self, sentence: str) -> str:
        return SENTENCES[sentence].format(units.percent(noise.taken_share(self.rows) or 0.0))

    def table(self, name: str) -> pd.DataFrame:
        """Return a study by its name: one line for each line and column of its tables. Raises NotInRunError."""
        asked = study_of(name)
        if isinstance(asked, str):
            return memory.as_frame(self._memory)
        if isinstance(asked, Listing):
            return listing.as_frame(asked, self._listed[name])
        return study.as_frame(asked, self.parts[name])

    def as_json(self) -> dict[str, Any]:
        """Return the tables of all studies as JSON, by their names: a list of objects, in which null is unknown."""
        names = [*(each.name for each in STUDIES), MEMORY, *(each.name for each in LISTINGS)]
        tables = {name: self.table(name).astype(object) for name in names}
        return {name: table.where(table.notna(), None).to_dict("records") for name, table in tables.items()}

    def pictures(self, footer: str = "", only: Collection[str] | None = None) -> Iterator[Picture]:
        """Yield the plots of all studies, or of those in ``only``. In a noisy run, timed studies have it as title."""
        from inflight.bench.frame.moments import moments
        from inflight.bench.show import draw

        def is_asked(name: str) -> bool:
            return only is None or name in only

        over_time = moments(self.rows, self.trials)
        has_valid = any(row.valid for row in self.rows)
        timed = self.timed if only is None else [self.parts[name] for name in self.parts if name in only]
        every = [(True, draw.draw_study(parts, has_valid=has_valid)) for parts in timed]
        every += [(True, draw.draw_windows(over_time))] if is_asked("windows") else []
        every += [(False, memory.plots(self._memory))] if is_asked(MEMORY) else []
        listed = [parts for name, parts in self._listed.items() if parts and is_asked(name)]
        every += [(parts[0].listing.is_timed, draw.draw_listing(parts, over_time)) for parts in listed]
        title = self._noisy("noisy_plot") if self._is_noisy else ""
        for is_timed, drawn in every:
            for picture in drawn:
                yield replace(picture, footer=footer, title=title if title and is_timed else picture.title)

    def save_plots(self, machine: dict[str, Any], folder: Path, only: Collection[str] | None = None) -> list[Path]:
        """Write all plots, or those of some studies, as ``.png`` and ``.svg``; return the files. Raises OSError."""
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
    elif any(row.is_compared for row in rows) and (result := decide.result(rows, extras.verdict)) is not None:
        every = [plot.picture(result, machine)]
    yield from filter(None, every)


def _stored(comparison: Mapping[str, Any]) -> Section:
    """Return the verdict that ``inflight compare`` wrote into the folder."""
    runs = comparison.get("runs")
    names = [str(run.get("name")) for run in (runs if isinstance(runs, list) else ()) if isinstance(run, Mapping)]
    return Section(str(comparison.get("headline") or "Comparison of stored runs"), notes=tuple(names))
