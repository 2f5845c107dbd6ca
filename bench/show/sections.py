"""The tables, the findings and the JSON of studies."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import CONTRAST, SUMMARY, records, summary
from inflight.bench.frame.figures import figure_of
from inflight.bench.present.section import Detail, Section
from inflight.bench.present.table import ONLY_INVALID, Group, Line, Table
from inflight.bench.present.text_bars import Bar, Bars
from inflight.bench.show.study import (
    HEADINGS,
    Part,
    Study,
    Tile,
    at,
    compared,
    findings,
    head,
    ordered,
    ratio_text,
    ratios,
    served,
    short_heads,
    text,
    tile,
    usual,
    value_name,
    value_words,
)

MAX_COLUMNS = 4
MAX_RATIOS = 3
MAX_PARTS = 6
"""Maximum number of parts with tables of their own."""
SIGNS = "=: equal within 2 %; ?: no certain difference."
SERVED = "≥: the server was full; at: the latency that was served."
INTERVALS = "Means over blocks, ± half of their 95 % interval."


def section(study: Study, found: Sequence[Part]) -> Section:
    """Return the findings and the tables of a study that has parts."""
    tables = [table for part in found[:MAX_PARTS] for table in _tables(study, part)]
    more = tuple(table for part in found[:MAX_PARTS] for table in _other_figures(study, part))
    entries = [entry for table in tables for line in table.cells for entry in line[1:]]
    notes: tuple[str, ...] = (
        study.note,
        INTERVALS if any("±" in entry for entry in entries) else "",
        SIGNS if any(entry.endswith((" =", " ?")) for entry in entries) else "",
        SERVED if any(entry.startswith("≥") or " at " in entry for entry in entries) else "",
        ONLY_INVALID if any("✗" in entry for entry in entries) else "",
    )
    told = tuple(findings(study, found[0])) if study.is_headline else ()
    details = (Detail("Further figures", tables=more),) if more else ()
    return Section(
        "", tuple(tables), tuple(filter(None, notes)), details=details, findings=told, bars=_bars(study, found[0])
    )


def _bars(study: Study, part: Part) -> Bars | None:
    """Return the means of the usual column as bars for a terminal, if lines over an axis are the study's plot."""
    column = usual(study, part)
    here = records(compared(study, part, column))
    if study.plot.mark != "lines" or not study.is_headline or study.plot.is_ratio or not here:
        return None
    drawn = (Bar(one.line, one.estimate, study.figure.write(one.estimate, 2)) for one in here)
    return Bars(", ".join(filter(None, [study.title, part.name, head(study, column)])), tuple(drawn))


def _tables(study: Study, part: Part) -> Iterator[Table]:
    title = ", ".join(filter(None, [study.title, part.name]))
    if study.plot.mark == "tiles":
        yield from _tiles(study, part, title)
        return
    around = served(study, part)

    def write(mean: Any) -> str:
        before, behind = around.get((mean.line, tuple(getattr(mean, key) for key in study.columns)), ("", ""))
        return f"{before}{text(study.figure, mean)}{behind}"

    names = ordered(study, part)
    yield _table(study, title, names, part.means, evenly(part.columns), write)
    if study.over is not None and len(found := ratios(study, part)):
        baselines = found["baseline"].unique()
        against = f"ratio to {baselines[0]}" if len(baselines) == 1 else f"ratio to the {study.over[1]}"
        again = [(line, "") for line in found["line"].unique() if line not in dict(names)]
        able = [column for column in part.columns if len(at(study, found, column))]
        yield _table(study, f"{title}: {against} (95 %)", [*again, *names], found, evenly(able, MAX_RATIOS), ratio_text)


def _other_figures(study: Study, part: Part) -> Iterator[Table]:
    """Yield a table of each figure that is not compared."""
    for name in study.figures[1:]:
        figure, own = figure_of(name), part.lines[part.lines["figure"] == name]
        means = summary(own[own["role"] != "placebo"], ["line", *study.columns])
        title = ", ".join(filter(None, [f"{figure.words[0].upper()}{figure.words[1:]}", part.name]))
        yield _table(study, title, ordered(study, part), means, evenly(part.columns), partial(text, figure))


def _tiles(study: Study, part: Part, title: str) -> Iterator[Table]:
    """Yield, for each value of the facet, who is best at each place: ``best +2 tied, 1.3x``."""
    keys = list(study.columns)
    for value in sorted({column[keys.index(study.plot.facet)] for column in part.columns}):
        here = [tile(study, part, one) for one in part.columns if one[keys.index(study.plot.facet)] == value]
        cells = {one.column: tile_text(one) for one in here}
        across, down = (
            keys.index(study.plot.x),
            keys.index(next(k for k in keys if k not in {study.plot.x, study.plot.facet})),
        )
        heads = list(
            dict.fromkeys(one.column[across] for one in sorted(here, key=lambda one: part.columns.index(one.column)))
        )
        rows = list(dict.fromkeys(one.column[down] for one in here))
        by_place = {(one.column[down], one.column[across]): cells[one.column] for one in here}
        yield Table(
            f"{title}, {value_name(study.plot.facet, value)}",
            (value_words(keys[down]), *(value_name(study.plot.x, one) for one in heads)),
            tuple((value_name(keys[down], row), *(by_place.get((row, one), "-") for one in heads)) for row in rows),
        )


def tile_text(one: Tile) -> str:
    """Write who is best: ``callbacks +1, 1.3x``; ``tie``: no certain difference; ``?``: nothing to compare."""
    if not one.best:
        return "?"
    if not one.is_decided:
        return "tie"
    tied = f" +{len(one.best) - 1}" if len(one.best) > 1 else ""
    return f"{one.best[0]}{tied}, {units.times(one.ratio)}"


def _table(
    study: Study,
    title: str,
    names: Sequence[tuple[str, str]],
    found: pd.DataFrame,
    columns: Sequence[tuple[Any, ...]],
    write: Callable[[Any], str],
) -> Table:
    """Return a table with a line for each name, those of each stack below a heading."""
    entries = {(one.line, column): write(one) for column in columns for one in records(at(study, found, column))}
    lines: list[Line] = []
    for stack, own in groupby(names, key=lambda line: line[1]):
        told = [(name, *(entries.get((name, column), "-") for column in columns)) for name, _ in own]
        told = [line for line in told if set(line[1:]) != {"-"}]
        lines += [Group(HEADINGS[stack])] if told and lines and stack in HEADINGS else []
        lines += told
    more = len(found[list(study.columns)].drop_duplicates()) - len(columns)
    notes = (f"Columns that are not shown: {more}.",) if more > 0 else ()
    heads = ("strategy", *(head(study, column) for column in columns))
    return Table(title, heads, tuple(lines), notes, short_heads(study, columns))


def evenly(values: Sequence[Any], most: int = MAX_COLUMNS) -> list[Any]:
    """Return at most so many of the values: the first, the last, and evenly from between."""
    if len(values) <= most:
        return list(values)
    return [values[round(step * (len(values) - 1) / (most - 1))] for step in range(most)]


def as_json(study: Study, many: Sequence[Part]) -> list[dict[str, Any]]:
    """Return one object for each line and column of a study: keys, ``estimate``, ``low``, ``high``, ``n``, ``valid``.

    With an axis, an object has ``ratio``: ``baseline``, ``estimate``, ``low``, ``high``, ``n``, ``p`` and ``answer``.
    A/A arms have a ratio only. What is not known is null.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in many:
        keys = ["line", *study.columns]
        for mean in part.means.to_dict("records"):
            one = {"part": part.name} | {key: mean[key] for key in (*keys, *SUMMARY)} | {"ratio": None}
            found[(part.name, *(mean[key] for key in keys))] = _finite(one)
        for ratio in (ratios(study, part) if study.over else pd.DataFrame()).to_dict("records"):
            empty = {"part": part.name} | {key: ratio[key] for key in keys} | dict.fromkeys(SUMMARY)
            one = found.setdefault((part.name, *(ratio[key] for key in keys)), empty)
            one["ratio"] = _finite({key: ratio[key] for key in CONTRAST})
    return list(found.values())


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace an interval without an end by null."""
    return values if math.isfinite(values["high"]) else values | {"low": None, "high": None}
