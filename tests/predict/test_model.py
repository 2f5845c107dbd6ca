"""X(N): what is expected of a model follows from its CPU time per page, and is what was measured beyond the knee."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.frame.contrast import records, summary
from inflight.bench.frame.frame import frame, with_cycles
from inflight.bench.frame.statistics import CLEARLY_ABOVE, knee
from inflight.bench.predict.model import TURN_NS, Cost, Load, Model, in_turns, models
from inflight.bench.rows import files
from inflight.strategies.process_pool import TURN_S
from tests.made_rows import arm_row

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
US = 1_000


def model(*costs: tuple[int, float]) -> Model:
    return Model("callbacks", tuple(Cost(number, ns, 0.9 * ns, 1.1 * ns, is_unstable=False) for number, ns in costs))


@given(
    st.lists(st.floats(1e3, 1e8), min_size=1, max_size=4),
    st.floats(0, 1e9),
    st.floats(0, 1e8),
    st.integers(1, 100_000),
    st.integers(2, 64),
)
def test_no_loop_is_faster_than_its_latency_or_its_cores_allow(
    costs: list[float], latency_ns: float, work_ns: float, cap: int, cores: int
) -> None:
    of = model(*((10**place, ns) for place, ns in enumerate(costs)))
    load = Load(latency_ns, work_ns)
    page_ns = of.page_ns(cap, load)

    for (rate, low, high), used in ((of.per_s(cap, load), 1), (of.per_s(cap, load, cores), min(cores, cap))):
        assert low <= rate <= high * (1 + 1e-9)
        assert rate <= used * 1e9 / page_ns * (1 + 1e-9)
        assert rate <= cap * 1e9 / (latency_ns + page_ns) * (1 + 1e-9)
    assert min(costs) * 0.999 <= page_ns - work_ns <= max(costs) * 1.001 + 1


def test_between_measured_numbers_the_cost_is_a_straight_line_in_logarithms() -> None:
    bent = model((1, 40 * US), (10, 10 * US), (1000, 90 * US))

    assert [bent.cost(number).ns / US for number in (1, 10, 100, 1000, 5000)] == pytest.approx([40, 10, 30, 90, 90])


@given(st.floats(1e5, 1e9), st.floats(0, 1e7))
def test_the_knee_is_the_least_number_that_fills_the_core(latency_ns: float, work_ns: float) -> None:
    bent, load = model((1, 40 * US), (10, 10 * US), (1000, 90 * US)), Load(latency_ns, work_ns)
    knee = bent.knee(load)

    assert bent.per_s(knee, load)[0] == pytest.approx(1e9 / bent.page_ns(knee, load), rel=1e-6)
    assert bent.per_s(0.9 * knee, load)[0] < 1e9 / bent.page_ns(0.9 * knee, load) or knee == pytest.approx(1)


def test_an_arm_whose_blocks_jump_has_a_range_above_the_last_stable_number() -> None:
    costs = {
        100: {"callbacks": [10] * 3, "thread_pool": [20] * 3},
        1000: {"callbacks": [10] * 3, "thread_pool": [20, 90, 400]},
    }
    rows = [
        arm_row(name, in_flight=number, cpu_per_page_ns=cost * US, pages_per_s=1e6 / cost, number=n)
        for number, arms in costs.items()
        for name, many in arms.items()
        for n, cost in enumerate(many, 1)
    ]  # fmt: skip

    callbacks, threads = models(with_cycles(frame(rows), rows))

    assert (callbacks.stable_up_to, threads.stable_up_to) == (None, 100)
    assert threads.per_s(1000, Load(0, 0))[1:] == pytest.approx((2500, 50_000))
    assert [threads.cost(number).is_unstable for number in (50, 100, 101, 9999)] == [False, False, True, True]


def test_predictions_clearly_beyond_the_knee_are_within_25_percent_of_the_stored_map() -> None:
    stored = files.read(max(REFERENCE.glob("*-map")))
    lines = with_cycles(frame(stored), stored).query(
        "kind == 'arm' and role != 'placebo' and comparison == '' and valid"
    )
    known = {one.name: one for one in models(lines)}
    rates = lines[(lines["figure"] == "pages_per_s") & ~lines["is_unstable"]]
    off = {}
    for mean in records(summary(rates, ["arm", "latency_ns", "cpu_ns", "in_flight"])):
        load = Load(mean.latency_ns, mean.cpu_ns)
        needed = knee(load.latency_ns, known[mean.arm].page_ns(mean.in_flight, load))
        if any(load) and mean.in_flight >= CLEARLY_ABOVE * needed:
            off[mean[:4]] = abs(math.log(known[mean.arm].per_s(mean.in_flight, load)[0] / mean.estimate))

    assert len(off) > 25
    assert max(off.values()) < math.log(1.25)


def test_a_page_of_a_pool_costs_as_much_as_with_as_many_in_flight_as_a_turn_has() -> None:
    pool = model((2, 200 * US), (200, 20 * US))

    costs = [in_turns(pool, 100, Load(0, work_ns)).page_ns(100, Load(0, 0)) for work_ns in (5e6, 1e6, 1e5, 1e3)]

    assert TURN_NS == TURN_S * 1e9
    assert costs == pytest.approx([200 * US, 200 * US, pool.cost(20).ns, pool.cost(100).ns])
    assert in_turns(pool, 100, Load(0, 0)) is pool
