"""Checks of what a user asks for. A mistake is told in one sentence that says what, where, and what is allowed.

``experiment`` and the tables of TOML use it, and commands for their options. ``convert`` makes a struct of TOML values
and turns the message of msgspec into that sentence; ``need`` and the ``check_...`` functions raise ExperimentError,
which commands end with (exit code 2).
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from msgspec import Meta, Struct, ValidationError
from msgspec import convert as converted

MAX_SECONDS = 1_000_000
"""Maximum of any time in seconds."""
MAX_ROUNDS = 1000
"""Maximum number of rounds."""
AT_LEAST = ">="
"""Beginning of the name of any interpreter from a version on, such as ``>=3.12``."""

T = TypeVar("T")
"""What is parsed."""
Described = TypeVar("Described", bound=Struct)
"""The struct that TOML values become."""
Rounds = Annotated[int, Meta(ge=1, le=MAX_ROUNDS)]
"""How often each cell is measured."""
Seconds = Annotated[float, Meta(gt=0, le=MAX_SECONDS)]
"""A time in seconds."""

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""What the types of msgspec are called in messages."""


class ExperimentError(ValueError):
    """The experiment is invalid. The message says what is wrong, where, and what is allowed."""


class ExperimentTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of an experiment. Its lists are not empty and have no value twice."""

    rounds: Rounds | None = None  #: Number of rounds of the table; None: that of the experiment.

    def __post_init__(self) -> None:
        """Raise ExperimentError for a list that is empty or names a value twice, and for a process that cannot be."""
        check_process(self)
        for key in self.__struct_fields__:
            values = getattr(self, key)
            if isinstance(values, tuple):
                need(bool(values), f"{key} must be a list of at least one value, not []")
                check_distinct(values, key)


def convert(values: Any, kind: type[Described], where: str) -> Described:
    """Turn TOML values into a struct. Raises ExperimentError."""
    need(isinstance(values, Mapping), f"{where} must be a table, not {values!r}")
    check_keys(values, kind.__struct_encode_fields__, where)
    try:
        return converted(values, kind)
    except ValidationError as error:
        raise ExperimentError(f"{where}: {_sentence(str(error), values, kind)}") from error


def _sentence(message: str, values: Mapping[str, Any], kind: type) -> str:
    """Return a message of msgspec with the key, its value and the words of TOML; one of ``__post_init__`` unchanged."""
    message, _, path = message.partition(" - at `$.")
    key = re.split(r"\W", path)[0]
    if message.startswith("Object missing"):
        return f"needs a value for {message.split('`')[1]}"
    if message.startswith("Invalid enum value"):
        value = message.split("'", 1)[1].removesuffix("'")
        return f"{key}: unknown value {value!r}{nearest(value, _options(get_type_hints(kind)[key]))}"
    expected = re.fullmatch(r"Expected `([^`]+)`(?:, got `\w+`)?(.*)", message)
    if expected is None:
        return message
    allowed = " or ".join(_WORDS[each] for each in expected[1].split(" | ") if each in _WORDS)
    subject = f"each value of {key}" if "[" in path else key
    return f"{subject} must be {allowed}{expected[2].removesuffix('.0')}, not {values[key]!r}"


def _options(hint: Any) -> list[str]:
    """Return the texts that a type allows."""
    return [each for part in get_args(hint) for each in ([part] if isinstance(part, str) else _options(part))]


def need(condition: bool, message: str) -> None:
    """Raise ExperimentError with the message unless the condition holds."""
    if not condition:
        raise ExperimentError(message)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known name most similar to an unknown one, or all known names."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(names)}"


def check_distinct(values: Collection[Any], where: str) -> None:
    """Raise ExperimentError for a value that is there twice."""
    need(len(set(values)) == len(values), f"{where} names the same value twice")


def check_known(name: str, known: Iterable[str], what: str, where: str) -> None:
    """Raise ExperimentError with the most similar known name if ``name`` is not known."""
    names = list(known)
    need(name in names, f"{where}: unknown {what} {name!r}{nearest(name, names)}")


def check_keys(values: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise ExperimentError for the first unknown key."""
    for key in values:
        need(key in known, f'{where}: unknown key "{key}"{nearest(key, known)}')


def check_process(table: Struct) -> None:
    """Raise ExperimentError for an interpreter that cannot be, or a variable that no process can get.

    PYTHONPATH would hide the harness.
    """
    python, variables = getattr(table, "python", None) or "", getattr(table, "variables", None) or {}
    fine = not python.startswith(AT_LEAST) or re.fullmatch(r"3\.\d{1,3}", python.removeprefix(AT_LEAST))
    need(bool(fine), f"python must be a version such as {AT_LEAST}3.12, not {python!r}")
    for name, text in variables.items():
        need(
            re.fullmatch(r"(?!PYTHONPATH\0)[A-Za-z_][A-Za-z0-9_]*\0[^\0]*", f"{name}\0{text}") is not None,
            f"variables must have names of letters, digits and _, without PYTHONPATH, and no NUL, not {name!r:.80}",
        )


def whole(value: Any, least: int, most: int, where: str) -> int:
    """Return a whole number within bounds. Raises ExperimentError for any other value, also for true and false."""
    fine = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    need(fine, f"{where} must be a whole number from {least} to {most}, not {value!r}")
    return int(value)


def judged(read: Callable[[], T], where: str) -> T:
    """Return the result of ``read``, a parser; turn its ValueError into an ExperimentError about ``where``."""
    try:
        return read()
    except ValueError as error:
        raise ExperimentError(f"{where}: {error}") from error
