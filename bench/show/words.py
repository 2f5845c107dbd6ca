"""Words that all outputs share: harmless names, figures with as many digits as noise allows, texts, the glossary."""

import tomllib
from pathlib import Path

from inflight.bench import units
from inflight.bench.frame.slopes import NoSlope, Slope

TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
SENTENCES = TEXTS["sentences"]
MEANINGS = TEXTS["checks"] | TEXTS["older"]
"""Meaning of each validity check, by its name; the checks are in the measuring half."""
MAX_NAME = 40
"""Maximum length of the name of a strategy, or of another arm, as it is shown."""
WIDE = "(±>100 %)"
"""Written in place of an interval that reaches further than the estimate itself."""


class NotInRunError(ValueError):
    """A value is not in the run; the message lists those that are. Use one of these, or run more."""


def join(separator: str, *parts: str) -> str:
    """Join the parts that are not empty."""
    return separator.join(filter(None, parts))


def plain(text: str, most: int = 200) -> str:
    """Return text with nothing that moves a cursor or breaks a file: one line, printable, cut at ``most``."""
    clean = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def name(strategy: str) -> str:
    """Return the name of a strategy as it is shown: printable, and cut at ``MAX_NAME``."""
    return plain(strategy, MAX_NAME)


def memory(slope: Slope | NoSlope | None) -> str:
    """Write a memory slope with its interval, or as a range if the line is bent; a dash if there is none."""
    if not isinstance(slope, Slope):
        return "-"
    if not slope.straight:
        return units.size_between(slope.low, slope.high, 2)
    return units.size_and_error(slope.per_fetch, slope.error)


def in_flight(number: int) -> str:
    """Write a number of fetches in flight: ``1,000 in flight``."""
    return f"{units.count(number)} in flight"


def counted(number: int, what: str) -> str:
    """Write a number of things whose plural ends in s: ``1 block``, ``1,000 blocks``."""
    return f"{units.count(number)} {what}{'' if number == 1 else 's'}"


def listed(words: list[str]) -> str:
    """Write ``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def glossary() -> list[tuple[str, str]]:
    """Return all terms with their meanings, in alphabetical order."""
    return sorted(TEXTS["glossary"].items(), key=lambda term: term[0].lower())


def neighbour(kind: object) -> str:
    """Say that the figures were disturbed on purpose."""
    return SENTENCES["neighbour"].format(plain(str(kind), 40))
