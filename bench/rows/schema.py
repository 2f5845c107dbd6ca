"""Generate the JSON schema of a row (2020-12) from the records: ``python -m inflight.bench.rows.schema``."""

import argparse
import ast
import inspect
import json
from collections.abc import Iterator
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


def schema() -> dict[str, Any]:
    """Return the schema of a row, with one definition for each record and each of its parts."""
    found = msgspec.json.schema(Record)
    definitions = found["$defs"]
    for kind in get_args(Record):
        definitions[kind.__name__] |= _rules(kind)
    for part in _below(Table):
        definition = definitions.get(part.__name__, {"properties": {}})
        for base in reversed(part.__mro__):
            for name, words in _field_texts(base):
                if name in definition["properties"]:
                    definition["properties"][name] = {"description": words} | definition["properties"][name]
        if "description" in definition:  # a docstring; Python before 3.13 keeps its indentation
            definition["description"] = inspect.cleandoc(definition["description"])
    return _HEAD | found


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
    for own in part.__subclasses__():
        yield own
        yield from _below(own)


def _field_texts(part: type) -> Iterator[tuple[str, str]]:
    """Yield each field of a class that has a docstring, with that docstring."""
    try:
        tree = ast.parse(inspect.getsource(part))
    except (OSError, TypeError):  # made at run time, or a class of msgspec
        return
    body = tree.body[0]
    if not isinstance(body, ast.ClassDef):
        return
    for field, under in zip(body.body, body.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(under, ast.Expr) and isinstance(under.value, ast.Constant) and isinstance(under.value.value, str):
            yield field.target.id, " ".join(under.value.value.split())


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m inflight.bench.rows.schema", description=__doc__).parse_args()
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
