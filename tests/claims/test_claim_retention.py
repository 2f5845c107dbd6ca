"""Retention: the share of its best rate that a client keeps at its largest cap."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.core.records import changed
from inflight.bench.core.records.crawls import Crawl
from inflight.bench.studies.claims.rules.evidence import TIMES, Figure, Range, Unknown, of_type
from inflight.bench.studies.claims.rules.libraries import rates, retention
from tests.claims.made_claim_rows import timed_rows
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


def test_the_smallest_cap_may_be_the_best() -> None:
    assert shares(retention({64: times(0.5), 256: times(0.2)})) == pytest.approx((0.2, 0.18, 0.22))


def test_a_cap_that_was_not_measured_leaves_it_unknown() -> None:
    reason = Unknown("no valid row of one side")

    assert retention({64: times(0.5), 256: reason}) == reason
    assert isinstance(retention({}), Unknown)
    assert isinstance(retention({64: Range(2, 0, math.inf, TIMES), 256: times(0.5)}), Unknown)


def crawls(**caps: tuple[float, ...]) -> list[Crawl]:
    """Make the crawls of a client: pages per second of each round, by cap (``at_16``)."""
    rows = [row for name, own in caps.items() for row in timed_rows("a_client", *own, in_flight=int(name[3:]))]
    return of_type(rows, Crawl)


def test_each_cap_is_compared_with_the_smallest_in_the_same_rounds() -> None:
    rows = crawls(at_200=(100, 300), at_16=(1000, 3000), at_64=(500, 1500))

    found = {cap: shares(one)[0] for cap, one in rates(rows).items()}

    assert found == pytest.approx({64: 0.5, 200: 0.1})


def test_a_crawl_that_is_not_valid_does_not_count() -> None:
    rows = crawls(at_16=(1000, 1000, 1000), at_64=(500, 500, 10))
    red = [changed(row, checks=(RED,)) if (row.round, row.workload.in_flight) == (3, 64) else row for row in rows]

    assert shares(rates(of_type(red, Crawl))[64])[0] == pytest.approx(0.5)
