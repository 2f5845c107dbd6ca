"""The finished fetches of an endless crawl in compact form, and samples of what its process has used so far.

The worker of an arm (``arm``) puts it in the place of ``Frontier.finished``. Frontiers keep all their fetches, which
are objects of the garbage collector. After about 68,000 of them, a collection walks them all, and takes as long as a
window. This keeps text and numbers, and lets the fetches go. A *lap* is one round of an endless site through its pages.
A *window* is the part of a slice (a turn of the arm) that counts.
"""

import resource
import sys
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from inflight.bench.measure.worker.crawl import longest_pause_ns
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch

LAP_AT, PAGE_AT = 3, 9
"""Positions in a path of an endless site at which the numbers of the lap and of the page begin: /p/100000017."""
SAMPLE_NS, SAMPLE_COSTS = 2_000_000, 200
"""Minimum time between two samples, and minimum CPU time of the process, as a multiple of what a sample takes.

Reading the CPU time of a process walks through its threads: 1 µs for one, 110 µs for 2,000.
"""
MAX_PAUSE_NS, MAX_IDLE = 20_000_000, 3
"""A process that mostly waits is sampled after this time, or this multiple of ``SAMPLE_COSTS``, all the same: each
window needs some samples."""
SAMPLE_STEP_NS = 1000
"""Resolution of the CPU time of a sample."""
COLUMNS = 4
"""Number of values of a sample, all in one array: begin, end and CPU time (in nanoseconds), finished pages."""


class Finished:
    """Takes the place of ``Frontier.finished``: a frontier only appends to it, and asks for its length."""

    def __init__(self, frontier: Frontier, lap_pages: int, *, sampled: bool) -> None:
        """Keep what ``frontier`` finishes, whose site has ``lap_pages`` pages in a lap; ``sampled``: take samples."""
        self.urls: list[str] = []
        self.started_ns = array("q")
        self.finished_ns = array("q")
        self.statuses = array("h")
        """0 for a page without a response."""
        self.sizes = array("q")
        self.tries = 0
        self.samples = array("q")
        """COLUMNS values for each sample."""
        self._sampled = sampled
        self._frontier = frontier
        self._lap_pages = lap_pages
        self._laps: defaultdict[str, list[str]] = defaultdict(list)
        """URLs of the pages of each lap that the frontier still remembers, by the number of the lap as text."""
        self._forgotten = 0
        """Number of URLs that the frontier was made to forget."""
        self._pause_ns = sys.maxsize
        """Time until the next sample, as the last one has computed it."""
        self._last_ns = self._last_cpu_ns = 0
        """Begin and CPU time of the last sample."""
        self._recent = recent = list[Fetch]()
        add, take, due_ns = recent.append, self.take, 0

        def append(fetch: Fetch) -> None:
            """Add a fetch that has just finished."""
            nonlocal due_ns
            add(fetch)
            if fetch.finished_ns >= due_ns:
                due_ns = take()

        self.append = append  # a closure is called faster than a method

    def __len__(self) -> int:
        """Return the number of finished fetches whose URLs the frontier remembers."""
        return len(self.urls) + len(self._recent) - self._forgotten

    def take(self) -> int:
        """Move the recent fetches into the arrays, and sample the process; return when to do so again."""
        recent = self._recent
        urls = [fetch.url for fetch in recent]
        self.urls += urls
        self.started_ns.extend([fetch.started_ns for fetch in recent])
        self.finished_ns.extend([fetch.finished_ns for fetch in recent])
        self.statuses.extend([fetch.status or 0 for fetch in recent])
        self.sizes.extend([fetch.size for fetch in recent])
        self.tries += sum([fetch.tries for fetch in recent])
        path_at = recent[0].origin.prefix_length
        recent.clear()
        self._forget(urls, path_at)
        now_ns = time.perf_counter_ns()
        if not self._sampled:
            return now_ns + SAMPLE_NS
        before_ns = time.thread_time_ns()  # other threads may run meanwhile
        used = resource.getrusage(resource.RUSAGE_SELF)
        cost_ns = time.thread_time_ns() - before_ns
        end_ns = time.perf_counter_ns()
        cpu_ns = round((used.ru_utime + used.ru_stime) * 1e6) * SAMPLE_STEP_NS
        self.samples.extend((now_ns, end_ns, cpu_ns, len(self.urls)))
        # How many times as much time has passed as CPU time: the more the process waits, the longer until it has used
        # enough for the next sample.
        idle = max(1.0, (now_ns - self._last_ns) / max(1, cpu_ns - self._last_cpu_ns))
        self._last_ns, self._last_cpu_ns = now_ns, cpu_ns
        busy_ns = SAMPLE_COSTS * cost_ns
        last_ns, self._pause_ns = self._pause_ns, min(round(busy_ns * idle), max(MAX_PAUSE_NS, MAX_IDLE * busy_ns))
        return now_ns + max(SAMPLE_NS, min(last_ns, self._pause_ns))  # one may include an interrupt, or others' turns

    def _forget(self, urls: list[str], path_at: int) -> None:
        """Let the frontier forget a lap when it has been crawled with all before it: then no page links to it any more.

        ``urls`` have just finished; their paths begin at ``path_at``.

        The tables of a frontier grow otherwise, which stops a crawl for up to 23 ms. They are not for others to change;
        frontiers of older revisions, which are compared with the present one, have no method for it.
        """
        while self._laps and len(self._laps[first := min(self._laps)]) == self._lap_pages:
            past = self._laps.pop(first)
            seen = self._frontier._seen  # noqa: SLF001
            known = len(seen)
            seen.difference_update(past)
            self._forgotten += known - len(seen)
            paths = [url[path_at:].encode() for url in past]
            for links in self._frontier._known_links.values():  # noqa: SLF001
                links.paths.difference_update(paths)
        begin, end = path_at + LAP_AT, path_at + PAGE_AT
        for url in urls:  # last: the frontier has still to follow the links of the latest page
            self._laps[url[begin:end]].append(url)

    def end(self) -> None:
        """Take what the crawl has finished last."""
        if self._recent:
            self.take()

    def totals(self) -> dict[str, int]:
        """Return the counts of the whole crawl."""
        return {"pages": len(self.urls), "failed_pages": self.statuses.count(0), "tries": self.tries}

    def figures_between(self, begin_ns: int, end_ns: int) -> dict[str, Any]:
        """Return the pages that finished in a window, when the first and the last did, and the samples at its ends."""
        first, end = self._between(begin_ns, end_ns)
        times = self.samples[::COLUMNS]
        low, high = bisect_left(times, begin_ns), bisect_right(times, end_ns)
        return {
            "pages": end - first,
            "first_ns": self.finished_ns[first] if first < end else begin_ns,
            "last_ns": self.finished_ns[end - 1] if first < end else begin_ns,
            "samples": high - low,
            "ends": [list(self.samples[COLUMNS * n : COLUMNS * (n + 1)]) for n in (low, high - 1) if low < high],
        }

    def hole_ns(self, spans: Sequence[Sequence[int]]) -> int:
        """Return the longest time within one of these spans of time in which no fetch ended."""
        return max(longest_pause_ns(self.finished_ns[slice(*self._between(*span))], span) for span in spans)

    def _between(self, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the places of the first fetch that ended in this time, and of the first one after it."""
        return bisect_left(self.finished_ns, begin_ns), bisect_left(self.finished_ns, end_ns)

    def open_ns(self, spans: Sequence[Sequence[int]]) -> Iterator[int]:
        """Yield for how long each fetch that finished within one of these spans of time was open in it.

        A thousand threads that wake up at once on a loaded machine finish nothing for seconds; then most of them have
        been open since the span began, and few have started in it.
        """
        for span in spans:
            for place in range(*self._between(*span)):
                yield self.finished_ns[place] - max(self.started_ns[place], span[0])

    def service_ns(self, windows: Sequence[Sequence[int]]) -> Iterator[int]:
        """Yield the duration of each fetch that started and finished within one window (nanoseconds, ascending)."""
        begins = [begin for begin, _ in windows]
        for started_ns, finished_ns in zip(self.started_ns, self.finished_ns, strict=True):
            place = bisect_right(begins, started_ns) - 1
            if place >= 0 and finished_ns <= windows[place][1]:
                yield finished_ns - started_ns

    def answer(self) -> list[list[Any]]:
        """Return the answer in short: [path of the first, number of laps, status, size] for each page.

        A page that came twice, missed a lap or differed between laps has a line for each fetch.
        """
        of_page: defaultdict[str, list[tuple[str, int | None, int]]] = defaultdict(list)
        for url, status, size in zip(self.urls, self.statuses, self.sizes, strict=True):
            path = url[url.index("/", len("https://")) :]
            of_page[path[PAGE_AT:]].append((path, status or None, size))
        lines: list[list[Any]] = []
        for fetches in of_page.values():
            fetches.sort(key=lambda fetch: fetch[0])
            runs = [fetches] if _are_alike(fetches) else [[fetch] for fetch in fetches]
            lines += [[path, len(run), status, size] for run in runs for path, status, size in run[:1]]
        return lines


def _are_alike(fetches: Sequence[tuple[str, int | None, int]]) -> bool:
    """Return whether these fetches of one page are from consecutive laps and have the same result."""
    if len({result[1:] for result in fetches}) > 1:
        return False
    numbers = [path[LAP_AT:PAGE_AT] for path, _, _ in fetches]
    return all(number.isdigit() for number in numbers) and list(map(int, numbers)) == list(
        range(int(numbers[0]), int(numbers[0]) + len(numbers))
    )
