"""What becomes of a claim: the outcome of its rule, and the verdict that people read."""

from dataclasses import dataclass
from typing import Literal, get_args

Word = Literal["holds", "holds differently", "does not hold here", "inconclusive", "not tested"]
WORDS: tuple[Word, ...] = get_args(Word)
Kind = Literal["claim", "demonstration"]
"""A demonstration is true by construction: its figures show how, they do not test whether."""
SHOWN: dict[Word, str] = {
    "holds": "shown here",
    "holds differently": "shown in part",
    "does not hold here": "not shown here",
}

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of its rows."""

    verdict: Word
    figures: str
    """The figures that decided, in one line, with units and intervals."""
    region: str
    """What was tested."""
    values: dict[str, Value]
    """The numbers of the figures, by name: ``_ns``, ``_bytes``, ``_ratio``, ``_share``, else plain; None: unknown."""
    reason: str
    """Why this verdict: the rule as it was applied, with its boundary."""
    close: bool = False
    """Near the boundary of the rule: another run may say otherwise."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim with its outcome: all that a line, a table or a figure shows of it."""

    id: str
    claim: str
    source: str
    published: str
    kind: Kind
    order: int
    about: str
    explanation: str
    """For learners, with the outcome's values still to be put into it (``bench.studies.claims.show``)."""
    outcome: Outcome

    @property
    def word(self) -> str:
        """The verdict as people read it: a demonstration shows, it does not hold."""
        word = self.outcome.verdict
        return SHOWN.get(word, word) if self.kind == "demonstration" else word
