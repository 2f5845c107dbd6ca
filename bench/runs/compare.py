"""Two or more stored runs: the ratios of each run to its baseline, and whether the last run differs from the first.

Runs are measured at different times, and a busy hour changes all their times. So a time is divided by that of the
baseline in the same block or round. Memory does not depend on the hour: it is compared as it is, at equal numbers in
flight. p values are corrected for the comparisons within a workload (Holm).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from inflight.bench.frame.contrast import contrast, summary
from inflight.bench.frame.figures import FIGURES
from inflight.bench.frame.frame import TIMED, trials
from inflight.bench.frame.statistics import CONFIDENCE, MARGIN, holm
from inflight.bench.plan.arm import REFERENCE
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row

TIMES, MEMORY = ["cpu_per_page_ns", "pages_per_s"], "user_bytes_per_fetch"
WORKLOAD = ["kind", "connection", "site", "site_pages", "cpu_ns", "cpu", "latency_ns", "latency", "in_flight"]
KEYS = ["figure", *WORKLOAD, "interpreter", "cores", "arm", "against", "is_ratio"]
"""What a figure is of. ``against``: the baseline. ``is_ratio``: a ratio to it; else the baseline itself, or memory."""
ORDER = ["figure", "latency_ns", "cpu_ns", "in_flight", "site", "kind", "connection", "is_ratio", "arm", "run"]
"""The order of lines."""
MIN_RUNS = 5
"""Minimum number of runs in which change points are looked for."""
MAX_P = 0.001
"""Maximum p value of a change point: the default of Otava."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    name: str
    rows: Sequence[Row]
    machine: Mapping[str, Any]

    @property
    def valid(self) -> int:
        """The number of valid trials."""
        return sum(row.valid for row in self.rows)

    @property
    def record(self) -> dict[str, str]:
        """What may differ between runs of one machine, as text, as far as it is known."""
        about: dict[str, Any] = {"experiment": max(row.run for row in self.rows).rpartition("-")[2]}
        about |= {name: self.machine.get(name) for name in ("libc", "commit")}
        for part in ("digests", "versions"):
            about |= {f"{name} ({part})": value for name, value in (self.machine.get(part) or {}).items()}
        return {name: str(value) for name, value in about.items() if value}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found."""

    runs: Sequence[Run]
    means: pd.DataFrame
    """``contrast.summary`` by KEYS and ``run``, the place of a run."""
    changes: pd.DataFrame
    """``contrast.contrast`` of the last run to the first one, with ``answer`` in words."""
    lonely: pd.DataFrame
    """The number of figures without a baseline, or not in both the first and the last run, by arm and run."""
    points: pd.DataFrame | None
    """Change points: KEYS, ``run`` (the first after the change), ``before``, ``after`` and ``p``; None: no Otava."""
    differences: Mapping[str, Sequence[str]]
    """The values of all runs, by what differs between them."""
    is_unlike: bool
    """Whether machines or clocks differ, or a machine is unknown, so that there is no verdict."""

    @property
    def verdict(self) -> str:
        """``regression``: a ratio or memory is worse; ``pass``: all are equal or better; else ``inconclusive``."""
        decides = self.changes["is_ratio"] | (self.changes["figure"] == MEMORY)
        if not self.is_unlike and "worse" in set(self.changes["answer"][decides]):
            return "regression"
        is_open = self.is_unlike or not {"worse", "can't tell"}.isdisjoint(self.changes["answer"])
        return "inconclusive" if is_open else "pass"


def read(path: Path, name: str) -> Run:
    """Return the run in a folder, or in a file of rows. Raises RowsError."""
    return Run(name, rows.read(path), rows.machine(path if path.is_dir() else path.parent))


def clock(rows: Sequence[Row]) -> str | None:
    """Return the clock of most blocks of a run: figures of different clocks are not compared."""
    clocks = [row.measured.clock for row in rows if row.kind == "arm"]
    return max(clocks, key=clocks.count, default=None)


def compare(runs: Sequence[Run]) -> Comparison:
    """Compare the last of at least two runs with the first one."""
    lines = pd.concat([ratios(run.rows).assign(run=place) for place, run in enumerate(runs)])
    last = len(runs) - 1
    changes = contrast(lines[lines["run"].isin([0, last])], "run", 0, KEYS)
    means = summary(lines, [*KEYS, "run"])
    places = means.groupby(KEYS, sort=False)["run"].agg(set)
    common = places[places.map(lambda place: {0, last} <= place)].index
    means = means.set_index(KEYS).loc[common].reset_index().sort_values(ORDER)
    every = lines[[*KEYS, "run"]].drop_duplicates()
    rest = every[~pd.MultiIndex.from_frame(every[KEYS]).isin(common)]
    unlike = {key for run in runs[1:] for key in rows.machine_changes(runs[0].machine, run.machine)}
    values = {
        **{key: [str(run.machine.get(key)) for run in runs] for key in sorted(unlike)},
        "clock": [str(clock(run.rows)) for run in runs],
        **{key: [run.record[key] for run in runs] for key in runs[0].record if all(key in run.record for run in runs)},
    }
    differences = {key: texts for key, texts in values.items() if len(set(texts)) > 1}
    is_unlike = bool(unlike) or "clock" in differences or not all(run.machine for run in runs)
    lonely = pd.crosstab(rest["arm"], rest["run"])
    return Comparison(runs, means, _answered(changes), lonely, _points(means), differences, is_unlike)


def ratios(rows: Iterable[Row]) -> pd.DataFrame:
    """Return the valid figures of a run: a line for each unit, with the columns KEYS, ``unit`` and ``value``.

    ``value`` is NaN for a ratio without a baseline.
    """
    wide = trials(rows)
    wide = wide[wide["valid"] & (wide["comparison"] == "") & (wide["role"] != "placebo")]
    wide = wide.assign(against=wide["reference"].where(wide["reference"] != "", REFERENCE))
    wide = wide.reindex(columns=[*wide.columns, *{*TIMES, "held_in_flight", "held_uss_bytes"} - {*wide.columns}])
    keys = [*WORKLOAD, "interpreter", "cores", "arm", "against", "unit"]
    times = wide[wide["kind"].isin(TIMED)].melt(keys, TIMES, var_name="figure").dropna(subset="value")
    unit = ["figure", *WORKLOAD, "unit"]
    base = times[times["arm"] == times["against"]].drop_duplicates(unit)
    times = times.merge(base[[*unit, "value"]], "left", unit, suffixes=("", "_of_baseline"))
    times["is_ratio"] = times["arm"] != times["against"]
    times["value"] = times["value"] / times["value_of_baseline"].where(times["is_ratio"], 1)
    return pd.concat([times, _memory(wide[wide["kind"] == "memory"])])[[*KEYS, "unit", "value"]].assign(valid=True)


def _memory(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the memory per fetch beyond that of the smallest number in flight; the unit is the number in flight."""
    wide = wide.assign(in_flight=0, site_pages=0, against="", figure=MEMORY, is_ratio=False)
    held = wide.groupby([*KEYS, "held_in_flight"])["held_uss_bytes"].median().reset_index()
    least = held.groupby(KEYS)[["held_in_flight", "held_uss_bytes"]].transform("first")
    value = (held["held_uss_bytes"] - least["held_uss_bytes"]) / (held["held_in_flight"] - least["held_in_flight"])
    return held.assign(unit=held["held_in_flight"].astype(str), value=value).dropna()


def _answered(changes: pd.DataFrame) -> pd.DataFrame:
    """Correct the p values for the number of comparisons within a workload, and put the answers into words."""
    p_values = changes.groupby(WORKLOAD)["p"].transform(lambda each: holm(list(each)))
    is_more = changes["estimate"] > 1
    is_better = is_more == changes["figure"].map(lambda name: FIGURES[name].is_more_better)
    differs = is_better.map({True: "better", False: "worse"})
    differs = differs.where(p_values < 1 - CONFIDENCE, "can't tell")
    words = changes["answer"].map({"same": "equal", "unknown": "can't tell"})
    return changes.assign(p=p_values, answer=words.fillna(differs))


def _points(means: pd.DataFrame) -> pd.DataFrame | None:
    """Return the change points that Apache Otava finds: the method of https://doi.org/10.1145/3578244.3583719."""
    try:
        from otava.analysis import compute_change_points
    except ImportError:
        return None
    points = []
    for key, series in means.groupby(KEYS, sort=False):
        if len(series) < MIN_RUNS:
            continue
        changes, _ = compute_change_points(list(series["estimate"]), max_pvalue=MAX_P, min_magnitude=math.expm1(MARGIN))
        for at in changes:
            run = series["run"].iloc[at.index]
            points.append((*key, run, at.stats.mean_1, at.stats.mean_2, at.stats.pvalue))
    return pd.DataFrame(points, columns=[*KEYS, "run", "before", "after", "p"])
