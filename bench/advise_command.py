"""What ``inflight advise`` does: find the map to go by, fit it, advise, and measure that very workload if asked to."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import strategies
from bench import commands, maps, rows, runs
from bench.analyse import advice as analyse
from bench.analyse import cells as c
from bench.analyse.advice import Advice, Expected, Facts
from bench.analyse.cells import Cell
from bench.analyse.decision_map import decide
from bench.analyse.observed import Wanted
from bench.analyse.verified import Verified, candidates, lost_by, verify, worst_off
from bench.experiment import Experiment
from bench.grid import MOST_CPU_NS, Grid
from bench.maps import MapError, MapRun
from bench.measure import host
from bench.present import advice as show
from bench.present.advice import Basis
from fake_server.delays import Delay, duration_text, parse_delay, parse_duration_ns
from fake_server.site import SiteConfig

T = TypeVar("T")

UNKNOWN = 3
ROUNDS = 3
VERIFY_S = 1.0
"""A crawl that verifies takes about so long, and longer for ``LEAST_TURNS``, but not above ``MOST_S``."""
LEAST_TURNS, MOST_S = 5, 4.0
ABOUT = "The very workload that `inflight advise --verify` was asked about."


class AdviseError(Exception):
    """Something that cannot be advised on; the message says why, and what to do."""


REFUSALS = (AdviseError, MapError, *commands.REFUSALS)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    latency: str
    cpu: str
    in_flight: int
    run: Path | None
    verify: bool
    as_json: bool
    out: Path


@dataclass(frozen=True, slots=True)
class Point:
    """The workload that is asked about, as it was written and as numbers."""

    latency: Delay
    cpu_ns: int
    in_flight: int

    @property
    def wanted(self) -> Wanted:
        """The workload as numbers."""
        return Wanted(self.latency.mean_ns, self.cpu_ns, self.in_flight)


def run(asked: Asked) -> int:
    """Advise, print, and return 0; 3 where nothing is known, or what was measured says otherwise."""
    point = _point(asked)
    machine = host.machine()
    source = maps.named(asked.run) if asked.run is not None else maps.newest(asked.out, machine, point.wanted)
    differs = maps.differs(source.machine, machine)
    memory_run, memory = maps.memory(source, (asked.out, source.folder.resolve().parent))
    facts = _facts(source, point, memory, here=not differs)
    advice = analyse.advise(analyse.surfaces(source.cells), point.wanted, facts)
    basis = Basis(str(source.folder), differs, memory_run)
    if not asked.as_json:
        print(show.text(advice, basis).rstrip("\n"))
    verified, folder = _verified(asked, point, source, advice) if asked.verify else (None, None)
    if asked.as_json:
        told = show.to_json(advice, basis, verified, None if folder is None else str(folder))
        print(json.dumps(told, allow_nan=False))
    elif verified is not None:
        print("\n" + show.verified_text(verified, str(folder)).rstrip("\n"))
    return _exit(advice, verified)


def _exit(advice: Advice, verified: Sequence[Verified] | None) -> int:
    """Return the exit code: what was measured outweighs what was expected."""
    if verified is None:
        return 0 if advice.advised is not None else UNKNOWN
    off = worst_off(verified)
    holds = off is not None and off <= analyse.MOST_OFF and lost_by(verified) <= analyse.MOST_OFF
    return 0 if holds else UNKNOWN


def _point(asked: Asked) -> Point:
    latency = _read(parse_delay, asked.latency, "--latency")
    cpu_ns = _read(parse_duration_ns, asked.cpu, "--cpu")
    if cpu_ns > MOST_CPU_NS:
        raise AdviseError(f"--cpu must be at most {duration_text(MOST_CPU_NS)}, not {asked.cpu!r}")
    return Point(latency, cpu_ns, asked.in_flight)


def _read(parse: Callable[[str], T], text: str, option: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise AdviseError(f"{option}: {error}") from error


def _facts(source: MapRun, point: Point, memory: Sequence[Cell], *, here: bool) -> Facts:
    """Return what is known of the strategies besides; what a limit forbids only where it is this machine's."""
    names = c.strategies_of(source.cells)
    known = [name for name in names if name in strategies.names()]
    described = {name: strategies.describe(name) for name in known}
    forbidden: dict[str, str] = {}
    if here and known:
        trials = runs.all_trials(_experiment(source, point, tuple(known), 1, 1))
        short = runs.shortages(trials)
        forbidden = {trial.strategy: short[trial.id] for trial in trials if trial.id in short}
    return Facts(
        {name: one.most_in_flight for name, one in described.items() if one.most_in_flight is not None},
        forbidden,
        {name: c.memory_of(memory, name) for name in names} if memory else {},
        _behind(source, point.wanted),
        {name: _length(name) for name in known},
    )


def _behind(source: MapRun, wanted: Wanted) -> frozenset[str]:
    """Return the strategies that the map's own rule puts behind others at this very workload."""
    for tile in decide(source.cells).tiles:
        at = Wanted(tile.point.latency_ns, tile.point.cpu_ns, tile.point.in_flight)
        if at == wanted and tile.best:
            return frozenset(one.strategy for one in tile.ranking if one.strategy not in tile.best)
    return frozenset()


def _length(name: str) -> int:
    """Return how many lines a strategy's program has, the empty ones left out."""
    text = (Path(strategies.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in text.splitlines())


def _experiment(source: MapRun, point: Point, names: tuple[str, ...], pages: int, rounds: int) -> Experiment:
    """Return the experiment of that very workload, on the map's site and with its use of connections."""
    setting = source.cells[0].setting
    try:
        site = SiteConfig.from_dict(setting.site_values() | {"pages": pages})
    except ValueError as error:
        raise AdviseError(f"{source.folder} is of a site that this version does not serve: {error}") from error
    grid = Grid(
        "crawl",
        (point.latency.text,),
        (point.in_flight,),
        ("per-fetch" if setting.connection == "per-fetch" else "keep-alive",),
        None,
        site,
        cpu=(duration_text(point.cpu_ns),),
    )
    return Experiment("advise", ABOUT, (grid,), names, rounds)


def _verified(asked: Asked, point: Point, source: MapRun, advice: Advice) -> tuple[list[Verified], Path | None]:
    """Measure the advised strategy and the next one in interleaved rounds; return how far off they are, and where."""
    chosen = [one for one in candidates(advice) if one.strategy in strategies.names()]
    if not chosen:
        return [], None
    experiment = _experiment(
        source, point, tuple(one.strategy for one in chosen), _pages(chosen, point.in_flight), ROUNDS
    )
    trials = runs.plan(experiment)
    folder = runs.new_folder(asked.out, experiment)
    if commands.execute(folder, experiment, trials):
        raise KeyboardInterrupt
    return verify(chosen, c.cells(rows.read(folder))), folder


def _pages(chosen: Sequence[Expected], in_flight: int) -> int:
    """Return how many pages take about ``VERIFY_S``: whole turns, and some of them if that does not take too long."""
    turns_per_s = max(one.per_s for one in chosen) / in_flight
    turns = max(turns_per_s * VERIFY_S, min(LEAST_TURNS, turns_per_s * MOST_S))
    return in_flight * max(1, round(turns))
