"""Why a case failed, in a line or two: the broken rule, what was observed, and what was expected."""

import dataclasses
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from inflight.bench.conformance.rules import BrokenRuleError
from inflight.bench.present.words import plain

MOST_ITEMS = 3
"""Maximum number of differing items that are shown."""
MOST_TEXT = 160
"""Maximum length of a shown value, in characters."""
SIGNS = {
    "==": "", "is": "", "<=": "at most ", "<": "less than ", ">=": "at least ", ">": "more than ", "in": "one of ",
    "not in": "none of ", "!=": "other than ", "is not": "other than ",
}  # fmt: skip
OBSERVED, EXPECTED = "observed: ", "expected: "


def told(error: BaseException) -> tuple[str, ...]:
    """Return the lines that say why a test failed with this exception."""
    if isinstance(error, BrokenRuleError):
        return (OBSERVED + error.observed, *([] if error.expected is None else [EXPECTED + error.expected]))
    if isinstance(error, AssertionError):
        found = [line.strip().removeprefix("assert ") for line in str(error).splitlines()]
        contrasted = [line for line in found if line.startswith((OBSERVED, EXPECTED))]
        return tuple(contrasted) or (f"{OBSERVED}not true: {_statement(error)}",)
    if isinstance(error, pytest.fail.Exception):
        return (plain(str(error)),)
    return (plain(f"{OBSERVED}{type(error).__name__}: {error}") + _place(error),)


def contrast(sign: str, observed: Any, expected: Any) -> list[str]:
    """Return two lines on a comparison that did not hold: of collections, only the items that differ."""
    if sign == "==" and isinstance(observed, Mapping) and isinstance(expected, Mapping):
        keys = [key for key in {**expected, **observed} if _missing(observed, key) or _missing(expected, key)]
        keys += [key for key in observed.keys() & expected.keys() if observed[key] != expected[key]]
        pairs = [_apart(observed.get(key, "nothing"), expected.get(key, "nothing")) for key in keys]
        items = [f"{_key(key)}: {{}}" for key in keys]
        return [
            OBSERVED + _listed(item.format(pair[0]) for item, pair in zip(items, pairs, strict=True)),
            EXPECTED + _listed(item.format(pair[1]) for item, pair in zip(items, pairs, strict=True)),
        ]
    if sign == "==" and isinstance(observed, set) and isinstance(expected, set):
        extra, missing = observed - expected, expected - observed
        return [
            OBSERVED + (f"also {_listed(map(_key, extra))}" if extra else f"not {_listed(map(_key, missing))}"),
            EXPECTED + (_listed(map(_key, missing)) if missing else "nothing else"),
        ]
    return [OBSERVED + _short(observed), EXPECTED + SIGNS.get(sign, f"{sign} ") + _short(expected)]


def _missing(values: Mapping[Any, Any], key: Any) -> bool:
    return key not in values


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
    return key if isinstance(key, str) else repr(key)


def _short(value: Any) -> str:
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
    """Return where an exception was raised: the last line that is not in the standard library or in pytest."""
    frames = traceback.extract_tb(error.__traceback__)
    library = os.path.dirname(os.__file__)  # noqa: PTH120  (compared with texts)
    own: Callable[[str], bool] = lambda file: not file.startswith((library, "<"))  # noqa: E731
    ours = [frame for frame in frames if own(frame.filename)]
    return f" ({os.path.basename(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""  # noqa: PTH119
