"""What earlier runs of the same experiment on the same machine found: how far ratios differ from run to run."""

import statistics
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inflight.bench.core import noise, units
from inflight.bench.frame.contrast import contrast, records
from inflight.bench.frame.frame import frame
from inflight.bench.present import words
from inflight.bench.present.table import Table
from inflight.bench.report.files import EXPERIMENT_FILE
from inflight.bench.rows import files as rows
from inflight.bench.rows import machines
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.runs.compare import clock

SERIES = "series"
"""Folder of runs at times that were fixed beforehand, beside other runs."""
MAX_LINES = 40

Ratios = dict[tuple[str, str], float]
"""CPU time per page over that of the reference, by workload and arm."""


def table(folder: Path, found: Sequence[Row]) -> Table | None:
    """Return the ratios of a run beside those of earlier ones; None without an earlier run or a ratio."""
    here = ratios(found)
    machine = rows.machine(folder)
    alike = _runs_like(folder, machine) if here else ()
    others = [ratios(run) for run in alike if clock(run) == clock(found)]
    quiet = [one for one in others if one]
    if not quiet:
        return None
    lines = []
    for (workload, arm), ratio in here.items():
        before = [one[workload, arm] for one in quiet if (workload, arm) in one]
        if before:
            ends = f"{min(before):.2f} to {max(before):.2f}"
            median = f"{statistics.median(before):.2f}x"
            lines.append((f"{words.plain(arm, 60)}, {workload}", f"{ratio:.2f}x", median, ends, str(len(before))))
    left_out = len(others) - len(quiet)
    notes = [
        *([f"The first {MAX_LINES} of {len(lines)} ratios."] if len(lines) > MAX_LINES else []),
        *([f"{words.counted(left_out, 'noisy run')} left out."] if left_out else []),
    ]
    heads = ("ratio of CPU per page to the reference", "this run", "median", "range", "runs")
    return Table("Earlier runs of this experiment on this machine", heads, tuple(lines[:MAX_LINES]), tuple(notes))


def ratios(found: Sequence[Row]) -> Ratios:
    """Return the ratios of a run; none if it is noisy."""
    if noise.is_noisy(found):
        return {}
    lines = frame(found)
    own = lines[(lines["kind"] == "arm") & (lines["figure"] == "cpu_per_page_ns") & (lines["role"] != "placebo")]
    keys = ["latency", "in_flight", "cpu", "workload", "reference"]
    compared = records(contrast(own[own["comparison"] == ""], "arm", "reference", keys))
    return {(_workload(one), one.arm): one.estimate for one in compared}


def _workload(one: Any) -> str:
    work = f", {units.latency(one.cpu)} of CPU work" if one.cpu != "0" else ""
    return f"{units.latency(one.latency)}, {words.in_flight(one.in_flight)}{work}"


def _runs_like(folder: Path, machine: Mapping[str, Any]) -> Iterator[list[Row]]:
    """Yield the rows of the earlier runs of the same experiment on the same machine, without a neighbour on purpose."""
    experiment = _experiment(folder)
    pattern = f"*-{folder.name.rpartition('-')[2]}"
    home = folder.resolve().parent
    home = home.parent if home.name == SERIES else home
    for other in [*rows.folders_in(home, pattern), *rows.folders_in(home, f"{SERIES}/{pattern}")]:
        if other.name >= folder.name:
            continue
        try:
            is_same = not machines.differences({**machine, "neighbour": None}, rows.machine(other))
            if is_same and _experiment(other) == experiment:
                yield rows.read(other)
        except RowsError:
            continue  # an unreadable run tells nothing


def _experiment(folder: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads((folder / EXPERIMENT_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
