"""Read a line of rows.jsonl as a typed record, or make a record from plain values; both are checked in full.

``files`` calls ``read`` for each stored line, ``measure.trial`` calls ``make`` for each trial that has ended. An error
is one sentence: the path of the wrong value, and what was expected. Unknown keys are dropped and texts are made
printable, so readers meet neither a value that was not checked nor a control character. The records are in ``kinds``.
"""

import json
from typing import Annotated, Any, get_args

import msgspec

from inflight.bench.rows.kinds import ArmRow, Counts, Crawl, Idle, LimitFound, Memory, OpenLoop, Probe, Swarm
from inflight.bench.rows.parts import NEWEST_FORMAT, Row

Record = ArmRow | Crawl | Memory | Counts | Idle | Swarm | OpenLoop | Probe | LimitFound
RECORDS: dict[str, type[Row]] = {record.__struct_config__.tag: record for record in get_args(Record)}
"""The record of each kind of trial, in the order in which ``--dry-run`` has them."""
MAX_MESSAGE = 200
"""Maximum length in characters of an error message, which may contain the wrong value."""
MIN_NUMBER = 1e-20
"""Smaller numbers are read as 0, so that the reciprocal and the square of every other number are finite."""
UNUSUAL = ("\\", "e-", "E-", 20 * "0")
"""What a line has if it escapes a character or holds a number that small. Few lines do, so the others stay fast."""


class _Head(msgspec.Struct):
    """The part of a line that is read first, so that a row of a newer version is refused with its format."""

    format: Annotated[int, msgspec.Meta(ge=1, le=10**6)]


_HEAD, _DECODER = msgspec.json.Decoder(_Head), msgspec.json.Decoder(Record)
"""Decoders of the beginning of a line, and of a whole one."""


def read(line: str) -> Row:
    """Parse a line of rows.jsonl. Raises ValueError with a one-sentence message for an invalid line."""
    try:
        if any(part in line for part in UNUSUAL) or not line.isprintable():
            line = json.dumps(_tame(json.loads(line)), ensure_ascii=False, allow_nan=False)
        number = _HEAD.decode(line).format
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a row: {_sentence(str(error))}") from error
    if number > NEWEST_FORMAT:
        raise ValueError(f"a row of format {number}; this version of inflight reads up to {NEWEST_FORMAT}")
    try:
        row: Row = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(_sentence(str(error))) from error
    return row


def make(**values: Any) -> Row:
    """Make the record of a trial in the format of its kind from plain values. Raises ValueError as ``read`` does."""
    return read(json.dumps(msgspec.to_builtins({"format": RECORDS[values["kind"]].FORMAT} | values)))


def changed(row: Row, **values: Any) -> Row:
    """Return a copy of a row with some fields replaced, checked again: so claims reuse rows of earlier runs."""
    return make(**msgspec.to_builtins(row) | values)


def _tame(value: Any, keep: str = "") -> Any:
    """Replace in texts and keys white space by a space and what is not printable by ``?``, and tiny numbers by 0.

    Only a ``text``, which is a traceback, keeps its line breaks.
    """
    if isinstance(value, str):
        return "".join(char if char.isprintable() or char == keep else " " if char.isspace() else "?" for char in value)
    if isinstance(value, dict):
        return {_tame(name): _tame(item, "\n" if name == "text" else "") for name, item in value.items()}
    if isinstance(value, list):
        return [_tame(item) for item in value]
    return 0.0 if isinstance(value, float) and abs(value) < MIN_NUMBER else value


def _sentence(message: str) -> str:
    """Return the message of msgspec with the path in front: ``measured.pages: expected `int`, got `str```."""
    what, _, where = message.partition(" - at `")
    where, what = where.removeprefix("key` in `").strip("$.`"), what.replace(" | null`", "`")
    sentence = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    return f"{sentence[:MAX_MESSAGE]}..." if len(sentence) > MAX_MESSAGE else sentence
