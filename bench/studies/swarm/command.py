"""What ``inflight swarm`` does: plan a swarm, run it as an experiment of one cell, or take part in somebody else's."""

import ipaddress
import json
import re
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

import strategies
from bench.commands import run as commands
from bench.commands.output import complain, say
from bench.core import rows, scale
from bench.core.experiment import Experiment, ExperimentError
from bench.core.judge import check_known, whole
from bench.core.rows import Row
from bench.measure import run as runs
from bench.measure.locust.hosting import Hosting, address_text
from bench.present.notes import why_red
from bench.studies.swarm.layout import Layout, LayoutError, allowances, among, layout
from bench.studies.swarm.plan_text import MASTER_PORT, TRUST, plan_text
from fake_server.delays import parse_duration_ns
from strategies import Description

REFUSALS = (*commands.REFUSALS, LayoutError)
ABOUT = "One strategy in many processes, all its fetches in flight at once: inflight swarm."
DEFAULT_STRATEGY = "callbacks"
_RAMP = re.compile(r"(\d{1,8})(?:/s)?")
_ADDRESS = re.compile(r"\[?([0-9A-Za-z.:-]+?)\]?:(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for; what it does not say is None."""

    strategy: str | None
    in_flight: int | None
    ramp: str | None
    hold: str | None
    processes: int | None
    nodes: int
    expect: int | None
    wait: str | None
    bind: str | None
    port: int | None
    join: str | None
    web: int | None
    plan: bool
    machines: int | None
    memory_budget: str | None
    out: Path
    as_json: bool


def run(asked: Asked) -> int:
    """Plan, join or run; return 0 when all were in flight, confirmed, and answered, 1 when not, 130 at Ctrl-C."""
    if asked.join is not None:
        return _join(asked, asked.join)
    if asked.in_flight is None:
        raise ExperimentError(
            "how many? Say --in-flight N, or --join HOST:PORT to take part in another machine's swarm"
        )
    if asked.machines is not None and not asked.plan:
        raise ExperimentError("--machines is for --plan, which says what to type on each of them")
    name = asked.strategy or DEFAULT_STRATEGY
    check_known(name, strategies.names(), "strategy", "--strategy")
    described = strategies.describe(name)
    budget = None if asked.memory_budget is None else commands.size_bytes(asked.memory_budget, "--memory-budget")
    return _plan(asked, described, budget) if asked.plan else _run(asked, described, budget)


def ramp_per_s(text: str) -> int:
    """Return how many a second, of ``5000/s`` or ``5000``. Raises ExperimentError."""
    found = _RAMP.fullmatch(text.strip())
    if found is None:
        raise ExperimentError(f"--ramp must be a whole number a second, such as 5000/s, not {text!r}")
    return whole(int(found[1]), 1, scale.MOST_IN_FLIGHT, "--ramp")


def address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``. Raises ExperimentError."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise ExperimentError(f"--join takes the master's HOST:PORT, such as 192.0.2.1:{MASTER_PORT}, not {text!r}")
    return found[1], int(found[2])


def hosting(asked: Asked) -> Hosting:
    """Return who takes part. Raises ExperimentError for an address that is none."""
    bind = asked.bind or Hosting().bind
    try:
        bind = "127.0.0.1" if bind == "localhost" else str(ipaddress.ip_address(bind))
    except ValueError as error:
        raise ExperimentError(f"--bind takes an address of this machine, such as 192.0.2.1, not {bind!r}") from error
    expect = asked.expect or 0
    port = (MASTER_PORT if expect else 0) if asked.port is None else asked.port
    if asked.nodes + expect < 1:
        raise ExperimentError("--nodes 0 leaves nobody to do the work; say with --expect how many join from elsewhere")
    try:
        wait_ns = parse_duration_ns(asked.wait or "60s")
    except ValueError as error:
        raise ExperimentError(f"--wait: {error}") from error
    return Hosting(asked.nodes, expect, bind, port, asked.web, wait_ns / 1e9)


def _join(asked: Asked, master: str) -> int:
    told = {
        "--in-flight": asked.in_flight,
        "--strategy": asked.strategy,
        "--ramp": asked.ramp,
        "--hold": asked.hold,
        "--processes": asked.processes,
        "--expect": asked.expect,
        "--wait": asked.wait,
        "--bind": asked.bind,
        "--port": asked.port,
        "--web": asked.web,
        "--plan": asked.plan or None,
        "--machines": asked.machines,
    }
    if given := [option for option, value in told.items() if value is not None]:
        raise ExperimentError(f"--join does what the master says; leave out {', '.join(given)}")
    if not asked.nodes:
        raise ExperimentError("--nodes 0 leaves nobody to join; leave it out, or say how many")
    host, port = address(master)
    runs.need_locust()
    from bench.studies.swarm.run import join

    with commands.interruptible():
        return join(host, port, asked.nodes, tell=say)


def _plan(asked: Asked, strategy: Description, budget_bytes: int | None) -> int:
    """Print what it would take; nothing is started but, for a model with threads, a few to see what one costs."""
    assert asked.in_flight is not None
    machines, allowed = asked.machines or 1, allowances(strategy, budget_bytes)
    if asked.as_json:
        planned = layout(-(-asked.in_flight // machines), allowed, strategy=strategy, processes=asked.processes)
        print(json.dumps({"machines": machines, "each": asdict(planned), "allowed": asdict(allowed)}))
    else:
        print(plan_text(asked.in_flight, allowed, strategy=strategy, processes=asked.processes, machines=machines))
    return 0


def _run(asked: Asked, strategy: Description, budget_bytes: int | None) -> int:
    if strategy.missing:
        raise ExperimentError(f"{strategy.name} cannot be run here: not installed: {', '.join(strategy.missing)}")
    who, experiment = hosting(asked), _experiment(asked, strategy.name)
    planned = _laid_out(asked, who, strategy, budget_bytes)
    trials = runs.plan(experiment)
    _say_plan(planned, strategy.name)
    for port, option, bind in ((who.port, "--port", who.bind), (who.web_port, "--web", "127.0.0.1")):
        _check_free(port, option, bind)
    if not scale.is_loopback(who.bind):
        complain(f"the Locust master listens on {who.bind}. {' '.join(TRUST.split())}")
    if who.expect:
        joining = f"inflight swarm --join {address_text(who.bind, who.port)}"
        say(f"waiting for {_counted(who.expect, 'Locust worker')} to join: {joining}")
    if who.web_port is not None:
        say(f"Locust's page: http://127.0.0.1:{who.web_port}/")
    folder = runs.new_folder(asked.out, experiment)
    interrupted = commands.execute(folder, experiment, trials, budget_bytes, hosting=who, tell=say)
    found = rows.read(folder)
    commands.present(folder, found, as_json=asked.as_json)
    if interrupted:
        alone = (who.nodes, who.expect) == (1, 0)  # a stored experiment does not know who took part
        complain("interrupted; " + (f"begin again with: inflight run --resume {folder}" if alone else "begin again"))
        return 130
    return _code(found)


def _experiment(asked: Asked, strategy: str) -> Experiment:
    """Return the experiment of one cell. Raises ExperimentError."""
    table = {"strategies": [strategy], "in_flight": [asked.in_flight]}
    table |= {} if asked.ramp is None else {"ramp_per_s": ramp_per_s(asked.ramp)}
    table |= {} if asked.hold is None else {"hold": asked.hold}
    table |= {} if asked.processes is None else {"processes": asked.processes}
    cells = scale.parse("swarm", table, {}, strategies.names(), "inflight swarm")
    return Experiment("swarm", ABOUT, (), (strategy,), bare=(cells,))


def _laid_out(asked: Asked, who: Hosting, strategy: Description, budget_bytes: int | None) -> Layout:
    """Return the layout of the whole swarm, which is refused before anything is started."""
    assert asked.in_flight is not None
    allowed = allowances(strategy, budget_bytes)
    return among(
        asked.in_flight, allowed, strategy=strategy, processes=asked.processes, workers=who.workers, here=who.here
    )


def _check_free(port: int | None, option: str, bind: str) -> None:
    """Raise ExperimentError unless a port can be listened on here; it may be taken a moment later all the same."""
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
    processes, ports = _counted(len(planned.shares), "process"), _counted(planned.ports_each, "port")
    say(f"{planned.in_flight:,} in flight: {processes} of {strategy}, each with a server on {ports}")
    if planned.bound_by is not None:
        complain(f"not all {planned.asked:,}: {planned.bound_by.sentence}")


def _counted(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}" if number == 1 else f"{number:,} {what}{plural}"


def _code(found: list[Row]) -> int:
    if found and all(row.valid for row in found):
        return 0
    for row in found:
        complain(f"this supports no conclusion: {'; '.join(why_red(row))}")
    return 1
