"""Replaying the race in front of somebody: a terminal, its keys, and a clock."""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.studies.race.field import Race
from bench.studies.race.terminal import ASCII, BLOCKS, Replay, frame

if TYPE_CHECKING:
    from rich.console import Console

FRAME_S = 0.05
_KEY = re.compile(r"\x1b[\[O]([A-Z])|(\x1b.?|.)", re.DOTALL)
_NAMES = {"C": "right", "D": "left", "H": "home", "F": "end"}


def is_watched() -> bool:
    """Tell whether somebody sits in front of this: keys come from a terminal, and pictures go to one that can draw."""
    both = sys.stdin, sys.stdout  # either is None where it was closed by whoever started this
    can_draw = os.environ.get("TERM", "dumb") not in {"dumb", ""}
    return can_draw and all(file is not None and file.isatty() for file in both)


def watch(race: Race, speed: float) -> None:
    """Replay the race on the terminal until q is pressed; the terminal is then as it was, whatever happens.

    Raises KeyboardInterrupt at Ctrl-C.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout)
    blocks = BLOCKS if console.encoding.lower().startswith("utf") else ASCII
    replay, last_ns = Replay(race, speed), time.monotonic_ns()
    with _keys_at_once(sys.stdin.fileno()), Live(console=console, screen=True, auto_refresh=False) as live:
        while not replay.left:
            live.update(frame(replay, *_size(console), blocks), refresh=True)
            for key in _keys(sys.stdin.fileno()):
                replay = replay.pressed(key)
            now_ns = time.monotonic_ns()
            replay, last_ns = replay.passed(now_ns - last_ns), now_ns


def keys_of(text: str) -> Iterator[str]:
    """Name the keys that were typed: the arrows, Home and End by their names, others as they are."""
    for arrow, other in _KEY.findall(text):
        yield _NAMES.get(arrow, "") if arrow else other


def _keys(descriptor: int) -> Iterator[str]:
    """Wait one frame; return the keys that were pressed until then. A terminal that has gone presses q."""
    began_s = time.monotonic()
    if select.select([descriptor], [], [], FRAME_S)[0]:
        typed = os.read(descriptor, 1024)
        yield from keys_of(typed.decode("utf-8", "replace")) if typed else "q"
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - began_s)))  # a key held down must not draw without end


def _size(console: "Console") -> tuple[int, int]:
    return console.size.width, console.size.height


@contextmanager
def _keys_at_once(descriptor: int) -> Iterator[None]:
    """Have keys come one by one and unseen, instead of a line at a time."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
