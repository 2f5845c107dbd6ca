"""The closed loop's model, on rows made by its own formula and on rows that it must refuse."""

import math

import pytest
from scipy.stats import t

from inflight.bench.core import cells as c
from inflight.bench.core import model
from inflight.bench.core.model import Fit, NoFit
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


def fitted(rows: list[Row]) -> Fit | NoFit:
    return model.fit(c.cells(rows))


def curve(caps: tuple[int, ...], *, turn_ns: float = 52.0 * MS, cpu_ns: int = 100_000) -> list[Row]:
    """Make two rounds that differ by 1 % either way."""
    return [
        row(cap, turn_ns=turn_ns, cpu_ns=cpu_ns, number=number, noise=noise)
        for cap in caps
        for number, noise in ((1, 0.99), (2, 1.01))
    ]


def test_the_fit_recovers_the_parameters_of_the_loop() -> None:
    found = fitted(curve((1, 10, 100, 1000, 3000)))

    assert isinstance(found, Fit)
    assert found.added_ns == 50 * MS
    assert found.besides_ns == pytest.approx(2 * MS, rel=0.05)
    assert found.cpu_ns == pytest.approx(100_000, rel=0.01)
    assert found.knee == pytest.approx(520, rel=0.01)
    assert found.low < 520 < found.high
    assert found.high / found.low < 1.1


def test_the_model_is_the_lower_of_its_two_bounds_and_they_meet_at_the_knee() -> None:
    found = fitted(curve((1, 10, 100, 1000)))

    assert isinstance(found, Fit)
    assert found.per_s(found.knee) == pytest.approx(found.ceiling_per_s)
    assert found.per_s(found.knee / 2) == pytest.approx(found.ceiling_per_s / 2)
    assert found.per_s(found.knee * 9) == found.ceiling_per_s


def test_a_fetch_never_takes_less_than_its_latency() -> None:
    found = fitted(curve((1, 10, 100, 1000), turn_ns=45.0 * MS))

    assert isinstance(found, Fit)
    assert found.besides_ns == pytest.approx(0, abs=1)


def test_the_interval_of_the_knee_is_that_of_two_means() -> None:
    found = fitted(
        [
            row(cap, turn_ns=52 * MS, cpu_ns=100_000, number=number, noise=math.exp(off))
            for cap in (1, 10, 3000, 9000)
            for number, off in ((1, -0.01), (2, 0.01))
        ]
    )

    # Eight residuals of 1 %, less two parameters, each the mean of four points.
    half = float(t.ppf(0.975, 6)) * math.sqrt(8 * 0.01**2 / 6 * (1 / 4 + 1 / 4))
    assert isinstance(found, Fit)
    assert (found.low / 520, found.high / 520) == pytest.approx((math.exp(-half), math.exp(half)), rel=1e-4)


def test_noise_widens_the_interval_of_the_knee() -> None:
    calm, wild = (
        fitted([row(cap, turn_ns=52 * MS, cpu_ns=100_000, number=n, noise=noise) for cap in (1, 10, 100, 1000)
                for n, noise in ((1, 1 - off), (2, 1 + off))])
        for off in (0.01, 0.2)
    )  # fmt: skip

    assert isinstance(calm, Fit)
    assert isinstance(wild, Fit)
    assert wild.high / wild.low > calm.high / calm.low


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "needs 4 numbers in flight with valid trials, has 0"),
        (curve((1, 10, 1000)), "needs 4 numbers in flight with valid trials, has 3"),
        (curve((1, 3, 10, 30)), "the core was not full with 30 in flight: the ceiling was not reached"),
        (curve((1000, 2000, 3000, 4000)), "the knee is below"),
        ([row(n, turn_ns=52 * MS, cpu_ns=10**5, invalid=True) for n in (1, 10, 100, 1000)], "has 0"),
        ([crawl_row(latency="50ms", in_flight=n, pages=10) for n in (1, 10, 100, 1000)], "has 2"),
        (
            [
                crawl_row(latency="50ms", in_flight=n, cpu_per_page_ns=9, pages_per_s=min(20 * n, 5000))
                for n in (1, 10, 100, 1000)
            ],
            "the core was not full with 1,000 in flight",
        ),
    ],
)
def test_without_a_knee_between_the_rows_there_is_no_fit(rows: list[Row], reason: str) -> None:
    found = fitted(rows)

    assert isinstance(found, NoFit)
    assert reason in found.reason


def test_the_knee_of_a_loop_with_nothing_but_latency_and_cpu() -> None:
    assert model.knee(50 * MS, 100_000) == 501
    assert model.knee(0, 100_000) == 1
