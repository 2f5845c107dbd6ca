"""The answer in a few sentences: the findings of the studies, and the number of valid trials behind them."""

from collections import Counter
from collections.abc import Sequence

from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.race.lanes import races
from inflight.bench.race.page import section
from inflight.bench.report import about, studies
from inflight.bench.rows.files import Row

MOST_REASONS = 3
"""Maximum number of reasons in a sentence."""
MOST = 7
"""Maximum number of sentences; the last one is the number of valid trials."""


def answer(rows: Sequence[Row], decided: Sequence[Section] = ()) -> list[str]:
    """Return the findings of the decisions, or of the studies if there are none, and the number of valid trials.

    A run that is a single race begins with its result.
    """
    found = decided or (_measured(rows) if any(row.valid for row in rows) else [])
    told = [sentence for section in found for sentence in section.found]
    return [*told[: MOST - 1], coverage(rows)]


def _measured(rows: Sequence[Row]) -> list[Section]:
    found = races(rows)
    return [*(map(section, found) if len(found) == 1 else []), *studies.sections(rows)]


def coverage(rows: Sequence[Row]) -> str:
    """Say how many trials are valid, over how many rounds, and the reasons of the others."""
    valid = [row for row in rows if row.valid]
    if not valid:
        return f"{about.nothing_valid(rows).removesuffix('.')}{reasons(rows)}."
    rounds = len({(row.run, row.round) for row in valid})
    over = "1 round" if rounds == 1 else f"{rounds:,} rounds"
    return f"{about.valid_told(rows)}, over {over} on one machine{reasons(rows)}."


def reasons(rows: Sequence[Row]) -> str:
    """Count the reasons of trials that are not valid: statuses and failed checks; a single reason has its text."""
    bad = [why for row in rows if not row.valid for why in row.invalid_reasons]
    if not bad:
        return ""
    kinds = Counter(words.plain(why.partition(": ")[0], 80) for why in bad)
    texts = Counter(words.plain(why, 120) for why in bad)
    found = texts if len(texts) == 1 else kinds
    told = [
        f"{why} ({words.counted(n, 'trial')})" if len(bad) > 1 else why for why, n in found.most_common(MOST_REASONS)
    ]
    more = [words.counted(len(found) - MOST_REASONS, "more reason")] if len(found) > MOST_REASONS else []
    who = ("the other" if len(bad) == 1 else "the others") if any(row.valid for row in rows) else "reason"
    several = "; some have several reasons" if len(bad) > sum(not row.valid for row in rows) else ""
    return f"; {who}: {', '.join([*told, *more])}{several}"
