"""What a run would do: for each kind of trial, a line for each setting, with its rounds, sizes and strategies.

``inflight run --dry-run`` prints ``lines``. A *setting* is a workload without its size; the *size* is the number in
flight, held, or per second (``rows.parts.Row.SIZE``). A *part* is the trial of one row: an arm of a block, or a trial
that is no block.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inflight.bench import units
from inflight.bench.commands.output import seconds
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows.records import RECORDS
from inflight.bench.show.table import Section, Table
from inflight.bench.show.terminal import text
from inflight.bench.show.words import body, counted, join, workload

HEADS = ("setting", "rounds", "sizes", "of")
"""Heads of the tables."""
LEGEND = "Sizes: fetches in flight, threads or tasks held, or requests per second."
"""What stands below them."""


def lines(name: str, strategies: Sequence[str], trials: Sequence[Trial], width: int) -> list[str]:
    """Return the plan of an experiment, at most ``width`` columns wide."""
    total = f"{name}: {counted(len(trials), 'trial')}, about {seconds(estimate_ns(trials))}"
    return [total, "", *text(Section("", tuple(tables(strategies, trials)), (LEGEND,)), width).plain.splitlines()]


def tables(strategies: Sequence[str], trials: Sequence[Trial]) -> Iterator[Table]:
    """Yield a table for each kind of trial."""
    for kind, record in RECORDS.items():
        chosen = sorted((trial for trial in trials if trial.kind == kind), key=_sort_key)
        if chosen:
            what = counted(len(chosen), record.NOUN)
            parts = [part for trial in chosen for part in row_trials(trial)]
            about = f"{record.TITLE}: {what}, about {seconds(estimate_ns(chosen))}"
            yield Table(about, HEADS, tuple(_lines(parts, record.SIZE, strategies)))


def _lines(parts: Sequence[Trial], size: str, strategies: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each setting; more, if its strategies differ in rounds or sizes. ``size`` is a field's name.

    Parts are grouped twice: first the sizes that a strategy has with one number of rounds, then the strategies for
    which setting, rounds and sizes are the same. Each of the latter groups is a line.
    """
    places = {name: place for place, name in enumerate(strategies)}
    rounds = Counter((_setting(part, size), _name(part), getattr(part.workload, size, None)) for part in parts)
    sizes: dict[tuple[str, str, int], list[Any]] = {}
    for (setting, name, value), count in rounds.items():
        sizes.setdefault((setting, name, count), []).append(value)
    names: dict[tuple[str, int, tuple[Any, ...]], list[str]] = {}
    for (setting, name, count), several in sizes.items():
        names.setdefault((setting, count, tuple(sorted(several))), []).append(name)
    for (setting, count, values), alike in names.items():
        written = ", ".join("-" if value is None else units.number_tick(value) for value in values)
        alike.sort(key=lambda name: (places.get(name.split(maxsplit=1)[0], len(places)), name))
        yield setting or "-", str(count), written, ", ".join(alike)


def _sort_key(trial: Trial) -> tuple[float, float, str]:
    """Return the key that sorts settings: by added latency, then by CPU work (both in nanoseconds), then by id."""
    workload = trial.workload
    return getattr(workload, "mean_latency_ns", None) or 0, getattr(workload, "cpu_ns", 0), trial.id


def _setting(part: Trial, size: str) -> str:
    """Return the values of a workload that are not its size, and the name of its table if the experiment has several.

    An id begins with the kind of its table in the experiment: ``crawl``. If there are several tables of crawls, their
    number follows: ``crawl-2`` is the second one.
    """
    values = msgspec.to_builtins(part.workload)
    # A block has variables in its arm; a workload of idle threads or tasks has them itself, and then they win.
    values = {"variables": values.get("arm", {}).get("variables")} | values
    named = {key: value for key, value in values.items() if key not in {size, "arguments"}}
    table = values["id"].split("/")[0]
    return join(", ", workload(part.kind, named), body(part.kind, named), table if "-" in table else "")


def _name(part: Trial) -> str:
    """Return the name of a line: the strategy, or the arguments of a probe."""
    arguments = getattr(part.workload, "arguments", {})
    return " ".join([part.name, *(f"{key}={value}" for key, value in arguments.items())])
