"""The line of each trial, and the progress of a command: on a terminal its last line, which has the time left.

The progress is drawn only when a step ends. During a trial the harness shares its core with the server, so drawing ten
times per second would disturb the measurement. It therefore has the expected time of the end, which stays correct
between steps.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from inflight.bench.frame.figures import figure_of
from inflight.bench.rows.files import Row
from inflight.bench.show import words
from inflight.bench.show.terminal import DIM, GREEN, PLAIN, RED, wants_colour, wants_live

TRUST_NS = 5_000_000_000
"""Weight of the plan's estimate, as measured time, so that one unusual first step does not decide."""
MIN_NAME, _WHERE = 16, 34
"""Columns of the name of a strategy, at least, and of its workload."""
_TIMED = {"pages_per_s": "", "cpu_per_page_ns": "CPU/page"}
_HELD = {"held_uss_bytes": "held (USS)"}
_FIGURES: dict[str, dict[str, str]] = {
    "crawl": _TIMED,
    "arm": _TIMED,
    "memory": _HELD,
    "idle": _HELD,
    "swarm": {"held_in_flight": "held after", "reach_ns": ""},
    "limit": {"found": "found", "predicted": "predicted"},
}
"""The figures in the line of a trial of each kind, and the words behind them."""

Clock = Callable[[], int]
"""Nanoseconds since an arbitrary moment."""
Report = Callable[[int, int, Sequence[Row]], None]
"""Receives the number of a trial, the total, and its rows: one, or those of the arms of a block."""


def _put_line(line: str, _progress: str) -> None:
    print(line, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Progress:
    """Steps that end one after another, with a line each. The expected time of a step may be wrong by any factor."""

    total: int
    ahead_ns: float
    """Expected time of the steps to come."""
    now: str = ""
    """Name of the present step."""
    guess: str = "about"
    """How to read the time left: "about", or "at most" if the end may come sooner."""
    clock: Clock = time.monotonic_ns
    put: Callable[[str, str], None] = _put_line
    """Shows the line of a step, and the progress."""
    done: int = 0
    behind_ns: float = 0
    """Expected time of the timed steps."""
    took_ns: float = 0
    """Actual time of the timed steps."""
    elapsed_ns: int = 0
    _began_ns: int = field(init=False)

    def __post_init__(self) -> None:
        self._began_ns = self.clock()

    @property
    def left_ns(self) -> float:
        """Estimated time left: the expected time, scaled by that of the timed steps."""
        return self.ahead_ns * (self.took_ns + TRUST_NS) / (self.behind_ns + TRUST_NS)

    def finished(self, line: str, expected_ns: float, now: str = "", *, is_skipped: bool = False) -> None:
        """Show a step that ended; a skipped one says nothing about the speed of the others."""
        lap_ns = self._lap_ns()
        if not is_skipped:
            self.behind_ns += expected_ns
            self.took_ns += lap_ns
        self.done, self.ahead_ns, self.now = self.done + 1, max(0, self.ahead_ns - expected_ns), now
        self.put(line, self.sentence())

    def repeated(self, line: str) -> None:
        """Show a step that has to be repeated: no progress, and slower."""
        self.took_ns += self._lap_ns()
        self.put(line, self.sentence())

    def _lap_ns(self) -> int:
        """Return the time since the last step."""
        before, self.elapsed_ns = self.elapsed_ns, self.clock() - self._began_ns
        return self.elapsed_ns - before

    def sentence(self, at: datetime | None = None) -> str:
        """Return the progress: steps, the time so far, the time left, the expected end and the present step."""
        end = (at or datetime.now()) + timedelta(microseconds=self.left_ns / 1000)  # noqa: DTZ005  (the user's time)
        left = f"{self.guess} {minutes(self.left_ns)} left, until {end:%H:%M}"
        now = f"; now {self.now}" if self.now else ""
        return f"{self.done}/{self.total}  {minutes(self.elapsed_ns)} so far, {left}{now}"


@contextmanager
def displayed(progress: Progress) -> Iterator[Progress]:
    """Show steps on standard error while this lasts; on a terminal, the last line shows the progress."""
    with _last_line(progress.sentence()) as put:
        progress.put = put or _put_line
        yield progress


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the present step of a command that measures nothing on a terminal."""
    with _last_line("") as put:
        yield lambda step: None if put is None else put("", step)


@contextmanager
def _last_line(sentence: str) -> Iterator[Callable[[str, str], None] | None]:
    """Reserve the last line of the terminal, and remove it in any case at the end; yield None if this is none."""
    if not wants_live(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def line(sentence: str) -> Text:
        return Text(sentence, "cyan", no_wrap=True, overflow="ellipsis")

    console = Console(file=sys.stderr, highlight=False)
    with Live(line(sentence), console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        console.show_cursor()  # no flicker at this rate, and Ctrl-Z or kill -9 leave a visible cursor

        def put(above: str, sentence: str) -> None:
            with console:  # one write for both
                if above:
                    console.print(Text.from_ansi(above), soft_wrap=True)
                live.update(line(sentence), refresh=True)

        yield put


def minutes(value_ns: float) -> str:
    """Write a time as clocks do: ``0:07``, ``12:30``, ``1:02:03``."""
    whole, seconds = divmod(round(value_ns / 1e9), 60)
    hours, left = divmod(whole, 60)
    return f"{hours}:{left:02}:{seconds:02}" if hours else f"{left}:{seconds:02}"


@contextmanager
def reporting(waiting: Sequence[Any], clock: Clock = time.monotonic_ns) -> Iterator[Report]:
    """Show the progress of the waiting trials (``plan.trials``); yield a function that receives the rows of each."""
    width = name_width(trial.strategy for trial in waiting)
    names = [words.plain(trial.strategy, 30) for trial in waiting] + [""]
    expected_ns = sum(trial.expected_ns for trial in waiting)
    with displayed(Progress(len(waiting), expected_ns, names[0], clock=clock)) as progress:

        def report(number: int, total: int, rows: Sequence[Row]) -> None:
            lines = "\n".join(trial_line(number, total, row, width=width) for row in rows)
            is_skipped = all(row.status == "skipped" for row in rows)
            progress.finished(lines, waiting[number - 1].expected_ns, names[number], is_skipped=is_skipped)

        yield report


def name_width(strategies: Iterable[str]) -> int:
    """Return the columns for names in the lines of trials; a block has the names of its arms, with commas."""
    names = [name for strategy in strategies for name in strategy.split(", ")]
    return max([MIN_NAME, *(len(words.name(name)) for name in names)])


def trial_line(number: int, total: int, row: Row, *, colour: bool | None = None, width: int = MIN_NAME) -> str:
    """Return the line of a trial: its number, workload and figures, and ``ok`` or its failure.

    With ``colour`` None, it is coloured if standard error is a terminal and NO_COLOR is not set. ``width`` is that of
    the column of names.
    """
    figures = [
        f"{figure_of(name).write(value, 3):>14} {behind}".rstrip()
        for name, behind in (_FIGURES.get(row.kind, {}) if row.status == "ok" else {}).items()
        if (value := getattr(row.measured, name, None)) is not None
    ]
    reasons = "; ".join(words.plain(reason) for reason in row.invalid_reasons)
    verdict, style = (
        ("ok", GREEN) if row.valid else (reasons, DIM) if row.status == "skipped" else (f"✗ {reasons}", RED)
    )
    if wants_colour(sys.stderr) if colour is None else colour:
        verdict = f"{style}{verdict}{PLAIN}"
    kind = row.kind if row.kind in {"memory", "idle", "swarm", "limit", "open"} else ""
    where = words.join(", ", kind, words.workload(row.kind, msgspec.to_builtins(row.workload)))
    head = f"{number:>{len(str(total))}}/{total}  {words.name(row.name):{width}}  {where:{_WHERE}}"
    return "  ".join([head, *figures, verdict])
