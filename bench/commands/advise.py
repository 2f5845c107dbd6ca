"""``inflight advise``: find or measure the CPU time per page, recommend a model, and verify the advice if asked.

``predict.advice`` computes, ``predict.show`` writes. ``commands`` is the module of ``inflight run``, whose functions
all commands share; ``runs`` measures.
"""

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, OUT, PLACE, QUIET, option
from inflight.bench.commands.output import put, say, seconds
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import ThroughputTable, work_ns
from inflight.bench.plan.judge import judged, need
from inflight.bench.plan.trial import row_trials
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.site import SiteConfig

FORMAT, UNKNOWN = 3, 3
"""Format of the JSON; and the exit code without a confident recommendation."""
SITE = {key: SiteConfig().to_dict()[key] for key in ("links", "body_bytes", "body_spread")}
"""The values of the site on which the CPU time per page depends."""
BLOCKS, CYCLES = 5, 6
"""Number of blocks of a measurement, and of slices of each strategy in a block without latency; about 20 s."""
MAX_COSTED = 1000
"""Maximum number in flight with which the CPU time per page is measured."""


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
@JSON
@OUT
@QUIET
def run(*, latency: str, cpu: str, in_flight: int, folder: Path | None, verify: bool, as_json: bool, out: Path) -> int:
    """Recommend a model for a workload, with expected figures.

    \b
    inflight advise --latency 80ms --cpu 2ms --in-flight 500
    inflight advise --latency 5ms --in-flight 50 --verify

    The advice is based on the CPU time per page on this machine. If no stored run has it, it is measured first.
    """
    from inflight.bench.frame.frame import frame, with_cycles
    from inflight.bench.predict import advice, show

    delay = judged(partial(parse_delay, latency), "--latency")
    cpu_ns = work_ns(cpu, "--cpu")
    cycles = 1 if delay.mean_ns else CYCLES
    grid = ThroughputTable(latency=(delay.text,), in_flight=(in_flight,), cpu=(cpu,), cycles=cycles)
    names = [name for name in strategies.models() if strategies.describe(name).stack == "shared"]
    left_out, near = _left_out(_experiment(grid, names)), min(in_flight, MAX_COSTED)
    programs = Path(strategies.__file__).parent
    # Of equally fast models, the one with the shortest program (lines of its file) is advised.
    lengths = {
        name: len((programs / f"{name}.py").read_text("utf-8").splitlines()) for name in names if name not in left_out
    }
    what = f"No run of this machine in {out} has the CPU time per page: measuring it with {near:,} in flight"
    bare = _experiment(ThroughputTable(in_flight=(near,), cycles=CYCLES), lengths)
    place = folder or newest(out, host.machine(), near, lengths) or _run(out, bare, what)
    wanted = advice.Wanted(delay.text, delay.mean_ns, cpu_ns, in_flight, near)
    stored = rows.read(place)
    advised = advice.advise(with_cycles(frame(stored), stored), SITE, wanted, lengths)
    is_enough = bool(advised["models"])
    need(is_enough, f"{place} has no two blocks without latency and CPU work at about {near:,} in flight")
    there, here = rows.machine(place), host.machine()
    result: dict[str, Any] = {
        "format": FORMAT,
        "latency_ns": round(delay.mean_ns),
        "cpu_ns": cpu_ns,
        "in_flight": in_flight,
        **advised,
        "left_out": left_out,
        "run": str(place),
        "measured_at": stored[-1].started_at,
        "machine_differs": [f"{key} {there.get(key, 'unknown')}, here {here.get(key)}"
                            for key in rows.machine_changes(there, here)],
        "verified": None,
    }  # fmt: skip
    if not as_json:
        put(show.text(result, datetime.now(UTC)))
    if verify:
        chosen = sorted(result["models"], key=lambda model: model["strategy"] != result["advised"])[:2]
        again = _run(out, _experiment(grid, [model["strategy"] for model in chosen]), "Measuring this workload")
        measured = rows.read(again)
        result["verified"] = advice.verify(with_cycles(frame(measured), measured), chosen) | {"folder": str(again)}
        if not as_json:
            put(f"\n{show.verified_text(result['verified'])}")
    if as_json:
        put(json.dumps(result, allow_nan=False))
    return 0 if result["advised"] and (result["verified"] is None or result["verified"]["holds"]) else UNKNOWN


def _left_out(experiment: Experiment) -> dict[str, str]:
    """Return the strategies that cannot have this many in flight here, each with the reason; they are not compared."""
    reasons = {name: f"never has more than {most:,} in flight" for name, most in runs.above_limits(experiment).items()}
    for trial in map(runs.judge, runs.all_trials(experiment)):
        reasons |= {part.name: trial.short[part.id] for part in row_trials(trial) if part.id in trial.short}
    return reasons


def newest(out: Path, machine: Mapping[str, Any], in_flight: int, names: Collection[str]) -> Path | None:
    """Return the newest quiet run of an equal machine that has the CPU time per page of all these strategies.

    Runs that came with the project (``results/reference``) are used only if ``--from`` names one.
    """
    from inflight.bench.frame import noise
    from inflight.bench.frame.frame import frame
    from inflight.bench.predict import advice

    for folder in reversed(rows.folders_in(out)):
        try:
            stored = [] if rows.machine_changes(rows.machine(folder), machine) else rows.read(folder)
        except RowsError:
            continue
        costs = advice.costs_near(frame(stored), SITE, in_flight)
        if not noise.is_noisy(stored) and set(costs["strategy"]) >= set(names):
            return folder
    return None


def _experiment(grid: ThroughputTable, names: Collection[str]) -> Experiment:
    """Return the experiment that measures one workload, in blocks of these strategies."""
    about = "Measured by `inflight advise`."
    return Experiment(name="advise", about=about, strategies=tuple(names), rounds=BLOCKS, throughput=(grid,))


def _run(out: Path, experiment: Experiment, what: str) -> Path:
    """Run an experiment and return its folder. Raises KeyboardInterrupt if it was interrupted."""
    trials = runs.plan(experiment)
    say(f"{what}; this takes about {seconds(estimate_ns(trials))}.")
    folder = runs.new_folder(out, experiment)
    if commands.execute(folder, experiment, trials):
        raise KeyboardInterrupt
    return folder
