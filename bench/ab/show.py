"""A verdict as a section for terminal, page and Markdown, and as JSON.

``command`` calls ``block_line`` after each block, while the comparison goes on, and ``text``, ``markdown`` and
``to_json`` once it has ended; the self-test calls ``changes`` after each of its blocks. ``show.studies`` calls
``sections`` for the page and the report of a stored run, whatever its rows are of: a run without a comparison has none.
The words are those of ``decide``; p, bounds and detectable changes are computed from its blocks. A *good* block is one
that counts; of others the reasons are listed. An *effect* is what ``decide`` says of one metric of the verdict, a
*control* the same of A measured twice.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench import units
from inflight.bench.ab import counts
from inflight.bench.ab import decide as deciding
from inflight.bench.ab.decide import NAMES, Decision, Effect, Result
from inflight.bench.ab.rule import MAX_LOG, blocks_to_find, budget_for, smallest_found
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import FIGURE_OF, SIDES, Block, turned
from inflight.bench.frame.figures import figure_of
from inflight.bench.rows.files import Row
from inflight.bench.show import markdown as form
from inflight.bench.show import terminal, words
from inflight.bench.show.folder import pythons
from inflight.bench.show.table import Section, Table

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 120
"""Maximum width in a terminal, in characters."""
COLOURS = {0: "bold green", 1: "bold red", 3: "bold yellow"}
"""Colour of a verdict, by its exit code."""
HEADS = ("metric", "A", "B", "change", "95 % interval", "at worst", "p", "detectable")
"""Heads of the table of a verdict."""
MIN_P = 0.00001
"""Least p that is written as a number: no model of noise is more exact."""
MAX_REASONS = 6
"""Maximum number of reasons shown for blocks that were left out."""
COLUMNS = (
    "A, B: medians over the blocks; change: the mean over the blocks; at worst: the bound that a pass needs below 5 %",
    "detectable: the smallest change that the rule finds 90 % of the time if blocks vary as much as these",
    "block: one measurement of both sides, which take turns in slices; p: of a t test over the blocks, one-sided",
)
"""Sentences that explain the columns."""


def sections(rows: Sequence[Row], stored: Mapping[str, Any] | None = None) -> list[Section]:
    """Return the verdict of a comparison; for several comparisons, their numbers of blocks; nothing without any.

    ``stored`` is the ``verdict.json`` of a stored run, whose verdict is kept. It is empty if the run has none, because
    it was interrupted or goes on: then the section says that the decision is the one so far. None: nobody asks whether
    there is one, and nothing is said. Counts decide alone: a run has them or blocks.
    """
    of_calls = counts.stored_section(rows)
    if of_calls is not None:
        return [of_calls]
    result = deciding.result(rows, stored)
    if result is not None:
        is_open = stored == {}
        return [section(result, ("No verdict is stored here; this is the decision so far.",) if is_open else ())]
    comparisons = read.comparisons(rows)
    if len(comparisons) < 2:
        return []
    lines = []
    for name, blocks in comparisons.items():
        good = sum(block.good for block in blocks)
        lines.append((name, str(len(blocks)), str(good)))
    heads = ("comparison", "blocks", "good")
    return [Section("", (Table("Blocks without a stored verdict", heads, tuple(lines)),))]


def section(result: Result, first: tuple[str, ...] = ()) -> Section:
    """Return a verdict: what was compared and where, each metric, and what the verdict is based on."""
    decision = result.decision
    tally = result.tally
    reasons = [f"{words.plain(why, 120)} ({number})" for why, number in list(tally.reasons.items())[:MAX_REASONS]]
    notes = ["; ".join([f"{tally.lost} of {len(result.blocks)} blocks left out", *reasons])]
    notes += [f"{NAMES[metric]}: {why}" for metric, why in not_gated(result).items()]
    notes += _advice(result)
    if decision.controls:
        controls = [f"{effect.metric} {effect.change} ({effect.interval})" for effect in decision.controls]
        notes.append(f"controls, A measured twice: {', '.join(controls)}")
    if decision.effects:
        level = result.rule.level(decision.look or 1, len(decision.effects))
        notes += [*COLUMNS, f"p below {units.number(level, 2)} is significant at this look"]
    notes.append(f"designed: a false alarm in at most {units.percent(result.rule.alpha, 1)} of comparisons")
    heading = [*first, "no good block"]
    tables = list[Table]()
    interval = f"interval{decision.scope}"
    if tally.good:
        block = tally.good[0]
        heading = [*first, *sides(block), where(block), *words.limited(block.rows)]
        heads = tuple(head.replace("interval", interval) for head in HEADS)
        lines = tuple(_line(result, metric) for metric in block.comparison.metrics)
        tables = [Table("", heads, lines)]
    headline = title(decision)
    findings = [f"{headline}."]
    findings += [f"{NAMES[each.metric]}: {each.change} (95 % {interval} {each.interval})." for each in decision.effects]
    return Section(headline, tuple(tables), tuple(notes), tuple(heading), findings=tuple(findings))


def sides(block: Block) -> list[str]:
    """Return both sides, each with the Python of its worker."""
    labels = {side: words.plain(block.arm(side).label, 60) for side in SIDES}
    return [f"{side}: {label}, {pythons(block.side(side)[:1], {})}" for side, label in labels.items()]


def _advice(result: Result) -> list[str]:
    """Return which budget is enough for a verdict, if this one is open because blocks vary."""
    decision = result.decision
    rule = result.rule
    good = result.tally.good
    if decision.verdict != "inconclusive" or not decision.effects or not good:
        return []
    sd = max(effect.sd for effect in decision.effects)
    change = units.change_size(rule.acceptable)
    blocks = blocks_to_find(rule.acceptable, sd, rule, len(decision.effects))
    budget = "in no reasonable time"
    if blocks:
        block_s = sum(sum(block.durations_ns) for block in good) / 1e9 / len(good)
        budget = f"in --budget {budget_for(blocks * block_s)}s"
    return [f"blocks that vary like these find a change of {change} {budget}"]


def title(decision: Decision) -> str:
    """Return the verdict and its reason; of two strategies, with the words "in this run"."""
    return words.plain(f"{decision.verdict.upper()}: {decision.why}{decision.scope}", 500)


def text(result: Result) -> "Text":
    """Return the verdict for a terminal."""
    verdict = result.decision.verdict
    return coloured(section(result), verdict.upper(), deciding.EXITS[verdict])


def coloured(section: Section, phrase: str, code: int) -> "Text":
    """Return a section for a terminal, in which a phrase has the colour of an exit code."""
    text = terminal.text(section, WIDTH)
    text.highlight_words([phrase], COLOURS[code])
    return text


def markdown(result: Result) -> str:
    """Return the verdict for a pull request or a CI summary."""
    return f"### inflight: {result.decision.verdict}\n\n{form.markdown(section(result))}\n"


def to_json(result: Result) -> dict[str, Any]:
    """Return the verdict as values for JSON: ratios of B over A of each metric; NaN becomes null."""
    decision = result.decision
    tally = result.tally
    return {
        "verdict": decision.verdict,
        "why": decision.why,
        "blocks": decision.blocks,
        "look": decision.look,
        "looks": list(result.rule.looks),
        "failed": {"A": tally.failed_a, "B": tally.failed_b},
        "dropped": tally.dropped,
        "reasons": dict(tally.reasons),
        "effects": {effect.metric: _effect_json(effect, result) for effect in decision.effects},
        "controls": {effect.metric: _ratio_json(effect) for effect in decision.controls},
        "not_gated": not_gated(result),
        "limited": words.limited(row for block in tally.good for row in block.rows),
    }


def block_line(block: Block, decision: Decision) -> str:
    """Return the line of a block for the progress of a comparison; at a look that is not the last, with the reason."""
    goes_on = decision.look is not None and not decision.final
    return f"block {block.number:>2}  {changes(block)}" + (f"\n{words.plain(decision.why, 300)}" if goes_on else "")


def changes(block: Block) -> str:
    """Write the change of each metric in a good block, or why the block was left out."""
    if not block.good:
        return f"left out: {words.plain('; '.join(block.reasons), 110)}"
    return "  ".join(f"{NAMES[name]} {units.change(turned(name, value))}" for name, value in read.values(block).items())


def where(block: Block) -> str:
    """Return the workload of both sides, and the length of a block; what differs between them is joined by "and".

    The latency, and the number of cycles, are those of all arms of a block: here of A, the reference. A client with a
    limit of its own has ``reached`` in place of its number in flight.
    """
    rows = block.arms.values()
    in_flight = " and ".join(dict.fromkeys(row.reached or units.count(row.workload.in_flight) for row in rows))
    connections = " and ".join(dict.fromkeys(row.workload.connections for row in rows))
    a = block.arms["reference"]
    latency = units.latency(a.workload.latency)
    cycles = units.count(len(a.measured.windows or ()))
    return words.plain(f"{latency}, {in_flight} in flight, {connections}, {cycles} cycles of slices per block")


def amount(metric: str, value: float) -> str:
    """Write the figure of a side; a dash if it has none."""
    return figure_of(FIGURE_OF[metric]).write(value, 3) if math.isfinite(value) else "-"


def not_gated(result: Result) -> dict[str, str]:
    """Return why a metric of the comparison is not part of the verdict, for each such metric."""
    if not result.blocks:
        return {}
    comparison = result.blocks[0].comparison
    reasons = dict[str, str]()
    known = {effect.metric for effect in result.decision.effects}
    for metric in comparison.metrics:
        if metric in known:
            continue
        reason = read.why_no_memory(result.blocks) if metric == "memory" else None
        reasons[metric] = words.plain(reason or "not enough blocks", 120)
        if metric not in comparison.gated:
            shares = (read.core_share(row) for block in result.tally.good for row in block.arms.values())
            busy = units.percent(max(shares, default=0.0))
            reasons[metric] = f"not gated, because it hardly depends on CPU time: a core was busy for {busy} at most"
    return reasons


def _line(result: Result, metric: str) -> tuple[str, ...]:
    """Return the line of a metric; empty cells where it has no effect."""
    sides = [amount(metric, read.figure(result.tally.good, side, metric)) for side in SIDES]
    effects = {effect.metric: effect for effect in result.decision.effects}
    if metric not in effects:
        return (NAMES[metric], *sides, "", "", "", "", "")
    effect = effects[metric]
    worst = units.change(turned(metric, effect.upper))
    p = units.number(effect.p, 2) if effect.p >= MIN_P else f"<{MIN_P:.5f}"
    least = smallest_found(effect.sd, result.rule, len(effects))
    return (NAMES[metric], *sides, effect.change, effect.interval, worst, p, units.change_size(least))


def _effect_json(effect: Effect, result: Result) -> dict[str, Any]:
    """Return the effect of a metric as JSON values: ratio, medians of both sides, noise, smallest change found."""
    sides = {side: read.figure(result.tally.good, side, effect.metric) for side in SIDES}
    return _ratio_json(effect) | {
        "median": {side: value if math.isfinite(value) else None for side, value in sides.items()},
        "blocks": effect.mean.n,
        "block_noise": effect.sd,
        "p": effect.p,
        "detectable": math.exp(min(smallest_found(effect.sd, result.rule, len(result.decision.effects)), MAX_LOG)),
    }


def _ratio_json(effect: Effect) -> dict[str, Any]:
    """Return the ratio of B over A with the ends of its interval; in the metric's own direction."""
    interval = effect.mean.interval()
    low, high = sorted(turned(effect.metric, end) for end in (interval.low, interval.high))
    ends = {"ratio": turned(effect.metric, effect.estimate), "low": low, "high": high}
    return {name: math.exp(min(value, MAX_LOG)) for name, value in ends.items()}
