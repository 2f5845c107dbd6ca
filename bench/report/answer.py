"""The answer in a few sentences: the findings of the studies, and the number of valid trials behind them."""

from collections.abc import Sequence

from inflight.bench.present.section import Section
from inflight.bench.report import studies
from inflight.bench.rows.files import Row
from inflight.bench.show import missing
from inflight.bench.studies.race import show as race

MAX_SENTENCES = 8
"""Maximum number of sentences; the last one is the number of valid trials."""


def answer(rows: Sequence[Row], decided: Sequence[Section] = ()) -> list[str]:
    """Return the findings of the decisions, or of the studies if there are none, and the number of valid trials.

    A run that is a single race begins with its result.
    """
    found = decided or (_measured(rows) if any(row.valid for row in rows) else [])
    sentences = [sentence for section in found for sentence in section.found]
    return [*sentences[: MAX_SENTENCES - 1], missing.coverage(rows)]


def _measured(rows: Sequence[Row]) -> list[Section]:
    races = race.sections(rows)
    return [*(races if len(races) == 1 else []), *studies.sections(rows)]
