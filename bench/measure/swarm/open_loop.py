"""Run one open loop: Locust sends at a constant rate from a process of its own; this module watches the server."""

from functools import partial
from typing import Any
from urllib.parse import urlsplit

from inflight.bench import units
from inflight.bench.measure import host
from inflight.bench.measure.checks import judge
from inflight.bench.measure.server import Server, counted_between
from inflight.bench.measure.swarm.open_checks import CHECKS, Seen, wrong_answer
from inflight.bench.measure.trial import Observation, Setting, conduct, working
from inflight.bench.plan.bare import BareTrial
from inflight.bench.rows.files import Row
from inflight.fake_server.site import Site, SiteConfig

PROGRAM = "inflight.bench.measure.swarm.arrivals"
FULL_CLIENT_SHARE = 0.90
"""Minimum CPU share at which the client's core counts as full."""
FULL_SERVER_SHARE = 0.70
"""Minimum CPU share at which the server's core counts as full."""


def run_open(trial: BareTrial, server: Server, setting: Setting) -> Row:
    """Send at a trial's rate for its time, and return its row. A row whose rate was not kept can be valid.

    The fake server is not used if the workload has a target of its own.
    """
    return conduct(trial, setting.run, partial(_observe, trial, server, setting), server)


def _observe(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    values, found = trial.values, Seen(trial.values)
    base, path, pages = server.base, "/", None
    if values["target"] is not None:
        base, path = split_target(values["target"])
    else:
        config = SiteConfig.from_dict(values["site"])
        server.configure(config)
        base, pages, found.site = server.base, config.pages, Site(config)
    order = {name: values[name] for name in ("rate_per_s", "seconds", "users")}
    order |= {"base": base, "path": path, "pages": pages}
    with working(trial, setting, PROGRAM, order, seen) as worker:
        worker.send({"do": "go"})
        worker.expect("begun", "clock_ns")
        if pages is not None:  # a target does not report its counts
            server.tell("reset")
            served = server.stats()
        disturbed, waited_ns = host.disturbances(setting.cpus), host.run_delay_ns(worker.pid)
        worker.expect("ended", "clock_ns")
        if pages is not None:
            found.server = counted_between(served, server.stats())
        disturbances = host.disturbances(setting.cpus).since(disturbed)
        delay_ns = host.since(waited_ns, host.run_delay_ns(worker.pid))
        outcome = worker.expect("outcome", "measured")
    seen.server = found.server
    seen.measured = found.measured = (
        outcome["measured"]
        | disturbances
        | {
            "client_cpu_share": outcome["cpu_ns"] / outcome["window_ns"],
            "server_cpu_share": seen.server.get("cpu_share"),
            "run_delay_ns": delay_ns,
            "locust": outcome["locust"],
        }
    )
    found.knobs, found.answers, found.window_ns = seen.knobs, outcome["answers"], outcome["window_ns"]
    found.wanted_knobs = {"users": values["users"]}
    if setting.cpus.client is not None:
        found.wanted_knobs["cpus"] = sorted(setting.cpus.client)
    if seen.measured["not_kept"] == "too slow":
        seen.measured["why"] += who_was_full(seen.measured, values["users"])
    seen.checks, seen.wrong = judge(CHECKS, found), wrong_answer(found)


def split_target(target: str) -> tuple[str, str]:
    """Split an http URL into scheme with host, and path with query."""
    parts = urlsplit(target)
    return f"{parts.scheme}://{parts.netloc}", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def who_was_full(measured: dict[str, Any], users: int) -> str:
    """Return a clause that says which of client, server and users were full; empty if none was."""
    full = []
    if measured["client_cpu_share"] >= FULL_CLIENT_SHARE:
        full.append("the client's core was full")
    if (measured["server_cpu_share"] or 0) >= FULL_SERVER_SHARE:
        full.append(f"the server's core was {units.percent(measured['server_cpu_share'])} busy")
    if not full and measured["peak_in_flight"] >= users:
        full.append(f"all {users} users were waiting for responses")
    return f"; {' and '.join(full)}" if full else ""
