"""The timer of loop lag: a fixed grid of due times, and how late each of them was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.strategies.core.lag import EARLY_NS, PERIOD_NS, Timer

MS = 1_000_000
ALWAYS = [[0, 10**18]]


def test_a_timer_that_is_not_due_does_not_fire() -> None:
    timer = Timer(0)

    assert timer.fire(PERIOD_NS - EARLY_NS - 1) == PERIOD_NS
    assert not timer.firings


@pytest.mark.parametrize(
    ("fired_ms", "due_ms", "windows_ms", "rest_ms", "late_ms"),
    {
        "it fires late and keeps its grid": ([13, 21], 30, [[0, 1000]], [1000], [3, 1]),
        "a stall makes every due time within it late": ([45], 50, [[0, 1000]], [1000], [35, 25, 15, 5]),
        "only due times within windows count": ([10, 24, 30, 40, 50], 60, [[15, 25], [40, 50]], [1000, 1000], [4, 0]),
        "it fires after the window of its due time": ([27], 30, [[15, 25]], [1000], [7]),
        "time after the crawl came to rest is not lateness": ([500], 510, [[15, 25]], [28], [8]),
    }.values(),
)
def test_each_due_time_within_a_window_is_late_until_the_timer_fires_or_the_crawl_rests(
    fired_ms: list[int], due_ms: int, windows_ms: list[list[int]], rest_ms: list[int], late_ms: list[int]
) -> None:
    timer = Timer(0)
    due_ns = [timer.fire(at_ms * MS) for at_ms in fired_ms]

    windows_ns = [[begin * MS, end * MS] for begin, end in windows_ms]
    found = timer.lateness_ns(windows_ns, [at_ms * MS for at_ms in rest_ms])

    assert due_ns[-1] == due_ms * MS
    assert list(found) == [late * MS for late in late_ms]


def test_a_timer_that_fires_a_little_early_is_on_time() -> None:
    timer = Timer(0)

    assert timer.fire(PERIOD_NS - EARLY_NS // 2) == 2 * PERIOD_NS
    assert list(timer.lateness_ns(ALWAYS, [10**18])) == [0]


@given(st.lists(st.integers(0, 60 * MS), max_size=40))
def test_each_due_time_before_the_last_firing_counts_once(gaps_ns: list[int]) -> None:
    timer, now = Timer(0), 0
    for gap in gaps_ns:
        now += gap
        assert timer.fire(now) > now - EARLY_NS

    assert len(timer.lateness_ns(ALWAYS, [10**18])) == timer.due_ns // PERIOD_NS - 1
