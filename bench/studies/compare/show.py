"""The verdict of ``inflight ab`` as a section and as JSON: effects, intervals, controls, detectable changes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.effect import NAMES, Effect, named, own
from inflight.bench.studies.compare.read import SIDES, Block, Result
from inflight.bench.studies.compare.rule import DESIGNED, MOST, Rule
from inflight.bench.studies.compare.simulation import smallest_found

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 120
COLOURS = {"regression": "bold red", "pass": "bold green", "inconclusive": "bold yellow"}
HEADS = ("metric", "A", "B", "change", "95 % interval", "detectable", "note")
WRITE = {"cpu_per_page": units.duration, "throughput": units.rate, "memory": units.size}
MOST_REASONS = 6
"""Maximum number of reasons shown for blocks that were left out."""
_MOST_LETTERS = 500
_COLUMNS = (
    "A, B: medians over the blocks; change: the mean over the blocks",
    "detectable: the smallest change that the rule finds if blocks vary as much as these",
    "block: one measurement of both sides, which take turns in slices; p: of a t test over the blocks, one-sided",
)
_NOT_STORED = "No verdict is stored here; this is the decision on the blocks so far."

Rates = Mapping[str, Any]
"""The latest self-test of this machine."""


def sections(rows: Sequence[Row], stored: Mapping[str, Any] | None = None) -> list[Section]:
    """Return the verdict of a comparison; for several comparisons, their numbers of blocks.

    ``stored`` is its ``verdict.json``, whose verdict is kept; empty if it has none.
    """
    found = read.result(rows, stored)
    if found is not None:
        told = section(found)
        return [replace(told, first=(_NOT_STORED, *told.first)) if stored == {} else told]
    counted = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    if len(counted) < 2:
        return []
    lines = ((name, str(len(own)), str(sum(block.good for block in own))) for name, own in counted.items())
    return [Section("", (Table("Blocks without a stored verdict", ("comparison", "blocks", "good"), tuple(lines)),))]


def section(result: Result, rates: Rates | None = None) -> Section:
    """Return a verdict: what was compared and where, each metric, and what the verdict is based on."""
    tables = (_table(result),) if result.tally.good else ()
    told = (verdict(result), *map(finding_of, result.decision.effects))
    return Section(title(result.decision), tables, tuple(_notes(result, rates)), tuple(_heading(result)), findings=told)


def verdict(result: Result) -> str:
    """Return the verdict; of a regression at a look without its figures, which the other findings have.

    A regression between looks is one of failures, which no other finding has.
    """
    if result.decision.verdict != "regression" or result.decision.look is None:
        return f"{title(result.decision)}."
    a, b = (words.plain(read.label(result.tally.good[0], side), 40) for side in SIDES)
    return f"REGRESSION: B ({b}) is worse than A ({a})."


def finding_of(one: Effect) -> str:
    """Say how B differs from A in one metric: ``Throughput of B against A: -4.4 % (95 % interval -5.2 to -3.6 %).``."""
    name = NAMES[one.metric]
    verdict = "" if one.low > 0 or one.high < 0 else "; no difference is shown"
    return f"{name[0].upper()}{name[1:]} of B against A: {one.change} (95 % interval {one.interval}){verdict}."


def title(decision: Decision) -> str:
    """Return the verdict and its reason."""
    return words.plain(f"{decision.verdict.upper()}: {decision.why}", _MOST_LETTERS)


def text(result: Result, rates: Rates | None = None) -> "Text":
    """Return the verdict for a terminal."""
    verdict, found = result.decision.verdict, form.text(section(result, rates), WIDTH)
    found.highlight_words([verdict.upper()], COLOURS[verdict])
    return found


def finding(rows: Sequence[Row]) -> str | None:
    """Return the verdict of the comparison with the most good blocks, with its sides; None without any."""
    found = [read.blocks(own) for own in read.comparisons(rows).values()]
    most = max(found, key=lambda own: len(read.tally(own).good), default=[])
    good = read.tally(most).good
    if not good:
        return None
    a, b = (words.plain(read.label(good[0], side), 40) for side in SIDES)
    rest = sum(map(bool, found)) - 1
    besides = f"; number of other comparisons in the rows: {rest}" if rest else ""
    return f"{title(read.decided(most, DESIGNED))}; A: {a}; B: {b}{besides}"


def markdown(result: Result, rates: Rates | None = None) -> str:
    """Return the verdict for a pull request or a CI summary."""
    told = form.markdown(section(result, rates))
    return f"### inflight: {result.decision.verdict}\n\n{told}\n"


def to_json(result: Result, rates: Rates | None = None) -> dict[str, Any]:
    """Return the verdict as values for JSON: ratios of B over A of each metric; NaN becomes null."""
    decision, tally = result.decision, result.tally
    asked, measured = read.asked(result.blocks), _measured(rates, result.rule)
    return {
        "verdict": decision.verdict,
        "why": decision.why,
        "blocks": decision.blocks,
        "look": decision.look,
        "looks": list(result.rule.looks),
        "failed": {"A": tally.failed_a, "B": tally.failed_b},
        "dropped": tally.dropped,
        "reasons": dict(tally.reasons),
        "effects": {one.metric: _effect_json(one, result) for one in decision.effects},
        "controls": {one.metric: _ratio_json(one) for one in decision.controls},
        "not_gated": {name: why for name in asked if (why := _why_not_gated(result, name))},
        "error_rates": "designed" if measured is None else {"measured": measured["made_at"]},
    }


def block_line(block: Block, decision: Decision) -> str:
    """Return the line of a block for the progress of a comparison."""
    goes_on = decision.look is not None and not decision.final
    why = f"\n{words.plain(decision.why, 300)}" if goes_on else ""
    return f"block {block.number:>2}  {changes_told(block)}{why}"


def changes_told(block: Block) -> str:
    """Write the change of each metric in a good block, or why the block was left out."""
    if not block.good:
        return f"left out: {words.plain('; '.join(block.reasons), 110)}"
    return "  ".join(f"{named(name)} {units.change(own(name, value))}" for name, value in read.values(block).items())


def planted_told(one: Mapping[str, Any]) -> str:
    """Write the measured size of a planted slowdown: ``4.8 % (95 %: 4.1 to 5.5 %)``."""
    size, low, high = (units.change_size(one[key]) for key in ("seen", "low", "high"))
    return f"{size} (95 %: {low.removesuffix(' %')} to {high})"


def rates_told(rates: Rates | None, rule: Rule, effects: Sequence[Effect] = (), metrics: int = 1) -> str:
    """Write the error rates of this rule with ``metrics`` gated metrics: as measured on this machine, or as designed.

    Measured rates hold for blocks that vary as much as they did then, so both SDs are written.
    """
    measured = _measured(rates, rule)
    if measured is None:
        return (
            f"error rates, designed: a false alarm in at most {units.percent(rule.alpha, 1)} of comparisons; "
            f"{_found_by_design(rule, metrics)}"
        )
    return _measured_told(measured, effects)


def _measured(rates: Rates | None, rule: Rule) -> Rates | None:
    """Return the self-test if its rates are those of this rule; a budget changes the looks."""
    return rates if rule.looks == DESIGNED.looks else None


def _found_by_design(rule: Rule, metrics: int) -> str:
    """Write which change the rule finds if the SD of blocks is 5 %; a rule with more blocks finds at least as much."""
    measures = "inflight selftest measures both"
    if rule.looks != DESIGNED.looks:
        measures += " for comparisons without --budget"
    found = "a change of 5 % is found in at least 95 %"
    pairs = zip_longest(rule.looks, DESIGNED.looks, fillvalue=0)
    if any(own < designed for own, designed in pairs):
        size = units.change_size(smallest_found(0.05, rule, metrics).effect)
        blocks = words.counted(rule.looks[-1], "block")
        found = f"with at most {blocks}, a change of {size} is found in about {units.percent(rule.power)}"
    return f"{found} if the SD of blocks is at most 5 % ({measures})"


def _measured_told(rates: Rates, effects: Sequence[Effect]) -> str:
    alarms, strategy = rates["false_alarms"]["real"], rates.get("strategy")
    told = [f"{alarms['alarms']} alarms in {alarms['decisions']} decisions on {alarms['blocks']} blocks"]
    told += [
        f"a planted slowdown of {planted_told(one)} found in {units.percent(one['share'])}"
        for _, one in sorted(rates["detection"].items(), key=lambda item: int(item[0]))
        if one["seen"] is not None
    ]
    then = rates["noise"].get(strategy, {}).get("cpu_per_page")
    now = next((one.sd for one in effects if one.metric == "cpu_per_page"), None)
    if then is not None and now is not None:
        sds = units.change_size(then), units.change_size(now)
        told.append(f"SD of CPU time: {sds[0]} in its blocks, {sds[1]} in these")
    labels = list(dict.fromkeys(rates.get("interpreters", ())))
    on = words.listed(labels) if labels else rates["machine"].get("python")
    of = f"{strategy}, {on}, {str(rates['made_at'])[:10]}"
    return f"error rates, measured on this machine ({of}): {'; '.join(told)}"


def _heading(result: Result) -> list[str]:
    """Return both sides and their workload."""
    good = result.tally.good
    if not good:
        return ["no good block"]
    return [*(f"{side}: {words.plain(read.label(good[0], side))}" for side in SIDES), where(good[0])]


def where(block: Block) -> str:
    """Return what the workloads of both sides have in common, and the length of a block."""
    asked = [block.arms[role].workload for role in ("reference", "compared")]
    caps, uses = {one.in_flight for one in asked}, {one.connection for one in asked}
    parts: list[str] = [units.latency(asked[0].latency)]
    parts += [words.in_flight(*caps)] if len(caps) == 1 else []
    parts += uses if len(uses) == 1 else []
    cycles = units.count(len(block.arms["reference"].measured.windows or ()))
    return words.plain(", ".join([*parts, f"{cycles} cycles of slices per block"]))


def _notes(result: Result, rates: Rates | None) -> list[str]:
    decision, tally = result.decision, result.tally
    tried = tally.lost + len(tally.good)
    reasons = sorted(tally.reasons.items(), key=lambda item: -item[1])[:MOST_REASONS]
    told = "; ".join(f"{words.plain(reason, 120)} ({number})" for reason, number in reasons)
    moved = ", ".join(f"{one.metric} {one.change} ({one.interval})" for one in decision.controls)
    return [
        f"{tally.lost} of {tried} blocks left out{f': {told}' if told else ''}",
        *([f"controls, A measured twice: {moved}"] if moved else []),
        *_beside_zero(decision, result.rule),
        *(_COLUMNS if decision.effects else ()),
        rates_told(rates, result.rule, decision.effects, max(1, len(read.asked(result.blocks, "gated")))),
    ]


def _beside_zero(decision: Decision, rule: Rule) -> list[str]:
    """Say what it means that the interval of a control excludes 0 although the verdict stands."""
    names = [one.metric for one in decision.controls if one.low > 0 or one.high < 0]
    if not names or decision.verdict == "inconclusive":
        return []
    refused = f"p < {rule.control_alpha:g} and the difference is above {units.change_size(rule.control_least)}"
    told = f"the interval of {words.listed(names)} excludes 0, as 1 in 20 does with identical code"
    return [f"{told}; a verdict is refused if {refused}"]


def _table(result: Result) -> Table:
    lines = tuple(_line(result, metric) for metric in read.asked(result.blocks))
    width = len(HEADS) if any(line[-1] for line in lines) else len(HEADS) - 1
    return Table("", HEADS[:width], tuple(line[:width] for line in lines), short=HEADS[:width])


def _line(result: Result, metric: str) -> tuple[str, ...]:
    good = result.tally.good
    name, sides = NAMES[metric], (amount(metric, read.figure(good, side, metric)) for side in SIDES)
    one = next((one for one in result.decision.effects if one.metric == metric), None)
    if one is None:
        return (name, *sides, "", "", "", _why_not_gated(result, metric) or "not enough blocks")
    return (name, *sides, one.change, one.interval, units.change_size(_detectable(one, result)), "")


def amount(metric: str, value: float) -> str:
    """Write the figure of a side; a dash if it has none."""
    return WRITE[metric](value, 3) if math.isfinite(value) else "-"


def _detectable(one: Effect, result: Result) -> float:
    """Return the smallest change of a metric that the rule finds if blocks vary as much as these."""
    return smallest_found(one.sd, result.rule, len(result.decision.effects)).effect


def _why_not_gated(result: Result, metric: str) -> str | None:
    """Return why a metric is not part of the verdict; None if it is part of it."""
    if any(one.metric == metric for one in result.decision.effects):
        return None
    if metric == "memory" and (reason := read.why_no_memory(result.blocks)):
        return words.plain(reason, 120)
    if metric != "throughput" or metric in read.asked(result.blocks, "gated"):
        return "not enough blocks"
    shares = [read.core_share(row) for block in result.tally.good for row in block.arms.values()]
    used = f": the core of a side was busy for {units.percent(max(shares))} at most" if shares else ""
    return f"not gated, because it hardly depends on CPU time{used}"


def _effect_json(one: Effect, result: Result) -> dict[str, Any]:
    sides = {side: read.figure(result.tally.good, side, one.metric) for side in SIDES}
    return _ratio_json(one) | {
        "median": {side: value if math.isfinite(value) else None for side, value in sides.items()},
        "blocks": one.blocks,
        "block_noise": one.sd,
        "p": one.p,
        "sign_flip_p": one.sign_flip_p,
        "detectable": math.exp(min(_detectable(one, result), MOST)),
    }


def _ratio_json(one: Effect) -> dict[str, Any]:
    low, high = sorted((own(one.metric, one.low), own(one.metric, one.high)))
    ends = {"ratio": own(one.metric, one.estimate), "low": low, "high": high}
    return {name: math.exp(min(value, MOST)) for name, value in ends.items()}
