"""The answer in a few sentences: the findings of the studies, and what they rest on."""

from collections import Counter
from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.core.rows import Row
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.report import about, studies

MOST = 6
"""Maximum number of sentences; the last one says what the others rest on."""


def answer(rows: Sequence[Row], decided: Sequence[Section] = ()) -> list[str]:
    """Return what the rows say: what was decided, the findings of the studies, and what these rest on.

    Of rows that a decision is about it speaks alone.
    """
    rest = [row for row in rows if not (decided and row.of_comparison)]
    found = studies.sections(rest) if any(row.valid for row in rest) else []
    titles = [f"{section.title}." for section in (*decided, *found) if section.title]
    return [*titles[: MOST - 1], coverage(rows)]


def coverage(rows: Sequence[Row]) -> str:
    """Say how many trials are valid, over how many rounds, and why most of the others are not."""
    valid = [row for row in rows if row.valid]
    if not valid:
        return f"{about.nothing_valid(rows).removesuffix('.')}{_mostly(rows)}."
    rounds = len({(row.run, row.round) for row in valid})
    are, over = "trial is" if len(rows) == 1 else "trials are", "1 round" if rounds == 1 else f"{rounds:,} rounds"
    told = f"{units.count(len(valid))} of {units.count(len(rows))} {are} valid, over {over} on one machine"
    return f"{told}{_mostly(rows)}."


def _mostly(rows: Sequence[Row]) -> str:
    """Name the reason that most trials have which are not valid, and how many have it."""
    reasons = Counter(words.plain(why, 120) for row in rows if not row.valid for why in row.why_red)
    return "".join(f"; the others mostly: {why} ({units.count(number)})" for why, number in reasons.most_common(1))
