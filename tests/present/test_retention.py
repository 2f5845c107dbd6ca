"""Retention: pages/s with the most in flight over pages/s at the best number in flight."""

from collections.abc import Mapping
from typing import Any

import pytest

from inflight.bench.core import retention
from inflight.bench.rows.files import Row
from tests.made_rows import arm_row

STEADY, FADING = {1: 4000, 16: 9000, 256: 10_000, 4096: 9000}, {1: 800, 16: 1000, 256: 100}


def swept(rates: Mapping[str, Mapping[int, float]], rounds: int = 3, **same: Any) -> list[Row]:
    """Make blocks over the number in flight: pages/s of each strategy, the reference first. Rounds differ threefold."""
    reference = next(iter(rates))
    return [
        arm_row(
            name,
            role="reference" if name == reference else "compared",
            in_flight=cap,
            number=number,
            pages_per_s=rate * 3**number,
            cpu_per_page_ns=round(1e9 / rate),
            times_ns=range(1, 40),
            **{"stack": "own"} | same,
        )
        for name, own in rates.items()
        for cap, rate in own.items()
        for number in range(1, rounds + 1)
    ]


def failed(name: str, cap: int, status: Any = "failed") -> list[Row]:
    return [arm_row(name, in_flight=cap, number=number, status=status, stack="own") for number in (1, 2, 3)]


def kept(rows: list[Row]) -> dict[str, retention.Retention]:
    return {one.strategy: one for one in retention.of_rows(rows)}


def test_retention_is_a_ratio_within_rounds_so_rounds_may_differ_as_wholes() -> None:
    found = kept(swept({"steady": STEADY}))["steady"]

    assert (found.best.in_flight, found.most.in_flight, found.failed, found.rounds) == (256, 4096, (), 3)
    assert found.share == pytest.approx(0.9)
    assert found.ends == pytest.approx((0.9, 0.9), rel=0.01)


def test_the_largest_cap_may_be_the_best() -> None:
    found = kept(swept({"rising": {1: 10, 16: 20, 256: 30}}))["rising"]

    assert (found.share, found.ends, found.rounds) == (1.0, None, 3)


def test_a_strategy_that_fails_with_more_in_flight_keeps_what_it_has_at_its_last_cap_and_is_last() -> None:
    found = kept([*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)])

    assert list(found) == ["steady", "fading"]
    assert (found["fading"].most.in_flight, found["fading"].failed) == (256, (4096,))
    assert found["fading"].share == pytest.approx(0.1)


def test_a_skipped_trial_is_no_failure() -> None:
    rows = [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096, "skipped")]

    assert kept(rows)["fading"].failed == ()


def test_invalid_trials_do_not_count() -> None:
    rows = [*swept({"steady": STEADY}), *swept({"fading": FADING}), *swept({"fading": {4096: 5000}}, invalid=True)]

    assert (kept(rows)["fading"].most.in_flight, kept(rows)["fading"].failed) == (256, (4096,))


def test_one_round_has_no_interval() -> None:
    found = kept(swept({"steady": STEADY}, rounds=1))["steady"]

    assert (found.ends, found.rounds) == (None, 1)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        swept({"steady": {1: 10, 16: 20}}),
        swept({"steady": STEADY}, latency="50ms"),
        swept({"steady": STEADY}, work="1ms"),
        swept({"one": {1: 5}, "two": {16: 6}, "three": {256: 7}}),
    ],
    ids=["no rows", "two caps", "an added latency", "CPU work", "a cap for each"],
)
def test_without_three_caps_that_cost_cpu_time_alone_there_is_none(rows: list[Row]) -> None:
    assert kept(rows) == {}
