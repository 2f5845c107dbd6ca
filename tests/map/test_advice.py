"""What is expected of a model follows from its CPU time per page, and only what the blocks tell apart is advised."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.core import cells as c
from inflight.bench.core.model import bound_per_s, knee
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.frame.statistics import Logs
from inflight.bench.rows.files import Row
from inflight.bench.studies.advice import show
from inflight.bench.studies.advice.read import (
    MOST_OFF,
    Advice,
    Facts,
    Wanted,
    advise,
    candidates,
    holds,
    nearest,
    verify,
    worst_off,
)
from inflight.bench.studies.advice.show import Basis
from tests.made_rows import MS, arm_row, crawl_row
from tests.map.made_maps import MODELS

LINES = {"callbacks": 240, "native_asyncio": 100, "thread_pool": 200}
SITE = {"links": 10, "body_bytes": 1200, "body_spread": 0.0}
HOSTILE = "x\x1b[31m\n" + "y" * 300


def costs(models: Mapping[str, float] = MODELS, noise: Sequence[float] = (0.01, -0.01, 0.0)) -> dict[str, Logs]:
    """Return the CPU time per page in three blocks, moved alike for all models, and a little for each by itself."""
    return {
        name: {block: math.log(cost) + moved + 0.1 * moved * place for block, moved in enumerate(noise)}
        for place, (name, cost) in enumerate(models.items())
    }


def slope(per_fetch: float) -> Slope:
    return Slope(per_fetch, per_fetch * 0.98, per_fetch * 1.02, 1e7, True, 10, 5)


@given(st.floats(0, 1e9), st.floats(1e3, 1e9), st.integers(1, 100_000))
def test_no_loop_is_faster_than_its_latency_or_its_core_allows(latency_ns: float, cpu_ns: float, cap: int) -> None:
    found = bound_per_s(cap, latency_ns, cpu_ns)

    assert found <= 1e9 / cpu_ns * (1 + 1e-9)
    assert found <= cap * 1e9 / (latency_ns + cpu_ns) * (1 + 1e-9)
    assert (found == pytest.approx(1e9 / cpu_ns)) == (cap >= knee(latency_ns, cpu_ns) * (1 - 1e-6))


@pytest.mark.parametrize(
    ("wanted", "limit", "share"),
    [
        (Wanted(50 * MS, 0, 10), "latency", 0.004),
        (Wanted(0, MS, 100), "CPU", 1),
        (Wanted(50 * MS, MS, 25), "latency", 0.5),
    ],
)
def test_what_is_expected_follows_from_the_cost_of_a_page(wanted: Wanted, limit: str, share: float) -> None:
    found = advise(costs(), wanted, Facts(lines=LINES))

    first = found.expected[0]
    cost = 20_000 + wanted.work_ns
    assert first.strategy == "callbacks"
    assert first.per_s.estimate == pytest.approx(bound_per_s(wanted.in_flight, wanted.latency_ns, cost), rel=0.001)
    assert first.per_s.low < first.per_s.estimate < first.per_s.high
    assert first.cpu.estimate == pytest.approx(cost, rel=0.001)
    assert first.limit == limit
    assert first.knee == pytest.approx((wanted.latency_ns + cost) / cost, rel=0.001)
    assert first.core_share == pytest.approx(share, abs=0.01)


def test_the_fastest_is_advised_if_it_differs_significantly_from_all_others() -> None:
    found = advise(costs(), Wanted(0, 0, 100), Facts(lines=LINES))

    assert (found.advised, found.alike) == ("callbacks", ("callbacks",))
    assert set(found.answers.values()) == {"differs"}


def test_a_change_of_a_whole_block_does_not_matter() -> None:
    found = advise(costs(noise=(0.5, -0.3, 0.1)), Wanted(0, 0, 100), Facts(lines=LINES))

    assert found.advised == "callbacks"
    assert found.expected[0].per_s.high > found.expected[1].per_s.low


def test_nothing_is_advised_without_a_significant_difference() -> None:
    close: dict[str, Logs] = {
        "callbacks": {1: 10.0, 2: 10.2, 3: 9.9},
        "generators": {1: 10.1, 2: 10.1, 3: 10.1},
        "thread_pool": dict.fromkeys((1, 2, 3), 12.0),
    }

    found = advise(close, Wanted(0, 0, 100), Facts(lines=LINES))

    assert (found.advised, found.alike) == (None, ("callbacks", "generators"))
    assert found.answers == {"generators": "unknown", "thread_pool": "differs"}


def test_one_block_gives_no_advice() -> None:
    assert advise(costs(noise=(0.0,)), Wanted(0, 0, 100), Facts()).advised is None


@pytest.mark.parametrize("wanted", [Wanted(0, 0, 1), Wanted(0.3 * MS, 0, 5), Wanted(0, 0.1 * MS, 1)])
def test_nothing_is_advised_outside_the_range_of_the_formula(wanted: Wanted) -> None:
    assert advise(costs(), wanted, Facts(lines=LINES)).advised is None


def test_of_equally_fast_ones_the_one_with_clearly_less_memory_is_taken() -> None:
    memory = {"callbacks": slope(1_500), "native_asyncio": slope(25_000), "thread_pool": slope(60_000)}

    found = advise(costs(), Wanted(200 * MS, 0, 1000), Facts(memory=memory, lines=LINES))

    assert found.advised == "callbacks"
    assert set(found.alike) == set(MODELS)
    sizes = {one.strategy: one.memory_bytes for one in found.expected}
    assert sizes["thread_pool"] == 60_000_000


def test_of_equally_fast_ones_the_shortest_program_is_taken_where_memory_is_no_reason() -> None:
    little: dict[str, Slope | NoSlope] = {name: slope(2_000 * (n + 1)) for n, name in enumerate(MODELS)}
    some: dict[str, Slope | NoSlope] = little | {"callbacks": NoSlope("invalid")}

    for memory in ({}, little, some):
        assert advise(costs(), Wanted(200 * MS, 0, 50), Facts(memory=memory, lines=LINES)).advised == "native_asyncio"


def test_models_below_the_wanted_number_in_flight_are_left_out_and_named() -> None:
    found = advise(costs(), Wanted(200 * MS, 0, 1000), Facts({"thread_pool": "no more than 900 threads"}))

    assert {one.strategy for one in found.expected} == {"callbacks", "native_asyncio"}
    assert "thread_pool: left out, no more than 900 threads." in show.section(found, Basis("run", 1000)).notes
    assert advise({}, Wanted(0, 0, 1), Facts()).advised is None


def arms(in_flight: int, blocks: int = 3, **values: object) -> list[Row]:
    return [arm_row(in_flight=in_flight, number=number, **values) for number in range(1, blocks + 1)]  # type: ignore[arg-type]


def test_the_cost_of_a_page_is_from_the_nearest_number_in_flight() -> None:
    rows = [*arms(10, cpu_per_page_ns=30_000), *arms(100, cpu_per_page_ns=20_000)]

    near = {
        asked: found[0] if (found := nearest(rows, asked, SITE)) else None for asked in (4, 5, 20, 40, 60, 200, 201)
    }

    assert near == {4: None, 5: 10, 20: 10, 40: None, 60: 100, 200: 100, 201: None}
    found = nearest(rows, 100, SITE)
    assert found is not None
    assert [math.exp(log) for log in found[1]["callbacks"].values()] == [pytest.approx(20_000)] * 3


@pytest.mark.parametrize(
    "rows",
    [
        arms(100, blocks=1),
        arms(100, latency="10ms"),
        arms(100, work="1ms"),
        arms(100, invalid=True),
        arms(100, strategy="callbacks again", role="placebo"),
        arms(100, asked={"revision": "v1"}),
        arms(100, strategy="A", asked={"strategy": "callbacks"}),
        arms(100, site={"links": 3}),
        [crawl_row(number=number) for number in (1, 2, 3)],
    ],
)
def test_other_rows_have_no_cost(rows: list[Row]) -> None:
    assert nearest(rows, 100, SITE) is None


def measured(found: Advice, factors: Sequence[float], invalid: bool = False) -> list[Row]:
    """Return the rows of a run of that very workload, so many times as fast as expected."""
    return [
        arm_row(
            one.strategy, latency="50ms", in_flight=10, number=number, invalid=invalid,
            pages_per_s=one.per_s.estimate * factor * (1 + number / 1000),
        )
        for one, factor in zip(candidates(found), factors, strict=True)
        for number in (1, 2, 3)
    ]  # fmt: skip


def test_a_verification_states_the_error_of_the_advice() -> None:
    found = advise(costs(), Wanted(50 * MS, 0, 10), Facts(lines=LINES))
    chosen = candidates(found)

    near, far, beaten = (
        verify(chosen, c.cells(measured(found, factors))) for factors in ((0.98, 0.97), (0.8, 0.8), (0.95, 1.05))
    )

    assert chosen[0].strategy == found.advised
    assert worst_off(near) == pytest.approx(0.028, abs=0.001)
    assert (worst_off(far) or 0) > MOST_OFF
    assert [holds(one) for one in (near, far, beaten)] == [True, False, False]
    assert [one.beats for one in beaten] == ["same", "differs"]
    for one, sentence in ((near, "The expected figures hold"), (far, "wrong by"), (beaten, "The choice was wrong")):
        assert sentence in show.verified_text(one, "folder")


def test_a_verification_without_a_valid_block_verifies_nothing() -> None:
    found = advise(costs(), Wanted(50 * MS, 0, 10), Facts(lines=LINES))

    verified = verify(candidates(found), c.cells(measured(found, (1, 1), invalid=True)))

    assert (worst_off(verified), worst_off([]), holds(verified), holds([])) == (None, None, False, False)
    assert "could not be verified" in show.verified_text(verified, "folder")


def shown(found: Advice, basis: Basis) -> str:
    return " ".join(show.text(found, basis).split())


def test_the_text_has_the_advice_and_its_basis() -> None:
    advised = shown(advise(costs(), Wanted(80 * MS, 2 * MS, 500), Facts(lines=LINES)), Basis("results/a-run", 1000))
    other = Basis("results/a-run", 1, ("cpu Other 1, here Imaginary 9000",), "results/a-memory")
    open_ = shown(advise(costs(), Wanted(0, 0, 1), Facts()), other)

    assert advised.startswith("Use native_asyncio for 80 ms latency, 2 ms CPU work per page, 500 in flight")
    assert "1,000 in flight" in advised
    assert "Memory: not measured on this machine" in advised
    assert open_.startswith("No confident recommendation for no latency, no CPU work, 1 in flight")
    assert "another machine: cpu Other 1, here Imaginary 9000." in open_
    assert "a-memory" in open_


def test_hostile_names_are_made_harmless() -> None:
    text = show.text(advise(costs({HOSTILE: 20_000, "b": 30_000}), Wanted(0, 0, 100), Facts()), Basis(HOSTILE, 100))

    assert "\x1b" not in text
    assert max(map(len, text.splitlines()[:-2])) <= show.WIDTH  # the last two are paths, for copying
