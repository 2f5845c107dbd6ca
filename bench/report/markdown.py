"""A run as Markdown, for a pull request or the summary of a CI job: answer, tables, validity, how it was made. Pure.

All that rows and machines hold is escaped. GitHub takes at most 65,536 characters of a comment, so each part has room
for so many, and says how many lines it leaves out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import cells as c
from bench.core import units
from bench.core.rows import Row
from bench.present import notes, provenance, section, words
from bench.present.markdown import MOST_TEXT, escaped, escaped_in_html
from bench.present.notes import why_red
from bench.report import check_words
from bench.report.answer import answer
from bench.report.grids import grids
from bench.report.validity import judged
from bench.studies.claims import show as claims
from bench.studies.claims.verdicts import Report
from bench.studies.decision_map import show as map_table
from bench.studies.throughput import show as throughput

MOST = 60_000
"""So many characters at most, in all."""
_ROOM_FOR_TABLES, _ROOM_FOR_GRIDS, _ROOM_FOR_CLAIMS, _ROOM_FOR_RED = 22_000, 10_000, 12_000, 6_000
_MOST_REASONS = 5


def _disturbed(machine: Mapping[str, Any]) -> list[str]:
    return [words.neighbour(str(kind))] if (kind := machine.get("neighbour")) else []


def markdown(rows: Sequence[Row], machine: Mapping[str, Any], report: Report | None = None) -> str:
    """Return the report of a run; ``report`` is of its claims, if it tested any."""
    parts = [
        f"## inflight: {escaped(experiment(rows, machine), 60)}",
        "\n".join(f"- {escaped(sentence)}" for sentence in [*_disturbed(machine), *answer(rows)]),
        "" if report is None else _within(section.markdown(claims.section(report)), _ROOM_FOR_CLAIMS),
        _tables(rows, machine),
        _grids(rows),
        _validity(rows),
    ]
    return _within("\n\n".join(part for part in parts if part), MOST) + "\n"


def experiment(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the experiment's name, which the run's name ends with, behind the time and the host."""
    run = max((row.run for row in rows), default="nothing was run")
    _, found, name = run.partition(f"-{machine.get('host')}-")
    return name if found and name else run.rpartition("-")[2]


def _tables(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the headline table with how it was made; of rows in which no strategy crawled, the latter alone."""
    # Between backticks nothing can be escaped, so the words of the command are made harmless before.
    told = dict(machine) | {"command": [words.plain(str(word)) for word in machine.get("command") or ()]}
    decided = map_table.of_rows(rows)
    if decided is None and c.crawled(rows):
        return _within(headline(rows, told), _ROOM_FOR_TABLES)
    where = provenance.markdown(rows, told) if rows else ""
    maps = [] if decided is None else map(section.table_markdown, map_table.grids(decided))
    return _within("\n\n".join([where, *maps]), _ROOM_FOR_TABLES)


def headline(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the section of throughput, with how it was made, where and when."""
    red = "\n".join(f"- {escaped(sentence, MOST_TEXT)}" for sentence in notes.about_red(rows))
    made = provenance.markdown(rows, machine)
    return "\n\n".join(filter(None, [made, section.markdown(throughput.section(rows)), red]))


def _grids(rows: Sequence[Row]) -> str:
    """Return the tables of memory, limits and probes; folded where the timed crawls come first."""
    found = grids(rows)
    if not found:
        return ""
    text = _within("\n\n".join(section.table_markdown(grid) for grid in found), _ROOM_FOR_GRIDS)
    is_timed = c.is_timed(rows)
    return _folded("; ".join(grid.title for grid in found), text) if is_timed else text


def _validity(rows: Sequence[Row]) -> str:
    """Say how many trials are valid; folded below, which checks are red how often and what that means."""
    if not rows:
        return ""
    bad = [row for row in rows if not row.valid]
    if not bad:
        return f"**All {units.count(len(rows))} trials are valid.**"
    head = f"**{units.count(len(rows) - len(bad))} of {units.count(len(rows))} trials are valid.**"
    lines = [*_red_checks(rows), *_not_ended(bad)]
    return f"{head}\n\n{_folded('Why the others are not', _within(chr(10).join(lines), _ROOM_FOR_RED))}"


def _red_checks(rows: Sequence[Row]) -> list[str]:
    return [
        f"- **{escaped(one.name)}**: {units.count(one.failed)} failed, {units.count(one.passed)} "
        f"passed, {units.count(one.not_applicable)} not applicable. "
        f"{escaped(check_words.MEANINGS.get(one.name, ''))}".rstrip()
        for one in judged(rows)
        if one.red
    ]


def _not_ended(bad: Sequence[Row]) -> list[str]:
    reasons = Counter(why for row in bad if row.status != "ok" for why in why_red(row))
    lines = [f"- {escaped(why)} ({_trials(number)})" for why, number in reasons.most_common(_MOST_REASONS)]
    return [*lines, f"- {len(reasons) - len(lines)} more reasons"] if len(reasons) > len(lines) else lines


def _trials(number: int) -> str:
    return "1 trial" if number == 1 else f"{units.count(number)} trials"


def _folded(summary: str, text: str) -> str:
    """Return what is shown on a click; the empty lines let GitHub read Markdown inside of HTML."""
    return f"<details><summary>{escaped_in_html(summary, 300)}</summary>\n\n{text}\n\n</details>"


def _within(text: str, most: int) -> str:
    """Return whole lines up to so many characters, and say how many lines are left out."""
    if len(text) <= most:
        return text
    lines, kept, size = text.split("\n"), 0, 0
    while size + len(lines[kept]) + 1 <= most - 100:
        size += len(lines[kept]) + 1
        kept += 1
    left = len(lines) - kept
    told = "line is" if left == 1 else "lines are"
    return "\n".join([*lines[:kept], "", f"*{units.count(left)} more {told} left out here.*"])
