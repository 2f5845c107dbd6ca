"""The history of stored runs as text, Markdown and JSON. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from inflight.bench.core import units
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Group, Line, Table
from inflight.bench.studies.history.changes import LEAST_CHANGE, LEAST_RUNS, MOST_P
from inflight.bench.studies.history.read import By, Change, History, LeftOut, Series
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL

WIDTH = 100
FORMAT = 1
MOST_NAMED = 8
"""Maximum number of runs or differences named in a sentence; the rest are counted."""
MOST_LETTERS = 60
NAMES = {
    CPU: "CPU per page",
    THROUGHPUT: "throughput",
    MEMORY: "user memory per fetch in flight",
    WALL: "time of an iteration",
}
BY: Mapping[By, str] = {"date": "began (UTC)", "python": "Python", "version": "version", "commit": "commit"}
RUN_LETTERS = 32


def title(history: History) -> str:
    """Return the finding: how many changes there are, and the greatest."""
    runs, series = words.counted(len(history.runs), "run"), len(history.series)
    if history.not_searched:
        return f"{runs} with {units.count(series)} series; no change points were looked for"
    changes = history.changes
    searched = sum(one.was_searched for one in history.series)
    if not changes:
        return f"No change in {units.count(searched)} series over {runs}"
    greatest, change = changes[0]
    number = f"{words.counted(len(changes), 'change')} in {units.count(searched)} series over {runs}"
    where = f"from {run_told(history, change.run)} on"
    return f"{number}; the greatest: {name_of(greatest)}, {units.change(change.size)} {where}"


def text(history: History, width: int = WIDTH, *, every: bool = False) -> str:
    """Return the history for a terminal: the changes, the series that changed and a line for each other; or all."""
    several = [one for one in history.series if len(one.points) > 1]
    return form.text(_section(history, [one for one in several if every or one.changes], several), width).plain


def markdown(history: History) -> str:
    """Return the whole history as Markdown."""
    return f"# History of stored runs\n\n{form.markdown(_section(history, history.series, history.series))}\n"


def _section(history: History, whole: Sequence[Series], shown: Sequence[Series]) -> Section:
    """Return a section with the ``whole`` series run by run, and a line for each other one that is ``shown``."""
    tables = [*_changes(history), *(_table(history, one) for one in whole)]
    notes = list(_notes(history))
    if rest := len(history.series) - len(shown):
        notes.append(f"Series that only one run has are not shown: {units.count(rest)}.")
    return Section(title(history), (*tables, *_rest(history, [one for one in shown if one not in whole])), tuple(notes))


def _changes(history: History) -> Iterator[Table]:
    lines = tuple(
        (name_of(series), run_told(history, change.run), *_sides(series, change), units.change(change.size),
         "worse" if is_worse(series, change) else "better")
        for series, change in history.changes
    )  # fmt: skip
    if lines:
        yield Table("Changes", ("", "from", "before", "after", "change", "note"), lines)


def _sides(series: Series, change: Change) -> tuple[str, str]:
    split = change.split
    before, after = (followed_text(series, value) for value in (split.before, split.after))
    return before, after


def _table(history: History, series: Series) -> Table:
    """Return a series with a line for each run."""
    starts = {change.run: change for change in series.changes}
    lines = []
    for place, point in sorted(series.points.items()):
        change = starts.get(place)
        note = f"{units.change(change.size)} from here on" if change else ""
        ratio = () if not _has_ratios(series) else _with_interval(point.ratio, units.times, 3)
        absolute = _with_interval(point.absolute, lambda value, _: value_text(series, value), 3)
        lines.append((*_run_cells(history, place), *absolute, *ratio, note))
    ratio_heads = (f"/ {words.name(history.reference)}", "95 % interval") if _has_ratios(series) else ()
    heads = (*_run_heads(history), NAMES[series.key.metric], "95 % interval", *ratio_heads, "note")
    return Table(headed(name_of(series)), heads, tuple(lines))


def _run_heads(history: History) -> tuple[str, ...]:
    return ("", "began (UTC)") if history.by == "date" else ("", "began (UTC)", BY[history.by])


def _run_cells(history: History, place: int) -> tuple[str, ...]:
    run = history.runs[place]
    name = words.plain(run.name.rstrip("/").rpartition("/")[2], RUN_LETTERS)
    when = run_told(history, place, "date")
    return (name, when) if history.by == "date" else (name, when, run_told(history, place))


def _with_interval(found: Interval | None, write: units.Write, digits: int) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    if math.isinf(found.high) or found.low <= 0:
        return write(found.estimate, digits), "single round" if found.n == 1 else "unknown"
    return write(found.estimate, digits), f"{write(found.low, digits)} to {write(found.high, digits)}"


def _rest(history: History, rest: Sequence[Series]) -> Iterator[Table]:
    """Yield a line for each series without a table of its own: its runs, its newest figure, and its range."""
    has_ratios = any(map(_has_ratios, rest))
    ratio = (f"/ {words.name(history.reference)}",) if has_ratios else ()
    heads = ("", "runs", "newest", *ratio, "least to greatest")
    for metric, name in NAMES.items():
        lines: list[Line] = []
        for label, own in groupby((one for one in rest if one.key.metric == metric), key=lambda one: one.label):
            lines += [Group(words.plain(label, MOST_LETTERS))] if label else []
            lines += [_line(one, has_ratios=has_ratios) for one in own]
        if lines:
            yield Table(f"{headed(name)} without a change (--all shows the runs)", heads, tuple(lines))


def _line(series: Series, *, has_ratios: bool) -> tuple[str, ...]:
    newest = series.points[max(series.points)]
    followed = [found.estimate for place in series.points if (found := series.followed(place))]
    ends = " to ".join(followed_text(series, value) for value in (min(followed), max(followed)))
    ratio = (units.times(newest.ratio.estimate, 3) if newest.ratio else "-",) if has_ratios else ()
    figure = value_text(series, newest.absolute.estimate)
    return words.plain(series.key.subject, MOST_LETTERS), units.count(len(series.points)), figure, *ratio, ends


def _notes(history: History) -> Iterator[str]:
    """Yield how to read the tables, how changes were found, and what was left out."""
    reference = words.name(history.reference)
    if any(one.is_relative for one in history.series):
        yield (
            f"Series with a ratio to {reference} of the same run are followed by this ratio: a busy hour affects both. "
            "Other series are followed by absolute figures, which also show changes of the machine. A change of "
            f"{reference} itself looks like the opposite change of all others."
        )
    if history.not_searched:
        yield f"{history.not_searched[0].upper()}{history.not_searched[1:]}."
    else:
        yield (
            f"Change points are found by Apache Otava: p at most {MOST_P:g} for each, changes of at least "
            f"{units.percent(LEAST_CHANGE)}, series of at least {LEAST_RUNS} runs. Number of series: "
            f"{units.count(sum(one.was_searched for one in history.series))}; p is not corrected for it."
        )
    for place in sorted({change.run for _, change in history.changes}):
        yield _also(history, place)
    machine = [str(history.hardware[key]) for key in ("cpu", "cores") if history.hardware.get(key)]
    yield f"Machine: {words.plain(', '.join(machine), 120)}{' cores' if history.hardware.get('cores') else ''}."
    repeated = sum(run.repeated for run in history.runs)
    if repeated:
        yield f"Rows that runs took from earlier runs do not count: {units.count(repeated)}."
    yield from left_out_told(history.left_out)


def _also(history: History, place: int) -> str:
    """Say what else changed with the run after a change point."""
    change = next(change for _, change in history.changes if change.run == place)
    told = [f"{one.name} {words.plain(one.base, 40)} / {words.plain(one.head, 40)}" for one in change.also]
    what = f"also changed: {_some(told)}" if told else "nothing else is known to have changed"
    return f"From {run_told(history, place)} on, {what}."


def left_out_told(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield a sentence for each reason why runs were left out."""
    reasons: dict[str, list[str]] = {}
    for one in left_out:
        reasons.setdefault(one.why, []).append(words.plain(one.name, 90))
    for why, names in reasons.items():
        yield f"Left out, {words.plain(why, 200)}: {_some(names)}."


def _some(names: Sequence[str]) -> str:
    return "; ".join(words.first(names, MOST_NAMED))


def name_of(series: Series) -> str:
    """Return the printable name of a series: figure, strategy and workload, or benchmark."""
    subject = words.plain(series.key.subject, MOST_LETTERS)
    place = f", {words.plain(series.label, MOST_LETTERS)}" if series.label else ""
    return f"{NAMES[series.key.metric]} of {subject}{place}"


def run_told(history: History, place: int, by: By | None = None) -> str:
    """Return the date, version or commit of a run."""
    return words.plain(history.runs[place].told(by or history.by) or "unknown", 40)


def is_worse(series: Series, change: Change) -> bool:
    """Tell whether a change is for the worse."""
    return (change.size > 0) != (series.key.metric == THROUGHPUT)


def value_text(series: Series, value: float) -> str:
    """Write an absolute figure in its unit."""
    metric = series.key.metric
    if metric == MEMORY:
        return units.size(value)
    if metric == THROUGHPUT:
        return units.number(value)
    return units.duration(value * 1e9 if metric == WALL else value)


def followed_text(series: Series, value: float) -> str:
    """Write a followed figure: a ratio, or in its unit."""
    return units.times(value, 3) if series.is_relative else value_text(series, value)


def _has_ratios(series: Series) -> bool:
    return any(point.ratio for point in series.points.values())


def headed(name: str) -> str:
    """Return a name that begins a line."""
    return name[0].upper() + name[1:]


def to_json(history: History) -> dict[str, Any]:
    """Return the whole history as values for JSON; times in nanoseconds, ends of intervals null for a single round."""
    return {
        "format": FORMAT,
        "headline": title(history),
        "by": history.by,
        "reference": history.reference,
        "machine": dict(history.hardware),
        "runs": [
            {"name": run.name, "began": run.began.isoformat(), "software": dict(run.software), "repeated": run.repeated}
            | {by: run.told(by) for by in BY if by != "date"}
            for run in history.runs
        ],
        "left_out": [asdict(one) for one in history.left_out],
        "search": {"why_not": history.not_searched or None, "most_p": MOST_P, "least_change": LEAST_CHANGE},
        "series": [_series_json(one) for one in history.series],
        "notes": list(_notes(history)),
    }


def _series_json(series: Series) -> dict[str, Any]:
    return {
        "strategy": series.key.subject,
        "workload": series.label,
        "metric": series.key.metric,
        "followed": "ratio" if series.is_relative else "absolute",
        "searched": series.was_searched,
        "points": [
            {"run": place, "absolute": _interval_json(point.absolute), "ratio": _interval_json(point.ratio)}
            for place, point in sorted(series.points.items())
        ],
        "changes": [
            {"run": change.run, **asdict(change.split), "worse": is_worse(series, change)}
            | {"also": [asdict(one) for one in change.also]}
            for change in series.changes
        ],
    }


def _interval_json(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    is_known = math.isfinite(found.high)
    ends = {"low": found.low if is_known else None, "high": found.high if is_known else None}
    return {"estimate": found.estimate, **ends, "rounds": found.n}
