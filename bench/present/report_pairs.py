"""What the pairs of a folder say, from its rows; the verdict itself as it was stored, for it may know more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from bench.analyse import pairs
from bench.analyse.decide import DESIGNED, Decision, Rule, decide
from bench.present import page, plot_clients, plot_pairs, plot_selftest, units, verdict, words
from bench.present.report_files import Extras
from bench.present.report_plots import Plot, of_figure
from bench.present.verdict import Line, Shown
from bench.rows import Row

PAIR = "pair"


@dataclass(frozen=True, slots=True)
class Pairs:
    """One comparison: the sides, where they were compared, what the pairs say, and whether a verdict was stored."""

    a: str
    b: str
    where: str
    shown: Shown
    lines: tuple[Line, ...]
    stored: bool


def workloads(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the pairs of each comparison, by its name."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.kind == PAIR:
            found.setdefault(row.workload["id"].partition("/")[2], []).append(row)
    return found


def compared(rows: Sequence[Row], stored: Mapping[str, Any] | None) -> Pairs | None:
    """Return the comparison; None where there is none, or several, as in a self-test."""
    if len(found := workloads(rows)) != 1:
        return None
    (own,) = found.values()
    rule = _rule(stored)
    decision = _decision(own, rule)
    is_stored = stored is not None and str(stored.get("verdict")) in verdict.WORDS
    if stored is not None and is_stored:
        decision = replace(decision, verdict=stored["verdict"], why=str(stored.get("why")), final=True)
    shown = Shown(decision, pairs.tally(own), rule, None)
    lines = tuple(verdict.lines(shown)) if shown.tally.good else ()
    workload = own[0].workload
    labels = [words.plain(str(workload[side].get("label")), 80) for side in "ab"]
    return Pairs(labels[0], labels[1], _where(workload), shown, lines, is_stored)


def plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> list[Plot]:
    """Draw the pairs of a comparison, or those of a self-test; nothing without a good pair."""
    found = workloads(rows)
    if not found:
        return []
    with page.settings():
        if extras.selftest is not None:
            planted = {name: own for name, own in found.items() if name.startswith(plot_selftest.PLANTED)}
            drawn = {
                "selftest": plot_selftest.draw(extras.selftest, found.get("aa", []), planted, machine),
                "clients": plot_clients.draw(rows, machine),
            }
            return [of_figure(name, figure) for name, figure in drawn.items() if figure is not None]
        one = compared(rows, extras.verdict)
        if one is None:
            return []
        (own,) = found.values()
        figure = plot_pairs.draw(own, one.shown.decision, one.shown.rule, machine)
        return [] if figure is None else [of_figure("pairs", figure)]


def _decision(own: Sequence[Row], rule: Rule) -> Decision:
    tally = pairs.tally(own)
    controls = pairs.series([pairs.controls(row) for row in tally.good])
    lost = (tally.failed_a, tally.failed_b, tally.dropped, tally.mostly_for)
    return decide(pairs.gated(tally.good), controls, rule, *lost)


def _rule(stored: Mapping[str, Any] | None) -> Rule:
    """Return the rule by which the pairs were judged: the designed one, with the looks that the time allowed."""
    try:
        looks = tuple((stored or {}).get("looks") or DESIGNED.looks)
        kept = DESIGNED.shares[: len(looks) - 1]
        return replace(DESIGNED, looks=looks, shares=(*kept, 1 - fsum(kept)))
    except (ValueError, TypeError):
        return DESIGNED


def _where(workload: Mapping[str, Any]) -> str:
    parts = [units.latency(str(workload["latency"])), *_same(workload, "in_flight"), *_same(workload, "connection")]
    return words.plain(", ".join(parts)) + "."


def _same(workload: Mapping[str, Any], key: str) -> list[str]:
    """Return what both sides have in common of a setting; nothing where they differ, or do not say."""
    values = {workload[side].get(key) for side in "ab"} - {None}
    if len(values) != 1:
        return []
    (value,) = values
    return [words.in_flight(value) if isinstance(value, int) else f"{value} connections"]
