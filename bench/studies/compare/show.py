"""A verdict of ``inflight ab`` as text, Markdown and JSON: effects, intervals, controls, what could have been seen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core import units
from bench.core.arm import IN_FLIGHT
from bench.present import text_grid, words
from bench.present.markdown import escaped
from bench.present.section import table_markdown
from bench.present.table import Table
from bench.studies.compare import read
from bench.studies.compare.decide import Decision, Effect, Rule
from bench.studies.compare.effect import NAMES, amount, named, own, percent
from bench.studies.compare.read import Block, Tally
from bench.studies.compare.rule import MOST
from bench.studies.compare.simulation import smallest_found

WORDS = {"regression": "REGRESSION", "pass": "PASS", "inconclusive": "INCONCLUSIVE"}
COLOURS = {"regression": "\x1b[1;31m", "pass": "\x1b[1;32m", "inconclusive": "\x1b[1;33m"}
PLAIN = "\x1b[0m"
WIDTH = 200
"""A table of a verdict is never cut."""
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One metric: what each side takes, and the change with its interval, in the metric's own direction."""

    metric: str
    a: str
    b: str
    change: str
    interval: str
    detectable: str
    note: str


@dataclass(frozen=True, slots=True)
class Shown:
    """All that is told of a comparison."""

    decision: Decision
    blocks: Sequence[Block]
    rule: Rule
    rates: Mapping[str, Any] | None
    """The latest self-test of this machine; None: there is none."""

    @property
    def tally(self) -> Tally:
        """What became of the blocks."""
        return read.tally(self.blocks)


HEADS = Line("metric", "A", "B", "change", "95 % interval", "detectable", "note")


def text(shown: Shown, *, colour: bool) -> str:
    """Return what a terminal shows."""
    good = shown.tally.good
    table = text_grid.lines_of(_table(shown), WIDTH) if good else []
    word = WORDS[shown.decision.verdict]
    word = f"{COLOURS[shown.decision.verdict]}{word}{PLAIN}" if colour else word
    verdict = f"{word}: {shown.decision.why}."
    return "\n".join([*_heading(shown), "", *table, "", *_notes(shown), "", verdict])


def markdown(shown: Shown) -> str:
    """Return the verdict for a pull request or a CI summary."""
    told, notes = ("\n".join(f"- {escaped(line)}" for line in some) for some in (_heading(shown), _notes(shown)))
    table = table_markdown(_table(shown)) if shown.tally.good else ""
    title = f"### inflight: {WORDS[shown.decision.verdict].lower()}"
    return "\n\n".join(filter(None, [title, f"{escaped(shown.decision.why)}.", told, table, notes])) + "\n"


def to_json(shown: Shown) -> dict[str, Any]:
    """Return the verdict as JSON values: ratios B over A, in each metric's own direction; NaN becomes null."""
    decision = shown.decision
    return {
        "verdict": decision.verdict,
        "why": decision.why,
        "blocks": decision.blocks,
        "look": decision.look,
        "looks": list(shown.rule.looks),
        "failed": {"A": shown.tally.failed_a, "B": shown.tally.failed_b},
        "dropped": shown.tally.dropped,
        "reasons": dict(shown.tally.reasons),
        "effects": {one.metric: _effect_json(one, shown) for one in decision.effects},
        "controls": {one.metric: _ratio_json(one, 1) for one in decision.controls},
        "not_gated": {name: why for name in read.asked(shown.blocks) if (why := _why_not_gated(shown, name))},
        "error_rates": "designed" if shown.rates is None else {"measured": shown.rates["made_at"]},
    }


def lines(shown: Shown) -> list[Line]:
    """Return a line for each metric that was asked for."""
    return [_line(shown, metric) for metric in read.asked(shown.blocks)]


def block_line(block: Block, decision: Decision) -> str:
    """Return what one block showed, for the talk while a comparison goes on."""
    figures = changes_told(block) if block.good else f"left out: {words.plain('; '.join(block.reasons), 110)}"
    goes_on = decision.look is not None and not decision.final
    return f"block {block.number:>2}  {figures}" + (f"\n{words.plain(decision.why, 300)}" if goes_on else "")


def changes_told(block: Block) -> str:
    """Write the change of each metric in a good block."""
    return "  ".join(f"{named(name)} {percent(own(name, value))}" for name, value in read.values(block).items())


def placebo_told(controls: Sequence[Effect]) -> str:
    """Say by how much A differed from itself in CPU time per page."""
    one = next((one for one in controls if one.metric in read.CONTROLS), None)
    if one is None:
        return "the same code, measured twice: too few blocks to say by how much it differs"
    between = f"95 %: {percent(one.low).removesuffix(' %')} to {percent(one.high)}"
    return f"the same code, measured twice, differs by {amount(abs(one.estimate))} ({between})"


def rates_told(rates: Mapping[str, Any] | None, rule: Rule, effects: Sequence[Effect] = ()) -> str:
    """Say how often this rule is wrong: as measured on this machine, or as designed.

    What was measured holds for blocks that vary as much as they did then, so both are told.
    """
    if rates is None:
        return (
            f"error rates, designed: a false alarm in at most {100 * rule.alpha:.1f} % of comparisons; a change of 5 % "
            "is found in 95 % or more while blocks vary by no more than 5 % (`inflight selftest` measures both here)"
        )
    alarms, found = rates["false_alarms"]["resampled"], rates["detection"]
    drawn = f"{alarms['alarms']} alarms in {alarms['decisions']} decisions"
    told = [f"{drawn} simulated with {alarms['blocks']} blocks without a change"]
    told += [
        f"a planted slowdown of {planted_told(one)} found in {100 * one['share']:.0f} %"
        for _, one in sorted(found.items(), key=_size)
        if one["seen"] is not None
    ]
    then = rates["noise"].get(rates.get("strategy"), {}).get("cpu_per_page")
    now = next((one.sd for one in effects if one.metric == "cpu_per_page"), None)
    if then is not None and now is not None:
        told.append(f"its blocks varied by {amount(then)} in CPU time, these by {amount(now)}")
    of = f"{rates.get('strategy')}, {rates['machine'].get('python')}, {str(rates['made_at'])[:10]}"
    return f"error rates, measured on this machine ({of}): {'; '.join(told)}"


def planted_told(one: Mapping[str, Any]) -> str:
    """Write what a planted slowdown was seen to be: ``4.8 % (95 %: 4.1 to 5.5 %)``."""
    size, low, high = (amount(one[key]) for key in ("seen", "low", "high"))
    return f"{size} (95 %: {low.removesuffix(' %')} to {high})"


def _size(item: tuple[str, Any]) -> int:
    return int(item[0])


def _heading(shown: Shown) -> list[str]:
    if not shown.tally.good:
        return ["no good block"]
    first = shown.tally.good[0]
    workload = read.workload(first)
    caps = {read.arm(first, side).get("in_flight", IN_FLIGHT) for side in "AB"}
    uses = {read.arm(first, side).get("connection", "keep-alive") for side in "AB"}
    where = [
        units.latency(workload["latency"]),
        *([f"{units.count(caps.pop())} in flight"] if len(caps) == 1 else []),
        *([uses.pop()] if len(uses) == 1 else []),
        f"{units.count(len(first.arms['reference'].measured['windows']))} cycles of slices per block",
    ]
    sides = [f"{side}  {words.plain(read.label(first, side))}" for side in "AB"]
    return [placebo_told(shown.decision.controls), *sides, ", ".join(where)]


def _line(shown: Shown, metric: str) -> Line:
    good = shown.tally.good
    a, b = (_amount(metric, read.figure(good, side, metric)) for side in "AB")
    one = next((one for one in shown.decision.effects if one.metric == metric), None)
    if one is None:
        return Line(NAMES[metric], a, b, "", "", "", _why_not_gated(shown, metric) or "not enough blocks")
    ends = sorted(own(metric, value) for value in (one.low, one.high))
    interval = f"{percent(ends[0]).removesuffix(' %')} to {percent(ends[1])}"
    return Line(NAMES[metric], a, b, percent(own(metric, one.estimate)), interval, amount(_detectable(one, shown)), "")


def _detectable(one: Effect, shown: Shown) -> float:
    """Return the least change of a metric that the whole rule finds where blocks vary as much as these."""
    return smallest_found(one.sd, shown.rule, len(shown.decision.effects)).effect


def _why_not_gated(shown: Shown, metric: str) -> str | None:
    """Say why a metric is shown and not part of the verdict; None when it is part of it."""
    if any(one.metric == metric for one in shown.decision.effects):
        return None
    if metric != "throughput":
        reason = read.why_no_memory(shown.blocks) if metric == "memory" else None
        return words.plain(reason, 120) if reason else "not enough blocks"
    if metric in read.asked(shown.blocks, "gated"):
        return "not enough blocks"
    shares = [read.core_share(row) for block in shown.tally.good for row in block.arms.values()]
    used = f": the core of a side was busy for {max(shares):.0%} at most" if shares else ""
    return f"not gated, because CPU time hardly moves it{used}"


def _notes(shown: Shown) -> list[str]:
    decision, tally = shown.decision, shown.tally
    moved = [
        f"{one.metric} {percent(one.estimate)} ({percent(one.low).removesuffix(' %')} to {percent(one.high)})"
        for one in decision.controls
    ]
    notes = [f"controls, A measured twice: {', '.join(moved)}"] if moved else []
    if tally.lost:
        most = sorted(tally.reasons.items(), key=lambda item: -item[1])[:_MOST_REASONS]
        reasons = "; ".join(f"{words.plain(reason, 120)} ({number})" for reason, number in most)
        several = " (some for several reasons)" if sum(tally.reasons.values()) > tally.lost else ""
        notes.append(f"{tally.lost} of {tally.lost + len(tally.good)} blocks left out{several}: {reasons}")
    if decision.effects:
        notes.append("A, B: medians over the blocks; change: the mean over the blocks")
    return [*notes, rates_told(shown.rates, shown.rule, decision.effects)]


def _table(shown: Shown) -> Table:
    heads = _cells(HEADS)
    return Table("", heads, tuple(map(_cells, lines(shown))), short=heads)


def _cells(line: Line) -> tuple[str, ...]:
    return (line.metric, line.a, line.b, line.change, line.interval, line.detectable, line.note)


def _amount(metric: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    write = {"cpu_per_page": units.duration, "throughput": units.rate, "memory": units.size}[metric]
    return write(value, 3)


def _effect_json(one: Effect, shown: Shown) -> dict[str, Any]:
    direction = -1 if one.metric == "throughput" else 1
    sides = {side: _finite(read.figure(shown.tally.good, side, one.metric)) for side in "AB"}
    return _ratio_json(one, direction) | {
        "median": sides,
        "blocks": one.blocks,
        "block_noise": one.sd,
        "p": one.p,
        "sign_flip_p": one.sign_flip_p,
        "detectable": math.exp(min(_detectable(one, shown), MOST)),
    }


def _ratio_json(one: Effect, direction: int) -> dict[str, Any]:
    low, high = sorted((direction * one.low, direction * one.high))
    return {
        name: math.exp(min(value, MOST))
        for name, value in (("ratio", direction * one.estimate), ("low", low), ("high", high))
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
