"""What the blocks of a folder say, from its rows; the verdict itself as it was stored, for it may know more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import page, words
from bench.report.files import Extras
from bench.report.page_plots import Plot, of_figure
from bench.studies.clients import plot as plot_clients
from bench.studies.compare import plot as plot_comparison
from bench.studies.compare import read, show
from bench.studies.compare.decide import DESIGNED, Rule
from bench.studies.compare.read import Block
from bench.studies.compare.show import Line, Shown
from bench.studies.selftest import plot as plot_selftest


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison: the sides, where they were compared, what the blocks say, and whether a verdict was stored."""

    a: str
    b: str
    where: str
    shown: Shown
    lines: tuple[Line, ...]
    stored: bool


def compared(rows: Sequence[Row], stored: Mapping[str, Any] | None) -> Compared | None:
    """Return the comparison; None where there is none, or several, as in a self-test."""
    if len(found := read.comparisons(rows)) != 1:
        return None
    (own,) = (read.blocks(each) for each in found.values())
    if not own:
        return None
    rule = rule_of(stored)
    decision = read.decided(own, rule)
    is_stored = stored is not None and str(stored.get("verdict")) in show.WORDS
    if stored is not None and is_stored:
        decision = replace(decision, verdict=stored["verdict"], why=str(stored.get("why")), final=True)
    shown = Shown(decision, own, rule, None)
    lines = tuple(show.lines(shown)) if shown.tally.good else ()
    a, b = (words.plain(read.label(own[0], side), 80) for side in "AB")
    return Compared(a, b, _where(own[0]), shown, lines, is_stored)


def plots(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> list[Plot]:
    """Draw the blocks of a comparison, or those of a self-test; nothing without a good block."""
    found = {name: read.blocks(own) for name, own in read.comparisons(rows).items()}
    if not found:
        return []
    with page.settings():
        if extras.selftest is not None:
            drawn = {
                "selftest": plot_selftest.draw(extras.selftest, found, machine),
                "clients": plot_clients.draw(rows, machine),
            }
            return [of_figure(name, figure) for name, figure in drawn.items() if figure is not None]
        one = compared(rows, extras.verdict)
        if one is None:
            return []
        figure = plot_comparison.draw(one.shown.blocks, one.shown.decision, one.shown.rule, machine)
        return [] if figure is None else [of_figure("comparison", figure)]


def rule_of(stored: Mapping[str, Any] | None) -> Rule:
    """Return the rule by which the blocks were judged: the designed one, with the looks that the time allowed."""
    try:
        looks = tuple((stored or {}).get("looks") or DESIGNED.looks)
        kept = DESIGNED.shares[: len(looks) - 1]
        return replace(DESIGNED, looks=looks, shares=(*kept, 1 - fsum(kept)))
    except (ValueError, TypeError):
        return DESIGNED


def _where(block: Block) -> str:
    parts = [
        units.latency(str(read.workload(block)["latency"])),
        *_same(block, "in_flight"),
        *_same(block, "connection"),
    ]
    return words.plain(", ".join(parts)) + "."


def _same(block: Block, key: str) -> list[str]:
    """Return what both sides have in common of a setting; nothing where they differ, or it has its default."""
    values = {read.arm(block, side).get(key) for side in "AB"} - {None}
    if len(values) != 1:
        return []
    (value,) = values
    return [words.in_flight(value) if isinstance(value, int) else f"{value} connections"]
