"""What a run would do: for each kind of trial, a line for each setting, with its rounds, sizes and strategies."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.commands.output import seconds
from inflight.bench.plan.trials import AnyTrial, RowTrial, estimate_ns, row_trials
from inflight.bench.show.table import Section, Table
from inflight.bench.show.terminal import text
from inflight.bench.show.words import counted

_STUDIES = {
    "arm": ("throughput, in blocks where all strategies take turns", "in_flight"),
    "crawl": ("whole crawls, one strategy after the other", "in_flight"),
    "memory": ("memory of fetches that the server holds", "in_flight"),
    "idle": ("memory of idle threads and tasks", "n"),
    "swarm": ("swarms of many processes", "in_flight"),
    "open": ("requests at constant rates", "rate_per_s"),
    "probe": ("programs", ""),
    "limit": ("limits of this machine", ""),
}
"""Of each kind of trial, what it measures, and what a workload calls its size."""
HEADS = ("setting", "rounds", "sizes", "of")
LEGEND = "Sizes: fetches in flight, threads or tasks held, or requests per second."


def lines(name: str, strategies: Sequence[str], trials: Sequence[AnyTrial], width: int) -> list[str]:
    """Return the plan of an experiment, at most ``width`` columns wide."""
    total = f"{name}: {counted(len(trials), 'trial')}, about {seconds(estimate_ns(trials))}"
    return [total, "", *text(Section("", tuple(tables(strategies, trials)), (LEGEND,)), width).plain.splitlines()]


def tables(strategies: Sequence[str], trials: Sequence[AnyTrial]) -> Iterator[Table]:
    """Yield a table for each kind of trial."""
    for kind, (title, size) in _STUDIES.items():
        chosen = sorted((trial for trial in trials if trial.kind == kind), key=_cost_of_waiting)
        if chosen:
            what = counted(len(chosen), "block" if kind == "arm" else "trial")
            parts = [part for trial in chosen for part in row_trials(trial)]
            about = f"{title}: {what}, about {seconds(estimate_ns(chosen))}"
            yield Table(about, HEADS, tuple(_lines(parts, size, strategies)))


def _lines(parts: Sequence[RowTrial], size: str, strategies: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each setting; more, if its strategies differ in rounds or sizes."""
    rounds = Counter((_setting(part.values), _name(part), part.values.get(size)) for part in parts)
    sizes: dict[tuple[str, str, int], list[Any]] = {}
    for (setting, name, value), number in rounds.items():
        sizes.setdefault((setting, name, number), []).append(value)
    names: dict[tuple[str, int, tuple[Any, ...]], list[str]] = {}
    for (setting, name, number), several in sizes.items():
        names.setdefault((setting, number, tuple(sorted(several))), []).append(name)
    for (setting, number, values), alike in names.items():
        written = ", ".join("-" if value is None else units.number_tick(value) for value in values)
        alike.sort(key=lambda name: _order(name, strategies))
        yield setting or "-", str(number), written, ", ".join(alike)


def _cost_of_waiting(trial: AnyTrial) -> tuple[float, float, str]:
    """Return the order of settings: by added latency, then by CPU work."""
    values = trial.values
    return values.get("mean_latency_ns") or 0, values.get("cpu_ns", 0), trial.id


def _setting(values: Mapping[str, Any]) -> str:
    """Return the settings of a workload that are not its size: ``added latency 50 ms, CPU work 1 ms per page``."""
    arm = values.get("arm", {})
    writers: dict[str, Callable[[Any], str]] = {
        "latency": lambda text: units.latency(text) if text == "0" else f"added latency {units.latency(text)}",
        "cpu": lambda text: f"CPU work {units.latency(text)} per page",
        "ramp_per_s": lambda rate: f"{rate:,} new fetches per second",
        "processes": lambda number: counted(number, "process"),
    }
    texts = [write(values[key]) for key, write in writers.items() if values.get(key) and _matters(key, values)]
    texts += ["one connection per fetch"] if values.get("connection") == "per-fetch" else []
    texts += [f"{key}={value}" for key, value in (values.get("variables") or arm.get("variables") or {}).items()]
    return ", ".join(texts)


def _matters(key: str, values: Mapping[str, Any]) -> bool:
    """Tell whether a setting is worth a word: trials that are held at the gate have no latency."""
    return key != "latency" or not values["id"].startswith(("memory", "swarm"))


def _name(part: RowTrial) -> str:
    """Return the name of a line: the strategy, or the arguments of a probe."""
    arguments = part.values.get("arguments", {})
    return " ".join([part.strategy, *(f"{key}={value}" for key, value in arguments.items())])


def _order(name: str, strategies: Sequence[str]) -> tuple[int, str]:
    first = name.split(maxsplit=1)[0]
    return strategies.index(first) if first in strategies else len(strategies), name
