"""Why a case failed, in a line or two: the broken rule, what was observed, and what was expected."""

import dataclasses
import os
import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from inflight.conformance import BrokenRuleError
from inflight.strategies.core.page import Page

MOST_ITEMS = 3
"""Maximum number of differing items that are shown."""
MOST_TEXT = 160
"""Maximum length of a shown value, in characters."""
SIGNS = {
    "==": "", "is": "", "<=": "at most ", "<": "less than ", ">=": "at least ", ">": "more than ", "in": "one of ",
    "not in": "none of ", "!=": "other than ", "is not": "other than ",
}  # fmt: skip
LOOPBACK = re.compile(r"http://127\.0\.0\.1:\d+(?=/)")
UNCLOSED = (ResourceWarning, pytest.PytestUnraisableExceptionWarning)
LIBRARY = str(Path(os.__file__).parent)
FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+) in ')
OBSERVED, EXPECTED = "observed: ", "expected: "


def plain(text: str, most: int = 200) -> str:
    """Return text in one line, printable, cut at ``most``."""
    clean = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def broken_rule(error: BaseException | None) -> str | None:
    """Return the rule that a test found broken with this exception; None: that which the test belongs to."""
    if isinstance(error, BrokenRuleError):
        return error.rule
    return "cleanup" if isinstance(error, UNCLOSED) else None


def told(error: BaseException) -> tuple[str, ...]:
    """Return the lines that say why a test failed with this exception."""
    if isinstance(error, UNCLOSED) and error.__cause__ is not None:
        return told(error.__cause__)
    if isinstance(error, BrokenRuleError):
        return (OBSERVED + error.observed, *([] if error.expected is None else [EXPECTED + error.expected]))
    if isinstance(error, AssertionError):
        found = [line.strip().removeprefix("assert ") for line in str(error).splitlines()]
        contrasted = [line for line in found if line.startswith((OBSERVED, EXPECTED))]
        return tuple(contrasted) or (f"{OBSERVED}not true: {_statement(error)}",)
    if isinstance(error, pytest.fail.Exception):
        return (plain(str(error)),)
    # What was not closed is found later, wherever the interpreter collects it: that place is not the cause.
    place = "" if isinstance(error, UNCLOSED) else _place(error)
    return (plain(f"{OBSERVED}{type(error).__name__}: {error}") + place,)


def stopped(why: str, stack: str) -> tuple[tuple[str, ...], str]:
    """Return the lines on a test that was stopped, and its stack down to the test, as faulthandler writes it."""
    lines: list[str] = []
    for line in stack.splitlines():
        lines.append(line)
        if " in test_" in line:
            break
    frames = [found for line in lines if (found := FRAME.search(line)) and not found["file"].startswith(LIBRARY)]
    place = f", in {Path(frames[0]['file']).name}:{frames[0]['line']}" if frames else ""
    return (OBSERVED + why + place,), "\n".join(lines)


def contrast(sign: str, observed: Any, expected: Any) -> list[str]:
    """Return two lines on a comparison that did not hold: of collections, only the items that differ."""
    if sign == "==" and isinstance(observed, Mapping) and isinstance(expected, Mapping):
        keys = {**expected, **observed}
        pairs = {key: (observed.get(key, "nothing"), expected.get(key, "nothing")) for key in keys}
        unlike = {_key(key): _apart(*pair) for key, pair in pairs.items() if pair[0] != pair[1]}
        return [
            OBSERVED + _listed(f"{key}: {one}" for key, (one, _) in unlike.items()),
            EXPECTED + _listed(f"{key}: {other}" for key, (_, other) in unlike.items()),
        ]
    if sign == "==" and isinstance(observed, set) and isinstance(expected, set):
        extra, missing = observed - expected, expected - observed
        return [
            OBSERVED + (f"also {_listed(map(_key, extra))}" if extra else f"not {_listed(map(_key, missing))}"),
            EXPECTED + (_listed(map(_key, missing)) if missing else "nothing else"),
        ]
    return [OBSERVED + _short(observed), EXPECTED + SIGNS.get(sign, f"{sign} ") + _short(expected)]


def _apart(observed: Any, expected: Any) -> tuple[str, str]:
    """Return two values in words: of records, only the fields that differ."""
    if dataclasses.is_dataclass(observed) and type(observed) is type(expected):
        fields = [field.name for field in dataclasses.fields(observed)]
        unlike = [name for name in fields if getattr(observed, name) != getattr(expected, name)]
        one, other = (
            " ".join(f"{name}={getattr(record, name)!r}" for name in unlike) for record in (observed, expected)
        )
        return one, other
    return _short(observed), _short(expected)


def _key(key: Any) -> str:
    """Return the key of a dict or the item of a set; of a URL of the test's server, the path."""
    return LOOPBACK.sub("", key) if isinstance(key, str) else repr(key)


def _short(value: Any) -> str:
    if isinstance(value, Page):
        return value.error or f"status {value.status}"
    return plain(value if isinstance(value, str) else repr(value), MOST_TEXT)


def _listed(items: Iterable[str]) -> str:
    shown = list(items)
    more = len(shown) - MOST_ITEMS
    return plain(", ".join(shown[:MOST_ITEMS]), 3 * MOST_TEXT) + (f", and {more} more" if more > 0 else "")


def _statement(error: BaseException) -> str:
    """Return the line of the test in which an assertion failed."""
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return plain(line.removeprefix("assert "))


def _place(error: BaseException) -> str:
    """Return where an exception was raised: the last line outside of the library."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if not frame.filename.startswith((LIBRARY, "<"))]
    return f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
