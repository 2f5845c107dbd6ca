"""Rows as tidy tables for pandas, and as CSV. Pure.

``COLUMNS`` has the columns of each table with their types, which are the same for all rows, and for none. Missing
values are ``pandas.NA``. ``docs/api.md`` has meanings and units.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench.core import cells as c
from inflight.bench.core.layers import FULL, RSS
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.plan import judge
from inflight.bench.present import words
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory.read import IN_FLIGHT, subjects

if TYPE_CHECKING:
    import pandas as pd

    from inflight.bench.show.study import Study


class NotInRunError(ValueError):
    """A value is not in the run; the message lists those that are. Use one of these, or run more."""


Line = tuple[Any, ...]
"""The values of one line, in the order of the columns."""

TEXT, WHOLE, REAL, TRUTH = "string", "Int64", "Float64", "boolean"
_TRIAL = {
    "trial": TEXT,
    "strategy": TEXT,
    "kind": TEXT,
    "latency": TEXT,
    "in_flight": WHOLE,
    "connection": TEXT,
    "cpu": TEXT,
    "round": WHOLE,
    "valid": TRUTH,
}
"""The columns that identify the trial of a line."""
_SAMPLES = ("at_ns", "threads", "rss_bytes", "cpu_ns")
_TEXTS = ("run", "unit", "kind", "trial", "workload", "strategy", "arm", "role", "reference", "stack", "interpreter")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""

COLUMNS: dict[str, dict[str, str]] = {
    "frame": {
        **dict.fromkeys(_TEXTS, TEXT),
        "cores": WHOLE,
        "latency": TEXT,
        "latency_ns": WHOLE,
        "cpu": TEXT,
        "cpu_ns": WHOLE,
        "in_flight": WHOLE,
        "connection": TEXT,
        "site": TEXT,
        "site_pages": WHOLE,
        "length": WHOLE,
        "comparison": TEXT,
        "valid": TRUTH,
        "why": TEXT,
        "figure": TEXT,
        "value": REAL,
    },
    "memory": {
        "strategy": TEXT,
        "stack": TEXT,
        "group": TEXT,
        "connection": TEXT,
        "layer": TEXT,
        "bytes_per_fetch": REAL,
        "bytes_per_fetch_low": REAL,
        "bytes_per_fetch_high": REAL,
        "intercept_bytes": REAL,
        "straight": TRUTH,
        "points": WHOLE,
        "sizes": WHOLE,
        "reason": TEXT,
        "site": TEXT,
    },
    "timeline": _TRIAL | {"at_ns": WHOLE, "completions": WHOLE, "in_flight_then": WHOLE},
    "samples": _TRIAL | dict.fromkeys(_SAMPLES, WHOLE),
    "checks": _TRIAL | {"name": TEXT, "verdict": TEXT, "detail": TEXT},
}
"""The columns of each table in order, each with its pandas type."""
_TRIALS = COLUMNS["frame"] | {"round": WHOLE, "status": TEXT, "cause": TEXT, "started_at": TEXT, "settings": TEXT}
"""The columns of trials, without their figures."""
_MEAN = {"estimate": REAL, "low": REAL, "high": REAL, "n": WHOLE, "valid": TRUTH}
_RATIO = {
    "ratio_baseline": TEXT,
    "ratio_estimate": REAL,
    "ratio_low": REAL,
    "ratio_high": REAL,
    "ratio_n": WHOLE,
    "ratio_p": REAL,
    "ratio_answer": TEXT,
}


def table(name: str, rows: Sequence[Row]) -> "pd.DataFrame":
    """Return one of the tables of ``_LINES``."""
    import pandas as pd

    return pd.DataFrame(list(_LINES[name](rows)), columns=list(COLUMNS[name]), dtype=object).astype(COLUMNS[name])


def trials(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return one line for each trial, with a column for each figure: the frame, unstacked.

    Figures are ``Int64`` if all their values are whole, else ``Float64``.
    """
    from inflight.bench.frame import frame

    found = frame.trials(rows)
    return found.astype({name: kind for name, kind in _TRIALS.items() if name in found}).convert_dtypes()


def csv(rows: Iterable[Row]) -> str:
    """Return the trials as CSV with a header line. No spreadsheet reads a text of it as a formula."""
    found = trials(rows)
    for name in found.select_dtypes("string").columns:
        found[name] = found[name].map(_harmless, na_action="ignore")
    return found.to_csv(index=False, lineterminator="\n")


def _harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate.

    See https://owasp.org/www-community/attacks/CSV_Injection. A carriage return becomes a line feed: it would not be
    quoted, and readers would take it as the end of a line.
    """
    return f"{chr(39) if text.startswith(_FORMULA) else ''}{text}".replace("\r", "\n")


def study_of(name: str) -> "Study":
    """Return the study with a name. Raises NotInRunError for an unknown one."""
    from inflight.bench.show.studies import STUDIES

    known = {study.name: study for study in STUDIES}
    if name not in known:
        raise NotInRunError(words.plain(f"no study {name!r}{judge.nearest(str(name), known)}"))
    return known[name]


def study_table(name: str, frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the means of a study, and its ratios if it has an axis: one line for each line and column of its table."""
    import pandas as pd

    from inflight.bench.show.sections import as_json

    study = study_of(name)
    keys = {"part": TEXT, "line": TEXT} | {key: COLUMNS["frame"][key] for key in study.columns}
    found = [
        one | {f"ratio_{key}": value for key, value in (one["ratio"] or {}).items()} for one in as_json(study, frame)
    ]
    columns = keys | _MEAN | (_RATIO if study.over else {})
    return pd.DataFrame(found, columns=list(columns), dtype=object).astype(columns)


def _memory(rows: Sequence[Row]) -> Iterator[Line]:
    """Yield a line per slope: of each layer if layers were read, else of user memory; or why there is none."""
    idle = [row for row in rows if row.kind == "idle"]
    yield from _slopes(idle, None)
    found = c.cells(rows, "memory")
    for setting in c.settings(found):
        own = [cell for cell in found if cell.setting == setting]
        yield from _slopes([row for cell in own for row in cell.rows], setting)
        layered = {subject.strategy for subject in subjects([row for cell in own for row in cell.rows])}
        for name, stack in c.strategies(row for cell in own for row in cell.rows).items():
            if name not in layered:
                what = (name, stack, IN_FLIGHT, setting.connection, "user")
                yield *what, *_slope(c.memory_of(own, name)), setting.site


def _slopes(rows: Sequence[Row], setting: c.Setting | None) -> Iterator[Line]:
    for subject in subjects(rows):
        connection, site = (setting.connection, setting.site) if setting else (None, None)
        cost = subject.cost
        for layer, slope in (*cost.layers.items(), (FULL, cost.full), (RSS, cost.resident)):
            what = (subject.strategy, subject.stack, subject.group, connection, layer)
            yield *what, *_slope(slope), site


def _slope(slope: Slope | NoSlope) -> Line:
    if isinstance(slope, NoSlope):
        return (*[None] * 7, slope.reason)
    middle = (slope.per_fetch, slope.low, slope.high, slope.intercept)
    return *middle, slope.straight, slope.points, slope.sizes, None


def _observed(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows with time lines and samples: whole crawls; arms have none."""
    return (row for row in rows if row.kind in c.CRAWLED and row.kind != "arm")


def _timeline(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield a line per bin, at the time of its end."""
    for row in _observed(rows):
        if (line := row.measured.timeline) is not None:
            key = _key(row)
            for number, values in enumerate(zip(line.completions, line.in_flight, strict=True), start=1):
                yield *key, number * line.bin_ns, *values


def _samples(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield a line for each sample of the worker from outside."""
    for row in _observed(rows):
        if (seen := row.measured.samples) is not None:
            key = _key(row)
            for values in zip(*(getattr(seen, name) for name in _SAMPLES), strict=True):
                yield *key, *values


def _checks(rows: Iterable[Row]) -> Iterator[Line]:
    return ((*_key(row), check.name, check.verdict, check.detail) for row in rows for check in row.checks)


def _key(row: Row) -> Line:
    asked = [getattr(row.workload, name, None) for name in ("latency", "in_flight", "connection")]
    cpu = row.workload.cpu or "0" if row.kind in c.CRAWLED else None
    return row.trial, row.strategy, row.kind, *asked, cpu, row.round, row.valid


_LINES: dict[str, Callable[[Sequence[Row]], Iterator[Line]]] = {
    "memory": _memory,
    "timeline": _timeline,
    "samples": _samples,
    "checks": _checks,
}
