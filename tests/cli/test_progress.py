"""How far a command is: the figures, the last line of a terminal, and that nothing of it runs between two trials."""

import io
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from inflight.bench.present.progress import Clock, Progress, Stand, minutes, sentence, shown, told, working
from inflight.bench.report.trial_lines import of_trials, trial_line
from inflight.bench.rows import files as rows
from tests.cli.command import ENVIRONMENT, INFLIGHT
from tests.made_rows import crawl_row
from tests.patience import FOREVER_S, until

S = 1_000_000_000
NOON = datetime(2026, 11, 20, 12, 0)  # noqa: DTZ001  (the time of the day of who looks)
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
GATED = "strategies = ['callbacks', './gate.py']\nseed = 5\nrounds = 1\ndeadline_s = 3600\n[[crawl]]\npages = 5\n"
"""The second trial lasts until Ctrl-C."""
GATE = f"""
import pathlib, time
STACK = 'own'
REQUIRES = ()
def crawl(job, frontier):
    pathlib.Path(__file__).with_name('crawls').touch()
    time.sleep({FOREVER_S})
"""
IN_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal of 100 columns; a test makes it standard error."""
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": "30", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


@dataclass(frozen=True)
class Waiting:
    """A trial that waits."""

    id: str
    strategy: str = "callbacks"
    expected_ns: int = 10 * S


def ticking(*seconds: float) -> Clock:
    """Return a clock that shows these seconds, one after another."""
    times: Iterator[float] = iter(seconds)
    return lambda: round(next(times) * S)


# ------------------------------------------------------------------------------------------- the figures


def test_before_the_first_trial_the_time_left_is_that_of_the_plan() -> None:
    assert Stand(total=3, ahead_ns=30 * S).left_ns == 30 * S


def test_trials_twice_as_long_as_expected_double_the_time_left() -> None:
    stand = Stand(total=300, ahead_ns=3000 * S)
    for _ in range(200):
        stand = stand.after(10 * S, 20 * S)

    assert (stand.done, stand.ahead_ns) == (200, 1000 * S)
    assert stand.left_ns == pytest.approx(2000 * S, rel=0.01)


def test_a_single_short_trial_does_not_decide_the_pace() -> None:
    stand = Stand(total=100, ahead_ns=100 * S).after(S, 20 * S)

    assert 99 * S < stand.left_ns < 99 * 5 * S


def test_a_skipped_trial_counts_but_does_not_change_the_pace() -> None:
    stand = Stand(total=2, ahead_ns=200 * S).without(100 * S)

    assert (stand.done, stand.left_ns) == (1, 100 * S)


def test_repeated_work_does_not_reduce_the_time_left() -> None:
    before = Stand(total=2, ahead_ns=20 * S)
    after = before.again(10 * S)

    assert (after.done, after.ahead_ns) == (0, 20 * S)
    assert after.left_ns > before.left_ns


def test_more_steps_than_planned_leave_zero() -> None:
    stand = Stand(total=1, ahead_ns=S).after(S, S).after(S, S)

    assert stand.left_ns == 0


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(0, "0:00"), (7.4e9, "0:07"), (59.6e9, "1:00"), (750e9, "12:30"), (3723e9, "1:02:03"), (360_000e9, "100:00:00")],
)
def test_times_are_written_like_a_clock(value_ns: float, text: str) -> None:
    assert minutes(value_ns) == text


def test_the_text_of_the_progress_line() -> None:
    stand = Stand(total=84, ahead_ns=250 * S, now="callbacks")

    assert sentence(stand, 62 * S, NOON) == "1:02 so far, about 4:10 left, until 12:04; now callbacks"
    at_most = Stand(total=48, ahead_ns=90 * S, guess="at most")
    assert sentence(at_most, 0, NOON) == "0:00 so far, at most 1:30 left, until 12:01"


@pytest.mark.parametrize("width", [10, 20, 40, 70, 80, 100, 200])
def test_progress_is_one_line_on_any_width(width: int) -> None:
    stand = Stand(total=84_000, done=17_000, ahead_ns=1e6 * S, now="x" * 30)
    file = io.StringIO()

    Console(file=file, width=width).print(told(stand, 1_000_000 * S, NOON, width))

    assert file.getvalue().count("\n") == 1
    assert len(file.getvalue().rstrip()) <= width
    assert ("━" in file.getvalue()) == (width >= 80)


# --------------------------------------------------------------------------------------------- what is shown


def test_the_progress_line_names_the_next_trial() -> None:
    told: list[tuple[str, Stand, int]] = []
    progress = Progress(Stand(2, 20 * S), lambda *shown: told.append(shown), ticking(0, 5, 5, 6, 6))

    progress.finished("one", 10 * S, "two")
    progress.finished("two", 10 * S)

    lines, stands, elapsed = zip(*told, strict=True)
    assert lines == ("one", "two")
    assert elapsed == (5 * S, 6 * S)
    assert [(stand.done, stand.now, stand.took_ns) for stand in stands] == [(1, "two", 5 * S), (2, "", 6 * S)]


def test_in_a_pipe_there_is_only_one_line_per_trial(capsys: pytest.CaptureFixture[str]) -> None:
    done, skipped = crawl_row(), crawl_row(status="skipped", reason="not installed")
    waiting = [Waiting(done.trial), Waiting(skipped.trial)]

    with of_trials(waiting) as report:
        for number, row in enumerate((done, skipped), 1):
            report(number, 2, [row])

    assert capsys.readouterr() == ("", f"{trial_line(1, 2, done)}\n{trial_line(2, 2, skipped)}\n")


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_on_a_dumb_terminal_there_is_only_one_line_per_trial(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)

    with redirect_stderr(terminal), shown(Stand(1, S)) as progress:
        progress.finished("one", S)

    assert terminal.getvalue() == "one\n"


def test_the_progress_line_is_removed_and_the_lines_above_stay(terminal: Terminal) -> None:
    with redirect_stderr(terminal), shown(Stand(2, 20 * S, now="callbacks")) as progress:
        assert "0/2" in terminal.getvalue()
        assert "about 0:20 left" in terminal.getvalue()
        progress.finished("one", 10 * S)
        assert terminal.getvalue().index("one\n") < terminal.getvalue().index("1/2")
        progress.skipped("two", 10 * S)

    assert screen(terminal.getvalue()) == ["one", "two"]


def test_no_thread_that_could_draw_runs_between_two_trials(terminal: Terminal) -> None:
    before = threading.active_count()

    with redirect_stderr(terminal), shown(Stand(2, 20 * S)) as progress:
        progress.finished("one", 10 * S)

        assert threading.active_count() == before


def test_the_cursor_is_visible_during_a_trial(terminal: Terminal) -> None:
    with redirect_stderr(terminal), shown(Stand(1, S)):
        assert cursor_is_shown(terminal.getvalue())


def test_an_error_leaves_a_clean_terminal(terminal: Terminal) -> None:
    def interrupted() -> None:
        with redirect_stderr(terminal), shown(Stand(2, 20 * S)) as progress:
            progress.finished("one", 10 * S)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert cursor_is_shown(terminal.getvalue())
    assert screen(terminal.getvalue()) == ["one"]


def test_other_output_is_printed_above_the_progress_line(terminal: Terminal) -> None:
    with redirect_stderr(terminal), shown(Stand(1, S)) as progress:
        print("a warning", file=sys.stderr)
        progress.finished("one", S)

    assert screen(terminal.getvalue()) == ["a warning", "one"]


def test_no_color_turns_colours_off(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> str:
        before = len(terminal.getvalue())
        with redirect_stderr(terminal), shown(Stand(1, S)) as progress:
            progress.finished("one", S)
        return terminal.getvalue()[before:]

    assert re.search(r"\x1b\[[\d;]*m", drawn())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*m", drawn())


def test_a_name_cannot_move_the_cursor(terminal: Terminal) -> None:
    with redirect_stderr(terminal), of_trials([Waiting("x", strategy="a\x1b[2Jb[red]c\n" + 100 * "d")]):
        pass

    assert "\x1b[2J" not in terminal.getvalue()
    assert "now a?[2Jb[red]c" in terminal.getvalue()


# ----------------------------------------------------------------------------------------- the command itself


def screen(written: str) -> list[str]:
    """Return the lines that a terminal is left with, without colours; knows what is used here and nothing else."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part.startswith("\x1b"):
            row -= int(part[2:-1] or 1) if part.endswith("A") else 0
            assert part[-1] in "Amhl", part
        else:
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
            column += len(part)
    return [line.rstrip() for line in lines if line.strip()]


def cursor_is_shown(written: str) -> bool:
    return written.rfind(SHOW) > written.rfind(HIDE)


class Session:
    """A command whose standard input and standard error are a terminal of its own, and standard output a pipe."""

    def __init__(self, *arguments: object, folder: Path) -> None:
        self.written = ""
        self._terminal, inside = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, *INFLIGHT, *map(str, arguments)],
            cwd=folder, env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""},
            stdin=inside, stderr=inside, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        os.close(inside)

    def read(self, until: str | None = None) -> None:
        """Read what is written there, to the end or until something is."""
        while until is None or until not in self.written:
            try:
                more = os.read(self._terminal, 65536)
            except OSError:  # EIO: nobody is left who could write
                return
            if not more:
                return
            self.written += more.decode()

    def press(self, key: bytes) -> None:
        os.write(self._terminal, key)

    def end(self) -> tuple[int, str]:
        """Return the exit code and standard output."""
        self.read()
        out, _ = self.process.communicate()
        os.close(self._terminal)
        return self.process.returncode, out


def test_a_run_on_a_terminal_shows_progress_keeps_its_lines_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text(GATED, encoding="utf-8")
    (tmp_path / "gate.py").write_text(GATE, encoding="utf-8")
    session = Session("run", "few.toml", folder=tmp_path)
    try:
        session.read(until="now gate")
        until((tmp_path / "crawls").exists)  # the line is drawn by then, and not half of it
        session.press(b"\x03")
        code, out = session.end()
    finally:
        session.process.kill()

    (folder,) = (tmp_path / "results").iterdir()
    assert code == 130
    assert [row.strategy for row in rows.read(folder)] == ["callbacks"]
    assert "\x1b" not in out, "standard output is no terminal"
    assert re.search(r"0/2 .*0:00 so far, about 0:\d\d left, until \d\d:\d\d; now callbacks", session.written)
    assert re.search(r"\x1b\[[\d;]*3\dm", session.written), "a line has its colour"
    assert cursor_is_shown(session.written)
    lines = screen(session.written)
    assert lines[0].startswith("2 trials, about ")
    assert [line.split()[0] for line in lines[2:4]] == ["1/2", "rows:"]
    assert "rows kept: 1" in lines[-1]
    assert "inflight run --resume results/" in lines[-1]
    assert "so far" not in " ".join(lines)


def test_steps_of_a_command_are_shown_after_a_second_and_removed_at_the_end(terminal: Terminal) -> None:
    with redirect_stderr(terminal), working(ticking(0, 0.5, 1.5)) as tell:
        tell("early")
        tell("late")
        assert terminal.getvalue() == "\r\x1b[Klate"

    assert terminal.getvalue() == "\r\x1b[Klate\r\x1b[K"


def test_steps_are_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    with working(ticking(0, 5)) as tell:
        tell("drawing")

    assert capsys.readouterr().err == ""
