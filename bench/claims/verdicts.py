"""Verdicts as in ``claims.json``; reads and writes that file.

``evaluate`` makes ``Verdict``, ``command`` a ``Report`` of all of them, which it saves in the folder of the run;
``show`` writes both, and ``show.folder`` loads them for the page. A verdict is of a claim, an answer of one of its
parts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from inflight.bench import units
from inflight.bench.rows.files import content, write

JSON_FILE = "claims.json"
"""Name of the file in the folder of a run."""
Word = Literal["true", "partly true", "not true here", "demonstration", "not tested"]
"""The verdicts, from the best on: see ``evaluate.decide``."""
WORDS: tuple[Word, ...] = get_args(Word)
"""All of them in their order."""
Yes = Literal["yes", "no", "borderline", "unknown"]
"""``borderline``: the interval of the figure includes its boundary."""
WRITERS: dict[str, Callable[[float], str]] = {
    "ratio": lambda value: units.times(value, 3),
    "_ns": units.duration,
    "_bytes": units.size,
    "_share": lambda value: units.percent(value, 1),
    "_per_s": units.rate,
}
"""Writes a figure, by the end of its unit."""


class ClaimsError(Exception):
    """A folder whose claims cannot be read; the message says why."""


class ClaimFigure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure with the ends of its 95 % interval, or of its range over the rounds; or a text, or why it is unknown."""

    name: str
    unit: str = ""
    """``ratio``, or a name that ends with the unit; else it is a count."""
    estimate: float | None = None
    low: float | None = None
    """End of its interval."""
    high: float | None = None
    """The other end."""
    said: str = ""
    """A measured text, in place of a number."""
    reason: str = ""
    """Why it is unknown."""

    def write(self, value: float | None) -> str:
        """Write a value in the unit of the figure."""
        if value is None:
            return self.said or f"unknown ({self.reason})"
        for end, write_figure in WRITERS.items():
            if self.unit.endswith(end):
                return write_figure(value)
        return f"{round(value):,}"

    @property
    def text(self) -> str:
        """The figure with its ends."""
        estimate, low, high = map(self.write, (self.estimate, self.low, self.high))
        return estimate if low == high else f"{estimate} ({low} to {high})"


class PartAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a claim, and whether it is true here."""

    name: str
    answer: Yes
    measured: str = ""
    """The figure, as text."""
    must: str
    """The rule."""
    core: str = ""
    """The main statement that the part belongs to; empty: none."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A claim with its verdict."""

    id: str
    claim: str
    """What is claimed. It and the next four are texts of the file of the claim (``claims``)."""
    source: str
    published: str
    tested: str
    background: str
    verdict: Word
    is_borderline: bool
    """Whether another run may give another verdict."""
    measured: str
    """All figures, as text."""
    why: str
    """The verdict in a sentence."""
    answers: tuple[PartAnswer, ...]
    figures: dict[str, ClaimFigure]
    """By their names in the file of the claim."""
    exhibits: dict[str, str] = {}
    """Texts of several lines, such as a traceback, by name."""

    @property
    def word(self) -> str:
        """The verdict, and whether it is borderline."""
        return f"{self.verdict} (borderline)" if self.is_borderline else self.verdict


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one run of ``inflight claims``."""

    format: Literal[2] = 2
    machine: dict[str, Any]
    source: str
    """Machine, interpreter, date, version, in one line."""
    runs: tuple[str, ...]
    measured: int
    """Number of rows of this run."""
    reused: int
    """Number of rows of earlier runs."""
    left_out: tuple[str, ...] = ()
    """Ids of the claims that are not part of ``--quick``."""
    claims: tuple[Verdict, ...]


def load(folder: Path) -> Report:
    """Read the report in a folder. Raises ClaimsError."""
    path = folder / JSON_FILE
    try:
        return msgspec.json.decode(content(path), type=Report)
    except (OSError, ValueError, RecursionError) as error:
        raise ClaimsError(f"{path} is not what `inflight claims` writes: {error}") from error


def save(report: Report, folder: Path) -> None:
    """Write the report into a folder. Raises OSError."""
    write(folder / JSON_FILE, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
