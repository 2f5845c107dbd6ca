"""Workloads that differ in any value do not share a line of a plot, a cell of a table or a sentence."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from inflight.bench.core import cells as c
from inflight.bench.present import page
from inflight.bench.report import plots
from inflight.bench.report.answer import answer
from inflight.bench.rows.files import Row, read
from inflight.bench.studies.memory import show as memory_table
from inflight.bench.studies.swarm import read as swarms
from inflight.bench.studies.throughput import show
from tests.made_rows import MACHINE, arm_row, crawl_row, edited, grid, memory_row
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


@pytest.mark.ci
@pytest.mark.parametrize("rows", [two_sites(), read(CLAIMS)], ids=["made", "the claims' own run"])
def test_a_line_goes_through_each_number_in_flight_once_and_never_beyond_the_pages(rows: list[Row]) -> None:
    most = max(cell.in_flight for cell in c.cells(rows) if cell.pages >= cell.in_flight)
    lines = [
        line
        for axes in panels(rows, "throughput")
        for line in axes.lines
        if line.get_zorder() in {1, 3} and line.get_linestyle() != "None" and line.get_color() != page.GREY
    ]

    assert lines
    for line in lines:
        places = [float(x) for x in np.asarray(line.get_xdata())]
        assert all(one < other for one, other in pairwise(places)), places
        assert places[-1] <= most


def test_each_kind_of_site_has_its_own_tables_and_names_its_pages() -> None:
    tables = [table for section in show.sections(two_sites()) for table in section.tables]

    assert len(tables) == 4
    assert {table.title.rpartition("pages ")[2] for table in tables} == {
        "10",
        "5 for each in flight",
    }
    shown = {head.rpartition(", ")[2] for table in tables if "Pages" in table.title for head in table.heads[1:]}
    assert shown == {"10 in flight", "100 in flight", "1,000 in flight"}, "10,000 were never in flight"


def test_the_answer_is_in_one_table() -> None:
    rows = two_sites()

    sentences = " ".join(answer(rows))

    assert "1,000 in flight" in sentences
    assert "10,000 in flight" not in sentences
    assert all(sentence.endswith("pages 5 for each in flight).") for sentence in answer(rows)[:2])


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


def test_blocks_and_whole_crawls_of_one_run_are_told_apart_in_words() -> None:
    crawls = [crawl_row(name, in_flight=cap, number=n) for name in NAMES for cap in (10, 100) for n in (1, 2)]
    arms = [arm_row(name, in_flight=cap, number=n) for name in NAMES for cap in (10, 100) for n in (1, 2)]

    names = c.setting_names(c.settings(c.cells([*crawls, *arms])))
    shown = " ".join([*answer([*crawls, *arms]), *(section.title for section in show.sections([*crawls, *arms]))])

    assert set(names.values()) == {
        "timed in blocks",
        "timed in whole crawls",
    }
    assert "timed in blocks" in shown
    assert "endless" not in shown


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
