"""The axis of changes: it has 0, a range and a few ticks, and no value far out stretches it."""

import math

from hypothesis import given
from hypothesis import strategies as st
from inflight.bench.present.change_axis import Range

from inflight.bench.present import change_axis


@given(st.lists(st.floats(-25, 25) | st.just(math.nan), max_size=40))
def test_an_axis_has_0_a_range_and_a_few_ticks(values: list[float]) -> None:
    shown = change_axis.range_of([values])

    assert shown.low < 0 < shown.high
    for direction in (1, -1):
        changes = change_axis.ticks(shown, direction)
        assert 2 <= len(changes) <= 2 * change_axis.MOST_TICKS
        assert all(shown.low - 1e-9 <= direction * math.log1p(change) <= shown.high + 1e-9 for change in changes)
        assert changes == sorted(set(changes))


@given(st.lists(st.floats(-0.1, 0.1), min_size=8, max_size=40), st.floats(1, 20))
def test_one_value_far_out_does_not_stretch_the_axis(values: list[float], far: float) -> None:
    assert change_axis.range_of([[*values, far]]).high < 0.9


def test_a_range_puts_what_is_beyond_it_on_its_edge() -> None:
    shown = Range(-1.0, 1.0)

    assert [shown.clip(value) for value in (-3, 0.5, 3)] == [-1, 0.5, 1]
    assert -1 < shown.edge(-3) < shown.edge(3) < 1
    assert not shown.has(math.nan)
