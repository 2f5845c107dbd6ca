"""Run one probe in a fresh process and make a row of what it measured."""

import importlib
from typing import Any

from bench.core.plan import BareTrial
from bench.core.rows import Row
from bench.measure import process
from bench.measure.controller import Begin, Observation, Setting, ending, row_of
from bench.measure.server import Server
from fake_server.site import SiteConfig

PROGRAMS = "bench.studies.probes.programs"


def run_probe(trial: BareTrial, server: Server, setting: Setting) -> Row:
    """Run a probe to its end, or to its deadline, and return its row."""
    begin, seen = Begin.now(), Observation()
    status, reason = ending(lambda: seen.measured.update(_measured(trial, server, setting)), server)
    return row_of(trial, setting.run, begin, status, reason, seen)


def _measured(trial: BareTrial, server: Server, setting: Setting) -> dict[str, Any]:
    """Serve the probe's site, if it has one, and return what the probe says it measured."""
    name, arguments = trial.values["probe"], trial.values["arguments"]
    site = importlib.import_module(f"{PROGRAMS}.{name}").SITE
    if site is not None:
        server.configure(SiteConfig.from_dict(site))
    deadline_s = setting.deadline_s(trial)
    with process.running(setting.cpus.client, deadline_s, [PROGRAMS, name], runtime=setting.runtime) as worker:
        worker.send({"arguments": arguments, "base": None if site is None else server.base, "lifetime_s": deadline_s})
        measured = worker.hear("measured")["measured"]
    if not isinstance(measured, dict):
        raise process.WorkerError(f"the probe said it measured {measured!r}, which is not a set of figures")
    return measured
