"""Numbers as text: integers in nanoseconds and bytes become ``12.4 µs`` and ``16.6 kB``. Pure; all outputs use it.

Sizes that a user types are read here, too (``parse_size_bytes``); durations by ``inflight.fake_server.delays``.
``digits`` is the number of significant digits; the caller chooses it by the noise of the figure. A *tick* is the number
beside a mark of an axis.
"""

import math
import re
from collections.abc import Callable

Write = Callable[[float, int], str]
"""Formats a value with a number of significant digits."""

_TIMES = ((1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s"))
"""Units of durations, each with its factor to nanoseconds, in ascending order."""
_SIZES = ((1, "B"), (1_000, "kB"), (1_000_000, "MB"), (1_000_000_000, "GB"))
"""Units of sizes, each with its factor to bytes, in ascending order."""
_MOST_LOG = 600.0
"""Natural logarithm of the largest ratio that is written."""
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kMG]?)(i?B)?", re.IGNORECASE)
"""Matches a size as a user types it, such as ``500 MB``."""
_FACTORS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3}
"""The factor of each prefix of such a size."""
_LATENCY = re.compile(r"(\d)(ns|us|ms|s)\b")
"""Matches the end of a duration as the server takes it, such as ``50ms``."""
_DISTRIBUTIONS = {
    "uniform": "{} to {}",
    "exponential": "mean {}",
    "lognormal": "p50 {}, p99 {}",
    "pareto": "minimum {}, shape {}",
    "bimodal": "{}, and {} with probability {}",
}
"""The parameters of each distribution of delays, as they are written."""


def number(value: float, digits: int = 3) -> str:
    """Write a number with significant digits and thousands separators: ``9,810``, ``12.4``, ``0.0123``."""
    rounded = _round(value, digits)
    if rounded == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def count(value: float) -> str:
    """Write a count, which may be a fraction: ``1,000``, ``1.5``."""
    return f"{value:,.15g}"


def duration(value_ns: float, digits: int = 3) -> str:
    """Write a duration given in nanoseconds: ``12.4 µs``."""
    return _scaled(value_ns, digits, _TIMES)


def size(value_bytes: float, digits: int = 3) -> str:
    """Write a size given in bytes, in powers of 1,000: ``16.6 kB``."""
    return _scaled(value_bytes, digits, _SIZES)


def size_between(low_bytes: float, high_bytes: float, digits: int = 3) -> str:
    """Write two sizes in the unit of the greater one, as for an interval: ``4.70 to 5.10 kB``."""
    factor, name = _unit(max(abs(low_bytes), abs(high_bytes)), digits, _SIZES)
    low, high = (_in_unit(value, digits, factor) for value in (low_bytes, high_bytes))
    return f"{low} to {high} {name}"


def rate(per_s: float, digits: int = 3) -> str:
    """Write a throughput: ``9,810 pages/s``."""
    return f"{number(per_s, digits)} pages/s"


def number_tick(value: float) -> str:
    """Write a number beside a tick, without trailing zeros."""
    return f"{value:,.10g}"


def duration_tick(value_ns: float) -> str:
    """Write a duration beside a tick, without trailing zeros: ``50 ms``."""
    number_text, unit = duration(value_ns).split()
    return f"{number_text.rstrip('0').rstrip('.') if '.' in number_text else number_text} {unit}"


def times(ratio: float, digits: int = 2) -> str:
    """Write a ratio: ``1.9x``, ``760x``."""
    return f"{number(ratio, digits)}x"


def percent(share: float, decimals: int = 0) -> str:
    """Write a share as a percentage: ``45 %``."""
    return f"{100 * share:.{decimals}f} %"


def change(logarithm: float) -> str:
    """Write the logarithm of a ratio as a change: ``+5.1 %``, ``+130 %``; from ten times on as a ratio: ``12x``.

    Comparisons compute with natural logarithms (``frame.statistics``): 0 is no change. NaN is unknown.
    """
    if math.isnan(logarithm):
        return "unknown"
    within = min(_MOST_LOG, max(-_MOST_LOG, logarithm))
    share = 100 * math.expm1(within)
    if within >= math.log(10) or share < -99.95:
        return times(math.exp(within))
    return f"{round(share, 1) + 0.0:+.1f} %" if abs(share) < 99.95 else f"{share:+.0f} %"


def change_size(logarithm: float) -> str:
    """Write the size of a change without a sign, as for a noise or a bound: ``5.0 %``."""
    return change(logarithm).removeprefix("+")


def change_between(low: float, high: float) -> str:
    """Write the interval of a change: ``+4.1 to +6.8 %``."""
    texts = [change(end) for end in sorted((low, high))]
    return f"{texts[0].removesuffix(' %') if texts[1].endswith('%') else texts[0]} to {texts[1]}"


def latency(text: str) -> str:
    """Write an added latency: ``50 ms``; ``no added latency`` for ``0``; ``lognormal (p50 50 ms, p99 400 ms)``."""
    if text == "0":
        return "no added latency"
    kind, _, given = text.partition(" ")
    form = _DISTRIBUTIONS.get(kind, "")
    if form and form.count("{}") == len(given.split()):
        text = f"{kind} ({form.format(*given.split())})"
    return _LATENCY.sub(lambda match: f"{match[1]} {match[2].replace('us', 'µs')}", text)


def parse_size_bytes(text: str) -> int:
    """Return the bytes of a size such as ``500MB`` or ``2GB``. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match and float(match[1]) and not (match[2] or match[3]):
        raise ValueError(f"{text} has no unit; write {text}kB, {text}MB or {text}GB")
    size_bytes = round(float(match[1]) * _FACTORS[match[2].lower()]) if match else 0
    if size_bytes < 1:
        raise ValueError(f'"{text}" is not a size; write a number and kB, MB or GB, such as 500MB')
    return size_bytes


def _scaled(value: float, digits: int, units: tuple[tuple[int, str], ...]) -> str:
    """Write a value in the unit that suits it."""
    factor, name = _unit(value, digits, units)
    return f"{_in_unit(value, digits, factor)} {name}"


def _unit(value: float, digits: int, units: tuple[tuple[int, str], ...]) -> tuple[int, str]:
    """Choose the unit after rounding, so that 999,960 ns become 1.00 ms, never 1000 µs."""
    for factor, name in units[:-1]:
        if abs(_round(value / factor, digits)) < 1000 and (factor > 1 or abs(round(value)) < 1000):
            return factor, name
    return units[-1]


def _in_unit(value: float, digits: int, factor: int) -> str:
    """Write the value in its unit; nanoseconds and bytes have no decimals."""
    return f"{round(_round(value, digits)):,}" if factor == 1 else number(value / factor, digits)


def _round(value: float, digits: int) -> float:
    """Return the value rounded to significant digits."""
    return float(f"{value:.{digits - 1}e}")
