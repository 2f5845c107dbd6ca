"""Run one trial without a crawl: idle threads or tasks, or a probe (a program that tests a claim).

``measure.run`` calls ``run_idle`` and ``run_probe``. Each has a fresh process: ``idle.worker`` starts N threads or
tasks that wait, while memory is read here before and after, as in ``held``; ``worker.program`` runs a program of
``claims/programs`` once, whose result is the row's.
"""

import importlib
import os
import time
from dataclasses import replace
from pathlib import Path

import psutil

from inflight.bench.measure import process
from inflight.bench.measure.checks import Judge, Judgement, judge, passed_if, settings
from inflight.bench.measure.held import Guard, layers, layers_since
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Observation, Setting, on_server, working
from inflight.bench.plan.bare import PROBES, WITH_SOCKET
from inflight.bench.plan.trial import Trial
from inflight.fake_server.site import SiteConfig

IDLE_PROGRAM = "inflight.bench.measure.idle.worker"
"""The program of idle threads and tasks."""
PROBE_PROGRAM = "inflight.bench.measure.worker.program"
"""The program that runs a probe."""


@on_server
def run_idle(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Start the N threads or tasks of a trial, and read memory in layers before and after."""
    server.clear()  # else connections of the last trial would end during this one, and change the kernel's memory
    what, n, variables = trial.workload.what, trial.workload.n, trial.workload.variables
    setting = replace(setting, runtime=replace(setting.runtime, variables=variables))
    order = {"what": what, "n": n, "port": server.port}
    with working(trial, setting, IDLE_PROGRAM, order, seen) as worker:
        seen.measured |= layers("base", worker, server)
        guard = Guard(setting.budget_bytes, worker.pid)
        worker.send({"do": "start"})
        started = worker.expect("started", "started", guard.check)
        seen.measured |= {key: started[key] for key in ("started", "start_ns")}
        if started["error"] is not None:
            raise process.WorkerError(started["error"], started.get("cause"))
        if what in WITH_SOCKET:
            # Memory of the kernel includes the server's ends only when the server has accepted all connections.
            connections = seen.measured["base_connections"] + n
            while server.stats()["connections"] < connections and time.monotonic() < worker.deadline_s:
                time.sleep(process.TICK_S)
        seen.measured |= layers_since(seen.measured, "held", worker, server) | {"ps_rss_bytes": _rss_by_ps(worker.pid)}
    seen.wanted = {"idle": what}
    if variables:
        seen.wanted["variables"] = variables
    seen.checks = judge(CHECKS, trial, seen)


def _rss_by_ps(pid: int) -> int | None:
    """Return the resident size as ``ps -o rss=`` prints it: the method of the claim's authors, from the same source.

    ps(1) shows the second field of /proc/PID/statm (proc(5)) times the page size, which is slightly less exact than
    smaps.
    """
    try:
        statm = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return psutil.Process(pid).memory_info().rss


def all_started(trial: Trial, seen: Observation) -> Judgement:
    """Check that as many were started as asked for."""
    started, asked = seen.measured["started"], trial.workload.n
    return passed_if(started == asked, f"{started:,} of {asked:,}")


CHECKS: dict[str, Judge] = {"all were started": all_started, "settings applied": settings}
"""The checks of idle threads and tasks; a probe has none."""


@on_server
def run_probe(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Serve the site of a probe, if it has one, run its program, and record what it measured."""
    module = PROBES[trial.workload.probe]
    site = importlib.import_module(module).SITE
    if site is not None:
        server.configure(SiteConfig.from_dict(site))
    order = {"arguments": trial.workload.arguments, "base": None if site is None else server.base}
    command, deadline_s = [PROBE_PROGRAM, module], setting.deadline_s(trial)
    with process.running(command, order, setting.cpus.client, deadline_s, setting.runtime) as worker:
        measured = worker.hear("measured")["measured"]
    if not isinstance(measured, dict):
        raise process.WorkerError(f"the probe measured {measured!r}, which is not a table of figures")
    seen.measured = measured
