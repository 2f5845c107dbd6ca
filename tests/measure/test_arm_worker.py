"""The answer of an arm's worker: one line for whole laps, separate lines for everything else."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.measure.worker.arm import laps, seen, within
from inflight.fake_server.site import FIRST_LAP
from inflight.strategies.core.page import Fetch, Origin

LAP = 10
PREFIX = "http://127.0.0.1:80"
ORIGIN = Origin("127.0.0.1", 80, PREFIX, len(PREFIX), "")
TIMES_NS = st.integers(0, 30)


def path(page: int, lap: int = 0) -> str:
    return f"/p/{(FIRST_LAP + lap) * LAP + page}"


def fetch(of: str, status: int | None = 200, size: int = 1200, started_ns: int = 0, finished_ns: int = 1) -> Fetch:
    made = Fetch(PREFIX + of, ORIGIN, 0, 0)
    made.status, made.size = status, size
    made.started_ns, made.finished_ns = started_ns, finished_ns
    return made


@given(counts=st.lists(st.integers(1, 5), max_size=LAP), data=st.data())
def test_whole_laps_of_a_page_are_one_line(counts: Sequence[int], data: st.DataObject) -> None:
    fetches = [fetch(path(page, lap), size=page) for page, count in enumerate(counts) for lap in range(count)]

    found = laps(data.draw(st.permutations(fetches)))

    assert sorted(found) == [[path(page), count, 200, page] for page, count in enumerate(counts)]


@given(count=st.integers(1, 5), again=st.integers(0, 4))
def test_a_page_that_came_twice_has_a_line_for_each_fetch(count: int, again: int) -> None:
    numbers = sorted([*range(count), again % count])

    assert laps(map(fetch, map(path, [3] * (count + 1), numbers))) == [[path(3, lap), 1, 200, 1200] for lap in numbers]


@given(count=st.integers(3, 6), data=st.data())
def test_a_page_that_skipped_a_lap_has_a_line_for_each_fetch(count: int, data: st.DataObject) -> None:
    left_out = data.draw(st.integers(1, count - 2))
    numbers = [lap for lap in range(count) if lap != left_out]

    assert laps(fetch(path(3, lap)) for lap in numbers) == [[path(3, lap), 1, 200, 1200] for lap in numbers]


@given(count=st.integers(2, 5), odd=st.integers(0, 4), status=st.sampled_from([200, 404, None]), size=st.integers(0, 9))
def test_a_page_that_differs_in_one_lap_has_a_line_for_each_fetch(
    count: int, odd: int, status: int | None, size: int
) -> None:
    brought: list[tuple[int | None, int]] = [(200, 1200)] * count
    brought[odd % count] = (status, size)

    found = laps(fetch(path(3, lap), *each) for lap, each in enumerate(brought))

    assert found == [[path(3, lap), 1, *each] for lap, each in enumerate(brought)]


def test_one_bad_page_does_not_split_the_laps_of_the_others() -> None:
    good, bad = [fetch(path(1, lap)) for lap in range(3)], [fetch(path(2)), fetch(path(2))]

    assert laps([*good, *bad]) == [[path(1), 3, 200, 1200], [path(2), 1, 200, 1200], [path(2), 1, 200, 1200]]


def test_a_line_names_the_first_lap_that_came() -> None:
    assert laps([fetch(path(1, 4)), fetch(path(1, 5))]) == [[path(1, 4), 2, 200, 1200]]


def test_a_page_outside_the_site_is_reported_as_it_is() -> None:
    strange = ["/", "/p/1", "/somewhere/else", "/p/abcdef3"]

    assert sorted(laps(map(fetch, strange))) == [[of, 1, 200, 1200] for of in sorted(strange)]


@given(st.lists(TIMES_NS, max_size=20), TIMES_NS, TIMES_NS)
def test_a_window_includes_its_begin_and_excludes_its_end(
    finished_ns: list[int], begin_ns: int, length_ns: int
) -> None:
    end_ns = begin_ns + length_ns
    own = [at for at in sorted(finished_ns) if begin_ns <= at < end_ns]

    found = seen([fetch("/", finished_ns=at) for at in sorted(finished_ns)], begin_ns, end_ns)

    assert found == ([len(own), own[0], own[-1]] if own else [0, begin_ns, begin_ns])


@given(st.lists(TIMES_NS, min_size=2, max_size=8, unique=True), st.lists(st.tuples(TIMES_NS, TIMES_NS)))
def test_a_fetch_is_timed_if_it_is_within_one_window(edges_ns: list[int], spans_ns: list[tuple[int, int]]) -> None:
    ordered = sorted(edges_ns)
    windows = [list(edges) for edges in zip(ordered[::2], ordered[1::2], strict=False)]
    fetches = [fetch("/", started_ns=at, finished_ns=at + lasted) for at, lasted in spans_ns]

    found = within(fetches, windows)

    whole = [any(begin <= one.started_ns and one.finished_ns <= end for begin, end in windows) for one in fetches]
    assert found == [one for one, inside in zip(fetches, whole, strict=True) if inside]


def test_without_windows_nothing_is_timed() -> None:
    assert within([fetch("/")], []) == []
