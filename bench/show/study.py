"""A study is data: which lines of the frame, which figures, along which axis they are compared, which plot.

From it come a table of means, a table of ratios, one sentence, plots, and a table for programs.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, groupby
from typing import Any, Literal, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import CONTRAST, SUMMARY, contrast, records, summary
from inflight.bench.frame.figures import Figure, figure_of
from inflight.bench.show import words
from inflight.bench.show.parts import name_lines, split
from inflight.bench.show.table import Detail, Group, Line, Section, Table
from inflight.bench.show.words import TEXTS, join, value_name, value_words

STACKS = {"shared": 0, "own": 1, "none": 2}
"""Order of HTTP stacks in tables: strategies of the shared one are compared with each other."""
HEADINGS = {"own": "own HTTP stack", "none": "parts of a page"}
FINDINGS = TEXTS["findings"]
SIGNS = {"differs": "", "same": " =", "unknown": " ?", "unstable": " unstable"}
DIGITS = {"pages_per_s": 3}
"""Significant digits of a figure; of others two."""
MAX_COLUMNS = 4
"""Maximum number of columns of a table whose lines are strategies."""
MAX_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class Plot:
    """How a study is drawn: a mark, with an axis; a panel for each value of ``facet``.

    Lines over an axis with fewer than three values become bars.
    """

    mark: Literal["lines", "bars", "dots", "tiles"]
    x: str = ""
    facet: str = "latency"
    is_ratio: bool = False
    """Whether ratios along the axis of the study are drawn instead of the figure itself."""


@dataclass(frozen=True, slots=True)
class Study:
    """One comparison of figures."""

    name: str
    title: str
    """A noun phrase."""
    figures: tuple[str, ...]
    """The first is compared; the others are shown beside it."""
    plot: Plot
    select: str = ""
    """A query on the lines."""
    lines: tuple[str, ...] = ("arm",)
    """The keys whose values each have a line of the table."""
    columns: tuple[str, ...] = ("latency", "in_flight")
    """The keys whose values each have a column."""
    over: tuple[str, object] | None = None
    """The axis of a second table, with ratios, and its baseline: a value, ``reference`` (the arm of the block),
    ``first``, or ``best`` (the best value of each line)."""
    note: str = ""
    vary: tuple[str, ...] = ()
    """Keys that have at least ``least`` values in each part; a part in which one has fewer is left out."""
    least: int = 2
    is_headline: bool = True
    """Whether its finding stands at the top of a report."""
    replaces: tuple[str, ...] = ()
    """Studies that are left out where this one has something to show."""

    @property
    def figure(self) -> Figure:
        """The figure that is compared."""
        return figure_of(self.figures[0])


Column = tuple[Any, ...]
"""Values of the keys in ``columns``, in their order."""
ORDER = {"latency": "latency_ns", "cpu": "cpu_ns"}
"""The keys that are ordered by another one."""
SERVED = ("server_cpu_share", "server_run_delay_share", "late_ns")
"""Figures of the server that say how far a throughput and a latency are what they seem."""
MAX_SERVER_SHARE = 0.90
"""Share of its core, used or waited for, up to which the server limits no throughput."""
MAX_LATE_NS, MAX_LATE_SHARE = 1_000_000, 0.02
"""Lateness of the server up to which a latency is what was asked for: a time, and a share of the latency."""
USUAL_CAP = 100
"""Of several numbers in flight, the nearest to this one stands for all."""


class Tile(NamedTuple):
    """The fastest of one column, those that tie with it, and how far it is ahead of the slowest."""

    best: tuple[str, ...]
    """The fastest first; empty if fewer than two can be compared."""
    ratio: float
    is_decided: bool
    """Whether some line is behind by a certain difference."""


@dataclass(frozen=True)
class Part:
    """The lines of a study that differ in nothing but its lines and columns."""

    study: Study
    name: str
    """What distinguishes it from the other parts; empty for the only one."""
    lines: pd.DataFrame
    """Lines of the frame, of all its figures, with the name of their line in the table as the column ``line``."""

    @cached_property
    def all_means(self) -> pd.DataFrame:
        """``contrast.summary`` of all figures of the study, by figure, line and columns."""
        columns = self.study.columns
        lines = self.lines[self.lines["figure"].isin(self.study.figures) & (self.lines["role"] != "placebo")]
        return summary(lines, ["figure", "line", "stack", *columns, *(ORDER[key] for key in columns if key in ORDER)])

    def means_of(self, figure: str) -> pd.DataFrame:
        """Return the means of a figure."""
        return self.all_means[self.all_means["figure"] == figure]

    @cached_property
    def means(self) -> pd.DataFrame:
        """The means of the figure that is compared."""
        return self.means_of(self.study.figures[0])

    @property
    def trials(self) -> "pd.Series[str]":
        """The valid trials behind the means of the figure that is compared."""
        has_figure = (self.lines["figure"] == self.study.figures[0]) & (self.lines["value"] > 0)
        return self.lines["trial"][has_figure & self.lines["valid"]]

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, in order."""
        ordered = self.means.sort_values([ORDER.get(key, key) for key in self.study.columns])
        return list(dict.fromkeys(ordered[list(self.study.columns)].itertuples(index=False, name=None)))

    def is_shown(self) -> bool:
        """Return whether the study has something to show of the part."""
        study = self.study
        if not len(self.means) or any(len(set(self.means[key])) < study.least for key in study.vary):
            return False
        values: dict[Any, set[Any]] = {}
        for first, other, *_ in self.columns if study.plot.mark == "tiles" else ():
            values.setdefault(first, set()).add(other)
        is_grid = any(len(first & other) > 1 for first, other in combinations(values.values(), 2))
        return is_grid or study.plot.mark != "tiles"

    def head(self, column: Column) -> str:
        """Write the head of a column."""
        return ", ".join(value_name(key, value) for key, value in zip(self.study.columns, column, strict=True))

    def at(self, table: pd.DataFrame, columns: Collection[Column]) -> pd.DataFrame:
        """Return the lines of a table in some columns."""
        return table[pd.MultiIndex.from_frame(table[list(self.study.columns)]).isin(columns)]

    @property
    def usual(self) -> Column:
        """The column that stands for all: of the first ones, that with the usual number in flight."""
        study = self.study
        if "in_flight" not in study.columns:
            return self.columns[-1 if study.plot.is_ratio else 0]
        place = study.columns.index("in_flight")
        alike = [column for column in self.columns if place == 0 or column[:place] == self.columns[0][:place]]
        return min(alike, key=lambda column: abs(math.log(max(1, column[place]) / USUAL_CAP)))

    @cached_property
    def stacks(self) -> dict[str, str]:
        """The stack of each line: the shared stack first, then the best in the usual column."""
        here = self.at(self.means, [self.usual]).set_index("line")["estimate"]
        sign = -1 if self.study.figure.is_more_better else 1
        lines = dict(zip(self.means["line"], self.means["stack"], strict=True))
        order = {
            line: (STACKS.get(stack, 2), sign * here.get(line, sign * math.inf), line) for line, stack in lines.items()
        }
        return {line: lines[line] for line in sorted(lines, key=order.__getitem__)}

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """The ratios to the baseline of a study with an axis, by line and columns."""
        assert self.study.over is not None
        axis, baseline = self.study.over
        lines = self.lines[self.lines["figure"] == self.study.figures[0]]
        lines = lines if axis == "arm" else lines[lines["role"] != "placebo"]
        if baseline == "first":
            named = lines[lines["role"] == "reference"][axis]
            baseline = named.iloc[0] if axis == "interpreter" and len(named) else min(lines[axis])
        if baseline == "best":
            best = self.means.sort_values("estimate").groupby("line")[axis].last()
            lines = lines.assign(best=lines["line"].map(best))
        by = ["line", *self.study.columns, *([baseline] if baseline in {"reference", "best"} else [])]
        table = contrast(lines, axis, baseline, [key for key in by if key != axis and (key, axis) != ("line", "arm")])
        return table.assign(line=table["arm"].map(words.name)) if axis == "arm" else table

    @property
    def controls(self) -> pd.DataFrame:
        """The ratios of the reference to itself, where it was measured twice."""
        is_control = ~self.ratios["line"].isin(self.stacks) & self.ratios["resolution"].ne(math.inf)
        return self.ratios[is_control]

    @cached_property
    def ranked(self) -> dict[Column, list[Any]]:
        """For each column with two means that can be compared, these means: the best first.

        They are of the shared stack, if it has two of them. Each has its ``ratio`` to the best one (the low end of the
        interval is ``ratio_low``), and the ``answer``.
        """
        keys = list(self.study.columns)
        unstable = self.lines.loc[self.lines["is_unstable"], ["line", *keys]].drop_duplicates()
        able = self.means[self.means["valid"] & (self.means["n"] > 1)].merge(unstable, "left", indicator="is_stable")
        able = able[able.pop("is_stable") == "left_only"]
        is_shared = able["stack"] == "shared"
        shared = is_shared.groupby([able[key] for key in keys]).transform("sum")
        able = able[is_shared | (shared < 2)].sort_values("estimate", ascending=not self.study.figure.is_more_better)
        able = able.assign(best=able.groupby(keys)["line"].transform("first"))
        lines = self.lines[self.lines["figure"] == self.study.figures[0]].merge(able[["line", *keys, "best"]])
        ratios = contrast(lines, "line", "best", [*keys, "best"])
        ratios = ratios.rename(columns={"estimate": "ratio", "low": "ratio_low"})
        able = able.merge(ratios[["line", *keys, "ratio", "ratio_low", "answer"]], "left")
        columns = {key: records(means) for key, means in able.groupby(keys, sort=False)}
        return {column: columns[column] for column in self.columns if len(columns.get(column, ())) > 1}

    @cached_property
    def tiles(self) -> dict[Column, Tile]:
        """Who is best in each column."""
        tiles = dict.fromkeys(self.columns, Tile((), math.nan, is_decided=False))
        for column, (best, *others) in self.ranked.items():
            tied = [mean.line for mean in others if mean.answer != "differs"]
            ratio = best.estimate / others[-1].estimate
            tiles[column] = Tile((best.line, *tied), max(ratio, 1 / ratio), len(tied) < len(others))
        return tiles

    @cached_property
    def findings(self) -> list[str]:
        """One sentence each for the first and the last column in which two lines can be compared.

        Where columns are compared with each other, there is one for each, and tiles are counted.
        """
        if self.study.over and self.study.over[0] in self.study.columns and self.study.over[1] != "best":
            return list(_axis_findings(self, self.study.over[0]))
        if self.study.plot.mark == "tiles":
            return list(_tile_findings(self))
        ends = dict.fromkeys([*self.ranked][:1] + [*self.ranked][-1:])
        return [*(_finding(self, column) for column in ends), *_control_findings(self)]


def parts(study: Study, frame: pd.DataFrame) -> list[Part]:
    """Return the parts of a study, the one with the most workloads first; empty if the frame has none."""
    rows = frame[frame["figure"].isin([*study.figures, *SERVED]) & (frame["comparison"] == "")]
    is_full = (rows["kind"] != "crawl") | (rows["site_pages"] >= rows["in_flight"])  # a shorter crawl never has so many
    rows = rows[is_full] if is_full.any() else rows
    rows = rows.query(study.select) if study.select else rows
    if rows.empty:
        return []
    line = rows[study.lines[0]].astype(str)
    for key in study.lines[1:]:
        line = line + " " + rows[key].astype(str)
    rows = name_lines(rows, line.str.strip())
    many = [Part(study, name, lines) for name, lines in split(rows, {*study.lines, *study.columns})]
    able = [part for part in many if part.is_shown()]
    return sorted(able, key=lambda part: (not part.means["valid"].any(), -len(part.means)))


def _served(part: Part) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Return what stands before and behind a throughput, by line and column: ``≥`` and the latency that was served."""
    if part.study.figures[0] != "pages_per_s":
        return {}
    lines = part.lines[part.lines["valid"] & part.lines["figure"].isin(SERVED) & (part.lines["kind"] == "arm")]
    keys = list(dict.fromkeys(["line", *part.study.columns, "latency_ns"]))
    wide = lines.pivot_table("value", keys, "figure", "median").reindex(columns=SERVED).fillna(0).reset_index()
    around = {}
    for line in wide.to_dict("records"):
        is_full = line["server_cpu_share"] + line["server_run_delay_share"] > MAX_SERVER_SHARE
        is_late = line["late_ns"] > MAX_LATE_NS + MAX_LATE_SHARE * line["latency_ns"]
        late = f" at {units.duration(line['latency_ns'] + line['late_ns'], 2)}" if is_late else ""
        around[line["line"], tuple(line[key] for key in part.study.columns)] = ("≥" if is_full else "", late)
    return around


def text(figure: Figure, mean: Any) -> str:
    """Write a mean, and a mark if it is of invalid trials."""
    value = figure.write(mean.estimate, DIGITS.get(mean.figure, 2)).removesuffix(" pages/s")
    return f"{value}{'' if mean.valid else '✗'}"


def ratio_text(line: Any) -> str:
    """Write a ratio and where the next run is expected; ``=``: equal within 2 %; ``?``: no certain difference.

    Of an unstable arm, the range of its blocks.
    """
    if math.isinf(line.next_high):
        return f"{_two(line.estimate)}x one block{SIGNS[line.answer]}"
    ends = f"{_two(line.next_low)} to {_two(line.next_high)}"
    if line.answer == "unstable":
        return f"{ends}{SIGNS[line.answer]}"
    return f"{_two(line.estimate)}x ({ends}){SIGNS[line.answer]}"


def _two(ratio: float) -> str:
    """Write a ratio with two digits."""
    return units.number(ratio, 2)


# Findings


def _tile_findings(part: Part) -> Iterator[str]:
    tiles = {column: part.tiles[column] for column in part.ranked}
    decided = [column for column, best in tiles.items() if best.is_decided]
    if tiles:
        yield FINDINGS["tie"].format(tied=len(tiles) - len(decided), number=len(tiles))
    for column in sorted(decided, key=lambda column: -tiles[column].ratio)[:1]:
        best, ratio = tiles[column].best[0], units.times(tiles[column].ratio)
        yield FINDINGS["lead"].format(best=best, ratio=ratio, where=part.head(column))


def _control_findings(part: Part) -> Iterator[str]:
    """Say what identical code gave, and which differences cannot be told, once for each workload with a control."""
    for column in part.columns if part.study.over else ():
        for control in records(part.at(part.controls, [column])):
            yield FINDINGS["control"].format(
                where=join(", ", part.head(column), part.name),
                ratio=f"{_two(control.estimate)}x",
                share=units.percent(control.resolution - 1),
            )


def _axis_findings(part: Part, axis: str) -> Iterator[str]:
    table = part.ratios.sort_values("estimate")
    for column in evenly([column for column in part.columns if len(part.at(table, [column]))], MAX_FINDINGS):
        lines = records(part.at(table, [column]))
        yield FINDINGS["axis"].format(
            where=join(", ", part.head(column), part.name),
            baseline=value_name(axis, lines[0].baseline),
            words=part.study.figure.words,
            low=units.times(lines[0].estimate, 3),
            first=lines[0].line,
            high=units.times(lines[-1].estimate, 3),
            last=lines[-1].line,
            certain=sum(line.answer == "differs" for line in lines),
            number=len(lines),
        )


def _finding(part: Part, column: Column) -> str:
    figure, means = part.study.figure, part.ranked[column]
    best, worst = means[0], means[-1]
    is_of_several = best.stack == "shared" and part.at(part.means, [column])["stack"].ne("shared").any()
    is_same = all(mean.answer == "same" for mean in means[1:])
    return FINDINGS["differs" if worst.answer == "differs" else "same" if is_same else "unknown"].format(
        where=join(", ", part.head(column), part.name, "shared stack" if is_of_several else ""),
        number=len(means),
        best=best.line,
        worst=worst.line,
        best_word=figure.best or f"lowest in {figure.words}",
        worst_word=figure.worst or "highest",
        best_value=figure.write(best.estimate, DIGITS.get(best.figure, 2)),
        worst_value=figure.write(worst.estimate, DIGITS.get(worst.figure, 2)),
        ratio=units.times(max(worst.ratio, 1 / worst.ratio)),
    )


# Tables


def section(many: Sequence[Part]) -> Section:
    """Return the findings and the tables of the parts of a study, at least one."""
    study = many[0].study
    tables = [table for part in many for table in _tables(part)]
    more = tuple(table for part in many for table in _other_figures(part))
    entries = [entry for table in tables for line in table.cells for entry in line[1:]]
    signs = [text for sign, text in TEXTS["signs"].items() if any(sign in entry for entry in entries)]
    return Section(
        "",
        tuple(tables),
        tuple(filter(None, dict.fromkeys([study.note, *signs]))),
        details=(Detail("Further figures", tables=more),) if more else (),
        findings=tuple(many[0].findings) if study.is_headline else (),
    )


def _tables(part: Part) -> Iterator[Table]:
    study, title = part.study, join(", ", part.study.title, part.name)
    if study.plot.mark == "tiles":
        yield from _grids(part, title)
        return
    around = _served(part)

    def write(mean: Any) -> str:
        before, behind = around.get((mean.line, tuple(getattr(mean, key) for key in study.columns)), ("", ""))
        return f"{before}{text(study.figure, mean)}{behind}"

    yield _table(part, title, part.means, write)
    if study.over is not None:
        ratios = part.ratios[part.ratios["line"].isin(part.stacks)]
        baselines = ratios["baseline"].unique()
        against = baselines[0] if len(baselines) == 1 else f"the {study.over[1]}"
        if len(ratios):
            yield _table(part, f"{title}: ratio to {against}, next run (90 %)", ratios, ratio_text)


def _other_figures(part: Part) -> Iterator[Table]:
    """Yield a table of each figure that is not compared."""
    for name in part.study.figures[1:]:
        figure = figure_of(name)
        title = join(", ", f"{figure.words[0].upper()}{figure.words[1:]}", part.name)
        yield _table(part, title, part.means_of(name), partial(text, figure))


def _grids(part: Part, title: str) -> Iterator[Table]:
    """Yield, for each value of the facet, who is best at each place."""
    x, facet = part.study.plot.x, part.study.plot.facet
    (y,) = set(part.study.columns) - {x, facet}
    texts = [tile_text(tile) for tile in part.tiles.values()]
    places = pd.DataFrame(part.columns, columns=list(part.study.columns)).assign(text=texts)
    for value, tiles in places.groupby(facet):
        grid = tiles.set_index([y, x])["text"].unstack(fill_value="-")  # noqa: PD010
        heads = (value_words(y), *(value_name(x, item) for item in grid))
        lines = ((value_name(y, item), *grid.loc[item]) for item in tiles[y].unique())
        yield Table(join(", ", title, value_name(facet, value)), heads, tuple(lines))


def tile_text(place: Tile) -> str:
    """Write who is best: ``callbacks +1, 1.3x``; ``tie``: no certain difference; ``?``: nothing to compare."""
    if not place.best or not place.is_decided:
        return "tie" if place.best else "?"
    tied = f" +{len(place.best) - 1}" if len(place.best) > 1 else ""
    return f"{place.best[0]}{tied}, {units.times(place.ratio)}"


def _table(part: Part, title: str, table: pd.DataFrame, write: Callable[[Any], str]) -> Table:
    """Return a table with a line for each name, those of each stack below a heading.

    A single name is the column. So is each name if there are more than MAX_COLUMNS columns.
    """
    entries = {
        (each.line, column): write(each) for column in part.columns for each in records(part.at(table, [column]))
    }
    columns = [column for column in part.columns if any(column == place for _, place in entries)]
    names = [name for name in part.stacks if any(name == line for line, _ in entries)]
    if len(names) == 1 < len(columns) or len(columns) > MAX_COLUMNS:
        turned = [(part.head(column), *(entries.get((name, column), "-") for name in names)) for column in columns]
        return Table(title, ("", *names), tuple(turned))
    lines: list[Line] = []
    for stack, named in groupby(names, key=lambda name: part.stacks.get(name, "")):
        lines += [Group(HEADINGS[stack])] if lines and stack in HEADINGS else []
        lines += [(name, *(entries.get((name, column), "-") for column in columns)) for name in named]
    return Table(title, ("strategy", *map(part.head, columns)), tuple(lines))


def evenly(values: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of the values: the first, the last, and evenly from between."""
    if len(values) <= most:
        return list(values)
    return [values[round(step * (len(values) - 1) / (most - 1))] for step in range(most)]


def as_frame(study: Study, many: Sequence[Part]) -> pd.DataFrame:
    """Return one line for each line and column of a study: keys, ``estimate``, ``low``, ``high``, ``n``, ``valid``.

    With an axis, the columns ``ratio_*`` have the ratio. A/A arms have a ratio only. Ends that are not known are empty.
    """
    keys = ["part", "line", *study.columns]
    tables = [_indexed([part.means.assign(part=part.name) for part in many], keys, SUMMARY)]
    if study.over:
        compared = [part.ratios.assign(part=part.name) for part in many]
        tables.append(_indexed(compared, keys, CONTRAST).add_prefix("ratio_"))
    return pd.concat(tables, axis=1).reset_index()


def _indexed(many: Sequence[pd.DataFrame], keys: list[str], names: Sequence[str]) -> pd.DataFrame:
    table = pd.concat([pd.DataFrame(columns=[*keys, *names]), *many]) if not many else pd.concat(many)
    table = table.reindex(columns=[*keys, *names]).drop_duplicates(keys, keep="last").set_index(keys)
    for ends in [("low", "high"), ("next_low", "next_high"), ("resolution",)]:
        known = [name for name in ends if name in table]
        table[known] = table[known].mask(table[known[-1]] == math.inf) if known else table[known]
    return table.astype({"n": "Int64"})
