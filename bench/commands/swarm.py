"""The command ``inflight swarm``: plan a swarm of this machine, or run it as an experiment of one cell.

``measure.swarm.layout`` makes the plan: of the fetches in flight that are *asked* for, as many are *planned* as the
limits of this machine allow, in as many processes as they take. --dry-run prints it (``plan_lines``). Otherwise the
experiment is run as ``inflight run`` does (``commands``), and ``measure.swarm.run`` plans it once more. A limit that
makes the swarm smaller is said before it begins. Load goes to servers on this machine only.
"""

import json
import math
import re
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from inflight import strategies
from inflight.bench import units
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, OUT, QUIET, one_strategy, option
from inflight.bench.commands.output import complain, put, say
from inflight.bench.measure import run as runs
from inflight.bench.measure.swarm.layout import (
    Allowances,
    Layout,
    allowances,
    amount,
    bytes_each,
    layout,
    max_connections,
)
from inflight.bench.measure.trial import Hosting
from inflight.bench.plan import scale
from inflight.bench.plan.experiment import Experiment, ExperimentError, named
from inflight.bench.plan.judge import convert, need, whole
from inflight.bench.rows import files as rows
from inflight.strategies import Description

ABOUT = "One strategy in many processes, all its fetches in flight at once: inflight swarm."
"""What the experiment measures."""
LOOPBACK = "127.0.0.1"
"""The address of Locust's page."""
LABEL_WIDTH = 38
"""Width of the names of resources in a plan, in characters."""
_RAMP = re.compile(r"(\d{1,8})(?:/s)?")
"""Matches a rate such as 5000/s."""


@one_strategy()
@option("--in-flight", type=click.IntRange(1, scale.MAX_IN_FLIGHT), note="The sum over all processes.", required=True)
@click.option(
    "--ramp", metavar="RATE", help="Start at most this many fetches per second, e.g. 5000/s. [default: no limit]"
)
@click.option(
    "--hold",
    metavar="TIME",
    default="0",
    help="Hold all fetches for this long, e.g. 30s. [default: until memory has been read]",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(1, 10_000),
    help="Number of processes. [default: as few as limits allow]",
)
@click.option("--nodes", metavar="N", type=click.IntRange(1, 64), default=1, help="Number of Locust workers.")
@click.option(
    "--web",
    metavar="[PORT]",
    is_flag=False,
    flag_value="8089",
    type=click.IntRange(1, 65_535),
    help="Show Locust's web page on this port of 127.0.0.1. [8089]",
)
@option("--dry-run", note="With what the swarm needs, and which limit binds.")
@option("--memory-budget", note="The swarm uses less. [default: 90 % of the free memory]")
@OUT
@JSON
@QUIET
def run(
    *,
    strategy: str,
    in_flight: int,
    ramp: str | None,
    hold: str,
    processes: int | None,
    nodes: int,
    web: int | None,
    dry_run: bool,
    memory_budget: str | None,
    out: Path,
    as_json: bool,
) -> int:
    """Hold very many fetches in flight, in many processes.

    All processes run the same strategy, and each has a server of its own. Locust coordinates them.

    \b
    inflight swarm --in-flight 100000
    inflight swarm --strategy thread_pool --in-flight 100000 --dry-run

    Needs Locust: pip install locust. All fetches stay on the loopback interface.
    """
    name = named(strategy, "--strategy")
    model, budget_bytes = strategies.describe(name), commands.budget_bytes(memory_budget)
    allowed = allowances(model, budget_bytes)
    planned = layout(in_flight, allowed, strategy=model, processes=processes)
    if dry_run:
        values = {"layout": asdict(planned), "allowed": asdict(allowed)}
        put(json.dumps(values) if as_json else "\n".join(plan_lines(planned, allowed, model)))
        return 0
    need(not model.lack, f"{name} cannot be run here: it {model.lack}")
    scale.hold_ns(hold, "--hold")
    table = {
        "in_flight": [in_flight],
        "ramp_per_s": None if ramp is None else ramp_per_s(ramp),
        "processes": processes,
        "hold": hold,
    }
    swarm = convert(table, scale.SwarmTable, "inflight swarm")
    experiment = Experiment(name="swarm", about=ABOUT, strategies=(name,), swarm=(swarm,))
    trials = runs.plan(experiment)
    if planned.bound_by is not None:
        complain(f"fewer than the {planned.asked:,} asked for: {planned.bound_by.sentence}")
    if web is not None:
        _check_free(web)
        say(f"Locust's page: http://{LOOPBACK}:{web}/")
    folder = runs.new_folder(out, experiment)
    interrupted = commands.execute(folder, experiment, trials, budget_bytes, hosting=Hosting(nodes, web, say))
    measured = rows.read(folder)
    commands.present(folder, measured, as_json=as_json)
    if interrupted:
        return 130
    for row in measured:
        if not row.valid:
            complain(f"this supports no conclusion: {'; '.join(row.invalid_reasons)}")
    return 0 if measured and all(row.valid for row in measured) else 1


def ramp_per_s(text: str) -> int:
    """Return the rate per second in ``5000/s`` or ``5000``. Raises ExperimentError."""
    rate = _RAMP.fullmatch(text.strip())
    if rate is None:
        raise ExperimentError(f"--ramp must be a whole number per second, such as 5000/s, not {text!r}")
    return whole(int(rate[1]), 1, scale.MAX_IN_FLIGHT, "--ramp")


def plan_lines(planned: Layout, allowed: Allowances, strategy: Description) -> Iterator[str]:
    """Yield the lines of a plan: the processes, and what the swarm needs of each resource with its limit.

    A *pair* is a strategy process and its server; ``allowed.together`` are limits that all processes share.
    """
    pairs, largest = len(planned.shares), planned.shares[0].count
    programs = "1 strategy process" if pairs == 1 else f"{pairs} strategy processes"
    yield f"{planned.asked:,} fetches of {strategy.name} in flight at once"
    yield ""
    yield f"{programs}, each with a server; ports of a server: {planned.ports_each}"
    yield ""
    connections = ports = "unknown"
    if (descriptors := allowed.descriptors) is not None:
        connections = f"{max_connections(descriptors):,} for {descriptors:,} descriptors"
    if allowed.ports is not None:
        ports = f"{allowed.ports:,}"
    lines = [("descriptors of a process (ulimit -Hn)", f"{largest:,} connections", connections)]
    to_one = math.ceil(largest / planned.ports_each)
    lines.append(("client ports", f"{to_one:,} connections to one address", ports))
    if (threads := allowed.threads) is not None:
        lines.append(("threads of a process", f"{largest * threads.each:,}", f"{threads.max:,} ({threads.name})"))
    lines += [
        (common.name, f"{amount(common, planned.in_flight, pairs):,}", f"{common.max:,}") for common in allowed.together
    ]
    room = "unknown" if allowed.memory_bytes is None else units.size(allowed.memory_bytes)
    each = f"{units.size(planned.memory_bytes)}, {units.size(bytes_each(strategy), 2)} for each fetch at both ends"
    lines.append(("memory, estimated", each, room))
    for label, needed, limit in lines:
        yield f"{label:{LABEL_WIDTH}}  {needed}, of {limit}"
    yield ""
    bound = planned.bound_by
    yield "No limit of this machine binds." if bound is None else f"A limit binds: {bound.sentence}."


def _check_free(port: int) -> None:
    """Raise ExperimentError unless this process can listen on a port now. Another one may still take it later."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((LOOPBACK, port))
        except OSError as error:
            raise ExperimentError(
                f"--web: cannot listen on {LOOPBACK}:{port} ({error.strerror}); choose another"
            ) from None
