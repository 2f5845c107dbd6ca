"""The studies of a run, and its decisions. Terminal, Markdown, page, JSON, plots and answer are loops over them.

A command or the API makes one ``Studies`` of the rows of a run and hands it to all outputs (``summary``, ``page``,
``results``, ``answer``). The studies are data (``studies.toml``, read as ``study.Study``); comparisons, claims and
self-tests have code of their own (``decisions``). Matplotlib is imported when something is drawn.
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
from inflight.bench.show import at_once, counts, pictures, sections
from inflight.bench.show.folder import Extras, read, source
from inflight.bench.show.pictures import Picture
from inflight.bench.show.study import Part, Study
from inflight.bench.show.study import parts as parts_of
from inflight.bench.show.table import Section
from inflight.bench.show.words import SENTENCES, NotInRunError, plain

STUDIES = convert(
    tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))["studies"],
    tuple[Study, ...],
)
"""In the order in which they are shown; the last one has the trials that no other table has."""


def study_of(name: str) -> Study:
    """Return the study with a name, or with a plot of that name. Raises NotInRunError for an unknown one."""
    known = {plot.name: study for study in STUDIES for plot in study.plots if plot.name}
    known |= {study.name: study for study in STUDIES}
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
    def about(self) -> tuple[dict[str, Any], Extras]:
        """The values of ``machine.json``, and the other contents of the folder."""
        return ({}, Extras("")) if self.folder is None else read(self.folder)

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
        """The parts of each study; none if there is nothing for it.

        The order of STUDIES counts twice: "cpu" is before "counts", whose table has CPU times beside the counts, and
        the last study has the trials that no other one shows.
        """
        *first, others = STUDIES
        every = dict[str, list[Part]]()
        for study in first:
            lines = self.lines if study.measure == "mean" else self.trials
            if study.name == counts.NAME:
                lines = counts.beside(lines, self.rows, every["cpu"])
            every[study.name] = parts_of(study, lines)
        in_table = [part.trials for some in _without_replaced(every) for part in some]
        rest = self.trials[~self.trials["trial"].isin(set().union(*in_table))]
        return every | {others.name: parts_of(others, rest)}

    @cached_property
    def state(self) -> dict[str, Any]:
        """How steady the machine was: how far windows vary, what a page costs now, what others took; None: unknown."""
        cost = self.history.cost(costs(self.lines))
        return {
            "windows_vary": noise.variation(self.lines),
            "cost": cost and (plain(cost[0], 60), *cost[1:]),
            "taken_by_others": noise.worst_share(self.rows),
        }

    @cached_property
    def stacks(self) -> dict[str, str]:
        """The HTTP stack of each model, thread or task."""
        return dict(zip(map(at_once.base, self.trials["arm"]), self.trials["stack"], strict=True))

    @property
    def present(self) -> list[list[Part]]:
        """The parts of the studies that have something to show, without those that others replace."""
        return _without_replaced(self.parts)

    @cached_property
    def is_noisy(self) -> bool:
        """Whether the run says nothing about differences."""
        return noise.is_noisy([row for row in self.rows if not row.is_compared])

    @cached_property
    def sections(self) -> list[Section]:
        """The sections; of a noisy run, those of timed studies have tables only, and the first says why."""
        every = []
        if self.is_noisy:
            warning = (self.noise_sentence("noisy"),)
            every.append(Section("", first=warning, findings=warning))
        for parts in self.present:
            study = parts[0].study
            is_counts = study.name == counts.NAME
            section = counts.section(self) if is_counts else sections.section(parts, self.history)
            every.append(replace(section, findings=()) if self.is_noisy and study.is_timed else section)
        return every

    def figures_of(self, names: Sequence[str]) -> Iterator[Section]:
        """Yield the sections of some studies without their ratios; none for a study that the run has nothing for."""
        for parts in filter(None, map(self.parts.__getitem__, names)):
            alone = replace(parts[0].study, over=None, finding="")
            yield sections.section([replace(part, study=alone) for part in parts], self.history)

    @cached_property
    def decisions(self) -> list[Section]:
        """A section for each decision in the folder: claims, a comparison of sides or of runs, a self-test."""
        from inflight.bench.ab import rates
        from inflight.bench.ab import show as ab
        from inflight.bench.claims import show as claims

        _, extras = self.about
        decided = []
        if extras.claims is not None:
            decided.append(claims.section(extras.claims))
        if extras.comparison is not None:
            decided.append(_stored(extras.comparison))
        if extras.selftest is not None:
            return [*decided, *rates.sections(extras.selftest)]
        return [*decided, *ab.sections(self.rows, extras.verdict or {})]

    def decision_pictures(self) -> Iterator[Picture]:
        """Yield the blocks of a comparison or of a self-test; nothing without a good block."""
        from inflight.bench.ab import decide, plot

        machine, extras = self.about
        picture = None
        if extras.selftest is not None:
            picture = plot.picture_of_selftest(extras.selftest, self.rows)
        elif any(row.is_compared for row in self.rows):
            result = decide.result(self.rows, extras.verdict)
            picture = None if result is None else plot.picture(result, machine)
        if picture is not None:
            yield picture

    def noise_sentence(self, name: str) -> str:
        """Return a sentence of ``texts.toml`` that says what others took of the client's core."""
        return SENTENCES[name].format(units.percent(noise.taken_share(self.rows) or 0.0))

    def table(self, name: str) -> pd.DataFrame:
        """Return a study by its name: one line for each line and column of its tables. Raises NotInRunError."""
        study = study_of(name)
        return sections.as_frame(study, self.parts[study.name])

    def as_json(self) -> dict[str, Any]:
        """Return the tables of all studies as JSON, by their names: a list of objects, in which null is unknown."""
        tables = {study.name: self.table(study.name).astype(object) for study in STUDIES}
        return {name: table.where(table.notna(), None).to_dict("records") for name, table in tables.items()}

    def pictures(self, footer: str = "", only: Collection[str] | None = None) -> Iterator[Picture]:
        """Yield the plots of all studies, or of those in ``only``. In a noisy run, timed studies have it as title."""
        from inflight.bench.show.draw import draw, draw_windows

        over_time = frame.moments(self.rows, self.trials)
        has_valid = any(row.valid for row in self.rows)
        asked = _without_repeated(self.present)
        if only is not None:
            asked = [parts for name, parts in self.parts.items() if name in only and parts]
        every = [(parts[0].study, draw(parts, over_time, has_valid=has_valid)) for parts in asked]
        if only is None or "windows" in only:
            place = sum(study.measure == "mean" for study, _ in every)
            every.insert(place, (STUDIES[0], draw_windows(over_time)))
        if only is None or at_once.NAME in only:
            every.append((STUDIES[-1], filter(None, [at_once.draw(self)])))
        title = self.noise_sentence("noisy_plot") if self.is_noisy else ""
        for study, drawn in every:
            for picture in drawn:
                yield replace(picture, footer=footer, title=title if title and study.is_timed else picture.title)

    def save_plots(self, machine: dict[str, Any], folder: Path, only: Collection[str] | None = None) -> list[Path]:
        """Write all plots, or those of some studies, as ``.png`` and ``.svg``; return the files. Raises OSError."""
        return pictures.save(self.pictures(source(self.rows, machine), only), folder)


def _without_replaced(every: Mapping[str, list[Part]]) -> list[list[Part]]:
    """Return the parts of each study that has some, but for those that another study replaces."""
    present = [parts for parts in every.values() if parts]
    replaced = {name for parts in present for name in parts[0].study.replaces}
    return [parts for parts in present if parts[0].study.name not in replaced]


def _without_repeated(present: Sequence[list[Part]]) -> list[list[Part]]:
    """Leave out studies whose figure an earlier one draws with the same mark."""
    first: dict[object, list[Part]] = {}
    for parts in present:
        study = parts[0].study
        drawn = (study.figures[0], study.plots[0].mark) if study.measure == "mean" else study.name
        first.setdefault(drawn, parts)
    return list(first.values())


def _stored(comparison: Mapping[str, Any]) -> Section:
    """Return the verdict that ``inflight compare`` wrote into the folder."""
    runs = comparison.get("runs")
    known = [run for run in runs if isinstance(run, Mapping)] if isinstance(runs, list) else []
    names = [str(run.get("name")) for run in known]
    return Section(str(comparison.get("headline") or "Comparison of stored runs"), notes=tuple(names))
