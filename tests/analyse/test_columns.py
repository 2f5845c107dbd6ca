"""Which of many workloads have a column."""

import pytest

from inflight.bench.core import cells as c
from inflight.bench.studies.throughput.read import MOST_COLUMNS, cpu_column, rate_columns, usual_cap
from tests.made_rows import crawl_row, grid


def test_the_longest_latency_is_shown_over_its_caps_and_the_shortest_at_the_usual_one() -> None:
    found = c.cells(grid(latencies=("0", "10ms", "50ms")))

    assert cpu_column(found) == ("0", 100)
    assert rate_columns(found) == [("0", 100), *(("50ms", cap) for cap in (1, 10, 100, 1000))]


def test_one_latency_alone_is_shown_over_its_caps() -> None:
    found = c.cells(grid(latencies=("0",), caps=(7,)))

    assert [cpu_column(found), *rate_columns(found)] == [("0", 7), ("0", 7)]


@pytest.mark.parametrize(
    ("tried", "chosen"),
    [
        ([5], [5]),
        ([1, 10, 100, 1000], [1, 10, 100, 1000]),
        ([1, 10, 100, 1000, 10_000], [1, 10, 1000, 10_000]),
        (list(range(1, 101)), [1, 34, 67, 100]),
    ],
)
def test_of_many_caps_four_are_chosen_with_the_first_and_the_last(tried: list[int], chosen: list[int]) -> None:
    assert c.evenly(tried, MOST_COLUMNS) == chosen


@pytest.mark.parametrize(("tried", "usual"), [([1, 100, 1000], 100), ([20, 1000], 20), ([1], 1), ([50, 200], 50)])
def test_the_usual_cap_is_the_nearest_to_a_hundred(tried: list[int], usual: int) -> None:
    assert usual_cap(tried) == usual


def test_the_servers_ceiling_is_what_the_null_client_found() -> None:
    assert c.server_ceiling(crawl_row()) == 100_000
    assert c.server_ceiling(crawl_row(status="skipped")) is None
