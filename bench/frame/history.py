"""What earlier runs on the same machine found: of each place, how far its ratio differs from run to run.

``show.studies`` calls ``history`` for the run that it shows. The spread between runs (``History.spreads``) widens the
interval for the next run; memory and costs are shown beside those of earlier runs. The runs are those beside a run and
in the folder of the series, the newest first. They are at least six hours apart: runs of one afternoon meet one state
of the host. *Cell* and *place*: see ``ratios``.
"""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path

import pandas as pd

from inflight.bench.frame import ratios, slopes
from inflight.bench.frame import statistics as stats
from inflight.bench.frame.frame import long, trials, with_cycles
from inflight.bench.frame.ratios import Cell, Estimates, Spreads
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError

SERIES = "series"
"""Folder of runs at times that were fixed beforehand, beside other runs."""
APART = timedelta(hours=6)
"""Minimum time between two runs that count."""
MIN_DAYS, MIN_RUNS, MAX_RUNS = 3, 3, 30
"""Minimum number of days and of runs for a spread, and maximum number of runs."""
MAX_READ = 200
"""Maximum number of folders that are read in search of these runs."""

Subject = tuple[str, str, str]
"""Group, arm and connection (``slopes``)."""
Costs = Mapping[tuple[Cell, str], float]
"""Logarithm of the CPU time per page of the reference, by cell and its strategy."""
Memory = Mapping[Subject, float]
"""Bytes in all layers of one more fetch, thread or task."""


@dataclass(frozen=True)
class Earlier:
    """A run, as far as later ones use it."""

    day: date
    estimates: Estimates
    costs: Costs
    memory: Memory


@dataclass(frozen=True)
class History:
    """The earlier runs of a run, the newest first."""

    runs: Sequence[Earlier] = ()

    @cached_property
    def spreads(self) -> Spreads:
        """The spread between the runs; of places that too few runs or days have, none."""
        known = {}
        for place in {place for run in self.runs for place in run.estimates}:
            alike = [run for run in self.runs if place in run.estimates]
            if len(alike) >= MIN_RUNS and len({run.day for run in alike}) >= MIN_DAYS:
                means = [run.estimates[place].value for run in alike]
                errors = [run.estimates[place].error for run in alike]
                known[place] = ratios.measured_between(stats.between(means, errors), len(alike))
        return known

    @cached_property
    def memory(self) -> Mapping[Subject, tuple[float, float]]:
        """The least and the most bytes of one more; without three runs, nothing."""
        return ranges([run.memory for run in self.runs])

    def cost(self, latest: Costs) -> tuple[str, float, int] | None:
        """Return the reference, what a page costs it now over the median of these runs, and their number.

        Of several cells it is the one without latency; None for fewer than three runs.
        """
        for place, now in sorted(latest.items()):
            before = [run.costs[place] for run in self.runs if place in run.costs]
            if len(before) >= MIN_RUNS:
                return place[1], math.exp(now - statistics.median(before)), len(before)
        return None


def ranges(runs: Sequence[Memory], least: int = MIN_RUNS) -> dict[Subject, tuple[float, float]]:
    """Return the fewest and the most bytes of each subject that at least so many runs have.

    Runs with the same figure to the last bit have the same rows: a run may take those of another one.
    """
    values = defaultdict[Subject, set[float]](set)
    for run in runs:
        for subject, size in run.items():
            values[subject].add(size)
    return {subject: (min(each), max(each)) for subject, each in values.items() if len(each) >= least}


def reference_memory() -> dict[Subject, tuple[float, float]]:
    """Return the ranges of the stored runs of the project, two or more of each subject."""
    stored = json.loads(ratios.TABLE.read_text(encoding="utf-8"))["memory"]["ranges"]
    return {(group, arm, connection): (low, high) for group, arm, connection, low, high in stored}


def history(folder: Path, latest: Sequence[Row]) -> History:
    """Return the earlier runs of the same cells on the same machine, without a neighbour on purpose."""
    counted = _counted(latest)
    if not counted:
        return History()
    cells = set(map(_cell, counted))
    runs: list[Earlier] = []
    before = _start(counted)
    least = timedelta(0)
    for stored in _others(folder.resolve()):
        start = _start(stored)
        if before - start >= least and not cells.isdisjoint(map(_cell, stored)):
            runs.append(_earlier(start, stored))
            before = start
            least = APART
        if len(runs) == MAX_RUNS:
            break
    return History(runs)


def _others(folder: Path) -> Iterator[list[Row]]:
    """Yield what counts of each other run of the same machine, the newest first."""
    home = folder.parent
    home = home.parent if home.name == SERIES else home
    others = [*rows.folders_in(home), *rows.folders_in(home / SERIES)]
    newest = sorted(
        (other for other in others if other != folder),
        key=lambda other: other.name,
        reverse=True,
    )
    for other in newest[:MAX_READ]:
        try:
            if rows.machine_changes({**rows.machine(folder), "neighbour": None}, rows.machine(other)):
                continue
            if counted := _counted(rows.read(other)):
                yield counted
        except RowsError:
            continue  # an unreadable run tells nothing


def _earlier(start: datetime, stored: Sequence[Row]) -> Earlier:
    """Return what later runs use of the rows of a run, which began at ``start``."""
    wide = trials(stored)
    lines = with_cycles(long(wide).query("figure == 'cpu_per_page_ns'"), stored)
    return Earlier(start.date(), ratios.estimates(lines), costs(lines), memory(wide))


def memory(wide: pd.DataFrame) -> Memory:
    """Return the slope of all layers of each subject in trials of the frame."""
    if wide.empty:
        return {}
    every = slopes.slopes(slopes.layers(wide))
    known = every[(every["layer"] == slopes.FULL) & every["estimate"].notna()]
    columns = known[["group", "arm", "connection", "estimate"]].itertuples(index=False, name=None)
    return {(group, arm, connection): size for group, arm, connection, size in columns}


def costs(lines: pd.DataFrame) -> Costs:
    """Return what a page cost the reference in each cell of lines ``with_cycles``."""
    is_reference = (lines["role"] == "reference") & (lines["figure"] == "cpu_per_page_ns") & lines["valid"]
    values = defaultdict[tuple[Cell, str], list[float]](list)
    for cell, strategy, value in lines.loc[is_reference, ["cell", "strategy", "value"]].itertuples(index=False):
        values[cell, strategy].append(math.log(value))
    return {place: statistics.fmean(each) for place, each in values.items()}


def _counted(stored: Sequence[Row]) -> list[Row]:
    """Return the rows that a history uses: arms of blocks and memory, without comparisons."""
    return [row for row in stored if row.kind in {"arm", "memory"} and not row.is_compared]


def _cell(row: Row) -> tuple[str, ...]:
    """Return what the runs of a history have in common."""
    return ratios.cell_of(row) if row.kind == "arm" else (row.kind, row.arm)


def _start(stored: Sequence[Row]) -> datetime:
    """Return when a run began."""
    return min(datetime.fromisoformat(row.started_at) for row in stored)
