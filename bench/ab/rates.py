"""A self-test: its figures, computed from blocks, and its tables. Pure.

``selftest`` computes the content of ``selftest.json`` with the functions above ``title``; terminal and page show it
with ``sections``. A *control* is the same code twice, a *gated* metric one that a verdict depends on
(``frame.blocks``). *apart* is the mean difference of two interpreters, which is subtracted from all blocks. A *planted*
slowdown is a loop in each page of B, of a known size. Values are logarithms of B over A, as in ``frame.blocks``.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from inflight.bench import units
from inflight.bench.ab import decide as deciding
from inflight.bench.ab.decide import NAMES, decide
from inflight.bench.ab.rule import DESIGNED, smallest_found
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import CONTROLS, Block, series
from inflight.bench.frame.statistics import mean
from inflight.bench.show import terminal, words
from inflight.bench.show.table import Section, Table

FORMAT = 3
"""Format 2 had rates of resampled decisions, too."""
FINE = (
    {"same": "does the same", "planted": "does more"},
    {"same": "compared, not gated", "planted": "compared, not gated"},
)
"""Verdicts on counts of the same code, and of code with a planted call: of one interpreter, and of two."""
Values = Mapping[str, float]
"""Values of a block, or means of them, by metric."""
SelfTest = Mapping[str, Any]
"""The content of ``selftest.json``."""


def counts(blocks: Sequence[Block], apart: Values) -> dict[str, Any]:
    """Count the verdicts of consecutive decisions on the good blocks; no two share a block.

    ``apart`` is the difference of the sides, which is subtracted from the values of each block; empty for equal sides.
    Blocks at the end that reach no final decision are not counted.
    """
    good = deciding.tally(blocks).good
    each = [
        {name: value - apart.get(name, 0.0) for name, value in read.values(block).items()} | read.controls_of(block)
        for block in good
    ]
    verdicts = Counter[str]()
    start = 0  # the first block of the present decision
    look = 0  # how many looks it has had
    while look < len(DESIGNED.looks) and start + DESIGNED.looks[look] <= len(each):
        every = series(each[start : start + DESIGNED.looks[look]])
        gated = {str(name): every[name] for name in good[0].comparison.gated if name in every}
        decision = decide(gated, {name: every[name] for name in CONTROLS if name in every})
        look += 1
        if decision.final:
            verdicts[decision.verdict] += 1
            start += max(1, decision.blocks)
            look = 0
    alarms = verdicts["regression"]
    decisions = verdicts.total()
    return {
        "alarms": alarms,
        "passes": verdicts["pass"],
        "inconclusive": verdicts["inconclusive"],
        "decisions": decisions,
        "mean_blocks": start / max(1, decisions),
        "blocks": len(good),
        "upper": rate_bounds(alarms, decisions)[1],
    }


def rate_bounds(number: int, decisions: int) -> tuple[float, float]:
    """Return one-sided lower and upper 95 % bounds of a rate (Clopper and Pearson, 1934); 0 and 1 without decisions."""
    from scipy.special import betaincinv

    low = float(betaincinv(number, decisions - number + 1, 0.05)) if number else 0.0
    return low, float(betaincinv(number + 1, decisions - number, 0.95)) if number < decisions else 1.0


def planted(blocks: Sequence[Block], apart: Values) -> dict[str, Any]:
    """Return the measured size of a planted slowdown with its 95 % interval, and the decisions on its blocks."""
    good = deciding.tally(blocks).good
    values = [read.values(block)["cpu_per_page"] - apart.get("cpu_per_page", 0.0) for block in good]
    size = dict[str, Any].fromkeys(("seen", "low", "high"))
    if len(values) > 1:
        interval = mean(values).interval()
        size = {"seen": interval.estimate, "low": interval.low, "high": interval.high}
    loops = good[0].arm("B").planted_loops if good else None
    return {**size, "loops": loops, "real": counts(blocks, apart)}


def spreads(each: Sequence[Values]) -> dict[str, float]:
    """Return the standard deviation of each name's finite values."""
    finite = {name: list(filter(math.isfinite, values)) for name, values in series(each).items()}
    return {name: statistics.stdev(values) for name, values in finite.items() if len(values) > 1}


def means(blocks: Sequence[Block]) -> dict[str, float]:
    """Return the mean of each metric's values: how much the sides differ, as a logarithm."""
    each = series([read.values(block) for block in deciding.tally(blocks).good])
    return {name: statistics.fmean(values) for name, values in each.items()}


def block_seconds(good: Sequence[Block]) -> dict[str, float]:
    """Return the median seconds of a block: its slices, and what memory adds if it is measured."""
    seconds = {}
    for part, name in enumerate(("slices", "memory")):
        taken_s = [block.durations_ns[part] / 1e9 for block in good]
        seconds[name] = statistics.median(list(filter(None, taken_s)) or [0.0])
    return seconds


def left_out(each: Iterable[Sequence[Block]]) -> dict[str, Any]:
    """Return the numbers of blocks tried and left out, with the reasons."""
    blocks = list(chain.from_iterable(each))
    tally = deciding.tally(blocks)
    return {"tried": len(blocks), "left_out": tally.lost, "reasons": dict(tally.reasons)}


# Tables


def title(selftest: SelfTest) -> str:
    """Return the counts of decisions without a change, and with each planted slowdown."""
    alarms = [f"{kind['alarms']} of {kind['decisions']} with {name}" for name, _, kind in _kinds(selftest)]
    return f"Self-test, {words.name(selftest['strategy'])}: regressions in {', '.join(alarms)}"


def _kinds(selftest: SelfTest) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the size of each planted slowdown as it was measured, with its interval, and the counts of verdicts."""
    kinds = [("no change", "", selftest["false_alarms"]["real"])]
    for size in sorted(selftest["detection"], key=int):
        part = selftest["detection"][size]
        name = f"about +{int(size)} %"
        interval = ""
        if part["seen"] is not None:
            name = units.change(part["seen"])
            interval = units.change_between(part["low"], part["high"])
        kinds.append((name, interval, part["real"]))
    return kinds


def text(selftest: SelfTest) -> str:
    """Return the result for a terminal."""
    return "\n\n".join(terminal.text(part, 120).plain for part in sections(selftest))


def sections(selftest: SelfTest) -> list[Section]:
    """Return the section of the self-test."""
    machine = selftest["machine"]
    dropped = selftest["dropped"]
    reasons = [f"{words.plain(why, 60)} ({number})" for why, number in list(dropped["reasons"].items())[:3]]
    first = [
        f"{machine['cpu']}, {machine['usable_cores']} cores, {machine['system']}, {machine['python']}",
        "; ".join([f"{dropped['tried']} blocks tried, {dropped['left_out']} left out", *reasons]),
    ]
    if selftest.get("interpreters"):
        first.append(f"interpreters of A and B: {', '.join(selftest['interpreters'])}")
    if selftest["too_few"]:
        first.append("too few good blocks")
    first += words.disturbed(machine.get("neighbour"))
    tables = _decisions(selftest), _noise(selftest), _harness(selftest)
    return [Section(title(selftest), tables, first=tuple(first))]


def _decisions(selftest: SelfTest) -> Table:
    """Return the table of verdicts without a change, and with each planted slowdown."""
    heads = ("planted", "95 % interval", "decisions", "regression", "pass", "inconclusive", "mean blocks", "rate")
    lines = []
    for name, interval, kind in _kinds(selftest):
        numbers = (units.count(kind[key]) for key in ("decisions", "alarms", "passes", "inconclusive"))
        low, high = (units.percent(end, 1) for end in rate_bounds(kind["alarms"], kind["decisions"]))
        lines.append((name, interval, *numbers, f"{kind['mean_blocks']:.1f}", f"{low.removesuffix(' %')} to {high}"))
    notes = (
        "Decisions on consecutive blocks; no two share one. Planted: a loop in each page of B; size: CPU per page.",
        f"rate: of regressions, 95 % bounds; designed: at most {units.percent(DESIGNED.alpha, 1)} if no change",
    )
    return Table("Decisions", heads, tuple(lines), notes)


def _noise(selftest: SelfTest) -> Table:
    """Return the table of the standard deviations between blocks, and of the smallest change found."""
    lines = []
    for strategy, noise in selftest["noise"].items():
        taken = selftest["block_s"][strategy]
        detected = units.change_size(smallest_found(noise["cpu_per_page"], DESIGNED, len(noise))) if noise else "-"
        sds = (units.percent(noise[metric], 1) if metric in noise else "-" for metric in NAMES)
        lines.append((words.name(strategy), *sds, f"{taken['slices']:.1f} s", f"{taken['memory']:.1f} s", detected))
    controls = ", ".join(f"{name} {units.percent(sd, 1)}" for name, sd in selftest["controls"].items())
    heads = ("strategy", *NAMES.values(), "per block", "memory adds", "detectable")
    notes = (f"Controls: {controls}.", "detectable: the smallest slowdown that a comparison finds 90 % of the time")
    return Table("Noise: SD of a block", heads, tuple(lines), notes)


def _harness(selftest: SelfTest) -> Table:
    """Return the table of what the harness itself costs, and of what it counts."""
    late = selftest["lateness"]
    extra = selftest["overhead"]
    ceiling = selftest["server_ceiling_per_s"]
    times = " and ".join("-" if late[key] is None else units.duration(late[key]) for key in ("p50", "p99"))
    calls = selftest.get("calls", {"same": "-", "planted": "-"})
    lines = (
        ("server's ceiling, with a client that parses nothing",
         "-" if ceiling is None else f"{units.number(ceiling)} responses/s"),
        ("lateness of the server's timers (p50 and p99, at most 2 ms), 1,000 in flight at 50 ms",
         times + ("" if late["valid"] else " ✗")),
        ("overhead of the harness per fetch (at most 1 µs)", units.duration(extra["per_fetch_ns"])),
        ("overhead of the harness, share of CPU time (at most 1 %)",
         "-" if extra["share"] is None else units.percent(extra["share"], 1)),
        ("counts of the same code", calls["same"]),
        ("counts with a call planted in each page", calls["planted"]),
    )  # fmt: skip
    return Table("The harness", ("what", "value"), lines)
