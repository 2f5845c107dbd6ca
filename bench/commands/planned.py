"""What a run would do, as grids: a line for each strategy, a column for each size, and numbers of rounds."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inflight.bench import units
from inflight.bench.commands.output import seconds
from inflight.bench.plan.trials import AnyTrial, RowTrial, estimate_ns, row_trials
from inflight.bench.show.table import Section, Table
from inflight.bench.show.terminal import text
from inflight.bench.show.words import counted

Cells = Mapping[tuple[str, float | None], int]
"""Number of rounds for each name and size."""


class _Study(NamedTuple):
    title: str
    size: str
    """Head of the columns."""
    key: str | None = None
    """What a workload calls its size; None: it has none."""


_STUDIES = {
    "arm": _Study("throughput, in blocks where all strategies take turns", "in flight", "in_flight"),
    "crawl": _Study("whole crawls, one strategy after the other", "in flight", "in_flight"),
    "memory": _Study("memory of fetches that the server holds", "in flight", "in_flight"),
    "idle": _Study("memory of idle threads and tasks", "number held", "n"),
    "swarm": _Study("swarms of many processes", "in flight", "in_flight"),
    "open": _Study("requests at constant rates", "requests/s", "rate_per_s"),
    "probe": _Study("probes", "program"),
    "limit": _Study("limits of this machine", "resource"),
}
LEGEND = "Numbers are rounds. A dash means: not run."


def lines(name: str, strategies: Sequence[str], trials: Sequence[AnyTrial], width: int) -> list[str]:
    """Return the plan of an experiment, at most ``width`` columns wide."""
    text = [f"{name}: {counted(len(trials), 'trial')}, about {seconds(estimate_ns(trials))}"]
    for kind, study in _STUDIES.items():
        chosen = [trial for trial in trials if trial.kind == kind]
        if chosen:
            what = "block" if kind == "arm" else "trial"
            text += ["", f"{study.title}: {counted(len(chosen), what)}, about {seconds(estimate_ns(chosen))}"]
            text += [f"  {line}".rstrip() for line in _grids(study, strategies, chosen, width - 2)]
    return [*text, "", LEGEND]


def _grids(study: _Study, strategies: Sequence[str], trials: Iterable[AnyTrial], width: int) -> Iterator[str]:
    """Yield the lines of the grids of one study; settings with equal grids share one."""
    counts: dict[str, Counter[tuple[str, float | None]]] = {}
    for trial in sorted(trials, key=_cost_of_waiting):
        for part in row_trials(trial):
            size = None if study.key is None else part.values[study.key]
            counts.setdefault(_setting(part.values), Counter())[_name(part), size] += 1
    shared: dict[frozenset[Any], list[str]] = {}
    for setting, cells in counts.items():
        shared.setdefault(frozenset(cells.items()), []).append(setting)
    for equal, settings in shared.items():
        yield from ["", *(setting or "connections kept open" for setting in settings)] if any(settings) else []
        for number, table in enumerate(_tables(study.size, strategies, dict(equal), width)):
            yield from ["", *_lines(table, width)] if number else _lines(table, width)


def _lines(table: Table, width: int) -> list[str]:
    return text(Section("", (table,)), width).plain.splitlines()


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


def _tables(head: str, strategies: Sequence[str], cells: Cells, width: int) -> Iterator[Table]:
    """Yield one table, or several if one would be too wide: first by names with equal sizes, then by sizes."""
    sizes = sorted({size for _, size in cells if size is not None})
    names = sorted({name for name, _ in cells}, key=lambda name: _order(name, strategies))
    table = _table(head, names, sizes or [None], cells)
    sizes_of = {name: tuple(size for size in sizes if (name, size) in cells) for name in names}
    if max(map(len, _lines(table, 1000))) <= width or len(sizes) < 2:
        yield table
    elif len(set(sizes_of.values())) > 1:
        for row in dict.fromkeys(sizes_of.values()):
            yield from _tables(head, strategies, {key: n for key, n in cells.items() if sizes_of[key[0]] == row}, width)
    else:
        middle = sizes[len(sizes) // 2]
        for part in (True, False):
            half = {key: n for key, n in cells.items() if key[1] is not None and (key[1] < middle) is part}
            yield from _tables(head, strategies, half, width)


def _order(name: str, strategies: Sequence[str]) -> tuple[int, str]:
    first = name.split(maxsplit=1)[0]
    return strategies.index(first) if first in strategies else len(strategies), name


def _table(head: str, names: Sequence[str], sizes: Sequence[float | None], cells: Cells) -> Table:
    heads = ["rounds" if size is None else units.number_tick(size) for size in sizes]
    body = [(name, *(str(cells.get((name, size), "-")) for size in sizes)) for name in names]
    return Table("", (head, *heads), tuple(body))
