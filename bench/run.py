"""A run: one invocation of an experiment, from its plan to a folder of rows."""

import fcntl
import json
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import tomli_w

import strategies
from bench import rows
from bench.experiment import Experiment
from bench.measure import host
from bench.measure.controller import Setting, run_trial, skipped
from bench.measure.limits import descriptor_shortage
from bench.measure.server import Server, ServerError, running
from bench.plan import Trial, estimate_ns, expand
from bench.rows import Row

EXPERIMENT_FILE = "experiment.toml"
MACHINE_FILE = "machine.json"

Report = Callable[[int, int, Row], None]
"""Called after each trial with its number, how many there are, and its row."""


class RunError(Exception):
    """A run that cannot be started or go on; the message says why, and what to do."""


def plan(experiment: Experiment) -> list[Trial]:
    """Return the trials of an experiment. Raises RunError when one asks for more than this machine allows."""
    for workload in experiment.workloads():
        if shortage := descriptor_shortage(workload.in_flight, per_fetch=workload.connection == "per-fetch"):
            raise RunError(shortage)
    trials = all_trials(experiment)
    if not trials:
        raise RunError("nothing to do: none of the strategies can have so many in flight; ask for other ones, or fewer")
    return trials


def all_trials(experiment: Experiment) -> list[Trial]:
    """Return the trials of an experiment, whether or not they can be run here."""
    return expand(experiment, {name: strategies.describe(name) for name in experiment.strategies})


def new_folder(parent: Path, experiment: Experiment) -> Path:
    """Make the folder of a new run, with the experiment as it is run and the machine; never one that exists."""
    now = datetime.now(UTC)
    machine_name = re.sub(r"[^0-9A-Za-z]+", "-", socket.gethostname()).strip("-") or "machine"
    name = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{machine_name}-{experiment.name}"
    folder = parent / name
    try:
        folder.mkdir(parents=True)
        (folder / EXPERIMENT_FILE).write_text(
            tomli_w.dumps(experiment.to_dict(), multiline_strings=True), encoding="utf-8"
        )
        (folder / MACHINE_FILE).write_text(json.dumps(host.machine(), indent=2) + "\n", encoding="utf-8")
        (folder / rows.ROWS_FILE).touch()
    except OSError as error:
        raise RunError(
            f"cannot write results to {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    return folder


def execute(folder: Path, experiment: Experiment, trials: list[Trial], report: Report) -> None:
    """Run the trials that have no row yet, append each row as its trial ends, and report it.

    Raises RunError when the server cannot be started, or a row cannot be written.
    """
    with _alone_in(folder):
        rows.drop_unfinished(folder)
        done = _done(folder, trials)
        _run_missing(folder, experiment, trials, done, report)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second harness from running the same trials beside this one. Raises RunError when one does."""
    with (folder / rows.ROWS_FILE).open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(f"another inflight is writing to {folder}; wait until it has ended") from error
        yield


def _done(folder: Path, trials: list[Trial]) -> set[str]:
    """Return the ids of the trials that have a row. Raises RunError when a row is of another workload, or machine."""
    workloads = {trial.id: trial.workload.to_dict() for trial in trials}
    found = rows.read(folder)
    for row in found:
        if workloads.get(row.trial) != row.workload:
            raise RunError(
                f"{folder} has a row of {row.trial} that its {EXPERIMENT_FILE} does not ask for; start a new run"
            )
    if found:
        _check_machine(folder)
    return {row.trial for row in found}


def _check_machine(folder: Path) -> None:
    try:
        before = json.loads((folder / MACHINE_FILE).read_text(encoding="utf-8"))
        now = json.loads(json.dumps(host.machine()))
        changed = [key for key in ("system", "cpu", "usable_cores", "python", "versions") if before[key] != now[key]]
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / MACHINE_FILE} is damaged ({error}); start a new run") from error
    if changed:
        raise RunError(
            f"this is not the machine that {folder} was begun on (other {', '.join(changed)}); start a new run"
        )


def _run_missing(folder: Path, experiment: Experiment, trials: list[Trial], done: set[str], report: Report) -> None:
    cpus = host.choose_cpus(pin=experiment.pin)
    setting = Setting(folder.name, cpus, lambda trial: experiment.deadline_s or 60 + 20 * estimate_ns([trial]) / 1e9)
    missing = {name: strategies.describe(name).missing for name in experiment.strategies}
    with _beside_the_server(cpus), ServerKeeper(cpus) as keeper:
        for number, trial in enumerate(trials, start=1):
            if trial.id in done:
                continue
            if missing[trial.strategy]:
                row = skipped(trial, folder.name, f"not installed: {', '.join(missing[trial.strategy])}")
            else:
                row = run_trial(trial, keeper.server(), setting)
            _append(folder, row)
            report(number, len(trials), row)


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
def _beside_the_server(cpus: host.Cpus) -> Iterator[None]:
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
