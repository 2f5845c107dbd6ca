"""What a page does: the counts of each strategy, beside the CPU time per page of the same run.

``studies`` calls ``beside`` before it makes the study ``counts``, and ``section`` for its tables. Counts are calls of
Python and C functions, system calls and bytecodes per page (``measure.counts``). The study has the figures in parts (a
part is one table, ``study.Part``); here is what stands beside them and below them. No time is computed from counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.figures import figure_of
from inflight.bench.rows.files import Row
from inflight.bench.show import sections
from inflight.bench.show.at_once import base
from inflight.bench.show.study import Part
from inflight.bench.show.table import Detail, Section, Table
from inflight.bench.show.words import SENTENCES, TEXTS, join

if TYPE_CHECKING:
    from inflight.bench.show.studies import Studies

NAME = "counts"
"""Name of the study, and of the kind of its trials."""
C_CALLS = "all C functions"
"""Name of the line of calls of functions that have no file."""
TIMED = {"futex_calls": "futex calls", "switches": "context switches", "page_faults": "page faults"}
"""Counts that depend on time, and what they are called."""
MAX_LINES, MAX_MODELS = 60, 6
"""Maximum number of files, or of system calls, that have a line, and of strategies beside each other."""
Column = Mapping[str, tuple[float, ...]]
"""What a page does with a strategy, by the names of lines: a number, or the lowest and the highest one."""


def beside(trials: pd.DataFrame, rows: Sequence[Row], cpu: Sequence[Part]) -> pd.DataFrame:
    """Return the trials of some rows with two columns more: what the study shows beside its counts.

    ``cpu_per_page_ns``: of the same strategy, with the same use of connections, in the usual workload of the study
    ``cpu``; unknown if that has none.
    ``repeats``: whether the totals of all repeats are equal, in all rounds of a workload.
    """
    for part in cpu[:1]:
        means = records(part.at(part.means, [part.usual]))
        costs = {base(mean.line): mean.estimate for mean in means if mean.valid}
        is_alike = trials["connection"] == part.lines["connection"].iloc[0]
        trials = trials.assign(cpu_per_page_ns=trials["arm"].map(base).map(costs).where(is_alike))
    keys = list(trials[["arm", "workload", "site"]].itertuples(index=False, name=None))
    alike = defaultdict[object, list[Row]](list)
    for key, row in zip(keys, rows, strict=True):
        if row.kind == NAME and row.valid:
            alike[key].append(row)
    repeats = pd.Series([_repeats(alike[key]) for key in keys], trials.index, dtype=object)
    # All counts are of one latency, so it is no part of a name.
    return trials.assign(latency="0", repeats=repeats)


def _repeats(rows: Sequence[Row]) -> str | None:
    """Say whether the totals of all repeats are equal, or by which share they differ at most.

    None if nothing was counted.
    """
    totals = defaultdict[str, list[int]](list)
    for row in rows:
        for counter, counts in (row.measured.totals or {}).items():
            totals[counter] += counts
    if not any(totals.values()):
        return None
    if max(map(len, totals.values())) == 1:
        return "not repeated"
    known = filter(None, totals.values())
    share = max((max(counts) - min(counts)) / max(1, *counts) for counts in known)
    return f"differ by {units.number(100 * share, 1)} %" if share else "equal"


def section(studies: "Studies") -> Section:
    """Return the tables of a run that counted, and what they consist of as details.

    The head of the column of the CPU time also says of which table and workload this time is.
    """
    rows = {(row.run, row.trial): row for row in studies.rows if row.kind == NAME and row.valid}
    heads = {}
    for cpu in studies.parts["cpu"][:1]:  # the same part as in ``beside``
        words = cpu.study.figure.words
        heads[words] = join(", ", words, cpu.name, cpu.head(cpu.usual))
    parts = studies.parts[NAME]
    tables = []
    inside = {summary: list[Table]() for summary in DETAILS}
    for part, table in zip(parts, sections.section(parts).tables, strict=True):
        counted = _counted(part, rows)
        titles = tuple(heads.get(head, head) for head in table.heads)
        tables.append(replace(table, heads=titles, notes=(*table.notes, *_lacks(counted))))
        for summary, find in DETAILS.items():
            title = join(", ", TEXTS["counts"][summary], part.name)
            columns = {name: column for name, row in counted.items() if (column := find(row))}
            inside[summary] += _by_strategy(title, columns)
    details = [Detail(summary, tables=some) for summary, some in inside.items() if some]
    return Section(
        "",
        tables,
        (SENTENCES["counts"],),
        details=details,
        findings=(),
    )


def _counted(part: Part, rows: Mapping[tuple[str, str], Row]) -> dict[str, Row]:
    """Return the first valid row of each line of a part, in the order of its table."""
    counted = dict.fromkeys(part.figures["line"])
    for run, trial, line in part.lines[["run", "trial", "line"]].itertuples(index=False, name=None):
        counted[line] = counted[line] or rows.get((run, trial))
    return {line: row for line, row in counted.items() if row is not None}


def _lacks(counted: Mapping[str, Row]) -> Iterator[str]:
    """Yield what could not be counted, with the strategies and the reason."""
    names = defaultdict[tuple[str, str], list[str]](list)
    for name, row in counted.items():
        for lack in (row.measured.lacks or {}).items():
            names[lack].append(name)
    for (what, reason), some in names.items():
        yield SENTENCES["not_counted"].format(what, ", ".join(some), reason)


def _by_module(row: Row) -> Column:
    """Return the Python calls of each file, and all C calls."""
    calls = Counter[str]()
    for name, number in (row.measured.python_calls or {}).items():
        file = name.partition(":")[0]
        calls[file] += number
    if row.measured.c_calls_per_page is not None:
        calls[C_CALLS] = row.measured.c_calls_per_page
    return {name: (number,) for name, number in calls.items()}


def _by_name(row: Row) -> Column:
    """Return the system calls."""
    return {name: (number,) for name, number in (row.measured.system_calls or {}).items()}


def _timed(row: Row) -> Column:
    """Return the counts that depend on time, of the lowest and of the highest of the repeats."""
    pages = row.measured.pages
    column = {}
    for name, words in TIMED.items():
        counts = getattr(row.measured, name)
        if counts:
            column[words] = (min(counts) / pages, max(counts) / pages)
    return column


DETAILS = {
    "Calls by module": _by_module,
    "System calls": _by_name,
    "Counts that depend on time": _timed,
}
"""What makes a column of the tables in each detail."""


def _by_strategy(title: str, columns: Mapping[str, Column]) -> Iterator[Table]:
    """Yield tables with a column for each strategy, as many as fit beside each other; the most frequent come first."""
    strategies = list(columns)
    for first in range(0, len(strategies), MAX_MODELS):
        some = strategies[first : first + MAX_MODELS]
        most = defaultdict[str, float](float)
        for strategy in some:
            for name, numbers in columns[strategy].items():
                most[name] = max(most[name], *numbers)
        names = sorted(most, key=most.__getitem__, reverse=True)
        lines = []
        for name in names:
            ends = (columns[strategy].get(name, ()) for strategy in some)
            lines.append((name, *map(_written, ends)))
        notes = [f"The first {MAX_LINES} of {len(lines)} lines."] if len(lines) > MAX_LINES else []
        yield Table(title, ("", *some), lines[:MAX_LINES], tuple(notes))


def _written(ends: Sequence[float]) -> str:
    """Write the lowest and the highest count; one if they are equal as they are written."""
    return " to ".join(dict.fromkeys(figure_of("python_calls_per_page").write(end, 0) for end in ends))
