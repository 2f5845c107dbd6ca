"""Rows of open loops become curves: rounds together, quantiles with samples enough, the highest rate that was kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.core.records import changed
from bench.core.rows import Row
from bench.studies.open_loop import findings
from bench.studies.open_loop.read import Curve, backlog, curves
from tests.made_rows import MS, crawl_row
from tests.swarm.made_open_rows import RATES, TARGET, open_row, open_run


def measured(row: Row, **values: Any) -> Row:
    return changed(row, measured=row.measured | values)


def only(rows: list[Row]) -> Curve:
    (curve,) = curves(rows)
    return curve


def test_a_curve_has_every_rate_once_the_lowest_first() -> None:
    curve = only(open_run(tuple(reversed(RATES)), rounds=3))

    assert [point.rate_per_s for point in curve.points] == list(RATES)
    assert {len(point.rows) for point in curve.points} == {3}


def test_other_kinds_of_rows_are_left_out() -> None:
    assert curves([crawl_row()]) == []


def test_the_site_comes_before_targets_and_short_latencies_before_long_ones() -> None:
    slow = open_row(latency="50ms")
    slow = changed(slow, workload=slow.workload | {"mean_latency_ns": 50 * MS})

    found = curves([open_row(target=TARGET), slow, open_row()])

    assert [curve.place.latency for curve in found] == ["10ms", "50ms", None]
    assert findings.names(found) == ["10 ms added latency", "50 ms added latency", TARGET]


def test_places_that_look_alike_are_told_apart_by_users_or_by_number() -> None:
    other = open_row()
    other = changed(other, workload=other.workload | {"site": other.workload["site"] | {"body_bytes": 9}})

    assert findings.names(curves([open_row(), open_row(users=5)])) == [
        "10 ms added latency, 5 users",
        "10 ms added latency, 200 users",
    ]
    assert findings.names(curves([open_row(), other])) == [
        "10 ms added latency, place 1",
        "10 ms added latency, place 2",
    ]


def test_figures_are_medians_over_the_rounds_with_their_range() -> None:
    rows = [measured(open_row(number=n), completed_per_s=rate) for n, rate in ((1, 900.0), (2, 1000.0), (3, 980.0))]

    spread = only(rows).points[0].figure("completed_per_s")

    assert spread is not None
    assert (spread.low, spread.median, spread.high, spread.rounds) == (900, 980, 1000, 3)


def test_red_trials_count_only_where_there_is_no_valid_one_and_never_for_a_conclusion() -> None:
    red = measured(open_row(red=True, number=2), completed_per_s=1.0)
    mixed, alone = only([open_row(), red]), only([red])

    assert mixed.points[0].figure("completed_per_s") != alone.points[0].figure("completed_per_s")
    assert (mixed.points[0].valid, alone.points[0].valid) == (True, False)
    assert (alone.highest_kept, alone.lowest_lost) == (None, None)


@pytest.mark.parametrize("status", ["failed", "skipped", "timeout", "wrong"])
def test_a_rate_without_figures_is_still_there(status: Any) -> None:
    (point,) = only([open_row(status=status)]).points

    assert (point.shown, point.kept, point.waiting, point.why, point.failed) == ((), None, None, None, 0)
    assert point.time("corrected", "p50") is None


@pytest.mark.parametrize(("quantile", "least"), [("p50", 20), ("p90", 100), ("p99", 1000), ("p999", 10_000)])
def test_a_quantile_needs_ten_samples_beyond_it(quantile: Any, least: int) -> None:
    for count, there in ((least - 1, False), (least, True)):
        row = open_row()
        row = measured(row, corrected=row.measured["corrected"] | {"count": count})

        assert (only([row]).points[0].time("corrected", quantile) is not None) is there


def test_what_may_be_relied_upon_is_the_highest_rate_below_the_first_that_was_lost() -> None:
    curve = only(open_run())

    assert curve.highest_kept is not None
    assert curve.lowest_lost is not None
    assert (curve.highest_kept.rate_per_s, curve.lowest_lost.rate_per_s) == (2000, 4000)
    assert curve.kept_beyond == ()


def test_a_rate_that_one_round_lost_is_not_kept_and_the_reason_is_that_rounds() -> None:
    lost = measured(open_row(number=2), kept=False, why="cannot keep the rate: it stalled.")
    (point,) = only([open_row(), lost]).points

    assert (point.kept, point.lost_rounds, point.why) == (False, 1, "it stalled")
    assert findings.not_kept(point) == "cannot keep the rate: it stalled (in 1 of 2 rounds)"


def test_a_rate_kept_beyond_one_that_was_lost_is_named_and_not_relied_upon() -> None:
    rows = [open_row(500), open_row(1000, ceiling=900), open_row(2000)]
    curve = only(rows)

    assert curve.highest_kept is not None
    assert curve.highest_kept.rate_per_s == 500
    assert [point.rate_per_s for point in curve.kept_beyond] == [2000]
    assert findings.of_curve(curve).startswith("1,000 requests/s were not kept, though 2,000/s were (")


def test_the_sentence_names_the_ceiling_the_reason_and_what_waiting_hides() -> None:
    told = findings.of_curve(only(open_run(rounds=1)))

    assert told == (
        "From 4,000 requests/s on the rate cannot be kept (the client's core was full); "
        "at 2,000/s the corrected p99 is 13 ms where the uncorrected says 12 ms"
    )


def test_a_lost_rate_alone_compares_its_own_times() -> None:
    told = findings.of_curve(only(open_run((4000,), rounds=1)))

    assert told.startswith("Not even 4,000 requests/s could be kept (")
    assert "at 4,000/s the corrected p99 is 5.3 s where the uncorrected says 18 ms" in told


def test_equal_times_are_said_to_be_equal() -> None:
    row = open_row(100)
    row = measured(row, corrected=row.measured["uncorrected"])

    assert "corrected and uncorrected p99 are both " in findings.of_curve(only([row]))


def test_with_too_few_samples_for_a_p99_the_medians_are_compared() -> None:
    assert "at 10/s the corrected p50 is " in findings.of_curve(only([open_row(10, ceiling=8)]))


def test_several_places_have_one_sentence_and_more_than_three_are_counted() -> None:
    rows = [row for n in range(5) for row in open_run((1000,), target=f"http://127.0.0.1:800{n}/")]

    told = findings.of_curves(curves(rows))

    assert told.count("1,000/s against http://127.0.0.1:800") == 3
    assert told.endswith("; 2 more are in the table")


def test_the_backlog_is_told_of_the_first_rate_that_was_lost() -> None:
    assert (
        findings.of_backlog(only(open_run()))
        == "At 4,000 requests/s the backlog grows to 14,000; at 2,000/s it does not"
    )
    nothing_waits = measured(open_row(4000), backlog={"at_ns": [0, 1], "waiting": [0, 0]})
    assert "none waits to be sent" in findings.of_backlog(only([nothing_waits]))
    assert findings.of_backlog(only(open_run((10, 20)))) == "Up to 20 requests/s the backlog does not keep growing"


def test_a_row_that_knows_little_is_read_all_the_same() -> None:
    bare = changed(open_row(), measured={"offered_per_s": 1000.0})
    odd = measured(open_row(number=2), corrected="much", uncorrected=None, backlog=None, kept=None, why=7)
    (point,) = only([bare, odd]).points

    assert point.kept is None
    assert backlog(bare) == ([], [])
    assert point.time("corrected", "p50") is None


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_the_highest_kept_rate_is_below_every_lost_one(cases: list[tuple[int, bool, bool]]) -> None:
    rows = [
        measured(open_row(rate, number=n, red=red, seconds=1), kept=kept, why=None if kept else "x")
        for n, (rate, kept, red) in enumerate(cases)
    ]
    curve = only(rows)
    lost = {rate for rate, kept, red in cases if not kept and not red}
    kept = {rate for rate, kept, red in cases if kept and not red} - lost

    expected = max((rate for rate in kept if all(rate < other for other in lost)), default=None)
    assert (curve.highest_kept.rate_per_s if curve.highest_kept else None) == expected
    assert (curve.lowest_lost.rate_per_s if curve.lowest_lost else None) == min(lost, default=None)
    assert findings.of_curve(curve)
