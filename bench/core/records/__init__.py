"""Typed records: what a line of rows.jsonl may say, judged once, where it is read.

A record has one type for each kind of trial. ``judge`` reads a line, or says in one sentence which value is wrong, by
its path, and what was expected. The half that reads works with the plain values, so ``judge`` returns these.
"""

import json
from typing import Any

import msgspec
from msgspec import Struct

from bench.core.records import bare, crawls, values
from bench.core.records.parts import NEWEST_FORMAT
from bench.studies.probes import record as probes
from bench.studies.swarm import record as scale
from bench.studies.throughput import record as throughput

Record = (
    crawls.Crawl
    | crawls.Memory
    | crawls.Block
    | bare.Probe
    | bare.LimitFound
    | scale.Swarm
    | scale.OpenLoop
    | scale.Client
    | throughput.Arm
)
MOST_SHOWN = 200
"""Of a sentence about a wrong value, which may have the value in it."""
GONE = {"pair": "a row of kind pair was written by inflight 0.1; run the comparison again"}
"""What to say of rows of kinds that are no longer made."""
_DECODER = msgspec.json.Decoder(float_hook=values.number)


def judge(line: str) -> dict[str, Any]:
    """Return the values of a line that is a record of a known format. Raises ValueError with a sentence otherwise."""
    try:
        return _judge(_decoded(line))
    except (ValueError, RecursionError) as error:
        raise ValueError(_sentence(str(error))) from error


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
    """Return a line with a ``?`` for each half of a surrogate pair, which JSON can name and UTF-8 cannot write."""
    return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")


def _judge(found: dict[str, Any]) -> dict[str, Any]:
    if (why := GONE.get(str(found.get("kind")))) is not None:
        raise ValueError(why)
    record = msgspec.convert(found, Record)
    if isinstance(record, bare.Probe):
        probes.judge(record.workload.probe, found["measured"], "$.measured", is_ok=record.status == "ok")
    _leave_known(record, found, "$")
    return found


def _sentence(message: str) -> str:
    """Return what msgspec says with the path in front: ``measured.pages: expected `int`, got `str```."""
    what, _, where = message.partition(" - at `$")
    where = where.removesuffix("`").removeprefix(".")
    if what.endswith("`NumberOutOfRange`"):
        what = "Number out of range"
    sentence = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    shown = "".join(one if one.isprintable() else " " for one in sentence[:MOST_SHOWN])
    return f"{shown}..." if len(sentence) > MOST_SHOWN else shown


def _leave_known(record: Struct, found: dict[str, Any], path: str) -> None:
    """Leave out what a record does not know, at any depth: nothing reads what nothing has judged."""
    known = {*record.__struct_fields__, "kind"}
    for name in [name for name in found if name not in known]:
        values.plain(found.pop(name), f"{path}.{name}")
    for name, value in found.items():
        own = getattr(record, name, None)
        if isinstance(own, Struct):
            _leave_known(own, value, f"{path}.{name}")
        elif isinstance(own, dict):
            values.plain(value, f"{path}.{name}")
        elif isinstance(own, list) and own and isinstance(own[0], values.Open):
            for place, (one, plain) in enumerate(zip(own, value, strict=True)):
                _leave_known(one, plain, f"{path}.{name}[{place}]")
