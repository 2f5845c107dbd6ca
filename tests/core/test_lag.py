"""The timer of loop lag: a fixed grid of due times, and how late each of them was."""

from hypothesis import given
from hypothesis import strategies as st

from inflight.strategies.core.lag import EARLY_NS, PERIOD_NS, Timer

MS = 1_000_000
ALWAYS = [[0, 10**18]]


def lateness_ms(timer: Timer, *windows: tuple[int, int], rest_ms: int = 10**6) -> list[float]:
    return [late / MS for late in timer.lateness_ns([[b * MS, e * MS] for b, e in windows], [rest_ms * MS])]


def test_a_timer_that_is_not_due_does_not_fire() -> None:
    timer = Timer(0)

    assert timer.fire(PERIOD_NS - EARLY_NS - 1) == PERIOD_NS
    assert not timer.firings


def test_a_timer_that_fires_late_keeps_its_grid() -> None:
    timer = Timer(0)

    assert timer.fire(13 * MS) == 20 * MS
    assert timer.fire(21 * MS) == 30 * MS
    assert lateness_ms(timer, (0, 1000)) == [3, 1]


def test_a_stall_makes_every_due_time_within_it_late() -> None:
    timer = Timer(0)

    assert timer.fire(45 * MS) == 50 * MS
    assert lateness_ms(timer, (0, 1000)) == [35, 25, 15, 5]


def test_a_timer_that_fires_a_little_early_is_on_time() -> None:
    timer = Timer(0)

    assert timer.fire(PERIOD_NS - EARLY_NS // 2) == 2 * PERIOD_NS
    assert lateness_ms(timer, (0, 1000)) == [0]


def test_only_due_times_within_windows_count() -> None:
    timer = Timer(0)
    for at_ms in (10, 24, 30, 40, 50):
        timer.fire(at_ms * MS)

    assert timer.lateness_ns([[15 * MS, 25 * MS], [40 * MS, 50 * MS]], [10**18, 10**18]) == [4 * MS, 0]


def test_a_due_time_of_a_window_that_fires_after_the_window_counts() -> None:
    timer = Timer(0)
    timer.fire(27 * MS)

    assert lateness_ms(timer, (15, 25)) == [7]


def test_time_after_the_crawl_came_to_rest_is_not_lateness() -> None:
    timer = Timer(0)
    timer.fire(500 * MS)

    assert lateness_ms(timer, (15, 25), rest_ms=28) == [8]


@given(st.lists(st.integers(0, 60 * MS), max_size=40))
def test_each_due_time_before_the_last_firing_counts_once(gaps_ns: list[int]) -> None:
    timer, now = Timer(0), 0
    for gap in gaps_ns:
        now += gap
        assert timer.fire(now) > now - EARLY_NS

    assert len(timer.lateness_ns(ALWAYS, [10**18])) == timer.due_ns // PERIOD_NS - 1
