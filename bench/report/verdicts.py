"""What was decided in a run, by what its folder holds: claims, a comparison, a self-test, two stored runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any

from bench.core import units
from bench.core.rows import Row
from bench.present import words
from bench.present.section import Detail, Section
from bench.present.table import Table
from bench.report.files import Extras
from bench.report.studies import Named
from bench.studies.claims import show as claims
from bench.studies.claims.verdicts import Report, Verdict
from bench.studies.clients import plot as plot_clients
from bench.studies.compare import plot as plot_comparison
from bench.studies.compare import read, show
from bench.studies.compare.decide import DESIGNED, Rule
from bench.studies.compare.show import Shown
from bench.studies.selftest import plot as plot_selftest
from bench.studies.selftest import show as selftest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sections(rows: Sequence[Row], extras: Extras) -> list[Section]:
    """Return what was decided, by what the folder holds."""
    return [
        *([] if extras.claims is None else [_claims(extras.claims)]),
        *([] if extras.comparison is None else [_stored(extras.comparison)]),
        *([_selftest(extras.selftest)] if extras.selftest is not None else _comparisons(rows, extras.verdict)),
    ]


def plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> Iterator[Named]:
    """Draw the blocks of a comparison, or those of a self-test; nothing without a good block."""
    if any(row.of_comparison for row in rows):
        for name, figure in _plots(rows, machine, extras):
            if figure is not None:
                yield name, figure


def _plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> "Iterator[tuple[str, Figure | None]]":
    if extras.selftest is not None:
        found = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
        yield "selftest", plot_selftest.draw(extras.selftest, found, machine)
        yield "clients", plot_clients.draw(rows, machine)
    elif (one := _compared(rows, extras.verdict)) is not None:
        yield "comparison", plot_comparison.draw(one.blocks, one.decision, one.rule, machine)


def _claims(report: Report) -> Section:
    """Return the claims, and on a click what each verdict rests on."""
    ordered = (one for some in claims.parts(report).values() for one in some)
    return replace(claims.section(report), details=tuple(map(_claim, ordered)))


def _claim(one: Verdict) -> Detail:
    told = (one.explanation, *(f"{name}: {text}" for name, text in claims.facts(one).items()))
    return Detail(f"{one.id}: {one.word}", told, tuple(one.traces.values()))


# Comparisons


def _comparisons(rows: Sequence[Row], stored: Mapping[str, Any] | None) -> list[Section]:
    """Show one comparison; count the blocks of each where there are several: a self-test that did not end."""
    if (found := _compared(rows, stored)) is not None:
        return [_comparison(found, is_stored=_is_verdict(stored))]
    counted = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    lines = tuple(
        (name, units.count(len(own)), units.count(sum(block.good for block in own))) for name, own in counted.items()
    )
    table = Table("Blocks without a stored verdict", ("comparison", "blocks", "good"), lines)
    return [Section("", (table,))] if lines else []


def _compared(rows: Sequence[Row], stored: Mapping[str, Any] | None) -> Shown | None:
    """Return the comparison, with the verdict that was stored; None where there is none, or several."""
    found = [read.blocks(own) for own in read.comparisons(rows).values()]
    if len(found) != 1 or not found[0]:
        return None
    rule = rule_of(stored)
    decision = read.decided(found[0], rule)
    if stored is not None and _is_verdict(stored):
        decision = replace(decision, verdict=stored["verdict"], why=str(stored.get("why")), final=True)
    return Shown(decision, found[0], rule, None)


def _is_verdict(stored: Mapping[str, Any] | None) -> bool:
    return stored is not None and str(stored.get("verdict")) in show.WORDS


def rule_of(stored: Mapping[str, Any] | None) -> Rule:
    """Return the rule by which the blocks were judged: the designed one, with the looks that the time allowed."""
    try:
        looks = tuple((stored or {}).get("looks") or DESIGNED.looks)
        kept = DESIGNED.shares[: len(looks) - 1]
        return replace(DESIGNED, looks=looks, shares=(*kept, 1 - fsum(kept)))
    except (ValueError, TypeError):
        return DESIGNED


def _comparison(found: Shown, *, is_stored: bool) -> Section:
    decision, tally = found.decision, found.tally
    a, b = (words.plain(read.label(found.blocks[0], side), 80) for side in "AB")
    heads = ("metric", "A", "B", "change", "95 % interval", "detectable", "note")
    lines = (
        (one.metric, one.a, one.b, one.change, one.interval, one.detectable, one.note) for one in show.lines(found)
    )
    tables = (Table(f"A: {a}; B: {b}", heads, tuple(lines)),) if tally.good else ()
    reasons = sorted(tally.reasons.items(), key=lambda item: -item[1])[:6]
    told = (
        "" if is_stored else "No verdict is stored here: the comparison had not ended.",
        f"{show.placebo_told(decision.controls)}.",
        f"{units.count(len(tally.good))} good blocks, {units.count(tally.lost)} left out.",
        *(f"Left out {units.count(number)} times: {reason}" for reason, number in reasons),
        "A, B: medians over the blocks. Change: the mean over the blocks, with its 95 % interval.",
    )
    return Section(f"{show.WORDS[decision.verdict]}: {decision.why}", tables, tuple(filter(None, told)))


def _selftest(found: Mapping[str, Any]) -> Section:
    return Section("", details=(Detail("Self-test", code=(selftest.text(found),), is_open=True),))


def _stored(found: Mapping[str, Any]) -> Section:
    """Show what ``inflight compare`` left here."""
    sides = (found.get("base"), found.get("head"))
    names = [str(side.get("name") or side.get("path") or "") for side in sides if isinstance(side, Mapping)]
    between = f"Between {words.listed(names)}." if len(names) == 2 and all(names) else ""
    told = (str(found.get("why") or ""), between)
    return Section(str(found.get("headline") or "Comparison of stored runs"), notes=tuple(filter(None, told)))
