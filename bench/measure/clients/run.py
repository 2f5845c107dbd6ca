"""Load the fake server with one of several clients in a closed loop, and return its row.

Locust and wrk share no code with the strategies, nor with each other: a deviation that all three measure is caused by
the server or the machine. A client's name is ``locust``, ``wrk``, or that of a strategy.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from inflight import strategies
from inflight.bench.measure import host, process
from inflight.bench.measure.checks import judge
from inflight.bench.measure.clients.checks import CHECKS, Evidence
from inflight.bench.measure.clients.wrk import MISSING, Wrk, find
from inflight.bench.measure.crawl import observe as observe_crawl
from inflight.bench.measure.locust.hosting import locust_lack
from inflight.bench.measure.process import SkipError
from inflight.bench.measure.server import Server, counted_between
from inflight.bench.measure.trial import Observation, Setting, conduct, working
from inflight.bench.plan.bare import BareTrial
from inflight.bench.plan.grid import Workload
from inflight.bench.plan.scale import client
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows.files import Row
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import Site, SiteConfig
from inflight.strategies import Description

LOCUST, WRK, OURS = "locust", "wrk", "callbacks"
CLIENTS = (LOCUST, WRK, OURS)
IN_FLIGHT = 50
SECONDS = {"0": 1, "10ms": 2, "50ms": 3}
"""Length of the window for each added latency: with a longer latency, the loop turns fewer times per second."""
LOCUST_PROGRAM = "inflight.bench.measure.locust.closed_loop"
WARM_UP_S = 0.5
"""Time for Locust's users to start and connect."""
PAGES_PER_S = 20_000
"""Estimated pages per second of a strategy without added latency."""


def plan(rounds: int, seed: int) -> list[BareTrial]:
    """Return the trials: each client at each latency in every round, in a random order within each round."""
    order = Random(seed)
    trials: list[BareTrial] = []
    for number in range(1, rounds + 1):
        cells = [trial(name, latency, number) for latency in SECONDS for name in CLIENTS]
        order.shuffle(cells)
        trials += cells
    return trials


def trial(
    name: str, latency: str, number: int = 1, seconds: float | None = None, in_flight: int = IN_FLIGHT
) -> BareTrial:
    """Return one client's trial at one latency; all clients of a latency load the same site for the same time."""
    lasts_s = SECONDS[latency] if seconds is None else seconds
    described = _described(name)
    stack = "own" if described is None else described.stack
    first = client(name, _site(latency, lasts_s, in_flight), in_flight, lasts_s, stack)
    return replace(first, round=number)


def _site(latency: str, seconds: float, in_flight: int) -> SiteConfig:
    """Return a site with enough pages for this time, as a strategy fetches each page once.

    The number of pages is a multiple of the number in flight, because answers arrive in waves as large as the loop.
    """
    mean_ns = parse_delay(latency).mean_ns
    pages = in_flight * seconds * 1e9 / mean_ns if mean_ns else PAGES_PER_S * seconds
    return SiteConfig(pages=max(2, round(pages / in_flight)) * in_flight, links=0, delay=latency)


def run_client(trial: BareTrial, server: Server, setting: Setting) -> Row:
    """Run a trial to its end, or to its deadline, and return its row; skipped where the client is not installed."""
    return conduct(trial, setting.run, partial(_observe, trial, server, setting), server)


def _observe(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    if (why := absent(trial.strategy)) is not None:
        raise SkipError(why, "not installed")
    _BY_NAME.get(trial.strategy, _strategy)(trial, server, setting, seen)
    seen.checks = judge(CHECKS, Evidence(trial.strategy, trial.values, seen.measured))


def absent(name: str) -> str | None:
    """Say why a client cannot run here, and how to install it; None if it can. The client is not imported."""
    if name == LOCUST and (lack := locust_lack()) is not None:
        return f"this needs {lack}"
    if name == WRK and find() is None:
        return MISSING
    described = _described(name)
    lack = described.lack if described is not None else ""
    return f"{name} {lack}" if lack else None


def _described(name: str) -> Description | None:
    """Return the description of a strategy; None for the other two clients."""
    return None if name in {LOCUST, WRK} else strategies.describe(name)


def _locust(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    values = trial.values
    site = SiteConfig.from_dict(values["site"])
    server.configure(site)
    order = {"base": server.base, "users": values["in_flight"], "pages": site.pages, "warm_up_s": WARM_UP_S}
    order |= {"seconds": values["seconds"], "body_bytes": Site(site).page(1).body_bytes}
    with working(trial, setting, LOCUST_PROGRAM, order, seen) as worker:
        since = _counting(server, setting, worker.pid)
        worker.send({"do": "go"})
        worker.expect("finished", "requests")
        counted = since()
        worker.send({"do": "report"})
        said = worker.expect("outcome", "steady")
    steady = said["steady"]
    if steady is None:
        why = next(iter(said["errors"]), "too few requests were answered")
        raise process.WorkerError(f"Locust never had all its requests in flight: {why}")
    seen.measured = counted | {
        "completed": steady["completions"],
        "completed_per_s": 1e9 * steady["completions"] / steady["window_ns"],
        "client_cpu_share": said["cpu_ns"] / said["elapsed_ns"],
        **{key: said[key] for key in ("requests", "locust_requests", "failed", "errors", "service")},
    }


def _wrk(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    path = find()
    assert path is not None
    server.configure(SiteConfig.from_dict(trial.values["site"]))
    seconds = max(1, round(trial.values["seconds"]))  # wrk takes whole seconds only
    since = _counting(server, setting)
    wrk = Wrk(path, setting.cpus.client)
    driven, used = wrk.drive_watched(f"{server.base}/p/1", trial.values["in_flight"], seconds)
    seen.measured = since() | {
        "requests": driven.requests,
        "completed": max(0, driven.requests - driven.failed),
        "failed": driven.failed,
        "errors": driven.errors,
        "completed_per_s": driven.per_s,
        "service": {"count": driven.requests if driven.latency else 0} | driven.latency,
        "client_cpu_share": used.cpu_ns / used.lasted_ns,
        "run_delay_share": None if used.waited_ns is None else used.waited_ns / used.lasted_ns,
    }


def _strategy(trial: BareTrial, server: Server, setting: Setting, seen: Observation) -> None:
    """Crawl the site with a strategy, as in any trial, and keep the figures that the other clients report too."""
    values = trial.values
    site = SiteConfig.from_dict(values["site"])
    workload = Workload(values["id"], "crawl", site, values["in_flight"], "keep-alive")
    crawl, own = trial_of(trial.id, trial.round, workload, strategies.describe(trial.strategy)), Observation()
    observe_crawl(crawl, server, setting, own)
    if own.wrong is not None:
        raise process.WorkerError(own.wrong)
    measured, seen.knobs = own.measured, own.knobs
    steady = own.steady or {"completions": measured["pages"], "window_ns": measured["makespan_ns"]}
    cpu_ns = measured["cpu_user_ns"] + measured["cpu_system_ns"]
    delay_ns = measured.get("run_delay_ns")
    seen.measured = {
        "requests": measured["tries"],
        "completed": steady["completions"],
        "failed": measured["failed_pages"],
        "completed_per_s": 1e9 * steady["completions"] / steady["window_ns"],
        "service": measured["steady_service"],
        "client_cpu_share": cpu_ns / measured["makespan_ns"],
        "run_delay_share": None if delay_ns is None else delay_ns / measured["makespan_ns"],
        "server_cpu_share": own.server["cpu_share"],
        "server_requests": own.server["requests"],
        "listen_drops": measured["listen_drops"],
        "steal_share": measured["steal_share"],
    }


def _counting(server: Server, setting: Setting, pid: int | None = None) -> Callable[[], dict[str, Any]]:
    """Start counting requests, disturbances and the client's wait for its core; return a function that ends it."""
    server.tell("reset")
    before, disturbed, waited_ns = server.stats(), host.disturbances(setting.cpus), _waited_ns(pid)

    def since() -> dict[str, Any]:
        after, delay_ns = server.stats(), host.since(waited_ns, _waited_ns(pid))
        clock_ns = max(1, after["clock_ns"] - before["clock_ns"])
        return host.disturbances(setting.cpus).since(disturbed) | {
            "server_requests": after["requests"],
            "server_cpu_share": counted_between(before, after)["cpu_share"],
            "run_delay_share": None if delay_ns is None else delay_ns / clock_ns,
        }

    return since


def _waited_ns(pid: int | None) -> int | None:
    return None if pid is None else host.run_delay_ns(pid)


_BY_NAME = {LOCUST: _locust, WRK: _wrk}
