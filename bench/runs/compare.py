"""Two or more stored runs: the ratios of each run to its baseline, and whether the last run differs from the first.

Runs are measured at different times, and a busy hour changes all their times. So a time is divided by that of the
baseline in the same block or round. The hour changes ratios too, by as much as the table of spreads between runs says
(``frame.ratios``). Memory does not depend on the hour: it is compared as it is, at equal numbers in flight. p values
are corrected for the comparisons within a workload (Holm). ``runs.command`` calls ``read`` and ``compare``, the
documents, too; ``runs.show`` has the words. Otava is a library that finds change points in series.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from inflight.bench.frame.contrast import SUMMARY, contrast, records, summary
from inflight.bench.frame.figures import FIGURES
from inflight.bench.frame.frame import TIMED, long, trials, with_cycles
from inflight.bench.frame.ratios import change
from inflight.bench.frame.statistics import CONFIDENCE, MARGIN, holm
from inflight.bench.plan.trial import REFERENCE
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show.folder import experiment

TIMES, MEMORY = ["cpu_per_page_ns", "pages_per_s"], "user_bytes_per_fetch"
"""Figures that are compared as ratios to the baseline of their run; and memory, which is compared as it is."""
WORKLOAD = ["kind", "connection", "site", "site_pages", "cpu_ns", "cpu", "latency_ns", "latency", "in_flight"]
"""Columns of the frame in which the figures of one workload are equal."""
KEYS = ["figure", *WORKLOAD, "interpreter", "cores", "arm", "against", "is_ratio"]
"""What a figure is of. ``against``: the baseline. ``is_ratio``: a ratio to it; else the baseline itself, or memory."""
ORDER = ["figure", "latency_ns", "cpu_ns", "in_flight", "site", "kind", "connection", "is_ratio", "arm", "run"]
"""The order of lines."""
CHANGE = ["run", "baseline", *SUMMARY[:-1], "p", "answer"]
"""What a change has beside KEYS. ``run`` and ``baseline``: the places of the last and the first run."""
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
        newest = max(row.run for row in self.rows)
        about: dict[str, Any] = {"experiment": experiment(newest, self.machine)}
        about |= {name: self.machine.get(name) for name in ("libc", "commit")}
        for part in ("digests", "versions"):
            about |= {f"{name} ({part})": value for name, value in (self.machine.get(part) or {}).items()}
        return {name: str(value) for name, value in about.items() if value}


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """What was found."""

    runs: Sequence[Run]
    means: pd.DataFrame
    """``contrast.summary`` by KEYS and ``run``, the place of a run; of ratios with ``next_low`` and ``next_high``."""
    changes: pd.DataFrame
    """The ratio of the last run to the first one by KEYS, with the columns CHANGE, and ``answer`` in words."""
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
        """``regression``: a ratio or memory is worse.

        ``pass``: each is better, equal, or where the first run expected it, and no baseline is worse. Else
        ``inconclusive``.
        """
        if self.is_unlike:
            return "inconclusive"
        answers = self.changes["answer"]
        decides = set(answers[self.changes["arm"] != self.changes["against"]])
        if "worse" in decides:
            return "regression"
        is_open = "can't tell" in decides or "worse" in set(answers)
        return "inconclusive" if is_open else "pass"


def read(path: Path, name: str) -> Run:
    """Return the run in a folder, or in a file of rows. Raises RowsError."""
    return Run(name, rows.read(path), rows.machine(path if path.is_dir() else path.parent))


def clock(rows: Sequence[Row]) -> str | None:
    """Return the clock of most blocks of a run: figures of different clocks are not compared."""
    clocks = [row.measured.clock for row in rows if row.kind == "arm"]
    return max(clocks, key=clocks.count, default=None)


def compare(runs: Sequence[Run]) -> ComparedRuns:
    """Compare the last of at least two runs with the first one; those between are shown, and show change points."""
    lines = pd.concat([_lines(run.rows).assign(run=place) for place, run in enumerate(runs)])
    keys = [*KEYS, "run"]
    last = len(runs) - 1
    every = lines[keys].drop_duplicates()
    alone = lines[~lines["is_ratio"]][[*keys, "unit", "value", "valid"]]
    timed = lines[lines["kind"].isin(TIMED)]
    ratios = contrast(timed, "arm", "against", ["figure", *WORKLOAD, "against", "run"]).merge(every)
    means = pd.concat([summary(alone, keys), ratios[[*keys, *SUMMARY[:-1], "next_low", "next_high"]]])
    both: Any = ratios[ratios["run"].isin([0, last])].groupby(KEYS)["as_log"]
    changes = [(*key, *change(*pair)) for key, pair in both if len(pair) > 1]
    absolute = contrast(alone[alone["run"].isin([0, last])], "run", 0, KEYS)
    changes += [(*line[: len(KEYS)], line.as_log.estimate, MARGIN, None) for line in records(absolute)]
    answered = _answered(changes, last)
    means = means.merge(answered[KEYS]).assign(valid=True).sort_values(ORDER)
    has_answer = pd.MultiIndex.from_frame(every[KEYS]).isin(pd.MultiIndex.from_frame(answered[KEYS]))
    rest = every[~has_answer]
    unlike = {key for run in runs[1:] for key in rows.machine_changes(runs[0].machine, run.machine)}
    texts = []
    for run in runs:
        of_machine = {key: str(run.machine.get(key)) for key in sorted(unlike)}
        texts.append(of_machine | {"clock": str(clock(run.rows))} | run.record)
    known = pd.DataFrame(texts).dropna(axis="columns")
    differences: Any = known.loc[:, known.ne(known.iloc[0]).any()].to_dict("list")
    is_unlike = bool(unlike) or "clock" in differences or not all(run.machine for run in runs)
    lonely = pd.crosstab(rest["arm"], rest["run"])
    return ComparedRuns(runs, means, answered, lonely, _points(means), differences, is_unlike)


def _lines(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the valid figures of a run: a line for each unit, with KEYS and what ratios need."""
    wide = trials(rows).query("valid and comparison == ''")
    times = with_cycles(long(wide).query("kind in @TIMED and figure in @TIMES"), rows).query("role != 'placebo'")
    times = times.assign(against=times["reference"].replace("", REFERENCE))
    times = times.assign(is_ratio=times["arm"] != times["against"])
    return pd.concat([times, _memory(wide.query("kind == 'memory'"))])


def _memory(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the memory per fetch beyond that of the smallest number in flight; the unit is the number in flight."""
    wide = wide.reindex(columns=wide.columns.union(["held_in_flight", "held_uss_bytes"]))
    wide = wide.assign(in_flight=0, site_pages=0, against="", figure=MEMORY, is_ratio=False)
    held = wide.groupby([*KEYS, "held_in_flight"])["held_uss_bytes"].median().reset_index()
    sizes = held[["held_in_flight", "held_uss_bytes"]]
    more = sizes - held.groupby(KEYS)[list(sizes)].transform("first")
    value = more["held_uss_bytes"] / more["held_in_flight"]
    return held.assign(unit=held["held_in_flight"].astype(str), value=value, valid=True).dropna()


def _answered(changes: Sequence[tuple[Any, ...]], last: int) -> pd.DataFrame:
    """Return the changes with the columns CHANGE; p values are corrected for the comparisons within a workload.

    ``changes``: KEYS and what ``frame.ratios.change`` returns. ``last``: the place of the last run.
    """
    table = pd.DataFrame(changes, columns=[*KEYS, "estimate", "least", "is_expected"])
    by_workload = table.groupby(WORKLOAD)["estimate"]
    table["p"] = by_workload.transform(lambda each: holm([estimate.p for estimate in each]))
    lines = []
    for line in records(table):
        logarithm = line.estimate.value
        answer = "in range" if line.is_expected else "can't tell"
        if line.p < 1 - CONFIDENCE and abs(logarithm) >= line.least:
            is_better = (logarithm > 0) == FIGURES[line.figure].is_more_better
            answer = "better" if is_better else "worse"
        elif line.is_expected is not False and line.estimate.is_within(MARGIN):
            answer = "equal"
        ratio = astuple(line.estimate.interval().ratio())
        lines.append((*line[:-4], last, 0, *ratio, line.p, answer))
    return pd.DataFrame(lines, columns=[*KEYS, *CHANGE])


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
