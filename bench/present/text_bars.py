"""A bar chart of plain text: a line per bar, all with the same scale, which starts at 0."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST, MOST = 8, 48
"""Least and greatest length of the longest bar."""
MOST_BARS = 12
"""Maximum number of bars; the rest are counted."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, its length, and its figure as text."""

    name: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars with a title that says what they show."""

    title: str
    bars: tuple[Bar, ...]


def drawn(chart: Bars, width: int) -> str:
    """Return the lines of a chart, at most ``width`` columns wide; values are not negative."""
    shown = chart.bars[:MOST_BARS]
    left, right = (max(map(len, texts), default=0) for texts in _texts(shown))
    room = max(LEAST, min(MOST, width - left - right - 4))
    longest = max((bar.value for bar in shown), default=0) or 1
    lines = [f"{bar.name:{left}}  {_bar(bar.value / longest, room)}  {bar.text}" for bar in shown]
    rest = len(chart.bars) - len(shown)
    return "\n".join([chart.title, *lines, *([f"{rest} more in the table"] if rest else [])])


def _texts(bars: Sequence[Bar]) -> tuple[list[str], list[str]]:
    return [bar.name for bar in bars], [bar.text for bar in bars]


def _bar(share: float, room: int) -> str:
    """Return a bar, exact to an eighth of a column, padded to the length of the longest one."""
    whole, eighths = divmod(round(share * room * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths].strip()).ljust(room)
