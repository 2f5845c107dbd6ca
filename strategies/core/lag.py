"""Loop lag: how late a timer fires in the event loop of a model while it crawls. Pure.

A model with an event loop of its own fires ``frontier.timer``, if there is one, as it fires its other timers.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

PERIOD_NS = 10_000_000
"""Time between two due times."""
EARLY_NS = 1_000_000
"""A loop may fire a timer this much too early: some count in milliseconds."""


class Timer:
    """A timer with due times on a fixed grid, and the times at which the loop fired it.

    The grid does not move when the timer fires late. A loop that stands still for 50 ms misses five due times, and each
    counts with its own lateness. With a fresh 10 ms after each firing, a long stall would count only once.
    """

    __slots__ = ("due_ns", "firings")

    def __init__(self, now_ns: int) -> None:
        self.due_ns = now_ns + PERIOD_NS
        """The next due time, on the clock of the frontier."""
        self.firings = array("q")
        """For each firing, the due time and the time when it fired."""

    def fire(self, now_ns: int) -> int:
        """Record that the loop fires the timer, if it is due; return when it is due next."""
        late_ns = now_ns - self.due_ns
        if late_ns >= -EARLY_NS:
            self.firings.extend((self.due_ns, now_ns))
            self.due_ns += (max(0, late_ns) // PERIOD_NS + 1) * PERIOD_NS
        return self.due_ns

    def lateness_ns(self, windows: Sequence[Sequence[int]], rest_ns: Sequence[int]) -> list[int]:
        """Return how late the timer was at each due time within the windows: (begin, end), ascending.

        ``rest_ns`` are the times when the crawl came to rest after each window: later time is not lateness.
        """
        begins = [begin for begin, _ in windows]
        found = []
        for due_ns, fired_ns in zip(self.firings[::2], self.firings[1::2], strict=True):
            for at_ns in range(due_ns, max(fired_ns, due_ns) + 1, PERIOD_NS):
                place = bisect_right(begins, at_ns) - 1
                if place >= 0 and at_ns < windows[place][1]:
                    found.append(max(0, min(fired_ns, rest_ns[place]) - at_ns))
        return found
