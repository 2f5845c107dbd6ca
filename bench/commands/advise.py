"""``inflight advise``: find or measure the CPU time per page, recommend a model with numbers, and verify them if asked.

``predict.advice`` computes, ``predict.show`` writes. ``commands`` is the module of ``inflight run``, whose functions
all commands share; ``runs`` measures.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins
from msgspec.structs import replace

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, OUT, PLACE, QUIET, option
from inflight.bench.commands.output import put, say, seconds
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.measure.limits.facts import available_bytes
from inflight.bench.plan.experiment import Experiment, load
from inflight.bench.plan.grid import CrawlTable, ThroughputTable, work_ns
from inflight.bench.plan.judge import judged, need
from inflight.bench.plan.trial import row_trials
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.bench.rows.kinds import FEW_SIZES
from inflight.fake_server.delays import parse_delay

if TYPE_CHECKING:
    from inflight.bench.predict.advice import Forecast, Wanted

FORMAT, UNKNOWN = 4, 3
"""Format of the JSON; and the exit code without a recommendation."""
PRESET = "costs"
"""The preset that measures what advice goes by."""
BLOCKS, CYCLES = 5, 6
"""Number of blocks of a verification, and of slices of each strategy in a block without latency."""


@option("--latency", required=True)
@option("--cpu", default="0")
@option("--in-flight", required=True)
@click.option(
    "--from",
    "folder",
    metavar="RUN",
    type=PLACE,
    help="Stored run with the CPU time per page. [default: the newest of this machine]",
)
@click.option(
    "--verify", is_flag=True, help="Measure this workload, and print by how much the expected figures are off."
)
@option("--tls")
@JSON
@OUT
@QUIET
def run(
    *,
    latency: str,
    cpu: str,
    in_flight: int,
    folder: Path | None,
    verify: bool,
    tls: bool,
    as_json: bool,
    out: Path,
) -> int:
    """Recommend a model for a workload, with expected figures.

    It says how many processes it needs, and how many fetches in flight in each.

    \b
    inflight advise --latency 80ms --cpu 2ms --in-flight 500
    inflight advise --latency 5ms --in-flight 50 --verify

    The advice is based on the CPU time per page on this machine. If no stored run has it, it is measured first.
    """
    from inflight.bench.frame import noise
    from inflight.bench.frame.frame import frame, trials, with_cycles
    from inflight.bench.predict import advice, show
    from inflight.bench.predict.model import Load

    delay = judged(partial(parse_delay, latency), "--latency")
    cpu_ns = work_ns(cpu, "--cpu")
    wanted = advice.Wanted(Load(delay.mean_ns, cpu_ns), in_flight, tls)
    measured = costs(in_flight, tls)
    workload = ThroughputTable(
        latency=(delay.text,), in_flight=(in_flight,), cpu=(cpu,), tls=tls, cycles=1 if delay.mean_ns else CYCLES
    )
    crawl = CrawlTable(latency=(delay.text,), in_flight=(in_flight,), pages=in_flight, tls=tls)
    asked_for = replace(measured, crawl=(crawl,), throughput=(), memory=())
    # The strategies that cannot have this many in flight here, which are not compared, each with the reason.
    most = runs.above_limits(asked_for)
    left_out = {name: f"never has more than {number:,} in flight" for name, number in most.items()}
    for trial in map(runs.judge, runs.all_trials(asked_for)):
        left_out |= {part.name: trial.short[part.id] for part in row_trials(trial) if part.id in trial.short}
    names = [name for name in measured.strategies if name not in left_out]
    singles = {*names} - {advice.POOL}
    over = " over https" if tls else ""
    need(bool(singles), next(iter(left_out.values()), ""))
    place = folder or newest(out, wanted, names)
    if place is None:
        lacks = f"No run of this machine in {out} has the CPU time per page at about {in_flight:,} in flight{over}"
        place = _run(out, measured, f"{lacks}: measuring it")
    stored = rows.read(place)
    lines = with_cycles(frame(stored), stored)
    is_known = any(model.name in singles for model in advice.known(lines, wanted))
    need(
        is_known,
        f"{place} has no CPU time per page, without latency and CPU work, at about {in_flight:,} in flight{over}",
    )
    there, here = rows.machine(place), host.machine()
    programs = Path(strategies.__file__).parent
    lengths = {name: len((programs / f"{name}.py").read_text("utf-8").splitlines()) for name in names}
    advised = advice.advise(lines, trials(stored), wanted, lengths, here["usable_cores"], available_bytes())
    source = show.Source(
        run=str(place),
        measured_at=stored[-1].started_at,
        machine_differs=[
            f"{key} {there.get(key, 'unknown')}, here {here.get(key)}" for key in rows.machine_changes(there, here)
        ],
        is_noisy=noise.is_noisy(stored),
        left_out=left_out,
    )
    if not as_json:
        put(show.text(advised, wanted, source, datetime.now(UTC)))
    verified = None
    if verify and advised.advised is not None:
        others = [each for each in advised.models if each.strategy != advised.advised.strategy]
        chosen = [advised.advised, *others[:1]]
        verified = _verified(out, measured, workload, chosen)
        if not as_json:
            put(f"\n{show.verified_text(verified)}")
    if as_json:
        asked = {"latency_ns": round(delay.mean_ns), "cpu_ns": cpu_ns, "in_flight": in_flight, "tls": tls}
        result = {"format": FORMAT, **asked, **to_builtins(advised), **to_builtins(source), "verified": verified}
        put(json.dumps(result, allow_nan=False))
    return 0 if advised.advised and (verified is None or verified["holds"]) else UNKNOWN


def costs(in_flight: int, tls: bool) -> Experiment:
    """Return the experiment that measures what advice for this number in flight goes by, on this machine."""
    from inflight.bench.predict.model import around

    experiment = load(PRESET, strategies.names())
    single, *pool = experiment.throughput
    numbers = around(in_flight)
    tables = [replace(single, in_flight=numbers), *(table for table in pool if len(host.usable_cores()) > 1)]
    names = {name for table in tables for name in table.strategies or ()}
    if numbers[0] > 1:
        names.remove("sequential")
    remaining = tuple(name for name in experiment.strategies if name in names)
    experiment = replace(experiment, throughput=tuple(tables), strategies=remaining)
    if not tls:
        return experiment
    # Over TLS three sizes are enough for a slope, and larger ones take several seconds for their handshakes.
    (memory,) = experiment.memory
    memory = replace(memory, in_flight=memory.in_flight[:FEW_SIZES])
    return replace(experiment, memory=(memory,)).over_tls()


def _verified(
    out: Path, measured: Experiment, workload: ThroughputTable, chosen: "Sequence[Forecast]"
) -> dict[str, Any]:
    """Measure a workload in blocks of the chosen models, on the cores of the first; return what that says of them."""
    from inflight.bench.frame.frame import frame, with_cycles
    from inflight.bench.predict.advice import verify

    experiment = replace(
        measured,
        name="advise",
        about="Measured by `inflight advise --verify`.",
        strategies=tuple(each.strategy for each in chosen),
        rounds=BLOCKS,
        throughput=(replace(workload, cores=chosen[0].cores),),
        memory=(),
        answer=(),
    )
    folder = _run(out, experiment, "Measuring this workload")
    stored = rows.read(folder)
    return verify(with_cycles(frame(stored), stored), chosen) | {"folder": str(folder)}


def newest(out: Path, wanted: "Wanted", names: Sequence[str]) -> Path | None:
    """Return the newest run of this machine that has the CPU time per page of all these strategies; a quiet one first.

    Runs that came with the project (``results/reference``) are used only if ``--from`` names one.
    """
    from inflight.bench.frame import noise
    from inflight.bench.frame.frame import frame, with_cycles
    from inflight.bench.predict import advice

    machine: Mapping[str, Any] = host.machine()
    noisy: Path | None = None
    for folder in reversed(rows.folders_in(out)):
        try:
            stored = [] if rows.machine_changes(rows.machine(folder), machine) else rows.read(folder)
        except RowsError:
            continue
        costs = {model.name for model in advice.known(with_cycles(frame(stored), stored), wanted)}
        if costs >= set(names):
            if not noise.is_noisy(stored):
                return folder
            noisy = noisy or folder
    return noisy


def _run(out: Path, experiment: Experiment, what: str) -> Path:
    """Run an experiment and return its folder. Raises KeyboardInterrupt if it was interrupted."""
    trials = runs.plan(experiment)
    say(f"{what}; this takes about {seconds(estimate_ns(trials))}.")
    folder = runs.new_folder(out, experiment)
    if commands.execute(folder, experiment, trials):
        raise KeyboardInterrupt
    return folder
