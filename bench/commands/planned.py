"""What a run would do: for each kind of trial, a line for each setting, with its rounds, sizes and strategies."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.commands.output import seconds
from inflight.bench.plan.trials import AnyTrial, RowTrial, estimate_ns, row_trials
from inflight.bench.show.table import Section, Table
from inflight.bench.show.terminal import text
from inflight.bench.show.words import counted, join, workload

_STUDIES = {
    "arm": ("throughput, in blocks where all strategies take turns", "in_flight"),
    "crawl": ("whole crawls, one strategy after the other", "in_flight"),
    "memory": ("memory of fetches that the server holds", "in_flight"),
    "counts": ("calls and system calls per page", "in_flight"),
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
    places = {name: place for place, name in enumerate(strategies)}
    rounds = Counter((_setting(part, size), _name(part), part.values.get(size)) for part in parts)
    sizes: dict[tuple[str, str, int], list[Any]] = {}
    for (setting, name, value), number in rounds.items():
        sizes.setdefault((setting, name, number), []).append(value)
    names: dict[tuple[str, int, tuple[Any, ...]], list[str]] = {}
    for (setting, name, number), several in sizes.items():
        names.setdefault((setting, number, tuple(sorted(several))), []).append(name)
    for (setting, number, values), alike in names.items():
        written = ", ".join("-" if value is None else units.number_tick(value) for value in values)
        alike.sort(key=lambda name: (places.get(name.split(maxsplit=1)[0], len(places)), name))
        yield setting or "-", str(number), written, ", ".join(alike)


def _cost_of_waiting(trial: AnyTrial) -> tuple[float, float, str]:
    """Return the order of settings: by added latency, then by CPU work."""
    values = trial.values
    return values.get("mean_latency_ns") or 0, values.get("cpu_ns", 0), trial.id


def _setting(part: RowTrial, size: str) -> str:
    """Return the values of a workload that are not its size; of several tables also which, such as ``crawl-2``."""
    values = {"variables": part.values.get("arm", {}).get("variables")} | part.values
    named = {key: value for key, value in values.items() if key not in {size, "arguments"}}
    table = values["id"].split("/")[0]
    return join(", ", workload(part.kind, named), table if "-" in table else "")


def _name(part: RowTrial) -> str:
    """Return the name of a line: the strategy, or the arguments of a probe."""
    arguments = part.values.get("arguments", {})
    return " ".join([part.strategy, *(f"{key}={value}" for key, value in arguments.items())])
