"""Workloads that differ in any value do not share a line of a plot, a cell of a table or a sentence."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from inflight.bench.core import cells as c
from inflight.bench.present import page
from inflight.bench.report import plots
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import show as memory_table
from inflight.bench.studies.swarm import read as swarms
from tests.made_rows import MACHINE, crawl_row, edited, grid, memory_row
from tests.present.made_memory_rows import held_row
from tests.swarm.made_swarm_rows import swarm_row

CLAIMS = next((Path(__file__).parents[2] / "results" / "reference").glob("*-claims"))
NAMES = ("callbacks", "thread_pool")
SITES = {10: (10, 10_000), 50: (10,), 500: (100,), 5000: (1000,)}
"""Pages to numbers in flight, at one latency: as the claims need them."""


def two_sites() -> list[Row]:
    """Make crawls of two kinds of site: ten pages whatever is in flight, and five pages for each in flight."""
    return [
        crawl_row(name, latency="50ms", in_flight=cap, pages=pages, number=number, pages_per_s=rate * pages)
        for pages, caps in SITES.items()
        for cap in caps
        for name, rate in (("callbacks", 3.0), ("thread_pool", 2.0))
        for number in (1, 2)
    ]


def panels(rows: list[Row], name: str) -> Iterator[Axes]:
    with page.settings():
        for found, figure in plots.figures(rows, MACHINE):
            if found.partition("-")[0] == name:
                yield from figure.axes


def test_a_setting_that_is_alone_in_its_number_of_pages_is_one_curve() -> None:
    assert len(c.settings(c.cells(grid()))) == 1


@pytest.mark.parametrize(
    "more",
    [{"connection": "per-fetch"}, {"cpu": "1ms", "cpu_ns": 1_000_000}, {"parked": True}],
    ids=lambda more: next(iter(more)),
)
def test_a_workload_that_differs_in_any_value_is_a_setting_of_its_own(more: dict[str, Any]) -> None:
    rows = [crawl_row(pages_per_s=1000.0), crawl_row(pages_per_s=3000.0)]
    rows[1] = edited(rows[1], workload=more)

    cells = c.cells(rows)

    rates = sorted(figure.estimate for cell in cells if (figure := cell.figure(c.pages_per_s)))
    assert rates == pytest.approx([1000.0, 3000.0])
    assert len(c.settings(cells)) == 2


def test_the_site_counts_and_the_id_does_not() -> None:
    other, same = crawl_row(site={"links": 3}), crawl_row(number=2)
    same = edited(same, workload={"id": "crawl-7/latency=0/in_flight=100/keep-alive"})

    assert sorted(len(cell.rows) for cell in c.cells([crawl_row(), other, same])) == [1, 2]


def test_memory_of_parked_tasks_and_of_fetches_alone_are_two_settings() -> None:
    rows = [memory_row(held=held, connection="per-fetch") for held in (10, 20, 10, 20)]
    rows[2:] = [edited(row, workload={"parked": True}) for row in rows[2:]]

    found = c.cells(rows, "memory")

    assert [len(cell.rows) for cell in found] == [1, 1, 1, 1]
    assert len(c.settings(found)) == 2


def test_swarms_whose_users_share_pages_are_no_swarms_of_the_same_setting() -> None:
    rows = [edited(row, workload={"site": {"pages": pages}}) for row in [swarm_row()] for pages in (100, 5)]

    assert len(swarms.swarms(rows)) == 2


def test_tables_of_memory_that_differ_in_their_site_have_different_titles() -> None:
    rows = [
        held_row(n=n, number=number, reach_ms=100 * number)
        for n in (2000, 4000, 6000, 8000, 10_000)
        for number in (1, 2)
    ]
    others = [edited(row, workload={"site": {"links": 7}}) for row in rows]

    titles = [grid.title for grid in memory_table.grids([*rows, *others])]

    assert titles[0] != titles[1]
    assert "links per page: 7" in " ".join(titles)
