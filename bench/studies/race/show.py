"""The result of a race as a section, for the terminal and for a page without scripts. Pure."""

from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Cell, Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.race.read import Lane, Race, races, recorded

HEADS = ("strategy", "place", "in flight", "pages", "finished after", "pages/s", "most threads", "memory (RSS)", "CPU")
CAPTION = (
    "Replayed from recorded time lines: each strategy ran alone, one after another; the lanes are shown side by side. "
    "A lane is the round with the median time."
)
PLACES = "Strategies share a place if they differ by less than 2 % (with one round: 20 %) or not significantly."


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section for each race."""
    return list(map(section, races(rows)))


def section(race: Race) -> Section:
    """Return the result of a race with its notes."""
    return Section(finding(race), (finish(race),), (CAPTION, PLACES, *notes(race)))


def finding(race: Race) -> str:
    """Name the first and the last to finish, with their times."""
    finishers = race.finishers
    told = [f"{units.duration(one.end_ns)} with {one.name}" for one in finishers[:1] + finishers[1:][-1:]]
    if not told:
        return "No valid lane: nothing to conclude"
    start = f"{words.counted(race.pages, 'page')} took {told[0]}"
    return f"{start}, the only valid lane" if len(told) == 1 else f"{start}, the fastest, and {told[1]}, the slowest"


def heading(race: Race) -> str:
    """Name a race."""
    return f"{race.title}: {units.count(race.pages)} pages"


def finish(race: Race) -> Table:
    """Return the lanes with a place, then those that never finished, then invalid ones."""
    ordered = sorted(race.lanes, key=lambda one: (one.invalid is not None, one.place is None, one.end_ns))
    return Table(heading(race), HEADS, tuple(_line(one, race) for one in ordered))


def _line(one: Lane, race: Race) -> tuple[str | Cell, ...]:
    is_whole = one.cpu_ns is not None and one.end_ns and recorded(one.row) == one.pages
    threads = one.row.measured.peak_threads
    return (
        one.name,
        race.place_of(one),
        units.count(one.in_flight),
        units.count(one.pages) if one.pages == race.pages else f"{units.count(one.pages)} of {units.count(race.pages)}",
        "-" if one.finish_ns is None else units.duration(one.finish_ns),
        units.number(one.pages / one.end_ns * 1e9) if one.end_ns else "-",
        "-" if threads is None else units.count(threads),
        "-" if one.rss_bytes is None else units.size(one.rss_bytes),
        f"{units.number((one.cpu_ns or 0) / one.end_ns * 100, 2)} %" if is_whole else "-",
    )


def _all_invalid(race: Race) -> dict[str, list[str]]:
    """Return the names of invalid lanes by their reason, without its full stop."""
    found: dict[str, list[str]] = {}
    for one in race.lanes:
        if one.invalid:
            found.setdefault(one.invalid.rstrip("."), []).append(one.name)
    return found


def _are_invalid(names: list[str]) -> str:
    return f"{words.listed(names)} {'is invalid and has' if len(names) == 1 else 'are invalid and have'}"


def notes(race: Race) -> list[str]:
    """Return notes on the recordings of a race, invalid lanes, and missing strategies."""
    alive = [one for one in race.lanes if one.invalid is None]
    own = [one.name for one in race.lanes if one.row.stack != "shared"]
    return [
        *(
            f"{one.name} was recorded on a site of only {units.count(recorded(one.row))} pages: its lane stops there."
            for one in alive
            if recorded(one.row) < race.pages
        ),
        *(
            f"{one.name} continued to {units.count(recorded(one.row))} pages."
            for one in race.lanes
            if recorded(one.row) > race.pages
        ),
        *(f"{_are_invalid(names)} no place: {reason}." for reason, names in _all_invalid(race).items()),
        *([f"With an HTTP stack of {'its' if len(own) == 1 else 'their'} own: {words.listed(own)}."] if own else []),
        *([f"{units.count(race.left_out)} slower strategies are left out."] if race.left_out else []),
        *([f"Not recorded: {words.plain(', '.join(race.absent), 400)}."] if race.absent else []),
    ]
