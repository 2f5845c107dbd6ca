"""Verdicts as in ``claims.json``; reads and writes that file."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from inflight.bench.core import units

JSON_FILE = "claims.json"
Word = Literal["holds", "holds differently", "does not hold here", "inconclusive", "not tested"]
WORDS: tuple[Word, ...] = get_args(Word)
Kind = Literal["claim", "demonstration"]
"""A demonstration is true by construction: its figures show by how much."""
Value = float | int | str | None
SHOWN: dict[Word, str] = {
    "holds": "shown here",
    "holds differently": "shown in part",
    "does not hold here": "not shown here",
}
UNKNOWN = "(unknown)"
TRACES = ("callbacks_text", "generators_text")
"""The two tracebacks that are shown side by side."""
_PLACE = re.compile(r"\{(\w+)\}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": units.duration,
    "_bytes": units.size,
    "_ratio": units.times,
    "_share": units.percent,
    "_per_s": units.rate,
}


class ClaimsError(Exception):
    """A folder whose claims cannot be read; the message says why."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a rule."""

    verdict: Word
    figures: str
    """The deciding figures in one line, with units and intervals."""
    region: str
    """What was tested."""
    values: dict[str, Value]
    """Values by name, which ends with the unit: ``_ns``, ``_bytes``, ``_ratio``, ``_share``. None: unknown."""
    reason: str
    """Each part of the claim with its boundary and its answer; without a verdict also what is missing."""
    close: bool
    """Near the boundary of the rule: another run may differ."""


class Verdict(Outcome, frozen=True, kw_only=True):
    """A claim with its outcome."""

    id: str
    claim: str
    source: str
    published: str
    about: str
    explanation: str
    """For learners, with the outcome's values."""
    template: str
    """The explanation with placeholders: ``{full_bytes}``."""
    order: int
    kind: Kind = "claim"

    @property
    def word(self) -> str:
        """The verdict as text; that of a demonstration is "shown here"."""
        return SHOWN.get(self.verdict, self.verdict) if self.kind == "demonstration" else self.verdict

    @property
    def traces(self) -> dict[str, str]:
        """The two tracebacks by strategy; empty if one is missing."""
        found = {name.partition("_")[0]: str(self.values.get(name) or "") for name in TRACES}
        return found if all(found.values()) else {}


class Trials(msgspec.Struct, frozen=True):
    """Numbers of trials."""

    measured: int
    """Number of trials in this run."""
    reused: int
    """Number of rows of earlier runs."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one run of ``inflight claims``."""

    format: Literal[1] = 1
    machine: dict[str, Any]
    """As in ``machine.json``."""
    source: str
    """Machine, interpreter, date, version, in one line."""
    runs: tuple[str, ...]
    """The runs that the rows are from."""
    trials: Trials
    left_out: tuple[str, ...] = ()
    """Ids of the claims that are not part of ``--quick``."""
    claims: tuple[Verdict, ...]

    def of_kind(self, kind: Kind) -> list[Verdict]:
        """Return the claims or the demonstrations, in their order."""
        return sorted((one for one in self.claims if one.kind == kind), key=lambda one: one.order)


def load(folder: Path) -> Report:
    """Read the report in a folder. Raises ClaimsError."""
    path = folder / JSON_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise ClaimsError(f"cannot read {path}: {error.strerror}; `inflight claims` makes it") from error
    except (ValueError, RecursionError) as error:
        raise ClaimsError(f"{path} is not what `inflight claims` writes: {error}") from error


def save(report: Report, folder: Path) -> None:
    """Write the report into a folder. Raises OSError."""
    (folder / JSON_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def explained(template: str, values: Mapping[str, Value]) -> str:
    """Return the explanation with its figures; sentences with an unknown figure are left out."""
    texts = {name: shown(name, value) for name, value in values.items()}
    sentences = _SENTENCE.split(" ".join(template.split()))
    return " ".join(_PLACE.sub(lambda match: texts[match[1]], one) for one in _known(sentences, texts))


def shown(name: str, value: Value) -> str:
    """Write a value by the unit that its name ends with."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    for ending, write in _UNITS.items():
        if name.endswith(ending):
            return write(value)
    return units.count(value) if isinstance(value, int) else units.number(value)


def places(text: str) -> set[str]:
    """Return the names of the placeholders in a text."""
    return set(_PLACE.findall(text))


def _known(sentences: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [one for one in sentences if all(texts.get(name, UNKNOWN) != UNKNOWN for name in places(one))]
