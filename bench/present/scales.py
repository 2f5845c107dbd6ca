"""Logarithmic axes with ticks at round values."""

import math
from collections.abc import Callable, Sequence
from typing import Any


def set_ticks(axis: Any, values: Sequence[float]) -> None:
    """Put the ticks of an axis at exactly these values."""
    from matplotlib.ticker import FixedLocator

    axis.set_major_locator(FixedLocator(list(values)))


def log_axis(axis: Any, write: Callable[[float], str], values: Sequence[float], most: int = 8) -> None:
    """Make an axis logarithmic, with ticks at round values and readable labels."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    low, high = min(values), max(values)
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    getattr(axis.axes, f"set_{axis.axis_name}lim")(low, high)
    set_ticks(axis, round_values(low, high, most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def round_values(low: float, high: float, most: int = 8) -> list[float]:
    """Return round values from low to high: powers of ten, with 2 and 5 if few; even steps in a narrow range."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(found) <= most:
            break
    if len(found) >= 3:
        return found
    step = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= next(n for n in (1, 2, 5, 10) if (high - low) / (step * n) <= 6)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def apart(values: Sequence[float], least: float) -> list[float]:
    """Return the values that are at least this share of the whole logarithmic range apart; the ends are always kept."""
    if len(values) < 3:
        return list(values)
    gap = least * math.log(values[-1] / values[0])
    found = [values[0]]
    for value in values[1:-1]:
        if math.log(value / found[-1]) >= gap and math.log(values[-1] / value) >= gap:
            found.append(value)
    return [*found, values[-1]]
