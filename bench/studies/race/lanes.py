"""One recorded crawl as a lane of a race, and what it looks like at any moment. Pure.

Nothing in a lane is made up: where a row has no samples, there are no threads, memory and CPU time over time; where a
recording ends before the race does, so does the lane.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bench.core.cells import spread_of
from bench.core.figures import Spread
from bench.core.rows import Row
from bench.present import name_looks, words
from bench.present.notes import why_red

_SAMPLED = ("at_ns", "threads", "rss_bytes", "cpu_ns")


@dataclass(frozen=True, slots=True)
class Samples:
    """What the worker's process had, as seen from outside; of equal length, times since the crawl was ordered."""

    at_ns: tuple[int, ...]
    threads: tuple[int, ...]
    rss_bytes: tuple[int, ...]
    cpu_ns: tuple[int | None, ...]
    """Since the crawl began; None where unknown."""

    def latest(self, at_ns: float) -> int | None:
        """Return which sample is the latest at a time; None before the first one."""
        place = bisect_right(self.at_ns, at_ns) - 1
        return place if place >= 0 else None


@dataclass(frozen=True, slots=True)
class Lane:
    """One strategy's recorded crawl, up to the race's last page."""

    strategy: str
    stack: str
    in_flight: int
    """The cap that it crawled with."""
    recorded: int
    """Pages in its recording; if the race has more, the lane ends before the race does."""
    bin_ns: int
    completions: tuple[int, ...]
    in_flight_then: tuple[int, ...]
    """At the end of each bin."""
    finish_ns: int | None
    """When its crawl had ended; if it went on beyond the race, when the last page of the race came; None: never."""
    rounds_ns: Spread | None
    """The finish of all valid rounds; None where there is none."""
    red: str | None
    """Why the trial is no basis for a conclusion."""
    samples: Samples | None
    peak_threads: int | None
    rss_bytes: int | None
    """The most of the samples; without any, what was read at rest after the crawl."""
    cpu_ns: int | None
    """Of the whole crawl."""
    place: int | None = None
    """From 1 on, shared by those who are alike; None for a red lane, and for one that never finished."""

    @property
    def colour(self) -> int:
        """The number of its colour, which is that of the plots."""
        return name_looks.look(self.strategy).number

    @property
    def end_ns(self) -> int:
        """When nothing moves in the lane any more."""
        return self.bin_ns * len(self.completions) if self.finish_ns is None else self.finish_ns

    @property
    def pages(self) -> int:
        """How many pages are done in the end."""
        return sum(self.completions)

    def at(self, at_ns: float) -> tuple[int, int]:
        """Return (pages done, in flight) at a time; what happens in a bin is spread evenly over it."""
        place, part_ns = divmod(max(0.0, at_ns), self.bin_ns)
        if at_ns <= 0:
            return 0, 0
        if at_ns >= self.end_ns or place >= len(self.completions):
            return self.pages, 0
        here, share = int(place), part_ns / self.bin_ns
        then, before = self.in_flight_then[here], self.in_flight_then[max(0, here - 1)]
        done = sum(self.completions[:here]) + int(self.completions[here] * share)
        return done, round(before + (then - before) * share)


def lane(rows: Sequence[Row], pages: int) -> Lane:
    """Make the lane of one strategy's rows of one workload, of which at least one is recorded, up to so many pages."""
    row = median_round(rows)
    assert row is not None
    measured, line = row.measured, row.measured["timeline"]
    sums = list(accumulate(line["completions"]))
    bins = min(bisect_left(sums, pages) + 1, len(sums))
    completions = list(line["completions"][:bins])
    completions[-1] = min(completions[-1], pages - (sums[bins - 2] if bins > 1 else 0))
    samples = _samples(measured.get("samples"))
    cpu_ns = [measured[key] for key in ("cpu_user_ns", "cpu_system_ns") if key in measured]
    valid = [one for one in rows if one.valid and recorded(one)]
    return Lane(
        row.strategy,
        row.stack,
        row.workload["in_flight"],
        sums[-1],
        line["bin_ns"],
        tuple(completions),
        tuple(line["in_flight"][:bins]),
        _finish_ns(row, pages),
        spread_of(valid, lambda one: _finish_ns(one, pages)),
        None if row.valid else words.plain("; ".join(why_red(row)), 160),
        samples,
        measured.get("peak_threads"),
        max(samples.rss_bytes) if samples is not None else measured.get("rss_bytes"),
        sum(cpu_ns) if cpu_ns else None,
    )


def median_round(rows: Iterable[Row]) -> Row | None:
    """Return the row with the median makespan, of the valid ones if there are any; None if none is recorded."""
    found = [row for row in rows if recorded(row)]
    best = [row for row in found if row.valid] or found
    best.sort(key=lambda row: (row.measured.get("makespan_ns", 0), row.round))
    return best[(len(best) - 1) // 2] if best else None


def recorded(row: Row) -> int:
    """Return how many pages a row's time line has; 0 for a row without one."""
    line = row.measured.get("timeline")
    return 0 if line is None else sum(line.completions)


def _finish_ns(row: Row, pages: int) -> int | None:
    """Return when the crawl ended; if it had more pages than the race, when its bin says that the last one came."""
    line = row.measured["timeline"]
    sums = list(accumulate(line["completions"]))
    if sums[-1] < pages:
        return None
    if sums[-1] == pages and "makespan_ns" in row.measured:
        return int(row.measured["makespan_ns"])
    place = bisect_left(sums, pages)
    before = sums[place - 1] if place else 0
    share: float = (pages - before) / (sums[place] - before)
    return round(float(line["bin_ns"]) * (place + share))


def _samples(values: Any) -> Samples | None:
    """Return the samples of a row; None for a row of before there were any."""
    return Samples(*(tuple(values[key]) for key in _SAMPLED)) if values is not None and values.at_ns else None
