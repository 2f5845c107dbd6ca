"""The frame: one pandas DataFrame with one line for each trial and figure, made of the rows of a run.

``show.studies``, ``runs``, ``predict`` and ``claims`` call ``trials`` (wide: a line for each row, a column for each
figure), ``long`` (a line for each figure), ``with_cycles`` (what ratios need) and ``moments`` (figures over time).
Every number of ``measured`` becomes a figure under its name in ``rows.kinds``; KEYS say what a line is of.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pandas as pd

from inflight.bench.frame import noise, ratios, slopes
from inflight.bench.rows.records import RECORDS

if TYPE_CHECKING:
    from inflight.bench.rows.files import Row

TIMED = [kind for kind, record in RECORDS.items() if record.IS_TIMED]
"""Kinds of rows with a throughput: whole crawls, and arms of blocks."""
KEYS = (
    *("run", "unit", "kind", "trial", "workload", "strategy", "arm", "role", "reference", "stack"),
    *("interpreter", "cores", "latency", "latency_ns", "cpu", "cpu_ns", "in_flight", "rate_per_s"),
    *("connection", "site", "site_pages", "length", "comparison"),
)
"""The columns that say what a line is of.

``unit``: the run and the round, which is the block of an arm; values of one unit are compared as pairs. ``arm``: the
name in tables and plots: the strategy, with the settings in which arms of that name differ, and with what a client with
a limit of its own has reached: ``my_client (100 of 200)``. ``role``: ``reference``, ``placebo`` (the reference once
more) or ``compared``; empty for other kinds. ``reference``: the reference arm of the same block; empty for other kinds.
``in_flight``: fetches at most in flight, idle threads or tasks, or users. ``rate_per_s``: requests or fetches to start
per second; 0: as many as possible. ``site``: as JSON, the site and whatever else the workload has, without what is a
column of its own. ``site_pages``: the pages of a whole crawl; 0 for others. ``length``: these, if crawls of several
lengths have the same number in flight; else 0. ``comparison``: the comparison that the row belongs to, or empty.
"""
OF_TRIAL = ("round", "status", "valid", "why", "cause", "started_at", "settings")
"""The columns of a trial beside its keys and its figures.

``cause``: what the trial ended by, if that is known, such as ``limit``; else empty. ``started_at``: the time in UTC
(ISO 8601). ``settings``: as JSON, the settings of the arm, the variables of idle threads, or the arguments of a probe.
"""
SETTINGS = ("revision", "repository", "python", "requirements", "variables", "cores", "busy_threads", "lag")
"""Settings of an arm that are no part of its workload."""
SAMPLES = {"p50_ns": 20, "p90_ns": 100, "p99_ns": 1_000, "p999_ns": 10_000}
"""Minimum number of samples for a quantile, ten of which are beyond it."""
_OF_WORKLOAD = {
    *("id", "arm", "latency", "mean_latency_ns", "in_flight", "connection", "tls", "cpu", "cpu_ns", "comparison"),
    *("what", "n", "users", "variables", "rate_per_s", "ramp_per_s", "resource", "probe"),
}
"""Values of a workload that are columns of their own, and so no part of ``site``."""
_OF_NUMBERS = ("_ns", "_bytes", "_share", "_per_s", "_per_page", "_in_flight", "pages")
"""Ends of the names of columns that have no texts."""
_TAKEN = ("label", "line", "part", "row")
"""Names of columns that this package and its readers add."""
_OF_SERVER = (
    *("requests", "peak_in_flight", "cpu_share", "run_delay_share"),
    *("lateness_p50_ns", "lateness_p99_ns", "ceiling_per_s"),
)
"""Counts of the server that are figures, with ``server_`` before their names."""


def frame(rows: Iterable["Row"]) -> pd.DataFrame:
    """Return one line for each trial and figure, with the columns KEYS, ``valid``, ``why``, ``figure`` and ``value``.

    Durations are in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares from 0 to 1. ``why``: the reasons why a
    trial is not valid, else empty.
    """
    return long(trials(rows))


def long(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of trials."""
    keys = [*KEYS, "valid", "why"]
    figures = [name for name in wide.select_dtypes("number") if name not in {*KEYS, *OF_TRIAL}]
    values = wide[figures].to_numpy(float, na_value=np.nan).T
    names, lines = np.nonzero(~np.isnan(values))  # melt would repeat the keys for unknown figures first
    columns = {"figure": np.array(figures, dtype=object)[names], "value": values[names, lines]}
    return wide[keys].take(lines).assign(**columns).reset_index(drop=True)


def with_cycles(
    lines: pd.DataFrame, rows: Sequence["Row"], measured: ratios.Spreads = ratios.NOT_MEASURED
) -> pd.DataFrame:
    """Return lines of the frame with what the ratios of arms need (``ratios``): six columns more.

    ``cycles``: the logarithm of the figure in each window, by cycle. ``cell``: that of the table of spreads between
    runs. ``is_waiting``: whether latency sets the rate. ``spread``: that of the cell in this run; None for other lines.
    ``is_unstable``: whether the arm is. ``is_noisy``: whether the run is. ``measured``: the spread between the runs of
    this machine.
    """
    timed = {(row.run, row.trial): row for row in rows if row.IS_TIMED}
    of = [timed.get(place) for place in zip(lines["run"], lines["trial"], strict=True)]
    cycles: list[Any] = [ratios.by_cycle(row, figure) for row, figure in zip(of, lines["figure"], strict=True)]
    cells: list[Any] = [None if row is None else ratios.cell_of(row) for row in of]
    more = lines.assign(
        cycles=cycles,
        cell=cells,
        is_waiting=[row is not None and ratios.is_waiting(row) for row in of],
        is_noisy=noise.is_noisy(row for row in rows if not row.is_compared),
    )
    return ratios.with_spread(more, measured)


def trials(rows: Iterable["Row"]) -> pd.DataFrame:
    """Return one line for each trial: KEYS, OF_TRIAL, and a column for each figure and each text."""
    many = list(rows)
    wide = pd.DataFrame([_keys(row) | dict(_figures(row)) for row in many])
    if wide.empty:
        return pd.DataFrame(columns=[*KEYS, *OF_TRIAL])
    wide = _derived(wide.apply(_of_one_type))
    for text in ("latency", "cpu"):  # a text has one meaning, whatever rows say
        wide[f"{text}_ns"] = wide.groupby(text)[f"{text}_ns"].transform("max")
    # Where arms of one name have different settings, the label, which has the settings, takes the place of the name.
    labels = wide.groupby("arm")["label"].transform("nunique")
    wide["arm"] = wide["arm"].where(labels == 1, wide["label"])
    references = wide[wide["role"] == "reference"]
    arms = dict(zip(references["unit"], references["arm"], strict=True))
    wide["reference"] = [arms.get(unit, "") for unit in wide["unit"]]
    alike = ["kind", "site", "connection", "latency", "cpu", "in_flight"]
    several = wide.groupby(alike, dropna=False)["site_pages"].transform("nunique") > 1
    wide["length"] = wide["site_pages"].where(several, 0)
    return wide[
        [
            *KEYS,
            *OF_TRIAL,
            *(name for name in wide if name not in {*KEYS, *OF_TRIAL, "label"}),
        ]
    ]


def _of_one_type(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column of numbers without texts: the programs of claims give figures names of their choice."""
    is_mixed = column.dtype == object and any(isinstance(value, float | int) for value in column.dropna())
    is_of_numbers = is_mixed or str(column.name).endswith(_OF_NUMBERS)
    return pd.to_numeric(column, errors="coerce") if is_of_numbers else column


def _derived(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with the figures that are calculated from others of the same trial."""
    memory = slopes.layers(wide).query(f"group != 'parked' and layer == '{slopes.FULL}'").set_index("row")
    if memory["added"].notna().any():
        each = (memory["added"] / memory["n"]).where(memory["n"] > 0)
        wide = wide.assign(held_added_bytes=memory["added"], held_added_bytes_each=each)
    if "ps_rss_bytes" in wide:
        wide = wide.assign(ps_rss_bytes_each=(wide["ps_rss_bytes"] / wide["in_flight"]).where(wide["kind"] == "idle"))
    return wide


def _keys(row: "Row") -> dict[str, Any]:
    """Return KEYS and OF_TRIAL of a row, and its ``label``: the name of the arm with its settings.

    ``site`` gets all values of a workload that have no column of their own.
    """
    values = msgspec.to_builtins(row.workload)
    arm = values.get("arm", {})
    site = values.get("site") or {}
    rest = site | {key: value for key, value in values.items() if key not in {*_OF_WORKLOAD, "site"}}
    rest |= rest.pop("arguments", {})
    rest = {key: value for key, value in rest.items() if key not in {"delay", "pages"}}
    settings = {key: value for key, value in (arm or values).items() if key in SETTINGS}
    label = ", ".join(_setting(key, value) for key, value in settings.items())
    keys = {
        "run": row.run,
        "unit": f"{row.run} {getattr(row.measured, 'block', None) or row.round}",
        "kind": row.kind,
        "trial": row.trial,
        "workload": row.workload.id,
        "strategy": row.arm if row.is_compared else row.strategy,
        "arm": row.name,
        "label": f"{row.name} ({label})" if label else row.name,
        "role": arm["role"] if row.kind == "arm" else "",
        "reference": "",
        "stack": row.stack,
        "interpreter": arm.get("interpreter", ""),
        "cores": arm.get("cores", 1),
        "latency": values.get("latency") or "0",
        "latency_ns": values.get("mean_latency_ns") or 0,
        "cpu": values.get("cpu", "0"),
        "cpu_ns": values.get("cpu_ns", 0),
        "in_flight": values.get("in_flight") or values.get("n") or values.get("users", 0),
        "rate_per_s": values.get("rate_per_s") or values.get("ramp_per_s") or 0.0,
        "connection": getattr(row.workload, "connections", values.get("connection", "")),
        "site": json.dumps(rest, sort_keys=True),
        "site_pages": 0 if row.kind == "arm" else site.get("pages", 0),
        "comparison": values.get("comparison", {}).get("name", ""),
        "round": row.round,
        "status": row.status,
        "valid": row.valid,
        "why": "; ".join(row.invalid_reasons),
        "cause": row.cause or "",
        "started_at": row.started_at,
        "settings": json.dumps(values.get("arguments") or settings, sort_keys=True),
    }
    return {key: _encodable(value) for key, value in keys.items()}


def _encodable(value: Any) -> Any:
    """Return a text that UTF-8 can encode: half a surrogate pair, which JSON allows, becomes a ``?``."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _setting(key: str, value: object) -> str:
    """Write a setting: texts explain themselves (an interpreter, a revision), numbers need their name."""
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items())
    if value is True:
        return key
    return f"{key}={value}" if isinstance(value, int) else str(value)


def _figures(row: "Row") -> Iterator[tuple[str, float | str]]:
    """Yield each number and text that was measured, by its name; ``service_p50_ns`` is one of the part ``service``.

    A list of texts is one text (of limits that are all possible: ``a or b``), of a list of records their number, and of
    pairs of a text and a number each number (``kernel: task_struct``). What has the name of a key has ``measured_``
    before it.
    """
    values: dict[str, float | str] = {}
    for name, value in _measured(row.measured):
        values |= _values(name, value)
    for name in _OF_SERVER:
        if (value := getattr(row.server, name, None)) is not None:
            values.setdefault(f"server_{name}", value)
    renamed = {name: f"measured_{name}" for name in (*KEYS, *OF_TRIAL, *_TAKEN)}
    if getattr(row.workload, "resource", None) == "memory":
        renamed |= {name: f"{name}_bytes" for name in ("predicted", "found")}
    for name, value in values.items():
        yield renamed.get(name, name), _encodable(value)


def _measured(measured: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values that a row has measured; those of a probe are JSON, in which a table may be."""
    if not isinstance(measured, dict):
        yield from ((name, getattr(measured, name)) for name in measured.__struct_fields__)
        return
    for name, value in measured.items():
        if isinstance(value, dict):
            yield from ((f"{name}_{key}", item) for key, item in value.items())
        else:
            yield name, value


def _values(name: str, value: Any) -> Iterator[tuple[str, float | str]]:
    """Yield the numbers and texts of a measurement."""
    match value:
        case bool() | int() | float():
            yield name, float(value) if isinstance(value, float) else int(value)
        case str():
            yield name, value
        case [str(), *_]:
            yield name, (" or " if name.endswith("_by") else ", ").join(map(str, value))
        case [msgspec.Struct(), *_]:
            yield name, len(value)
        case [[str(), int()], *_]:
            for pair in value:
                match pair:
                    case [str(what), int(size)]:
                        yield f"{name}: {what}", size
        case msgspec.Struct():
            count = getattr(value, "count", math.inf)
            for key in value.__struct_fields__:
                if count >= SAMPLES.get(key, 0) and isinstance(item := getattr(value, key), int | float | str):
                    yield f"{name}_{key}", item


# Figures over time


def moments(rows: Iterable["Row"], wide: pd.DataFrame) -> pd.DataFrame:
    """Return KEYS and OF_TRIAL of each trial of ``wide``, with ``at_ns`` (since it began), ``figure`` and ``value``.

    Figures: ``in_flight`` and ``completions`` of a crawl, ``threads``, ``rss_bytes`` and ``cpu_ns`` (samples from
    outside), ``window_cpu_per_page_ns`` of each window of an arm, ``waiting`` of an open loop, ``held`` and
    ``used_bytes`` of a swarm, and ``found`` of a limit, which is what was reached so far.
    """
    points = [(number, *moment) for number, row in enumerate(rows) for moment in _moments(row.measured)]
    lines = pd.DataFrame(points, columns=["row", "at_ns", "figure", "value"])
    lines = lines.join(wide[[*KEYS, *OF_TRIAL]], on="row")
    return lines.drop(columns="row").dropna(subset="value")


def _moments(measured: Any) -> Iterator[tuple[int, str, float]]:
    """Yield the time (nanoseconds), the name and the value of each figure over time of a trial."""
    for name in ("samples", "backlog", "timeline"):
        if (line := getattr(measured, name, None)) is not None:
            yield from _line(line)
    windows = [window for window in getattr(measured, "windows", None) or () if window.pages]
    for window in windows:
        yield window.begin_ns - windows[0].begin_ns, "window_cpu_per_page_ns", window.cpu_ns / window.pages


def _line(line: Any) -> Iterator[tuple[int, str, float]]:
    """Yield the same of one time line, which has times or bins of equal length."""
    if isinstance(line, list):
        for pair in line:
            yield pair[0], "found", pair[1]
        return
    for name in line.__struct_fields__:
        if name in {"at_ns", "bin_ns"}:
            continue
        values = getattr(line, name)
        times = getattr(line, "at_ns", None) or [(n + 1) * line.bin_ns for n in range(len(values))]
        for at, value in zip(times, values, strict=True):
            yield at, name, value
