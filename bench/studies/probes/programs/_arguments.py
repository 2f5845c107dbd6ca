"""What every probe asks of its arguments: known names, known words, whole numbers within bounds, a server nearby."""

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

_SERVER = re.compile(r"http://127\.0\.0\.1:([1-9][0-9]{0,4})")


LIFETIME_S = 30.0
MOST_LIFETIME_S = 2_000_000


class ArgumentError(ValueError):
    """A probe was asked for what it cannot do; the message says in one sentence what, and what it can."""


def probes() -> list[str]:
    """Return the names of all probes."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def find_probe(words: Sequence[str]) -> str:
    """Return the probe that the command line names. Raises ArgumentError, with the nearest name."""
    if len(words) != 1:
        raise ArgumentError(f"one probe has to be named, not {len(words)}; known: {', '.join(probes())}")
    if words[0] not in probes():
        raise ArgumentError(f"there is no probe {words[0]!r:.60}{_hint(words[0], probes())}")
    return words[0]


def read_order(line: bytes) -> tuple[dict[str, Any], str | None, float]:
    """Return arguments, base and lifetime from the one line of input. Raises ArgumentError."""
    try:
        order = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"standard input must be one line of JSON, not {line[:40]!r}") from error
    if not isinstance(order, dict) or not isinstance(order.get("arguments"), dict):
        raise ArgumentError('standard input must be {"arguments": {...}, "base": ...}')
    if unknown := sorted(set(order) - {"arguments", "base", "lifetime_s"}):
        raise ArgumentError(f"standard input has {unknown[0]!r:.60}; known: arguments, base, lifetime_s")
    base, lifetime_s = order.get("base"), order.get("lifetime_s", LIFETIME_S)
    if not isinstance(base, str | None):
        raise ArgumentError("base must be a URL or null")
    if not isinstance(lifetime_s, int | float) or isinstance(lifetime_s, bool) or not 0 < lifetime_s <= MOST_LIFETIME_S:
        raise ArgumentError(f"lifetime_s must be a number of seconds above 0 and at most {MOST_LIFETIME_S}")
    return order["arguments"], base, float(lifetime_s)


def complete(
    arguments: Mapping[str, Any],
    usual: Mapping[str, tuple[Any, ...]],
    bounds: Mapping[str, tuple[int, int]],
) -> dict[str, Any]:
    """Return a value for each argument: as given, else the first of the ``usual`` ones.

    A whole number may be any within its ``bounds`` (least, greatest), a word must be a usual one. Raises ArgumentError.
    """
    for name in arguments:
        if name not in usual:
            raise ArgumentError(f"there is no argument {name!r:.60}{_hint(name, list(usual))}")
    given = {name: arguments.get(name, values[0]) for name, values in usual.items()}
    for name, value in given.items():
        if name in bounds:
            _check_number(name, value, *bounds[name])
        else:
            _check_word(name, value, usual[name])
    return given


def need_server(base: str | None) -> str:
    """Return the base URL of the fake server that the probe crawls. Raises ArgumentError."""
    found = _SERVER.fullmatch(base or "")
    if base is None or found is None or int(found[1]) > 65_535:
        raise ArgumentError(f"base must be that of a server on this machine, http://127.0.0.1:PORT, not {base!r:.60}")
    return base


def _check_number(name: str, value: Any, least: int, greatest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        # Not repr of an int first: one of more than 4300 digits has none (sys.set_int_max_str_digits).
        shown = "one outside" if isinstance(value, int) and abs(value) > 2**63 else repr(value)[:40]
        raise ArgumentError(f"{name} must be a whole number between {least} and {greatest}, not {shown}")


def _check_word(name: str, value: Any, words: Sequence[str]) -> None:
    if value not in words:
        hint = _hint(value, words) if isinstance(value, str) else f"; known: {', '.join(words)}"
        raise ArgumentError(f"{name} cannot be {value!r:.60}{hint}")


def _hint(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word[:60], known, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
