"""Words that table, plots and README share: names made harmless, figures with the digits that their noise leaves."""

from collections.abc import Sequence

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.figures import NoSlope, Slope, Spread

STEADY = 0.02
"""Where the rounds differ by more than this share of their median, two digits are shown; else three."""


def plain(text: str, most: int = 200) -> str:
    """Return text with nothing that moves a cursor or breaks a file: one line, printable, cut at ``most``."""
    clean = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def digits(spread: Spread) -> int:
    """Return how many significant digits the rounds support; one round supports two, by our word."""
    return 3 if spread.rounds > 1 and spread.relative <= STEADY else 2


def duration(found: Spread | None) -> str:
    """Write the median of durations (ns) with the digits that the rounds support; a dash where it is unknown."""
    return "-" if found is None else units.duration(found.median, digits(found))


def percent(share: Spread | None) -> str:
    """Write the median of shares as a percentage; a dash where it is unknown."""
    return "-" if share is None else f"{100 * share.median:.0f} %"


def memory(slope: Slope | NoSlope | None) -> str:
    """Write a memory slope with its interval; the range where the line is bent; a dash where there is none."""
    if not isinstance(slope, Slope):
        return "-"
    if not slope.straight:
        return units.size_between(slope.low, slope.high, 2)
    return units.size_and_error(slope.per_fetch, max(slope.high - slope.per_fetch, slope.per_fetch - slope.low))


def neighbour(kind: str) -> str:
    """Say that the figures were disturbed on purpose."""
    return f"A neighbour ({kind}) ran on the same cores for half of the time, on purpose (--disturbed)."


def in_flight(number: int) -> str:
    """Write how many are in flight."""
    return f"{units.count(number)} in flight"


def at_latency(latency: str) -> str:
    """Write at which added latency: ``at 50 ms``, ``at no added latency``."""
    return f"at {units.latency(latency)}"


def numbers(caps: Sequence[int]) -> str:
    """Write some numbers in flight; of many, the ends."""
    texts = [units.count(cap) for cap in caps]
    return listed(texts) if len(texts) <= 5 else f"{texts[0]} to {texts[-1]} ({len(texts)} numbers)"


def workload(cell: c.Cell) -> str:
    """Write the workload of a cell as a sentence; the site of a block has no end."""
    parts = [units.latency(cell.latency), in_flight(cell.in_flight)]
    if not any(row.kind == "arm" for row in cell.rows):
        parts.append(f"{units.count(cell.pages)} pages")
    return f"Workload: {', '.join(parts)}."


def counted(number: int, what: str) -> str:
    """Write a number of things whose plural ends in s: ``1 block``, ``1,000 blocks``."""
    return f"{units.count(number)} {what}{'' if number == 1 else 's'}"


def listed(words: list[str]) -> str:
    """Write ``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def settings(found: Sequence[c.Setting]) -> dict[c.Setting, str]:
    """Name each setting by its use of connections, and by what else is needed to tell it from the others."""
    names = {}
    for setting in found:
        alike = [other for other in found if other.connection == setting.connection]
        values = [f"{key} {value}" for key, value in c.differing(setting, alike).items()]
        names[setting] = plain(", ".join([f"{setting.connection} connections", *values]), 80)
    return names
