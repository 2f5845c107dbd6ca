"""``inflight advise``: find or measure the CPU time per page, recommend a model, and verify the advice if asked."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.output import say, seconds
from inflight.bench.core import cells as c
from inflight.bench.core import noise
from inflight.bench.frame.slopes import Slope
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import MOST_CPU_NS, Throughput
from inflight.bench.plan.trials import estimate_ns, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows import machines
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.studies.advice import read, show
from inflight.bench.studies.advice.read import Advice, Costs, Facts, Verified, Wanted
from inflight.bench.studies.advice.show import Basis
from inflight.fake_server.delays import duration_text, parse_delay, parse_duration_ns
from inflight.fake_server.site import SiteConfig

T = TypeVar("T")

UNKNOWN = 3
SITE = SiteConfig()
"""The site on which the CPU time per page is measured."""
BLOCKS, CYCLES = 5, 6
"""Number of blocks that measure the CPU time per page, and of slices of each strategy in a block; about 20 s."""
VERIFY_BLOCKS, VERIFY_CYCLES = 3, 4
"""The same for --verify; with added latency a block has one slice of each strategy."""
MOST_COSTED = 1000
"""Maximum number in flight with which the CPU time per page is measured."""


class AdviseError(Exception):
    """Advice that cannot be given; the message says why and what to do."""


REFUSALS = (AdviseError, *commands.REFUSALS)


@dataclass(frozen=True, slots=True)
class Source:
    """A run with the CPU time per page."""

    folder: Path
    machine: Mapping[str, Any]
    in_flight: int
    """Number in flight with which it was measured."""
    costs: Costs


def run(*, latency: str, cpu: str, in_flight: int, folder: Path | None, verify: bool, as_json: bool, out: Path) -> int:
    """Print the advice; return 0, or 3 without a confident recommendation or if --verify contradicts it."""
    workload = _workload(latency, cpu, in_flight)
    left_out = _left_out(workload)
    names = [name for name in _shared() if name not in left_out]
    source = _source(folder, out, min(in_flight, MOST_COSTED), names)
    memory_run, memory = _memory(out, source.machine, names)
    wanted = Wanted(parse_delay(workload.latency[0]).mean_ns, parse_duration_ns(workload.cpu[0]), in_flight)
    advice = read.advise(source.costs, wanted, Facts(left_out, memory, {name: _length(name) for name in names}))
    basis = Basis(
        str(source.folder),
        source.in_flight,
        differences(source.machine, host.machine()),
        None if memory_run is None else str(memory_run),
    )
    if not as_json:
        print(show.text(advice, basis))
    verified, kept = _verified(out, workload, advice) if verify else (None, None)
    if as_json:
        told = show.to_json(advice, basis, verified, None if kept is None else str(kept))
        print(json.dumps(told, allow_nan=False))
    elif verified is not None:
        print("\n" + show.verified_text(verified, str(kept)))
    is_confident = advice.advised is not None and (verified is None or read.holds(verified))
    return 0 if is_confident else UNKNOWN


def _workload(latency: str, cpu: str, in_flight: int) -> Throughput:
    """Return the workload as a table of an experiment."""
    delay, cpu_ns = _parsed(parse_delay, latency, "--latency"), _parsed(parse_duration_ns, cpu, "--cpu")
    if cpu_ns > MOST_CPU_NS:
        raise AdviseError(f"--cpu must be at most {duration_text(MOST_CPU_NS)}, not {cpu!r}")
    cycles = 1 if delay.mean_ns else VERIFY_CYCLES
    cpu = duration_text(cpu_ns)
    return Throughput(latency=(delay.text,), in_flight=(in_flight,), cpu=(cpu,), cycles=cycles)


def _parsed(parse: Callable[[str], T], text: str, option: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise AdviseError(f"{option}: {error}") from error


def _shared() -> list[str]:
    """Return the strategies that are compared: those that share the HTTP stack."""
    return [name for name in strategies.models() if strategies.describe(name).stack == "shared"]


def _left_out(workload: Throughput) -> dict[str, str]:
    """Return the strategies that cannot have this many in flight here, each with the reason."""
    (in_flight,) = workload.in_flight
    most = {name: strategies.describe(name).most_in_flight for name in _shared()}
    found = {
        name: f"never has more than {most_} in flight" for name, most_ in most.items() if most_ and most_ < in_flight
    }
    trials = runs.all_trials(_experiment(workload, [name for name in most if name not in found], 1))
    short = runs.shortages(trials)
    return found | {part.strategy: short[part.id] for one in trials for part in row_trials(one) if part.id in short}


def _length(name: str) -> int:
    """Return the number of non-empty lines of a strategy's program."""
    text = (Path(strategies.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in text.splitlines())


# Stored runs


def _source(folder: Path | None, out: Path, in_flight: int, names: Sequence[str]) -> Source:
    """Return the named run, or the newest of this machine with the CPU time per page, or measure it now."""
    if folder is None:
        return newest(out, host.machine(), in_flight, names) or _measured(out, in_flight, names)
    if (found := _costs(folder, in_flight)) is None:
        raise AdviseError(
            f"{folder} has no two blocks without added latency and CPU work at about {in_flight:,} in flight"
        )
    return found


def _costs(folder: Path, in_flight: int) -> Source | None:
    """Return the CPU time per page near a number in flight, from one run; None if it has none. Raises RowsError."""
    found = read.nearest(rows.read(folder), in_flight, SITE.to_dict())
    return None if found is None else Source(folder, _machine(folder), *found)


def newest(out: Path, machine: Mapping[str, Any], in_flight: int, names: Collection[str]) -> Source | None:
    """Return the newest quiet run of an equal machine that has the CPU time per page of all these strategies."""
    for folder, found in _runs_of(out, machine):
        if noise.is_noisy(found):
            continue
        near = read.nearest(found, in_flight, SITE.to_dict())
        if near is not None and near[1].keys() >= set(names):
            return Source(folder, machine, *near)
    return None


def _memory(out: Path, machine: Mapping[str, Any], names: Collection[str]) -> tuple[Path | None, dict[str, Slope]]:
    """Return the newest run of an equal machine that has the memory per fetch of all these strategies, and the slopes.

    A slope counts only if its interval is above 0: sizes that are few or close together give none.
    """
    for folder, found in _runs_of(out, machine):
        held = [cell for cell in c.cells(found, "memory") if cell.setting.connection == "keep-alive"]
        for setting in c.settings(held):
            own = [cell for cell in held if cell.setting == setting]
            slopes = {
                name: slope for name in names if isinstance(slope := c.memory_of(own, name), Slope) and slope.low > 0
            }
            if slopes.keys() >= set(names):
                return folder, slopes
    return None, {}


def differences(one: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, ...]:
    """Return sentences on what differs between a machine and this one; empty if they are alike."""
    return tuple(f"{key} {one.get(key, 'unknown')}, here {here.get(key)}" for key in machines.differences(one, here))


def _runs_of(out: Path, machine: Mapping[str, Any]) -> Iterator[tuple[Path, list[Row]]]:
    """Yield the readable runs of a machine in a folder of results and in its ``reference``, the newest first."""
    folders = [folder for pattern in ("*", "reference/*") for folder in out.glob(pattern)]
    for folder in sorted(folders, key=lambda path: path.name, reverse=True):
        if rows.is_run(folder) and not machines.differences(_machine(folder), machine):
            try:
                yield folder, rows.read(folder)
            except RowsError:
                continue


def _machine(folder: Path) -> dict[str, Any]:
    try:
        return rows.machine(folder)
    except RowsError:
        return {}


# Measuring


def _measured(out: Path, in_flight: int, names: Sequence[str]) -> Source:
    """Measure the CPU time per page now."""
    experiment = _experiment(Throughput(in_flight=(in_flight,), cycles=CYCLES), names, BLOCKS)
    what = f"No run of this machine in {out} has the CPU time per page: measuring it with {in_flight:,} in flight"
    _say_time(what, experiment)
    folder = _run(out, experiment)
    if (found := _costs(folder, in_flight)) is None:
        raise AdviseError(f"the CPU time per page could not be measured; the rows are in {folder}")
    return found


def _verified(out: Path, workload: Throughput, advice: Advice) -> tuple[list[Verified], Path | None]:
    """Measure the advised strategy and the next one on this workload; return how far off they are, and the run."""
    chosen = [one for one in read.candidates(advice) if one.strategy in strategies.names()]
    if not chosen:
        return [], None
    experiment = _experiment(workload, [one.strategy for one in chosen], VERIFY_BLOCKS)
    _say_time("Measuring this workload", experiment)
    folder = _run(out, experiment)
    return read.verify(chosen, c.cells(rows.read(folder))), folder


def _experiment(grid: Throughput, names: Sequence[str], blocks: int) -> Experiment:
    about = "Measured by `inflight advise`."
    return Experiment(name="advise", about=about, strategies=tuple(names), rounds=blocks, throughput=(grid,))


def _say_time(what: str, experiment: Experiment) -> None:
    say(f"{what}; this takes about {seconds(estimate_ns(runs.all_trials(experiment)))}.")


def _run(out: Path, experiment: Experiment) -> Path:
    """Run an experiment and return its folder. Raises KeyboardInterrupt if it was interrupted."""
    trials = runs.plan(experiment)
    folder = runs.new_folder(out, experiment)
    if commands.execute(folder, experiment, trials):
        raise KeyboardInterrupt
    return folder
