"""Run a block of a comparison: three arms in slices, and optionally memory at the gate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import psutil

from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks.sides import Prepared, prepare
from inflight.bench.measure.preflight import shortage
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.files import Row
from inflight.bench.studies.compare.comparison import Comparison

PROCESS_SD = 0.015
"""SD of the CPU time per page between fresh processes of the same code (docs/verdicts.md)."""
FEWEST_CYCLES, MOST_CYCLES = 2, 120
FIRST_WAITING = 2
"""Number of cycles of the first block if a latency is added: each slice then lasts for twenty latencies."""
BALANCED = 6
"""Number of cycles in which each of three arms comes before and after each other one equally often."""
LONGEST_S = 3.0
"""Approximate maximum duration of the slices of a block, unless they are the fewest."""
MEMORY_S = 2.5
"""Approximate duration of the four readings of memory, for estimates only."""

Arms = dict[str, Prepared]
"""Prepared arms by name."""


@dataclass(frozen=True, slots=True)
class Place:
    """The server and the cores on which blocks are run."""

    keeper: runs.ServerKeeper
    cpus: host.Cpus

    def setting(self, run_name: str) -> Setting:
        """Return the setting that the trials of a run share."""
        return Setting(run_name, self.cpus, budget_bytes=psutil.virtual_memory().available // 2)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of the first block: the size of the following blocks and their duration."""

    rows: tuple[Row, ...]
    cycles: int
    block_s: float
    """Approximate duration of a block."""
    memory_s: float = MEMORY_S
    """Approximate additional duration of a block with memory."""


def prepare_arms(comparison: Comparison, folder: Path) -> Arms:
    """Prepare both arms, each in its own folder. Raises ExperimentError when that fails.

    A and its placebo run the same files.
    """
    made = {arm.name: prepare(arm, folder / arm.name) for arm in (comparison.a, comparison.b)}
    again = comparison.arms[2]
    return made | {again.name: replace(made["A"], arm=again)}


def calibrate(comparison: Comparison, prepared: Arms, place: Place, cycles: int | None) -> Calibration:
    """Run a block and determine the number of cycles of the others, unless it is given.

    Raises ExperimentError with the name of the arm when one cannot do the work.
    """
    first = FIRST_WAITING if comparison.site.delay != "0" else comparison.cycles
    block = replace(comparison, cycles=cycles or first).block(1)
    for trial in block.trials:
        if short := shortage(trial):
            raise ExperimentError(short)
    rows = runs.measured(block, place.keeper, place.setting("calibration"), prepared)
    for arm, row in zip(block.arms, rows, strict=True):
        if row.status != "ok":
            blame = "" if row.measured.server_lost else f"{arm.name}, {prepared[arm.name].arm.label}: "
            raise ExperimentError(f"nothing to compare: {blame}{row.reason}")
    windows = [row.measured.windows for row in rows]
    cycle_s = _cycle_s(windows)
    whole_s = max(row.duration_ns for row in rows) / 1e9
    fixed_s = max(0.1, whole_s - len(windows[0]) * cycle_s)
    wanted = cycles or cycles_for(slice_sd(windows[0], windows[2]), fixed_s, cycle_s)
    return Calibration(tuple(rows), wanted, fixed_s + wanted * cycle_s)


def cycles_for(slice_sd: float, fixed_s: float, cycle_s: float) -> int:
    """Return the number of cycles per block that gives the most precise result in a given time.

    It is the optimal size of a cluster: the ratio of the SDs within and between clusters, times the root of the ratio
    of the costs of a cluster and of one of its members (W. G. Cochran, "Sampling Techniques", 1977, section 10.6). From
    six cycles on it is a multiple of six, so that arms follow each other equally often.
    """
    best = slice_sd / PROCESS_SD * sqrt(fixed_s / cycle_s)
    bounded = min(max(best, FEWEST_CYCLES), LONGEST_S / cycle_s, MOST_CYCLES)
    if bounded < BALANCED:
        return max(FEWEST_CYCLES, round(bounded))
    return BALANCED * round(bounded / BALANCED)


def slice_sd(a: Sequence[Any], again: Sequence[Any]) -> float:
    """Return the relative SD of the CPU time per page of a window, from pairs of windows of the same code.

    Disturbances of a whole cycle cancel, because the two windows of a cycle are compared with each other.
    """
    logs = [
        log(one.cpu_ns / one.pages * other.pages / other.cpu_ns)
        for one, other in zip(a, again, strict=False)
        if min(one.pages, one.cpu_ns, other.pages, other.cpu_ns) > 0
    ]
    return stdev(logs) / sqrt(2) if len(logs) > 1 else 0.0


def _cycle_s(windows: Sequence[Sequence[Any]]) -> float:
    """Return the duration of a cycle: from the first window to the last, over the windows between."""
    begins = sorted(one.begin_ns for own in windows for one in own)
    whole_ns: int = begins[-1] - begins[0]
    return max(1e-3, whole_ns / max(1, len(begins) - 1) * len(windows) / 1e9)


def measure(
    comparison: Comparison, number: int, prepared: Arms, place: Place, run_name: str, *, memory: bool
) -> list[Row]:
    """Run a block and, with ``memory``, memory trials of A and B; return their rows, failures included."""
    setting = place.setting(run_name)
    found = runs.measured(comparison.block(number), place.keeper, setting, prepared)
    if memory:
        described = {name: one.described for name, one in prepared.items()}
        for name, trial in comparison.memory(number, described):
            own = replace(setting, runtime=prepared[name].runtime)
            found += runs.measured(trial, place.keeper, own)
    return found
