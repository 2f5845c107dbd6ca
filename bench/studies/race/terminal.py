"""The race in a terminal: frames, keys and the clock."""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.name_looks import COLOURS
from inflight.bench.studies.race import show
from inflight.bench.studies.race.read import Lane, Race

if TYPE_CHECKING:
    from rich.text import Text

LEAST_NAME, VERDICT = 16, 16
"""Columns for a strategy's name, and for its place and time."""
STEP = 0.02
"""An arrow key moves by this share of the race."""
SLOWEST, FASTEST = 0.01, 100.0
LEAST_SHARE_NS = 20_000_000
"""The share of CPU time is noise in a shorter time."""
BLOCKS, ASCII = "█▒░", "#+."
"""The characters of a bar: pages done, in flight, and waiting."""
FRAME_S = 0.05
_KEY = re.compile(r"\x1b[\[O]([A-Z])|(\x1b.?|.)", re.DOTALL)
_NAMES = {"C": "right", "D": "left", "H": "home", "F": "end"}
_STYLES = tuple("default" if colour == "#000000" else colour for colour in COLOURS)


@dataclass(frozen=True, slots=True)
class Replay:
    """The state of a replay."""

    race: Race
    speed: float
    at_ns: float = 0.0
    playing: bool = True
    left: bool = False
    """Whether the user has quit."""

    def passed(self, ns: float) -> "Replay":
        """Return the replay after some real time."""
        if not self.playing:
            return self
        at_ns = min(self.at_ns + ns * self.speed, self.race.duration_ns)
        return replace(self, at_ns=at_ns, playing=at_ns < self.race.duration_ns)

    def pressed(self, key: str) -> "Replay":
        """Return the replay after a key: space, ``+``, ``-``, ``left``, ``right``, ``home``, ``end``, ``q``."""
        end_ns = self.race.duration_ns
        step_ns = {"left": -STEP, "right": STEP, "home": -1.0, "end": 1.0}.get(key)
        if step_ns is not None:
            at_ns = min(max(0.0, self.at_ns + step_ns * end_ns), end_ns)
            return replace(self, at_ns=at_ns, playing=self.playing and at_ns < end_ns)
        if key == " ":
            again = not self.playing and self.at_ns >= end_ns
            return replace(self, playing=not self.playing, at_ns=0.0 if again else self.at_ns)
        factor = {"+": 2.0, "=": 2.0, "-": 0.5}.get(key, 1.0)
        return replace(self, speed=min(max(self.speed * factor, SLOWEST), FASTEST), left=self.left or key in {"q", "Q"})


def frame(replay: Replay, width: int, height: int, blocks: str = BLOCKS) -> "Text":
    """Draw a frame: two lines per lane, or one if the terminal is too low."""
    from rich.text import Text

    race = replay.race
    figured = 5 + 2 * len(race.lanes) <= height
    named = max([LEAST_NAME, *(len(words.name(one.strategy)) for one in race.lanes)])
    parts = [
        Text(f"{show.heading(race)}, replayed"[:width], "bold"),
        Text("Each strategy ran alone, one after another; the recordings are shown side by side."[:width], "dim"),
        Text(_clock(replay)[:width]),
        Text(),
    ]
    for one in race.lanes:
        parts.append(_bar(one, race, replay.at_ns, (width, named), blocks))
        if figured:
            parts.append(Text(f"{'':{named}} {_figures(one, race, replay.at_ns)}"[:width], "dim"))
    return Text("\n", no_wrap=True, overflow="crop").join(parts)


def _clock(replay: Replay) -> str:
    state = "plays" if replay.playing else "ended" if replay.at_ns >= replay.race.duration_ns else "paused"
    again = "again" if state == "ended" else "pause" if replay.playing else "play"
    speed = f"{units.number_tick(float(units.number(replay.speed, 2)))}x"
    return f"{replay.at_ns / 1e9:8.3f} s  {state} at {speed}   space {again}, + - speed, arrows, q ends"


def _bar(one: Lane, race: Race, at_ns: float, columns: tuple[int, int], blocks: str) -> "Text":
    """Draw the line of a lane; ``columns`` has those of the whole line and of its name."""
    from rich.text import Text

    done, flying = one.at(at_ns)
    width, named = columns
    room = max(4, width - named - VERDICT - 2)
    full = room * done // race.pages
    open_ = min(room, -(-room * (done + flying) // race.pages))
    style = "red" if one.invalid is not None else _STYLES[one.colour]
    line = Text()
    line.append(f"{words.name(one.strategy):{named}} ", "bold red" if one.invalid is not None else "bold")
    line.append(blocks[0] * full, style)
    line.append(blocks[1] * (open_ - full), style)
    line.append(blocks[2] * (room - open_), "dim")
    line.append(f" {_verdict(one, race, at_ns):>{VERDICT}}", "red" if one.invalid is not None else "")
    return line


def _verdict(one: Lane, race: Race, at_ns: float) -> str:
    if one.finish_ns is not None and at_ns >= one.finish_ns:
        return f"{race.place_of(one)}  {units.duration(one.finish_ns)}"
    if one.invalid is not None:
        return "invalid"
    if at_ns >= one.end_ns:
        return "recording ends"
    return "still ending" if one.at(at_ns)[0] == race.pages else ""


def _figures(one: Lane, race: Race, at_ns: float) -> str:
    done, flying = one.at(at_ns)
    pages, cap, samples = units.count(race.pages), units.count(one.in_flight), one.samples
    told = [f"{units.count(done):>{len(pages)}} of {pages} pages", f"{units.count(flying):>{len(cap)}} in flight"]
    if samples is None and (threads := one.row.measured.peak_threads) is not None:
        told.append(f"at most {_threads(threads)}")
    elif samples and (n := one.sample_at(min(at_ns, one.end_ns))) is not None:
        told += [f"{_threads(samples.threads[n]):11}", f"{units.size(samples.rss_bytes[n]):>7}"]
        cpu_ns = samples.cpu_ns[n]
        if cpu_ns is not None and samples.at_ns[n] >= LEAST_SHARE_NS:
            told.append(f"CPU {units.number(100 * cpu_ns / samples.at_ns[n], 2)} %")
    return "  ".join(told)


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{units.count(number)} threads"


# The terminal


def is_watched() -> bool:
    """Tell whether a user can watch: input is a terminal, and output is one that can redraw."""
    both = sys.stdin, sys.stdout  # either is None if the parent process closed it
    can_draw = os.environ.get("TERM", "dumb") not in {"dumb", ""}
    return can_draw and all(file is not None and file.isatty() for file in both)


def watch(race: Race, speed: float) -> None:
    """Replay the race on the terminal until q is pressed; the terminal is restored in any case.

    Raises KeyboardInterrupt at Ctrl-C.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout)
    blocks = BLOCKS if console.encoding.lower().startswith("utf") else ASCII
    replay, last_ns = Replay(race, speed), time.monotonic_ns()
    with _keys_at_once(sys.stdin.fileno()), Live(console=console, screen=True, auto_refresh=False) as live:
        while not replay.left:
            live.update(frame(replay, *console.size, blocks), refresh=True)
            for key in _keys(sys.stdin.fileno()):
                replay = replay.pressed(key)
            now_ns = time.monotonic_ns()
            replay, last_ns = replay.passed(now_ns - last_ns), now_ns


def keys_of(text: str) -> Iterator[str]:
    """Yield the typed keys: arrows, Home and End by their names, others as they are."""
    for arrow, other in _KEY.findall(text):
        yield _NAMES.get(arrow, "") if arrow else other


def _keys(descriptor: int) -> Iterator[str]:
    """Wait one frame; yield the keys pressed until then, and q if the terminal has gone."""
    began_s = time.monotonic()
    if select.select([descriptor], [], [], FRAME_S)[0]:
        typed = os.read(descriptor, 1024)
        yield from keys_of(typed.decode("utf-8", "replace")) if typed else "q"
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - began_s)))  # a key held down must not redraw continuously


@contextmanager
def _keys_at_once(descriptor: int) -> Iterator[None]:
    """Read keys one by one without echo, instead of whole lines."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
