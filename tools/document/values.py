"""The values that the templates of ``parts.md`` take from stored runs. Each function asks for a run or for all runs."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.ab import decide as decisions_of
from inflight.bench.ab.decide import Decision
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.frame import blocks as comparisons
from inflight.bench.frame import noise, slopes
from inflight.bench.frame import statistics as stats
from inflight.bench.frame.blocks import Block
from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.slopes import FULL, Slope
from inflight.bench.race.lanes import Race, races
from inflight.bench.rows import machines
from inflight.bench.rows.files import MACHINE_FILE, folders_in
from inflight.bench.show import listing, memory, words
from inflight.bench.show import study as shows
from inflight.bench.show.studies import LISTINGS, STUDIES
from inflight.bench.show.study import section
from inflight.bench.show.table import Section, Table
from tools.document.stored import DocumentError, Run, Runs
from tools.selftest_long import DECISIONS_FILE, Kind, kinds, made

BUSY = "latency_ns == 0 and cpu_ns == 0 and in_flight == 100"
"""The workload in which nothing waits, so the CPU is the limit."""
CPU, RATE = "cpu_per_page_ns", "pages_per_s"


# Studies


def parts(run: Run, name: str) -> list[shows.Part]:
    """Return the parts of a study."""
    return shows.parts(_study(name), run.lines)


def shown(run: Run, name: str) -> Section:
    """Return the tables and the findings of a study. Raises DocumentError if the run has nothing for it."""
    found = section(_study(name), parts(run, name)) if parts(run, name) else Section("")
    if not found.tables:
        raise DocumentError(f"{run.folder} has nothing for the study {name}")
    return found


def memory_table(run: Run) -> Table | None:
    """Return the memory per additional thread, task or fetch, in layers; None without a slope."""
    found = memory.sections(run.trials)
    return found[0].tables[0] if found else None


def listed(run: Run, name: str) -> Section:
    """Return the tables and the findings of a listing."""
    (study,) = (one for one in LISTINGS if one.name == name)
    return listing.section(study, listing.parts(study, run.trials))


def ratio(run: Run, one: str, other: str, figure: str = CPU) -> Any:
    """Return the ratio of two strategies where nothing waits; None without one."""
    own = _busy(run, figure)
    found = records(contrast(own[own["arm"].isin([one, other])], "arm", other, ["figure"]))
    return found[0] if found else None


def mean(run: Run, strategy: str, figure: str = CPU) -> Any:
    """Return the mean of a strategy there."""
    own = _busy(run, figure)
    (found,) = records(summary(own[own["arm"] == strategy], ["arm"]))
    return found


def _busy(run: Run, figure: str = CPU) -> pd.DataFrame:
    """Return the lines of a figure in the blocks where nothing waits."""
    return run.lines.query(f"kind == 'arm' and comparison == '' and figure == '{figure}' and {BUSY}")


def _study(name: str) -> shows.Study:
    return next(study for study in STUDIES if study.name == name)


class Spread(NamedTuple):
    """How a ratio differs between the quiet runs of the series on one machine, by one clock."""

    range: str
    runs: int
    days: int


def spread(runs: Runs, run: Run, one: str, other: str, figure: str = CPU) -> Spread:
    """Return how a ratio differs between the runs of the series that are like a run."""
    others = map(runs.run, folders_in(run.folder.parent.parent / "series"))
    alike = [each for each in others if _is_like(each, run)]
    found = sorted(ratio(each, one, other, figure).estimate for each in alike)
    if not found:
        raise DocumentError(f"no run of the series is like {run.folder}")
    ends = dict.fromkeys(units.times(end, 3) for end in (found[0], found[-1]))
    return Spread(" to ".join(ends), len(alike), len({each.folder.name[:8] for each in alike}))


def _is_like(other: Run, one: Run) -> bool:
    is_same = not machines.differences(other.machine, one.machine)
    return is_same and _clock(other) == _clock(one) and not noise.is_noisy(other.rows)


def _clock(run: Run) -> str:
    return str(Counter(row.measured.clock for row in run.rows if row.kind == "arm").most_common(1)[0][0])


class Tie(NamedTuple):
    """Models of which none is ahead."""

    lines: list[Any]
    """Their means, the fastest first."""
    most: float
    """The logarithm of the greatest lead that the intervals allow."""
    is_tie: bool
    """Whether all are surely within 2 %, with that many in flight and with any smaller number that was measured."""


def tie(run: Run, latency: str, in_flight: int) -> Tie:
    """Compare the models of a map at one latency without CPU work. Raises DocumentError if it was not measured."""
    study, part = _study("map"), parts(run, "map")[0]
    columns = [one for one in part.columns if one[:2] == ("0", latency) and one[2] <= in_flight]
    if ("0", latency, in_flight) not in columns:
        raise DocumentError(f"the map has no workload with {latency} and {in_flight} in flight")
    apart = [_against_fastest(study, part, column) for column in columns]
    most = max(-math.log(low) for low in apart[-1]["low"])
    means = records(shows.compared(study, part, columns[-1]))
    return Tie(means, most, all(set(one["answer"]) == {"same"} for one in apart))


def _against_fastest(study: shows.Study, part: shows.Part, column: tuple[Any, ...]) -> pd.DataFrame:
    names = shows.compared(study, part, column)["line"]
    own = shows.at(study, part.lines, column)
    own = own[(own["figure"] == RATE) & own["line"].isin(names)]
    return contrast(own, "line", names.iloc[0], study.columns)


def tiles(run: Run) -> list[shows.Tile]:
    """Return the tiles of a map."""
    part = parts(run, "map")[0]
    return [shows.tile(_study("map"), part, column) for column in part.columns]


def speed_up(run: Run, strategy: str, cpu: str) -> Any:
    """Return the gain of a strategy by a second core, with CPU work per page, on the first interpreter of a run."""
    found = records(shows.ratios(_study("cores"), parts(run, "cores")[0]))
    return next(one for one in found if one.line.startswith(f"{strategy} ") and one.cpu == cpu)


def retention(run: Run) -> Iterator[tuple[Any, Any, Any]]:
    """Yield, for each strategy, its best number in flight, its greatest one, and the ratio of the two."""
    study, part = _study("retention"), parts(run, "retention")[0]
    last = shows.ratios(study, part).sort_values("in_flight").groupby("line").tail(1)
    for one in records(last.sort_values(["in_flight", "estimate"], ascending=False)):
        own = {mean.in_flight: mean for mean in records(part.means[part.means["line"] == one.line])}
        yield own[one.best], own[one.in_flight], one


def difference(run: Run, one: str, other: str | None) -> stats.Interval:
    """Return the CPU time per page of a strategy without that of another, by the differences within blocks."""
    wide = _busy(run).query("valid").pivot_table("value", "unit", "arm")
    return stats.t_interval(list((wide[one] - (wide[other] if other else 0)).dropna()))


# One comparison, step by step


class Example(NamedTuple):
    """A strategy and the placebo against the reference in the blocks where nothing waits."""

    arms: list[Any]
    """Rows of the first block: the reference, the placebo, the strategy."""
    ratios: list[tuple[float, float]]
    """Of the strategy and of the placebo, by block."""
    logs: list[float]
    """The logarithms of the strategy's ratios."""
    again: list[float]
    """Those of the placebo."""


def example(run: Run, strategy: str) -> Example:
    """Return what one comparison is computed from. Raises DocumentError without a block."""
    own = _busy(run).query("valid")
    wide = own.pivot_table("value", "unit", "arm", sort=False)
    roles = dict(zip(own["role"], own["arm"], strict=True))
    if strategy not in wide or not {"reference", "placebo"} <= roles.keys():
        raise DocumentError(f"{run.folder} has no valid block of {strategy} with a placebo")
    ratios = wide[[strategy, roles["placebo"]]].div(wide[roles["reference"]], axis=0).dropna()
    trials = own[own["unit"] == ratios.index[0]].set_index("arm")["trial"]
    rows = {row.trial: row for row in run.rows}
    arms = [rows[trials[name]] for name in (roles["reference"], roles["placebo"], strategy)]
    pairs = [(one, again) for one, again in ratios.to_numpy()]
    return Example(arms, pairs, *([math.log(ratio) for ratio in side] for side in zip(*pairs, strict=True)))


# Memory


def slope(run: Run, strategy: str, group: str = "held", layer: str = FULL) -> Slope:
    """Return the slope of a layer, or of all, in the setting with the most sizes. Raises DocumentError without one."""
    group = "idle" if strategy in {"thread", "asyncio_task"} else group
    found = slopes.slopes(slopes.layers(run.trials))
    own = found.query("group == @group and arm == @strategy and layer == @layer and reason == ''")
    if own.empty:
        raise DocumentError(f"{run.folder}: no slope of {layer} of {strategy}")
    one = own.sort_values("sizes").iloc[-1]
    return Slope(*(one[name] for name in ("estimate", "low", "high", "intercept", "is_straight", "points", "sizes")))


class Bar(NamedTuple):
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
        return self.slope.per_fetch if self.slope else sum(self.sizes.values())

    @property
    def text(self) -> str:
        """The figure as it is shown, with its interval."""
        return words.memory(self.slope) if self.slope else units.size(self.size)


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


def ladder(runs: Runs) -> list[Bar]:
    """Return the figures of a thread, from the newest runs of ``memory`` and ``c100k``. Raises DocumentError."""
    run, found = runs.newest("memory"), []
    for number, (does, of, counted, base, adds) in enumerate(STEPS, start=1):
        sizes = {layer: slope(run, *of, layer).per_fetch for layer in counted}
        what = "with the kernel" if len(counted) > 1 else "the process alone"
        found.append(Bar(does, what, base, adds, sizes, step_slope(run, number)))
    adds = "the server's process for its end of the connection, and the difference between the two runs"
    held = slopes.layers(runs.newest("c100k").trials).query("group == 'swarm' and arm == 'thread_pool' and valid")
    held = held[held["n"] == held["n"].max()]
    sizes = (held["added"] / held["n"]).groupby(held["layer"]).median()[[*slopes.LAYERS, slopes.SERVER]].to_dict()
    return [*found, Bar("has a fetch in flight", "with kernel and server", len(STEPS), adds, sizes)]


def step_slope(run: Run, number: int) -> Slope:
    """Return the figure of a row of the ladder in a run. Raises DocumentError where it has none."""
    _, of, counted, *_ = STEPS[number - 1]
    return slope(run, *of, FULL if len(counted) > 1 else counted[0])


def step_text(run: Run, number: int) -> str:
    """Write it; a dash where the run has none."""
    try:
        return words.memory(step_slope(run, number))
    except DocumentError:
        return "-"


def race(run: Run) -> Race:
    """Return the first race of a run. Raises DocumentError."""
    found = races(run.rows)
    if not found or found[0].lanes[1].rank is None:
        raise DocumentError(f"{run.folder} has no race with two valid crawls")
    return found[0]


def regression(runs: Runs) -> Run:
    """Return the newest comparison that ended as a regression. Raises DocumentError if there is none."""
    for run in map(runs.run, reversed(runs.all("ab"))):
        if decisions_of.decided(comparisons.blocks(run.rows), DESIGNED).verdict == "regression":
            return run
    raise DocumentError(f"no comparison in {runs.folder} ended as a regression; store one that `inflight ab` made")


def verdict(good: Sequence[Block], decision: Decision) -> dict[str, Any]:
    """Return what the verdict on the CPU time per page is computed from."""
    (effect,) = (one for one in decision.effects if one.metric == "cpu_per_page")
    look, gated = decision.look or len(DESIGNED.looks), len(decision.effects)
    moved = (one for one in decision.controls if comparisons.CONTROLS[one.metric] == "cpu_per_page")
    return {
        "arms": [good[0].arms[role].measured for role in ("reference", "placebo", "compared")],
        "values": [comparisons.values(block)["cpu_per_page"] for block in good],
        "effect": effect,
        "times": stats.t_quantile(effect.mean.freedom, 0.975),
        "rule": DESIGNED,
        "look": look,
        "gated": gated,
        "level": DESIGNED.level(look, gated),
        "pass_level": DESIGNED.pass_level(look),
        "control": next(moved),
        "verdict": decision.verdict,
    }


def decisions(folder: Path) -> Iterator[tuple[Kind, str]]:
    """Yield each kind of decision of the series of real ones, with the neighbour that ran beside it."""
    for path in sorted(folder.glob(f"*/{DECISIONS_FILE}")):
        machine = json.loads((path.parent / MACHINE_FILE).read_text(encoding="utf-8"))
        for kind in kinds(made(path.parent).values()):
            yield kind, machine.get("neighbour") or "none"
