"""What ``inflight advise`` does: find or measure the CPU time per page, advise, and measure the workload if asked."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import strategies
from bench.commands import run as commands
from bench.commands.output import say
from bench.core import cells as c
from bench.core import rows
from bench.core.experiment import Experiment
from bench.core.grid import MOST_CPU_NS, Grid
from bench.core.plan import estimate_ns, row_trials
from bench.measure import host
from bench.measure import run as runs
from bench.studies.advice import measured_here, show
from bench.studies.advice import read as analyse
from bench.studies.advice.measured_here import SITE, Source
from bench.studies.advice.read import Advice, Facts, Verified, Wanted
from bench.studies.advice.show import Basis
from bench.studies.throughput import show as throughput
from fake_server.delays import Delay, duration_text, parse_delay, parse_duration_ns

T = TypeVar("T")

UNKNOWN = 3
BLOCKS, CYCLES = 5, 6
"""Blocks that measure the CPU time per page, about 20 s in all, and slices of each strategy in a block."""
VERIFY_BLOCKS, VERIFY_CYCLES = 3, 4
"""Likewise to verify; where a latency is added, a block has one slice of each."""
MOST_COSTED = 1000
"""The CPU time of a page is measured with at most so many in flight."""


class AdviseError(Exception):
    """Something that cannot be advised on; the message says why, and what to do."""


REFUSALS = (AdviseError, *commands.REFUSALS)


def run(*, latency: str, cpu: str, in_flight: int, folder: Path | None, verify: bool, as_json: bool, out: Path) -> int:
    """Advise, print, and return 0; 3 without a confident recommendation, or when what was measured contradicts it."""
    workload = _workload(latency, cpu, in_flight)
    left_out, costed = _left_out(workload), min(in_flight, MOST_COSTED)
    machine, names = host.machine(), [name for name in _shared() if name not in left_out]
    source = _named(folder, costed) if folder else _of_this_machine(out, costed, names)
    memory_run, memory = measured_here.memory(out, source.machine, names)
    lines = {name: _length(name) for name in names}
    wanted = Wanted(parse_delay(workload.latency[0]).mean_ns, parse_duration_ns(workload.cpu[0]), in_flight)
    advice = analyse.advise(source.costs, wanted, Facts(left_out, memory, lines))
    differs = measured_here.differs(source.machine, machine)
    placebo = throughput.about_placebo(rows.read(source.folder))
    basis = Basis(
        str(source.folder), source.in_flight, differs, None if memory_run is None else str(memory_run), placebo
    )
    if not as_json:
        print(show.text(advice, basis).rstrip("\n"))
    verified, kept = _verified(out, workload, advice) if verify else (None, None)
    if as_json:
        told = show.to_json(advice, basis, verified, None if kept is None else str(kept))
        print(json.dumps(told, allow_nan=False))
    elif verified is not None:
        print("\n" + show.verified_text(verified, str(kept)).rstrip("\n"))
    known = advice.advised is not None if verified is None else analyse.holds(verified)
    return 0 if known else UNKNOWN


def _workload(latency: str, cpu: str, in_flight: int) -> Grid:
    """Return the workload that is asked about, as a table of an experiment."""
    delay: Delay = _read(parse_delay, latency, "--latency")
    cpu_ns = _read(parse_duration_ns, cpu, "--cpu")
    if cpu_ns > MOST_CPU_NS:
        raise AdviseError(f"--cpu must be at most {duration_text(MOST_CPU_NS)}, not {cpu!r}")
    return Grid(
        "throughput",
        (delay.text,),
        (in_flight,),
        site=SITE,
        cpu=(duration_text(cpu_ns),),
        cycles=1 if delay.mean_ns else VERIFY_CYCLES,
    )


def _read(parse: Callable[[str], T], text: str, option: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise AdviseError(f"{option}: {error}") from error


def _shared() -> list[str]:
    """Return the strategies that are compared: those that share the HTTP stack."""
    return [name for name in strategies.names() if strategies.describe(name).stack == "shared"]


def _left_out(workload: Grid) -> dict[str, str]:
    """Return the strategies that cannot have so many in flight here, each with the reason."""
    (in_flight,) = workload.in_flight
    most = {name: strategies.describe(name).most_in_flight for name in _shared()}
    found = {
        name: f"never has more than {most_} in flight" for name, most_ in most.items() if most_ and most_ < in_flight
    }
    trials = runs.all_trials(_experiment(workload, [name for name in most if name not in found], 1))
    short = runs.shortages(trials)
    return found | {part.strategy: short[part.id] for one in trials for part in row_trials(one) if part.id in short}


def _named(folder: Path, in_flight: int) -> Source:
    """Return the run that was named, for its CPU time per page. Raises AdviseError when it has none."""
    if (found := measured_here.source(folder, in_flight)) is None:
        raise AdviseError(
            f"{folder} has no two blocks without added latency and CPU work with about {in_flight:,} in flight"
        )
    return found


def _of_this_machine(out: Path, in_flight: int, names: Sequence[str]) -> Source:
    """Return the newest run of this machine that has the CPU time per page, or measure it now."""
    return measured_here.newest(out, host.machine(), in_flight, names) or _measured(out, in_flight, names)


def _measured(out: Path, in_flight: int, names: Sequence[str]) -> Source:
    """Measure the CPU time per page now."""
    experiment = _experiment(Grid("throughput", in_flight=(in_flight,), site=SITE, cycles=CYCLES), names, BLOCKS)
    what = f"Measuring the CPU time per page with {in_flight:,} in flight, which no run of this machine in {out} has"
    _say_time(what, experiment)
    folder = _run(out, experiment)
    found = measured_here.source(folder, in_flight)
    if found is None:
        raise AdviseError(f"the CPU time per page could not be measured; {folder} has the rows")
    return found


def _verified(out: Path, workload: Grid, advice: Advice) -> tuple[list[Verified], Path | None]:
    """Measure the advised strategy and the next one at the very workload; return how far off they are, and where."""
    chosen = [one for one in analyse.candidates(advice) if one.strategy in strategies.names()]
    if not chosen:
        return [], None
    experiment = _experiment(workload, [one.strategy for one in chosen], VERIFY_BLOCKS)
    _say_time("Measuring that very workload", experiment)
    folder = _run(out, experiment)
    return analyse.verify(chosen, c.cells(rows.read(folder))), folder


def _experiment(grid: Grid, names: Sequence[str], blocks: int) -> Experiment:
    return Experiment("advise", "Measured by `inflight advise`.", (grid,), tuple(names), blocks)


def _say_time(what: str, experiment: Experiment) -> None:
    seconds = estimate_ns(runs.all_trials(experiment)) / 1e9
    say(f"{what}; this takes about {seconds:.0f} s.")


def _run(out: Path, experiment: Experiment) -> Path:
    """Run an experiment; return its folder. Raises KeyboardInterrupt when it was interrupted."""
    trials = runs.plan(experiment)
    folder = runs.new_folder(out, experiment)
    if commands.execute(folder, experiment, trials):
        raise KeyboardInterrupt
    return folder


def _length(name: str) -> int:
    """Return how many lines a strategy's program has, the empty ones left out."""
    text = (Path(strategies.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in text.splitlines())
