"""Validation of experiments: small checks, whose messages say in one sentence what is wrong and where."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

MOST_SECONDS = 1_000_000
MOST_ROUNDS = 1000

T = TypeVar("T")


class ExperimentError(Exception):
    """The experiment is invalid. The message says what is wrong, where, and what is allowed."""


def need(condition: bool, message: str) -> None:
    """Raise ExperimentError with the message unless the condition holds."""
    if not condition:
        raise ExperimentError(message)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint from an unknown name to the most similar known one, or to all known names."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(names)}"


def check_known(name: str, known: Iterable[str], what: str, where: str) -> None:
    """Raise ExperimentError with the most similar known name if ``name`` is not known."""
    names = list(known)
    if name not in names:
        raise ExperimentError(f"{where}: unknown {what} {name!r}{nearest(name, names)}")


def check_keys(values: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise ExperimentError for the first unknown key."""
    for key in values:
        if key not in known:
            raise ExperimentError(f'{where}: unknown key "{key}"{nearest(key, known)}')


def check_list(value: Any, kind: type, where: str) -> None:
    """Raise ExperimentError unless the value is a non-empty list of texts or of whole numbers."""
    fine = isinstance(value, list) and value and all(type(item) is kind for item in value)
    word = {str: "texts", int: "whole numbers"}[kind]
    need(bool(fine), f"{where} must be a list of {word}, not {value!r}")


def tables(value: Any, kind: str, where: str) -> list[Any]:
    """Return the tables written as [[kind]]."""
    need(isinstance(value, list), f"{where}: {kind} must be written with two brackets, as [[{kind}]]")
    return cast("list[Any]", value)


def distinct(values: Iterable[T], where: str) -> tuple[T, ...]:
    """Return the values. Raises ExperimentError for duplicates."""
    found = tuple(values)
    need(len(set(found)) == len(found), f"{where} names the same value twice")
    return found


def whole(value: Any, least: int, most: int, where: str) -> int:
    """Return a whole number within bounds."""
    fine = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    need(fine, f"{where} must be a whole number from {least} to {most}, not {value!r}")
    return cast("int", value)


def optional(table: Mapping[str, Any], key: str, most: int, where: str) -> int | None:
    """Return a whole number from 1 on; None where the table has no such key."""
    return whole(table[key], 1, most, f"{where}: {key}") if key in table else None


def rounds(table: Mapping[str, Any], where: str) -> int | None:
    """Return the number of rounds that a table takes part in; None for all."""
    return optional(table, "rounds", MOST_ROUNDS, where)


def text(value: Any, where: str) -> str:
    """Return a non-empty text, stripped."""
    need(isinstance(value, str) and bool(value.strip()), f"{where} must be text, not {value!r}")
    return cast("str", value).strip()


def truth(value: Any, where: str) -> bool:
    """Return true or false."""
    need(isinstance(value, bool), f"{where} must be true or false, not {value!r}")
    return cast("bool", value)


def variables(value: Any, where: str) -> dict[str, str]:
    """Return environment variables, whose values are texts."""
    fine = isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    need(fine, f"{where} must be a table of texts, not {value!r}")
    return dict(value)


def seconds(value: Any, where: str) -> float | None:
    """Return a number of seconds, or None for None."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = value is None or (number and 0 < value <= MOST_SECONDS)
    need(fine, f"{where} must be a number above 0 and at most {MOST_SECONDS}, not {value!r}")
    return cast("float | None", value)


def judged(read: Callable[[], T], where: str) -> T:
    """Return the result of ``read``; turn its ValueError into an ExperimentError with the place."""
    try:
        return read()
    except ValueError as error:
        raise ExperimentError(f"{where}: {error}") from error
