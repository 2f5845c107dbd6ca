"""The answer in a few sentences: the findings of the studies, and the number of valid trials behind them."""

from collections.abc import Sequence

from inflight.bench.present.section import Section
from inflight.bench.race.lanes import races
from inflight.bench.race.page import section
from inflight.bench.report.studies import Studies
from inflight.bench.rows.files import Row
from inflight.bench.show import missing

MAX_SENTENCES = 8
"""Maximum number of sentences; the last one is the number of valid trials."""


def answer(found: Studies, decided: Sequence[Section] = (), every: Sequence[Row] = ()) -> list[str]:
    """Return the findings of the decisions, or of the studies if there are none, and the number of valid trials.

    A run that is a single race begins with its result. ``every`` are all rows, by default those of the studies.
    """
    shown = decided or (_measured(found) if any(row.valid for row in found.rows) else [])
    sentences = [sentence for section in shown for sentence in section.found]
    return [*sentences[: MAX_SENTENCES - 1], missing.coverage(every or found.rows)]


def _measured(found: Studies) -> list[Section]:
    own = races(found.rows)
    return [*(map(section, own) if len(own) == 1 else []), *found.sections]
