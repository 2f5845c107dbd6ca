"""The race as HTML: markup that is complete without a script, data for the script, and a page of its own.

All text of rows is escaped.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

from markupsafe import Markup

from inflight.bench.core import units
from inflight.bench.present import html as pages
from inflight.bench.present import words
from inflight.bench.present.html import Fragment, json_block, text
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Samples
from inflight.bench.studies.race.read import Lane, Race, races
from inflight.bench.studies.race.show import CAPTION, PLACES, finish, notes

_TEMPLATES = Path(__file__).with_name("templates")
REPLAY_S = 10
"""A replay lasts so many seconds, whatever it shows."""
_POINTS = 8000
"""Maximum number of bins in a page, of all lanes together; half as many samples: about 150 kB at most."""
_CAPS = (3000, 1500, 800, 400, 200, 100, 50)


def page(shown: Fragment, title: str) -> str:
    """Return a page of its own, which needs no network and runs only its own script."""
    body = Markup('<main id="main">\n<h1>{}</h1>\n{}\n</main>').format(text(title), Markup(shown.html))  # noqa: S704
    return pages.shell(title, body, shown.css, shown.js, {"race-data": shown.data})


def fragment(rows: Iterable[Row]) -> Fragment | None:
    """Return the races of a run; None unless two strategies have time lines of one workload."""
    found = races(rows)
    if not found:
        return None
    html, css, js = (_TEMPLATES.joinpath(f"race.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    options = "".join(f'<option value="{n}">{text(race.title)}</option>' for n, race in enumerate(found))
    tables = "\n".join(
        f'<div class="race-static" data-race="{n}">{pages.table(finish(race))}{pages.listed(notes(race))}</div>'
        for n, race in enumerate(found)
    )
    filled = Template(html).substitute(caption=text(f"{CAPTION} {PLACES}"), options=options, tables=tables)
    return Fragment(filled, css, js, _data(found))


def scale_told(race: Race) -> str:
    """Say by how much a replay is slower or faster than the recording, and which lanes end after it."""
    times = race.replay_ns / 1e9 / REPLAY_S
    pace = f"{units.times(1 / times)} slower" if times < 1 else f"{units.times(times)} faster"
    told = f"The replay shows {units.duration(race.replay_ns)} in {REPLAY_S} s: {pace} than recorded."
    slow = [f"{one.name} ({units.duration(one.end_ns)})" for one in race.lanes if one.end_ns > race.replay_ns]
    if not slow:
        return told
    verb = "takes" if len(slow) == 1 else "take"
    return f"{told} {words.listed(slow)} {verb} longer: what is left at the end of the replay is hatched."


def _data(found: Sequence[Race]) -> str:
    lanes = [one for race in found for one in race.lanes]
    bins = _cap([len(one.completions) for one in lanes], _POINTS)
    samples = _cap([len(one.samples.at_ns) for one in lanes if one.samples], _POINTS // 2)
    return json_block({"races": [_race_values(race, bins, samples) for race in found]})


def _cap(lengths: Sequence[int], room: int) -> int:
    """Return the length to which all lists must be cut to fit."""
    return next((cap for cap in _CAPS if sum(min(length, cap) for length in lengths) <= room), _CAPS[-1])


def _race_values(race: Race, bins: int, samples: int) -> dict[str, Any]:
    return {
        "title": race.title,
        "pages": race.pages,
        "notes": notes(race),
        "replay_us": -(-race.replay_ns // 1000),
        "replay_s": REPLAY_S,
        "scale": scale_told(race),
        "lanes": [_lane_values(one, race, bins, samples) for one in race.lanes],
    }


def _lane_values(one: Lane, race: Race, bins: int, samples: int) -> dict[str, Any]:
    step = -(-len(one.completions) // bins)
    starts, flying = range(0, len(one.completions), step), one.row.measured.timeline.in_flight
    return {
        "name": one.name,
        "own": one.row.stack != "shared",
        "colour": one.colour,
        "cap": one.in_flight,
        "place": one.place,
        "placed": None if one.place is None else race.place_of(one),
        "invalid": one.invalid,
        "finish_us": None if one.finish_ns is None else -(-one.finish_ns // 1000),
        "finish": None if one.finish_ns is None else units.duration(one.finish_ns),
        "end_us": -(-one.end_ns // 1000),
        "bin_us": one.bin_ns * step // 1000,
        "done": [sum(one.completions[n : n + step]) for n in starts],
        "flying": [flying[min(n + step, len(one.completions)) - 1] for n in starts],
        "threads": one.row.measured.peak_threads,
        "samples": None if one.samples is None else _sample_values(one.samples, samples),
    }


def _sample_values(samples: Samples, cap: int) -> dict[str, Any]:
    """Thin the samples out; times in microseconds, memory in kB, null where unknown."""
    kept = slice(None, None, -(-len(samples.at_ns) // cap))
    return {
        "at": [ns // 1000 for ns in samples.at_ns[kept]],
        "threads": samples.threads[kept],
        "rss": [size // 1000 for size in samples.rss_bytes[kept]],
        "cpu": [None if ns is None else ns // 1000 for ns in samples.cpu_ns[kept]],
    }
