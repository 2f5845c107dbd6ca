"""The race in a terminal: played once."""

import sys
import time
from typing import TYPE_CHECKING

from inflight.bench import units
from inflight.bench.race.lanes import Race

if TYPE_CHECKING:
    from rich.text import Text

BLOCKS, ASCII = "█▒░", "#+."
"""The characters of a bar: pages done, in flight, and waiting."""


def watch(race: Race, seconds: float) -> None:
    """Play the race once on the terminal. Raises KeyboardInterrupt at Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout, highlight=False)
    blocks = BLOCKS if console.encoding.lower().startswith("utf") else ASCII
    with Live(console=console, auto_refresh=False, transient=True) as live:
        begin_s, share = time.monotonic(), 0.0
        while share < 1:
            share = min(1.0, (time.monotonic() - begin_s) / seconds)
            live.update(frame(race, share * race.replay_ns, console.width, blocks), refresh=True)
            time.sleep(0.05)


def frame(race: Race, at_ns: float, width: int, blocks: str = BLOCKS) -> "Text":
    """Draw a moment of the race: a line for each lane."""
    from rich.text import Text

    heading = f"{race.title}: {units.count(race.pages)} pages, replayed; each strategy ran alone"
    lines = [Text(heading[:width], "bold"), Text(f"{at_ns / 1e9:.3f} s")]
    names = max(len(lane.name) for lane in race.lanes)
    for lane in race.lanes:
        done, flying = lane.at(at_ns)
        style = "red" if lane.invalid else "blue"
        end = f"{lane.rank or 'invalid'}: {units.duration(lane.end_ns)}"
        verdict = end if at_ns >= lane.end_ns and lane.is_finished else f"{units.percent(1 - done / race.pages)} left"
        room = max(4, width - names - len("invalid: 100 ms") - 2)
        full, begun = (min(room, -(-room * number // race.pages)) for number in (done, done + flying))
        line = Text(f"{lane.name:{names}} ", "bold").append(blocks[0] * full, style)
        line.append(blocks[1] * (begun - full), style).append(blocks[2] * (room - begun), "dim")
        lines.append(line.append(f" {verdict}"))
    return Text("\n", no_wrap=True, overflow="crop").join(lines)
