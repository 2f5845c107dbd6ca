"""Generate the JSON schema of a row (2020-12) from the records: ``python -m inflight.bench.rows.schema``."""

import argparse
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import msgspec

from inflight.bench.rows.files import SCHEMA_FILE
from inflight.bench.rows.parts import NEWEST_FORMAT, Row
from inflight.bench.rows.records import Record
from inflight.bench.rows.values import Table

_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": f"A row of inflight, format {NEWEST_FORMAT}",
    "description": "One line of rows.jsonl: everything known about one trial. Integers are nanoseconds (_ns) and "
    "bytes (_bytes); shares are between 0 and 1. Generated from bench/rows by its module `schema`. The records also "
    "check rules that a schema cannot express, such as lists of equal length.",
}
_UNITS = {"_ns": "In nanoseconds.", "_bytes": "In bytes.", "_us": "In microseconds.", "_ms": "In milliseconds."}
_FIELD = re.compile(r"^((?: {4}#: .*\n)*) {4}(\w+): .*?(?:  #: (.*))?$", re.MULTILINE)


def schema() -> dict[str, Any]:
    """Return the schema of a row, with one definition for each record and each of its parts."""
    made = msgspec.json.schema(Record)
    definitions = made["$defs"]
    for part in _below(Table):
        properties = definitions.get(part.__name__, {"properties": {}})["properties"]
        for name, value in properties.items():
            if name != "kind" and "$ref" not in value:
                properties[name] = {"description": _meaning(part, name)} | value
    for kind in get_args(Record):
        definitions[kind.__name__] |= _rules(kind)
    for definition in definitions.values():  # Python before 3.13 keeps the indentation of docstrings
        definition["description"] = inspect.cleandoc(definition.get("description", ""))
    return _HEAD | made


def text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _rules(kind: type[Row]) -> dict[str, Any]:
    """Return the conditions that the status of a row sets for its other parts."""
    parts: dict[str, Any] = {part: {"required": list(names)} for part, names in kind.NEEDED.items()}
    if kind.ABOVE_0:
        parts.setdefault("measured", {})["properties"] = {
            name: {"type": "number", "exclusiveMinimum": 0} for name in kind.ABOVE_0
        }
    if kind.IS_CHECKED:
        parts["checks"] = {"minItems": 1}
    return {
        "if": {"properties": {"status": {"const": "ok"}}},
        "then": {"properties": {"reason": {"type": "null"}, **parts}},
        "else": {"properties": {"reason": {"type": "string", "minLength": 1}}},
    }


def _below(part: type[Table]) -> Iterator[type[Table]]:
    """Yield all records and parts of records that are made from one."""
    for made in part.__subclasses__():
        yield made
        yield from _below(made)


def _meaning(part: type[Table], name: str) -> str:
    """Return what a field means, by its ``#:`` comment beside or above it, and its unit."""
    text = next((texts[name] for base in part.__mro__ if name in (texts := _comments(base))), "")
    return " ".join([text, *(unit for ending, unit in _UNITS.items() if name.endswith(ending))])


@cache
def _comments(part: type) -> dict[str, str]:
    """Return the ``#:`` comments of the fields of a class."""
    try:
        lines = inspect.getsource(part)
    except (OSError, TypeError):  # made at run time, or a class of msgspec
        return {}
    texts = {name: " ".join(above.replace("#:", "").split()) or beside for above, name, beside in _FIELD.findall(lines)}
    return {name: text for name, text in texts.items() if text}


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m inflight.bench.rows.schema", description=__doc__).parse_args()
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
