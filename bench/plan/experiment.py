"""An experiment, loaded from a preset or a TOML file. What a file may say is validated here, once.

Commands, the API and claims call ``load`` (a file) or ``parse`` (values), and give the ``Experiment`` to
``trials.expand``. The structs are the format: each key of a file is a field, whose type says what is allowed. An
experiment has tables of crawls (``grid``), of idle threads and tasks, probes and limits (``bare``), and of swarms and
open loops (``scale``). One cell of a table, run once, is a trial. ``bench/plan/presets/`` has examples.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import replace

from inflight import strategies
from inflight.bench.plan.bare import BareTable, IdleTable, LimitTable, ProbeTable
from inflight.bench.plan.grid import AgainstTable, CountsTable, CrawlTable, Grid, MemoryTable, ThroughputTable
from inflight.bench.plan.judge import (
    ExperimentError,
    Rounds,
    Seconds,
    check_distinct,
    check_keys,
    check_known,
    convert,
    nearest,
    need,
)
from inflight.bench.plan.scale import NOT_IN_A_SWARM, OpenTable, SwarmTable, host_of, is_loopback
from inflight.bench.rows.kinds import CrawlWorkload

PRESETS = Path(__file__).with_name("presets")
"""Folder of the presets."""
MAX_SEED = 2**63 - 1
"""Maximum seed of the order of trials."""
AnswerColumn = Literal[
    "cpu", "throughput", "memory", "at_once", "held", "retention",
    "lag", "times", "cores", "interpreters", "swarm", "ps", "tls", "memory_over_tls",
]  # fmt: skip
"""What a column of the answer of a run shows."""
TableName = Literal["throughput", "cpu", "times", "memory", "ps", "held", "tls"]
"""A study whose figures alone can be the last screen of a run."""
HEAD = ("about", "strategies", "rounds", "seed", "pin", "deadline_s", "site", "python", "answer", "tables")
"""The keys of a file beside its tables."""
TABLES: tuple[type[Grid | BareTable], ...] = (
    *(CrawlTable, MemoryTable, ThroughputTable, CountsTable),
    *(IdleTable, ProbeTable, LimitTable, SwarmTable, OpenTable),
)
"""The kinds of tables, in the order in which an error lists them."""

__all__ = ["Experiment", "ExperimentError", "load", "named", "parse", "preset_names"]


class Experiment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All that one run measures, and the settings of the run."""

    about: str = ""
    """What it measures, in a sentence."""
    strategies: tuple[str, ...]
    rounds: Rounds = 1
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] = 1
    pin: bool = True
    """Whether server and client have cores of their own."""
    deadline_s: Seconds | None = None  #: Deadline of a trial; None: derived from the estimate of the plan.
    pythons: dict[str, Annotated[str, Meta(min_length=1)]] = field(name="python", default_factory=dict)
    """Interpreters that are compared, by their labels: each strategy runs on each. Empty: that of the harness alone."""
    answer: Annotated[tuple[AnswerColumn, ...], Meta(max_length=4)] = ()  #: Columns of the answer, in their order.
    tables: tuple[TableName, ...] = ()  #: Studies whose figures are the last screen, in place of the answer.
    crawl: tuple[CrawlTable, ...] = ()
    memory: tuple[MemoryTable, ...] = ()
    throughput: tuple[ThroughputTable, ...] = ()
    counts: tuple[CountsTable, ...] = ()
    idle: tuple[IdleTable, ...] = ()
    probe: tuple[ProbeTable, ...] = ()
    limit: tuple[LimitTable, ...] = ()
    swarm: tuple[SwarmTable, ...] = ()
    open: tuple[OpenTable, ...] = ()
    name: str  #: The name of its file, without the ending.

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The tables of crawls."""
        return (*self.crawl, *self.memory, *self.throughput, *self.counts)

    @property
    def bare(self) -> tuple[BareTable, ...]:
        """The other tables."""
        return (*self.idle, *self.probe, *self.limit, *self.swarm, *self.open)

    def rounds_of(self, table: Grid | BareTable) -> int:
        """Return the number of rounds of a table: its own, or else that of the experiment."""
        return table.rounds or self.rounds

    def cut_to(self, rounds: int) -> "Experiment":
        """Return the experiment with another number of rounds, which no table exceeds; for ``--rounds``."""
        tables = {
            kind.kind: tuple(
                replace(table, rounds=min(table.rounds or rounds, rounds)) for table in getattr(self, kind.kind)
            )
            for kind in TABLES
        }
        return replace(self, rounds=rounds, **tables)

    def over_tls(self) -> "Experiment":
        """Return the experiment with all crawls of https; for ``--tls``. Raises ExperimentError if it has none."""
        kinds = (CrawlTable, MemoryTable, ThroughputTable, CountsTable)
        need(
            bool(self.grids),
            f"--tls is for [[crawl]], [[memory]], [[throughput]] and [[counts]], and {self.name} has none of these",
        )
        tables = {kind.kind: tuple(replace(table, tls=True) for table in getattr(self, kind.kind)) for kind in kinds}
        return replace(self, name=f"{self.name}-tls", **tables)

    def cells(self) -> list[tuple[Grid, CrawlWorkload]]:
        """Return the workloads of all grids, each with its grid.

        Workload ids begin with the kind of the table and, if there are several grids, the number of the table:
        ``crawl-2``.
        """
        cells = []
        for number, grid in enumerate(self.grids, start=1):
            prefix = f"{grid.kind}-{number}" if len(self.grids) > 1 else grid.kind
            cells += [(grid, workload) for workload in grid.workloads(prefix)]
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as TOML values, from which ``parse`` makes an equal one."""
        return {key: value for key, value in to_builtins(self).items() if key != "name"}

    def relative_to(self, folder: Path) -> "Experiment":
        """Return the experiment with paths that start at a folder: ``parse`` finds the same files from there."""
        names = tuple(strategies.reference(name, folder) for name in self.strategies)
        return replace(self.with_paths(lambda path: os.path.relpath(path, folder)), strategies=names)

    def with_paths(self, change: Callable[[str], str]) -> "Experiment":
        """Return the experiment with the path of each interpreter changed; one without a slash is a name."""

        def changed(table: Any) -> Any:
            """Return a table, or its ``against``, with the path of its interpreter changed."""
            values = {}
            if "/" in (getattr(table, "python", None) or ""):
                values["python"] = change(table.python)
            if (against := getattr(table, "against", None)) is not None:
                values["against"] = changed(against)
            return replace(table, **values)

        tables = {kind.kind: tuple(map(changed, getattr(self, kind.kind))) for kind in TABLES}
        pythons = {label: change(python) if "/" in python else python for label, python in self.pythons.items()}
        return replace(self, pythons=pythons, **tables)


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
                f"no preset {name_or_path!r}{nearest(name_or_path, preset_names())}; or give the path of a TOML file"
            )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
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
        check_known(name, strategies.names() if known is None else known, "strategy", where)
    return name


def available(text: str) -> str:
    """Return the name of a strategy that can run here, given by its name or a reference; for commands that run one.

    Raises ExperimentError if it is unknown, or needs a package that is not installed.
    """
    try:
        name = strategies.add(text)
        described = strategies.describe(name)
    except KeyError:
        raise ExperimentError(f"unknown strategy {text!r}{nearest(text, strategies.names())}") from None
    except strategies.StrategyError as error:
        raise ExperimentError(str(error)) from error
    if described.lack:
        absent = described.uninstalled
        raise ExperimentError(
            f"strategy {name} {described.lack}" + (f": pip install {' '.join(absent)}" if absent else "")
        )
    return name


def parse(
    values: Mapping[str, Any], name: str, known_strategies: Iterable[str], where: str, base: Path | None = None
) -> Experiment:
    """Turn TOML values into an experiment. Raises ExperimentError.

    ``where`` names the file in messages; ``base`` is its folder, where relative paths start.
    """
    check_keys(values, (*HEAD, *(table.kind for table in TABLES)), where)
    known = list(known_strategies)
    head = {key: value for key, value in values.items() if key in HEAD and key != "site"}
    models = [model for model in strategies.models() if model in known]
    settings = convert({"name": name, "strategies": models} | head, Experiment, where)
    names = tuple(named(strategy, where, known, base) for strategy in settings.strategies)
    check_distinct(names, f"{where}: strategies")
    check_distinct(settings.answer, f"{where}: answer")
    check_distinct(settings.tables, f"{where}: tables")
    tables: dict[str, Any] = {table.kind: tuple(_tables(table, values, [*known, *names], where)) for table in TABLES}
    need(any(tables.values()), f"{where}: nothing to do; add a [[crawl]] or a [[memory]] table")
    experiment = replace(settings, about=settings.about.strip(), strategies=names, **tables)
    folder = base or Path()
    experiment = experiment.with_paths(lambda path: os.path.abspath(folder / Path(path).expanduser()))  # noqa: PTH100
    has_crawlers = bool(names) or not (experiment.grids or experiment.swarm)
    need(has_crawlers, f"{where}: strategies must name at least one, not []")
    ids = [trial.id for table in experiment.bare for trial in table.trials(names)]
    need(len(set(ids)) == len(ids), f"{where}: its tables together have the same trial twice")
    return experiment


def _tables(
    kind: type[Grid | BareTable], values: Mapping[str, Any], known: Sequence[str], where: str
) -> Iterator[Grid | BareTable]:
    """Yield the tables of a kind; the site of each contains that of the experiment. Raises ExperimentError."""
    given = values.get(kind.kind, [])
    need(isinstance(given, list | tuple), f"{where}: {kind.kind} must be written with two brackets, [[{kind.kind}]]")
    for number, entry in enumerate(given, start=1):
        place = f"{where}, [[{kind.kind}]] number {number}"
        need(isinstance(entry, Mapping), f"{place} must be a table, not {entry!r}")
        table = dict(entry)
        if "site" in kind.__struct_fields__ and "target" not in table:
            common, site = values.get("site", {}), table.get("site", {})
            need(isinstance(common, dict) and isinstance(site, dict), f"{place}: site must be a table")
            ignored = NOT_IN_A_SWARM if kind is SwarmTable else ()
            table["site"] = {key: value for key, value in common.items() if key not in ignored} | site
        if "against" in table:
            table["against"] = convert(table["against"], AgainstTable, f"{place}: against")
        made = convert(table, kind, place)
        if chosen := getattr(made, "strategies", None):
            names = tuple(map(strategies.canonical, chosen))
            for name in names:
                check_known(name, known, "strategy", place)
            made = replace(made, strategies=names)
        if isinstance(made, OpenTable) and made.target is not None:
            need(
                is_loopback(host_of(made.target, place)),
                f"{place}: target {made.target!r} is not on this machine's loopback; "
                "only `inflight open-loop --not-loopback` asks others, with the permission of whoever owns that host",
            )
        yield made
