"""The command ``inflight swarm``: plan a swarm, run it as an experiment of one cell, or join another machine."""

import ipaddress
import json
import re
import socket
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.output import complain, say
from inflight.bench.commands.swarm_plan import MASTER_PORT, TRUST, plan_text
from inflight.bench.measure import run as runs
from inflight.bench.measure.locust.hosting import Hosting, address_text
from inflight.bench.measure.swarm.allowances import allowances
from inflight.bench.measure.swarm.layout import Layout, LayoutError, among, layout
from inflight.bench.plan import scale
from inflight.bench.plan.experiment import Experiment, ExperimentError, named
from inflight.bench.plan.judge import convert, whole
from inflight.bench.rows import files as rows
from inflight.fake_server.delays import parse_duration_ns
from inflight.strategies import Description

REFUSALS = (*commands.REFUSALS, LayoutError)
ABOUT = "One strategy in many processes, all its fetches in flight at once: inflight swarm."
DEFAULT_STRATEGY = "callbacks"
_OF_ALL = {"memory_budget", "out", "as_json"}
"""The options that are allowed together with --join."""
_RAMP = re.compile(r"(\d{1,8})(?:/s)?")
_ADDRESS = re.compile(r"\[?([0-9A-Za-z.:-]+?)\]?:(\d{1,5})")


def run(*, join: str | None, nodes: int, **asked: Any) -> int:
    """Plan, join or run. Return 0 when all fetches were in flight and answered, 1 when not, 130 at Ctrl-C."""
    if join is None:
        return _begin(nodes=nodes, **asked)
    given = [name for name in asked if name not in _OF_ALL and asked[name] is not None and asked[name] is not False]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ExperimentError(f"with --join, the master decides; leave out {options}")
    return _join(join, nodes)


def _begin(
    *,
    strategy: str | None,
    in_flight: int | None,
    ramp: str | None,
    hold: str | None,
    processes: int | None,
    nodes: int,
    expect: int | None,
    wait: str | None,
    host: str | None,
    port: int | None,
    web: int | None,
    plan: bool,
    machines: int | None,
    memory_budget: str | None,
    out: Path,
    as_json: bool,
) -> int:
    """Plan or run a swarm of this machine, or one that others join."""
    if in_flight is None:
        raise ExperimentError(
            "give the number of fetches with --in-flight N, or join another machine's swarm with --join HOST:PORT"
        )
    if machines is not None and not plan:
        raise ExperimentError("--machines is for --plan, which prints the command for each machine")
    name = named(strategy or DEFAULT_STRATEGY, "--strategy")
    model = strategies.describe(name)
    budget_bytes = commands.budget_bytes(memory_budget)
    if plan:
        return _plan(model, in_flight, processes, machines or 1, budget_bytes, as_json=as_json)
    if model.lack:
        raise ExperimentError(f"{name} cannot be run here: it {model.lack}")
    who = hosting(nodes, expect or 0, wait or "60s", host or Hosting().bind, port, web)
    if hold is not None:
        scale.hold_ns(hold, "--hold")
    table = {"in_flight": [in_flight], "hold": hold, "processes": processes}
    experiment = _experiment(name, table | {"ramp_per_s": None if ramp is None else ramp_per_s(ramp)})
    allowed = allowances(model, budget_bytes)
    planned = among(in_flight, allowed, strategy=model, processes=processes, workers=who.workers, here=who.here)
    return _run(experiment, planned, who, budget_bytes, out, as_json=as_json)


def ramp_per_s(text: str) -> int:
    """Return the rate per second in ``5000/s`` or ``5000``. Raises ExperimentError."""
    found = _RAMP.fullmatch(text.strip())
    if found is None:
        raise ExperimentError(f"--ramp must be a whole number per second, such as 5000/s, not {text!r}")
    return whole(int(found[1]), 1, scale.MOST_IN_FLIGHT, "--ramp")


def address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``. Raises ExperimentError."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise ExperimentError(f"--join takes the master's HOST:PORT, such as 192.0.2.1:{MASTER_PORT}, not {text!r}")
    return found[1], int(found[2])


def hosting(nodes: int, expect: int, wait: str, bind: str, port: int | None, web_port: int | None) -> Hosting:
    """Return where the master listens and which Locust workers take part. Raises ExperimentError."""
    try:
        bind = "127.0.0.1" if bind == "localhost" else str(ipaddress.ip_address(bind))
    except ValueError as error:
        raise ExperimentError(f"--host: write an address of this machine, such as 192.0.2.1, not {bind!r}") from error
    if nodes + expect < 1:
        raise ExperimentError("--nodes 0 needs Locust workers from other machines; give their number with --expect")
    try:
        wait_ns = parse_duration_ns(wait)
    except ValueError as error:
        raise ExperimentError(f"--wait: {error}") from error
    if port is None:
        port = MASTER_PORT if expect else 0
    return Hosting(nodes, expect, bind, port, web_port, wait_ns / 1e9)


def _join(master: str, nodes: int) -> int:
    """Join the swarm of a master."""
    if not nodes:
        raise ExperimentError("--join needs at least one Locust worker; leave out --nodes 0")
    host, port = address(master)
    runs.need_locust()
    from inflight.bench.measure.swarm.run import join

    with commands.interruptible():
        return join(host, port, nodes, tell=say)


def _plan(
    model: Description,
    in_flight: int,
    processes: int | None,
    machines: int,
    budget_bytes: int | None,
    *,
    as_json: bool,
) -> int:
    """Print the plan. Nothing is started, except a few threads to measure their cost if the strategy uses threads."""
    allowed = allowances(model, budget_bytes)
    if as_json:
        planned = layout(-(-in_flight // machines), allowed, strategy=model, processes=processes)
        print(json.dumps({"machines": machines, "each": asdict(planned), "allowed": asdict(allowed)}))
    else:
        print(plan_text(in_flight, allowed, strategy=model, processes=processes, machines=machines))
    return 0


def _run(
    experiment: Experiment, planned: Layout, who: Hosting, budget_bytes: int | None, out: Path, *, as_json: bool
) -> int:
    trials = runs.plan(experiment)
    _say_plan(planned, experiment.strategies[0])
    for port, option, bind in ((who.port, "--port", who.bind), (who.web_port, "--web", "127.0.0.1")):
        _check_free(port, option, bind)
    _say_hosting(who)
    folder = runs.new_folder(out, experiment)
    interrupted = commands.execute(folder, experiment, trials, budget_bytes, hosting=who, tell=say)
    found = rows.read(folder)
    commands.present(folder, found, as_json=as_json)
    if interrupted:
        alone = (who.nodes, who.expect) == (1, 0)  # a stored experiment does not have the Locust workers
        complain("interrupted; " + (f"begin again with: inflight run --resume {folder}" if alone else "begin again"))
        return 130
    for row in found:
        if not row.valid:
            complain(f"this supports no conclusion: {'; '.join(row.invalid_reasons)}")
    return 0 if found and all(row.valid for row in found) else 1


def _experiment(strategy: str, table: dict[str, Any]) -> Experiment:
    """Return the experiment of one cell; None in the table stands for the default. Raises ExperimentError."""
    given = {name: value for name, value in table.items() if value is not None} | {"strategies": [strategy]}
    swarm = convert(given, scale.Swarm, "inflight swarm")
    return Experiment(name="swarm", about=ABOUT, strategies=(strategy,), swarm=(swarm,))


def _check_free(port: int | None, option: str, bind: str) -> None:
    """Raise ExperimentError unless this process can listen on a port now. Another one may still take it later."""
    if not port:
        return
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    with socket.socket(family) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((bind, port))
        except OSError as error:
            raise ExperimentError(
                f"{option}: cannot listen on {address_text(bind, port)} ({error.strerror}); choose another"
            ) from None


def _say_plan(planned: Layout, strategy: str) -> None:
    pairs, ports = len(planned.shares), planned.ports_each
    say(f"{planned.in_flight:,} in flight: {pairs:,} processes of {strategy}, each with a server on {ports} ports")
    if planned.bound_by is not None:
        complain(f"fewer than the {planned.asked:,} asked for: {planned.bound_by.sentence}")


def _say_hosting(who: Hosting) -> None:
    """Say where the master listens, and how others join."""
    if not scale.is_loopback(who.bind):
        complain(f"the Locust master listens on {who.bind}. {' '.join(TRUST.split())}")
    if who.expect:
        joining = f"inflight swarm --join {address_text(who.bind, who.port)}"
        say(f"waiting for Locust workers to join ({who.expect}): {joining}")
    if who.web_port is not None:
        say(f"Locust's page: http://127.0.0.1:{who.web_port}/")
