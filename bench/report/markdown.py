"""A run as Markdown, for a pull request or the summary of a CI job: answer, sections, validity, provenance. Pure.

All text of rows and machines is escaped. GitHub accepts at most 65,536 characters per comment, so each part has a
limit, and says how many lines it leaves out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.present import section, words
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import Section, folded
from inflight.bench.report import provenance
from inflight.bench.report.answer import answer
from inflight.bench.report.studies import Studies
from inflight.bench.report.terminal import shown
from inflight.bench.rows.files import Row
from inflight.bench.show import missing

MOST = 60_000
"""Maximum number of characters of a report."""
_ROOM_FOR_SECTIONS, _ROOM_FOR_VERDICTS, _ROOM_FOR_INVALID = 32_000, 12_000, 6_000


def markdown(rows: Sequence[Row], machine: Mapping[str, Any], decided: Sequence[Section] = ()) -> str:
    """Return the report of a run, with its decisions (``verdicts.sections``)."""
    disturbed = [words.neighbour(str(kind))] if (kind := machine.get("neighbour")) else []
    run = max((row.run for row in rows), default="nothing was run")
    found = Studies([row for row in rows if not (decided and row.of_comparison)])
    parts = [
        f"## inflight: {escaped(provenance.experiment(run, machine), 60)}",
        "\n".join(f"- {escaped(sentence)}" for sentence in [*disturbed, *answer(found, decided, rows)]),
        *(_within(section.markdown(one), _ROOM_FOR_VERDICTS // len(decided)) for one in decided),
        *_sections(found, machine),
        _validity(rows),
    ]
    return _within("\n\n".join(part for part in parts if part), MOST) + "\n"


def headline(rows: Sequence[Row], machine: Mapping[str, Any], found: Sequence[Section]) -> str:
    """Return some sections of a run, with its command, machine and date, and its invalid trials."""
    made, uncounted = provenance.markdown(rows, machine), missing.table(rows)
    invalid = section.table_markdown(uncounted) if uncounted else ""
    return "\n\n".join(filter(None, [made, *map(section.markdown, found), invalid]))


def _sections(studies: Studies, machine: Mapping[str, Any]) -> list[str]:
    """Return the provenance of the run, its first section, and the other sections folded."""
    if not studies.rows:
        return []
    # Between backticks nothing can be escaped, so the words of the command are made harmless first.
    told = dict(machine) | {"command": [words.plain(str(word)) for word in machine.get("command") or ()]}
    found = shown(studies)
    texts = [_within(section.markdown(one), _ROOM_FOR_SECTIONS // len(found)) for one in found]
    more = [folded(_name(one), text) for one, text in zip(found[1:], texts[1:], strict=True)]
    return [provenance.markdown(studies.rows, told), *texts[:1], *more]


def _name(one: Section) -> str:
    return one.title or "; ".join(table.title for table in one.tables)


def _validity(rows: Sequence[Row]) -> str:
    """Return the trials that do not count, and the checks, folded."""
    if all(row.valid for row in rows):
        return ""
    return folded("Not counted", _within(section.markdown(missing.section(rows)), _ROOM_FOR_INVALID))


def _within(text: str, most: int) -> str:
    """Return whole lines up to a number of characters, and say how many lines are left out."""
    if len(text) <= most:
        return text
    lines, kept, size = text.split("\n"), 0, 0
    while size + len(lines[kept]) + 1 <= most - 100:
        size += len(lines[kept]) + 1
        kept += 1
    left = len(lines) - kept
    are = "line is" if left == 1 else "lines are"
    return "\n".join([*lines[:kept], "", f"*{units.count(left)} more {are} left out.*"])
