"""A run: one invocation of an experiment, from its plan to a folder of rows. Commands call it as ``runs``.

``plan`` returns the trials, or refuses; ``new_folder`` makes the folder of the run; ``execute`` measures the trials
that have no row yet, appends each row and reports it. ``measured`` is the one place where a trial becomes rows: it
calls the function of its kind (``_ON_THE_SERVER``, ``_ALONE``, or ``blocks.run``). A comparison (``ab``) runs its
trials by ``measured`` without an experiment. The harness itself runs on the server's core (``beside_the_server``).
"""

import fcntl
import importlib.metadata
import importlib.util
import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

import msgspec
import psutil
import tomli_w
from msgspec.structs import replace as replace_fields

from inflight import strategies
from inflight.bench import units
from inflight.bench.measure import host, interpreters, process
from inflight.bench.measure.bare import run_idle, run_probe
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.counts import run_counts
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.limits import run_limit
from inflight.bench.measure.preflight import shortages, tls_bytes
from inflight.bench.measure.process import Runtime, SkipError
from inflight.bench.measure.server import Server, ServerError, running
from inflight.bench.measure.swarm.open_loop import run_open
from inflight.bench.measure.swarm.run import run_swarm
from inflight.bench.measure.trial import Hosting, Setting, patience_s, skipped
from inflight.bench.plan import trials as plans
from inflight.bench.plan.experiment import Experiment, ExperimentError
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.plan.trials import expand
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import EXPERIMENT_FILE, MACHINE_FILE, Cause, Kind, Row, without_places
from inflight.bench.rows.kinds import FEW_SIZES, Arm
from inflight.strategies import registry

IS_CUT = "experiment_is_cut"
"""Set in ``machine.json`` if the stored experiment has a value without its folder, so that it is another one."""
CALIBRATION_S = 60.0
"""Maximum time in seconds to measure the cost of a unit of CPU work."""
PAGE_BYTES = 720_000_000
"""Address space that a command needs to draw a small run; it failed with a limit of 600 MB."""
MIN_LOCUST = (2, 29)
"""Oldest version of Locust."""
INSTALL_LOCUST = "install it with `make extras` in a checkout, otherwise with `pip install locust`"
"""End of the messages on Locust."""

MAX_HELD_NS, MAX_SLOWNESS = 10_000_000_000, 10
"""Time of a memory trial, and factor to its estimate, above both of which larger sizes are left out.

A client whose time grows with the square of the number in flight would otherwise need minutes for one figure.
"""

Report = Callable[[int, int, Sequence[Row]], None]
"""Called after each trial with its number, the number of trials, and its rows; a block has one for each arm."""
Reason = tuple[Cause | None, str]
"""Why a trial or an arm is skipped."""


class RunError(Exception):
    """A run cannot start or continue; the message says why, and what to do."""


def plan(experiment: Experiment, *, installed: bool = True) -> list[Trial]:
    """Return the trials of an experiment.

    Raises RunError when this machine does not allow a timed trial (of a block: all of its arms), or no trial at all. It
    is also raised when a trial needs Locust, which is not installed (unless ``installed`` is false, for a plan that is
    only shown). ``execute`` skips other trials and arms that are not allowed, with the reason.
    """
    trials = [judge(trial) for trial in all_trials(experiment)]
    if installed and any(trial.record.NEEDS_LOCUST for trial in trials):
        need_locust()
    if not trials:
        for name, reason in without_tls(experiment).items():
            raise RunError(f"nothing to run: {name} cannot crawl https: {reason}")
        raise RunError(
            "nothing to run: none of the strategies supports this many in flight; choose others, or fewer in flight"
        )
    forbidden = [trial for trial in trials if len(trial.short) == len(row_trials(trial))]
    refused = [trial for trial in forbidden if trial.record.IS_REQUIRED or len(forbidden) == len(trials)]
    reasons = [(tls_bytes(part), trial.short[part.id]) for trial in refused for part in row_trials(trial)]
    if reasons:
        _, reason = max(reasons, key=itemgetter(0))  # of those that need memory over TLS, the one that needs most
        raise RunError(reason)
    return trials


def need_locust() -> None:
    """Raise RunError unless a recent Locust is installed. It is not imported, because that changes this process."""
    if importlib.util.find_spec("locust") is None:
        raise RunError(f"this needs Locust; {INSTALL_LOCUST}")
    installed = importlib.metadata.version("locust")
    if tuple(int(part) for part in re.findall(r"\d+", installed)[:2]) < MIN_LOCUST:
        oldest = ".".join(map(str, MIN_LOCUST))
        raise RunError(f"this needs Locust {oldest} or newer, and {installed} is installed; {INSTALL_LOCUST}")


def judge(trial: Trial) -> Trial:
    """Return a trial with the limits of this machine that forbid it. The first of many threads takes a second."""
    return replace(trial, short=shortages(trial))


def all_trials(experiment: Experiment) -> list[Trial]:
    """Return the trials of an experiment, whether or not they can run on this machine."""
    return expand(experiment, _described(experiment))


def above_limits(experiment: Experiment) -> dict[str, int]:
    """Return the strategies that the plan leaves out because of their maximum in flight, each with this maximum."""
    return plans.above_limits(experiment, _described(experiment))


def without_tls(experiment: Experiment) -> dict[str, str]:
    """Return the strategies that the plan leaves out of crawls of https, each with its reason."""
    return plans.without_tls(experiment, _described(experiment))


def _described(experiment: Experiment) -> dict[str, strategies.Description]:
    """Return what each strategy of an experiment is, without importing it."""
    return {name: strategies.describe(name) for name in experiment.strategies}


def need_address_space() -> None:
    """Raise RunError unless the limit of address space leaves room for a page; checked before measuring."""
    if 0 <= (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) < PAGE_BYTES:
        raise RunError(
            f"RLIMIT_AS (ulimit -v) is {limit / 1e6:,.0f} MB, and a page with plots needs {PAGE_BYTES / 1e6:,.0f} MB; "
            "raise the limit"
        )


class Planned(Protocol):
    """What the folder of a run describes: an experiment or a comparison."""

    @property
    def name(self) -> str:
        """The name, which becomes part of the folder's name."""

    def to_dict(self) -> dict[str, Any]:
        """Return a table that can be written as TOML."""


def new_folder(parent: Path, experiment: Planned, machine: dict[str, Any] | None = None) -> Path:
    """Create the folder of a new run, with the experiment and the description of the machine; never reuse a folder.

    ``machine`` is the result of ``host.machine()`` before this process was pinned; None: it is called now. The name of
    a run beside a neighbour ends in "-disturbed", to tell it from an ordinary run.
    """
    need_address_space()
    machine = machine or host.machine()
    now = datetime.now(UTC)
    machine_name = re.sub(r"[^0-9A-Za-z]+", "-", socket.gethostname()).strip("-") or "machine"
    name = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{machine_name}-{experiment.name}"
    name += "-disturbed" if "neighbour" in machine else ""
    folder = parent / name
    if isinstance(experiment, Experiment):
        names = experiment.pythons
        asked = {label: without_places(interpreters.ask(path).to_dict()) for label, path in names.items()}
        machine = machine | ({"interpreters": asked} if asked else {})
        experiment = replace_fields(experiment.relative_to(folder), about=without_places(experiment.about))
        values = experiment.to_dict()
        if json.dumps(without_places(values)) != json.dumps(values):
            machine = machine | {IS_CUT: True}
    stored = without_places(experiment.to_dict())
    try:
        folder.mkdir(parents=True)
        (folder / EXPERIMENT_FILE).write_text(tomli_w.dumps(stored, multiline_strings=True), encoding="utf-8")
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
    trials: list[Trial],
    report: Report,
    budget_bytes: int | None = None,
    given: tuple[str, ...] = (),
    hosting: Hosting | None = None,
) -> None:
    """Run the trials that have no row yet; append and report each row as its trial ends.

    A trial that takes more memory than ``budget_bytes`` is ended. The default is half of the available memory, for a
    swarm nine tenths. ``given`` are the interpreters among which ``interpreters`` looks first, ``hosting`` is how
    swarms are run. Raises RunError when the server cannot be started or a row cannot be written.
    """
    with _alone_in(folder):
        rows.drop_unfinished(folder)
        missing = _missing(folder, trials)
        cpus = host.choose_cpus(pin=experiment.pin)
        available_bytes = psutil.virtual_memory().available
        setting = Setting(
            folder.name,
            cpus,
            lambda trial: experiment.deadline_s or patience_s(trial),
            available_bytes // 2 if budget_bytes is None else budget_bytes,
            process.DEFAULT,
            _unit_ns(folder, trials, cpus),
            hosting or Hosting(),
        )
        of_swarms = available_bytes * 9 // 10 if budget_bytes is None else budget_bytes
        swarm = replace(setting, budget_bytes=of_swarms, halves=host.halves(pin=experiment.pin))
        reasons = _reasons_to_skip(missing, given)
        held = _HeldTimes(trials, rows.read(folder))
        with ServerKeeper(cpus) as keeper:
            for number, trial in enumerate(missing, start=1):
                reasons |= held.reasons_to_skip(trial)
                left_out = [part for part in row_trials(trial) if part.id in reasons]
                made = [skipped(part, folder.name, *reasons[part.id]) for part in left_out]
                if len(left_out) < len(row_trials(trial)):
                    allowed = trial.without({part.name for part in left_out}) if left_out else trial
                    made += _run_one(allowed, keeper, swarm if trial.kind == "swarm" else setting, given)
                for row in made:
                    append(folder, row)
                held.note(trial, made)
                if any(row.cause == "server" for row in made):
                    same = [each for each in missing if each.is_block and each.workload.id == trial.workload.id]
                    reasons |= {part.id: ("server", made[0].reason or "") for each in same for part in row_trials(each)}
                report(number, len(missing), made)


class _HeldTimes:
    """How long the memory trials of a run took, to leave out the larger sizes of a slow client."""

    def __init__(self, trials: Iterable[Trial], stored: Iterable[Row]) -> None:
        """Begin with the rows that a resumed run has."""
        self._times_ns = defaultdict[str, dict[int, int]](dict)
        """Times by the number in flight, of each arm and workload."""
        rows_of = {row.trial: row for row in stored}
        for trial in trials:
            if trial.id in rows_of:
                self.note(trial, [rows_of[trial.id]])

    def note(self, trial: Trial, ended: Sequence[Row]) -> None:
        """Note how long a trial took that has ended."""
        if trial.kind != "memory":
            return
        (row,) = ended
        if row.status != "skipped":
            times_ns = self._times_ns[trial.of_all_sizes]
            times_ns[trial.workload.in_flight] = row.duration_ns

    def reasons_to_skip(self, trial: Trial) -> dict[str, Reason]:
        """Return why a memory trial is left out, by its id; empty if it is not, or of another kind.

        As many sizes as the slope of a slow client needs are measured in any case.
        """
        if trial.kind != "memory":
            return {}
        times_ns = self._times_ns[trial.of_all_sizes]
        smaller = [n for n in times_ns if n < trial.workload.in_flight]
        if len(smaller) < FEW_SIZES:
            return {}
        before = max(smaller)
        took_ns = times_ns[before]
        limit_ns = max(MAX_HELD_NS, MAX_SLOWNESS * trial.expected_ns)
        if took_ns <= limit_ns:
            return {}
        took = units.duration(took_ns, 2)
        limit = units.duration(limit_ns, 2)
        why = f"{before:,} in flight took {took}; larger sizes are left out above {limit}"
        return {trial.id: (None, why)}


def _unit_ns(folder: Path, trials: Iterable[Trial], cpus: host.Cpus) -> float | None:
    """Return the cost of a unit of CPU work: from the rows of a resumed run, or measured now.

    None where no trial has CPU work. Raises RunError when it cannot be measured.
    """
    if not any(getattr(trial.workload, "cpu_ns", 0) for trial in trials):
        return None
    for row in rows.read(folder):
        if work_units := getattr(row.measured, "work_units", None):
            return float(row.workload.cpu_ns / work_units)
    try:
        code, text = process.output(["inflight.bench.measure.costs", "unit"], cpus.client, CALIBRATION_S)
        if code == 0:
            return float(text)
        why = f"exited with {code}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = str(error)
    raise RunError(f"cannot calibrate the CPU work on this machine: {why}")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder while a run writes to it. Raises RunError when another process is running its trials."""
    if (folder / rows.PACKED_FILE).exists():
        raise RunError(f"the rows of {folder} are compressed: `xz -d {rows.PACKED_FILE}` there, or start a new run")
    with rows.opened(folder / rows.ROWS_FILE, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(f"another inflight process is writing to {folder}; wait until it has ended") from error
        yield


def without_rows(trials: Iterable[Trial], there: Collection[str]) -> list[Trial]:
    """Return the trials of which a row is not among those that are there."""
    return [trial for trial in trials if not all(part.id in there for part in row_trials(trial))]


def _missing(folder: Path, trials: list[Trial]) -> list[Trial]:
    """Return the trials that lack a row, to begin or to resume a run.

    Raises RunError for rows of another plan or machine.
    """
    parts = {part.id: part for trial in trials for part in row_trials(trial)}
    stored = rows.read(folder)
    for row in stored:
        part = parts.get(row.trial)
        if part is None or not _is_of(row, part):
            raise RunError(f"{folder} has a row of {row.trial}, which is not in its {EXPERIMENT_FILE}; start a new run")
    if stored:
        _check_machine(folder)
        _check_files(stored, parts)
    return without_rows(trials, {row.trial for row in stored})


def _is_of(row: Row, trial: Trial) -> bool:
    """Return whether a stored row, which names no place of this machine, is one of a trial."""
    planned = without_places(msgspec.to_builtins(trial.workload))
    return row.kind == trial.kind and bool(msgspec.convert(planned, type(row.workload)) == row.workload)


def _check_machine(folder: Path) -> None:
    """Raise RunError when the run was begun on another machine, or with other versions of libraries."""
    before, now = rows.machine(folder), host.machine()
    changed = list(rows.machine_changes(before, now | {"neighbour": before.get("neighbour")}))
    if before.get("versions") != now["versions"]:
        changed.append("versions")
    if changed:
        raise RunError(f"{folder} was started on another machine (different {', '.join(changed)}); start a new run")


def _check_files(stored: Iterable[Row], parts: Mapping[str, Trial]) -> None:
    """Raise RunError when a strategy from another place is not the one of the stored rows."""
    for row in stored:
        names = [arm.strategy for arm in parts[row.trial].arms if not strategies.is_ours(arm.strategy)]
        source = registry.source_of(names[0]) if names else None
        measured = row.knobs.versions or {}
        for file, checksum in ({} if source is None else source.checksums()).items():
            if measured.get(file, checksum) != checksum:
                raise RunError(f"{file} has changed since the run began; start a new run")


def _reasons_to_skip(trials: list[Trial], given: tuple[str, ...]) -> dict[str, Reason]:
    """Return the reason of each trial or arm that cannot run on this machine."""
    reasons: dict[str, Reason] = {}
    known: dict[tuple[str, str | None, int], Reason | None] = {}  # making an environment takes long
    for trial in trials:
        reasons |= {row_id: ("limit", reason) for row_id, reason in trial.short.items()}
        for part in row_trials(trial):
            for arm in part.arms:
                key = arm.strategy, arm.python, arm.cores
                if key not in known:
                    known[key] = None
                    try:
                        _interpreter_of(arm, part.models[arm.name], given)
                    except SkipError as error:
                        known[key] = error.cause, str(error)
                if (lack := known[key]) is not None:
                    reasons[part.id] = lack
    return reasons


def _interpreter_of(arm: Arm, model: strategies.Description, given: tuple[str, ...]) -> str | None:
    """Return an interpreter for an arm, with what its strategy needs; None: that of the harness.

    Raises SkipError when the arm cannot run on this machine.
    """
    if arm.cores > (usable := len(host.usable_cores())):
        raise SkipError(f"it needs {arm.cores} cores, and this process may use {usable}", "limit")
    try:
        path = interpreters.path_of(arm.python, given)
        lack = model.lack if path is None else model.lack_on(interpreters.ask(path).numbers)
        if lack:
            raise SkipError(lack, "not installed")
        if path is None or path == sys.executable or not model.requires:
            return path
        return interpreters.environment_for(path, model.requires)
    except ExperimentError as error:
        raise SkipError(str(error), "no interpreter") from error


def _run_one(trial: Trial, keeper: "ServerKeeper", setting: Setting, given: tuple[str, ...]) -> list[Row]:
    """Run a trial whose strategies are those of this harness."""
    runtimes = {}
    for arm in trial.arms:
        cpus = setting.cpus.client_cores(arm.cores) if arm.cores > 1 else None
        path = _interpreter_of(arm, trial.models[arm.name], given)
        runtimes[arm.name] = Runtime(path, None, arm.variables, cpus)
    if runtimes and not trial.is_block:
        setting = replace(setting, runtime=runtimes[trial.name])
    # The processes of a swarm use all cores, and inherit those of this process.
    with nullcontext() if trial.kind == "swarm" else beside_the_server(setting.cpus):
        return measured(trial, keeper, setting, runtimes)


def measured(
    trial: Trial, keeper: "ServerKeeper", setting: Setting, runtimes: Mapping[str, Runtime] = MappingProxyType({})
) -> list[Row]:
    """Measure a trial and return its rows, whichever command asks for it; ``runtimes`` are those of a block's arms.

    The tests put recorded rows in its place.
    """
    if trial.is_block:
        return arms.run(trial, runtimes, keeper.server(), setting)
    if (alone := _ALONE.get(trial.kind)) is not None:
        return [alone(trial, setting)]
    return [_ON_THE_SERVER[trial.kind](trial, keeper.server(), setting)]


_ON_THE_SERVER: dict[Kind, Callable[[Any, Server, Setting], Row]] = {
    "crawl": run_trial,
    "memory": run_trial,
    "counts": run_counts,
    "idle": run_idle,
    "probe": run_probe,
    "open": run_open,
}
"""Functions that run a trial on the server that all trials of a run share, by kind."""
_ALONE: dict[Kind, Callable[[Any, Setting], Row]] = {"limit": run_limit, "swarm": run_swarm}
"""Functions that run a trial without that server, by kind."""


def append(folder: Path, row: Row) -> None:
    """Append a row. Raises RunError when it cannot be written."""
    try:
        rows.append(folder, row)
    except FileNotFoundError as error:
        raise RunError(f"{folder} was removed during the run, with its rows; start a new run") from error
    except OSError as error:
        raise RunError(
            f"cannot write {folder / rows.ROWS_FILE}: {error.strerror}; all earlier rows are saved, "
            f"and `inflight run --resume {folder}` continues from those of an experiment"
        ) from error


class ServerKeeper:
    """Keep a server running for the trials of a run; replace it when it has died."""

    def __init__(self, cpus: host.Cpus, *, is_timed: bool = True) -> None:
        """Keep a server on its core; ``is_timed``: measure how much it can answer, which takes half a second."""
        self._cpus = cpus
        self._is_timed = is_timed
        self._running = ExitStack()
        self._server: Server | None = None

    def __enter__(self) -> Self:
        return self

    def server(self) -> Server:
        """Return a running server. Raises RunError when none can be started."""
        if self._server is None or not self._server.alive:
            self._running.close()
            try:
                self._server = self._running.enter_context(running(self._cpus.server))
                if self._is_timed:
                    self._server.find_ceiling(self._cpus.client)
            except (ServerError, OSError, subprocess.TimeoutExpired) as error:
                raise RunError(str(error)) from error
        return self._server

    def __exit__(self, *_: object) -> None:
        self._running.close()


@contextmanager
def beside_the_server(cpus: host.Cpus) -> Iterator[None]:
    """Run the harness itself on the server's core, so that the worker has its core alone."""
    if cpus.server is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus.server)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
