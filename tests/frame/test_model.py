"""The closed loop's model: knee, bounds and sensitivity."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.frame import model
from inflight.bench.frame.model import Sensitivity
from inflight.bench.rows.files import Row
from tests.made_rows import crawl_row

MS = 1_000_000


def row(
    in_flight: int, *, turn_ns: float, cpu_ns: int, number: int = 1, noise: float = 1.0, invalid: bool = False
) -> Row:
    """Make the row of a loop at 50 ms whose fetches take ``turn_ns`` in all."""
    rate = min(in_flight / turn_ns * 1e9, 1e9 / cpu_ns) * noise
    return crawl_row(
        latency="50ms",
        in_flight=in_flight,
        number=number,
        pages_per_s=rate,
        cpu_per_page_ns=cpu_ns,
        pages=max(10, 5 * in_flight),
        invalid=invalid,
    )


def test_the_knee_of_a_loop_with_nothing_but_latency_and_cpu() -> None:
    assert model.knee(50 * MS, 100_000) == 501
    assert model.knee(0, 100_000) == 1


def sensitivity(**values: float) -> Sensitivity:
    usual = {"cpu_ns": 150_000.0, "added_ns": 50.0 * MS, "in_flight": 1.0, "pages": 100.0, "core_share": 0.003}
    given = usual | values
    given.setdefault("per_s", given["in_flight"] / (given["added_ns"] + given["cpu_ns"]) * 1e9)
    return model.sensitivity_of(**given)


def test_latency_hides_a_slowdown() -> None:
    found = sensitivity()

    assert found.low == found.high == pytest.approx(150 / 50_150), "c / (L + c): 5 % slower shows as 0.015 %"


def test_many_in_flight_add_the_lag_of_the_start() -> None:
    found = sensitivity(in_flight=100, pages=1000, core_share=0.3)

    assert found.low == pytest.approx(150 / 50_150)
    makespan_ns = 1000 / (100 / 50.15)
    assert found.high == pytest.approx(found.low + 99 * 0.15 / makespan_ns)


def test_a_longer_crawl_comes_nearer_to_the_steady_state() -> None:
    short, long = (sensitivity(in_flight=100, pages=pages, core_share=0.3) for pages in (500, 50_000))

    assert long.low == pytest.approx(short.low)
    assert long.high - long.low == pytest.approx((short.high - short.low) / 100)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"core_share": 0.95, "in_flight": 10.0}, (1, 1)),
        ({"core_share": 0.71, "in_flight": 503.0, "per_s": 6000.0}, (1, 1)),
        ({"core_share": 0.94, "in_flight": 300.0, "per_s": 5900.0}, (150_000 * 5900 / 300 / 1e9, 1)),
        ({"core_share": 0.60, "in_flight": 900.0, "per_s": 4000.0, "pages": 9000.0}, (150_000 * 4000 / 900 / 1e9, 1)),
        ({"core_share": 0.60, "added_ns": 0.0, "per_s": 4000.0}, (0.6, 0.6)),
    ],
    ids=["a full core", "clearly above the knee", "nearly full", "above the knee but waiting", "one in flight"],
)
def test_the_bottleneck_of_throughput_decides(values: dict[str, float], expected: tuple[float, float]) -> None:
    found = sensitivity(**values)

    assert (found.low, found.high) == pytest.approx(expected)


@given(
    st.floats(1e3, 1e7),
    st.sampled_from([0.0, 1e6, 1e8]),
    st.integers(1, 10_000),
    st.integers(1, 100),
    st.floats(1, 1e6),
    st.floats(0, 4),
)
def test_a_sensitivity_is_a_range_within_0_and_1(
    cpu_ns: float, added_ns: float, in_flight: int, turns: int, per_s: float, core_share: float
) -> None:
    found = model.sensitivity_of(
        cpu_ns=cpu_ns,
        added_ns=added_ns,
        in_flight=in_flight,
        pages=turns * in_flight,
        per_s=per_s,
        core_share=core_share,
    )

    assert 0 <= found.low <= found.high <= 1


def test_the_rows_of_a_cell_have_one_sensitivity() -> None:
    rows = [row(1, turn_ns=50.1 * MS, cpu_ns=100_000, number=n, noise=1 + n / 100) for n in (1, 2, 3)]
    found = model.sensitivity(rows)

    assert found is not None
    assert found.low == pytest.approx(1.02 * 100_000 / (50.1 * MS), rel=0.01), "of the median round"
    full = model.sensitivity([row(1000, turn_ns=50.1 * MS, cpu_ns=100_000)])
    assert full == Sensitivity(1.0, 1.0)


def test_without_a_valid_row_there_is_no_sensitivity() -> None:
    assert model.sensitivity([]) is None
    assert model.sensitivity([crawl_row(invalid=True), crawl_row(status="skipped")]) is None


def test_more_may_be_in_flight_than_there_are_pages() -> None:
    found = model.sensitivity([crawl_row(latency="50ms", in_flight=10_000, pages=10, pages_per_s=100.0)])

    assert found is not None
    assert math.isclose(found.low, 50_000 * 100 / 10 / 1e9), "ten in flight, not ten thousand"
