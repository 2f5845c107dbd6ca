"""Progress of a command and the time left: the last line of a terminal, or one line per step elsewhere.

It is drawn only when a step ends. During a trial the harness shares its core with the server, so drawing ten times per
second would disturb the measurement. The line therefore shows the expected time of the end, which stays correct between
steps.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from inflight.bench.present.console import wants_live

if TYPE_CHECKING:
    from rich.table import Table

BAR_WIDTH, TEXT_WIDTH = 24, 70
"""Columns. The bar gets the columns that the text leaves: none on a narrow terminal."""
PATIENCE_NS = 1_000_000_000
"""A command that takes less time than this shows no steps."""
_CLEAR = "\r\x1b[K"
"""Goes to the start of a line and empties it."""
TRUST_NS = 5_000_000_000
"""Weight of the plan's estimate, as measured time, so that one unusual first step does not decide."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The state of a command. Times in nanoseconds; the expected time of a step may be wrong by any factor."""

    total: int
    ahead_ns: float
    """Expected time of the steps to come."""
    done: int = 0
    behind_ns: float = 0
    """Expected time of the timed steps."""
    took_ns: float = 0
    """Actual time of the timed steps."""
    now: str = ""
    """Name of the present step."""
    guess: str = "about"
    """How to read the time left: "about", or "at most" if the end may come sooner."""

    @property
    def left_ns(self) -> float:
        """Estimated time left: the expected time, scaled by that of the timed steps."""
        return self.ahead_ns * (self.took_ns + TRUST_NS) / (self.behind_ns + TRUST_NS)

    def after(self, expected_ns: float, took_ns: float, now: str = "") -> "Stand":
        """Return the state after a timed step."""
        return replace(
            self.without(expected_ns, now), behind_ns=self.behind_ns + expected_ns, took_ns=self.took_ns + took_ns
        )

    def without(self, expected_ns: float, now: str = "") -> "Stand":
        """Return the state after a skipped step, which says nothing about the speed of the others."""
        return replace(self, done=self.done + 1, ahead_ns=max(0, self.ahead_ns - expected_ns), now=now)

    def again(self, took_ns: float) -> "Stand":
        """Return the state after a step that has to be repeated: no progress, and slower."""
        return replace(self, took_ns=self.took_ns + took_ns)


Clock = Callable[[], int]
"""Nanoseconds since an arbitrary moment."""
Put = Callable[[str, Stand, int], None]
"""Shows the line of a step, the state, and the nanoseconds since the beginning."""


class Progress:
    """Steps that end one after another, with a line each."""

    def __init__(self, stand: Stand, put: Put, clock: Clock) -> None:
        self._stand, self._put, self._clock = stand, put, clock
        self._began = self._last = clock()

    def finished(self, line: str, expected_ns: float, now: str = "") -> None:
        """Show a step that ended."""
        self._show(line, self._stand.after(expected_ns, self._took(), now))

    def skipped(self, line: str, expected_ns: float, now: str = "") -> None:
        """Show a skipped step."""
        self._show(line, self._stand.without(expected_ns, now))

    def repeated(self, line: str) -> None:
        """Show a step that is repeated."""
        self._show(line, self._stand.again(self._took()))

    def _took(self) -> int:
        return self._clock() - self._last

    def _show(self, line: str, stand: Stand) -> None:
        self._stand, self._last = stand, self._clock()
        self._put(line, stand, self._last - self._began)


@contextmanager
def shown(stand: Stand, clock: Clock = time.monotonic_ns) -> Iterator[Progress]:
    """Show steps on standard error while this lasts; on a terminal, the last line shows the progress."""
    putting: AbstractContextManager[Put] = _last_line(stand) if wants_live(sys.stderr) else nullcontext(_put_line)
    with putting as put:
        yield Progress(stand, put, clock)


@contextmanager
def working(clock: Clock = time.monotonic_ns) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the present step of a command that measures nothing, while this lasts.

    Steps are shown on the last line of a terminal, and only once the command has taken longer than PATIENCE_NS.
    """
    began, shown_once = clock(), False

    def tell(step: str) -> None:
        nonlocal shown_once
        if wants_live(sys.stderr) and clock() - began >= PATIENCE_NS:
            shown_once = True
            print(f"{_CLEAR}{step}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown_once:
            print(_CLEAR, end="", file=sys.stderr, flush=True)


def _put_line(line: str, _stand: Stand, _elapsed_ns: int) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _last_line(stand: Stand) -> Iterator[Put]:
    """Reserve the last line of the terminal for the progress, and remove it in any case at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=sys.stderr, highlight=False)

    def line_at(stand: Stand, elapsed_ns: int) -> "Table":
        now = datetime.now()  # noqa: DTZ005  (local time of the user)
        return told(stand, elapsed_ns, now, console.width)

    with Live(line_at(stand, 0), console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        console.show_cursor()  # no flicker at this rate, and Ctrl-Z or kill -9 leave a visible cursor

        def put(line: str, stand: Stand, elapsed_ns: int) -> None:
            with console:  # one write for both
                console.print(Text.from_ansi(line), soft_wrap=True)
                live.update(line_at(stand, elapsed_ns), refresh=True)

        yield put


def told(stand: Stand, elapsed_ns: int, now: datetime, width: int) -> "Table":
    """Return the last line: the number of steps, a bar of the time, and the expected end."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    text = Text(sentence(stand, elapsed_ns, now))
    bar_width = max(0, min(BAR_WIDTH, width - TEXT_WIDTH))
    whole_ns = elapsed_ns + stand.left_ns or 1
    bar = ProgressBar(whole_ns, elapsed_ns, bar_width, complete_style="cyan", finished_style="cyan")
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(no_wrap=True)
    line.add_column(no_wrap=True, width=bar_width)
    line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    line.add_row(f"{stand.done}/{stand.total}", bar if bar_width else "", text)
    return line


def sentence(stand: Stand, elapsed_ns: int, now: datetime) -> str:
    """Say how long it took so far, the time left, and the present step."""
    until = now + timedelta(microseconds=stand.left_ns / 1000)
    left = f"{stand.guess} {minutes(stand.left_ns)} left, until {until:%H:%M}"
    return f"{minutes(elapsed_ns)} so far, {left}" + (f"; now {stand.now}" if stand.now else "")


def minutes(value_ns: float) -> str:
    """Write a time as clocks do: ``0:07``, ``12:30``, ``1:02:03``."""
    whole, seconds = divmod(round(value_ns / 1e9), 60)
    hours, left = divmod(whole, 60)
    return f"{hours}:{left:02}:{seconds:02}" if hours else f"{left}:{seconds:02}"
