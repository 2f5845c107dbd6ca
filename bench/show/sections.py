"""The tables of studies, for any renderer, and as DataFrames.

``studies`` calls ``section`` for the parts of a study (a part is one table, ``study.Part``), and ``as_frame`` for the
API and JSON; ``answer`` and ``draw`` use what writes a mean, a ratio and a slope. How a study measures (means over
blocks, medians over trials, slopes of memory) decides how its table is made. ``✗`` marks invalid trials, ``?`` a ratio
that is not certain, ``=`` one that is surely within 2 %.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import CONTRAST, SUMMARY, records
from inflight.bench.frame.figures import Figure, figure_of
from inflight.bench.frame.history import History, reference_memory
from inflight.bench.frame.slopes import FULL, GROUPS, LAYERS, RSS, SERVER, SLOPE
from inflight.bench.show import words
from inflight.bench.show.findings import findings
from inflight.bench.show.study import SERVED, Part, Study, Tile
from inflight.bench.show.table import Detail, Group, Line, Section, Table
from inflight.bench.show.words import TEXTS, join, short_name, value_name, value_words

HEADINGS = {"own": "own HTTP stack", "none": "parts of a page"}
"""Headings of lines of other stacks than the shared one."""
SIGNS = {"differs": "", "same": " =", "unknown": " ?", "unstable": " unstable"}
"""Sign behind a ratio, by the answer of ``contrast``."""
MAX_COLUMNS, MAX_TURNED = 4, 5
"""Maximum number of columns of a table whose lines are strategies, and of arms in one whose lines are figures."""
MAX_SPREAD = 100
"""Maximum ratio of the ends of an interval that is written."""
MAX_TEXT = 40
"""Maximum length in characters of a text that is measured and has a cell; a longer one is in the rows only."""
MAX_SERVER_SHARE = 0.90
"""Share of its core, used or waited for, up to which the server limits no throughput."""
MAX_LATE_NS, MAX_LATE_SHARE = 1_000_000, 0.02
"""Lateness of the server up to which a latency is what was asked for: a time, and a share of the latency."""
OF_SLOPE = ("group", "line", "stack", "connection", "layer", *SLOPE, "reason")
"""Columns of a study of slopes as a DataFrame."""


def section(many: Sequence[Part], history: History | None = None) -> Section:
    """Return the findings and the tables of the parts of a study, at least one. ``history``: earlier runs of memory."""
    study = many[0].study
    further: list[Table] = []
    signs: list[str] = []
    if study.measure == "mean":
        tables = [table for part in many for table in _timed_tables(part)]
        further = [table for part in many for table in _further_tables(part)]
        entries = [entry for table in tables for line in table.cells for entry in line[1:]]
        signs = [text for sign, text in TEXTS["signs"].items() if any(sign in entry for entry in entries)]
    elif study.measure == "median":
        tables = [table for part in many for table in _listed_tables(part)]
    else:
        many = [part for part in many if part.figures["estimate"].notna().any()]
        tables = [_memory_table(part, history or History()) for part in many]
    notes = dict.fromkeys([study.note, *signs]) if tables else ()
    return Section(
        "",
        tables,
        tuple(filter(None, notes)),
        details=(Detail("Further figures", tables=further),) if further else (),
        findings=findings(many[0]) if many else (),
    )


def _grouped(members: Iterable[tuple[str, tuple[str, ...]]]) -> list[Line]:
    """Return lines, each with the heading of its group before it where that changes; an empty one is left out."""
    lines: list[Line] = []
    for heading, some in groupby(members, key=lambda member: member[0]):
        if heading:
            lines.append(Group(heading))
        lines += [line for _, line in some]
    return lines


# Of means


def _timed_tables(part: Part) -> Iterator[Table]:
    """Yield the table of means, and that of ratios if the study has an axis."""
    study = part.study
    title = join(", ", part.study.title, part.name)
    if study.finding == "tiles":
        yield from _grids(part, title)
        return
    yield _table(part, title, part.means, written(part))
    if study.over is None:
        return
    ratios = part.ratios[part.ratios["line"].isin(part.stacks)]
    baselines = ratios["baseline"].unique()
    against = baselines[0] if len(baselines) == 1 else f"the {study.over[1]}"
    if len(ratios):
        yield _table(part, f"{title}: ratio to {against}, next run (90 %)", ratios, ratio_text)


def _further_tables(part: Part) -> Iterator[Table]:
    """Yield a table of each figure that is not compared."""
    for name in part.study.figures[1:]:
        figure = figure_of(name)
        title = join(", ", f"{figure.words[0].upper()}{figure.words[1:]}", part.name)
        yield _table(part, title, part.means_of(name), partial(text, figure))


def _table(part: Part, title: str, table: pd.DataFrame, write: Callable[[Any], str]) -> Table:
    """Return a table with a line for each name, those of each stack below a heading.

    A single name is the column. So is each name if there are more than MAX_COLUMNS columns.
    """
    known = set(table["line"])
    names = [name for name in part.stacks if name in known]
    columns = []
    for column in part.columns:
        texts = {each.line: write(each) for each in records(part.at(table, [column]))}
        if texts:
            columns.append((part.head(column), *(texts.get(name, "-") for name in names)))
    if len(names) == 1 < len(columns) or len(columns) > MAX_COLUMNS:
        return Table(title, ("", *names), columns)
    heads, *lines = zip(("strategy", *names), *columns, strict=True)
    headings = [HEADINGS.get(part.stacks[name], "") for name in names]
    of_others = [heading if heading != headings[0] else "" for heading in headings]
    return Table(title, heads, _grouped(zip(of_others, lines, strict=True)))


def text(figure: Figure, mean: Any) -> str:
    """Write a mean, and a mark if it is of invalid trials."""
    value = figure.write(mean.estimate, figure.digits).removesuffix(" pages/s")
    return value if mean.valid else f"{value}✗"


def ratio_text(line: Any) -> str:
    """Write a ratio and where the next run is expected; ``=``: equal within 2 %; ``?``: no certain difference.

    Of an unstable arm, the range of its blocks.
    """
    sign = SIGNS[line.answer]
    if math.isinf(line.next_high):
        return f"{units.times(line.estimate)} one block{sign}"
    if line.next_high > MAX_SPREAD * line.next_low:
        return f"{units.times(line.estimate)} too noisy{sign}"
    ends = ends_text(line)
    if line.answer == "unstable":
        return f"{ends}{sign}"
    return f"{units.times(line.estimate)} ({ends}){sign}"


def ends_text(line: Any, digits: int = 2) -> str:
    """Write where the next run of a ratio is expected: ``1.1 to 1.4``."""
    return f"{units.number(line.next_low, digits)} to {units.number(line.next_high, digits)}"


def written(part: Part) -> Callable[[Any], str]:
    """Return what writes a mean; around a throughput: ``≥`` if the server was full, and the latency that it served."""
    study = part.study
    if study.figures[0] != "pages_per_s":
        return partial(text, study.figure)
    is_served = part.lines["figure"].isin(SERVED) & (part.lines["kind"] == "arm")
    lines = part.lines[part.lines["valid"] & is_served]
    keys = list(dict.fromkeys(["line", *study.columns, "latency_ns"]))
    wide = lines.pivot_table("value", keys, "figure", "median").reindex(columns=SERVED).fillna(0).reset_index()
    before = {}
    behind = {}
    for line in wide.to_dict("records"):
        place = line["line"], *(line[key] for key in study.columns)
        if line["server_cpu_share"] + line["server_run_delay_share"] > MAX_SERVER_SHARE:
            before[place] = "≥"
        if line["late_ns"] > MAX_LATE_NS + MAX_LATE_SHARE * line["latency_ns"]:
            behind[place] = f" at {units.duration(line['latency_ns'] + line['late_ns'], 2)}"

    def write(mean: Any) -> str:
        """Write a mean with its signs."""
        place = mean.line, *(getattr(mean, key) for key in study.columns)
        return f"{before.get(place, '')}{text(study.figure, mean)}{behind.get(place, '')}"

    return write


def _grids(part: Part, title: str) -> Iterator[Table]:
    """Yield, for each value of the facet, who is best at each place."""
    y, x, facet = part.study.columns
    texts = [tile_text(tile) for tile in part.tiles.values()]
    places = pd.DataFrame(part.columns, columns=list(part.study.columns)).assign(text=texts)
    for value, tiles in places.groupby(facet):
        grid = tiles.set_index([y, x])["text"].unstack(fill_value="-")  # noqa: PD010
        heads = (value_words(y), *(value_name(x, item) for item in grid))
        lines = [(value_name(y, item), *grid.loc[item]) for item in tiles[y].unique()]
        yield Table(join(", ", title, value_name(facet, value)), heads, lines)


def tile_text(tile: Tile) -> str:
    """Write who is best: ``callbacks +1, 1.3x``; ``tie``: no certain difference; ``?``: nothing to compare.

    ``+1``: one other model ties with it; ``1.3x``: its lead over the slowest.
    """
    if not tile.best:
        return "?"
    if not tile.is_decided:
        return "tie"
    tied = f" +{len(tile.best) - 1}" if len(tile.best) > 1 else ""
    return f"{tile.best[0]}{tied}, {units.times(tile.ratio)}"


# Of medians


def line_name(study: Study, line: Any) -> str:
    """Return what a line is called: its arm, and the values of its keys."""
    return join(", ", line["line"], *(value_name(key, line[key]) for key in study.columns))


def _listed_tables(part: Part) -> Iterator[Table]:
    """Yield the table of medians: a line for each arm, or for each figure if the study is turned."""
    study = part.study
    lines = part.figures
    title = join(", ", study.title, part.name)
    names = lines["line"].where(lines["valid"].astype(bool), lines["line"] + " ✗").tolist()
    keys = [key for key in study.columns if lines[key].astype(bool).any()]
    columns = [(value_words(key), *(short_name(key, value) for value in lines[key])) for key in keys]
    for name in part.names:
        figure = figure_of(name)
        texts = ("-" if pd.isna(value) else figure.write(value, 2) for value in lines[name])
        columns.append((figure.words, *texts))
    for name in study.texts:
        if name in lines and lines[name].notna().any():
            texts = (words.plain(value, MAX_TEXT) if isinstance(value, str) else "-" for value in lines[name])
            columns.append((name.removesuffix("_name").replace("_", " "), *texts))
    below = []
    for _, line in lines.iterrows():
        if isinstance(sentence := line.get(study.below), str):
            below.append(f"{line_name(study, line)}: {words.plain(sentence, 300)}.")
    if not lines["valid"].all():
        below.append(TEXTS["signs"]["✗"])
    if not study.is_turned:
        heads, *cells = zip(("", *names), *columns, strict=True)
        yield Table(title, heads, cells, tuple(below))
        return
    for first in range(0, len(names), MAX_TURNED):
        some = slice(first, first + MAX_TURNED)
        every = [(head, *values[some]) for head, *values in columns]
        turned = [line for line in every if {*line[1:]} - {"-", ""}]
        notes = () if first else tuple(below)
        yield Table(title, ("", *names[some]), turned, notes)


# Of slopes


def _memory_table(part: Part, history: History) -> Table:
    """Return the table of slopes: a line for each subject, a column for each layer, and what earlier runs have."""
    slopes = part.figures
    has_slope = slopes["estimate"].notna().groupby([slopes["group"], slopes["line"]]).transform("any")
    known = slopes[has_slope]
    missing = slopes[~has_slope]
    columns = [name for name in (*LAYERS, SERVER, FULL, RSS) if name in set(known["layer"])]
    subjects: dict[Any, pd.DataFrame] = dict(iter(known.groupby(["group", "arm", "connection"], sort=False)))
    ranges = history.memory
    note = "Range of runs: all layers, in the earlier runs on this machine."
    if subjects.keys().isdisjoint(ranges):
        ranges = reference_memory()
        note = "Range of runs: all layers, in the stored runs of the reference (results/reference)."
    has_ranges = not subjects.keys().isdisjoint(ranges)
    members = []
    for subject, table in subjects.items():
        sizes = {slope.layer: size_text(slope) for slope in records(table)}
        cells = [sizes.get(column, "-") for column in columns]
        if has_ranges:
            cells.append(units.size_between(*ranges[subject], 2) if subject in ranges else "-")
        name = starred(*table[["line", "stack"]].iloc[0])
        members.append((GROUPS[subject[0]], (name, *cells)))
    heads = [column.replace(" and ", ", ") for column in columns]
    notes = []
    if has_ranges:
        heads.append("range of runs")
        notes.append(note)
    if len(missing):
        notes.append(f"Too few valid trials for a slope: {', '.join(missing['line'].unique())}.")
    for reason, without in known[known["reason"] != ""].groupby("reason", sort=False):
        notes.append(f"-: {reason} ({', '.join(without['line'].unique())}).")
    return Table(
        join(", ", part.study.title, part.name),
        ("", *heads),
        _grouped(members),
        tuple(notes),
    )


def starred(line: str, stack: str) -> str:
    """Return the name of a subject, with a star if it has an HTTP stack of its own."""
    return f"{line} *" if stack == "own" else line


def size_text(slope: Any) -> str:
    """Write a slope; of one that is not constant, its range."""
    if math.isnan(slope.estimate):
        return "-"
    if not slope.is_straight:
        return units.size_between(slope.low, slope.high, 2)
    return units.size(slope.estimate, 2)


# For programs


def as_frame(study: Study, many: Sequence[Part]) -> pd.DataFrame:
    """Return one line for each figure of a study of means or slopes, or for each line of one of medians (docs/api.md).

    Means have keys, ``estimate``, ``low``, ``high``, ``n``, ``valid``, and with an axis the columns ``ratio_*``; A/A
    arms have a ratio only. Ends that are not known are empty.
    """
    keys = ["part", "line", *study.columns]
    if study.measure == "slope":
        return _together(many, ["part", *OF_SLOPE])
    if study.measure == "median":
        figures = study.figures or tuple(many[0].names if many else ())
        return _together(
            many,
            [
                *keys,
                "valid",
                *figures,
                *study.texts,
                *filter(None, [study.below]),
            ],
        )
    tables = [_indexed([part.means.assign(part=part.name) for part in many], keys, SUMMARY)]
    if study.over:
        compared = [part.ratios.assign(part=part.name) for part in many]
        tables.append(_indexed(compared, keys, CONTRAST).add_prefix("ratio_"))
    return pd.concat(tables, axis=1).reset_index()


def _together(many: Sequence[Part], names: list[str]) -> pd.DataFrame:
    """Return the figures of all parts as one table."""
    tables = [part.figures.assign(part=part.name).reindex(columns=names) for part in many]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=names)


def _indexed(many: Sequence[pd.DataFrame], keys: list[str], names: Sequence[str]) -> pd.DataFrame:
    """Return tables of all parts as one, with a line for each key; unknown ends are empty."""
    table = pd.concat(many) if many else pd.DataFrame(columns=[*keys, *names])
    table = table.reindex(columns=[*keys, *names]).drop_duplicates(keys, keep="last").set_index(keys)
    for ends in (["low", "high"], ["next_low", "next_high"], ["resolution"]):
        if set(ends) <= set(table):
            table[ends] = table[ends].mask(table[ends[-1]] == math.inf)
    return table.astype({"n": "Int64"})
