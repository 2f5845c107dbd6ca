"""The race in a terminal: frames as text, and one real pseudo-terminal."""

import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from inflight.bench.race import page
from inflight.bench.race.lanes import Race, races
from inflight.bench.race.page import ASCII, frame
from inflight.bench.rows.files import append
from inflight.bench.show import terminal
from tests.cli.command import ENVIRONMENT, INFLIGHT
from tests.made_rows import MS
from tests.race.made_races import runner

QUICK, SLOW = [0, 5, 5], [0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]


@pytest.fixture
def race() -> Race:
    (found,) = races([runner("callbacks", QUICK, sampled=True), runner("thread_pool", SLOW)])
    return found


def lines(race: Race, ms: float, width: int = 100) -> list[str]:
    return frame(race, ms * MS, width).plain.split("\n")


def test_a_moment_shows_every_lane(race: Race) -> None:
    title, clock, callbacks, pool = lines(race, 20)

    assert title.startswith("50 ms latency, 10 in flight: 10 pages, replayed; each strategy ran alone")
    assert clock == "0.020 s"
    assert callbacks.startswith("callbacks   ███")
    assert "▒" in callbacks, "the pages in flight"
    assert callbacks.endswith(" 50 % left")
    assert "█" not in pool
    assert frame(race, 20 * MS, 80, ASCII).plain.isascii()
    assert max(len(line) for width in (40, 80) for line in lines(race, 140, width)) <= 80


def test_a_finished_lane_has_its_rank_and_time_and_an_invalid_one_no_rank(race: Race) -> None:
    (other,) = races([runner("callbacks", QUICK, invalid=True), runner("thread_pool", SLOW)])

    assert [line.rpartition("█ ")[2] for line in lines(race, 140)[2:]] == ["1: 30.0 ms", "2: 140 ms"]
    assert [line.rpartition("█ ")[2] for line in lines(other, 140)[2:]] == ["1: 140 ms", "invalid: 30.0 ms"]


def test_a_name_cannot_move_the_cursor() -> None:
    (race,) = races([runner("a\x1b[2Jb\n", QUICK), runner("[red]x[/red]", QUICK)])
    text = "\n".join(lines(race, 20)) + terminal.text(page.section(race), 100).plain

    assert "\x1b" not in text
    assert "[red]x[/red]" in text


@pytest.mark.parametrize(("speed", "code"), [("20", 0), ("1", 130)], ids=["played once", "Ctrl-C"])
def test_on_a_terminal_it_plays_once_and_gives_the_cursor_back(tmp_path: Path, speed: str, code: int) -> None:
    for name, done in (("callbacks", QUICK), ("thread_pool", SLOW)):
        append(tmp_path, runner(name, done, sampled=True))
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [*INFLIGHT, "race", str(tmp_path), "--speed", speed],
        stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL, start_new_session=True,
        env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    ) as process:  # fmt: skip
        os.close(terminal)
        drawn = read_until(main, b" left")
        if code:
            process.send_signal(signal.SIGINT)
        drawn += read_until(main, b"the end")
        assert process.wait() == code
    os.close(main)

    assert b"\x1b[?25h" in drawn
    assert (b"do not say whether" in drawn) == (code == 0)
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9;]*m", drawn), "NO_COLOR is set"


def read_until(main: int, wanted: bytes) -> bytes:
    """Read what the command draws until something is in it, or it has gone."""
    data = b""
    with suppress(OSError):  # EIO: nobody has the other end any more
        while wanted not in data:
            data += os.read(main, 65536)
    return data
