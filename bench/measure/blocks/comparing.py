"""Measure blocks of a comparison: prepare its arms, choose the size of a block, and run blocks with memory trials.

``inflight ab`` and ``inflight selftest`` call ``ready``, then ``calibrate`` once, then ``measure`` for each block,
within ``chosen_place``. The arms are A, B, and A again as the placebo. A *slice* is one turn of an arm, a *window* the
part of it that counts, a *cycle* a slice of each arm (``blocks.block``). SD: standard deviation, here of the logarithm
of the CPU time per page, so of its relative changes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import log, sqrt
from pathlib import Path
from statistics import stdev

import psutil

from inflight.bench.measure import host, interpreters
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks.sides import Prepared, prepare
from inflight.bench.measure.preflight import shortages, tls_shortage
from inflight.bench.measure.process import Runtime
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.comparison import MEMORY_SIZES, Comparison
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Window

PROCESS_SD = 0.015
"""SD of the CPU time per page between fresh processes of the same code: a round number, measured and not stored.

It only divides the time between cycles and blocks. A verdict uses the differences that its own blocks show.
"""
MIN_CYCLES, MAX_CYCLES = 2, 120
"""Fewest and most cycles (slices of each arm) of a block."""
BALANCED = 6
"""Number of cycles in which each of three arms comes before and after each other one equally often."""
MAX_SLICES_S = 3.0
"""Approximate maximum duration of the slices of a block, unless they are the fewest."""

Arms = dict[str, Prepared]
"""Prepared arms by name."""


@dataclass(frozen=True, slots=True)
class Place:
    """The server and the cores on which blocks are run."""

    keeper: runs.ServerKeeper
    """The server, which is replaced if it dies."""
    cpus: host.Cpus

    def setting(self, run_name: str) -> Setting:
        """Return the setting that the trials of a run share."""
        return Setting(run_name, self.cpus, budget_bytes=psutil.virtual_memory().available // 2)


@contextmanager
def chosen_place(*, is_timed: bool = True) -> Iterator[Place]:
    """Choose cores, and keep a server running while blocks are run, or while calls are counted.

    ``is_timed``: the server's maximum responses per second are measured first, with which a throughput is compared.
    """
    cpus = host.choose_cpus(pin=True)
    with runs.beside_the_server(cpus), runs.ServerKeeper(cpus, is_timed=is_timed) as keeper:
        yield Place(keeper, cpus)


def ready(comparison: Comparison, folder: Path) -> tuple[Comparison, Arms]:
    """Prepare each side in a folder of its own; return the comparison of what can be measured, and the arms.

    A and its placebo run the same files. Memory is left out where it has no figure. Raises ExperimentError.
    """
    prepared = {arm.name: prepare(arm, folder / arm.name) for arm in (comparison.a, comparison.b)}
    again = comparison.arms[2]
    prepared[again.name] = replace(prepared["A"], arm=again)
    if why := _why_no_memory(prepared):
        metrics = tuple(metric for metric in comparison.metrics if metric != "memory")
        if not metrics:  # memory alone was asked for
            raise ExperimentError(why)
        comparison = replace(comparison, metrics=metrics)
    comparison = replace(comparison, models={name: arm.described for name, arm in prepared.items()})
    if "memory" in comparison.metrics:
        _check_memory(comparison)
    return comparison, prepared


def _check_memory(comparison: Comparison) -> None:
    """Raise ExperimentError if the connections of a memory trial over TLS need more memory than there is."""
    held = [trial for number in range(len(MEMORY_SIZES)) for trial in comparison.memory(number)]
    held.sort(key=lambda trial: trial.workload.in_flight, reverse=True)
    for reason in filter(None, map(tls_shortage, held)):
        raise ExperimentError(f"--metric memory: {reason}")


def _why_no_memory(prepared: Arms) -> str:
    """Return why memory per fetch in flight has no figure; empty if it has one.

    It is the difference between two processes that hold few and many fetches, over the difference of these numbers.
    On a free-threaded build, the heap varies by megabytes from process to process, more than by what fetches take.
    """
    if any(arm.described.most_in_flight is not None for arm in prepared.values()):
        return "memory per fetch in flight is not defined for a model that can have only one in flight"
    paths = {arm.runtime.python for arm in prepared.values()}
    if any(path is not None and interpreters.ask(path).free_threaded for path in paths):
        return "memory per fetch in flight is not compared on a free-threaded build: its heap varies more than that"
    return ""


def calibrate(comparison: Comparison, prepared: Arms, place: Place) -> tuple[Sequence[Row], int, float]:
    """Run a block that is not stored; return its rows, the number of cycles of further blocks, and their duration (s).

    Raises ExperimentError with the name of the arm when one cannot do the work.
    """
    block = comparison.block(1)
    for reason in shortages(block).values():
        raise ExperimentError(reason)
    rows = runs.measured(block, place.keeper, place.setting("calibration"), _runtimes(prepared))
    for arm, row in zip(block.arms, rows, strict=True):
        if row.status != "ok":
            # A lost server is not the fault of an arm: then the message names none.
            blame = "" if row.measured.server_lost else f"{arm.name}, {prepared[arm.name].arm.label}: "
            raise ExperimentError(f"nothing to compare: {blame}{row.reason}")
    windows = [row.measured.windows for row in rows]
    cycle_s = _cycle_s(windows)
    fixed_s = max(0.1, max(row.duration_ns for row in rows) / 1e9 - block.cycles * cycle_s)
    cycles = comparison.cycles or cycles_for(slice_sd(windows[0], windows[2]), fixed_s, cycle_s)
    return rows, cycles, fixed_s + cycles * cycle_s


def _runtimes(prepared: Arms) -> dict[str, Runtime]:
    """Return interpreter and environment of each arm by its name."""
    return {name: arm.runtime for name, arm in prepared.items()}


def cycles_for(window_sd: float, fixed_s: float, cycle_s: float) -> int:
    """Return the number of cycles per block that gives the most precise result in a given time.

    ``window_sd`` is the relative SD of one window, ``fixed_s`` the seconds that a block takes beside its slices,
    ``cycle_s`` those of a cycle. It is the optimal size of a cluster: the ratio of the SDs within and between clusters,
    times the root of the ratio of the costs of a cluster and of one of its members (W. G. Cochran, "Sampling
    Techniques", 1977, section 10.6). From six cycles on it is a multiple of six, so that arms follow each other equally
    often.
    """
    best = window_sd / PROCESS_SD * sqrt(fixed_s / cycle_s)
    bounded = min(max(best, MIN_CYCLES), MAX_SLICES_S / cycle_s, MAX_CYCLES)
    if bounded < BALANCED:
        return max(MIN_CYCLES, round(bounded))
    return BALANCED * round(bounded / BALANCED)


def slice_sd(a: Sequence[Window], again: Sequence[Window]) -> float:
    """Return the relative SD of the CPU time per page of a window, from pairs of windows of the same code.

    ``a`` and ``again`` are the windows of A and of its placebo. Disturbances of a whole cycle cancel, because the two
    windows of a cycle are compared with each other.
    """
    by_cycle = {window.cycle: window for window in again}
    logs = [
        log(first.cpu_ns / first.pages * other.pages / other.cpu_ns)
        for first in a
        if (other := by_cycle.get(first.cycle))
        if min(first.pages, first.cpu_ns, other.pages, other.cpu_ns) > 0
    ]
    return stdev(logs) / sqrt(2) if len(logs) > 1 else 0.0


def _cycle_s(windows: Sequence[Sequence[Window]]) -> float:
    """Return the duration of a cycle in seconds, from the windows of each arm.

    It is the mean time from the begin of a window to that of the next one, of whichever arm, times the number of arms.
    """
    begins = sorted(window.begin_ns for some in windows for window in some)
    whole_ns: int = begins[-1] - begins[0]
    return max(1e-3, whole_ns / max(1, len(begins) - 1) * len(windows) / 1e9)


def measure(
    folder: Path, comparison: Comparison, number: int, prepared: Arms, place: Place, *, memory: bool = False
) -> list[Row]:
    """Run a block and, with ``memory``, memory trials of A and B; append the rows, failures included, and return them.

    Raises RunError when they cannot be written.
    """
    setting = place.setting(folder.name)
    rows = runs.measured(comparison.block(number), place.keeper, setting, _runtimes(prepared))
    if memory:
        for trial in comparison.memory(number):
            rows += runs.measured(trial, place.keeper, replace(setting, runtime=prepared[trial.name].runtime))
    for row in rows:
        runs.append(folder, row)
    return rows
