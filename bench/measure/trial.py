"""The template of a trial. Every trial begins, ends for one reason, and leaves a row.

::

    observe ---- returns ----------------------------------> ok, or wrong
      |--------- WorkerTimeoutError -----------------------> timeout
      |--------- SkipError --------------------------------> skipped
      '--------- TrialError, OSError, psutil.Error --------> failed

Each kind of trial has a function ``observe`` (``crawl``, ``bare``, ``counts``, ``swarm``, ...), which fills an
``Observation``; ``conduct`` calls it and makes the row. It starts everything in ``with`` statements, so that it ends in
each of these cases.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import psutil

from inflight.bench.measure import host
from inflight.bench.measure.process import DEFAULT, Runtime, SkipError, TrialError, Worker, WorkerTimeoutError, running
from inflight.bench.measure.server import Server
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import records
from inflight.bench.rows.files import Cause, Check, Row, Status, without_places


def _ignore(_sentence: str) -> None:
    """Ignore a message."""


def patience_s(trial: Trial) -> float:
    """Return the default deadline of a trial in seconds, from its estimated time (``rows.parts.Row.PATIENCE``)."""
    least_s, times = trial.record.PATIENCE
    return least_s + times * trial.expected_ns / 1e9


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a swarm is run, where it is a command of its own."""

    nodes: int = 1
    """Number of Locust workers."""
    web_port: int | None = None
    """The port of Locust's web page, which is served on loopback only; None: no page."""
    tell: Callable[[str], None] = _ignore
    """Called with the progress."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings shared by all trials of a run."""

    run: str
    """Name of the run."""
    cpus: host.Cpus
    """The cores of server and client."""
    deadline_s: Callable[[Trial], float] = patience_s
    """Returns how many seconds a trial may take."""
    budget_bytes: int | None = None
    """Memory at which a trial is ended; None: no limit."""
    runtime: Runtime = DEFAULT
    """The runtime of the workers."""
    unit_ns: float | None = None
    """Cost of a unit of CPU work on the client's core; None where no trial asks for CPU work."""
    hosting: Hosting = Hosting()
    """How a swarm is run."""
    halves: host.Cpus = host.ANY
    """The cores of the servers and of the strategy processes of a swarm."""

    def work_units(self, trial: Trial) -> int:
        """Return the CPU work per page that a trial asks for, in units."""
        cpu_ns: int = trial.workload.cpu_ns
        if not cpu_ns or self.unit_ns is None:
            return 0
        return max(1, round(cpu_ns / self.unit_ns))


@dataclass(slots=True)
class Observation:
    """What a trial has gathered so far; a failed trial keeps it."""

    measured: dict[str, Any] = field(default_factory=dict)
    """Figures by the names of rows: ``measured`` of the row."""
    server: dict[str, Any] = field(default_factory=dict)
    """Counts of the server: ``server`` of the row."""
    knobs: dict[str, Any] = field(default_factory=dict)
    """The settings that the worker has reported."""
    wanted: dict[str, Any] = field(default_factory=dict)
    """The settings that were chosen for the worker; ``knobs`` has those that it reported."""
    outcome: dict[str, Any] = field(default_factory=dict)
    """What the checks of a mechanism need besides these, and no row has."""
    checks: tuple[Check, ...] = ()
    """The judged checks."""
    wrong: str | None = None
    """The difference from the expected answer; None if there is none."""


Observe = Callable[[Observation], None]
"""Runs a trial of some kind, and fills what was observed."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a trial, in calendar time and in nanoseconds of the monotonic clock."""

    at: datetime
    clock_ns: int

    @classmethod
    def now(cls) -> "Begin":
        """Return the current time."""
        return cls(datetime.now(UTC), time.monotonic_ns())


def conduct(trial: Trial, run: str, observe: Observe, server: Server | None = None, begin: Begin | None = None) -> Row:
    """Observe a trial to its end, and return its row, whatever happens.

    ``observe`` measures; its errors become the status of the row. ``server`` is the fake server that the trial depends
    on, if any: if it has died, the reason says so. The trials of a block share one ``begin``.
    """
    begin, seen = begin or Begin.now(), Observation()
    status, reason, cause = _ending(observe, seen, server)
    known = {
        "run": run,
        "trial": trial.id,
        "round": trial.round,
        "strategy": without_places(trial.name),
        "stack": trial.stack,
        "kind": trial.kind,
        "workload": without_places(msgspec.to_builtins(trial.workload)),
        "started_at": begin.at.isoformat(timespec="milliseconds"),
        "duration_ns": 0 if status == "skipped" else time.monotonic_ns() - begin.clock_ns,
    }
    ended = {"status": status, "reason": without_places(reason), "cause": cause}
    try:
        return records.make(**known, **ended, **_gathered(seen))
    except ValueError as error:  # a strategy that changes clocks or counts
        ended = {"status": "failed", "reason": f"invalid measurement: {error}"}
        return records.make(**known, **ended, **_gathered(Observation()))


def on_server(observe: Callable[[Any, Server, Setting, Observation], None]) -> Callable[[Any, Server, Setting], Row]:
    """Make of a function that observes a trial one that returns its row, as the tables of ``measure.run`` have them.

    ``observe`` gets the trial, the server, the setting of the run, and what to fill.
    """
    return lambda trial, server, setting: conduct(trial, setting.run, partial(observe, trial, server, setting), server)


def _gathered(seen: Observation) -> dict[str, Any]:
    """Return what a row has of an observation; it names no place of this machine."""
    return {
        "measured": without_places(seen.measured),
        "server": seen.server,
        "knobs": without_places(seen.knobs),
        "checks": without_places(msgspec.to_builtins(seen.checks)),
    }


def _ending(observe: Observe, seen: Observation, server: Server | None) -> tuple[Status, str | None, Cause | None]:
    """Observe a trial to its end; return its status, reason and cause."""
    try:
        observe(seen)
    except SkipError as error:
        return "skipped", str(error), error.cause
    except (TrialError, psutil.Error, OSError) as error:
        status: Status = "timeout" if isinstance(error, WorkerTimeoutError) else "failed"
        reason = str(error) or type(error).__name__  # a row that is not ok has a reason
        if server is not None and not server.alive:
            reason = f"the fake server died during the trial ({reason})"
        return status, reason, getattr(error, "cause", None)
    return ("ok" if seen.wrong is None else "wrong"), seen.wrong, None


def skipped(trial: Trial, run: str, cause: Cause | None, reason: str) -> Row:
    """Return the row of a trial that cannot run on this machine."""

    def observe(_seen: Observation) -> None:
        """Skip the trial."""
        raise SkipError(reason, cause)

    return conduct(trial, run, observe)


@contextmanager
def working(
    trial: Trial, setting: Setting, program: str, order: Mapping[str, Any], seen: Observation
) -> Iterator[Worker]:
    """Start the worker of a trial and wait until it is ready; kill it in the end."""
    if setting.runtime.variables:
        order = {**order, "variables": sorted(setting.runtime.variables)}
    with running([program], order, setting.cpus.client, setting.deadline_s(trial), setting.runtime) as worker:
        seen.knobs = worker.expect("ready", "knobs")["knobs"]
        yield worker
