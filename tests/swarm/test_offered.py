"""Rows of open loops become curves, with quantiles that have enough samples and the highest rate kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.rows.files import Row
from inflight.bench.studies.open_loop.read import Curve, Point, curves, names
from inflight.bench.studies.open_loop.show import title
from tests.made_rows import MS, crawl_row, edited
from tests.swarm.made_open_rows import RATES, TARGET, open_row, open_run


def measured(row: Row, **values: Any) -> Row:
    return edited(row, measured=values)


def only(rows: list[Row]) -> Curve:
    (curve,) = curves(rows)
    return curve


def rate_of(point: Point | None) -> float | None:
    return None if point is None else point.rate_per_s


def test_a_curve_has_every_rate_once_the_lowest_first() -> None:
    curve = only([*open_run(tuple(reversed(RATES)), rounds=3), crawl_row()])

    assert [point.rate_per_s for point in curve.points] == list(RATES)
    assert {len(point.rows) for point in curve.points} == {3}


def test_the_site_comes_before_targets_and_short_latencies_before_long_ones() -> None:
    slow = open_row(latency="50ms")
    slow = edited(slow, workload={"mean_latency_ns": 50 * MS})

    found = curves([open_row(target=TARGET), slow, open_row()])

    assert names(found) == ["10 ms added latency", "50 ms added latency", TARGET]


def test_places_with_the_same_name_differ_by_users_or_by_number() -> None:
    other = open_row()
    other = edited(other, workload={"site": {"body_bytes": 9}})

    assert len(set(names(curves([open_row(), open_row(users=5), other])))) == 3
    assert names(curves([open_row(), open_row(users=5)]))[0].endswith(", 5 users")


def test_figures_are_medians_over_the_rounds_with_their_range() -> None:
    rows = [measured(open_row(number=n), completed_per_s=rate) for n, rate in ((1, 900.0), (2, 1000.0), (3, 980.0))]

    spread = only(rows).points[0].of(lambda row: row.measured.completed_per_s)

    assert spread is not None
    assert (spread.low, spread.median, spread.high, spread.rounds) == (900, 980, 1000, 3)


def test_invalid_trials_count_only_where_there_is_no_valid_one_and_never_for_a_conclusion() -> None:
    invalid = open_row(invalid=True, number=2)
    mixed, alone = only([open_row(), invalid]), only([invalid])

    assert (len(mixed.points[0].shown), mixed.points[0].valid) == (1, True)
    assert (alone.points[0].shown, alone.points[0].valid) == ((invalid,), False)
    assert (alone.highest_kept, alone.lowest_lost) == (None, None)


@pytest.mark.parametrize("status", ["failed", "skipped", "timeout", "wrong"])
def test_a_rate_without_figures_is_still_there(status: Any) -> None:
    (point,) = only([open_row(status=status)]).points

    assert (point.shown, point.kept, point.waiting, point.why, point.failed) == ((), None, None, None, 0)
    assert point.time("corrected", "p50") is None


@pytest.mark.parametrize(("quantile", "least"), [("p50", 20), ("p90", 100), ("p99", 1000), ("p999", 10_000)])
def test_a_quantile_needs_ten_samples_beyond_it(quantile: Any, least: int) -> None:
    for count, there in ((least - 1, False), (least, True)):
        (point,) = only([open_row(count, seconds=1, ceiling=20_000)]).points

        assert (point.time("corrected", quantile) is not None) is there


def test_a_rate_lost_in_one_round_is_not_kept_and_has_the_reason_of_that_round() -> None:
    lost = measured(open_row(number=2), kept=False, why="cannot keep the rate: it stalled.")
    (point,) = only([open_row(), lost]).points

    assert (point.kept, point.lost) == (False, (lost,))
    assert point.why == "cannot keep the rate: it stalled (in 1 of 2 rounds)"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            open_run(rounds=1),
            "2,000/s with 10 ms added latency; 1 request in 100 took more than 13 ms after it was due",
        ),
        (open_run((4000,), rounds=1), "none with 10 ms added latency"),
        ([open_row(10)], "; half of the requests took more than "),
        ([row for n in range(5) for row in open_run((1000,), target=f"http://127.0.0.1:800{n}/")], ". 2 more places"),
    ],
    ids=["kept", "none", "few samples", "places"],
)
def test_the_title_has_the_highest_rate_that_was_kept_and_its_times(rows: list[Row], told: str) -> None:
    assert told in title(curves(rows))


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_the_highest_kept_rate_is_below_every_lost_one(cases: list[tuple[int, bool, bool]]) -> None:
    rows = [
        measured(open_row(rate, number=n, invalid=invalid, seconds=1), kept=kept, why=None if kept else "x")
        for n, (rate, kept, invalid) in enumerate(cases, start=1)
    ]
    curve = only(rows)
    lost = {rate for rate, kept, invalid in cases if not kept and not invalid}
    kept = {rate for rate, kept, invalid in cases if kept and not invalid} - lost

    assert rate_of(curve.highest_kept) == max(
        (rate for rate in kept if all(rate < other for other in lost)), default=None
    )
    assert rate_of(curve.lowest_lost) == min(lost, default=None)
    assert title([curve])
