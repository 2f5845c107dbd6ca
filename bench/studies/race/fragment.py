"""The race as a part of a page: recorded crawls of the same site, replayed side by side.

Rows -> races (``race_field``, ``race_lanes``) -> markup that says all without a script, and data for the script.
Nothing of a row gets into the page unescaped.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import words
from bench.studies.race.field import Race, races
from bench.studies.race.lanes import Lane, Samples

__all__ = ["CAPTION", "HEADS", "PLACES", "Fragment", "Race", "fragment", "heading", "lines", "notes", "races"]

_TEMPLATES = Path(__file__).with_name("templates")
_POINTS = 8000
"""So many bins are kept in a page, of all lanes together, and half as many samples: about 150 kB at most."""
_CAPS = (3000, 1500, 800, 400, 200, 100, 50)
HEADS = ("strategy", "place", "in flight", "pages", "finished after", "pages/s", "most threads", "memory (RSS)", "CPU")
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
CAPTION = (
    "Replayed from recorded time lines: each strategy ran alone, one after another, and is shown here beside the "
    "others. A lane is the round with the median time."
)
PLACES = (
    "Strategies share a place if they differ by less than 2 % (with one round: 20 %) or by less than their rounds do."
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a page takes in to have the race; style and script belong into its only <style> and <script>."""

    html: str
    css: str
    js: str
    data: str
    """JSON for <script type="application/json" id="race-data">, escaped for it."""


def fragment(rows: Iterable[Row]) -> Fragment | None:
    """Return the race of a run; None when it has no two strategies on one workload with a time line."""
    found = races(rows)
    if not found:
        return None
    css, js = (_TEMPLATES.joinpath(name).read_text(encoding="utf-8") for name in ("race.css", "race.js"))
    return Fragment(_markup(found), css, js, _data(found))


def lines(race: Race) -> list[tuple[str, ...]]:
    """Return the finish as a table under HEADS: those with a place, then those that never finished, then the red."""
    ordered = sorted(race.lanes, key=lambda one: (one.red is not None, one.place is None, one.end_ns))
    return [_line(one, race) for one in ordered]


def heading(race: Race) -> str:
    """Name a race."""
    return f"{race.title}: {units.count(race.pages)} pages"


def notes(race: Race) -> list[str]:
    """Return what must be known of a race beside its figures."""
    short = [one for one in race.lanes if one.recorded < race.pages and one.red is None]
    cut = [one for one in race.lanes if one.recorded > race.pages]
    said = [
        f"{words.plain(one.strategy, 40)} was recorded on a site of {units.count(one.recorded)} pages only: its lane "
        "stops there."
        for one in short
    ]
    said += [f"{words.plain(one.strategy, 40)} went on to {units.count(one.recorded)} pages." for one in cut]
    said += [f"{words.plain(one.strategy, 40)} is red, and has no place: {one.red}." for one in race.lanes if one.red]
    if own := [words.plain(one.strategy, 40) for one in race.lanes if one.stack != "shared"]:
        said.append(f"With an HTTP stack of {'its' if len(own) == 1 else 'their'} own: {words.listed(own)}.")
    if race.left_out:
        said.append(f"{units.count(race.left_out)} slower ones are left out.")
    if race.absent:
        said.append(f"Not recorded: {words.plain(', '.join(race.absent), 400)}.")
    return said


def place_text(place: int | None, sharers: int = 1) -> str:
    """Write a place: ``1st``, ``=2nd`` if it is shared, a dash for none."""
    if place is None:
        return "-"
    ending = "th" if place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{'=' if sharers > 1 else ''}{place}{ending}"


def sharers(one: Lane, race: Race) -> int:
    """Return how many have the lane's place."""
    return sum(other.place == one.place for other in race.lanes)


def _line(one: Lane, race: Race) -> tuple[str, ...]:
    finish = one.finish_ns
    place = "red" if one.red is not None else place_text(one.place, sharers(one, race))
    share = one.cpu_ns / one.end_ns if one.cpu_ns is not None and one.recorded == one.pages and one.end_ns else None
    return (
        words.plain(one.strategy, 40),
        place,
        units.count(one.in_flight),
        units.count(one.pages) if one.pages == race.pages else f"{units.count(one.pages)} of {units.count(race.pages)}",
        "-" if finish is None else units.duration(finish),
        units.number(one.pages / one.end_ns * 1e9) if one.end_ns else "-",
        "-" if one.peak_threads is None else units.count(one.peak_threads),
        "-" if one.rss_bytes is None else units.size(one.rss_bytes),
        "-" if share is None else f"{units.number(share * 100, 2)} %",
    )


def _markup(found: Sequence[Race]) -> str:
    tables = "\n".join(_table(race, n) for n, race in enumerate(found))
    options = "".join(f'<option value="{n}">{escape(race.title)}</option>' for n, race in enumerate(found))
    template = Template((_TEMPLATES / "race.html").read_text(encoding="utf-8"))
    return template.substitute(caption=escape(f"{CAPTION} {PLACES}"), options=options, tables=tables)


def _table(race: Race, number: int) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in HEADS)
    body = "\n".join(_table_line(cells) for cells in lines(race))
    said = " ".join(notes(race))
    about = f"<p>{escape(said)}</p>" if said else ""
    return (
        f'<div class="race-static" data-race="{number}">'
        f"<table><caption><span>{escape(heading(race))}</span></caption>\n"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>{about}</div>"
    )


def _table_line(cells: Sequence[str]) -> str:
    name, *figures = map(escape, cells)
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{text}</td>" for text in figures)}</tr>'


def _data(found: Sequence[Race]) -> str:
    lanes = [one for race in found for one in race.lanes]
    bins = _cap([len(one.completions) for one in lanes], _POINTS)
    samples = _cap([len(one.samples.at_ns) for one in lanes if one.samples is not None], _POINTS // 2)
    values = {"races": [_race_values(race, bins, samples) for race in found]}
    return json.dumps(values, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def _cap(lengths: Sequence[int], room: int) -> int:
    """Return how long a list may be so that all of them have room."""
    return next((cap for cap in _CAPS if sum(min(length, cap) for length in lengths) <= room), _CAPS[-1])


def _race_values(race: Race, bins: int, samples: int) -> dict[str, Any]:
    return {
        "title": race.title,
        "pages": race.pages,
        "notes": notes(race),
        "duration_us": -(-race.duration_ns // 1000),
        "lanes": [_lane_values(one, race, bins, samples) for one in race.lanes],
    }


def _lane_values(one: Lane, race: Race, bins: int, samples: int) -> dict[str, Any]:
    step = -(-len(one.completions) // bins)
    starts = range(0, len(one.completions), step)
    return {
        "name": words.plain(one.strategy, 40),
        "own": one.stack != "shared",
        "colour": one.colour,
        "cap": one.in_flight,
        "place": one.place,
        "placed": place_text(one.place, sharers(one, race)) if one.place is not None else None,
        "red": one.red,
        "finish_us": None if one.finish_ns is None else -(-one.finish_ns // 1000),
        "finish": None if one.finish_ns is None else units.duration(one.finish_ns),
        "end_us": -(-one.end_ns // 1000),
        "bin_us": one.bin_ns * step // 1000,
        "done": [sum(one.completions[n : n + step]) for n in starts],
        "flying": [one.in_flight_then[min(n + step, len(one.in_flight_then)) - 1] for n in starts],
        "threads": one.peak_threads,
        "samples": None if one.samples is None else _sample_values(one.samples, samples),
    }


def _sample_values(samples: Samples, cap: int) -> dict[str, list[int] | list[int | None]]:
    """Thin the samples out; times in microseconds, memory in kB, null where unknown."""
    kept = slice(None, None, -(-len(samples.at_ns) // cap))
    return {
        "at": [ns // 1000 for ns in samples.at_ns[kept]],
        "threads": list(samples.threads[kept]),
        "rss": [size // 1000 for size in samples.rss_bytes[kept]],
        "cpu": [None if ns is None else ns // 1000 for ns in samples.cpu_ns[kept]],
    }
