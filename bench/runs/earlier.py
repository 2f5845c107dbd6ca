"""What earlier runs of the same experiment on the same machine found: how far ratios differ from run to run."""

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from inflight.bench.frame import noise
from inflight.bench.frame.contrast import contrast, records
from inflight.bench.frame.frame import frame
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.runs.compare import clock
from inflight.bench.show import words
from inflight.bench.show.table import Section, Table

SERIES = "series"
"""Folder of runs at times that were fixed beforehand, beside other runs."""
MAX_LINES = 40
OUTSIDE = " *"
"""Mark of a ratio outside of the range of earlier runs."""

Ratios = dict[tuple[str, str], float]
"""CPU time per page over that of the reference, by workload and arm."""


def section(folder: Path, rows: Sequence[Row]) -> Section | None:
    """Return the ratios of a run beside those of earlier ones; None without an earlier run or a ratio."""
    latest = ratios(rows)
    alike = _runs_like(folder, rows) if latest else ()
    others = [ratios(run) for run in alike if clock(run) == clock(rows)]
    quiet = [each for each in others if each]
    lines = []
    for (workload, arm), ratio in latest.items():
        before = [each[workload, arm] for each in quiet if (workload, arm) in each]
        if before:
            ends = f"{min(before):.2f} to {max(before):.2f}"
            median = f"{statistics.median(before):.2f}x"
            here = f"{ratio:.2f}x{'' if min(before) <= ratio <= max(before) else OUTSIDE}"
            lines.append((f"{words.plain(arm, 60)}, {workload}", here, median, ends, str(len(before))))
    if not lines:
        return None
    outside = sum(line[1].endswith(OUTSIDE) for line in lines)
    notes = [words.SENTENCES["outside"]] if outside else []
    notes += [f"The first {MAX_LINES} of {len(lines)} ratios."] if len(lines) > MAX_LINES else []
    notes += [f"Noisy runs that do not count: {len(others) - len(quiet)}."] if len(others) > len(quiet) else []
    heads = ("ratio of CPU per page to the reference", "this run", "median", "range", "runs")
    table = Table("Earlier runs of this experiment on this machine", heads, tuple(lines[:MAX_LINES]), tuple(notes))
    counts = {"within": len(lines) - outside, "number": len(lines), "runs": len(quiet)}
    return Section("", (table,), findings=(words.SENTENCES["within"].format(**counts),) if len(quiet) > 1 else ())


def ratios(rows: Sequence[Row]) -> Ratios:
    """Return the ratios of a run; none if it is noisy."""
    if noise.is_noisy(rows):
        return {}
    lines = frame(rows)
    arms = lines[(lines["kind"] == "arm") & (lines["figure"] == "cpu_per_page_ns") & (lines["role"] != "placebo")]
    keys = ["latency", "in_flight", "cpu", "workload", "reference"]
    compared = records(contrast(arms[arms["comparison"] == ""], "arm", "reference", keys))
    return {
        (
            words.workload("arm", {key: getattr(ratio, key) for key in ("latency", "cpu", "in_flight")}),
            ratio.arm,
        ): ratio.estimate
        for ratio in compared
    }


def _runs_like(folder: Path, latest: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the rows of the earlier runs of the same experiment on the same machine, without a neighbour on purpose.

    Experiments are the same if the same trials were planned, whichever version of the program wrote them down.
    """
    planned, folder = _planned(latest), folder.resolve()
    ending, home = f"-{folder.name.rpartition('-')[2]}", folder.parent
    home = home.parent if home.name == SERIES else home
    for other in [*rows.folders_in(home, ending), *rows.folders_in(home / SERIES, ending)]:
        if other.name >= folder.name:
            continue
        try:
            if not rows.machine_changes({**rows.machine(folder), "neighbour": None}, rows.machine(other)):
                before = rows.read(other)
                if _planned(before) == planned:
                    yield before
        except RowsError:
            continue  # an unreadable run tells nothing


def _planned(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Return the trials of a run, each with its workload."""
    return {(row.trial, json.dumps(msgspec.to_builtins(row.workload), sort_keys=True)) for row in rows}
