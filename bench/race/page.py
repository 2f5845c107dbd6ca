"""The race as a table, as HTML, and played in a terminal.

``command`` and ``demo`` play it (``watch``) and print its result (``section``); ``fragment`` is the part of a report's
page (``show.page``) and, in ``page``, a page of its own. The HTML is markup that is complete without a script, data for
the script, and a whole page.
"""

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from inflight.bench import units
from inflight.bench.race.lanes import Lane, Race, races
from inflight.bench.rows.files import Row
from inflight.bench.show import html as pages
from inflight.bench.show.html import Fragment, text
from inflight.bench.show.looks import look
from inflight.bench.show.table import Section, Table

if TYPE_CHECKING:
    from rich.text import Text

_TEMPLATE = Path(__file__).with_name("templates") / "race"
"""The templates of the page, without their suffixes."""
REPLAY_S = 10
"""A replay lasts this many seconds, whatever it shows."""
_POINTS = 8000
"""Maximum number of bins in a page, of all lanes together; a quarter as many samples: about 150 kB at most."""
BLOCKS, ASCII = "█▒░", "#+."
"""The characters of a bar: pages done, in flight, and waiting."""
HEADS = ("strategy", "rank", "in flight", "pages", "time", "pages/s", "most threads", "memory (RSS)", "CPU")
"""Heads of the table."""
CAPTION = (
    "Replayed from recordings: each strategy ran alone, one after another; the lanes are shown side by side. "
    "A lane is the round with the median time. Ranks are by that time, and do not say whether two models differ."
)
"""What stands below the race."""


def section(race: Race) -> Section:
    """Return the result of a race; the finding is the first and the last of its valid lanes."""
    lines = [_line(lane, race) for lane in race.lanes if not lane.invalid]
    ends = lines if len(lines) < 3 else [lines[0], lines[-1]]
    sentences = [f"{line[0]}: {line[3]} pages in {line[4]}" for line in ends]
    return Section("; ".join(sentences), (table(race),), (CAPTION, *notes(race)))


def table(race: Race) -> Table:
    """Return the lanes in their order."""
    return Table(f"{race.title}: {units.count(race.pages)} pages", HEADS, tuple(_line(row, race) for row in race.lanes))


def notes(race: Race) -> list[str]:
    """Return why lanes are not valid."""
    return [f"{lane.name}: {lane.invalid}" for lane in race.lanes if lane.invalid]


def _line(lane: Lane, race: Race) -> tuple[str, ...]:
    """Return the line of a lane in the table, in the order of HEADS."""
    measured = lane.row.measured
    done = units.count(sum(lane.completions))
    samples = measured.samples.rss_bytes if measured.samples else []
    rss_bytes = max([measured.rss_bytes or 0, *samples])
    return (
        lane.name,
        "invalid" if lane.invalid else str(lane.rank or "not finished"),
        lane.row.reached or units.count(lane.in_flight),
        done if lane.is_finished else f"{done} of {units.count(race.pages)}",
        units.duration(lane.end_ns),
        units.number(measured.pages_per_s),
        str(measured.peak_threads or "-"),
        units.size(rss_bytes) if rss_bytes else "-",
        units.percent((measured.cpu_user_ns + measured.cpu_system_ns) / lane.end_ns, 1),
    )


def page(fragment: Fragment, title: str) -> str:
    """Return a page of its own, which needs no network and runs only its own script."""
    body = Markup('<main id="main">\n<h1>{}</h1>\n{}\n</main>').format(text(title), Markup(fragment.html))  # noqa: S704
    return pages.shell(title, body, fragment.css, fragment.js, {"race-data": fragment.data})


def fragment(rows: Iterable[Row]) -> Fragment | None:
    """Return the races of a run; None unless two strategies have time lines of one workload."""
    raced = races(rows)
    if not raced:
        return None
    options = "".join(f'<option value="{n}">{text(race.title)}</option>' for n, race in enumerate(raced))
    tables = "\n".join(
        f'<div class="race-static" data-race="{n}">{pages.table(table(race))}{pages.listed(notes(race))}</div>'
        for n, race in enumerate(raced)
    )
    room = max(10, _POINTS // sum(len(race.lanes) for race in raced))
    values = []
    for race in raced:
        lanes = [_values(lane, room) for lane in race.lanes]
        values.append({"pages": race.pages, "replay_us": -(-race.replay_ns // 1000), "lanes": lanes})
    data = {"replay_s": REPLAY_S, "races": values}
    return pages.fragment_of(_TEMPLATE, data, caption=text(CAPTION), options=options, tables=tables)


def _values(lane: Lane, room: int) -> dict[str, Any]:
    """Return what the script needs, with at most ``room`` bins and a quarter as many samples."""
    step = len(lane.completions) // room + 1
    starts = range(0, len(lane.completions), step)
    flying = lane.row.measured.timeline.in_flight
    samples = msgspec.to_builtins(lane.row.measured.samples)
    for name, values in (samples or {}).items():
        samples[name] = values[:: 4 * len(values) // room + 1]
    return {
        "name": lane.name,
        "own": lane.row.stack != "shared",  # whether it has an HTTP stack of its own
        "colour": look(lane.row.arm).number,
        "cap": lane.in_flight,
        "rank": lane.rank,
        "invalid": lane.invalid,
        "finished": lane.is_finished,
        "end": units.duration(lane.end_ns),
        "end_us": -(-lane.end_ns // 1000),
        "bin_us": lane.bin_ns * step // 1000,
        "done": [sum(lane.completions[n : n + step]) for n in starts],
        "flying": [flying[min(n + step, len(lane.completions)) - 1] for n in starts],
        "samples": samples,
    }


# In a terminal


def watch(race: Race, seconds: float) -> None:
    """Play the race once on the terminal, in this many seconds. Raises KeyboardInterrupt at Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout, highlight=False)
    blocks = BLOCKS if console.encoding.lower().startswith("utf") else ASCII
    with Live(console=console, auto_refresh=False, transient=True) as live:
        begin_s = time.monotonic()
        share = 0.0
        while share < 1:
            share = min(1.0, (time.monotonic() - begin_s) / seconds)
            live.update(frame(race, share * race.replay_ns, console.width, blocks), refresh=True)
            time.sleep(0.05)


def frame(race: Race, at_ns: float, width: int, blocks: str = BLOCKS) -> "Text":
    """Draw a moment of the race: a line for each lane. ``at_ns`` is the time since the crawls began."""
    from rich.text import Text

    heading = f"{race.title}: {units.count(race.pages)} pages, replayed; each strategy ran alone"
    lines = [Text(heading[:width], "bold"), Text(f"{at_ns / 1e9:.3f} s")]
    names = max(len(lane.name) for lane in race.lanes)
    room = max(4, width - names - len("invalid: 100 ms") - 2)
    for lane in race.lanes:
        done, flying = lane.at(at_ns)
        style = "red" if lane.invalid else "blue"
        verdict = f"{units.percent(1 - done / race.pages)} left"
        if at_ns >= lane.end_ns and lane.is_finished:
            verdict = f"{lane.rank or 'invalid'}: {units.duration(lane.end_ns)}"
        full, begun = (min(room, -(-room * number // race.pages)) for number in (done, done + flying))
        line = Text(f"{lane.name:{names}} ", "bold")
        line.append(blocks[0] * full, style)
        line.append(blocks[1] * (begun - full), style)
        line.append(blocks[2] * (room - begun), "dim")
        lines.append(line.append(f" {verdict}"))
    return Text("\n", no_wrap=True, overflow="crop").join(lines)
