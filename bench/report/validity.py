"""The validity panel of a page: every check with what it means and how often it was green or red, and every loss."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.core import units
from bench.core.rows import Row
from bench.present import words
from bench.present.markup import folded, listed, paragraph, table
from bench.present.table import Cell, Line, Table
from bench.report.check_words import MEANINGS

MOST_RED = 12
"""So many red trials of a check, and so many reasons, are shown; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One check over all rows: how many passed or had nothing to check, and the red ones with their detail."""

    name: str
    passed: int
    not_applicable: int
    red: tuple[tuple[str, str], ...]
    """(trial, detail)"""

    @property
    def failed(self) -> int:
        """How many rows failed."""
        return len(self.red)


def panel(rows: Sequence[Row]) -> str:
    """Return the panel: how many trials are valid, all checks, the red ones in detail, and what did not end well."""
    if not rows:
        return paragraph("No trial has been run, so nothing has been checked.")
    valid = sum(row.valid for row in rows)
    parts = [paragraph(f"{units.count(valid)} of {_trials(len(rows))} valid. {_RULE}")]
    found = judged(rows)
    if found:
        parts.append(table(_checks(found)))
    parts += [_in_detail(one) for one in found if one.red]
    if any(row.status != "ok" for row in rows):
        parts.append(table(_endings(rows)))
    return "".join(parts)


_RULE = "A trial with a red check is kept and shown, and is part of no conclusion."


def judged(rows: Sequence[Row]) -> list[Judged]:
    """Count the verdicts of each check: those with red rows first, then by how many passed."""
    verdicts: dict[str, Counter[str]] = {}
    red: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for check in row.checks:
            verdicts.setdefault(check.name, Counter())[check.verdict] += 1
            if check.verdict == "failed":
                red.setdefault(check.name, []).append((row.trial, check.detail))
    found = [
        Judged(name, counts["passed"], counts["not applicable"], tuple(red.get(name, ())))
        for name, counts in verdicts.items()
    ]
    return sorted(found, key=lambda one: (-one.failed, not one.passed))


def _checks(found: Sequence[Judged]) -> Table:
    heads = ("check", "green", "red", "not applicable")
    lines = tuple(
        (
            Cell(f"{_sign(one)} {words.plain(one.name, 80)}", MEANINGS.get(one.name, ""), red=bool(one.red)),
            units.count(one.passed),
            Cell(units.count(one.failed), red=bool(one.red)),
            units.count(one.not_applicable),
        )
        for one in found
    )
    return Table("Every check, and how many trials passed it", heads, lines)


def _sign(one: Judged) -> str:
    return "✗" if one.red else "✓" if one.passed else "–"  # noqa: RUF001  (a dash: neither)


def _in_detail(one: Judged) -> str:
    shown = [f"{words.plain(trial, 200)}: {words.plain(detail, 300)}" for trial, detail in one.red[:MOST_RED]]
    more = [f"{_trials(one.failed - MOST_RED, more=True)}; the rows have them all."] if one.failed > MOST_RED else []
    return folded(f"Red: {words.plain(one.name, 80)}, {_trials(one.failed)}", listed([*shown, *more]), is_open=True)


def _endings(rows: Sequence[Row]) -> Table:
    """Count the trials that did not end well, by their status and reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.status != "ok":
            reasons.setdefault((row.status, row.reason or "no reason given"), []).append(row.strategy)
    ordered = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    lines: list[Line] = [
        (status, Cell(units.count(len(who)), red=status != "skipped"), _names(who), reason)
        for (status, reason), who in ordered[:MOST_RED]
    ]
    if rest := ordered[MOST_RED:]:
        number = units.count(sum(len(who) for _, who in rest))
        lines.append(("more", number, "", f"{units.count(len(rest))} other reasons"))
    heads = ("ended as", "trials", "of", "reason")
    return Table("Trials without a right answer", heads, tuple(lines))


def _names(who: Sequence[str]) -> str:
    names = [words.plain(name, 30) for name in dict.fromkeys(who)]
    return ", ".join(names[:4]) + (f" and {units.count(len(names) - 4)} more" if len(names) > 4 else "")


def _trials(number: int, *, more: bool = False) -> str:
    return f"{units.count(number)} {'more ' if more else ''}{'trial' if number == 1 else 'trials'}"
