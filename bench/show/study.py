"""A study is data (``studies.toml``): which lines, which figures of them, and how they are compared and drawn.

``studies`` calls ``parts`` for each study: lines of the frame that differ in nothing but the lines and columns of one
table are a ``Part``. A part has the figures, measured in one of three ways: means over blocks, medians over trials, or
slopes of memory. ``sections`` writes their tables, ``findings`` their sentences, ``draw`` their pictures. A *line* is a
model or a subject, a *column* a workload; the *usual* column stands for all.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import pandas as pd

from inflight.bench.frame import slopes
from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.figures import Figure, figure_of
from inflight.bench.frame.frame import KEYS, OF_TRIAL, TIMED
from inflight.bench.frame.slopes import BY, FULL, GROUPS
from inflight.bench.show import words
from inflight.bench.show.words import USUAL_IN_FLIGHT, value_name

STACKS = {"shared": 0, "own": 1, "none": 2}
"""Order of HTTP stacks in tables: strategies of the shared one are compared with each other."""
ORDER = {"latency": "latency_ns", "cpu": "cpu_ns"}
"""The keys that are ordered by another one."""
SERVED = ("server_cpu_share", "server_run_delay_share", "late_ns")
"""Figures of the server that say how far a throughput and a latency are what they seem."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of a study: a mark of ``draw``, and what it is of."""

    mark: Literal["lines", "bars", "dots", "tiles", "listed", "over_time", "layers", "ladder"]
    """Lines over an axis with fewer than three values become bars."""
    x: str = ""
    """The key along the axis."""
    facet: str = "latency"
    """The key whose values each have a panel."""
    is_ratio: bool = False
    """Whether ratios along the axis of the study are drawn instead of the figure itself."""
    figures: tuple[str, ...] = ()
    """Figures that each have a panel; those of ``over_time`` are of ``frame.frame.moments``."""
    name: str = ""
    """The name of its files; by default, that of the study."""
    title: str = ""
    """A noun phrase; by default, that of the study."""
    note: str = ""
    """A sentence below the picture."""


@dataclass(frozen=True, slots=True)
class Study:
    """One table of figures: lines, and columns beside each other."""

    name: str
    title: str
    """A noun phrase."""
    figures: tuple[str, ...] = ()
    """The first is compared; the others are shown beside it. By default, every number that was measured."""
    plots: tuple[Plot, ...] = ()
    """Its pictures."""
    measure: Literal["mean", "median", "slope"] = "mean"
    """A mean over blocks, of timed trials; a median over any trials; the slope of memory over the number held."""
    select: str = ""
    """A query on the lines."""
    lines: tuple[str, ...] = ("arm",)
    """The keys whose values each have a line of the table."""
    columns: tuple[str, ...] = ("latency", "in_flight")
    """The keys in which the figures of a line differ; of tiles those down, across, and of the panels."""
    over: tuple[str, object] | None = None
    """The axis of a second table, with ratios, and its baseline: a value, ``reference`` (the arm of the block),
    ``first`` (the first in alphabetical order of those of references), or ``best`` (the best value of each line)."""
    finding: Literal["", "ends", "axis", "tiles", "order", "rate_kept", "reached", "memory"] = ""
    """Which sentences of ``findings`` stand at the top of a report."""
    usual: Literal["first", "last"] = "first"
    """The latency of the column that stands for all: the first (the shortest) or the last (the longest)."""
    note: str = ""
    """A sentence below its tables."""
    vary: tuple[str, ...] = ()
    """Keys that have at least ``least`` values in each part; a part in which one has fewer is left out."""
    least: int = 2
    """Minimum number of values of each key in ``vary``."""
    replaces: tuple[str, ...] = ()
    """Studies that are left out where this one has something to show."""
    texts: tuple[str, ...] = ()
    """Measured texts that have a column."""
    below: str = ""
    """A text of each line that stands below the table."""
    order: str = ""
    """The figure by which lines are ordered, the best first; by default, lines are ordered by their keys."""
    is_largest: bool = False
    """Whether only trials with the most in flight count: of each arm, if that is a key, else of the part."""
    is_turned: bool = False
    """Whether the table has a line for each figure, and a column for each arm."""
    is_timed: bool = True
    """Whether its findings compare times."""

    @property
    def figure(self) -> Figure:
        """The figure that is compared."""
        return figure_of(self.order or self.figures[0])


Column = tuple[Any, ...]
"""Values of the keys in ``columns``, in their order."""


class Tile(NamedTuple):
    """The fastest of one column, those that tie with it, and how far it is ahead of the slowest."""

    best: tuple[str, ...]
    """The fastest first; empty if fewer than two can be compared."""
    ratio: float
    """How far the best is ahead of the worst."""
    is_decided: bool
    """Whether some line is behind by a certain difference."""


@dataclass(frozen=True)
class Part:
    """The lines of a study that differ in nothing but its lines and columns."""

    study: Study
    name: str
    """What distinguishes it from the other parts; empty for the only one."""
    lines: pd.DataFrame
    """Lines of the frame, trials, or layers of memory, with the name of their line in the table as ``line``."""

    @cached_property
    def figures(self) -> pd.DataFrame:
        """The figures, by the way in which the study measures."""
        return MEASURES[self.study.measure](self.study, self.lines)

    @property
    def valid(self) -> pd.DataFrame:
        """The figures of a study of medians that are of valid trials."""
        return self.figures[self.figures["valid"].astype(bool)]

    @property
    def means(self) -> pd.DataFrame:
        """The means of the figure that is compared."""
        return self.means_of(self.study.figures[0])

    @property
    def compared(self) -> pd.DataFrame:
        """The lines of the figure that is compared."""
        return self.lines[self.lines["figure"] == self.study.figures[0]]

    def means_of(self, figure: str) -> pd.DataFrame:
        """Return the means of a figure."""
        return self.figures[self.figures["figure"] == figure]

    @property
    def trials(self) -> "pd.Series[str]":
        """The trials behind the table: of means only valid ones, of slopes those of the subjects that have one."""
        lines = self.lines
        if self.study.measure == "mean":
            lines = self.compared
            lines = lines[lines["valid"] & (lines["value"] > 0)]
        elif self.study.measure == "slope":
            lines = lines[lines["line"].isin(self.figures.dropna(subset="estimate")["line"])]
        return lines["trial"]

    def is_shown(self) -> bool:
        """Return whether the study has something to show of the part."""
        if self.study.measure != "mean":
            return True
        if self.means.empty or any(self.means[key].nunique() < self.study.least for key in self.study.vary):
            return False
        if self.study.finding != "tiles":
            return True
        down, across, *_ = self.study.columns
        rows = self.means.groupby(down)[across].agg(set)
        return any(len(row & other) > 1 for row, other in combinations(rows, 2))

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, in order."""
        ordered = self.means.sort_values([ORDER.get(key, key) for key in self.study.columns])
        columns = ordered[list(self.study.columns)].itertuples(index=False, name=None)
        return list(dict.fromkeys(columns))

    def head(self, column: Column) -> str:
        """Write the head of a column."""
        return ", ".join(value_name(key, value) for key, value in zip(self.study.columns, column, strict=True))

    def at(self, table: pd.DataFrame, columns: Collection[Column]) -> pd.DataFrame:
        """Return the lines of a table in some columns."""
        return table[pd.MultiIndex.from_frame(table[list(self.study.columns)]).isin(columns)]

    @property
    def usual(self) -> Column:
        """The column that stands for all: of those with the usual latency, that with the usual number in flight."""
        study = self.study
        if "in_flight" not in study.columns:
            return self.columns[-1 if study.plots[0].is_ratio else 0]
        place = study.columns.index("in_flight")
        end = self.columns[-1 if study.usual == "last" else 0]
        alike = [column for column in self.columns if column[:place] == end[:place]]
        return min(alike, key=lambda column: abs(math.log(max(1, column[place]) / USUAL_IN_FLIGHT)))

    def nearest(self, column: Column) -> dict[str, Any]:
        """Return the mean of each line in a column; of one that has none there, that nearest in number in flight."""
        means = self.means
        for key, value in zip(self.study.columns, column, strict=True):
            if key == "in_flight":
                means = means.assign(far=(means[key] - value).abs()).sort_values("far")
            else:
                means = means[means[key] == value]
        return {mean.line: mean for mean in records(means.drop_duplicates("line"))}

    @cached_property
    def stacks(self) -> dict[str, str]:
        """The stack of each line: the shared stack first, then the best in the usual column."""
        usual = self.at(self.means, [self.usual]).set_index("line")["estimate"]
        lines = self.means.drop_duplicates("line", keep="last")[["line", "stack"]]
        lines["rank"] = lines["stack"].map(STACKS).fillna(2)
        lines["usual"] = lines["line"].map(usual)
        is_rising = not self.study.figure.is_more_better
        lines = lines.sort_values(["rank", "usual", "line"], ascending=[True, is_rising, True])
        return dict(zip(lines["line"], lines["stack"], strict=True))

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """The ratios to the baseline of a study with an axis, by line and columns."""
        assert self.study.over is not None
        axis, baseline = self.study.over
        lines = self.compared
        if axis == "arm":
            table = contrast(lines, axis, baseline, [*self.study.columns, "reference"])
            return table.assign(line=table["arm"].map(words.name))
        lines = lines[lines["role"] != "placebo"]
        by = ["line", *(key for key in self.study.columns if key != axis)]
        if baseline == "first":
            references = lines[lines["role"] == "reference"][axis]
            baseline = min(references if len(references) else lines[axis])
        elif baseline == "best":
            best = self.means.sort_values("estimate").groupby("line")[axis].last()
            lines = lines.assign(best=lines["line"].map(best))
            by.append("best")
        return contrast(lines, axis, baseline, by)

    @property
    def controls(self) -> pd.DataFrame:
        """The ratios of the reference to itself, where it was measured twice."""
        is_control = ~self.ratios["line"].isin(self.stacks) & self.ratios["resolution"].ne(math.inf)
        return self.ratios[is_control]

    @cached_property
    def able(self) -> pd.DataFrame:
        """The means that can be compared: valid, not unstable; where two are of several blocks, no single ones.

        ``is_sure`` is whether a mean is of several blocks, ``shared`` the number of those of the shared stack in the
        same column.
        """
        keys = list(self.study.columns)
        unstable = self.lines.loc[self.lines["is_unstable"], ["line", *keys]].drop_duplicates()
        able = self.means[self.means["valid"]].merge(unstable, "left", indicator="origin")
        able = able[able["origin"] == "left_only"]
        able = able.assign(is_sure=able["n"] > 1, shared=able["stack"] == "shared")
        able = able[able["is_sure"] | (able.groupby(keys)["is_sure"].transform("sum") < 2)]
        return able.assign(shared=able.groupby(keys)["shared"].transform("sum"))

    @cached_property
    def ranked(self) -> dict[Column, list[Any]]:
        """For each column with two means that can be compared, these means: the best first (``rank``).

        They are of the shared stack, if it has two of them.
        """
        return self._ranked((self.able["stack"] == "shared") | (self.able["shared"] < 2))

    @cached_property
    def ranked_of_own(self) -> dict[Column, list[Any]]:
        """The same of those with a stack of their own and the best of the shared one, where that has two."""
        best = {(*column, means[0].line) for column, means in self.ranked.items()}
        places = self.able[[*self.study.columns, "line"]].apply(tuple, axis=1)
        return self._ranked((places.isin(best) | (self.able["stack"] == "own")) & (self.able["shared"] > 1))

    def _ranked(self, chosen: "pd.Series[bool]") -> dict[Column, list[Any]]:
        """Return the chosen means of each column, the best first; only columns with two of them."""
        table = rank(self.study, self.compared, self.able[chosen], self.study.columns)
        columns = {key: records(means) for key, means in table.groupby(list(self.study.columns), sort=False)}
        return {column: columns[column] for column in self.columns if len(columns.get(column, ())) > 1}

    @cached_property
    def tiles(self) -> dict[Column, Tile]:
        """Who is best in each column; nobody in one with single blocks."""
        tiles = dict.fromkeys(self.columns, Tile((), math.nan, is_decided=False))
        for column, (best, *others) in self.ranked.items():
            if best.n > 1:
                tied = [mean.line for mean in others if mean.answer != "differs"]
                ratio = best.estimate / others[-1].estimate
                lead = max(ratio, 1 / ratio)
                tiles[column] = Tile((best.line, *tied), lead, len(tied) < len(others))
        return tiles

    @property
    def names(self) -> list[str]:
        """The figures of a study of medians that some trial of the part has."""
        measured = map(str, self.figures.select_dtypes("number"))
        wanted = self.study.figures or [name for name in measured if name not in {*self.study.columns, "valid"}]
        return [name for name in wanted if name in self.figures and self.figures[name].notna().any()]


def rank(study: Study, lines: pd.DataFrame, able: pd.DataFrame, keys: Sequence[str] = ()) -> pd.DataFrame:
    """Return means, the best first, each with its ``ratio`` to the best one that is equal in the keys.

    ``next_high`` is infinite where one block says nothing of the next run; ``answer`` is that of ``contrast``.
    """
    able = able.sort_values("estimate", ascending=not study.figure.is_more_better)
    able["best"] = able.groupby(list(keys))["line"].transform("first") if keys else able["line"].iloc[0]
    ratios = contrast(lines.merge(able[["line", *keys, "best"]]), "line", "best", [*keys, "best"])
    ratios = ratios.rename(columns={"estimate": "ratio", "low": "ratio_low"})
    return able.merge(ratios[["line", *keys, "ratio", "ratio_low", "next_high", "answer"]], "left")


# The three ways to measure


def _means(study: Study, lines: pd.DataFrame) -> pd.DataFrame:
    """Return ``contrast.summary`` of all figures of the study, by figure, line and columns.

    A figure that fewer blocks have than the first figure is left out: a quantile needs many fetches
    (``frame.SAMPLES``), and its mean over the fastest blocks may be below that of a lower quantile over all.
    """
    lines = lines[lines["figure"].isin(study.figures) & (lines["role"] != "placebo")]
    ordering = [ORDER[key] for key in study.columns if key in ORDER]
    means = summary(lines, ["figure", "line", "stack", *study.columns, *ordering])
    # The frame has lower quantiles before higher ones.
    blocks = means.groupby(["line", *study.columns], dropna=False)["n"].transform("first")
    return means[means["n"] >= blocks]


def _medians(study: Study, trials: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each arm and value of the columns: these, ``stack``, ``valid``, figures and texts."""
    keys = ["arm", *study.columns]
    has_valid = trials.groupby(keys)["valid"].transform("any")
    counted = trials[trials["valid"] | ~has_valid]
    wanted = set(counted)
    if study.figures:
        wanted = {*study.figures, *study.texts, study.below, study.order}
    measured = [name for name in counted if name in wanted - {*KEYS, *OF_TRIAL, "line"}]
    numbers = [name for name in counted[measured].select_dtypes("number") if counted[name].notna().any()]
    groups = counted.groupby(keys, sort=False)
    texts = ["line", "stack", "valid", *(name for name in measured if name not in numbers)]
    lines = groups[texts].first().join(groups[numbers].median()).reset_index()
    if study.columns:
        return lines.sort_values(keys, ignore_index=True)
    if study.order in lines:
        ranks = lines.assign(rank=lines["stack"].map(STACKS))
        is_rising = [True, not study.figure.is_more_better, True]
        return ranks.sort_values(["rank", study.order, "arm"], ascending=is_rising, ignore_index=True)
    return lines


def _slopes(_study: Study, layers: pd.DataFrame) -> pd.DataFrame:
    """Return ``slopes.slopes``, by group, then the cheapest first; those without a slope of all layers come last."""
    fitted = slopes.slopes(layers, [*BY, "line"])
    full = fitted[fitted["layer"] == FULL].set_index(["group", "arm"])["estimate"]
    sizes = [full.get(key, math.nan) for key in zip(fitted["group"], fitted["arm"], strict=True)]
    ordered = fitted.assign(place=fitted["group"].map(list(GROUPS).index), full=sizes)
    return ordered.sort_values(["place", "full", "arm"], kind="stable")


MEASURES = {"mean": _means, "median": _medians, "slope": _slopes}
"""What measures the figures of a part, by ``Study.measure``."""


# Parts


def parts(study: Study, source: pd.DataFrame) -> list[Part]:
    """Return the parts of a study, the one with the most figures first; empty if there is nothing for it.

    ``source`` are the lines of the frame, or the trials for a study of medians or slopes.
    """
    rows = source[source["comparison"] == ""]
    if study.measure == "mean":
        rows = rows[rows["figure"].isin([*study.figures, *SERVED])]
        # A shorter crawl never has so many in flight.
        is_full = (rows["kind"] != "crawl") | (rows["site_pages"] >= rows["in_flight"])
        rows = rows[is_full] if is_full.any() else rows
        rows = rows[rows["kind"].isin(TIMED)]
    if study.select and len(rows):
        rows = rows.query(study.select)
    if study.measure == "slope":
        rows = slopes.layers(rows)
    if rows.empty:
        return []
    line = rows[study.lines[0]].astype(str)
    for key in study.lines[1:]:
        line = line + " " + rows[key].astype(str)
    rows = rows.assign(line=line.str.strip().map(words.name))
    # Long names may be equal as they are shown; lines of one name have one stack, whatever the rows of a stranger say.
    rows = rows.assign(stack=rows.groupby("line")["stack"].transform("first"))
    every = [Part(study, *group) for group in _split(study, rows)]
    able = [part for part in every if part.is_shown()]
    if study.measure == "mean":
        able.sort(key=lambda part: (not part.means["valid"].any(), -len(part.means)))
    elif study.measure == "median":
        able.sort(key=lambda part: -len(part.figures))
    return able


def _split(study: Study, rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Split rows into parts; idle threads and tasks, which have no connection, belong to the first."""
    if study.measure == "slope":
        rows = rows.assign(arm=rows["line"])
        is_idle = rows["group"] == "idle"
        (name, first), *others = split(rows[~is_idle], {"cpu"}) or [("", rows[~is_idle])]
        return [(name, pd.concat([first, rows[is_idle].assign(site="{}")])), *others]
    used = {*study.lines, *study.columns}
    if not study.is_largest:
        return split(rows, used)
    groups = []
    for name, trials in split(rows, used | {"in_flight"}):
        alike = trials.groupby("arm" if "in_flight" in used else "kind")
        largest = trials[trials["in_flight"] == alike["in_flight"].transform("max")]
        # If it was held only once, and others too, it is one of the sizes of a slope.
        is_held_again = len(set(trials["in_flight"])) == 1 or largest["arm"].duplicated().any()
        if is_held_again or not study.order:
            groups.append((name, largest))
    return groups


# Lines that differ in nothing but what a table shows


SPLIT = ("kind", "connection", "site", "cpu", "length", "latency", "in_flight", "interpreter", "cores")
"""Values in which the lines of a part are equal, unless its table shows them."""
USUAL = words.USUAL | {"latency": "0"}
"""Values that are not worth a name."""


def split(lines: pd.DataFrame, used: Collection[str]) -> list[tuple[str, pd.DataFrame]]:
    """Return the parts of lines, each with its name, the one with the most lines first.

    Lines of a part are equal in SPLIT, except for what is ``used`` in its table. A name has the values in which parts
    differ, and those that are not usual. The name of an arm has its interpreter and its cores.
    """
    lines = lines.assign(site=site_differences(lines["site"]))
    without = {*used, "interpreter", "cores"} if "arm" in used else used
    keys = [key for key in SPLIT if key in lines and key not in without]
    differing = {key for key in keys if len(set(lines[key])) > 1}
    parts = []
    for values, group in lines.groupby(keys, sort=False, dropna=False):
        names = []
        for key, value in zip(keys, values, strict=True):
            if key in differing or (key in USUAL and value not in {USUAL[key], "", None}):
                names.append(words.value_name(key, value))
        parts.append((words.join(", ", *names), group))
    return sorted(parts, key=lambda part: -len(part[1]))


def site_differences(sites: "pd.Series[str]") -> "pd.Series[str]":
    """Return of each site, as JSON, the values that another one does not share."""
    values = {site: json.loads(site) for site in sites.unique()}
    counts = Counter(repr(item) for each in values.values() for item in each.items())
    differing = {}
    for site, each in values.items():
        rare = [item for item in each.items() if counts[repr(item)] < len(values)]
        differing[site] = json.dumps(dict(rare))
    return sites.map(differing)
