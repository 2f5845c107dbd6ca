"""Typed records: one type for each kind of row in rows.jsonl, validated once, when a line is read.

``read`` parses a line. Its error is one sentence: the path of the wrong value, and what was expected. Unknown keys are
dropped, so nothing reads a value that was not validated.
"""

import json
from typing import Any

import msgspec

from inflight.bench.rows import bare, clients, crawls, open_loop, probes, swarm, values
from inflight.bench.rows.arms import Arm
from inflight.bench.rows.crawls import Memory
from inflight.bench.rows.parts import NEWEST_FORMAT, Row

__all__ = ["Arm", "Memory", "Record", "changed", "make", "read"]
Record = (
    crawls.Crawl
    | Memory
    | crawls.Block
    | bare.Probe
    | bare.LimitFound
    | swarm.Swarm
    | open_loop.OpenLoop
    | clients.Client
    | Arm
)
MOST_SHOWN = 200
"""Maximum length of an error message, which may contain the wrong value."""
GONE = {"pair": "a row of kind pair was written by inflight 0.1; run the comparison again"}
"""Error messages for kinds of rows that are no longer written."""
_DECODER = msgspec.json.Decoder(float_hook=values.number)


def read(line: str) -> Row:
    """Parse a line of rows.jsonl. Raises ValueError with a one-sentence message for an invalid line."""
    try:
        return _record(_decoded(line))
    except (ValueError, RecursionError) as error:
        raise ValueError(_sentence(str(error))) from error


def make(**found: Any) -> Row:
    """Make the record of a trial in the newest format from plain values. Raises ValueError as ``read`` does."""
    try:
        return _record({"format": NEWEST_FORMAT} | found)
    except ValueError as error:
        raise ValueError(_sentence(str(error))) from error


def changed(row: Row, **values: Any) -> Row:
    """Return a copy of a row with some fields replaced."""
    return make(**msgspec.to_builtins(row) | {name: msgspec.to_builtins(value) for name, value in values.items()})


def _decoded(line: str) -> dict[str, Any]:
    try:
        found = _DECODER.decode(_without_half_characters(line) if "\\ud" in line.lower() else line)
    except msgspec.DecodeError as error:
        raise ValueError(f"not a row: {error}") from error
    if not isinstance(found, dict) or type(found.get("format")) is not int or found["format"] < 1:
        raise ValueError("not a row")
    if found["format"] > NEWEST_FORMAT:
        raise ValueError(f"a row of format {found['format']}; this version of inflight reads up to {NEWEST_FORMAT}")
    return found


def _without_half_characters(line: str) -> bytes:
    """Replace each lone surrogate, which JSON can escape and UTF-8 cannot encode, with ``?``."""
    return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")


def _record(found: dict[str, Any]) -> Row:
    if (why := GONE.get(str(found.get("kind")))) is not None:
        raise ValueError(why)
    record: Row = msgspec.convert(found, Record)
    if isinstance(record, bare.Probe):
        measured = probes.judged(record.workload.probe, found["measured"], "$.measured", is_ok=record.status == "ok")
        return msgspec.structs.replace(record, measured=measured)
    if isinstance(record, swarm.Swarm):
        values.plain(record.knobs, "$.knobs")  # reported by strategies, so it has no type
    return record


def _sentence(message: str) -> str:
    """Return the message of msgspec with the path in front: ``measured.pages: expected `int`, got `str```."""
    what, _, where = message.partition(" - at `$")
    where, what = where.removesuffix("`").removeprefix("."), what.replace(" | null`", "`")
    if what.endswith("`NumberOutOfRange`"):
        what = "Number out of range"
    sentence = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    shown = "".join(one if one.isprintable() else " " for one in sentence[:MOST_SHOWN])
    return f"{shown}..." if len(sentence) > MOST_SHOWN else shown
