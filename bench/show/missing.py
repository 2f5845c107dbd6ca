"""Which trials do not count, and why: one table for all studies; and what every validity check found."""

from collections import Counter
from collections.abc import Sequence

from inflight.bench import units
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Cell, Line, Table
from inflight.bench.report.check_words import MEANINGS
from inflight.bench.rows.files import Row

MAX_LINES = 12
"""Maximum number of reasons that have a line; the others are counted."""
MAX_NAMES = 4
NOTHING = "No valid trial: nothing here supports a conclusion."
EXCLUDED = "A trial with a failed check is excluded from all findings. Its row stays in the raw data."


def coverage(rows: Sequence[Row]) -> str:
    """Say how many trials are valid."""
    valid = [row for row in rows if row.valid]
    rounds = len({(row.run, row.round) for row in valid})
    counted = f"Valid trials: {units.count(len(valid))} of {units.count(len(rows))}, rounds: {rounds}."
    return counted if valid else " ".join(filter(None, [counted, NOTHING, first_reason(rows)]))


def first_reason(rows: Sequence[Row]) -> str:
    """Return the most frequent reason why trials do not count, with an example; empty if all count."""
    found = table(rows)
    if found is None:
        return ""
    kind, _, _, detail = found.cells[0]
    return f"{kind}: {words.plain(detail, 120)}." if detail else f"{kind}."


def table(rows: Sequence[Row]) -> Table | None:
    """Return the trials that do not count by their reason, the most frequent first; None if all count."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for why in (row.invalid_reasons or ["no reason given"]) if not row.valid else ():
            kind, _, detail = why.partition(": ")
            found.setdefault(kind, []).append((row.strategy, detail))
    ordered = sorted(found.items(), key=lambda one: -len(one[1]))
    lines: list[Line] = [
        (
            words.plain(kind, 60),
            units.count(len(cases)),
            ", ".join(words.first([words.name(name) for name in dict.fromkeys(name for name, _ in cases)], MAX_NAMES)),
            words.plain(cases[0][1], 160),
        )
        for kind, cases in ordered[:MAX_LINES]
    ]
    more = (f"More reasons in the rows: {len(ordered) - MAX_LINES}.",) if len(ordered) > MAX_LINES else ()
    return Table("Not counted", ("reason", "trials", "of", "such as"), tuple(lines), more) if lines else None


def section(rows: Sequence[Row]) -> Section:
    """Return the trials that do not count, and every check with the number of its verdicts."""
    verdicts: dict[str, Counter[str]] = {}
    for row in rows:
        for check in row.checks:
            verdicts.setdefault(check.name, Counter())[check.verdict] += 1
    ordered = sorted(verdicts.items(), key=lambda one: (-one[1]["failed"], not one[1]["passed"]))
    counted: list[Line] = [
        (
            Cell(f"{_sign(counts)} {words.plain(name, 80)}", MEANINGS.get(name, ""), red=counts["failed"] > 0),
            *(units.count(counts[verdict]) for verdict in ("passed", "failed", "not applicable")),
        )
        for name, counts in ordered
    ]
    checks = Table("Validity checks", ("check", "passed", "failed", "not applicable"), tuple(counted))
    tables = tuple(one for one in (table(rows), checks if counted else None) if one)
    return Section("", tables, (EXCLUDED,) if tables and not all(row.valid for row in rows) else ())


def _sign(counts: Counter[str]) -> str:
    return "✗" if counts["failed"] else "✓" if counts["passed"] else "–"  # noqa: RUF001  (a dash: neither)
