"""The simulator as sentences, tables and markup, which say everything without a script too."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from inflight.bench.core.units import change
from inflight.bench.rows import files as rows
from inflight.bench.studies.simulator import show
from inflight.bench.studies.simulator.page import data, fragment, page, start_load
from inflight.bench.studies.simulator.questions import questions
from inflight.bench.studies.simulator.read import USUAL, USUAL_IN_FLIGHT, Load, Model, Point, Simulated, simulated
from tests.made_rows import MS, edited
from tests.report.parsed_page import check
from tests.simulator.test_simulator_read import TWO, US, made

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
MODELS = [Model("callbacks", ((100, 10 * US),)), Model("aiohttp_client", ((100, 100 * US),))]
HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def quick() -> Simulated:
    found = simulated(rows.read(max(REFERENCE.glob("*-quick"))))
    assert found is not None
    return found


def test_the_result_is_said_in_three_sentences() -> None:
    assert show.sentences(MODELS, Load(80 * MS, 100 * US), 100) == [
        (
            "With 80 ms of latency and 100 µs of CPU work per page, the 2 models shown tie (within 5 %) "
            "up to 421 in flight."
        ),
        "With 100 in flight, they tie: 1,250 pages/s.",
        (
            "callbacks reaches its limit of 9,090 pages/s at 729 in flight, "
            "and aiohttp_client reaches 5,000 pages/s at 401."
        ),
    ]


def test_without_latency_there_is_no_knee_to_name() -> None:
    assert show.sentences(MODELS, Load(), 1000) == [
        "With no added latency and no CPU work per page, the models shown differ even with 1 fetch in flight.",
        (
            "With 1,000 in flight, callbacks is the fastest (100,000 pages/s) and aiohttp_client the slowest (10,000 "
            "pages/s)."
        ),
        "By the formula, one fetch in flight fills the core, because there is no latency to wait for.",
    ]


def test_models_that_tie_with_one_in_flight_only_are_not_said_to_have_fetches() -> None:
    one_only = replace(MODELS[1], costs=((1, 10 * US), (2, 100 * US)))

    assert show.sentences([MODELS[0], one_only], Load(), 1)[0] == (
        "With no added latency and no CPU work per page, the 2 models shown tie (within 5 %) with 1 in flight, "
        "and differ with 2."
    )


def test_one_model_alone_ties_with_nobody() -> None:
    assert show.sentences(MODELS[:1], Load(10 * MS), 1) == [
        "With 1 in flight, callbacks gets 99.9 pages/s.",
        "callbacks reaches its limit of 100,000 pages/s at 1,010 in flight.",
    ]


def test_the_errors_are_those_of_the_cells_with_latency_or_work(quick: Simulated) -> None:
    others = [point for point in quick.points if point.load != Load()]
    worst = max(quick.checked, key=lambda one: abs(one.off))
    told, table = " ".join(show.checked(quick)), show.errors(quick)

    assert others
    assert table is not None
    assert len(table.lines) == len(others)
    assert f"the largest {change(worst.off)};" in told
    assert worst.point.strategy in told
    assert all(name in told for name in quick.left_out)


def test_a_run_without_latency_and_work_says_that_nothing_is_checked() -> None:
    found = simulated(TWO)
    assert found is not None

    assert show.errors(found) is None
    assert "no prediction with these is checked" in " ".join(show.checked(found))


def test_the_latency_of_the_first_question_is_where_the_knee_of_the_dearest_model_is(quick: Simulated) -> None:
    dear = quick.models[-1]
    latency_ns = (USUAL_IN_FLIGHT - 1) * dear.cpu_ns(USUAL_IN_FLIGHT)
    first = questions(quick).details[0]

    assert dear.knee(Load(latency_ns)) == pytest.approx(USUAL_IN_FLIGHT)
    assert dear.strategy in first.sentences[0]
    assert not first.is_open


def test_the_last_question_doubles_a_number_beyond_the_knee(quick: Simulated) -> None:
    cheap = quick.models[0]
    last = questions(quick).details[-1]
    number = 10 ** math.ceil(math.log10(cheap.knee(USUAL)))

    assert f"{number:,} in flight" in last.summary
    assert cheap.per_s(number, USUAL) == pytest.approx(cheap.per_s(2 * number, USUAL))


def test_the_page_is_whole_and_keeps_to_the_policy(quick: Simulated) -> None:
    shown = fragment(rows.read(max(REFERENCE.glob("*-quick"))))
    assert shown is not None
    found = check(page(shown, "the source"))

    assert all(sentence in found.text for sentence in show.sentences(quick.models, start_load(quick), 100))
    assert len([one for one in found.all("details") if "open" not in one.attributes]) == len(found.all("details")) >= 4
    controls = {one.attributes["id"] for one in found.all("input") if one.attributes["type"] == "range"}
    assert controls == {one.attributes["for"] for one in found.all("output")}
    assert controls <= {one.attributes["for"] for one in found.all("label") if "for" in one.attributes}


def test_the_sliders_stop_at_every_measured_setting(quick: Simulated) -> None:
    values = data(quick, start_load(quick))

    for point in quick.points:
        assert point.load.latency_ns in values["latency"]["stops"]
        assert point.load.work_ns in values["work"]["stops"]
        assert point.in_flight in values["number"]["stops"]
    assert all(
        stops == sorted(set(stops)) for name in ("latency", "work", "number") if (stops := values[name]["stops"])
    )


def test_a_hostile_name_is_text() -> None:
    shown = fragment(made({HOSTILE: {100: 10 * US}, "callbacks": {100: 20 * US}}))
    assert shown is not None

    found = check(page(shown, HOSTILE))

    assert len(found.all("script")) == 2
    assert HOSTILE in [model["name"] for model in json.loads(shown.data)["models"]]


def test_a_run_without_costs_has_no_simulator() -> None:
    assert fragment([]) is None


def test_predictions_that_miss_the_costs_are_warned_of_first() -> None:
    rows_ = made({"callbacks": {100: 10 * US}, "generators": {100: 20 * US}})
    slow = [edited(row, measured={"pages_per_s": row.measured.pages_per_s / 3.1}) for row in rows_]
    shown, found = fragment(slow), simulated(slow)
    assert shown is not None
    assert found is not None

    told = show.warning(found)

    assert told == (
        "The predictions differ from this run's measurements by up to 210 % at no added latency, with more than one in "
        "flight. Do not rely on them."
    )
    text = check(page(shown, "the source")).text
    assert text.count(told) == 2  # with and without the script
    assert text.index(told) < text.index("With 10 ms of latency")


def test_a_median_error_is_warned_of_without_a_cause() -> None:
    rows_ = made({"callbacks": {100: 10 * US}, "generators": {100: 20 * US}})
    found = simulated(rows_)
    assert found is not None
    load = Load(10 * MS)
    late = tuple(Point(one.strategy, load, 100, one.per_s(100, load) / 1.5, None) for one in found.models)

    told = show.warning(replace(found, points=(*found.points, *late)))

    assert told == "The predictions differ from this run's measurements by 50 % (median). Do not rely on them."


def test_predictions_that_fit_are_not_warned_of(quick: Simulated) -> None:
    assert not show.warning(quick)


def test_one_in_flight_at_no_latency_is_not_a_disturbance() -> None:
    point = Point("callbacks", Load(), 1, 1e9 / (40 * US), None)

    assert not show.warning(Simulated(tuple(MODELS), (point,), {}))
