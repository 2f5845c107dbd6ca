"""The titles of the plots: what they say of the data, and what they do not dare to say."""

from collections.abc import Sequence

from bench.core import cells as c
from bench.core.figures import spread
from bench.core.rows import Row
from bench.studies.throughput import findings
from bench.studies.throughput.findings import Side
from tests.made_rows import crawl_row, grid


def throughput(rows: Sequence[Row]) -> str:
    return findings.of_throughput(c.cells(rows))


def cpu(*sides: tuple[str, list[int]], stack: str = "shared") -> str:
    rows = [
        crawl_row(name, number=number, cpu_per_page_ns=value, stack=stack)
        for name, values in sides
        for number, value in enumerate(values, 1)
    ]
    return findings.of_cpu(c.cells(rows))


def test_throughput_says_what_more_in_flight_bring() -> None:
    assert throughput(grid()) == (
        "At 50 ms, callbacks fetches 1,000x as many pages/s with 1,000 in flight as with 1; "
        "at no added latency, about as many"
    )


def test_a_single_round_is_named_as_such() -> None:
    assert throughput(grid(latencies=["50ms"], rounds=1)) == (
        "At 50 ms, callbacks fetches 1,000x as many pages/s with 1,000 in flight as with 1 (one round)"
    )


def test_other_caps_at_the_other_latency_are_named() -> None:
    rows = [*grid(["one"], latencies=["50ms"]), *grid(["one"], latencies=["0"], caps=(1, 20))]

    assert throughput(rows).endswith("at no added latency, about as many with 20 as with 1")


def test_less_is_said_too() -> None:
    rows = [
        crawl_row(in_flight=cap, number=n, pages_per_s=rate) for n in (1, 2) for cap, rate in ((1, 900), (100, 450))
    ]

    assert (
        throughput(rows) == "At no added latency, callbacks fetches 0.50x as many pages/s with 100 in flight as with 1"
    )


def test_one_number_in_flight_allows_no_comparison() -> None:
    assert throughput([crawl_row(pages_per_s=9812)]) == (
        "callbacks fetches 9,800 pages/s at no added latency with 100 in flight (one round)"
    )


def test_red_trials_conclude_nothing() -> None:
    assert throughput([crawl_row(red=True)]) == "No valid throughput: nothing to conclude"
    assert findings.of_cpu(c.cells([crawl_row(red=True)])) == "No valid CPU time: nothing to conclude"
    assert findings.of_times([], 0.5, "") == "No valid times: nothing to conclude"


def test_cpu_compares_cheapest_and_dearest() -> None:
    assert cpu(("b", [60_000, 60_100]), ("a", [20_000, 20_100]), ("c", [30_000, 30_100])) == (
        "At no added latency with 100 in flight, a page takes 20.1 µs of CPU time with a, 60.0 µs with b: 3.0x"
    )


def test_what_chance_may_explain_is_no_difference() -> None:
    assert cpu(("a", [20_000, 40_000]), ("b", [30_000, 50_000])).endswith(
        "30 µs of CPU time with a, 40 µs with b, which chance may explain"
    )


def test_one_round_gives_figures_but_no_ratio() -> None:
    assert cpu(("a", [20_000]), ("b", [60_000])).endswith("20 µs of CPU time with a, 60 µs with b (one round)")


def test_a_single_strategy_is_compared_with_nobody() -> None:
    assert cpu(("a", [20_000, 20_000])).endswith("a page takes 20.0 µs of CPU time with a")


def test_clients_with_a_stack_of_their_own_are_not_compared_with_the_models() -> None:
    rows = [
        crawl_row(name, number=n, cpu_per_page_ns=value, stack=stack)
        for n in (1, 2)
        for name, value, stack in (("a", 20_000, "shared"), ("b", 40_000, "shared"), ("client", 90_000, "own"))
    ]

    assert "client" not in findings.of_cpu(c.cells(rows))


def test_times_name_their_quantile() -> None:
    sides = [Side("a", "shared", spread([50e6, 51e6], (1, 2))), Side("b", "shared", spread([100e6, 101e6], (1, 2)))]

    assert findings.of_times(sides, 0.99, "at 50 ms") == (
        "At 50 ms, 1 fetch in 100 takes more than 50.5 ms with a, 100 ms with b: 2.0x"
    )
    assert "half of the fetches take more than" in findings.of_times(sides, 0.5, "at 50 ms")
