"""Retention: the share of its best rate that a client keeps at its largest cap."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.core.records import changed
from inflight.bench.core.rows import Row
from inflight.bench.studies.claims.rules.evidence import TIMES, Figure, Range, Unknown
from inflight.bench.studies.claims.rules.libraries import rates, retention
from tests.claims.made_claim_rows import arm_rows
from tests.made_rows import RED

CAPS = st.integers(2, 5000)


@st.composite
def measured(draw: st.DrawFn) -> Range:
    estimate = draw(st.floats(0.01, 10))
    return Range(estimate, estimate * draw(st.floats(0.5, 1)), estimate * draw(st.floats(1, 2)), TIMES)


def shares(found: Figure) -> tuple[float, float, float]:
    assert isinstance(found, Range), found
    return found.value, found.low, found.high


def times(estimate: float) -> Range:
    return Range(estimate, estimate * 0.9, estimate * 1.1, TIMES)


@given(st.dictionaries(CAPS, measured(), min_size=1, max_size=5))
def test_it_is_a_share_of_the_best_and_its_interval_includes_it(found: dict[int, Range]) -> None:
    share, low, high = shares(retention(found))

    assert 0 < share <= 1
    assert low <= share <= high
    assert share == pytest.approx(found[max(found)].value / max(1, *(one.value for one in found.values())))


@given(st.dictionaries(CAPS, measured(), min_size=1, max_size=5), CAPS, st.floats(0.01, 1))
def test_a_better_cap_only_lowers_it(found: dict[int, Range], cap: int, share: float) -> None:
    largest = max(found)
    more = found if cap >= largest else found | {cap: times(max(one.value for one in found.values()) / share)}

    assert shares(retention(more))[0] <= shares(retention(found))[0] * 1.000001


def test_a_client_that_is_fastest_at_the_largest_cap_keeps_everything() -> None:
    assert shares(retention({64: times(1.2), 256: times(1.5)})) == (1, 1, 1)


def test_the_reference_cap_may_be_the_best() -> None:
    assert shares(retention({64: times(0.5), 256: times(0.2)})) == pytest.approx((0.2, 0.18, 0.22))


def test_a_cap_that_was_not_measured_leaves_it_unknown() -> None:
    reason = Unknown("no valid row of one side")

    assert retention({64: times(0.5), 256: reason}) == reason
    assert isinstance(retention({}), Unknown)
    assert isinstance(retention({64: Range(2, 0, math.inf, TIMES), 256: times(0.5)}), Unknown)


def blocks(cap: int, *costs: float, reference: float = 1_000_000) -> list[Row]:
    """Make the blocks of a client with a cap against its reference cap."""
    cell = f"cap {cap}"
    return [
        *arm_rows("a_client", *[reference] * len(costs), role="reference", in_flight=16, cell=cell),
        *arm_rows("a_client", *costs, in_flight=cap, cell=cell),
    ]


def test_each_cap_is_compared_with_the_reference_of_its_own_blocks() -> None:
    rows = [*blocks(64, 2_000_000, 2_000_000), *blocks(256, 12_000_000, 12_000_000, reference=3_000_000)]

    found = {cap: shares(one)[0] for cap, one in rates(rows).items()}

    assert found == pytest.approx({64: 0.5, 256: 0.25})


def test_blocks_that_are_not_valid_on_one_side_do_not_count() -> None:
    rows = blocks(64, 2_000_000, 2_000_000, 8_000_000)
    red = [changed(row, checks=(RED,)) if (row.round, row.workload.in_flight) == (3, 64) else row for row in rows]

    assert shares(rates(red)[64])[0] == pytest.approx(0.5)
