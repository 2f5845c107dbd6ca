"""The verdicts of a page: claims, a comparison in pairs, a self-test, two stored runs; whatever the folder holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.present import claims, findings_memory, selftest, units, words
from bench.present.claims import TRACES, Report
from bench.present.report_files import Extras
from bench.present.report_markup import NOTES, Cell, Head, Table, block, folded, listed, paragraph, table
from bench.present.report_pairs import PAIR, Pairs, compared, workloads
from bench.present.verdict import HEADS, WORDS
from bench.rows import Row

_MOST_REASONS = 6


def verdicts(rows: Sequence[Row], extras: Extras) -> str:
    """Return what was decided, by what the folder holds; nothing where nothing was."""
    parts = [
        "" if extras.claims is None else _claims(extras.claims),
        "" if extras.comparison is None else _comparison(extras.comparison),
        "" if extras.selftest is None else _selftest(extras.selftest),
    ]
    if any(row.kind == PAIR for row in rows) and extras.selftest is None:
        found = compared(rows, extras.verdict)
        parts.append(_several(rows) if found is None else _pairs(found))
    return "".join(parts)


def _claims(report: Report) -> str:
    words_of_all = [one.outcome.verdict for one in report.verdicts]
    heads = (Head("claim"), Head("verdict"), Head("what was found here"), Head("published"))
    ordered = sorted(report.verdicts, key=lambda one: one.order)
    lines = tuple(
        (
            Cell(one.claim, one.id),
            Cell(one.outcome.verdict + (" (close)" if one.outcome.close else "")),
            Cell(one.outcome.figures),
            Cell(one.published or "-"),
        )
        for one in ordered
    )
    caption = findings_memory.of_claims(words_of_all)
    told = [f"Close: near the boundary of its rule; another run may say otherwise. {_reused(report)}"]
    told += [f"Not part of --quick: {', '.join(report.left_out)}."] if report.left_out else []
    parts = ["<h3>Claims</h3>", table(Table(caption, heads, lines, frozenset({1, 2, 3}))), listed(told, NOTES)]
    return "".join([*parts, *(_explained(one) for one in ordered)])


def _reused(report: Report) -> str:
    again = f", and {units.count(report.reused)} rows of runs before it were used again" if report.reused else ""
    return f"{units.count(report.measured)} trials were measured in this run{again}."


def _explained(one: Any) -> str:
    outcome = one.outcome
    facts = (("Source", one.source), ("Tested", one.about), ("Region", outcome.region), ("Rule", outcome.reason))
    inside = paragraph(claims.explained(one)) + listed(f"{name}: {told}" for name, told in facts)
    traces = [str(outcome.values[name]) for name in TRACES if outcome.values.get(name)]
    return folded(f"{one.id}: {outcome.verdict}", inside + "".join(map(block, traces)))


def _pairs(found: Pairs) -> str:
    """Show one comparison: the verdict, what each side took, and what the pairs were."""
    decision, tally = found.shown.decision, found.shown.tally
    parts = ["<h3>Comparison in pairs</h3>"]
    if found.stored:
        parts.append(paragraph(f"{WORDS[decision.verdict].capitalize()}: {decision.why}."))
    else:
        parts.append(paragraph(f"No verdict is stored here: the comparison had not ended. So far: {decision.why}."))
    if found.lines:
        heads = tuple(map(Head, ("metric", "A", "B", "change", HEADS.interval, HEADS.detectable, "note")))
        lines = tuple(
            tuple(map(Cell, (one.metric, one.a, one.b, one.change, one.interval, one.detectable, one.note)))
            for one in found.lines
        )
        parts.append(table(Table(f"A: {found.a}; B: {found.b}", heads, lines, frozenset({6}))))
    lost = tally.failed_a + tally.failed_b + tally.dropped
    told = [found.where, f"{_pairs_told(len(tally.good))} good, {units.count(lost)} left out."]
    reasons = sorted(tally.reasons.items(), key=lambda item: -item[1])[:_MOST_REASONS]
    told += [f"Left out {units.count(number)} times: {reason}" for reason, number in reasons]
    told.append("A, B: medians over all turns. Change: the mean over the pairs, with its 95 % interval.")
    return "".join([*parts, listed(filter(None, told), NOTES)])


def _several(rows: Sequence[Row]) -> str:
    """Count the pairs of each comparison where there are several: a self-test that did not end."""
    lines = tuple(
        (Cell(name), Cell(units.count(len(own))), Cell(units.count(sum(row.valid for row in own))))
        for name, own in workloads(rows).items()
    )
    heads = (Head("comparison"), Head("pairs"), Head("good"))
    return "<h3>Comparisons in pairs</h3>" + table(Table("Pairs without a stored verdict", heads, lines))


def _pairs_told(number: int) -> str:
    return "1 pair" if number == 1 else f"{units.count(number)} pairs"


def _selftest(found: Mapping[str, Any]) -> str:
    """Show what a self-test found: its text has parts, each with a head and lines below it."""
    head, *parts = selftest.text(found).split("\n\n")
    markup = ["<h3>Self-test</h3>", listed(head.splitlines()[1:])]
    for part in parts:
        first, *below = part.splitlines()
        markup.append(
            paragraph(first) + listed(below) if below and below[0].startswith(" ") else listed([first, *below])
        )
    return "".join(markup)


def _comparison(found: Mapping[str, Any]) -> str:
    """Show what ``inflight compare`` left here."""
    sides = (found.get("base"), found.get("head"))
    names = [str(side.get("name") or side.get("path") or "") for side in sides if isinstance(side, Mapping)]
    told = [str(found.get(key) or "") for key in ("headline", "why")]
    between = f"Between {words.listed(names)}." if len(names) == 2 and all(names) else ""
    return "<h3>Comparison of stored runs</h3>" + listed(filter(None, [*told, between]))
