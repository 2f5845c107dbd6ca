"""Who races whom: the crawls of a run put side by side, one race a workload, and their places. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.core import units, workloads
from bench.core.figures import differ
from bench.core.rows import Row
from bench.present import words
from bench.present.notes import why_red
from bench.studies.race.lanes import Lane, lane, median_round, recorded

MOST_RACES = 4
MOST_LANES = 16
"""So many of the fastest lanes are shown; more cannot be watched."""
ONE_ROUND = 0.2
"""How much two may differ by chance is not known of one round; by so much they hardly do."""
LONG_NS = 300_000_000
"""A race whose last one takes less is over before one has looked."""


@dataclass(frozen=True, slots=True)
class Race:
    """One workload, and the lanes of those who crawled it."""

    title: str
    latency: str
    in_flight: int
    pages: int
    lanes: tuple[Lane, ...]
    left_out: int
    """Lanes that there was no room for, the slowest ones."""
    absent: tuple[str, ...]
    """Who has no recording, and why."""

    @property
    def duration_ns(self) -> int:
        """When the last lane stands still."""
        return max(lane.end_ns for lane in self.lanes)

    @property
    def finishers(self) -> list[Lane]:
        """The lanes with a place, the first one first."""
        return sorted((one for one in self.lanes if one.place is not None), key=lambda one: one.end_ns)


def races(rows: Iterable[Row]) -> list[Race]:
    """Return the races that the crawls of a run make, the one most worth watching first, at most MOST_RACES.

    Preferred are those that last, in which many take part, with added latency, and with the most between first and
    last; the second is of another latency than the first where there is one.
    """
    crawls = [row for row in rows if row.kind == "crawl"]
    groups: dict[str, list[Row]] = {}
    for row in crawls:
        groups.setdefault(workloads.identity(row.workload), []).append(row)
    made = (_race(own, _joining(own, crawls)) for own in groups.values())
    found = sorted((race for race in made if race is not None), key=_worth, reverse=True)
    latencies = [race.latency for race in found]
    turns = [latencies[:n].count(latency) for n, latency in enumerate(latencies)]
    varied = sorted(range(len(found)), key=lambda n: turns[n])
    return _told_apart([found[n] for n in varied[:MOST_RACES]])


def _race(own: Sequence[Row], joining: Sequence[Row]) -> Race | None:
    """Make the race of one workload's rows, with those who join from its twin at 1 in flight; None for a lonely one."""
    groups, guests = _recorded_by_strategy(own), _recorded_by_strategy(joining)
    if not groups or len(groups) + len(guests) < 2:
        return None
    pages = _pages([row for group in groups.values() if (row := median_round(group)) is not None])
    lanes = [lane(group, pages) for group in (*groups.values(), *guests.values())]
    placed = _placed(lanes)
    fastest = sorted(placed, key=lambda one: (one.place is None, one.end_ns))[:MOST_LANES]
    workload = own[0].workload
    return Race(
        _title(workload),
        workload["latency"],
        workload["in_flight"],
        pages,
        tuple(sorted(fastest, key=lambda one: (one.stack != "shared", one.strategy))),
        len(placed) - len(fastest),
        tuple(_why_absent(row) for row in {row.strategy: row for row in own if row.strategy not in groups}.values()),
    )


def _placed(lanes: Sequence[Lane]) -> list[Lane]:
    """Give places to the lanes that are not red and came to the end; those who are alike share one.

    A place is shared with the first who has it: if the two differ by less than 2 % (with one round: 20 %), or by no
    more than chance explains.
    """
    runners = sorted(
        (one for one in lanes if one.red is None and one.finish_ns is not None), key=lambda one: one.end_ns
    )
    places: dict[str, int] = {}
    first, place = None, 0
    for number, one in enumerate(runners, start=1):
        if first is None or _behind(first, one):
            first, place = one, number
        places[one.strategy] = place
    return [replace(one, place=places.get(one.strategy)) for one in lanes]


def _behind(first: Lane, second: Lane) -> bool:
    """Tell whether the second finished later than chance explains; of single rounds, whether by much."""
    if first.rounds_ns is None or second.rounds_ns is None:
        return False
    single = min(first.rounds_ns.rounds, second.rounds_ns.rounds) == 1
    if second.end_ns < first.end_ns * (1 + (ONE_ROUND if single else words.STEADY)):
        return False
    return single or differ(first.rounds_ns, second.rounds_ns) == "differs"


def _joining(own: Sequence[Row], crawls: Sequence[Row]) -> list[Row]:
    """Return the rows of those who are only ever measured at 1 in flight, on the same site but for its size."""
    others = {row.strategy for row in own} | {row.strategy for row in crawls if row.workload["in_flight"] > 1}
    wanted = _but_for_size(own[0])
    rows = [row for row in crawls if row.strategy not in others and _but_for_size(row) == wanted]
    sizes = {row.workload["site"]["pages"] for row in rows}
    enough = [size for size in sizes if size >= own[0].workload["site"]["pages"]]
    chosen = min(enough) if enough else max(sizes, default=0)
    return [row for row in rows if row.workload["site"]["pages"] == chosen]


def _but_for_size(row: Row) -> str:
    return workloads.alike(row.workload, but_for=("in_flight", "site.pages"))


def _recorded_by_strategy(rows: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if recorded(row):
            groups.setdefault(row.strategy, []).append(row)
    return groups


def _pages(rows: Sequence[Row]) -> int:
    """Return how many pages the race has: the least that any valid lane of the workload has."""
    valid = [recorded(row) for row in rows if row.valid]
    return min(valid) if valid else max(map(recorded, rows))


def _why_absent(row: Row) -> str:
    reason = "; ".join(why_red(row)) or "no time line"
    return f"{words.plain(row.strategy, 40)} ({words.plain(reason, 80)})"


def _title(workload: dict[str, Any]) -> str:
    """Name a workload: its latency, its CPU work, its cap, and its use of connections if that is unusual."""
    latency = units.latency(workload["latency"])
    parts = [latency if workload["latency"] == "0" else f"{latency} added latency"]
    if (cpu := workload.get("cpu", "0")) != "0":
        parts.append(f"{units.latency(cpu)} of CPU work a page")
    parts.append(words.in_flight(workload["in_flight"]))
    if workload["connection"] != "keep-alive":
        parts.append(f"{workload['connection']} connections")
    return words.plain(", ".join(parts))


def _worth(race: Race) -> tuple[Any, ...]:
    times = [one.end_ns for one in race.finishers]
    ratio = max(times) / max(1, min(times)) if times else 0.0
    return (max(times, default=0) >= LONG_NS, len(race.lanes), race.latency != "0", ratio)


def _told_apart(found: Sequence[Race]) -> list[Race]:
    """Add a number to titles that would be the same: their sites differ."""
    titles = [race.title for race in found]
    return [
        replace(race, title=f"{race.title}, site {titles[: n + 1].count(race.title)}")
        if titles.count(race.title) > 1
        else race
        for n, race in enumerate(found)
    ]
