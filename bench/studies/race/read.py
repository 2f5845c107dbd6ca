"""Races: recorded crawls of one workload as lanes side by side, their places, and their state at any time. Pure.

Lanes contain only recorded data: without samples there are no threads, memory and CPU time over time, and a lane ends
where its recording ends.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from inflight.bench.core import units, workloads
from inflight.bench.core.cells import spread_of
from inflight.bench.core.figures import STEADY, Spread
from inflight.bench.frame.statistics import differs
from inflight.bench.present import name_looks, words
from inflight.bench.rows.crawls import Crawl, CrawlWorkload
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Samples

MOST_RACES = 4
MOST_REASON = 600
"""Maximum length of the reason why a lane is invalid: several checks with their details."""
MOST_LANES = 16
"""Maximum number of lanes, the fastest ones."""
ONE_ROUND = 0.2
"""With one round each, two strategies that differ by less than this share a place."""
SLOW = 4
"""A replay stops before the end of lanes that take more than this many times as long as the median lane."""
LONG_NS = 300_000_000
"""A race is short if its last strategy takes less than this."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One strategy's recorded crawl, up to the race's last page."""

    row: Row
    """The row of the round with the median time."""
    completions: tuple[int, ...]
    """Pages in each bin of the time line; with fewer pages than the race, the lane ends before the race."""
    finish_ns: int | None
    """The end of the crawl, or the time of the race's last page if the crawl continued; None if never."""
    rounds_ns: Spread | None
    """The finish of all valid rounds; None without any."""
    place: int | None = None
    """The place from 1 on, shared by ties; None for an invalid lane, and for one that never finished."""

    @property
    def strategy(self) -> str:
        """The strategy."""
        return self.row.strategy

    @property
    def name(self) -> str:
        """The displayed name of the strategy."""
        return words.plain(self.strategy, 40)

    @property
    def colour(self) -> int:
        """The number of its colour, as in plots."""
        return name_looks.look(self.strategy).number

    @property
    def in_flight(self) -> int:
        """The cap of its crawl."""
        return int(self.row.workload.in_flight)

    @property
    def invalid(self) -> str | None:
        """Why the trial is not valid; None if it is."""
        return None if self.row.valid else words.plain("; ".join(self.row.invalid_reasons), MOST_REASON)

    @property
    def bin_ns(self) -> int:
        """The length of a bin."""
        return int(self.row.measured.timeline.bin_ns)

    @property
    def end_ns(self) -> int:
        """The end of the lane's recording."""
        return self.bin_ns * len(self.completions) if self.finish_ns is None else self.finish_ns

    @property
    def pages(self) -> int:
        """The number of pages at the end."""
        return sum(self.completions)

    @property
    def samples(self) -> Samples | None:
        """The samples of the process from outside; None in older rows."""
        found: Samples | None = self.row.measured.samples
        return found if found and found.at_ns else None

    @property
    def rss_bytes(self) -> int | None:
        """The largest memory of the samples; without any, the memory after the crawl."""
        at_rest: int | None = self.row.measured.rss_bytes
        return max(self.samples.rss_bytes) if self.samples else at_rest

    @property
    def cpu_ns(self) -> int | None:
        """The CPU time of the whole crawl."""
        user, system = self.row.measured.cpu_user_ns, self.row.measured.cpu_system_ns
        return None if user is None or system is None else user + system

    def sample_at(self, at_ns: float) -> int | None:
        """Return the number of the latest sample at a time; None before the first one."""
        place = bisect_right(self.samples.at_ns, at_ns) - 1 if self.samples else -1
        return place if place >= 0 else None

    def at(self, at_ns: float) -> tuple[int, int]:
        """Return (pages done, in flight) at a time, interpolated within a bin."""
        place, part_ns = divmod(max(0.0, at_ns), self.bin_ns)
        if at_ns <= 0:
            return 0, 0
        if at_ns >= self.end_ns or place >= len(self.completions):
            return self.pages, 0
        here, share, flying = int(place), part_ns / self.bin_ns, self.row.measured.timeline.in_flight
        then, before = flying[here], flying[max(0, here - 1)]
        done = sum(self.completions[:here]) + int(self.completions[here] * share)
        return done, round(before + (then - before) * share)


@dataclass(frozen=True, slots=True)
class Race:
    """One workload with the lanes of its strategies."""

    title: str
    latency: str
    in_flight: int
    pages: int
    lanes: tuple[Lane, ...]
    left_out: int
    """Number of slower lanes that are left out."""
    absent: tuple[str, ...]
    """Strategies without a recording, with the reason."""

    @property
    def duration_ns(self) -> int:
        """The end of the last lane."""
        return max(lane.end_ns for lane in self.lanes)

    @property
    def replay_ns(self) -> int:
        """The recorded time that a replay shows: until the last lane ends that is not much slower than the median."""
        ends = sorted(lane.end_ns for lane in self.lanes)
        return max(end for end in ends if end <= SLOW * ends[(len(ends) - 1) // 2])

    @property
    def finishers(self) -> list[Lane]:
        """The lanes with a place, the first one first."""
        return sorted((one for one in self.lanes if one.place is not None), key=lambda one: one.end_ns)

    def place_of(self, one: Lane) -> str:
        """Write a lane's place: ``1st``, ``=2nd`` if it is shared, ``invalid``, a dash for none."""
        if one.place is None:
            return "-" if one.invalid is None else "invalid"
        ending = "th" if one.place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(one.place % 10, "th")
        sharers = sum(other.place == one.place for other in self.lanes)
        return f"{'=' if sharers > 1 else ''}{one.place}{ending}"


def races(rows: Iterable[Row]) -> list[Race]:
    """Return the races of a run, the most interesting first, at most MOST_RACES.

    Long races come first, then those with many strategies, with added latency, and with a large lead of the first over
    the last. The second race has another latency than the first if possible.
    """
    crawls: list[Row] = [row for row in rows if isinstance(row, Crawl)]
    groups: dict[str, list[Row]] = {}
    for row in crawls:
        groups.setdefault(workloads.identity(row.workload), []).append(row)
    made = (_race(own, _joining(own, crawls)) for own in groups.values())
    found = sorted((race for race in made if race is not None), key=_worth, reverse=True)
    latencies = [race.latency for race in found]
    varied = sorted(range(len(found)), key=lambda n: latencies[:n].count(latencies[n]))
    return _told_apart([found[n] for n in varied[:MOST_RACES]])


def _race(own: Sequence[Row], joining: Sequence[Row]) -> Race | None:
    """Return the race of one workload, joined by strategies measured at 1 in flight only; None without two lanes."""
    groups, guests = _recorded_by_strategy(own), _recorded_by_strategy(joining)
    if not groups or len(groups) + len(guests) < 2:
        return None
    medians = list(map(_median_round, groups.values()))
    valid = [recorded(row) for row in medians if row.valid]
    pages = min(valid) if valid else max(map(recorded, medians))
    placed = _placed([_lane(group, pages) for group in (*groups.values(), *guests.values())])
    fastest = sorted(placed, key=lambda one: (one.place is None, one.end_ns))[:MOST_LANES]
    workload = own[0].workload
    return Race(
        _title(workload),
        workload.latency,
        workload.in_flight,
        pages,
        tuple(sorted(fastest, key=lambda one: (one.row.stack != "shared", one.strategy))),
        len(placed) - len(fastest),
        tuple(_why_absent(row) for row in {row.strategy: row for row in own if row.strategy not in groups}.values()),
    )


def _lane(rows: Sequence[Row], pages: int) -> Lane:
    """Return the lane of one strategy's recorded rows of one workload, cut at a number of pages."""
    row = _median_round(rows)
    completions = row.measured.timeline.completions
    sums = [0, *accumulate(completions)]
    bins = min(bisect_left(sums, pages), len(completions))
    kept = (*completions[: bins - 1], min(completions[bins - 1], pages - sums[bins - 1]))
    valid = [one for one in rows if one.valid]
    return Lane(row, kept, _finish_ns(row, pages), spread_of(valid, lambda one: _finish_ns(one, pages)))


def recorded(row: Row) -> int:
    """Return the number of pages in a row's time line; 0 without one."""
    line = row.measured.timeline
    return sum(line.completions) if line else 0


def _recorded_by_strategy(rows: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if recorded(row):
            groups.setdefault(row.strategy, []).append(row)
    return groups


def _median_round(rows: Iterable[Row]) -> Row:
    """Return the row with the median makespan, of valid rows if there are any."""
    found = list(rows)
    best = [row for row in found if row.valid] or found
    best.sort(key=lambda row: (row.measured.makespan_ns or 0, row.round))
    return best[(len(best) - 1) // 2]


def _finish_ns(row: Row, pages: int) -> int | None:
    """Return the end of the crawl; with more pages than the race, the interpolated time of the race's last page."""
    line = row.measured.timeline
    sums = list(accumulate(line.completions))
    if sums[-1] < pages:
        return None
    if sums[-1] == pages and row.measured.makespan_ns is not None:
        return int(row.measured.makespan_ns)
    place = bisect_left(sums, pages)
    before = sums[place - 1] if place else 0
    share: float = (pages - before) / (sums[place] - before)
    return round(float(line.bin_ns) * (place + share))


def _placed(lanes: Sequence[Lane]) -> list[Lane]:
    """Give places to the lanes that are valid and finished; ties share a place.

    A lane shares the place of the first that has it if the two differ by less than 2 % (with one round: 20 %), or not
    significantly.
    """
    runners = (one for one in lanes if one.invalid is None and one.finish_ns is not None)
    places: dict[str, int] = {}
    first, place = None, 0
    for number, one in enumerate(sorted(runners, key=lambda one: one.end_ns), start=1):
        if first is None or _behind(first, one):
            first, place = one, number
        places[one.strategy] = place
    return [replace(one, place=places.get(one.strategy)) for one in lanes]


def _behind(first: Lane, second: Lane) -> bool:
    """Tell whether the second finished significantly later; with single rounds, by more than ONE_ROUND."""
    if first.rounds_ns is None or second.rounds_ns is None:
        return False
    single = min(first.rounds_ns.rounds, second.rounds_ns.rounds) == 1
    if second.end_ns < first.end_ns * (1 + (ONE_ROUND if single else STEADY)):
        return False
    return single or differs(first.rounds_ns.logs, second.rounds_ns.logs) == "differs"


def _joining(own: Sequence[Row], crawls: Sequence[Row]) -> list[Row]:
    """Return the rows of strategies measured only at 1 in flight, on the same site except for its size."""
    others = {row.strategy for row in own} | {row.strategy for row in crawls if row.workload.in_flight > 1}
    wanted = _but_for_size(own[0])
    rows = [row for row in crawls if row.strategy not in others and _but_for_size(row) == wanted]
    sizes = {row.workload.site.pages for row in rows}
    enough = [size for size in sizes if size >= own[0].workload.site.pages]
    chosen = min(enough) if enough else max(sizes, default=0)
    return [row for row in rows if row.workload.site.pages == chosen]


def _but_for_size(row: Row) -> str:
    return workloads.alike(row.workload, but_for=("in_flight", "site.pages"))


def _why_absent(row: Row) -> str:
    reason = "; ".join(row.invalid_reasons) or "no time line"
    return f"{words.plain(row.strategy, 40)} ({words.plain(reason, 80)})"


def _title(workload: CrawlWorkload) -> str:
    """Name a workload: latency, CPU work, cap, and use of connections other than keep-alive."""
    latency = units.latency(workload.latency)
    parts = [latency if workload.latency == "0" else f"{latency} added latency"]
    if workload.cpu is not None:
        parts.append(f"{units.latency(workload.cpu)} of CPU work per page")
    parts.append(words.in_flight(workload.in_flight))
    if workload.connection != "keep-alive":
        parts.append(f"{workload.connection} connections")
    return words.plain(", ".join(parts))


def _worth(race: Race) -> tuple[Any, ...]:
    times = [one.end_ns for one in race.finishers]
    ratio = max(times) / max(1, min(times)) if times else 0.0
    return (max(times, default=0) >= LONG_NS, len(race.lanes), race.latency != "0", ratio)


def _told_apart(found: Sequence[Race]) -> list[Race]:
    """Add a number to equal titles, whose sites differ."""
    titles = [race.title for race in found]
    numbers = [titles[: n + 1].count(title) for n, title in enumerate(titles)]
    return [
        replace(race, title=f"{race.title}, site {number}") if titles.count(race.title) > 1 else race
        for race, number in zip(found, numbers, strict=True)
    ]
