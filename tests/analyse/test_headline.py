"""The headline table as data: which columns are chosen, what a line holds, what is said to be left out."""

import pytest

from bench.analyse import cells as c
from bench.analyse.cells import Figure
from bench.analyse.headline import Column, choose_caps, tables, usual_cap
from bench.analyse.stats import NoSlope, Slope
from bench.rows import Status
from tests.made_rows import crawl_row, grid, memory_row, memory_rows


def test_the_longest_latency_is_shown_over_its_caps_and_the_shortest_at_the_usual_one() -> None:
    [table] = tables(grid(latencies=("0", "10ms", "50ms")))

    assert table.columns == (
        Column("pages_per_s", "0", 100),
        *(Column("pages_per_s", "50ms", cap) for cap in (1, 10, 100, 1000)),
        Column("cpu_per_page_ns", "0", 100),
    )
    assert table.left_out_latencies == ("10ms",)
    assert table.left_out_caps == (("0", (1, 10, 1000)),)


def test_one_latency_alone_is_shown_over_its_caps() -> None:
    [table] = tables(grid(latencies=("0",), caps=(7,)))

    assert table.columns == (Column("pages_per_s", "0", 7), Column("cpu_per_page_ns", "0", 7))


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
    assert choose_caps(tried) == chosen


@pytest.mark.parametrize(("tried", "usual"), [([1, 100, 1000], 100), ([20, 1000], 20), ([1], 1), ([50, 200], 50)])
def test_the_usual_cap_is_the_nearest_to_a_hundred(tried: list[int], usual: int) -> None:
    assert usual_cap(tried) == usual


def test_figures_are_medians_over_the_valid_rounds_only() -> None:
    rows = [crawl_row(number=n, pages_per_s=rate, red=rate > 900) for n, rate in enumerate((100, 300, 200, 999), 1)]
    [table] = tables(rows)

    figure = table.lines[0].entries[0]
    assert isinstance(figure, Figure)
    assert figure.valid
    assert (figure.spread.median, figure.spread.low, figure.spread.high, figure.spread.rounds) == (200, 100, 300, 3)


def test_a_cell_of_red_trials_only_is_not_valid() -> None:
    [table] = tables([crawl_row(red=True)])

    figure = table.lines[0].entries[0]
    assert isinstance(figure, Figure)
    assert not figure.valid


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout", "skipped"])
def test_a_cell_without_any_figure_says_why(status: Status) -> None:
    [table] = tables([crawl_row(status=status)])

    assert set(table.lines[0].entries) == {status}


def test_a_wrong_answer_is_no_figure_even_if_it_was_fast() -> None:
    [table] = tables([crawl_row(number=1, status="wrong", pages_per_s=1e9), crawl_row(number=2, pages_per_s=10)])

    figure = table.lines[0].entries[0]
    assert isinstance(figure, Figure)
    assert figure.spread.high == 10


def test_shared_stacks_come_first_and_each_group_is_ordered_by_throughput() -> None:
    rows = [
        crawl_row("fast_client", stack="own", pages_per_s=9000),
        crawl_row("slow", pages_per_s=1000),
        crawl_row("fast", pages_per_s=5000),
        crawl_row("red", pages_per_s=8000, red=True),
    ]

    assert [line.strategy for line in tables(rows)[0].lines] == ["fast", "slow", "red", "fast_client"]


def test_unlike_uses_of_connections_and_unlike_sites_never_share_a_table() -> None:
    rows = [
        crawl_row(),
        crawl_row(in_flight=10),
        crawl_row(connection="per-fetch"),
        crawl_row(site={"body_bytes": 99_000}),
    ]

    found = tables(rows)

    settings = [(table.setting.connection, table.differs) for table in found if table.setting]
    assert settings == [
        ("keep-alive", {"body_bytes": 1200}),
        ("keep-alive", {"body_bytes": 99_000}),
        ("per-fetch", {"body_bytes": 1200}),
    ]


def test_sites_that_differ_in_the_number_of_pages_share_a_table() -> None:
    assert len(tables([crawl_row(pages=5000), crawl_row(latency="50ms", pages=12)])) == 1


def test_memory_is_a_slope_and_the_site_of_the_memory_trials_may_differ() -> None:
    [table] = tables([*grid(["one"], caps=(100,)), crawl_row("two")])

    slope = table.lines[0].memory
    assert isinstance(slope, Slope)
    assert slope.per_fetch == pytest.approx(1000, rel=0.01)
    assert table.lines[1].memory is None


def test_red_memory_trials_are_no_part_of_the_slope() -> None:
    rows = [*memory_rows(per_fetch=1000, rounds=1), memory_row(held=2000, uss_bytes=900_000_000, number=2, red=True)]
    [table] = tables(rows)

    slope = table.lines[0].memory
    assert isinstance(slope, Slope)
    assert (slope.points, round(slope.per_fetch, -1)) == (5, 1000)


def test_memory_trials_that_are_all_red_give_no_slope() -> None:
    [table] = tables([memory_row(held=n, red=True) for n in range(100, 700, 100)])

    assert table.lines[0].memory == NoSlope("no valid memory trial")


def test_memory_alone_makes_a_table_without_columns() -> None:
    [table] = tables(memory_rows())

    assert (table.setting, table.columns) == (None, ())
    assert isinstance(table.lines[0].memory, Slope)


def test_no_rows_make_no_table() -> None:
    assert tables([]) == []


def test_the_servers_ceiling_is_what_the_null_client_found() -> None:
    assert c.server_ceiling(crawl_row()) == 100_000
    assert c.server_ceiling(crawl_row(status="skipped")) is None
