"""A study is data: which lines of the frame, which figures, along which axis they are compared, which plot.

From it come a table of means, a table of ratios, one sentence, plots, and a table for programs.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from typing import Any, Literal, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import CONTRAST, SUMMARY, contrast, records, summary
from inflight.bench.frame.figures import Figure, figure_of
from inflight.bench.show import words
from inflight.bench.show.parts import split
from inflight.bench.show.table import Detail, Group, Line, Section, Table
from inflight.bench.show.words import value_name, value_words

STACKS = {"shared": 0, "own": 1, "none": 2}
"""Order of HTTP stacks in tables: strategies of the shared one are compared with each other."""
HEADINGS = {"own": "own HTTP stack", "none": "parts of a page"}
FINDINGS = words.TEXTS["findings"]
SIGNS = {"differs": "", "same": " =", "unknown": " ?"}
STEADY = 0.02
"""A figure that is uncertain by more than this share is shown with two digits instead of three."""
MAX_COLUMNS = 4
MAX_RATIOS = 3
MAX_PARTS = 6
"""Maximum number of parts with tables of their own."""


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


class Part(NamedTuple):
    """The lines of a study that differ in nothing but its lines and columns."""

    name: str
    """What distinguishes it from the other parts; empty for the only one."""
    lines: pd.DataFrame
    """Lines of the frame, of all its figures, with the name of their line in the table as the column ``line``."""
    means: pd.DataFrame
    """``contrast.summary`` of the first figure, by line and columns."""
    columns: list[tuple[Any, ...]]
    """The values of the columns, in order."""


ORDER = {"latency": "latency_ns", "cpu": "cpu_ns"}
"""The keys that are ordered by another one."""
SERVED = ("server_cpu_share", "server_run_delay_share", "late_ns")
"""Figures of the server that say how far a throughput and a latency are what they seem."""
MAX_SERVER_SHARE = 0.90
"""Share of its core, used or waited for, up to which the server limits no throughput."""
MAX_LATE_NS, MAX_LATE_SHARE = 1_000_000, 0.02
"""Lateness of the server up to which a latency is what was asked for: a time, and a share of the latency."""


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
    rows = rows.assign(line=line.str.strip().map(words.name))
    many = [_part(study, name, lines) for name, lines in split(rows, {*study.lines, *study.columns})]
    able = [
        part for part in many if len(part.means) and all(len(set(part.means[key])) >= study.least for key in study.vary)
    ]
    able = [part for part in able if _is_grid(part)] if study.plot.mark == "tiles" else able
    return sorted(able, key=lambda part: (not part.means["valid"].any(), -len(part.means)))


def _is_grid(part: Part) -> bool:
    """Return whether two values of one of the first two columns have two values of the other in common."""
    values: dict[Any, set[Any]] = {}
    for first, other, *_ in part.columns:
        values.setdefault(first, set()).add(other)
    return any(len(first & other) > 1 for first, other in combinations(values.values(), 2))


def _part(study: Study, name: str, lines: pd.DataFrame) -> Part:
    keys = [*study.columns, *(ORDER[key] for key in study.columns if key in ORDER)]
    counted = lines[(lines["figure"] == study.figures[0]) & (lines["role"] != "placebo")]
    means = summary(counted, ["line", "stack", *keys])
    ordered = means.sort_values([ORDER.get(key, key) for key in study.columns])
    columns = list(dict.fromkeys(ordered[list(study.columns)].itertuples(index=False, name=None)))
    return Part(name, lines, means, columns)


def head(study: Study, column: Sequence[Any]) -> str:
    """Write the head of a column."""
    return ", ".join(value_name(key, value) for key, value in zip(study.columns, column, strict=True))


def at(study: Study, table: pd.DataFrame, column: Sequence[Any]) -> pd.DataFrame:
    """Return the lines of one column."""
    is_here = pd.Series(data=True, index=table.index)
    for key, value in zip(study.columns, column, strict=True):
        is_here &= table[key] == value
    return table[is_here]


USUAL_CAP = 100


def usual(study: Study, part: Part) -> tuple[Any, ...]:
    """Return the column that stands for all: of the first ones, that with the number in flight nearest to USUAL_CAP."""
    if "in_flight" not in study.columns:
        return part.columns[-1 if study.plot.is_ratio else 0]
    place = study.columns.index("in_flight")
    alike = [column for column in part.columns if place == 0 or column[:place] == part.columns[0][:place]]
    return min(alike, key=lambda column: abs(math.log(max(1, column[place]) / USUAL_CAP)))


def ordered(study: Study, part: Part) -> list[tuple[str, str]]:
    """Return each line with its stack: the shared stack first, then the best in the usual column."""
    here = at(study, part.means, usual(study, part)).set_index("line")["estimate"]
    sign = -1 if study.figure.is_more_better else 1
    lines = dict(zip(part.means["line"], part.means["stack"], strict=True))
    return sorted(
        lines.items(), key=lambda item: (STACKS.get(item[1], 2), sign * here.get(item[0], sign * math.inf), item[0])
    )


def ratios(study: Study, part: Part) -> pd.DataFrame:
    """Return the ratios of a study with an axis to its baseline, by line and columns."""
    assert study.over is not None
    axis, baseline = study.over
    lines = part.lines[part.lines["figure"] == study.figures[0]]
    lines = lines if axis == "arm" else lines[lines["role"] != "placebo"]
    if baseline == "first":
        named = lines[lines["role"] == "reference"][axis]
        baseline = named.iloc[0] if axis == "interpreter" and len(named) else min(lines[axis])
    if baseline == "best":
        best = part.means.sort_values("estimate").groupby("line")[axis].last()
        lines = lines.assign(best=lines["line"].map(best))
    by = ["line", *study.columns, *([baseline] if baseline in {"reference", "best"} else [])]
    table = contrast(lines, axis, baseline, [key for key in by if key != axis and (key, axis) != ("line", "arm")])
    return table.assign(line=table["arm"].map(words.name)) if axis == "arm" else table


def served(study: Study, part: Part) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Return what stands before and behind a throughput, by line and column: ``≥`` and the latency that was served."""
    if study.figures[0] != "pages_per_s":
        return {}
    lines = part.lines[part.lines["valid"] & part.lines["figure"].isin(SERVED) & (part.lines["kind"] == "arm")]
    keys = ["line", *study.columns, "latency_ns"]
    wide = lines.pivot_table("value", list(dict.fromkeys(keys)), "figure", "median").reset_index()
    wide = wide.reindex(columns=[*wide.columns, *(name for name in SERVED if name not in wide)]).fillna(
        dict.fromkeys(SERVED, 0)
    )
    around = {}
    for line in wide.to_dict("records"):
        is_full = line["server_cpu_share"] + line["server_run_delay_share"] > MAX_SERVER_SHARE
        is_late = line["late_ns"] > MAX_LATE_NS + MAX_LATE_SHARE * line["latency_ns"]
        late = f" at {units.duration(line['latency_ns'] + line['late_ns'], 2)}" if is_late else ""
        around[line["line"], tuple(line[key] for key in study.columns)] = ("≥" if is_full else "", late)
    return around


class Tile(NamedTuple):
    """The fastest of one column, those that tie with it, and how far it is ahead of the slowest."""

    best: tuple[str, ...]
    """The fastest first; empty if fewer than two can be compared."""
    ratio: float
    is_decided: bool
    """Whether some line is behind by a certain difference."""


def ranked(study: Study, part: Part) -> dict[tuple[Any, ...], list[Any]]:
    """Return, for each column with two means that can be compared, these means: the best first.

    They are of the shared stack, if it has two of them. Each has its ``ratio`` to the best one (the low end of the
    interval is ``ratio_low``), and the ``answer``.
    """
    keys = list(study.columns)
    able = part.means[part.means["valid"] & (part.means["n"] > 1)]
    is_shared = able["stack"] == "shared"
    shared = is_shared.groupby([able[key] for key in keys]).transform("sum")
    able = able[is_shared | (shared < 2)].sort_values("estimate", ascending=not study.figure.is_more_better)
    able = able.assign(best=able.groupby(keys)["line"].transform("first"))
    lines = part.lines[part.lines["figure"] == study.figures[0]].merge(able[["line", *keys, "best"]])
    ratios = contrast(lines, "line", "best", [*keys, "best"])
    ratios = ratios.rename(columns={"estimate": "ratio", "low": "ratio_low"})
    able = able.merge(ratios[["line", *keys, "ratio", "ratio_low", "answer"]], "left")
    columns = {key: records(means) for key, means in able.groupby(keys, sort=False)}
    return {column: columns[column] for column in part.columns if len(columns.get(column, ())) > 1}


def tile(means: Sequence[Any]) -> Tile:
    """Return who is best of the means of a column (``ranked``)."""
    if not means:
        return Tile((), math.nan, is_decided=False)
    tied = [mean.line for mean in means[1:] if mean.answer != "differs"]
    ratio = means[0].estimate / means[-1].estimate
    return Tile((means[0].line, *tied), max(ratio, 1 / ratio), len(tied) + 1 < len(means))


def text(figure: Figure, mean: Any) -> str:
    """Write a mean with half of its interval, and a mark if it is of invalid trials."""
    half = max(mean.high / mean.estimate - 1, 1 - mean.low / mean.estimate)
    value = figure.write(mean.estimate, 3 if half <= STEADY else 2).removesuffix(" pages/s")
    off = "" if mean.n == 1 else f" {words.WIDE}" if half >= 1 else f" ±{units.number(100 * half, 1)} %"
    return f"{value}{off}{'' if mean.valid else '✗'}"


def ratio_text(line: Any) -> str:
    """Write a ratio with its interval; ``=``: equal within 2 %; ``?``: no certain difference."""
    ends = "" if math.isinf(line.high) else f" ({line.low:.2f} to {line.high:.2f})"
    ratio = f"{line.estimate:.2f}x" if line.estimate < 100 else units.times(line.estimate, 3)
    return f"{ratio}{ends}{SIGNS[line.answer]}"


def findings(study: Study, part: Part) -> Iterator[str]:
    """Yield one sentence each for the first and the last column in which two lines can be compared.

    Where columns are compared with each other, there is one for each, and tiles are counted.
    """
    if study.over and study.over[0] in study.columns and study.over[1] != "best":
        yield from _axis_findings(study, part, study.over[0])
        return
    able = ranked(study, part)
    if study.plot.mark == "tiles":
        yield from _tile_findings(study, able)
    else:
        yield from (_finding(study, part, column, able[column]) for column in dict.fromkeys([*able][:1] + [*able][-1:]))


def _tile_findings(study: Study, able: Mapping[tuple[Any, ...], Sequence[Any]]) -> Iterator[str]:
    tiles = {column: tile(means) for column, means in able.items()}
    decided = [column for column, best in tiles.items() if best.is_decided]
    if tiles:
        yield FINDINGS["tie"].format(tied=len(tiles) - len(decided), number=len(tiles))
    for column in sorted(decided, key=lambda column: -tiles[column].ratio)[:1]:
        best, ratio = tiles[column].best[0], units.times(tiles[column].ratio)
        yield FINDINGS["lead"].format(best=best, ratio=ratio, where=head(study, column))


def _axis_findings(study: Study, part: Part, axis: str) -> Iterator[str]:
    table = ratios(study, part).sort_values("estimate")
    for column in evenly([column for column in part.columns if len(at(study, table, column))], MAX_RATIOS):
        lines = records(at(study, table, column))
        yield FINDINGS["axis"].format(
            where=words.join(", ", head(study, column), part.name),
            baseline=value_name(axis, lines[0].baseline),
            words=study.figure.words,
            low=units.times(lines[0].estimate, 3),
            first=lines[0].line,
            high=units.times(lines[-1].estimate, 3),
            last=lines[-1].line,
            certain=sum(line.answer == "differs" for line in lines),
            number=len(lines),
        )


def _finding(study: Study, part: Part, column: Sequence[Any], means: Sequence[Any]) -> str:
    best, worst = means[0], means[-1]
    is_same = all(mean.answer == "same" for mean in means[1:])
    return FINDINGS["differs" if worst.answer == "differs" else "same" if is_same else "unknown"].format(
        where=words.join(", ", head(study, column), part.name),
        number=len(means),
        best=best.line,
        worst=worst.line,
        best_word=study.figure.best or f"lowest in {study.figure.words}",
        worst_word=study.figure.worst or "highest",
        best_value=study.figure.write(best.estimate, 2),
        worst_value=study.figure.write(worst.estimate, 2),
        ratio=units.times(max(worst.ratio, 1 / worst.ratio)),
    )


# Tables


def section(study: Study, many: Sequence[Part]) -> Section:
    """Return the findings and the tables of a study that has parts."""
    tables = [table for part in many[:MAX_PARTS] for table in _tables(study, part)]
    more = tuple(table for part in many[:MAX_PARTS] for table in _other_figures(study, part))
    entries = [entry for table in tables for line in table.cells for entry in line[1:]]
    signs = [text for sign, text in words.TEXTS["signs"].items() if any(sign in entry for entry in entries)]
    return Section(
        "",
        tuple(tables),
        tuple(filter(None, dict.fromkeys([study.note, *signs]))),
        details=(Detail("Further figures", tables=more),) if more else (),
        findings=tuple(findings(study, many[0])) if study.is_headline else (),
    )


def _tables(study: Study, part: Part) -> Iterator[Table]:
    title = words.join(", ", study.title, part.name)
    if study.plot.mark == "tiles":
        yield from _tiles(study, part, title)
        return
    around = served(study, part)

    def write(mean: Any) -> str:
        before, behind = around.get((mean.line, tuple(getattr(mean, key) for key in study.columns)), ("", ""))
        return f"{before}{text(study.figure, mean)}{behind}"

    names = ordered(study, part)
    yield _table(study, title, names, part.means, part.columns, write)
    if study.over is not None and len(table := ratios(study, part)):
        baselines = table["baseline"].unique()
        against = baselines[0] if len(baselines) == 1 else f"the {study.over[1]}"
        again = [(line, "") for line in table["line"].unique() if line not in dict(names)]
        able = [column for column in part.columns if len(at(study, table, column))]
        title = f"{title}: ratio to {against} (95 %)"
        yield _table(study, title, [*again, *names], table, able, ratio_text, MAX_RATIOS)


def _other_figures(study: Study, part: Part) -> Iterator[Table]:
    """Yield a table of each figure that is not compared."""
    for name in study.figures[1:]:
        figure, lines = figure_of(name), part.lines[part.lines["figure"] == name]
        means = summary(lines[lines["role"] != "placebo"], ["line", *study.columns])
        title = words.join(", ", f"{figure.words[0].upper()}{figure.words[1:]}", part.name)
        yield _table(study, title, ordered(study, part), means, part.columns, partial(text, figure))


def _tiles(study: Study, part: Part, title: str) -> Iterator[Table]:
    """Yield, for each value of the facet, who is best at each place."""
    x, facet = study.plot.x, study.plot.facet
    (y,) = set(study.columns) - {x, facet}
    able = ranked(study, part)
    tiles = [tile_text(tile(able.get(column, ()))) for column in part.columns]
    places = pd.DataFrame(part.columns, columns=list(study.columns)).assign(text=tiles)
    for value, tiles_here in places.groupby(facet):
        grid = tiles_here.set_index([y, x])["text"].unstack(fill_value="-")  # noqa: PD010
        heads = (value_words(y), *(value_name(x, item) for item in grid))
        lines = ((value_name(y, item), *grid.loc[item]) for item in tiles_here[y].unique())
        yield Table(words.join(", ", title, value_name(facet, value)), heads, tuple(lines))


def tile_text(place: Tile) -> str:
    """Write who is best: ``callbacks +1, 1.3x``; ``tie``: no certain difference; ``?``: nothing to compare."""
    if not place.best or not place.is_decided:
        return "tie" if place.best else "?"
    tied = f" +{len(place.best) - 1}" if len(place.best) > 1 else ""
    return f"{place.best[0]}{tied}, {units.times(place.ratio)}"


def _table(
    study: Study,
    title: str,
    names: Sequence[tuple[str, str]],
    table: pd.DataFrame,
    columns: Sequence[tuple[Any, ...]],
    write: Callable[[Any], str],
    most: int = MAX_COLUMNS,
) -> Table:
    """Return a table with a line for each name, those of each stack below a heading; a single name is the column."""
    entries = {(each.line, column): write(each) for column in columns for each in records(at(study, table, column))}
    if len(only := {name for name, _ in entries}) == 1 < len(columns):
        return Table(title, ("", *only), tuple((head(study, column), text) for (_, column), text in entries.items()))
    every, columns = columns, evenly(columns, most)
    lines: list[Line] = []
    for stack, named in groupby(names, key=lambda line: line[1]):
        cells = [(name, *(entries.get((name, column), "-") for column in columns)) for name, _ in named]
        cells = [line for line in cells if set(line[1:]) != {"-"}]
        lines += [Group(HEADINGS[stack])] if cells and lines and stack in HEADINGS else []
        lines += cells
    more = len(every) - len(columns)
    notes = (f"Columns that are not shown: {more}.",) if more else ()
    return Table(title, ("strategy", *(head(study, column) for column in columns)), tuple(lines), notes)


def evenly(values: Sequence[Any], most: int = MAX_COLUMNS) -> list[Any]:
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
        compared = [ratios(study, part).assign(part=part.name) for part in many]
        tables.append(_indexed(compared, keys, CONTRAST).add_prefix("ratio_"))
    return pd.concat(tables, axis=1).reset_index()


def _indexed(many: Sequence[pd.DataFrame], keys: list[str], names: Sequence[str]) -> pd.DataFrame:
    table = pd.concat([pd.DataFrame(columns=[*keys, *names]), *many]) if not many else pd.concat(many)
    table = table.reindex(columns=[*keys, *names]).drop_duplicates(keys, keep="last").set_index(keys)
    endless = table["high"] == math.inf
    return table.assign(low=table["low"].mask(endless), high=table["high"].mask(endless)).astype({"n": "Int64"})
