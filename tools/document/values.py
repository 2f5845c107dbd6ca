"""The values that the templates of ``parts.md`` take from stored runs. Each function asks for a run or for all runs."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, get_args

import pandas as pd

from inflight.bench import units
from inflight.bench.ab import decide as decisions_of
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.frame import blocks as comparisons
from inflight.bench.frame import noise, ratios, slopes
from inflight.bench.frame import statistics as stats
from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.slopes import FULL, Slope
from inflight.bench.plan.bare import IdleName
from inflight.bench.race.lanes import Race, races
from inflight.bench.rows.files import MACHINE_FILE, folders_in
from inflight.bench.rows.kinds import OVER_TLS
from inflight.bench.show import study as shows
from inflight.bench.show.sections import section
from inflight.bench.show.studies import study_of
from inflight.bench.show.table import Section
from tools import series
from tools.document.stored import DocumentError, Runs, StoredRun
from tools.selftest_long import DECISIONS_FILE, Kind, kinds, made

BUSY = "latency_ns == 0 and cpu_ns == 0 and in_flight == 100"
"""The workload in which nothing waits, so the CPU is the limit."""
CPU, RATE = "cpu_per_page_ns", "pages_per_s"


# Studies


def parts(run: StoredRun, name: str) -> list[shows.Part]:
    """Return the parts of a study."""
    return shows.parts(study_of(name), run.lines)


def study_section(run: StoredRun, name: str, only: str = "") -> Section:
    """Return the tables and the findings of a study, or of the lines that a query selects.

    Raises DocumentError if the run has nothing for it.
    """
    many = shows.parts(study_of(name), run.lines.query(only) if only else run.lines)
    if not many:
        raise DocumentError(f"{run.folder} has nothing for the study {name}")
    return section(many)


def listed(run: StoredRun, name: str, only: str) -> Section:
    """Return the tables and the findings of a listing, of the trials that a query selects."""
    return section(shows.parts(study_of(name), run.trials.query(only)))


def ratio(run: StoredRun, first: str, other: str, figure: str = CPU) -> Any:
    """Return the ratio of two strategies where nothing waits; None without one."""
    busy = _busy(run, figure)
    compared = records(contrast(busy[busy["arm"].isin([first, other])], "arm", other, ["figure"]))
    return compared[0] if compared else None


def mean(run: StoredRun, strategy: str, figure: str = CPU) -> Any:
    """Return the mean of a strategy there."""
    busy = _busy(run, figure)
    (average,) = records(summary(busy[busy["arm"] == strategy], ["arm"]))
    return average


def _busy(run: StoredRun, figure: str = CPU) -> pd.DataFrame:
    """Return the lines of a figure in the blocks where nothing waits."""
    return run.lines.query(f"kind == 'arm' and comparison == '' and figure == '{figure}' and {BUSY}")


class SeriesSpread(NamedTuple):
    """How a ratio differs between the runs of the series."""

    range: str
    quiet: float
    """The median of the runs on a steady machine."""
    most: float
    runs: int
    days: int
    processors: int

    @property
    def share(self) -> float:
        """The share of next runs that the range holds, if they are like these."""
        return (self.runs - 1) / (self.runs + 1)


def spread(runs: Runs, first: str, other: str) -> SeriesSpread:
    """Return how the ratio of CPU time where nothing waits differs between the runs of the series."""
    every = [runs.run(folder) for folder in folders_in(runs.folder.parent / "series")]
    estimates = {each.folder: ratio(each, first, other).estimate for each in every}
    steady = [estimates[each.folder] for each in every if (noise.variation(each.lines) or 1.0) < noise.UNSTEADY]
    least, most = min(estimates.values()), max(estimates.values())
    days, processors = {each.folder.name[:8] for each in every}, {each.machine["cpu"] for each in every}
    ends = f"{units.times(least, 3)} to {units.times(most, 3)}"
    return SeriesSpread(ends, median(steady), most, len(every), len(days), len(processors))


def coverage(runs: Runs) -> pd.DataFrame:
    """Return how often the interval for the next run holds in the series."""
    folders = [runs.folder.parent / "series" / folder.name for folder in series.runs_of_the_table()]
    return series.coverage([ratios.estimates(runs.run(folder).lines) for folder in folders])


class Tie(NamedTuple):
    """Models of which none is ahead."""

    lines: list[Any]
    """Their means, the fastest first."""
    most: float
    """The logarithm of the greatest lead that the intervals allow."""
    is_tie: bool
    """Whether all are surely within 2 %, with that many in flight and with any smaller number that was measured."""


def tie(run: StoredRun, latency: str, in_flight: int) -> Tie:
    """Compare the models of a map at one latency without CPU work. Raises DocumentError if it was not measured."""
    able = parts(run, "map")[0].ranked
    means = able.get(("0", latency, in_flight))
    if means is None:
        raise DocumentError(f"the map has no workload with {latency} and {in_flight} in flight")
    most = max(-math.log(mean.ratio_low) for mean in means[1:])
    answers = set()
    for (cpu, of_column, number), others in able.items():
        if (cpu, of_column) == ("0", latency) and number <= in_flight:
            answers |= {mean.answer for mean in others[1:]}
    return Tie(means, most, answers == {"same"})


def speed_up(run: StoredRun, strategy: str, cpu: str) -> Any:
    """Return the gain of a strategy by a second core, with CPU work per page, on the first interpreter of a run."""
    gains = records(parts(run, "cores")[0].ratios)
    return next(each for each in gains if each.line.startswith(f"{strategy} ") and each.cpu == cpu)


def retention(run: StoredRun) -> Iterator[tuple[Any, Any, Any]]:
    """Yield, for each strategy, its best number in flight, its greatest one, and the ratio of the two.

    A number in flight whose interval is wider than its figure does not count.
    """
    part = parts(run, "retention")[0]
    last = part.ratios[part.ratios["high"] - part.ratios["low"] < part.ratios["estimate"]]
    last = last.sort_values("in_flight").groupby("line").tail(1)
    for best in records(last.sort_values(["in_flight", "estimate"], ascending=False)):
        of_line = {mean.in_flight: mean for mean in records(part.means[part.means["line"] == best.line])}
        yield of_line[best.best], of_line[best.in_flight], best


def difference(run: StoredRun, first: str, other: str | None) -> stats.Interval:
    """Return the CPU time per page of a strategy without that of another, by the differences within blocks."""
    wide = _busy(run).query("valid").pivot_table("value", "unit", "arm")
    return stats.mean(list((wide[first] - (wide[other] if other else 0)).dropna())).interval()


# One comparison, step by step


class Example(NamedTuple):
    """A strategy and the control against the reference in the blocks where nothing waits."""

    cycles: list[tuple[int, float, float]]
    """Of the first block, by cycle: the CPU time per page of the reference and of the strategy in nanoseconds."""
    blocks: list[tuple[float, float]]
    """The logarithms of the ratios of the strategy and of the control, by block."""
    spread: ratios.Spread
    between: ratios.Between
    ratio: Any
    """The line of ``contrast``."""
    control: Any


def example(run: StoredRun, strategy: str) -> Example:
    """Return what one comparison is computed from. Raises DocumentError without a block."""
    busy = _busy(run).query("valid")
    roles = dict(zip(busy["role"], busy["arm"], strict=True))
    if not {"reference", "placebo"} <= roles.keys() or strategy not in set(busy["arm"]):
        raise DocumentError(f"{run.folder} has no valid block of {strategy} with a placebo")
    base, side, again = (
        ratios.readings(busy[busy["arm"] == arm]) for arm in (roles["reference"], strategy, roles["placebo"])
    )
    first = next(unit for unit in side if unit in base)
    cycles = [
        (cycle, math.exp(value), math.exp(side[first].cycles[cycle]))
        for cycle, value in sorted(base[first].cycles.items())
        if cycle in side[first].cycles
    ]
    blocks = list(zip(ratios.differences(side, base), ratios.differences(again, base), strict=True))
    lines = {line.arm: line for line in busy.drop_duplicates("arm").itertuples()}
    spread: ratios.Spread = busy["spread"].iloc[0]
    pair = ratios.pair(lines[strategy], lines[roles["reference"]], spread)
    compared = {each.arm: each for each in records(contrast(busy, "arm", "reference", ["figure", "reference"]))}
    return Example(cycles, blocks, spread, pair.between, compared[strategy], compared[roles["placebo"]])


# Memory


def slope(run: StoredRun, strategy: str, group: str = "held", layer: str = FULL, *, over_tls: bool = False) -> Slope:
    """Return the slope of a layer, or of all, in the setting with the most sizes. Raises DocumentError without one."""
    group = "idle" if strategy in get_args(IdleName) else group
    lines = slopes.slopes(slopes.layers(run.trials))
    lines = lines[lines["connection"].str.endswith(OVER_TLS) == over_tls]
    sloped = lines.query("group == @group and arm == @strategy and layer == @layer and reason == ''")
    if sloped.empty:
        raise DocumentError(f"{run.folder}: no slope of {layer} of {strategy}")
    best = sloped.sort_values("sizes").iloc[-1]
    return Slope(*(best[name] for name in ("estimate", "low", "high", "intercept", "is_straight", "points", "sizes")))


def cost_of_tls(run: StoredRun, strategy: str) -> Any:
    """Return the ratio of the CPU time per page over TLS to that without it, on kept connections."""
    lines = run.lines.query(f"kind == 'arm' and figure == '{CPU}' and strategy == '{strategy}' and role != 'placebo'")
    lines = lines[lines["connection"].str.startswith("keep-alive")]
    (ratio,) = records(contrast(lines, "connection", "keep-alive", ["figure"]))
    return ratio


def mean_of(run: StoredRun, strategy: str, kind: str, connection: str) -> Any:
    """Return the CPU time per page of a strategy with this use of connections, in blocks or whole crawls."""
    lines = run.lines.query(f"kind == '{kind}' and figure == '{CPU}' and strategy == '{strategy}'")
    (average,) = records(summary(lines[lines["connection"] == connection], ["strategy"]))
    return average


class Coroutines(NamedTuple):
    """Memory per coroutine, from a waiting generator to a fetch."""

    generator: Slope
    task: Slope
    socket: Slope
    """A task with a socket; the memory of the process alone."""
    fetch: Slope
    """A fetch in flight by the streams of asyncio; the memory of the process alone."""
    full: Slope
    """The same fetch, with the kernel."""


def coroutines(run: StoredRun) -> Coroutines:
    """Return the figures that may be called the 3 kB of a coroutine. Raises DocumentError without one of them."""
    user = slopes.LAYERS[0]
    return Coroutines(
        generator=slope(run, "generator"),
        task=slope(run, "asyncio_task"),
        socket=slope(run, "asyncio_task_socket", layer=user),
        fetch=slope(run, "native_asyncio", layer=user),
        full=slope(run, "native_asyncio"),
    )


class ThreadFigure(NamedTuple):
    """A figure that is said of a thread: what the thread does, what is counted, and what that adds to which row."""

    does: str
    counts: str
    base: int
    adds: str
    sizes: Mapping[str, float]
    """Bytes by layer."""
    slope: Slope | None = None

    @property
    def size(self) -> float:
        """The figure in bytes."""
        return self.slope.estimate if self.slope else sum(self.sizes.values())

    @property
    def text(self) -> str:
        """The figure as it is shown, with its interval."""
        return slope_text(self.slope) if self.slope else units.size(self.size)


WAITS, FLIES, FETCHED = ("thread", "held"), ("thread_pool", "held"), ("thread_pool", "parked")
STEPS = (
    ("waits for a lock", WAITS, slopes.LAYERS[:1], 0, "its stack, and Python's records of it"),
    ("has a fetch in flight", FLIES, slopes.LAYERS[:1], 1,
     "stack and heap that the code of a fetch uses, and the objects of the connection"),
    ("waits for a lock", WAITS, slopes.LAYERS, 1,
     "page tables, a second stack in the kernel, and the kernel's records of the thread"),
    ("has fetched and waits again", FETCHED, slopes.LAYERS, 3,
     "stack and heap that the earlier fetches used; the process keeps them"),
    ("has a fetch in flight", FLIES, slopes.LAYERS, 4, "the kernel's records of the connection, for both of its ends"),
)  # fmt: skip
"""What a thread does, where that is stored, what is counted, and what it adds to which row (counted from 1 on)."""


def ladder(runs: Runs) -> list[ThreadFigure]:
    """Return the figures of a thread, from the newest runs of ``memory`` and ``c100k``. Raises DocumentError."""
    run, bars = runs.newest("memory"), []
    for number, (does, of, counted, base, adds) in enumerate(STEPS, start=1):
        sizes = {layer: slope(run, *of, layer).estimate for layer in counted}
        what = "with the kernel" if len(counted) > 1 else "the process alone"
        bars.append(ThreadFigure(does, what, base, adds, sizes, step_slope(run, number)))
    adds = "the server's process for its end of the connection, and the difference between the two runs"
    held = slopes.layers(runs.newest("c100k").trials).query("group == 'swarm' and arm == 'thread_pool' and valid")
    held = held[held["n"] == held["n"].max()]
    sizes = (held["added"] / held["n"]).groupby(held["layer"]).median()[[*slopes.LAYERS, slopes.SERVER]].to_dict()
    return [*bars, ThreadFigure("has a fetch in flight", "with kernel and server", len(STEPS), adds, sizes)]


def step_slope(run: StoredRun, number: int) -> Slope:
    """Return the figure of a row of the ladder in a run. Raises DocumentError where it has none."""
    _, of, counted, *_ = STEPS[number - 1]
    return slope(run, *of, FULL if len(counted) > 1 else counted[0])


def slope_text(slope: Slope | None) -> str:
    """Write a slope of memory with its error, or as a range if it is not constant; a dash if there is none."""
    if slope is None:
        return "-"
    if not slope.is_straight:
        return units.size_between(slope.low, slope.high, 2)
    return f"{units.size(slope.estimate)} ±{units.size(slope.error, 1)}"


def step_text(run: StoredRun, number: int) -> str:
    """Write it; a dash where the run has none."""
    try:
        return slope_text(step_slope(run, number))
    except DocumentError:
        return "-"


def race(run: StoredRun) -> Race:
    """Return the first race of a run. Raises DocumentError."""
    raced = races(run.rows)
    if not raced or raced[0].lanes[1].rank is None:
        raise DocumentError(f"{run.folder} has no race with two valid crawls")
    return raced[0]


def regression(runs: Runs) -> StoredRun:
    """Return the newest comparison that ended as a regression. Raises DocumentError if there is none."""
    for run in map(runs.run, reversed(runs.all("ab"))):
        if decisions_of.decided(comparisons.blocks(run.rows), DESIGNED).verdict == "regression":
            return run
    raise DocumentError(f"no comparison in {runs.folder} ended as a regression; store one that `inflight ab` made")


def decisions(folder: Path) -> Iterator[tuple[Kind, str]]:
    """Yield each kind of decision of the series of real ones, with the neighbour that ran beside it."""
    for path in sorted(folder.glob(f"*/{DECISIONS_FILE}")):
        machine = json.loads((path.parent / MACHINE_FILE).read_text(encoding="utf-8"))
        for kind in kinds(made(path.parent).values()):
            yield kind, machine.get("neighbour") or "none"
