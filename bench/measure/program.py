"""Run one probe in a fresh process and make a row of its measurement."""

import importlib

from inflight.bench.measure import process
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Observation, Setting, on_server
from inflight.bench.plan.bare import BareTrial
from inflight.fake_server.site import SiteConfig

PROGRAMS = "inflight.bench.measure.programs"


@on_server
def run_probe(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    """Serve the probe's site, if it has one, and record its measurement."""
    name = trial.values["probe"]
    site = importlib.import_module(f"{PROGRAMS}.{name}").SITE
    if site is not None:
        server.configure(SiteConfig.from_dict(site))
    order = {"arguments": trial.values["arguments"], "base": None if site is None else server.base}
    deadline_s = setting.deadline_s(trial)
    with process.running([PROGRAMS, name], order, setting.cpus.client, deadline_s, setting.runtime) as worker:
        measured = worker.hear("measured")["measured"]
    if not isinstance(measured, dict):
        raise process.WorkerError(f"the probe measured {measured!r}, which is not a table of figures")
    seen.measured = measured
