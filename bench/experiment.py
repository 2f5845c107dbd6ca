"""What is to be measured: an experiment, from a preset or a TOML file. ``load`` is the only judge of user input.

An experiment is a list of grids. Each crosses its lists (latency, in_flight, connection) into workloads; one strategy
on one workload, once, is a trial (``bench.plan``). The presets in ``experiments/`` are examples of the format.
"""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from fake_server.delays import parse_delay
from fake_server.site import SiteConfig

PRESETS = Path(__file__).parent / "experiments"
CONNECTIONS = ("keep-alive", "per-fetch")
MOST_IN_FLIGHT = 1_000_000
MOST_ROUNDS = 1000
MOST_SEED = 2**63 - 1
MOST_SECONDS = 1_000_000

Kind = Literal["crawl", "memory"]
T = TypeVar("T")


class ExperimentError(Exception):
    """An experiment that cannot be run as it is written; the message says what, where, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One cell: which site, how many in flight, which use of connections."""

    id: str
    kind: Kind
    site: SiteConfig
    in_flight: int
    connection: Literal["keep-alive", "per-fetch"]

    @property
    def roots(self) -> int:
        """How many pages, from the first on, a crawl begins with: enough to be full from the start."""
        return min(self.in_flight, self.site.pages) if self.site.links else self.site.pages

    @property
    def mean_latency_ns(self) -> float:
        """The mean of the added latency."""
        return parse_delay(self.site.delay).mean_ns

    def to_dict(self) -> dict[str, Any]:
        """Return what a row says of it."""
        return {
            "id": self.id,
            "latency": self.site.delay,
            "mean_latency_ns": round(self.mean_latency_ns),
            "in_flight": self.in_flight,
            "connection": self.connection,
            "site": self.site.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the experiment: lists to be crossed, and the site that its workloads share."""

    kind: Kind
    latency: tuple[str, ...] = ("0",)
    in_flight: tuple[int, ...] = (100,)
    connection: tuple[Literal["keep-alive", "per-fetch"], ...] = ("keep-alive",)
    seconds: float | None = None
    """Where latency bounds the throughput: take only as many pages as an ideal client fetches in this time."""
    site: SiteConfig = field(default_factory=SiteConfig)
    rounds: int | None = None
    """Take part in the first so many rounds only; None: in all."""

    def workloads(self, prefix: str) -> list[Workload]:
        """Return the cells, in the order in which the lists are written."""
        return [
            self._workload(prefix, latency, in_flight, connection)
            for latency in self.latency
            for in_flight in self.in_flight
            for connection in self.connection
        ]

    def _workload(
        self, prefix: str, latency: str, in_flight: int, connection: Literal["keep-alive", "per-fetch"]
    ) -> Workload:
        pages = self.site.pages
        mean_ns = parse_delay(latency).mean_ns
        if self.kind == "memory":
            pages = in_flight  # one page for each fetch that the gate holds, and no more
        elif self.seconds is not None and mean_ns:
            pages = min(pages, max(in_flight, round(in_flight * self.seconds * 1e9 / mean_ns)))
        values = self.site.to_dict() | {"delay": latency, "pages": pages}
        cell = f"{prefix}/latency={latency}/in_flight={in_flight}/{connection}"
        return Workload(cell, self.kind, SiteConfig.from_dict(values), in_flight, connection)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that one run does, and in which order it may do it."""

    name: str
    about: str
    grids: tuple[Grid, ...]
    strategies: tuple[str, ...]
    rounds: int = 1
    seed: int = 1
    pin: bool = True
    deadline_s: float | None = None
    """After this time a trial is killed; None: by what the plan expects of it."""

    def workloads(self, number: int = 1) -> list[Workload]:
        """Return the cells of all grids that take part in round ``number``."""
        many = len(self.grids) > 1
        return [
            workload
            for place, grid in enumerate(self.grids, start=1)
            if grid.rounds is None or number <= grid.rounds
            for workload in grid.workloads(f"{grid.kind}-{place}" if many else grid.kind)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as TOML values, which ``parse`` reads back as an equal one."""
        values: dict[str, Any] = {
            "about": self.about,
            "strategies": list(self.strategies),
            "rounds": self.rounds,
            "seed": self.seed,
            "pin": self.pin,
        } | ({} if self.deadline_s is None else {"deadline_s": self.deadline_s})
        for grid in self.grids:
            table: dict[str, Any] = {
                "latency": list(grid.latency),
                "in_flight": list(grid.in_flight),
                "connection": list(grid.connection),
                "site": {k: v for k, v in grid.site.to_dict().items() if k != "delay"},
            }
            if grid.seconds is not None:
                table["seconds"] = grid.seconds
            if grid.rounds is not None:
                table["rounds"] = grid.rounds
            values.setdefault(grid.kind, []).append(table)
        return values


def preset_names() -> list[str]:
    """Return the names of the presets, the ones that come with the harness."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def load(name_or_path: str, known_strategies: Iterable[str]) -> Experiment:
    """Read a preset or a file. Raises ExperimentError with one sentence for whatever is wrong with it."""
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path.name} is not TOML: {error}") from error
    return parse(values, path.stem, known, path.name)


def parse(values: Mapping[str, Any], name: str, known_strategies: Iterable[str], where: str) -> Experiment:
    """Turn TOML values into an experiment; ``where`` names the file in messages. Raises ExperimentError."""
    known = list(known_strategies)
    keys = ("about", "strategies", "rounds", "seed", "pin", "deadline_s", "site", "crawl", "memory")
    _check_keys(values, keys, where)
    chosen = values.get("strategies", known)
    _check_list(chosen, str, f"{where}: strategies")
    for strategy in chosen:
        check_known(strategy, known, "strategy", where)
    about = values.get("about", "")
    _need(isinstance(about, str), f"{where}: about must be text, not {about!r}")
    pin = values.get("pin", True)
    _need(isinstance(pin, bool), f"{where}: pin must be true or false, not {pin!r}")
    grids = [
        _grid(kind, table, values.get("site", {}), f"{where}, [[{kind}]] number {number}")
        for kind in ("crawl", "memory")
        for number, table in enumerate(_tables(values.get(kind, []), kind, where), start=1)
    ]
    _need(bool(grids), f"{where}: nothing to do; add a [[crawl]] or a [[memory]] table")
    return Experiment(
        name,
        about.strip(),
        tuple(grids),
        tuple(dict.fromkeys(chosen)),
        _whole(values.get("rounds", 1), 1, MOST_ROUNDS, f"{where}: rounds"),
        _whole(values.get("seed", 1), 0, MOST_SEED, f"{where}: seed"),
        pin,
        _seconds(values.get("deadline_s"), f"{where}: deadline_s"),
    )


def check_known(name: str, known: Iterable[str], what: str, where: str) -> None:
    """Raise ExperimentError with the nearest known name when ``name`` is none."""
    names = list(known)
    _need(name in names, f"{where}: unknown {what} {name!r}{nearest(name, names)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return words that lead from a wrong name to a right one."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(names)}"


def _grid(kind: str, table: Any, common_site: Any, where: str) -> Grid:
    keys = ("latency", "in_flight", "connection", "seconds", "pages", "rounds", "site")
    _need(isinstance(table, dict), f"{where} must be a table")
    _check_keys(table, keys, where)
    own_site = table.get("site", {})
    _need(isinstance(common_site, dict) and isinstance(own_site, dict), f"{where}: site must be a table")
    latency = table.get("latency", ["0"])
    _check_list(latency, str, f"{where}: latency")
    in_flight = table.get("in_flight", [100])
    _check_list(in_flight, int, f"{where}: in_flight")
    connection = table.get("connection", ["keep-alive"])
    _check_list(connection, str, f"{where}: connection")
    for use in connection:
        check_known(use, CONNECTIONS, "connection use", where)
    for number in in_flight:
        _whole(number, 1, MOST_IN_FLIGHT, f"{where}: in_flight")
    site_values = common_site | own_site | ({"pages": table["pages"]} if "pages" in table else {})
    _need("delay" not in site_values, f'{where}: the site\'s delay is given as "latency" here')
    site = _judged(lambda: SiteConfig.from_dict(site_values), where)
    return Grid(
        cast("Kind", kind),
        _distinct(
            (_judged(partial(_canonical, text), where) for text in latency),
            f"{where}: latency",
        ),
        _distinct(in_flight, f"{where}: in_flight"),
        _distinct(connection, f"{where}: connection"),
        _seconds(table.get("seconds"), f"{where}: seconds"),
        site,
        None if "rounds" not in table else _whole(table["rounds"], 1, MOST_ROUNDS, f"{where}: rounds"),
    )


def _canonical(delay: str) -> str:
    return parse_delay(delay).text


def _tables(value: Any, kind: str, where: str) -> list[Any]:
    _need(isinstance(value, list), f"{where}: {kind} must be written with two brackets, as [[{kind}]]")
    return cast("list[Any]", value)


def _judged(read: Callable[[], T], where: str) -> T:
    try:
        return read()
    except ValueError as error:
        raise ExperimentError(f"{where}: {error}") from error


def _check_keys(values: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in values:
        _need(key in known, f'{where}: unknown key "{key}"{nearest(key, known)}')


def _check_list(value: Any, kind: type, where: str) -> None:
    fine = isinstance(value, list) and value and all(type(item) is kind for item in value)
    word = {str: "texts", int: "whole numbers"}[kind]
    _need(bool(fine), f"{where} must be a list of {word}, not {value!r}")


def _distinct(values: Iterable[T], where: str) -> tuple[T, ...]:
    found = tuple(values)
    _need(len(set(found)) == len(found), f"{where} names the same value twice")
    return found


def _whole(value: Any, least: int, most: int, where: str) -> int:
    fine = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    _need(fine, f"{where} must be a whole number from {least} to {most}, not {value!r}")
    return cast("int", value)


def _seconds(value: Any, where: str) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = value is None or (number and 0 < value <= MOST_SECONDS)
    _need(fine, f"{where} must be a number above 0 and at most {MOST_SECONDS}, not {value!r}")
    return cast("float | None", value)


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ExperimentError(message)
