"""Experiments, loaded from a preset or a TOML file. All user input is validated here.

An experiment has grids (``grid``), whose cells the strategies crawl, and tables of idle tasks, probes and limits
(``bare``), of swarms and of open loops (``scale``). One cell, run once, is a trial (``plan``). The presets in
``bench/plan/presets/`` are examples of the format.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inflight import strategies
from inflight.bench.plan import bare, judge, scale
from inflight.bench.plan import grid as grids
from inflight.bench.plan.bare import BareGrid
from inflight.bench.plan.grid import Grid, GridKind, Workload
from inflight.bench.plan.judge import ExperimentError

PRESETS = Path(__file__).with_name("presets")
KINDS: tuple[GridKind, ...] = ("crawl", "memory", "throughput")
MOST_SEED = 2**63 - 1

__all__ = ["Experiment", "ExperimentError", "Grid", "Workload", "load", "named", "parse", "preset_names"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """All that one run measures, and the settings of the run."""

    name: str
    about: str
    grids: tuple[Grid, ...]
    strategies: tuple[str, ...] = ()
    rounds: int = 1
    seed: int = 1
    pin: bool = True
    deadline_s: float | None = None
    """Deadline of a trial; None: derived from the estimate of the plan."""
    bare: tuple[BareGrid, ...] = ()
    pythons: Mapping[str, str] = field(default_factory=dict)
    """Interpreters that are compared, by their labels: each strategy runs on each. Empty: that of the harness alone."""

    def workloads(self) -> list[Workload]:
        """Return the workloads of all grids."""
        return [workload for _, workload in self.cells()]

    def cells(self) -> list[tuple[Grid, Workload]]:
        """Return the workloads of all grids, each with its grid."""
        many = len(self.grids) > 1
        return [
            (grid, workload)
            for place, grid in enumerate(self.grids, start=1)
            for workload in grid.workloads(f"{grid.kind}-{place}" if many else grid.kind)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as TOML values, from which ``parse`` makes an equal one."""
        values: dict[str, Any] = {
            "about": self.about,
            "strategies": list(self.strategies),
            "rounds": self.rounds,
            "seed": self.seed,
            "pin": self.pin,
        }
        values |= {} if self.deadline_s is None else {"deadline_s": self.deadline_s}
        values |= {"python": dict(self.pythons)} if self.pythons else {}
        tables: list[Grid | BareGrid] = [*self.grids, *self.bare]
        for table in tables:
            values.setdefault(table.kind, []).append(table.to_dict())
        return values


def preset_names() -> list[str]:
    """Return the names of the presets of the harness."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def load(name_or_path: str, known_strategies: Iterable[str]) -> Experiment:
    """Load a preset or a file. Raises ExperimentError with a one-sentence message if it is invalid."""
    known = list(known_strategies)
    path = PRESETS / f"{name_or_path}.toml"
    if name_or_path not in preset_names():
        path = Path(name_or_path)
        if path.suffix != ".toml" and not path.exists():
            raise ExperimentError(
                f"no preset {name_or_path!r}{judge.nearest(name_or_path, preset_names())}; "
                "or give the path of a TOML file"
            )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path.name} is not TOML: {error}") from error
    return parse(values, path.stem, known, path.name, path.parent)


def named(text: str, where: str, known: Iterable[str] | None = None, base: Path | None = None) -> str:
    """Return the name of a strategy that is given by its name or by a reference to a file or a module.

    References are registered; relative paths start at ``base``, by default the current folder. Raises ExperimentError.
    """
    try:
        name = strategies.add(text, base)
    except strategies.StrategyError as error:
        raise ExperimentError(f"{where}: {error}") from error
    if name == text and not strategies.is_ours(name) and name not in strategies.names():
        judge.check_known(name, strategies.names() if known is None else known, "strategy", where)
    return name


def parse(
    values: Mapping[str, Any], name: str, known_strategies: Iterable[str], where: str, base: Path | None = None
) -> Experiment:
    """Turn TOML values into an experiment. Raises ExperimentError.

    ``where`` names the file in messages; ``base`` is its folder, where relative paths of strategies start.
    """
    known = list(known_strategies)
    keys = (
        "about",
        "strategies",
        "rounds",
        "seed",
        "pin",
        "deadline_s",
        "site",
        "python",
        *KINDS,
        *bare.KINDS,
        *scale.KINDS,
    )
    judge.check_keys(values, keys, where)
    chosen = values.get("strategies", [one for one in strategies.models() if one in known])
    if chosen != []:  # none is fine where none crawls
        judge.check_list(chosen, str, f"{where}: strategies")
    chosen = [named(strategy, where, known, base) for strategy in chosen]
    known += [strategy for strategy in chosen if strategy not in known]
    about = values.get("about", "")
    judge.need(isinstance(about, str), f"{where}: about must be text, not {about!r}")
    site = values.get("site", {})
    crossed = [
        grids.parse(kind, table, site, known, place) for kind in KINDS for table, place in _tables(values, kind, where)
    ]
    listed = [bare.parse(kind, table, place) for kind in bare.KINDS for table, place in _tables(values, kind, where)]
    listed += [
        scale.parse(kind, table, site, known, place)
        for kind in scale.KINDS
        for table, place in _tables(values, kind, where)
    ]
    judge.need(bool(crossed or listed), f"{where}: nothing to do; add a [[crawl]] or a [[memory]] table")
    judge.distinct((cell.id for table in listed for cell in table.cells), f"{where}: its tables together")
    crawls = crossed or any(table.kind == "swarm" for table in listed)
    judge.need(bool(chosen) or not crawls, f"{where}: strategies must be a list of texts, not []")
    return Experiment(
        name,
        about.strip(),
        tuple(crossed),
        tuple(dict.fromkeys(chosen)),
        judge.whole(values.get("rounds", 1), 1, judge.MOST_ROUNDS, f"{where}: rounds"),
        judge.whole(values.get("seed", 1), 0, MOST_SEED, f"{where}: seed"),
        judge.truth(values.get("pin", True), f"{where}: pin"),
        judge.seconds(values.get("deadline_s"), f"{where}: deadline_s"),
        tuple(listed),
        _pythons(values.get("python", {}), f"{where}: python", base),
    )


def _pythons(table: Any, where: str, base: Path | None) -> dict[str, str]:
    """Return the interpreters by their labels; relative paths start at ``base``. Raises ExperimentError."""
    fine = isinstance(table, dict) and all(isinstance(one, str) and one for one in table.values())
    judge.need(fine, f'{where} must be a table of interpreters by their labels, as in "3.13" = "python3.13"')
    return {label: os.path.abspath((base or Path()) / one) if "/" in one else one for label, one in table.items()}  # noqa: PTH100


def _tables(values: Mapping[str, Any], kind: str, where: str) -> Iterator[tuple[Any, str]]:
    """Yield the tables of a kind, each with its place for error messages."""
    for number, table in enumerate(judge.tables(values.get(kind, []), kind, where), start=1):
        yield table, f"{where}, [[{kind}]] number {number}"
