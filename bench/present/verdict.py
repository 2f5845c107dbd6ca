"""A verdict of ``inflight ab`` as text, Markdown and JSON: effects, intervals, controls, what could have been seen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analyse import pairs
from bench.analyse.decide import Decision, Effect, Rule
from bench.analyse.effect import NAMES, amount, own, percent
from bench.analyse.pairs import Tally
from bench.analyse.rule import MOST
from bench.analyse.simulation import smallest_found
from bench.present import units, words
from bench.present.markdown import escaped, row
from bench.rows import Row

WORDS = {"regression": "REGRESSION", "pass": "PASS", "inconclusive": "INCONCLUSIVE"}
COLOURS = {"regression": "\x1b[1;31m", "pass": "\x1b[1;32m", "inconclusive": "\x1b[1;33m"}
PLAIN = "\x1b[0m"
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
    tally: Tally
    rule: Rule
    rates: Mapping[str, Any] | None
    """The latest self-test of this machine; None: there is none."""


HEADS = Line("metric", "A", "B", "change", "95 % interval", "detectable", "note")


def text(shown: Shown, *, colour: bool) -> str:
    """Return what a terminal shows."""
    good = shown.tally.good
    head = _heading(good) if good else ["no good pair"]
    table = _table([HEADS, *lines(shown)]) if good else []
    word = WORDS[shown.decision.verdict]
    word = f"{COLOURS[shown.decision.verdict]}{word}{PLAIN}" if colour else word
    verdict = f"{word}: {shown.decision.why}."
    return "\n".join([*head, "", *table, "", *_notes(shown), "", verdict])


def markdown(shown: Shown) -> str:
    """Return the verdict for a pull request or a CI summary."""
    good = shown.tally.good
    rows = [HEADS, *lines(shown)] if good else []
    table = [row(map(escaped, _cells(line))) for line in rows]
    if table:
        table.insert(1, "|---" * len(_cells(HEADS)) + "|")
    told = [f"- {escaped(line)}" for line in (_heading(good) if good else ["no good pair"])]
    notes = [f"- {escaped(note)}" for note in _notes(shown)]
    title = f"### inflight: {WORDS[shown.decision.verdict].lower()}"
    return "\n".join([title, "", f"{escaped(shown.decision.why)}.", "", *told, "", *table, "", *notes]) + "\n"


def to_json(shown: Shown) -> dict[str, Any]:
    """Return the verdict as JSON values: ratios B over A, in each metric's own direction; NaN becomes null."""
    decision = shown.decision
    return {
        "verdict": decision.verdict,
        "why": decision.why,
        "pairs": decision.pairs,
        "look": decision.look,
        "looks": list(shown.rule.looks),
        "failed": {"A": shown.tally.failed_a, "B": shown.tally.failed_b},
        "dropped": shown.tally.dropped,
        "reasons": dict(shown.tally.reasons),
        "effects": {one.metric: _effect_json(one, shown) for one in decision.effects},
        "controls": {one.metric: _ratio_json(one, 1) for one in decision.controls},
        "not_gated": {name: why for name in _asked(shown.tally.good) if (why := _why_not_gated(shown, name))},
        "error_rates": "designed" if shown.rates is None else {"measured": shown.rates["made_at"]},
    }


def lines(shown: Shown) -> list[Line]:
    """Return a line for each metric that was asked for."""
    return [_line(shown, metric) for metric in _asked(shown.tally.good)]


def pair_line(row: Row, decision: Decision) -> str:
    """Return what one pair brought, for the talk while a comparison goes on."""
    looks = f"pair {row.round:>2}"
    if row.valid:
        told = [f"{NAMES[name]} {percent(own(name, value))}" for name, value in pairs.values(row).items()]
        figures = "  ".join(told)
    else:
        figures = "left out: " + words.plain("; ".join(_red(row)), 110)
    goes_on = decision.look is not None and not decision.final
    return f"{looks}  {figures}" + (f"\n{words.plain(decision.why, 300)}" if goes_on else "")


def rates_told(rates: Mapping[str, Any] | None, rule: Rule, effects: Sequence[Effect] = ()) -> str:
    """Say how often this rule is wrong: as measured on this machine, or as designed.

    What was measured holds for pairs that vary as much as they did then, so both are told.
    """
    if rates is None:
        return (
            f"error rates, designed: a false alarm in at most {100 * rule.alpha:.1f} % of comparisons; a change of 5 % "
            "is found in 95 % or more while pairs vary by no more than 5 % (`inflight selftest` measures both here)"
        )
    alarms, found = rates["false_alarms"]["resampled"], rates["detection"]
    drawn = f"{alarms['alarms']} alarms in {alarms['decisions']} decisions"
    told = [f"{drawn} simulated with {alarms['pairs']} pairs without a change"]
    told += [
        f"{100 * one['share']:.0f} % of planted {size} % slowdowns found"
        for size, one in sorted(found.items(), key=_size)
    ]
    then = rates["noise"].get(rates.get("strategy"), {}).get("cpu_per_page")
    now = next((one.sd for one in effects if one.metric == "cpu_per_page"), None)
    if then is not None and now is not None:
        told.append(f"its pairs varied by {amount(then)} in CPU time, these by {amount(now)}")
    of = f"{rates.get('strategy')}, {rates['machine'].get('python')}, {str(rates['made_at'])[:10]}"
    return f"error rates, measured on this machine ({of}): {'; '.join(told)}"


def _size(item: tuple[str, Any]) -> int:
    return int(item[0])


def _heading(good: Sequence[Row]) -> list[str]:
    workload, turn = good[0].workload, pairs.timed(good[0])[0]
    caps = {workload[side].get("in_flight", 100) for side in "ab"}
    uses = {workload[side].get("connection", "keep-alive") for side in "ab"}
    where = [
        f"{units.count(turn['pages'])} pages a turn",
        units.latency(workload["latency"]),
        *([f"{units.count(caps.pop())} in flight"] if len(caps) == 1 else []),
        *([uses.pop()] if len(uses) == 1 else []),
        f"{len(pairs.timed(good[0]))} turns a pair",
    ]
    return [*(f"{side.upper()}  {words.plain(workload[side]['label'])}" for side in "ab"), ", ".join(where)]


def _line(shown: Shown, metric: str) -> Line:
    good = shown.tally.good
    a, b = (_amount(metric, pairs.figure(good, side, metric)) for side in "AB")
    one = next((one for one in shown.decision.effects if one.metric == metric), None)
    if one is None:
        return Line(NAMES[metric], a, b, "", "", "", _why_not_gated(shown, metric) or "not enough pairs")
    ends = sorted(own(metric, value) for value in (one.low, one.high))
    interval = f"{percent(ends[0]).removesuffix(' %')} to {percent(ends[1])}"
    return Line(NAMES[metric], a, b, percent(own(metric, one.estimate)), interval, amount(_detectable(one, shown)), "")


def _detectable(one: Effect, shown: Shown) -> float:
    """Return the least change of a metric that the whole rule finds where pairs vary as much as these."""
    return smallest_found(one.sd, shown.rule, len(shown.decision.effects)).effect


def _why_not_gated(shown: Shown, metric: str) -> str | None:
    """Say why a metric is shown and not part of the verdict; None when it is part of it."""
    if any(one.metric == metric for one in shown.decision.effects):
        return None
    if metric != "throughput":
        reasons = [
            memory["reason"]
            for row in shown.tally.good
            if metric == "memory" and (memory := row.measured.get("memory")) is not None and memory["reason"]
        ]
        return words.plain(reasons[0], 120) if reasons else "not enough pairs"
    sides = [pairs.sensitivity(shown.tally.good, side) for side in "AB"]
    known = [side for side in sides if side is not None]
    if not known:
        return "not enough pairs"
    low, high = min(side.low for side in known), max(side.high for side in known)
    moved = units.number(5 * low, 2) + (f" to {units.number(5 * high, 2)}" if high > low else "")
    return f"not gated: 5 % more CPU time would move it by {moved} %"


def _notes(shown: Shown) -> list[str]:
    decision, tally = shown.decision, shown.tally
    controls = [
        f"{one.metric} {percent(one.estimate)} ({percent(one.low).removesuffix(' %')} to {percent(one.high)})"
        for one in decision.controls
    ]
    notes = [f"controls, the same work beside both sides: {', '.join(controls)}"] if controls else []
    lost = tally.failed_a + tally.failed_b + tally.dropped
    if lost:
        most = sorted(tally.reasons.items(), key=lambda item: -item[1])[:_MOST_REASONS]
        reasons = "; ".join(f"{words.plain(reason, 120)} ({number})" for reason, number in most)
        several = " (some for several reasons)" if sum(tally.reasons.values()) > lost else ""
        notes.append(f"{lost} of {lost + len(tally.good)} pairs left out{several}: {reasons}")
    if decision.effects:
        notes.append(
            "A, B: medians over all turns; change: the mean over the pairs; detectable: the least change that up to "
            f"{shown.rule.looks[-1]} pairs that vary as these find with {shown.rule.power:.0%} probability"
        )
    return [*notes, rates_told(shown.rates, shown.rule, decision.effects)]


def _table(entries: Sequence[Line]) -> list[str]:
    cells = [_cells(line) for line in entries]
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    return [
        "  ".join(
            f"{cell:<{width}}" if n in {0, 6} else f"{cell:>{width}}"
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cells(line: Line) -> tuple[str, ...]:
    return (line.metric, line.a, line.b, line.change, line.interval, line.detectable, line.note)


def _asked(good: Sequence[Row]) -> list[str]:
    return list(good[0].workload["metrics"]) if good else []


def _amount(metric: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    write = {"cpu_per_page": units.duration, "throughput": units.rate, "memory": units.size}[metric]
    return write(value, 3)


def _red(row: Row) -> list[str]:
    if row.status != "ok":
        return [f"{row.status}: {row.reason}"]
    return [f"{check.name}: {check.detail}" for check in row.failed_checks]


def _effect_json(one: Effect, shown: Shown) -> dict[str, Any]:
    direction = -1 if one.metric == "throughput" else 1
    sides = {side: _finite(pairs.figure(shown.tally.good, side, one.metric)) for side in "AB"}
    return _ratio_json(one, direction) | {
        "median": sides,
        "pairs": one.pairs,
        "pair_noise": one.sd,
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
