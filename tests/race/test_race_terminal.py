"""The race in a terminal: frames as text, the keys, the finish, and one real pseudo-terminal."""

import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inflight.bench.present import section
from inflight.bench.rows.files import append
from inflight.bench.studies.race import show
from inflight.bench.studies.race import terminal as race_terminal
from inflight.bench.studies.race.read import Race, races
from inflight.bench.studies.race.terminal import ASCII, Replay, frame, keys_of
from tests.cli.command import ENVIRONMENT, INFLIGHT
from tests.made_rows import MS
from tests.race.made_races import runner

QUICK, SLOW = [0, 5, 5], [0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]


@pytest.fixture
def race() -> Race:
    (found,) = races([runner("callbacks", QUICK, sampled=True), runner("thread_pool", SLOW)])
    return found


def shown(race: Race, ms: float, width: int = 100, height: int = 40) -> list[str]:
    return frame(Replay(race, 1.0, ms * MS), width, height).plain.split("\n")


def finish(race: Race) -> str:
    return section.text(show.section(race), 100).plain


def test_a_moment_shows_every_lane_with_its_figures(race: Race) -> None:
    title, about, clock, _, callbacks, figures, pool, others = shown(race, 20)

    assert title == "50 ms added latency, 10 in flight: 10 pages, replayed"
    assert about.startswith("Each strategy ran alone")
    assert clock.startswith("   0.020 s  plays at 1x")
    assert callbacks.startswith("callbacks        ███")
    assert "▒" in callbacks, "the pages in flight"
    assert " ".join(figures.split()) == "5 of 10 pages 5 in flight 2 threads 22.0 MB CPU 50 %"
    assert "█" not in pool
    assert "at most 1 thread" in others, "without samples nothing is made up"


def test_cpu_time_that_is_unknown_is_left_out() -> None:
    row = runner("callbacks", QUICK, sampled=True)
    row.measured.samples.cpu_ns[:] = [None] * len(QUICK)
    (found,) = races([row, runner("thread_pool", SLOW)])

    assert " ".join(shown(found, 20)[5].split()) == "5 of 10 pages 5 in flight 2 threads 22.0 MB"


def test_a_finished_lane_keeps_place_and_time(race: Race) -> None:
    callbacks, figures, pool, _ = shown(race, 60)[4:]

    assert callbacks.endswith(" 1st  30.0 ms")
    assert " ".join(figures.split()) == "10 of 10 pages 0 in flight 3 threads 23.0 MB CPU 50 %"
    assert not pool.rstrip().endswith("ms")
    assert shown(race, 140)[6].endswith(" 2nd  140 ms")


def test_an_invalid_lane_has_no_place() -> None:
    (race,) = races([runner("callbacks", QUICK, invalid=True), runner("thread_pool", SLOW)])

    assert shown(race, 10)[4].endswith(" invalid")
    assert shown(race, 100)[4].endswith(" invalid  30.0 ms")


def test_a_lane_whose_recording_ends_says_so() -> None:
    (race,) = races([runner("sequential", [1], in_flight=1), runner("callbacks", QUICK), runner("generators", SLOW)])
    lines = {line.split()[0]: line for line in shown(race, 20, height=8)[4:]}

    assert lines["sequential"].endswith("recording ends")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("height", [5, 24])
def test_no_line_is_wider_than_the_terminal(race: Race, width: int, height: int) -> None:
    for ms in (0, 15, 60, 140):
        assert max(map(len, shown(race, ms, width, height))) <= max(width, 38)


def test_a_low_terminal_leaves_the_figures_out(race: Race) -> None:
    assert len(shown(race, 20, height=8)) == 6


def test_a_terminal_that_is_not_utf_8_gets_ascii(race: Race) -> None:
    assert frame(Replay(race, 1.0, 20.0 * MS), 80, 24, ASCII).plain.isascii()


def test_a_name_cannot_move_the_cursor() -> None:
    (race,) = races([runner("a\x1b[2Jb\n", QUICK), runner("[red]x[/red]", QUICK)])
    text = "\n".join(shown(race, 20)) + finish(race)

    assert "\x1b" not in text
    assert "[red]x[/red]" in text


def test_time_passes_at_the_speed_and_stops_at_the_end(race: Race) -> None:
    begun = Replay(race, 2.0)

    assert begun.passed(10 * MS).at_ns == 20 * MS
    ended = begun.passed(1000 * MS)
    assert (ended.at_ns, ended.playing) == (race.duration_ns, False)
    assert ended.passed(1000 * MS) == ended
    assert "ended" in frame(ended, 80, 24).plain


def test_keys_do_what_the_help_says(race: Race) -> None:
    begun = Replay(race, 1.0)

    paused = begun.pressed(" ")
    assert not paused.playing
    assert paused.passed(10 * MS).at_ns == 0
    assert paused.pressed(" ").playing
    assert begun.pressed("+").speed == 2
    assert begun.pressed("-").speed == 0.5
    assert begun.pressed("right").at_ns == race_terminal.STEP * race.duration_ns
    assert begun.pressed("left").at_ns == 0
    ended = begun.pressed("end")
    assert (ended.at_ns, ended.playing) == (race.duration_ns, False)
    again = ended.pressed(" ")
    assert (again.at_ns, again.playing) == (0, True)
    assert ended.pressed("home").at_ns == 0
    assert begun.pressed("x") == begun
    assert begun.pressed("q").left
    for _ in range(50):
        begun = begun.pressed("+")
    assert begun.speed == race_terminal.FASTEST


def test_keys_typed_together_are_separated() -> None:
    assert list(keys_of("\x1b[C \x1bOD+q")) == ["right", " ", "left", "+", "q"]
    assert list(keys_of("\x1b[H\x1b[F")) == ["home", "end"]
    assert "q" not in list(keys_of("\x1b[A\x1b[Z\x1b"))
    assert list(keys_of("")) == []


def test_the_finish_is_a_table_in_order(race: Race) -> None:
    title, _, what, _, _, first, second, *lines = finish(race).splitlines()

    assert title == "10 pages took 30.0 ms with callbacks, the fastest, and 140 ms with thread_pool, the slowest."
    assert what == "50 ms added latency, 10 in flight: 10 pages"
    assert first.split()[:9] == ["callbacks", "1st", "10", "10", "30.0", "ms", "333", "1", "23.0"]
    assert second.startswith("thread_pool")
    assert any("each strategy ran alone" in line for line in lines)


@contextmanager
def in_a_terminal(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Start the command on a pseudo-terminal."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*INFLIGHT, "race", str(folder)],
        stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL, start_new_session=True,
        env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )  # fmt: skip
    os.close(terminal)
    try:
        yield process, main
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(main)


def read_until(main: int, wanted: bytes) -> bytes:
    """Read what the command draws until something is in it, or it has gone."""
    data = b""
    while wanted not in data:
        try:
            data += os.read(main, 65536)
        except OSError:  # EIO: nobody has the other end any more
            break
    return data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, done in (("callbacks", QUICK), ("thread_pool", SLOW)):
        append(tmp_path, runner(name, done, sampled=True))
    return tmp_path


def test_on_a_terminal_it_plays_until_q_and_leaves_the_table(folder: Path) -> None:
    import termios

    with in_a_terminal(folder) as (process, main):
        before = termios.tcgetattr(main)
        drawn = read_until(main, b"ended at")
        during = termios.tcgetattr(main)
        os.write(main, b"q")
        drawn += read_until(main, b"each strategy ran alone")
        after = termios.tcgetattr(main)
        assert process.wait() == 0

    assert b"\x1b[?1049h" in drawn, "on a screen of its own"
    assert b"\x1b[?1049l" in drawn, "which it leaves"
    assert b"\x1b[?25h" in drawn, "with the cursor back"
    assert not during[3] & termios.ICANON
    assert after[3] == before[3]
    plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", drawn).decode()
    assert "callbacks" in plain
    assert "1st" in plain
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9;]*m", drawn), "NO_COLOR is set"


def test_ctrl_c_ends_with_130_and_gives_the_terminal_back(folder: Path) -> None:
    with in_a_terminal(folder) as (process, main):
        drawn = read_until(main, b"callbacks")
        process.send_signal(signal.SIGINT)
        drawn += read_until(main, b"\x1b[?1049l")
        assert process.wait() == 130

    assert b"\x1b[?1049l" in drawn
