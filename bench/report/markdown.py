"""A run as Markdown, for a pull request or the summary of a CI job: answer, tables, validity, how it was made. Pure.

All that rows and machines hold is escaped. GitHub takes at most 65,536 characters of a comment, so each part has room
for so many, and says how many lines it leaves out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import notes, provenance, section, words
from bench.present.markdown import MOST_TEXT, escaped, escaped_in_html
from bench.present.notes import why_red
from bench.present.section import Section
from bench.present.table import Table
from bench.report import check_words
from bench.report.answer import answer
from bench.report.terminal import shown
from bench.report.validity import judged
from bench.studies.claims import pages
from bench.studies.claims.rules import Verdict
from bench.studies.claims.show import of_claims, parted

MOST = 60_000
"""So many characters at most, in all."""
_ROOM_FOR_SECTIONS, _ROOM_FOR_CLAIMS, _ROOM_FOR_RED = 32_000, 12_000, 6_000
_MOST_REASONS = 5


def _disturbed(machine: Mapping[str, Any]) -> list[str]:
    return [words.neighbour(str(kind))] if (kind := machine.get("neighbour")) else []


def markdown(rows: Sequence[Row], machine: Mapping[str, Any], verdicts: Sequence[Verdict] | None = None) -> str:
    """Return the report of a run; ``verdicts`` are those of its claims, if it tested any."""
    parts = [
        f"## inflight: {escaped(experiment(rows, machine), 60)}",
        "\n".join(f"- {escaped(sentence)}" for sentence in [*_disturbed(machine), *answer(rows)]),
        _claims(verdicts or ()),
        _sections(rows, machine),
        _validity(rows),
    ]
    return _within("\n\n".join(part for part in parts if part), MOST) + "\n"


def experiment(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the experiment's name, which the run's name ends with, behind the time and the host."""
    run = max((row.run for row in rows), default="nothing was run")
    _, found, name = run.partition(f"-{machine.get('host')}-")
    return name if found and name else run.rpartition("-")[2]


def headline(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the first section, with how it was made, where and when, and which trials are red."""
    red = "\n".join(f"- {escaped(sentence, MOST_TEXT)}" for sentence in notes.about_red(rows))
    made = provenance.markdown(rows, machine)
    return "\n\n".join(filter(None, [made, *map(section.markdown, shown(rows)[:1]), red]))


def _sections(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return how the run was made, the first section, and the others folded."""
    if not rows:
        return ""
    # Between backticks nothing can be escaped, so the words of the command are made harmless before.
    told = dict(machine) | {"command": [words.plain(str(word)) for word in machine.get("command") or ()]}
    found = shown(rows)
    texts = [_within(section.markdown(one), _ROOM_FOR_SECTIONS // len(found)) for one in found]
    folded = [_folded(_name(one), text) for one, text in zip(found[1:], texts[1:], strict=True)]
    return "\n\n".join([provenance.markdown(rows, told), *texts[:1], *folded])


def _name(one: Section) -> str:
    return one.title or "; ".join(table.title for table in one.tables)


def _claims(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    tested, shown = parted(sorted(verdicts, key=lambda verdict: verdict.order))
    head = f"{of_claims((one.word for one in tested), len(shown))}."
    lines = tuple((one.claim, pages.word(one), one.outcome.figures) for one in (*tested, *shown))
    table = section.table_markdown(Table("", ("claim", "verdict", "what was measured"), lines))
    return _within(f"{head}\n\n{table}", _ROOM_FOR_CLAIMS)


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
