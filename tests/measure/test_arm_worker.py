"""What an arm's worker keeps of its crawl: its answer, its times, its samples, and nothing that grows or is walked."""

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.measure.expected import root_paths
from inflight.bench.measure.worker import finished
from inflight.bench.measure.worker.finished import COLUMNS, SAMPLE_COSTS, SAMPLE_NS, Finished
from inflight.fake_server.site import FIRST_LAP, Site, SiteConfig
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.page import Fetch, Origin

LAP = 10
MS = 1_000_000
PREFIX = "http://127.0.0.1:8080"
ORIGIN = Origin("127.0.0.1", 8080, PREFIX, len(PREFIX), "")
TIMES_NS = st.integers(0, 30)
SITE = Site(SiteConfig(pages=100, links=5, endless=True))


def path(page: int, lap: int = 0) -> str:
    return f"/p/{(FIRST_LAP + lap) * LAP + page}"


def fetch(of: str, status: int | None = 200, size: int = 1200, started_ns: int = 0, finished_ns: int = 1) -> Fetch:
    made = Fetch(PREFIX + of, ORIGIN, 0, 0)
    made.status, made.size, made.tries = status, size, 1
    made.started_ns, made.finished_ns = started_ns, finished_ns
    return made


def kept(fetches: Iterable[Fetch], *, sampled: bool = False) -> Finished:
    found = Finished(Frontier(Job((f"{PREFIX}/",))), LAP, sampled=sampled)
    for each in fetches:
        found.append(each)
    found.end()
    return found


def test_a_fetch_counts_as_open_from_the_begin_of_the_slice_in_which_it_ended() -> None:
    found = kept([fetch(path(n), started_ns=began, finished_ns=ended) for n, (began, ended) in enumerate(SPANS)])

    assert list(found.open_ns([[10, 20], [30, 50]])) == [2, 3, 10]
    assert found.hole_ns([[10, 20], [30, 50]]) == 10


SPANS = ((5, 12), (13, 16), (17, 25), (2, 40), (41, 51))


def laps(fetches: Iterable[Fetch]) -> list[list[Any]]:
    return kept(fetches).answer()


@given(counts=st.lists(st.integers(1, 5), max_size=LAP), data=st.data())
def test_whole_laps_of_a_page_are_one_line(counts: Sequence[int], data: st.DataObject) -> None:
    fetches = [fetch(path(page, lap), size=page) for page, count in enumerate(counts) for lap in range(count)]

    found = laps(data.draw(st.permutations(fetches)))

    assert sorted(found) == [[path(page), count, 200, page] for page, count in enumerate(counts)]


ODD = {
    "it came twice": [(0, 200, 1200), (0, 200, 1200), (1, 200, 1200)],
    "it skipped a lap": [(0, 200, 1200), (2, 200, 1200)],
    "it has another status in one lap": [(0, 200, 1200), (1, 404, 1200), (2, 200, 1200)],
    "it has another size in one lap": [(0, 200, 1200), (1, 200, 9)],
    "it failed once": [(0, None, 1200), (1, 200, 1200)],
}
"""Lap, status and size of each fetch of a page."""


@pytest.mark.parametrize("brought", ODD.values(), ids=ODD)
def test_a_page_that_is_not_the_same_in_each_lap_has_a_line_for_each_fetch(
    brought: list[tuple[int, int | None, int]],
) -> None:
    good = [fetch(path(1, lap)) for lap in range(3)]

    found = laps([*good, *(fetch(path(3, lap), status, size) for lap, status, size in brought)])

    assert found == [[path(1), 3, 200, 1200], *([path(3, lap), 1, status, size] for lap, status, size in brought)]


def test_a_line_names_the_first_lap_that_came() -> None:
    assert laps([fetch(path(1, 4)), fetch(path(1, 5))]) == [[path(1, 4), 2, 200, 1200]]


def test_a_page_outside_the_site_is_reported_as_it_is() -> None:
    strange = ["/", "/p/1", "/somewhere/else", "/p/abcdef3"]

    assert sorted(laps(map(fetch, strange))) == [[of, 1, 200, 1200] for of in sorted(strange)]


@given(st.lists(TIMES_NS, max_size=20), TIMES_NS, TIMES_NS)
def test_a_window_includes_its_begin_and_excludes_its_end(ended_ns: list[int], begin_ns: int, length_ns: int) -> None:
    end_ns = begin_ns + length_ns
    own = [at for at in sorted(ended_ns) if begin_ns <= at < end_ns] or [begin_ns]

    found = kept(fetch("/", finished_ns=at) for at in sorted(ended_ns)).figures_between(begin_ns, end_ns)

    assert found["pages"] == sum(begin_ns <= at < end_ns for at in ended_ns)
    assert (found["first_ns"], found["last_ns"]) == (own[0], own[-1])
    assert (found["samples"], found["ends"]) == (0, [])


@given(
    st.lists(
        TIMES_NS,
        min_size=2,
        max_size=8,
        unique=True,
    ),
    st.lists(st.tuples(TIMES_NS, TIMES_NS)),
)
def test_a_fetch_is_timed_if_it_is_within_one_window(edges_ns: list[int], spans_ns: list[tuple[int, int]]) -> None:
    ordered = sorted(edges_ns)
    windows = [list(edges) for edges in zip(ordered[::2], ordered[1::2], strict=False)]

    found = kept(fetch("/", started_ns=at, finished_ns=at + lasted) for at, lasted in spans_ns).service_ns(windows)

    assert list(found) == [
        lasted for at, lasted in spans_ns if any(begin <= at and at + lasted <= end for begin, end in windows)
    ]


@given(st.lists(st.sampled_from([200, 404, None])))
def test_totals_count_pages_failures_and_tries(statuses: list[int | None]) -> None:
    found = kept(fetch("/", status) for status in statuses).totals()

    assert found == {
        "pages": len(statuses),
        "failed_pages": statuses.count(None),
        "tries": len(statuses),
    }


class Crawl:
    """A crawl of the endless site by hand, which ends after some laps; pages are taken some by some."""

    def __init__(self, whole_laps: int, monkeypatch: pytest.MonkeyPatch, some: int = 20, late: str = "") -> None:
        self.now_ns, self.step_ns, self.late, self.urls = 0, SAMPLE_NS // some, late, set[str]()
        self.last = (FIRST_LAP + whole_laps) * 100
        monkeypatch.setattr(finished, "time", SimpleNamespace(perf_counter_ns=self.clock))
        roots = tuple(PREFIX + root for root in root_paths(SITE.config, 100))
        self.frontier = Frontier(Job(roots), self.clock)
        self.finished = Finished(self.frontier, len(roots), sampled=False)
        self.frontier.finished = self.finished  # type: ignore[assignment]

    def clock(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns

    def pages(self) -> Iterator[str]:
        """Fetch a page after the other, the late one when 450 others have come, and yield their URLs."""
        waiting = deque(self.frontier.roots())
        held: list[Fetch] = []
        while waiting:
            one = waiting.popleft()
            self.frontier.start(one)
            if one.url == self.late:
                held.append(one)
                continue
            waiting += self.finish(one)
            if len(self.urls) == 450:
                waiting += [new for other in held for new in self.finish(other)]
            yield one.url

    def finish(self, one: Fetch) -> Sequence[Fetch]:
        assert one.url not in self.urls, "it came twice"
        self.urls.add(one.url)
        n = int(one.url.rpartition("/")[2])
        links = [SITE.url_path(to).encode() for to in SITE.page(n).links] if n < self.last else []
        return self.frontier.finish(
            one,
            Response(
                200,
                "text/html",
                None,
                None,
                1200,
                links,
                keep_alive=True,
            ),
        )


@pytest.mark.parametrize("some", [1, 20])
def test_fifty_laps_are_crawled_once_and_the_frontier_remembers_three_at_most(
    some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(50, monkeypatch, some)

    remembered = max(len(crawl.frontier._seen) for _ in crawl.pages())

    assert remembered <= 300
    assert all(len(links.paths) <= 300 for links in crawl.frontier._known_links.values())
    assert crawl.frontier.done
    crawl.finished.end()
    assert len(crawl.urls) == crawl.finished.totals()["pages"]
    assert {count for _, count, _, _ in crawl.finished.answer()} == {51}
    assert len(crawl.finished.answer()) == 100


@pytest.mark.parametrize("some", [1, 20])
def test_a_page_that_comes_much_later_than_its_lap_brings_no_other_page_again(
    some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(8, monkeypatch, some, late=PREFIX + SITE.url_path((FIRST_LAP + 1) * 100 + 7))

    assert len(list(crawl.pages())) == 899
    assert crawl.frontier.done


def test_a_lap_is_forgotten_when_it_is_whole_with_all_before_it() -> None:
    first, second = ([path(page, lap) for page in range(LAP)] for lap in range(2))
    frontier = Frontier(Job(tuple(PREFIX + each for each in [*first, *second, path(0, 2)])))
    frontier.roots()
    found = Finished(frontier, LAP, sampled=False)
    lengths = []
    for of in [*first[:-1], *second, first[-1], path(0, 2)]:
        found.append(fetch(of))
        found.end()
        lengths.append(len(found))

    assert lengths == [*range(1, 2 * LAP + 1), 1], "the links of the last page are still to be followed"
    assert frontier._seen == {PREFIX + path(0, 2)}


def test_no_page_leaves_an_object_for_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for number, _ in enumerate(Crawl(30, monkeypatch).pages()):
        if number in {1000, 2900}:
            gc.collect()
            counts.append(len(gc.get_objects()))

    assert counts[1] - counts[0] < 500


def sampled(patch: pytest.MonkeyPatch, cost_ns: int, used_s: Callable[[int], float], at_ns: Iterable[int]) -> Finished:
    """Finish a page at each moment, in a process that has used so much CPU time; a sample takes ``cost_ns``."""
    now = SimpleNamespace(ns=0)

    def usage(_: int) -> SimpleNamespace:
        now.ns += cost_ns
        used = {"ru_utime": used_s(now.ns - cost_ns), "ru_stime": 0.25}
        return SimpleNamespace(**used, ru_minflt=3, ru_majflt=1, ru_nvcsw=5, ru_nivcsw=2)

    clocks = dict.fromkeys(("perf_counter_ns", "thread_time_ns"), lambda: now.ns)
    patch.setattr(finished, "time", SimpleNamespace(**clocks))
    patch.setattr(finished, "resource", SimpleNamespace(getrusage=usage, RUSAGE_SELF=0))
    found = kept((), sampled=True)
    for now.ns in at_ns:
        found.append(fetch("/", finished_ns=now.ns))
    return found


@pytest.mark.parametrize(
    ("idle", "cost_us", "pause_ms"), [(1, 1, 2), (1, 20, 4), (8, 10, 16), (50, 10, 20), (50, 200, 120)]
)
def test_samples_take_a_200th_of_the_cpu_time_until_they_would_be_too_few(
    monkeypatch: pytest.MonkeyPatch, idle: int, cost_us: int, pause_ms: int
) -> None:
    found = sampled(monkeypatch, 1000 * cost_us, lambda ns: ns / idle / 1e9, range(0, 1000 * MS, MS))

    at_ns = found.samples[::COLUMNS]
    assert {after - before for before, after in pairwise(at_ns[3:])} == {pause_ms * MS}


def test_a_sample_has_what_the_process_used_and_the_next_follows_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    cost_ns = 2 * SAMPLE_NS // SAMPLE_COSTS
    moments = (0, SAMPLE_NS, 2 * SAMPLE_NS - 1, 2 * SAMPLE_NS, 4 * SAMPLE_NS)
    found = sampled(monkeypatch, cost_ns, lambda _: 1.5, moments)

    samples = [list(found.samples[n : n + COLUMNS]) for n in range(0, len(found.samples), COLUMNS)]
    assert samples == [
        [at_ns, at_ns + cost_ns, 1_750_000_000, pages]
        for at_ns, pages in [(0, 1), (2 * SAMPLE_NS, 4), (4 * SAMPLE_NS, 5)]
    ]
    whole, one = found.figures_between(0, 4 * SAMPLE_NS), found.figures_between(1, 4 * SAMPLE_NS - 1)
    assert (whole["samples"], whole["ends"]) == (3, [samples[0], samples[2]])
    assert (one["samples"], one["ends"]) == (1, [samples[1], samples[1]])
