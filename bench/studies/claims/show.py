"""Verdicts for people and programs: a line on the terminal, the whole of one claim, JSON."""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.core import units
from bench.present import words
from bench.present.console import DIM, GREEN, PLAIN, RED
from bench.studies.claims.rules import WORDS, Kind, Outcome, Value, Verdict, Word

FORMAT = 1
JSON_FILE = "claims.json"
YELLOW = "\x1b[33m"
COLOURS: dict[Word, str] = {
    "holds": GREEN,
    "holds differently": YELLOW,
    "does not hold here": RED,
    "inconclusive": DIM,
    "not tested": DIM,
}
UNKNOWN = "(unknown)"
TRACES = ("callbacks_text", "generators_text")
"""The two tracebacks that are shown side by side."""
_ID, _WORD = 22, 18
_PLACE = re.compile(r"\{(\w+)\}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class ClaimsError(Exception):
    """A folder whose claims cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts of one run of ``inflight claims``, and where they are from."""

    verdicts: tuple[Verdict, ...]
    machine: dict[str, Any]
    source: str
    """Machine, interpreter, date, version, runs, in one line."""
    runs: tuple[str, ...]
    measured: int
    """How many of the trials were made in this run."""
    reused: int
    """How many rows are of runs before it."""
    left_out: tuple[str, ...] = ()
    """The claims that were not asked for in this way: those that are not part of --quick."""


DEMONSTRATIONS = "Demonstrations, true by construction:"


def parted(verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Return the claims that are tested, and those that are demonstrated."""
    many = list(verdicts)
    kinds: tuple[Kind, Kind] = ("claim", "demonstration")
    tested, shown = ([one for one in many if one.kind == kind] for kind in kinds)
    return tested, shown


def lines(verdicts: Iterable[Verdict], *, colour: bool = False) -> list[str]:
    """Write a line for each claim, and below a heading one for each demonstration."""
    tested, shown = parted(verdicts)
    heading = ["", DEMONSTRATIONS] if tested and shown else [DEMONSTRATIONS] if shown else []
    return [
        *(line(one, colour=colour) for one in tested),
        *heading,
        *(line(one, colour=colour) for one in shown),
    ]


def line(verdict: Verdict, *, colour: bool = False) -> str:
    """Write id, verdict and figures in one line."""
    word = f"{verdict.word:{_WORD}}"
    painted = f"{COLOURS[verdict.outcome.verdict]}{word}{PLAIN}" if colour else word
    close = " (close to the boundary)" if verdict.outcome.close else ""
    return f"{verdict.id:{_ID}}  {painted}  {words.plain(verdict.outcome.figures, 600)}{close}"


def whole(verdict: Verdict, width: int = 100) -> str:
    """Write all that is known of one claim: what, where from, how tested, why this verdict, and the explanation."""
    outcome = verdict.outcome
    told = {
        "claim": f"{verdict.claim} ({verdict.source}; published: {verdict.published})",
        "tested": verdict.about,
        "region": outcome.region,
        "reason": outcome.reason,
    }
    parts = [_wrapped(f"{name}: {words.plain(text, 2000)}", width) for name, text in told.items()]
    parts += ["", _wrapped(explained(verdict), width)]
    traces = [str(outcome.values.get(name) or "") for name in TRACES]
    if all(traces):
        parts += ["", side_by_side(traces[0], traces[1], width)]
    return "\n".join(parts)


def explained(verdict: Verdict) -> str:
    """Return the explanation with its figures; a sentence that has an unknown one is left out."""
    values = {name: shown(name, value) for name, value in verdict.outcome.values.items()}
    sentences = _SENTENCE.split(" ".join(verdict.explanation.split()))
    return " ".join(_filled(sentence, values) for sentence in sentences if _is_known(sentence, values))


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
    """Return the names of the values that a text has places for."""
    return set(_PLACE.findall(text))


def side_by_side(left: str, right: str, width: int = 100) -> str:
    """Put two texts beside each other, each in half the width; longer lines are cut."""
    half = (width - 3) // 2
    columns = [[_cut(text, half) for text in one.splitlines()] for one in (left, right)]
    rows = max(map(len, columns))
    filled = [column + [""] * (rows - len(column)) for column in columns]
    return "\n".join(f"{one:{half}} | {other}".rstrip() for one, other in zip(*filled, strict=True))


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values.

    ``format``    of this file: 1
    ``machine``   as in ``machine.json``; ``source``: the same in a line; ``runs``: of which the rows are
    ``trials``    how many were ``measured`` in this run and ``reused`` from others
    ``left_out``  ids of claims that are not part of ``--quick``
    ``claims``    one object a claim: ``id``, ``kind`` (claim, or demonstration: true by construction), ``order``,
                  ``claim``, ``source``, ``published``, ``about``, ``verdict``, ``figures``, ``region``, ``values``
                  (``_ns``, ``_bytes``; null: unknown), ``reason``, ``close`` (to its boundary), ``explanation`` (with
                  its figures) and ``template`` (without them)
    """
    return {
        "format": FORMAT,
        "machine": report.machine,
        "source": report.source,
        "runs": list(report.runs),
        "trials": {"measured": report.measured, "reused": report.reused},
        "left_out": list(report.left_out),
        "claims": [_claim_json(verdict) for verdict in report.verdicts],
    }


def from_json(values: Mapping[str, Any]) -> Report:
    """Return the report that ``to_json`` wrote. Raises ClaimsError for anything else."""
    try:
        if values["format"] != FORMAT:
            raise ClaimsError(f"claims of format {values['format']}; this version of inflight reads format {FORMAT}")
        return Report(
            tuple(_verdict(one) for one in values["claims"]),
            dict(values["machine"]),
            str(values["source"]),
            tuple(values["runs"]),
            int(values["trials"]["measured"]),
            int(values["trials"]["reused"]),
            tuple(values["left_out"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ClaimsError(f"not what `inflight claims` writes: {error!r}") from error


def load(folder: Path) -> Report:
    """Read the report in a folder. Raises ClaimsError."""
    path = folder / JSON_FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ClaimsError(f"cannot read {path}: {error.strerror}; `inflight claims` makes it") from error
    except ValueError as error:
        raise ClaimsError(f"{path} is not JSON: {error}") from error
    return from_json(values)


_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": units.duration,
    "_bytes": units.size,
    "_ratio": units.times,
    "_share": lambda value: f"{value:.0%}",
    "_per_s": units.rate,
}


def _claim_json(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = asdict(verdict)
    outcome: dict[str, Any] = told.pop("outcome")
    return told | outcome | {"explanation": explained(verdict), "template": verdict.explanation}


def _verdict(values: Mapping[str, Any]) -> Verdict:
    outcome = Outcome(
        values["verdict"], values["figures"], values["region"], values["values"], values["reason"], values["close"]
    )
    return Verdict(
        values["id"],
        values["claim"],
        values["source"],
        values["published"],
        values.get("kind", "claim"),
        values["order"],
        values["about"],
        values["template"],
        outcome,
    )


def _filled(sentence: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: values.get(match[1], UNKNOWN), sentence)


def _is_known(sentence: str, values: Mapping[str, str]) -> bool:
    return all(values.get(name, UNKNOWN) != UNKNOWN for name in places(sentence))


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    clean = "".join(char if char.isprintable() else "?" for char in text.expandtabs())
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def of_claims(verdicts: Iterable[str], demonstrations: int = 0) -> str:
    """Count the verdicts on what was tested, from the best to none; say how many demonstrations there are besides."""
    counts = Counter(verdicts)
    if not counts:
        return "No claim was tested" + (f"; {_demonstrated(demonstrations)}" if demonstrations else "")
    total = sum(counts.values())
    parts = [
        (counts["holds"], "holds", "hold"),
        (counts["holds differently"], "holds differently", "hold differently"),
        (counts["does not hold here"], "does not hold here", "do not hold here"),
        (counts["inconclusive"], "is inconclusive", "are inconclusive"),
        (counts["not tested"], "was not tested", "were not tested"),
        (total - sum(counts[verdict] for verdict in WORDS), "has another verdict", "have another verdict"),
    ]
    texts = [f"{number} {one if number == 1 else many}" for number, one, many in parts if number]
    head = f"Of {total} claims, " if total > 1 else "Of one claim, "
    return head + words.listed(texts) + (f"; {_demonstrated(demonstrations)}" if demonstrations else "")


def _demonstrated(number: int) -> str:
    return f"{number} {'is a demonstration' if number == 1 else 'are demonstrations'}"
