"""Added latency: distributions, written as a few words, and their quantiles.

A page's delay is the quantile at the page's own draw, so it never changes.
No delay exceeds CAP_NS: the tails of exponential, lognormal and pareto are cut there.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

CAP_NS = 60_000_000_000
FORMS = (
    '"0", "50ms", "constant 50ms", "uniform 10ms 90ms", "exponential 50ms" (mean), '
    '"lognormal 50ms 400ms" (p50, p99), "pareto 10ms 1.5" (minimum, shape), '
    '"bimodal 10ms 500ms 0.05" (fast, slow, share of slow)'
)

_UNITS_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
_MICRO_SIGNS = str.maketrans("\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}", "uu")
_LONG_UNITS_NS = {"m": 60_000_000_000, "h": 3_600_000_000_000}
"""They are read, but never written: the text of a latency is part of the name of a workload."""
_DURATION = re.compile(r"(\d{1,30}(?:\.\d{1,30})?) ?(ns|us|ms|s|m|h)")
_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) +(?=(?:ns|us|µs|μs|ms|s|m|h)\b)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_Z99 = 2.3263478740408408  # the 99 % quantile of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Delay:
    """A distribution of delays; `text` is its canonical form, which parses to an equal value."""

    kind: str
    parameters: tuple[float, ...]
    text: str

    def delay_ns(self, u: float) -> int:
        """Return the quantile at u, for u in (0, 1), cut at CAP_NS."""
        if self.kind == "constant":
            return int(self.parameters[0])
        return min(CAP_NS, round(_QUANTILE[self.kind](u, *self.parameters)))

    @property
    def mean_ns(self) -> float:
        """Return the mean of the cut distribution, which is finite for every kind."""
        return float(_MEAN[self.kind](*self.parameters))


def parse_delay(text: str) -> Delay:
    """Parse a delay. Raises ValueError with the allowed forms."""
    kind, *words = _SPACE_BEFORE_UNIT.sub("", text).split() or [""]
    if kind not in _SHAPES:
        kind, words = "constant", [kind, *words]
    takes, is_sound = _SHAPES[kind]
    try:
        if len(words) != len(takes):
            raise ValueError
        parameters = tuple(_READ[take](word) for take, word in zip(takes, words, strict=True))
        sound = is_sound(*parameters)
    except UnitError:
        raise
    except ValueError:
        sound = False
    if not sound:
        raise ValueError(f'"{text}" is not a latency of at most 60 s; write one of: {FORMS}')
    written = [_WRITE[take](value) for take, value in zip(takes, parameters, strict=True)]
    return Delay(kind, parameters, " ".join(written if kind == "constant" else [kind, *written]))


class UnitError(ValueError):
    """A number other than 0 has no unit; the message says how to write it."""


def parse_duration_ns(text: str) -> int:
    """Parse "0", "250us", "1.5ms", "2s", "5m" or "1h" into nanoseconds.

    Raises UnitError for a number without a unit, and ValueError for any other form.
    """
    if text == "0":
        return 0
    if _NUMBER.fullmatch(text):
        raise UnitError(f"{text} has no unit; write {text}ms or {text}s")
    match = _DURATION.fullmatch(text.translate(_MICRO_SIGNS))
    if match is None:
        raise ValueError(f'"{text}" is not a duration; write a number and ns, us, ms, s, m or h, such as 50ms')
    return round(float(match[1]) * (_UNITS_NS | _LONG_UNITS_NS)[match[2]])


def duration_text(duration_ns: float) -> str:
    """Write a duration in the largest unit that holds it exactly; the inverse of parse_duration_ns."""
    whole_ns = int(duration_ns)
    if whole_ns == 0:
        return "0"
    unit = next(unit for unit, size_ns in _UNITS_NS.items() if whole_ns % size_ns == 0)
    return f"{whole_ns // _UNITS_NS[unit]}{unit}"


def _bounded_ns(word: str) -> float:
    duration_ns = parse_duration_ns(word)
    if duration_ns > CAP_NS:
        raise ValueError
    return duration_ns


def _plain_number(word: str) -> float:
    if _NUMBER.fullmatch(word) is None:
        raise ValueError
    return float(word)


def _lognormal_sigma(p50: float, p99: float) -> float:
    return math.log(p99 / p50) / _Z99


def _lognormal_quantile(u: float, p50: float, p99: float) -> float:
    from statistics import NormalDist  # 10 ms to import: only for those who ask for this kind

    return p50 * math.exp(_lognormal_sigma(p50, p99) * NormalDist().inv_cdf(u))


def _lognormal_mean(p50: float, p99: float) -> float:
    from statistics import NormalDist

    sigma, below = _lognormal_sigma(p50, p99), NormalDist().cdf
    cut = math.log(CAP_NS / p50) / sigma
    return p50 * math.exp(sigma**2 / 2) * below(cut - sigma) + CAP_NS * (1 - below(cut))


def _pareto_quantile(u: float, minimum: float, shape: float) -> float:
    # A logarithm first: for a small shape the power alone would overflow.
    growth = -math.log1p(-u) / shape
    return minimum * math.exp(min(growth, 50.0))


def _pareto_mean(minimum: float, shape: float) -> float:
    if math.isclose(shape, 1.0):
        return minimum * (1 + math.log(CAP_NS / minimum))
    return minimum * (shape - math.pow(minimum / CAP_NS, shape - 1)) / (shape - 1)


_SHAPES: dict[str, tuple[tuple[str, ...], Callable[..., bool]]] = {
    "constant": (("time",), lambda _time: True),
    "uniform": (("time", "time"), lambda low, high: low <= high),
    "exponential": (("time",), lambda mean: mean > 0),
    "lognormal": (("time", "time"), lambda p50, p99: 0 < p50 < p99),
    "pareto": (("time", "number"), lambda minimum, shape: minimum > 0 and shape > 0),
    "bimodal": (("time", "time", "number"), lambda _fast, _slow, share: share <= 1),
}
_READ: dict[str, Callable[[str], float]] = {"time": _bounded_ns, "number": _plain_number}
_WRITE: dict[str, Callable[[float], str]] = {"time": duration_text, "number": "{:g}".format}
_QUANTILE: dict[str, Callable[..., float]] = {
    "uniform": lambda u, low, high: low + u * (high - low),
    "exponential": lambda u, mean: -mean * math.log1p(-u),
    "lognormal": _lognormal_quantile,
    "pareto": _pareto_quantile,
    "bimodal": lambda u, fast, slow, share: slow if u > 1 - share else fast,
}
_MEAN: dict[str, Callable[..., float]] = {
    "constant": lambda time: time,
    "uniform": lambda low, high: (low + high) / 2,
    "exponential": lambda mean: mean * -math.expm1(-CAP_NS / mean),
    "lognormal": _lognormal_mean,
    "pareto": _pareto_mean,
    "bimodal": lambda fast, slow, share: fast * (1 - share) + slow * share,
}
