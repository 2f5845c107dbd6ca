"""Races: the recorded crawls of one workload as lanes side by side, and their state at any time. Pure.

``command``, ``demo`` and ``show.answer`` call ``races`` on the rows of a run; ``page`` draws the lanes. A lane is made
of the timeline of a row: the pages that finished in each bin of time. Times are nanoseconds since the crawl began.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import json, structs, to_builtins

from inflight.bench.rows.files import Row
from inflight.bench.show import words

SLOW = 4
"""A replay stops before the end of lanes that take more than this many times as long as the median lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The recorded crawl of one strategy: the round with the median time."""

    row: Row
    name: str
    in_flight: int
    bin_ns: int
    """Length of a bin."""
    completions: tuple[int, ...]
    """The pages in each bin of the time line."""
    end_ns: int
    """When the crawl ended, since it began."""
    is_finished: bool
    """Whether it has fetched all pages of the race."""
    invalid: str
    """Why the trial is not valid; empty if it is."""
    rank: int | None
    """Its rank by time, from 1 on; None if it is not finished or not valid."""

    def at(self, at_ns: float) -> tuple[int, int]:
        """Return (pages done, in flight) at a time, interpolated within a bin."""
        here, part_ns = divmod(int(at_ns), self.bin_ns)
        if at_ns >= self.end_ns or here >= len(self.completions):
            return sum(self.completions), 0
        share = part_ns / self.bin_ns
        flying = self.row.measured.timeline.in_flight
        before = flying[max(0, here - 1)] if at_ns else 0
        done = sum(self.completions[:here]) + int(self.completions[here] * share)
        return done, round(before + (flying[here] - before) * share)


@dataclass(frozen=True, slots=True)
class Race:
    """One workload with the lanes of its strategies."""

    title: str
    pages: int
    """Number of pages to fetch."""
    lanes: tuple[Lane, ...]
    """Those with a rank first, then those that are not finished, then those that are not valid."""

    @property
    def replay_ns(self) -> int:
        """The recorded time that a replay shows: until the last lane ends that is not much slower than the median."""
        ends = sorted(lane.end_ns for lane in self.lanes)
        return max(end for end in ends if end <= SLOW * ends[(len(ends) - 1) // 2])


def races(rows: Iterable[Row]) -> list[Race]:
    """Return the races of a run, those with the most lanes first, then the longest; at most four.

    Crawls of one workload race each other.

    A strategy that was measured only at 1 in flight joins the races on the same site, or on a larger one of its kind.
    """
    crawls = [row for row in rows if row.kind == "crawl" and row.status == "ok" and _pages(row)]
    many = {row.arm for row in crawls if row.workload.in_flight > 1}
    groups: dict[tuple[bytes, int, int], list[Row]] = {}
    alone: dict[bytes, list[Row]] = {}
    for row in crawls:
        workload = row.workload
        # Its kind: all but its number in flight and its number of pages.
        site = structs.replace(workload.site, pages=1)
        alike = structs.replace(workload, id="any", arm=None, in_flight=1, site=site)
        kind = json.encode(alike, order="sorted")
        groups.setdefault((kind, workload.in_flight, workload.site.pages), []).append(row)
        if row.arm not in many:
            alone.setdefault(kind, []).append(row)
    able = []
    for (kind, _, pages), group in groups.items():
        names = {row.arm for row in group}
        guests = [row for row in alone.get(kind, []) if row.arm not in names and row.workload.site.pages <= pages]
        race = _race(group + guests)
        if len(race.lanes) > 1:
            able.append(race)
    return sorted(able, key=lambda race: (-len(race.lanes), -race.replay_ns))[:4]


def _race(crawls: list[Row]) -> Race:
    """Return the race of crawls, the first of which has its workload."""
    rounds: dict[str, list[Row]] = {}
    for row in crawls:
        rounds.setdefault(row.arm, []).append(row)
    rows = list(map(_median_round, rounds.values()))
    pages = max(map(_pages, [row for row in rows if row.valid] or rows))
    rows.sort(key=lambda row: (not row.valid, _pages(row) < pages, row.measured.makespan_ns, row.arm))
    lanes = []
    for rank, row in enumerate(rows, 1):
        line = row.measured.timeline
        is_finished = _pages(row) >= pages
        lanes.append(
            Lane(
                row,
                words.name(row.name),
                row.workload.in_flight,
                line.bin_ns,
                tuple(line.completions),
                row.measured.makespan_ns,
                is_finished,
                "" if row.valid else words.plain("; ".join(row.invalid_reasons), 600),
                rank if row.valid and is_finished else None,
            )
        )
    return Race(words.workload("crawl", to_builtins(crawls[0].workload)), pages, tuple(lanes))


def _median_round(rows: list[Row]) -> Row:
    """Return the row with the median time of the largest site, of valid rows if there are any."""
    best = [row for row in rows if row.valid] or rows
    most = max(map(_pages, best))
    largest = [row for row in best if _pages(row) == most]
    largest.sort(key=lambda row: row.measured.makespan_ns)
    return largest[(len(largest) - 1) // 2]


def _pages(row: Row) -> int:
    """Return how many pages a crawl finished."""
    return sum(row.measured.timeline.completions)
