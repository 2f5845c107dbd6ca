"""The verdicts of a page: claims, a comparison, a self-test, two stored runs; whatever the folder holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import section, words
from bench.present.markup import NOTES, block, folded, listed, paragraph, table
from bench.present.table import Table
from bench.report.comparison import Compared, compared
from bench.report.files import Extras
from bench.studies.claims import show as claims
from bench.studies.claims.verdicts import Report, Verdict
from bench.studies.compare import read
from bench.studies.compare.show import HEADS, WORDS, placebo_told
from bench.studies.selftest import show as selftest

_MOST_REASONS = 6


def verdicts(rows: Sequence[Row], extras: Extras) -> str:
    """Return what was decided, by what the folder holds; nothing where nothing was."""
    parts = [
        "" if extras.claims is None else _claims(extras.claims),
        "" if extras.comparison is None else _comparison(extras.comparison),
        "" if extras.selftest is None else _selftest(extras.selftest),
    ]
    if any(row.of_comparison for row in rows) and extras.selftest is None:
        found = compared(rows, extras.verdict)
        parts.append(_several(rows) if found is None else _compared(found))
    return "".join(parts)


def _claims(report: Report) -> str:
    ordered = (one for some in claims.parts(report).values() for one in some)
    return "".join(["<h3>Claims</h3>", section.html(claims.section(report)), *map(_explained, ordered)])


def _explained(one: Verdict) -> str:
    inside = paragraph(one.explanation) + listed(f"{name}: {told}" for name, told in claims.facts(one).items())
    return folded(f"{one.id}: {one.word}", inside + "".join(map(block, one.traces.values())))


def _compared(found: Compared) -> str:
    """Show one comparison: the verdict, what each side took, and what the blocks were."""
    decision, tally = found.shown.decision, found.shown.tally
    parts = ["<h3>Comparison</h3>"]
    if found.stored:
        parts.append(paragraph(f"{WORDS[decision.verdict].capitalize()}: {decision.why}."))
    else:
        parts.append(paragraph(f"No verdict is stored here: the comparison had not ended. So far: {decision.why}."))
    if found.lines:
        heads = ("metric", "A", "B", "change", HEADS.interval, HEADS.detectable, "note")
        lines = tuple(
            (one.metric, one.a, one.b, one.change, one.interval, one.detectable, one.note) for one in found.lines
        )
        parts.append(table(Table(f"A: {found.a}; B: {found.b}", heads, lines)))
    placebo = placebo_told(decision.controls)
    told = [f"{placebo[0].upper()}{placebo[1:]}.", found.where]
    told += [f"{_blocks_told(len(tally.good))} good, {units.count(tally.lost)} left out."]
    reasons = sorted(tally.reasons.items(), key=lambda item: -item[1])[:_MOST_REASONS]
    told += [f"Left out {units.count(number)} times: {reason}" for reason, number in reasons]
    told.append("A, B: medians over the blocks. Change: the mean over the blocks, with its 95 % interval.")
    return "".join([*parts, listed(filter(None, told), NOTES)])


def _several(rows: Sequence[Row]) -> str:
    """Count the blocks of each comparison where there are several: a self-test that did not end."""
    counted = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    lines = tuple(
        (name, units.count(len(own)), units.count(sum(block.good for block in own))) for name, own in counted.items()
    )
    heads = ("comparison", "blocks", "good")
    return "<h3>Comparisons</h3>" + table(Table("Blocks without a stored verdict", heads, lines))


def _blocks_told(number: int) -> str:
    return "1 block" if number == 1 else f"{units.count(number)} blocks"


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
