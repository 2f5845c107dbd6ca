"""The lines of what has ended; how far a command is; the table so far; and that nothing of it runs during a trial."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.commands.output import complain, hushed
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, Status
from inflight.bench.rows.kinds import Arm
from inflight.bench.show.progress import (
    MAX_LINES,
    Clock,
    Progress,
    displayed,
    minutes,
    name_width,
    reporting,
    step_lines,
    table_so_far,
    trial_line,
    working,
)
from inflight.bench.show.terminal import GREEN, RED, wants_colour, wants_live
from tests.cli.command import ENVIRONMENT, INFLIGHT
from tests.cli.test_command_run_interrupted import only_run, write
from tests.made_rows import arm_row, crawl_row, edited, held_row, idle_row
from tests.patience import FOREVER_S, until
from tests.race.test_terminal import read_until
from tests.show.test_terminal_text import Terminal

S = 1_000_000_000
NOON = datetime(2026, 11, 20, 12, 0)  # noqa: DTZ001  (the time of the day of who looks)
HEADS = ["CPU time memory", "per page pages/s per fetch done"]
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
IN_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal of 100 columns; a test makes it standard error."""
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": "30", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


def waiting(strategy: str = "callbacks") -> Trial:
    return Trial("probe", 1, "probe", None, 10 * S, subject=strategy)


def ticking(*seconds: float) -> Clock:
    """Return a clock that shows these seconds, one after another."""
    times: Iterator[float] = iter(seconds)
    return lambda: round(next(times) * S)


# The line of a trial


def line_of(*given: Any, **changes: Any) -> str:
    return trial_line(17, 84, crawl_row(*given, **changes))


def test_the_numbers_stand_below_each_other_whatever_the_names() -> None:
    width = name_width(["thread_pool_executor", "callbacks"])
    found = [("thread_pool_executor", 20), ("callbacks", 40_000)]
    lines = [trial_line(1, 2, crawl_row(name, pages_per_s=rate), width=width) for name, rate in found]

    assert len({line.index("CPU/page") for line in lines}) == 1
    assert "thread_pool_executor " in lines[0]


def test_a_comma_in_a_name_does_not_divide_it(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a client, and its settings", "callbacks"]
    arms = tuple(Arm(name, name, "compared") for name in names)
    block = replace(waiting(), kind="arm", workload=arm_row().workload, arms=arms)

    with reporting([block], dict.fromkeys(names, 1), []) as report:
        report(1, 1, [arm_row(name, invalid=True) for name in names])

    lines = capsys.readouterr().err.splitlines()
    assert len({line.index("0 ms latency") for line in lines}) == 1


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout"])
def test_a_trial_that_did_not_end_well_has_its_reason_and_no_figures(status: Status) -> None:
    line = line_of(status=status, reason="page 3 is missing")

    assert line.endswith(f"✗ {status}: page 3 is missing")
    assert "pages/s" not in line
    assert line_of(invalid=True).endswith('✗ failed "no listen drops": 40 in /proc/net/netstat during the trial')


def test_invalid_is_red_and_skipped_is_no_error(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        skipped = trial_line(1, 2, crawl_row(status="skipped", reason="not installed: aiohttp"))
        assert GREEN in trial_line(1, 2, crawl_row())
        assert RED in trial_line(1, 2, crawl_row(invalid=True))

    assert "skipped: not installed: aiohttp" in skipped
    assert "✗" not in skipped
    assert RED not in skipped
    assert "\x1b" not in line_of(invalid=True)


def test_a_name_or_a_reason_cannot_move_the_cursor_or_break_the_line() -> None:
    line = line_of("a\x1b[2Jb", status="failed", reason="one\ntwo\x07\x1b[31m" + 1000 * "x")

    assert line.isprintable()
    assert len(line) < 350


# The lines of a block


def words_of(lines: Sequence[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def test_each_arm_that_is_not_valid_has_a_line_of_its_own() -> None:
    bad = arm_row("generators", status="failed", reason="it died")
    skipped = arm_row("aiohttp_client", status="skipped", reason="not installed: aiohttp")
    lines = step_lines(3, 84, [arm_row("callbacks"), bad, skipped])

    assert lines[:2] == [trial_line(3, 84, bad), trial_line(3, 84, skipped)]
    assert words_of(lines[2:]) == ["3/84 0 ms latency, 100 in flight CPU/page: callbacks 50 µs"]
    assert step_lines(3, 84, [bad]) == [trial_line(3, 84, bad)]


# The table so far


def cells(planned: dict[str, int], stored: Sequence[Row]) -> dict[str, list[str]]:
    """Return the lines of the table by the name of the strategy, in units without a space."""
    lines = [re.sub(r"(\d) (\wB|\ws)\b", r"\1\2", line).split() for line in table_so_far(planned, stored).splitlines()]
    return {line[0]: line[1:] for line in lines if line and line[0] in planned}


def test_memory_of_too_few_sizes_or_unknown_layers_is_not_shown() -> None:
    few = [held_row("callbacks", n, number=number) for n in (300, 500) for number in (1, 2)]
    unknown = [held_row("callbacks", n, unknown=["slab_bytes"]) for n in (300, 500, 850)]
    bad = [held_row("callbacks", n, invalid=True) for n in (300, 500, 850)]

    for stored in (few, unknown, bad):
        assert cells({"callbacks": 9}, stored)["callbacks"][2] == "-"


def test_memory_over_tls_has_a_column_of_its_own_as_soon_as_there_is_a_row_of_it() -> None:
    sizes = (300, 500, 850)
    plain = [held_row("callbacks", n, (1000, 0, 0, 8000)) for n in sizes]
    over_tls = [edited(held_row("callbacks", n, (50_000, 0, 0, 8000)), workload={"tls": True}) for n in sizes]

    assert cells({"callbacks": 9}, plain)["callbacks"][2:] == ["9.0kB", "3/9"]
    assert cells({"callbacks": 9}, plain + over_tls)["callbacks"][2:] == ["9.0kB", "58kB", "6/9"]
    assert cells({"callbacks": 9}, over_tls)["callbacks"][2:] == ["-", "58kB", "3/9"]
    assert words_of(table_so_far({"callbacks": 9}, plain + over_tls).splitlines()[:2]) == [
        "CPU time memory over TLS", "per page pages/s per fetch per fetch done",
    ]  # fmt: skip


def test_more_strategies_than_a_screen_has_lines_are_counted() -> None:
    lines = table_so_far({f"client{number}": 1 for number in range(MAX_LINES + 3)}, []).splitlines()

    assert lines[MAX_LINES + 1].startswith(f"client{MAX_LINES - 1} ")
    assert lines[MAX_LINES + 2] == "and 3 more"


# The figures of the progress


def progress(total: int, ahead_s: float, *seconds: float, **given: Any) -> Progress:
    return Progress(total, ahead_s * S, clock=ticking(0, *seconds), put=lambda *_: None, **given)


def test_trials_twice_as_long_as_expected_double_the_time_left() -> None:
    steps = progress(300, 3000, *range(20, 4001, 20))
    assert steps.left_ns == 3000 * S, "that of the plan, before the first trial"
    for _ in range(200):
        steps.finished("", 10 * S)

    assert (steps.done, steps.ahead_ns) == (200, 1000 * S)
    assert steps.left_ns == pytest.approx(2000 * S, rel=0.01)


def test_a_single_short_trial_does_not_decide_the_pace() -> None:
    steps = progress(100, 100, 20)
    steps.finished("", S)

    assert 99 * S < steps.left_ns < 99 * 5 * S


def test_a_run_that_is_much_slower_than_announced_says_so_once() -> None:
    lines: list[str] = []
    steps = Progress(10, 10 * S, clock=ticking(0, 10, 11, 12), put=lambda line, _: lines.append(line))
    for name in "abc":
        steps.finished(name, S)

    assert lines[0] == "a\nslower than expected: about 1:00 in all"
    assert "slower" not in lines[2]


def test_a_skipped_trial_counts_and_a_repeated_one_does_not() -> None:
    skipped, repeated = progress(2, 200, 1), progress(2, 20, 10)
    skipped.finished("", 100 * S, is_skipped=True)
    repeated.repeated("")

    assert (skipped.done, skipped.left_ns) == (1, 100 * S)
    assert (repeated.done, repeated.ahead_ns) == (0, 20 * S)
    assert repeated.left_ns > 20 * S


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(0, "0:00"), (7.4e9, "0:07"), (59.6e9, "1:00"), (750e9, "12:30"), (3723e9, "1:02:03"), (360_000e9, "100:00:00")],
)
def test_times_are_written_like_a_clock(value_ns: float, text: str) -> None:
    assert minutes(value_ns) == text


def test_the_text_of_the_progress_line() -> None:
    steps = progress(84, 250, 62, now="callbacks", guess="at most")

    assert steps.sentence(NOON) == "0/84  0:00 so far, at most 4:10 left, until 12:04; now callbacks"
    steps.finished("", 0, "generators", is_skipped=True)
    assert steps.sentence(NOON) == "1/84  1:02 so far, at most 4:10 left, until 12:04; now generators"


# What is shown


def test_in_a_pipe_there_is_only_one_line_per_trial(capsys: pytest.CaptureFixture[str]) -> None:
    done, skipped = crawl_row(), crawl_row(status="skipped", reason="not installed")

    with reporting([waiting()] * 2, {"callbacks": 2}, []) as report:
        for number, row in enumerate((done, skipped), 1):
            report(number, 2, [row])
    with working() as step:
        step("drawing")

    assert capsys.readouterr() == ("", f"{trial_line(1, 2, done)}\n{trial_line(2, 2, skipped)}\n")


@pytest.mark.parametrize("columns", [20, 40, 100])
def test_the_progress_line_is_removed_and_the_lines_above_stay(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    before = threading.active_count()

    with redirect_stderr(terminal), displayed(Progress(2, 20 * S, "callbacks")) as steps:
        assert "0/2" in terminal.getvalue()
        assert ("about 0:20 left" in terminal.getvalue()) == (columns >= 40)
        assert is_cursor_visible(terminal.getvalue())
        print("a warning", file=sys.stderr)
        steps.finished("one", 10 * S)
        assert terminal.getvalue().index("one\n") < terminal.getvalue().index("1/2")
        assert threading.active_count() == before, "a thread could draw between two trials"
        steps.finished("two", 10 * S, is_skipped=True)

    assert screen(terminal.getvalue()) == ["a warning", "one", "two"]


def reported(terminal: Terminal, *steps: Sequence[Row]) -> list[str]:
    """Return the screen while a run goes on, after these steps; none is left at its end."""
    stored: list[Row] = []
    planned = {row.strategy: len(steps) for rows_of_step in steps for row in rows_of_step if row.kind != "idle"}
    with redirect_stderr(terminal), reporting([waiting()] * 4, planned, stored) as report:
        for number, ended in enumerate(steps, 1):
            stored.extend(ended)
            report(number, 4, ended)
        shown = screen(terminal.getvalue())
    assert [line for line in shown if "/4 " in line and "so far" not in line] == screen(terminal.getvalue())
    return shown


def test_on_a_terminal_a_table_fills_up_and_a_valid_trial_has_no_line(terminal: Terminal) -> None:
    sentence, bar, _, _, *lines = reported(
        terminal, [arm_row("callbacks"), arm_row("generators", cpu_per_page_ns=60_000)]
    )

    assert sentence.startswith("1/4  ")
    assert bar == 10 * "━" + 30 * "─"
    assert words_of(lines[:2]) == ["callbacks 50 µs 10,000 - 1/1", "generators 60 µs 10,000 - 1/1"]


def test_what_is_not_valid_has_a_line_above_the_table(terminal: Terminal) -> None:
    above, skipped, sentence, *_ = reported(
        terminal,
        [arm_row("callbacks"), arm_row("generators", status="failed", reason="it died")],
        [crawl_row("callbacks", status="skipped", reason="for a reason")],
    )

    assert above.endswith("✗ failed: it died")
    assert skipped.endswith("skipped: for a reason")
    assert sentence.startswith("2/4  ")


def test_a_trial_that_no_table_has_keeps_its_line_on_a_terminal(terminal: Terminal) -> None:
    line, sentence, *table = reported(terminal, [idle_row()])

    assert line.endswith("ok")
    assert sentence.startswith("1/4  ")
    assert table == []


@pytest.mark.parametrize("columns", [30, 60, 80])
def test_a_narrow_terminal_cuts_the_table(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    shown = reported(terminal, [arm_row("callbacks"), arm_row("generators")])

    assert len(shown) == 8
    assert max(map(len, shown)) <= columns
    assert any(line.startswith("generators") for line in shown)


def test_ctrl_c_leaves_the_table_so_far(terminal: Terminal) -> None:
    def interrupt() -> None:
        with redirect_stderr(terminal), reporting([waiting()] * 2, {"callbacks": 2}, [crawl_row()]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()

    _, *lines = screen(terminal.getvalue())
    assert words_of(lines[:3]) == [*HEADS, "callbacks 50 µs 10,000 - 1/2"]
    assert is_cursor_visible(terminal.getvalue())
    assert "so far" not in "".join(screen(terminal.getvalue()))


def test_a_name_cannot_move_the_cursor(terminal: Terminal) -> None:
    name = "a\x1b[2Jb[red]c\n" + 100 * "d"
    with redirect_stderr(terminal), reporting([waiting(name)], {name: 1}, []):
        pass

    assert "\x1b[2J" not in terminal.getvalue()
    assert "now a?[2Jb[red]c" in terminal.getvalue()


def test_steps_of_a_command_are_removed_at_the_end(terminal: Terminal) -> None:
    with redirect_stderr(terminal), working() as step:
        step("early")
        step("late")
        assert screen(terminal.getvalue()) == ["late"]

    assert screen(terminal.getvalue()) == []


def test_a_quiet_command_prints_errors_only(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    with hushed():
        print("talk", file=sys.stderr, flush=True)
        complain("it went wrong")
        print("a result")
    print("talk again", file=sys.stderr)
    complain("and again")
    with redirect_stderr(terminal), hushed():
        assert not wants_live(sys.stderr)
        assert not wants_colour(sys.stderr)

    assert capsys.readouterr() == ("a result\n", "it went wrong\ntalk again\nand again\n")


# The command itself


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


def is_cursor_visible(written: str) -> bool:
    return written.rfind(SHOW) > written.rfind(HIDE)


def test_a_run_on_a_terminal_shows_progress_and_keeps_its_table_on_ctrl_c(tmp_path: Path) -> None:
    write(tmp_path, FOREVER_S)
    main, inside = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL, *INFLIGHT, "run", "experiment.toml"],
        cwd=tmp_path, env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""},
        stdin=inside, stderr=inside, stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(inside)
        drawn = read_until(main, b"now gate")
        until((tmp_path / "waits").exists)  # the line is drawn by then, and not half of it
        os.write(main, b"\x03")
        written = (drawn + read_until(main, b"the end")).decode()
        out, _ = process.communicate()
    os.close(main)

    folder = only_run(tmp_path)
    assert process.returncode == 130
    assert [row.strategy for row in rows.read(folder)] == ["callbacks"]
    assert "\x1b" not in out, "standard output is no terminal"
    assert re.search(r"0/2 .*0:00 so far, about 0:\d\d left, until \d\d:\d\d; now callbacks", written)
    assert re.search(r"\x1b\[[\d;]*3\dm", written), "a line has its colour"
    assert is_cursor_visible(written)
    lines = screen(written)
    assert lines[0].startswith("2 trials, about ")
    begin = lines.index(20 * "━" + 20 * "─")
    strategies = words_of(lines[begin + 3 : begin + 5])
    assert words_of(lines[begin + 1 : begin + 3]) == HEADS
    assert [line.split()[0] + line.split()[-1] for line in strategies] == ["callbacks1/1", "gate0/1"]
    word = "".join(lines[begin + 7 :]).partition("page:  ")[0]
    assert word.startswith(f"interrupted; rows kept in results/{folder.name}: 1; ")
    assert word.endswith(f"inflight run --resume results/{folder.name}")
    assert "so far" not in " ".join(lines)
