"""Which cycles of a block others disturbed, and how many pages a window had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight import strategies
from inflight.bench.core.arm import Arm
from inflight.bench.measure.blocks.block import MOST_TAKEN, MS, Running, Slice, disturbed, missing
from inflight.bench.measure.blocks.run import _extrapolated
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.process import DEFAULT

WALL_NS = 20 * MS
SHARES = st.lists(st.floats(0, 1), max_size=20)


def running(*shares: float, wall_ns: int = WALL_NS) -> Running:
    """Make an arm whose windows used these shares of a core, one window for each cycle."""
    arm = Arm("callbacks", "callbacks")
    slices = [window(cycle, share, wall_ns) for cycle, share in enumerate(shares)]
    return Running(arm, Prepared(arm, strategies.describe("callbacks"), DEFAULT, None), port=1, slices=slices)


def window(cycle: int = 0, share: float = 1.0, wall_ns: int = WALL_NS) -> Slice:
    return Slice(cycle, 1000, 1000 + wall_ns, cpu_ns=round(share * wall_ns), server_cpu_ns=0, requests=500)


def test_the_missing_share_of_a_cycle_is_wall_time_without_cpu_time() -> None:
    shares = missing([running(1.0, 0.5), running(1.0, 0.9, wall_ns=3 * WALL_NS)])

    assert shares == pytest.approx({0: 0.0, 1: 1 - (0.5 + 3 * 0.9) / 4})


def test_with_more_than_one_core_nothing_is_missing() -> None:
    assert missing([running(1.7)]) == {0: 0.0}


def test_arms_without_a_window_have_no_cycles() -> None:
    assert missing([running()]) == {}
    assert disturbed([running()]) == set()


def test_a_cycle_with_more_missing_than_the_quietest_quarter_is_disturbed() -> None:
    assert disturbed([running(0.9, 0.9, 0.9, 0.6, 0.9, 0.85, 0.7, 0.9)]) == {3, 6}


def test_an_arm_that_ended_early_keeps_the_cycles_of_the_others() -> None:
    assert set(missing([running(0.9, 0.9, 0.9), running(0.9)])) == {0, 1, 2}


@given(SHARES, st.floats(0, 0.5))
def test_waiting_of_the_arm_itself_disturbs_no_cycle(shares: list[float], waited: float) -> None:
    everyone = [running(*([1 - waited] * len(shares)))]

    assert disturbed(everyone) == set()


@given(SHARES)
def test_the_quietest_quarter_of_cycles_is_never_disturbed(shares: list[float]) -> None:
    everyone = [running(*shares)]
    worse, taken = disturbed(everyone), missing(everyone)
    calm = [taken[cycle] for cycle in taken if cycle not in worse]

    assert len(calm) > len(shares) // 4 or not shares
    assert all(taken[cycle] > max(calm) and taken[cycle] > min(calm) + MOST_TAKEN for cycle in worse)


@given(st.integers(2, 1000), st.integers(1, WALL_NS - 1), st.integers(0, WALL_NS))
def test_pages_of_a_window_follow_from_the_rate_between_the_first_and_the_last(
    pages: int, between_ns: int, before_ns: int
) -> None:
    first_ns = 1000 + min(before_ns, WALL_NS - between_ns)

    found = _extrapolated(window(), pages, first_ns, first_ns + between_ns)

    assert found / WALL_NS == pytest.approx((pages - 1) / between_ns)


@pytest.mark.parametrize(("pages", "last_ns"), [(0, 1000), (1, 1000), (1, 1500), (7, 1000)])
def test_pages_without_a_time_between_them_are_counted(pages: int, last_ns: int) -> None:
    assert _extrapolated(window(), pages, 1000, last_ns) == pages
