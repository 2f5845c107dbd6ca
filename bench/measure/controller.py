"""Run one trial: start a fresh worker, watch it from outside, check its answer, make a row of it.

Whatever happens, a row comes back: a crash, a hang, rubbish and a dead server are results too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import psutil

from bench.core import records
from bench.core.plan import AnyTrial, RowTrial, Trial
from bench.core.rows import Cause, Check, Row, Status
from bench.measure import held, host, memory, preflight, process, validity
from bench.measure.expected import Answer, difference, expected_answer, mean_delay_ns, root_paths
from bench.measure.locust.hosting import ALONE, Hosting
from bench.measure.places import without_places
from bench.measure.sampler import Sampler
from bench.measure.server import Server, ServerError
from strategies.base import Job


def _nobody(_sentence: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all trials of a run share."""

    run: str
    cpus: host.Cpus
    deadline_s: Callable[[AnyTrial], float]
    budget_bytes: int | None = None
    """A trial that needs more memory than this is ended before it has it; None: no bound."""
    runtime: process.Runtime = process.DEFAULT
    """What the workers run on."""
    unit_ns: float | None = None
    """What a unit of CPU work costs on the client's core; None where no trial asks for any."""
    hosting: Hosting = ALONE
    """Who takes part in a swarm."""
    tell: Callable[[str], None] = _nobody
    """Whom to tell how far a swarm is."""
    halves: host.Cpus = host.ANY
    """Which cores its many servers and its many strategy processes have."""


@dataclass(slots=True)
class Observation:
    """What is gathered while a trial goes on; a trial that breaks off leaves what it had."""

    measured: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    answer: Answer = field(default_factory=dict)
    cause: Cause | None = None
    """Why it broke off, where that is known."""


def run_trial(trial: Trial, server: Server, setting: Setting) -> Row:
    """Run a trial to its end, or to its deadline, and return its row."""
    begin, seen = Begin.now(), Observation()
    status, reason = ending(lambda: _observe(trial, server, setting, seen), server, seen)
    checks: tuple[Check, ...] = ()
    if status == "ok":
        evidence = _evidence(trial, setting, seen)
        checks = validity.check(evidence)
        if evidence.answer_difference is not None:
            status, reason = "wrong", evidence.answer_difference
    return row_of(trial, setting.run, begin, status, reason, seen, checks)


def ending(observe: Callable[[], None], server: Server, seen: Observation | None = None) -> tuple[Status, str | None]:
    """Observe a trial of any kind to its end, and say how it ended: ``ok``, or what broke off and why."""
    status: Status = "failed"
    try:
        observe()
    except process.WorkerTimeoutError as error:
        status, reason = "timeout", str(error)
    except (process.WorkerError, ServerError, psutil.Error, OSError) as error:
        reason = str(error) or type(error).__name__  # a row that is not ok has a reason
        if seen is not None and isinstance(error, process.WorkerError):
            seen.cause = error.cause
    else:
        return "ok", None
    return status, reason if server.alive else f"the fake server died in mid-trial ({reason})"


@dataclass(frozen=True, slots=True)
class Begin:
    """When a trial began, on the calendar and on the clock."""

    at: datetime
    clock_ns: int

    @classmethod
    def now(cls) -> "Begin":
        """Return this moment."""
        return cls(datetime.now(UTC), time.monotonic_ns())


def row_of(
    trial: RowTrial,
    run: str,
    begin: Begin,
    status: Status,
    reason: str | None,
    seen: Observation,
    checks: tuple[Check, ...] = (),
) -> Row:
    """Return the row of a trial that has just ended; it names no place of this machine."""
    return records.make(
        run=run,
        trial=trial.id,
        round=trial.round,
        strategy=without_places(trial.strategy),
        stack=trial.stack,
        kind=trial.kind,
        workload=without_places(trial.values),
        status=status,
        reason=without_places(reason),
        started_at=begin.at.isoformat(timespec="milliseconds"),
        duration_ns=0 if status == "skipped" else time.monotonic_ns() - begin.clock_ns,
        measured=without_places(seen.measured),
        server=seen.server,
        knobs=without_places(seen.knobs),
        checks=without_places(msgspec.to_builtins(checks)),
        cause=seen.cause,
    )


def skipped(trial: RowTrial, run: str, cause: Cause, reason: str) -> Row:
    """Return the row of a trial that cannot be run here."""
    return row_of(trial, run, Begin.now(), "skipped", reason, Observation(cause=cause))


def _observe(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Drive worker and server through one trial, and note what they and the kernel say."""
    workload = trial.workload
    deadline_s = setting.deadline_s(trial)
    server.configure(workload.site)
    with process.running(setting.cpus.client, deadline_s, runtime=setting.runtime) as worker:
        job = _job(trial, server, deadline_s, setting.unit_ns)
        worker.send({"strategy": trial.strategy, "job": job.to_dict(), "lifetime_s": deadline_s + 5})
        seen.knobs = worker.expect("ready", "knobs")["knobs"]
        sampler = Sampler(psutil.Process(worker.pid))
        delay_before_ns = host.run_delay_ns(worker.pid)
        server.tell("reset")
        before = _counts(server, setting)
        if workload.kind == "memory":
            held.observe(trial, server, worker, seen.measured, setting.budget_bytes)
        else:
            worker.send({"do": "crawl"})
            sampler.begin()
        crawled = worker.expect("crawled", "error", sampler.sample)
        if crawled["error"] is not None:  # the worker is about to exit: there is nothing more to be read from it
            raise process.WorkerError(f"the strategy raised {crawled['error']}", crawled.get("cause"))
        crawled_ns = time.monotonic_ns()
        after = _counts(server, setting)
        delay_after_ns = host.run_delay_ns(worker.pid)
        if (delay_ns := host.since(delay_before_ns, delay_after_ns)) is not None:
            seen.measured["run_delay_ns"] = delay_ns
        seen.measured |= {"peak_threads": sampler.peak_threads} | _memory(worker.pid)
        if workload.kind == "crawl":
            seen.measured["samples"] = sampler.samples()
        if "released_ns" in seen.measured:
            seen.measured["drain_ns"] = crawled_ns - seen.measured.pop("released_ns")
        worker.send({"do": "report"})
        outcome = worker.expect("outcome", "answer")
    del outcome["event"]
    records = outcome.pop("answer")
    seen.answer = {path: (status, size) for path, status, size, _ in records}
    failed = sum(status is None for status, _ in seen.answer.values())
    seen.measured["port_refusals"] = sum("EADDRNOTAVAIL" in (error or "") for *_, error in records)
    seen.measured |= outcome | _derived(outcome, len(seen.answer), failed)
    seen.server, seen.host = _differences(before, after)
    seen.server["ceiling_per_s"] = server.ceiling_per_s
    seen.measured |= seen.host
    if (busy_ns := host.since(before["busy_ns"], after["busy_ns"])) is not None:
        seen.measured["others_ns"] = max(0, busy_ns - outcome["cpu_user_ns"] - outcome["cpu_system_ns"])


def _job(trial: Trial, server: Server, deadline_s: float, unit_ns: float | None) -> Job:
    """Return what the worker is to do. A held fetch has as much time as its trial: the gate is no fault of its own.

    Nor is the CPU work of all others that a fetch in flight may have to wait for.
    """
    workload = trial.workload
    roots = root_paths(workload.site, workload.roots)
    job = Job(
        roots=tuple(server.base + path for path in roots),
        max_in_flight=workload.in_flight,
        connection=workload.connection,
    )
    if workload.kind == "memory":
        return replace(job, timeout_ns=round(deadline_s * 1e9))
    if not workload.cpu_ns:
        return job
    assert unit_ns is not None
    patience_ns = job.timeout_ns + 3 * workload.cpu_ns * workload.in_flight
    return replace(job, work_units=max(1, round(workload.cpu_ns / unit_ns)), timeout_ns=patience_ns)


def _memory(pid: int) -> dict[str, int]:
    """Read the memory of a process at rest: its own (USS), its share (PSS, where known), resident (RSS)."""
    found = memory.of_process(pid)
    return {key: size for key in ("uss_bytes", "rss_bytes", "pss_bytes") if (size := found[key]) is not None}


def _counts(server: Server, setting: Setting) -> dict[str, Any]:
    return {
        "server": server.stats(),
        "run_delay_ns": host.run_delay_ns(server.process.pid),
        "disturbances": host.disturbances(setting.cpus),
        "busy_ns": host.busy_ns(setting.cpus.client),
    }


def _differences(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the server and the kernel counted during the trial."""
    old, new = before["server"], after["server"]
    cpu_ns = new["cpu_ns"] - old["cpu_ns"]
    clock_ns = max(1, new["clock_ns"] - old["clock_ns"])
    delay_ns = host.since(before["run_delay_ns"], after["run_delay_ns"])
    delay_share = None if delay_ns is None else delay_ns / clock_ns
    server = new | {"cpu_ns": cpu_ns, "cpu_share": cpu_ns / clock_ns, "run_delay_share": delay_share}
    disturbed = after["disturbances"].since(before["disturbances"])
    return server, disturbed | {"ephemeral_ports": host.ephemeral_ports()}


def _derived(outcome: dict[str, Any], pages: int, failed: int) -> dict[str, Any]:
    """Return the figures that people quote; failed pages are no throughput."""
    verified = pages - failed
    cpu_ns = outcome["cpu_user_ns"] + outcome["cpu_system_ns"]
    return {
        "pages": pages,
        "failed_pages": failed,
        "pages_per_s": verified / outcome["makespan_ns"] * 1e9,
        "cpu_per_page_ns": round(cpu_ns / max(1, verified)),
        "switches_per_page": (outcome["voluntary_switches"] + outcome["involuntary_switches"]) / max(1, pages),
    }


def _evidence(trial: Trial, setting: Setting, seen: Observation) -> validity.Evidence:
    workload = trial.workload
    crawl = (workload.site, workload.roots, Job(roots=()).max_redirects)
    expected = expected_answer(*crawl)
    wanted: dict[str, Any] = {"strategy": trial.strategy}
    if setting.cpus.client is not None:
        wanted["cpus"] = sorted(setting.cpus.client)
    return validity.Evidence(
        kind=workload.kind,
        planned_in_flight=trial.reachable,
        cap=workload.in_flight,
        mean_latency_ns=workload.mean_latency_ns,
        mean_delay_ns=mean_delay_ns(*crawl),
        cpu_ns=workload.cpu_ns,
        answer_difference=difference(expected, seen.answer),
        pages_answered=sum(status is not None for status, _ in seen.answer.values()),
        failures=seen.measured["failed_pages"],
        expected_failures=sum(status is None for status, _ in expected.values()),
        client_share=_client_share(setting, seen.measured),
        measured=without_places(seen.measured),
        server=seen.server,
        host=seen.host,
        knobs=seen.knobs,
        wanted_knobs=wanted,
        descriptors_needed=preflight.descriptors_needed(trial),
        threads_needed=preflight.threads_needed(trial),
        threads_allowed=preflight.threads_allowed(),
    )


def _client_share(setting: Setting, measured: dict[str, Any]) -> float | None:
    if setting.cpus.client is None or len(setting.cpus.client) != 1:
        return None
    cpu_ns: int = measured["cpu_user_ns"] + measured["cpu_system_ns"]
    makespan_ns: int = measured["makespan_ns"]
    return cpu_ns / max(1, makespan_ns)
