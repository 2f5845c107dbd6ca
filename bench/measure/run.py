"""A run: one invocation of an experiment, from its plan to a folder of rows."""

import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

import psutil
import tomli_w

from inflight import strategies
from inflight.bench.core import rows
from inflight.bench.core.arm import FREE_THREADED, Arm, ArmTrial, BlockTrial
from inflight.bench.core.experiment import Experiment, ExperimentError
from inflight.bench.core.plan import AnyTrial, BareTrial, Trial, expand, row_trials
from inflight.bench.core.records.values import plain_values
from inflight.bench.core.rows import MACHINE_FILE, Cause, Kind, Row
from inflight.bench.measure import host, process
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.blocks.sides import Prepared, interpreter
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.locust.hosting import ALONE, Hosting, locust_lack
from inflight.bench.measure.places import without_places
from inflight.bench.measure.preflight import shortage
from inflight.bench.measure.process import Runtime
from inflight.bench.measure.server import Server, ServerError, running
from inflight.bench.measure.trial import Setting, patience_s, skipped
from inflight.bench.studies.limits.run import run_limit
from inflight.bench.studies.memory.run import run_building_block
from inflight.bench.studies.open_loop.run import run_open
from inflight.bench.studies.probes.run import run_probe
from inflight.bench.studies.swarm.run import run_swarm

EXPERIMENT_FILE = "experiment.toml"
CALIBRATION_S = 60.0
FREE_THREADED_NAMES = ("python3.14t", "python3.13t")

Report = Callable[[int, int, Sequence[Row]], None]
"""Called after each trial with its number, how many there are, and its rows: those of a block are its arms'."""
SettingOf = Callable[[AnyTrial], Setting]
"""Which setting a trial has: kinds differ in how much memory they may take."""


class RunError(Exception):
    """A run that cannot be started or go on; the message says why, and what to do."""


def plan(experiment: Experiment, *, installed: bool = True) -> list[AnyTrial]:
    """Return the trials of an experiment.

    Raises RunError when a timed one asks for more than this machine allows (of a block, all its arms do), or all trials
    do, and when one needs Locust, which is not here (unless ``installed`` is false: the plan is only looked at). Other
    trials and arms that ask for too much are left to ``execute``, which skips them with their reason (``shortages``
    tells beforehand).
    """
    trials = all_trials(experiment)
    if installed and any(trial.kind in {"swarm", "open"} for trial in trials):
        need_locust()
    if not trials:
        raise RunError("nothing to do: none of the strategies can have so many in flight; ask for other ones, or fewer")
    short = shortages(trials)
    forbidden = [trial for trial in trials if all(part.id in short for part in row_trials(trial))]
    for trial in forbidden:
        if trial.kind in {"crawl", "arm"} or len(forbidden) == len(trials):
            raise RunError(short[row_trials(trial)[0].id])
    return trials


def need_locust() -> None:
    """Raise RunError unless Locust is installed, and new enough. It is not imported: that would change this process."""
    if (lack := locust_lack()) is not None:
        raise RunError(f"this needs {lack}")


def shortages(trials: Iterable[AnyTrial]) -> dict[str, str]:
    """Return for the id of each trial, or arm of one, that this machine does not allow, which limit forbids it."""
    found = {part.id: shortage(part) for trial in trials for part in row_trials(trial)}
    return {part_id: reason for part_id, reason in found.items() if reason is not None}


def all_trials(experiment: Experiment) -> list[AnyTrial]:
    """Return the trials of an experiment, whether or not they can be run here."""
    return expand(experiment, {name: strategies.describe(name) for name in experiment.strategies})


class Planned(Protocol):
    """What a run's folder says it is about."""

    @property
    def name(self) -> str:
        """A word for the folder's name."""

    def to_dict(self) -> dict[str, Any]:
        """Return what can be written as TOML."""


def new_folder(parent: Path, experiment: Planned, machine: dict[str, Any] | None = None) -> Path:
    """Make the folder of a new run, with the experiment as it is run and the machine; never one that exists.

    ``machine`` is what ``host.machine()`` said before this process was pinned, where it is by now. The name
    says of a run that is disturbed on purpose that it is, so that nobody takes it for an ordinary one.
    """
    machine = machine or host.machine()
    now = datetime.now(UTC)
    machine_name = re.sub(r"[^0-9A-Za-z]+", "-", socket.gethostname()).strip("-") or "machine"
    name = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{machine_name}-{experiment.name}"
    name += "-disturbed" if "neighbour" in machine else ""
    folder = parent / name
    try:
        folder.mkdir(parents=True)
        (folder / EXPERIMENT_FILE).write_text(
            tomli_w.dumps(without_places(experiment.to_dict()), multiline_strings=True), encoding="utf-8"
        )
        (folder / MACHINE_FILE).write_text(json.dumps(machine, indent=2) + "\n", encoding="utf-8")
        (folder / rows.ROWS_FILE).touch()
    except OSError as error:
        raise RunError(
            f"cannot write results to {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    return folder


def execute(
    folder: Path,
    experiment: Experiment,
    trials: list[AnyTrial],
    report: Report,
    budget_bytes: int | None = None,
    free_threaded: str | None = None,
    hosting: Hosting | None = None,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Run the trials that have no row yet, append each row as its trial ends, and report it.

    A trial that would take more memory than ``budget_bytes`` (by default half of what is available; of a swarm, nine
    tenths) is ended. ``free_threaded`` is the interpreter for arms that ask for such a one, ``hosting`` who takes part
    in a swarm, and ``tell`` is told how far it is. Raises RunError when the server cannot be started, or a row cannot
    be written.
    """
    with _alone_in(folder):
        rows.drop_unfinished(folder)
        done = _done(folder, trials)
        cpus = host.choose_cpus(pin=experiment.pin)
        available_bytes = psutil.virtual_memory().available
        setting = Setting(
            folder.name,
            cpus,
            lambda trial: experiment.deadline_s or patience_s(trial),
            available_bytes // 2 if budget_bytes is None else budget_bytes,
            process.DEFAULT,
            _unit_ns(folder, trials, cpus),
            hosting or ALONE,
        )
        of_swarms = available_bytes * 9 // 10 if budget_bytes is None else budget_bytes
        swarm = replace(setting, budget_bytes=of_swarms, halves=host.halves(pin=experiment.pin))
        settings = {"swarm": swarm if tell is None else replace(swarm, tell=tell)}
        missing = [trial for trial in trials if trial.id not in done]
        _run_missing(folder, cpus, lambda trial: settings.get(trial.kind, setting), missing, report, free_threaded)


def _unit_ns(folder: Path, trials: Iterable[AnyTrial], cpus: host.Cpus) -> float | None:
    """Return what a unit of CPU work costs: as this run went by before it was interrupted, or as it is measured now.

    None where no trial asks for CPU work. Raises RunError when it cannot be measured.
    """
    if not any(isinstance(trial, Trial | BlockTrial) and trial.workload.cpu_ns for trial in trials):
        return None
    for row in rows.read(folder):
        if units := getattr(row.measured, "work_units", None):
            return float(row.workload.cpu_ns / units)
    try:
        code, said = process.output(["inflight.bench.measure.calibrate"], cpus.client, CALIBRATION_S)
        return float(said) if code == 0 else _not_calibrated(f"exited with {code}")
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return _not_calibrated(str(error))


def _not_calibrated(why: str) -> NoReturn:
    raise RunError(f"cannot find out how much CPU work this machine does in a time: {why}")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second harness from running the same trials beside this one. Raises RunError when one does."""
    with (folder / rows.ROWS_FILE).open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(f"another inflight is writing to {folder}; wait until it has ended") from error
        yield


def _done(folder: Path, trials: list[AnyTrial]) -> set[str]:
    """Return the ids of the trials that have all their rows. Raises RunError for rows of another plan or machine."""
    workloads = {part.id: part.values for trial in trials for part in row_trials(trial)}
    found = rows.read(folder)
    for row in found:
        if workloads.get(row.trial) != plain_values(row.workload):
            raise RunError(
                f"{folder} has a row of {row.trial} that its {EXPERIMENT_FILE} does not ask for; start a new run"
            )
    if found:
        _check_machine(folder)
    there = {row.trial for row in found}
    return {trial.id for trial in trials if all(part.id in there for part in row_trials(trial))}


def machine_of(folder: Path) -> dict[str, Any]:
    """Return what is kept of the machine that a run was begun on. Raises RunError when it cannot be read."""
    try:
        found: dict[str, Any] = dict(json.loads((folder / MACHINE_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{folder / MACHINE_FILE} is damaged ({error}); start a new run") from error
    return found


def _check_machine(folder: Path) -> None:
    before = machine_of(folder)
    try:
        now = json.loads(json.dumps(host.machine()))
        changed = [key for key in ("system", "cpu", "usable_cores", "python", "versions") if before[key] != now[key]]
    except KeyError as error:
        raise RunError(f"{folder / MACHINE_FILE} is damaged ({error}); start a new run") from error
    if changed:
        raise RunError(
            f"this is not the machine that {folder} was begun on (other {', '.join(changed)}); start a new run"
        )


def _run_missing(
    folder: Path,
    cpus: host.Cpus,
    setting_of: SettingOf,
    trials: list[AnyTrial],
    report: Report,
    free_threaded: str | None,
) -> None:
    reasons = _reasons_to_skip(trials, free_threaded)
    with ServerKeeper(cpus) as keeper:
        for number, trial in enumerate(trials, start=1):
            left_out = [part for part in row_trials(trial) if part.id in reasons]
            found = [skipped(part, folder.name, *reasons[part.id]) for part in left_out]
            if len(left_out) < len(row_trials(trial)):
                # The processes of a swarm share all cores, and what this process starts inherits its own.
                with nullcontext() if trial.kind == "swarm" else beside_the_server(cpus):
                    if isinstance(trial, BlockTrial):
                        found += _run_block(
                            trial.without({part.strategy for part in left_out}),
                            keeper,
                            setting_of(trial),
                            free_threaded,
                        )
                    else:
                        found.append(_run_one(trial, keeper, setting_of(trial)))
            for row in found:
                _append(folder, row)
            report(number, len(trials), found)


def _reasons_to_skip(trials: list[AnyTrial], free_threaded: str | None) -> dict[str, tuple[Cause, str]]:
    """Return of each trial, or arm of one, that cannot be run here, the reason why."""
    parts = [part for trial in trials for part in row_trials(trial) if part.kind in {"crawl", "memory", "swarm", "arm"}]
    names = {part.id: part.arm.strategy if isinstance(part, ArmTrial) else part.strategy for part in parts}
    missing = {name: ", ".join(strategies.describe(name).missing) for name in set(names.values())}
    found: dict[str, tuple[Cause, str]] = {part: ("limit", reason) for part, reason in shortages(trials).items()}
    absent = {part: missing[name] for part, name in names.items() if missing[name]}
    found |= {part: ("not installed", f"not installed: {lacking}") for part, lacking in absent.items()}
    arms = [part for part in parts if isinstance(part, ArmTrial)]
    return found | {part.id: lack for part in arms if (lack := _lack(part.arm, free_threaded)) is not None}


def _lack(arm: Arm, free_threaded: str | None) -> tuple[Cause, str] | None:
    """Say which interpreter, or how many cores, an arm would need that are not there."""
    if arm.cores > (usable := len(host.usable_cores())):
        return "limit", f"it needs {arm.cores} cores, and this process may use {usable}"
    try:
        _python(arm, free_threaded)
    except ExperimentError as error:
        return "no interpreter", str(error)
    return None


def _python(arm: Arm, free_threaded: str | None) -> str | None:
    """Return the interpreter of an arm; None: that of the harness. Raises ExperimentError when it is not there."""
    if arm.python != FREE_THREADED:
        return interpreter(arm.python)
    found = free_threaded or next(filter(None, map(shutil.which, FREE_THREADED_NAMES)), None)
    if found is None:
        raise ExperimentError(f"no free-threaded interpreter, such as {FREE_THREADED_NAMES[-1]}, is on the path")
    return found


def _run_block(block: BlockTrial, keeper: "ServerKeeper", setting: Setting, free_threaded: str | None) -> list[Row]:
    """Run a block whose arms are strategies of this very harness."""
    prepared = {}
    for arm in block.arms:
        cpus = setting.cpus.of_client(arm.cores) if arm.cores > 1 else None
        runtime = Runtime(_python(arm, free_threaded), None, arm.variables, cpus)
        prepared[arm.name] = Prepared(arm, strategies.describe(arm.strategy), runtime, None)
    return arms.run(block, prepared, keeper.server(), setting)


def _run_one(trial: Trial | BareTrial, keeper: "ServerKeeper", setting: Setting) -> Row:
    if (alone := _ALONE.get(trial.kind)) is not None:
        return alone(trial, setting)
    return _ON_THE_SERVER[trial.kind](trial, keeper.server(), setting)


_ON_THE_SERVER: dict[Kind, Callable[[Any, Server, Setting], Row]] = {
    "crawl": run_trial,
    "memory": run_trial,
    "block": run_building_block,
    "probe": run_probe,
    "open": run_open,
}
_ALONE: dict[Kind, Callable[[Any, Setting], Row]] = {
    "limit": run_limit,
    "swarm": run_swarm,
}
"""What runs a trial of each kind: on the server that all trials of a run share, or without it."""


def _append(folder: Path, row: Row) -> None:
    try:
        rows.append(folder, row)
    except OSError as error:
        raise RunError(
            f"cannot write {folder / rows.ROWS_FILE}: {error.strerror}; the rows before this one are safe, "
            f"and `inflight run --resume {folder}` goes on from them"
        ) from error


class ServerKeeper:
    """Keep a server running for the trials of a run: a new one if the last has died."""

    def __init__(self, cpus: host.Cpus) -> None:
        self._cpus = cpus
        self._context = running(cpus.server)
        self._server: Server | None = None

    def __enter__(self) -> Self:
        return self

    def server(self) -> Server:
        """Return a server that is alive. Raises RunError when none can be started."""
        if self._server is not None and not self._server.alive:
            self._stop()
            self._context = running(self._cpus.server)
        if self._server is None:
            try:
                self._server = self._context.__enter__()
                self._server.find_ceiling(self._cpus.client)
            except (ServerError, OSError, subprocess.TimeoutExpired) as error:
                raise RunError(str(error)) from error
        return self._server

    def _stop(self) -> None:
        if self._server is not None:
            self._server = None
            self._context.__exit__(None, None, None)

    def __exit__(self, *_: object) -> None:
        self._stop()


@contextmanager
def beside_the_server(cpus: host.Cpus) -> Iterator[None]:
    """Run the harness itself on the server's core while trials go on, so that the worker has its core alone."""
    if cpus.server is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus.server)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
