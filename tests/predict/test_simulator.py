"""What the simulator takes from a run, and its page without a script."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.frame.frame import frame, with_cycles
from inflight.bench.predict.simulator import fragment, simulated, table
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.made_rows import MS, arm_row, crawl_row, edited
from tests.report.parsed_page import check
from tools.document.simulator import page

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
US = 1_000
HOSTILE = "</script><script>alert(1)</script>"


def made(costs: Mapping[str, Mapping[int, int]], **more: Any) -> list[Row]:
    """Make a run with the CPU time per page of each strategy by number in flight."""
    return [
        arm_row(name, in_flight=number, cpu_per_page_ns=cost_ns, pages_per_s=1e9 / cost_ns, number=n, **more)
        for name, own in costs.items()
        for number, cost_ns in own.items()
        for n in (1, 2)
    ]


def of(found: list[Row]) -> dict[str, Any]:
    data = simulated(with_cycles(frame(found), found))
    assert data is not None
    return data


TWO = made({"callbacks": {100: 10 * US}, "generators": {10: 16 * US, 100: 20 * US}})


def test_costs_are_those_without_latency_and_cpu_work_and_points_are_all() -> None:
    found = of([
        *TWO,
        *made({"callbacks": {100: 30 * US}}, latency="10ms"),
        *made({"callbacks": {100: 1100 * US}}, work="1ms"),
        *made({"callbacks": {100: US}}, invalid=True),
    ])  # fmt: skip

    assert {model["name"]: model["costs"] for model in found["models"]} == {
        "callbacks": [(100, *[pytest.approx(10 * US, rel=0.01)] * 3)],
        "generators": [
            (10, *[pytest.approx(16 * US, rel=0.01)] * 3),
            (100, *[pytest.approx(20 * US, rel=0.01)] * 3),
        ],
    }
    assert {model["stable"] for model in found["models"]} == {None}
    assert {tuple(point[:4]) for point in found["points"]} == {
        ("callbacks", 0, 0, 100), ("callbacks", 10 * MS, 0, 100), ("callbacks", 0, MS, 100),
        ("generators", 0, 0, 10), ("generators", 0, 0, 100),
    }  # fmt: skip
    assert found["points"][0][4] == pytest.approx(1e9 / (10 * US))


@pytest.mark.parametrize(
    "found",
    [
        made({"process_pool": {100: 40 * US}}, asked={"cores": 2}),
        [edited(row, measured={"cpu_share": 1.6}) for row in made({"gevent": {10: 40 * US}})],
        made({"sequential": {1: 30 * US}}),
        made({"sequential": {10: 30 * US}}, latency="10ms"),
        made({"trio_tasks": {100: 30 * US}}, invalid=True),
        made({"null_client": {100: 5 * US}}, stack="none"),
    ],
    ids=["two cores", "more than its core", "one in flight", "only with latency", "invalid", "no model"],
)
def test_a_strategy_without_a_curve_is_left_out_and_named(found: list[Row]) -> None:
    data = of([*TWO, *found])

    assert [model["name"] for model in data["models"]] == ["callbacks", "generators"]
    assert data["left_out"] == [found[0].strategy]


@pytest.mark.parametrize(
    "found",
    [
        [],
        made({"callbacks": {100: 10 * US}}),
        made({"callbacks": {100: 9 * US}, "generators": {100: 9 * US}}, latency="10ms"),
        [*made({"callbacks": {100: 10 * US}}), *made({"generators": {100: 20 * US}}, connection="per-fetch")],
        [crawl_row(name, in_flight=1000, pages=10) for name in ("callbacks", "generators")],
    ],
    ids=["no rows", "one model", "only with latency", "two settings", "crawls that never had so many in flight"],
)
def test_without_the_costs_of_two_models_there_is_no_simulator(found: list[Row]) -> None:
    assert simulated(with_cycles(frame(found), found)) is None
    assert fragment(with_cycles(frame(found), found)) is None


def test_models_are_equal_within_the_margin_of_all_comparisons() -> None:
    assert of(TWO)["margin"] == pytest.approx(1.02)


def test_the_table_has_the_costs() -> None:
    found = table(of(TWO))

    assert found.heads == ("model", "10 in flight", "100 in flight")
    assert found.cells == [("callbacks", "-", "10.0 µs"), ("generators", "16.0 µs", "20.0 µs")]


@pytest.mark.parametrize("name", ["quick", "map", "clients"])
def test_the_page_is_whole_and_keeps_to_the_policy(name: str) -> None:
    stored = rows.read(max(REFERENCE.glob(f"*-{name}")))
    shown = fragment(with_cycles(frame(stored), stored))
    assert shown is not None
    found = check(page(shown, "the source"))

    assert "NaN" not in shown.data
    assert all(
        math.isfinite(cost)
        for model in json.loads(shown.data)["models"]
        for _, *ends in model["costs"]
        for cost in ends
    )
    controls = {one.attributes["id"] for one in found.all("input") if one.attributes["type"] == "range"}
    assert controls == {one.attributes["for"] for one in found.all("output")}
    assert controls <= {one.attributes["for"] for one in found.all("label") if "for" in one.attributes}


def test_a_hostile_name_is_text() -> None:
    found = made({HOSTILE: {100: 10 * US}, "callbacks": {100: 20 * US}})
    shown = fragment(with_cycles(frame(found), found))
    assert shown is not None

    assert len(check(page(shown, HOSTILE)).all("script")) == 2
    assert HOSTILE in [model["name"] for model in json.loads(shown.data)["models"]]
