"""The progress of a command, and the lines of what has ended; of a run on a terminal also a table that fills up.

``commands.run`` runs its trials within ``reporting``, ``ab`` and ``check`` their steps within ``displayed``. All is
drawn only when a step ends. During a trial the harness shares its core with the server, so drawing ten times per second
would disturb the measurement. It therefore has the expected time of the end, which stays correct between steps. For the
same reason the table is made without numpy and pandas.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec

from inflight.bench import units
from inflight.bench.frame.figures import figure_of
from inflight.bench.plan.trial import row_trials
from inflight.bench.rows.files import Row
from inflight.bench.show import words
from inflight.bench.show.terminal import DIM, GREEN, PLAIN, RED, wants_colour, wants_live

TRUST_NS, TRUST_SHARE = 5_000_000_000, 0.1
"""Weight of the plan's estimate, as measured time, at most this share of the plan: one unusual first step does not
decide, but a slow client shows at once that a plan of seconds takes minutes."""
MUCH_SLOWER = 1.5
"""Factor to the announced time from which a new one is announced."""
MIN_NAME, _WHERE = 16, 34
"""Width in characters of the name of a strategy, at least, and of its workload."""
MAX_LINES, MIN_SIZES = 20, 3
"""Maximum number of strategies in the table, and minimum number of sizes for its memory per fetch."""
_LAYERS = ("uss_bytes", "page_tables_bytes", "kernel_stack_bytes", "slab_bytes", "socket_bytes")
"""What grows with the fetches in flight, as ``inflight.bench.frame.slopes`` adds it up to all layers."""

Clock = Callable[[], int]
"""Nanoseconds since an arbitrary moment."""
Report = Callable[[int, int, Sequence[Row]], None]
"""Receives the number of a trial, the total, and its rows: one, or those of the arms of a block."""


def _put_line(line: str, _progress: str) -> None:
    """Print the line of a step, where nothing is a terminal."""
    with suppress(OSError):  # a full disk does not end a run
        print(line, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Progress:
    """Steps that end one after another, with a line each. The expected time of a step may be wrong by any factor."""

    total: int
    """Number of steps."""
    ahead_ns: float
    """Expected time of the steps to come, by the plan."""
    now: str = ""
    """Name of the present step."""
    guess: str = "about"
    """How to read the time left: "about", or "at most" if the end may come sooner."""
    clock: Clock = time.monotonic_ns
    below: Callable[[], str] = str
    """Returns lines that a terminal shows below the progress, each with a newline before it."""
    put: Callable[[str, str], None] = _put_line
    """Shows the line of a step, and the progress with what is below it."""
    done: int = 0
    """Number of steps that have ended."""
    behind_ns: float = 0
    """Expected time of the timed steps."""
    took_ns: float = 0
    """Actual time of the timed steps."""
    elapsed_ns: int = 0
    """Time so far, at the end of the last step."""
    announced_ns: float = field(init=False)
    """How long all steps take, as the user was told last."""
    _began_ns: int = field(init=False)
    _trust_ns: float = field(init=False)

    def __post_init__(self) -> None:
        self._began_ns = self.clock()
        self.announced_ns = self.ahead_ns
        self._trust_ns = max(1, min(TRUST_NS, TRUST_SHARE * self.ahead_ns))

    @property
    def left_ns(self) -> float:
        """Estimated time left: the expected time, scaled by that of the timed steps."""
        took_ns = self.took_ns + self._trust_ns
        behind_ns = self.behind_ns + self._trust_ns
        return self.ahead_ns * took_ns / behind_ns

    def finished(self, line: str, expected_ns: float, now: str = "", *, is_skipped: bool = False) -> None:
        """Show a step that ended, and that ``now`` begins; a skipped one says nothing about the speed of the others."""
        lap_ns = self._lap_ns()
        if not is_skipped:
            self.behind_ns += expected_ns
            self.took_ns += lap_ns
        self.done, self.ahead_ns, self.now = self.done + 1, max(0, self.ahead_ns - expected_ns), now
        all_ns = self.elapsed_ns + self.left_ns
        if self.ahead_ns and all_ns > MUCH_SLOWER * self.announced_ns + TRUST_NS:
            self.announced_ns = all_ns
            line = f"{line}\nslower than expected: about {minutes(all_ns)} in all".lstrip("\n")
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
        return f"{self.done}/{self.total}  {minutes(self.elapsed_ns)} so far, {left}{now}{self.below()}"


@contextmanager
def displayed(progress: Progress) -> Iterator[Progress]:
    """Show steps on standard error while this lasts; on a terminal, the last lines show the progress."""
    with _last_lines(progress.sentence()) as put:
        progress.put = put or _put_line
        yield progress


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the present step of a command that measures nothing on a terminal."""
    with _last_lines("") as put:
        yield lambda step: None if put is None else put("", step)


@contextmanager
def _last_lines(sentence: str) -> Iterator[Callable[[str, str], None] | None]:
    """Reserve the last lines of the terminal, and remove them in any case at the end; yield None if this is none."""
    if not wants_live(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=sys.stderr, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        console.show_cursor()  # no flicker at this rate, and Ctrl-Z or kill -9 leave a visible cursor

        def put(above: str, sentence: str) -> None:
            """Print a line above the last lines, and what these say now."""
            with console:  # one write for both
                if above:
                    console.print(Text.from_ansi(above), soft_wrap=True)
                region = Text(sentence, no_wrap=True, overflow="ellipsis")
                region.highlight_regex(r"\A.*", "cyan")
                live.update(region, refresh=True)

        put("", sentence)
        yield put


def minutes(value_ns: float) -> str:
    """Write a time as clocks do: ``0:07``, ``12:30``, ``1:02:03``."""
    whole, seconds = divmod(round(value_ns / 1e9), 60)
    hours, left = divmod(whole, 60)
    return f"{hours}:{left:02}:{seconds:02}" if hours else f"{left}:{seconds:02}"


@contextmanager
def reporting(
    waiting: Sequence[Any],
    planned: Mapping[str, int],
    rows: Sequence[Row],
    clock: Clock = time.monotonic_ns,
) -> Iterator[Report]:
    """Show the progress of the waiting trials (``plan.trials``); yield a function that receives the rows of each.

    On a terminal, there is a table of ``planned`` and ``rows``, to which the caller adds rows before it reports them.
    Trials in the table have a line only if they are not valid. It stays if an exception ends this, such as Ctrl-C.
    """
    width = name_width(part.name for trial in waiting for part in row_trials(trial))
    names = [words.plain(trial.name, 30) for trial in waiting] + [""]
    expected_ns = sum(trial.expected_ns for trial in waiting)
    progress = Progress(len(waiting), expected_ns, names[0], clock=clock)
    has_table = bool(planned) and wants_live(sys.stderr)

    def below() -> str:
        """Return the bar and the table that stand below the progress."""
        filled = 40 * progress.done // max(1, progress.total)
        return f"\n{'━' * filled:─<40}\n{table_so_far(planned, rows)}"

    if has_table:
        progress.below = below
    with displayed(progress):

        def report(number: int, total: int, ended: Sequence[Row]) -> None:
            """Show the rows of a trial that has ended."""
            with_line = [row for row in ended if not (has_table and row.valid and row.IS_CRAWL)]
            lines = step_lines(number, total, with_line, width)
            progress.finished(
                "\n".join(lines),
                waiting[number - 1].expected_ns,
                names[number],
                is_skipped=all(row.status == "skipped" for row in ended),
            )

        try:
            yield report
        except BaseException:
            if has_table:
                progress.put(below(), "")
            raise


def table_so_far(planned: Mapping[str, int], rows: Sequence[Row]) -> str:
    """Return a table of what has been measured so far; ``planned`` is the number of rows of each strategy at the end.

    CPU time per page is that of the workload with the least latency, pages per second that of the one with the most.
    Memory of fetches over TLS has a column of its own, once there is a row of it.
    """
    timed = [row for row in rows if row.valid and row.IS_TIMED]
    timed.sort(key=lambda row: abs(row.workload.in_flight - words.USUAL_IN_FLIGHT))
    by_workload: dict[str, list[Row]] = {}
    for row in timed:
        by_workload.setdefault(row.workload.id, []).append(row)

    def latency_ns(many: list[Row]) -> int:
        """Return the mean added latency of the rows of one workload."""
        return int(many[0].workload.mean_latency_ns)

    fast = min(by_workload.values(), key=latency_ns, default=[])
    slow = max(by_workload.values(), key=latency_ns, default=[])
    width = name_width(planned)
    has_tls = any(row.kind == "memory" and row.workload.tls for row in rows)
    lines = [
        f"{'':{width}}  CPU time              memory{'  over TLS' if has_tls else ''}",
        f"{'':{width}}  per page   pages/s per fetch{' per fetch' if has_tls else ''}     done",
    ]
    for name, total in [*planned.items()][:MAX_LINES]:
        mine = [row for row in rows if row.arm == name and row.IS_CRAWL]
        cost = _mean(units.duration, [row.measured.cpu_per_page_ns for row in fast if row.arm == name])
        rate = _mean(units.number, [row.measured.pages_per_s for row in slow if row.arm == name])
        memory = f"{_memory_each(mine):>10}"
        if has_tls:
            memory += f"{_memory_each(mine, over_tls=True):>10}"
        figures = f"{cost:>10}{rate:>10}{memory}{f'{len(mine)}/{total}':>9}"
        limits = "".join(dict.fromkeys(f"  ({row.reached})" for row in mine if row.reached))
        lines.append(f"{words.name(name):{width}}{figures}{limits}")
    if len(planned) > MAX_LINES:
        lines.append(f"and {len(planned) - MAX_LINES} more")
    lines.append(f"CPU time: {''.join(map(_where, fast[:1])) or '-'}")
    lines.append(f"pages/s: {''.join(map(_where, slow[:1])) or '-'}")
    return "\n".join(lines)


def _mean(write: units.Write, values: Sequence[float]) -> str:
    """Write the mean of some values."""
    return write(statistics.fmean(values), 2) if values else "-"


def _memory_each(rows: Iterable[Row], *, over_tls: bool = False) -> str:
    """Write the memory per fetch in all layers: the slope over the sizes held; "-" for too few.

    It is that of fetches over TLS, or of others. Sizes are those of one use of connections: that with most of them.
    """
    tables: dict[str, dict[int, int]] = {}
    for row in rows:
        if not row.valid or row.kind != "memory" or row.workload.tls != over_tls:
            continue
        if row.measured.held_disturbed is None:
            table = tables.setdefault(row.workload.connections, {})
            with suppress(TypeError):  # a layer is unknown
                table[row.measured.held_in_flight] = sum(
                    getattr(row.measured, f"held_{layer}") - getattr(row.measured, f"base_{layer}") for layer in _LAYERS
                )
    added = max(tables.values(), key=len, default={})
    if len(added) < MIN_SIZES:
        return "-"
    return units.size(statistics.linear_regression([*added], [*added.values()]).slope, 2)


def name_width(arms: Iterable[str]) -> int:
    """Return the columns for the names of arms in the lines of trials."""
    return max([MIN_NAME, *(len(words.name(arm)) for arm in arms)])


def trial_line(number: int, total: int, row: Row, width: int = MIN_NAME) -> str:
    """Return the line of a trial: its number of ``total``, workload and figures, and ``ok`` or its failure.

    It is coloured if standard error is a terminal and NO_COLOR is not set. ``width`` is that of the column of names.
    """
    figures = []
    for name, behind in row.PROGRESS.items():
        value = getattr(row.measured, name, None)
        if row.status == "ok" and value is not None:
            figures.append(f"{figure_of(name).write(value, 3):>14} {behind}".rstrip())
    reasons = "; ".join(map(words.plain, row.invalid_reasons))
    verdict = f"✗ {reasons}"
    style = RED
    if row.valid:
        verdict = "ok"
        style = GREEN
    elif row.status == "skipped":
        verdict = reasons
        style = DIM
    if wants_colour(sys.stderr):
        verdict = f"{style}{verdict}{PLAIN}"
    head = f"{number:>{len(str(total))}}/{total}  {words.name(row.name):{width}}  {_where(row):{_WHERE}}"
    return "  ".join([head, *figures, verdict])


def _where(row: Row) -> str:
    """Return the workload of a trial in words."""
    values = msgspec.to_builtins(row.workload)
    return words.join(", ", row.PREFIX, words.workload(row.kind, values), words.body(row.kind, values))


def step_lines(number: int, total: int, rows: Sequence[Row], width: int = MIN_NAME) -> list[str]:
    """Return the line of a trial; of a block, one for its valid arms, and one for each other.

    Arms with different numbers in flight have a line each.
    """
    arms = [row for row in rows if row.valid and row.kind == "arm"]
    lines = [trial_line(number, total, row, width) for row in rows if row not in arms]
    for where, group in groupby(arms, _where):
        costs = [f"{words.name(row.name)} {units.duration(row.measured.cpu_per_page_ns, 2)}" for row in group]
        lines.append(f"{number:>{len(str(total))}}/{total}  {where:{_WHERE}}  CPU/page: {', '.join(costs)}")
    return lines
