"""What the simulator takes from a run, and the formula that follows from it."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.studies.simulator.read import MOST_IN_FLIGHT, Load, Model, Simulated, simulated, tied, ties_up_to
from tests.made_rows import MS, arm_row, crawl_row, edited

US = 1_000
CHEAP, DEAR = Model("cheap", ((100, 10 * US),)), Model("dear", ((100, 50 * US),))
BENT = Model("bent", ((1, 40 * US), (10, 10 * US), (1000, 90 * US)))


def made(costs: Mapping[str, Mapping[int, int]], **more: Any) -> list[Row]:
    """Make a run with the CPU time per page of each strategy by number in flight."""
    return [
        arm_row(name, in_flight=number, cpu_per_page_ns=cost_ns, pages_per_s=1e9 / cost_ns, number=n, **more)
        for name, own in costs.items()
        for number, cost_ns in own.items()
        for n in (1, 2)
    ]


def of(rows: list[Row]) -> Simulated:
    found = simulated(rows)
    assert found is not None
    return found


TWO = made({"callbacks": {100: 10 * US}, "generators": {100: 20 * US}})


def test_before_the_knee_pages_per_second_are_in_flight_by_the_time_of_a_fetch() -> None:
    assert CHEAP.per_s(100, Load(10 * MS)) == pytest.approx(100 / (10 * MS + 10 * US) * 1e9)


def test_beyond_the_knee_pages_per_second_are_what_the_core_can_do() -> None:
    assert CHEAP.per_s(5000, Load(10 * MS, 90 * US)) == pytest.approx(1e9 / (100 * US))


def test_at_the_knee_both_bounds_are_equal() -> None:
    load = Load(10 * MS, 90 * US)
    knee = CHEAP.knee(load)

    assert knee == pytest.approx((10 * MS + 100 * US) / (100 * US))
    assert knee / (10 * MS + 100 * US) == pytest.approx(1 / (100 * US))


@pytest.mark.parametrize(("in_flight", "cost_us"), [(1, 40), (10, 10), (1000, 90), (5000, 90), (100, 30)])
def test_a_cost_between_two_measured_numbers_is_on_a_straight_line_in_logarithms(
    in_flight: int, cost_us: float
) -> None:
    assert BENT.cpu_ns(in_flight) == pytest.approx(cost_us * US)


def test_below_the_least_measured_number_the_cost_is_constant() -> None:
    assert CHEAP.cpu_ns(1) == 10 * US


@pytest.mark.parametrize("latency_ns", [0, MS // 10, MS, 10 * MS, 100 * MS])
def test_the_knee_of_costs_that_differ_is_the_least_number_that_fills_the_core(latency_ns: int) -> None:
    load = Load(latency_ns)
    knee = BENT.knee(load)

    assert BENT.per_s(knee, load) * BENT.cpu_ns(knee) == pytest.approx(1e9)
    assert knee == pytest.approx(1) or BENT.per_s(knee * 0.99, load) * BENT.cpu_ns(knee * 0.99) < 1e9


def test_models_tie_up_to_the_number_at_which_one_is_more_than_five_percent_slower() -> None:
    load = Load(10 * MS)
    last = ties_up_to([CHEAP, DEAR], load)

    assert tied([CHEAP, DEAR], load, last)
    assert not tied([CHEAP, DEAR], load, last + 1)
    assert last >= math.floor(DEAR.knee(load))


def test_models_with_the_same_cost_tie_everywhere_and_without_latency_others_nowhere() -> None:
    assert ties_up_to([CHEAP, CHEAP], Load()) == MOST_IN_FLIGHT
    assert ties_up_to([CHEAP, DEAR], Load()) == 0


def test_costs_are_those_without_latency_and_cpu_work() -> None:
    rows = [
        *TWO,
        *made({"callbacks": {100: 30 * US}}, latency="10ms"),
        *made({"callbacks": {100: 1100 * US}}, work="1ms"),
    ]
    found = of(rows)

    assert [(model.strategy, model.costs[0][0]) for model in found.models] == [("callbacks", 100), ("generators", 100)]
    assert found.models[0].costs[0][1] == pytest.approx(10 * US)
    assert found.loads == [Load(), Load(0, MS), Load(10 * MS)]


def test_every_measured_cell_is_held_against_its_prediction() -> None:
    load_rows = made({"generators": {100: 25 * US}}, latency="10ms")
    slow = [edited(row, measured={"pages_per_s": 4000.0}) for row in load_rows]
    (one,) = of([*TWO, *slow]).checked

    assert one.predicted_per_s == pytest.approx(100 / (10 * MS + 20 * US) * 1e9)
    assert math.exp(one.off) == pytest.approx(one.predicted_per_s / 4000)
    assert one.cpu_ns == pytest.approx(20 * US)
    assert one.point.cpu_ns == pytest.approx(25 * US)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (made({"process_pool": {100: 40 * US}}, asked={"cores": 2}), "more than one core"),
        ([edited(row, measured={"cpu_share": 1.6}) for row in made({"gevent": {10: 40 * US}})], "more than one core"),
        (made({"sequential": {1: 30 * US}}), "one fetch in flight only"),
        (made({"sequential": {1: 30 * US}}, latency="10ms"), "not measured at no added latency"),
        (made({"trio_tasks": {100: 30 * US}}, invalid=True), "no valid trial"),
        (made({"null_client": {100: 5 * US}}, stack="none"), "not a model"),
        (
            made({"callbacks (python=oldest)": {100: 9 * US}}, asked={"strategy": "callbacks", "python": "oldest"}),
            "variant",
        ),
    ],
)
def test_a_strategy_without_a_curve_is_left_out_with_the_reason(rows: list[Row], reason: str) -> None:
    found = of([*TWO, *rows])

    assert [model.strategy for model in found.models] == ["callbacks", "generators"]
    assert reason in found.left_out[rows[0].strategy]


def test_no_costs_of_two_models_are_no_simulator() -> None:
    assert simulated([]) is None
    assert simulated(made({"callbacks": {100: 10 * US}})) is None
    assert simulated(made({"callbacks": {100: 9 * US}, "generators": {100: 9 * US}}, latency="10ms")) is None


def test_costs_of_two_settings_are_never_mixed() -> None:
    rows = [*made({"callbacks": {100: 10 * US}}), *made({"generators": {100: 20 * US}}, connection="per-fetch")]

    assert simulated(rows) is None


def test_a_crawl_that_never_reached_its_number_in_flight_tells_no_cost() -> None:
    short = [crawl_row(name, in_flight=1000, pages=10) for name in ("callbacks", "generators")]

    assert simulated(short) is None
