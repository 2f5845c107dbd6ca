"""Words that tables, plots and README share: harmless names, and figures with as many digits as noise allows."""

from collections.abc import Sequence

from inflight.bench import units
from inflight.bench.frame.slopes import NoSlope, Slope

MOST_NAME = 40
"""Maximum length of the name of a strategy, or of another arm, as it is shown."""
WIDE = "(±>100 %)"
"""Written in place of an interval that reaches further than the estimate itself."""


def plain(text: str, most: int = 200) -> str:
    """Return text with nothing that moves a cursor or breaks a file: one line, printable, cut at ``most``."""
    clean = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def name(strategy: str) -> str:
    """Return the name of a strategy as it is shown: printable, and cut at ``MOST_NAME``."""
    return plain(strategy, MOST_NAME)


def memory(slope: Slope | NoSlope | None) -> str:
    """Write a memory slope with its interval, or as a range if the line is bent; a dash if there is none."""
    if not isinstance(slope, Slope):
        return "-"
    if not slope.straight:
        return units.size_between(slope.low, slope.high, 2)
    return units.size_and_error(slope.per_fetch, slope.error)


def neighbour(kind: str) -> str:
    """Say that the figures were disturbed on purpose."""
    return f"Another program ({kind}) ran on the same cores for half of the time, on purpose (--disturbed)."


def in_flight(number: int) -> str:
    """Write a number of fetches in flight: ``1,000 in flight``."""
    return f"{units.count(number)} in flight"


def at_latency(latency: str) -> str:
    """Write an added latency with its preposition: ``at 50 ms``, ``at no added latency``."""
    return f"at {units.latency(latency)}"


def counted(number: int, what: str) -> str:
    """Write a number of things whose plural ends in s: ``1 block``, ``1,000 blocks``."""
    return f"{units.count(number)} {what}{'' if number == 1 else 's'}"


def first(names: Sequence[str], most: int) -> list[str]:
    """Return the first names, and the number of the others in words if there are more than ``most``."""
    more = len(names) - most
    return [*names[:most], *([f"{units.count(more)} more"] if more > 0 else [])]


def listed(words: list[str]) -> str:
    """Write ``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
