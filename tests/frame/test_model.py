"""The closed loop's model: knee, bounds and sensitivity."""

from inflight.bench.frame import statistics as model
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
