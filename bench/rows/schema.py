"""Generate the JSON schema of a row (2020-12) from the records: ``python -m inflight.bench.rows.schema``.

Run it after each change of ``kinds`` or ``parts``; a test compares the stored ``row.schema.json`` with ``text``. Types
and bounds are msgspec's; the meaning of each field is its ``#:`` comment, which is read from the source.
"""

import inspect
import json
import re
from typing import Any, get_args

import msgspec

from inflight.bench.rows import kinds, parts
from inflight.bench.rows.files import SCHEMA_FILE
from inflight.bench.rows.records import Record

_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": f"A row of inflight, format {parts.NEWEST_FORMAT}",
    "description": "One line of rows.jsonl: everything known about one trial. Integers are nanoseconds (_ns) and "
    "bytes (_bytes); shares are between 0 and 1. Generated from bench/rows by its module `schema`. The records check "
    "more rules, such as figures above 0 and lists of equal length.",
}
"""What stands before the definitions."""
_CLASS_OR_FIELD = re.compile(r"^class (\w+)|^((?: {4}#: .*\n)*) {4}(\w+): .*?(?:  #: (.*))?$", re.MULTILINE)
"""Matches in the source a class, or a field with the comment above it, its name and the comment beside it."""


def schema() -> dict[str, Any]:
    """Return the schema of a row, with one definition for each record and each of its parts."""
    made, comments = msgspec.json.schema(Record), _comments()
    for name, definition in made["$defs"].items():
        record = vars(kinds).get(name) or vars(parts)[name]
        fields = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
        for key, value in definition["properties"].items():
            names = [(base.__name__, fields.get(key)) for base in record.__mro__]
            meanings = [comments[name] for name in names if name in comments]
            if meanings and "$ref" not in value:
                definition["properties"][key] = {"description": meanings[0]} | value
        # Python before 3.13 keeps the indentation of docstrings
        definition["description"] = inspect.cleandoc(definition["description"])
    for kind in get_args(Record):
        needed = {part: {"required": list(names)} for part, names in kind.NEEDED.items()}
        made["$defs"][kind.__name__] |= {
            "if": {"properties": {"status": {"const": "ok"}}},
            "then": {"properties": {"reason": {"type": "null"}} | needed},
            "else": {"properties": {"reason": {"type": "string", "minLength": 1}}},
        }
    return _HEAD | made


def text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _comments() -> dict[tuple[str, str], str]:
    """Return the ``#:`` comment, above or beside it, of each field of each class."""
    comments, record = {}, ""
    for begun, above, name, beside in _CLASS_OR_FIELD.findall(inspect.getsource(parts) + inspect.getsource(kinds)):
        record = begun or record
        if comment := " ".join(above.replace("#:", "").split()) or beside:
            comments[record, name] = comment
    return comments


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
