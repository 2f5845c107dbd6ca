"""The answer in a few sentences: the findings of the studies, and the number of valid trials behind them."""

from collections import Counter
from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.core.rows import Row
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.report import about, studies

MOST = 7
"""Maximum number of sentences; the last one is the number of valid trials."""


def answer(rows: Sequence[Row], decided: Sequence[Section] = ()) -> list[str]:
    """Return the findings of the decisions, or of the studies if there are none, and the number of valid trials."""
    found = decided or (studies.sections(rows) if any(row.valid for row in rows) else [])
    told = [sentence for section in found for sentence in section.found]
    return [*told[: MOST - 1], coverage(rows)]


def coverage(rows: Sequence[Row]) -> str:
    """Say how many trials are valid, over how many rounds, and the most frequent reason of the others."""
    valid = [row for row in rows if row.valid]
    if not valid:
        return f"{about.nothing_valid(rows).removesuffix('.')}{mostly(rows)}."
    rounds = len({(row.run, row.round) for row in valid})
    over = "1 round" if rounds == 1 else f"{rounds:,} rounds"
    return f"{about.valid_told(rows)}, over {over} on one machine{mostly(rows)}."


def mostly(rows: Sequence[Row]) -> str:
    """Name the most frequent reason of trials that are not valid, with its number."""
    reasons = Counter(words.plain(why, 120) for row in rows if not row.valid for why in row.why_red)
    how = "" if len(reasons) == 1 else " mostly"
    who = f"the others{how}" if any(row.valid for row in rows) else "mostly"
    if reasons.total() == 1:
        return f"; the other: {next(iter(reasons))}"
    return "".join(f"; {who}: {why} ({units.count(number)})" for why, number in reasons.most_common(1))
