"""Workloads that differ in any value do not share a line of a plot, a cell of a table or a sentence."""

from typing import Any

import pytest

from inflight.bench.core import cells as c
from inflight.bench.frame.frame import trials
from inflight.bench.show import listing, memory
from inflight.bench.show.studies import LISTINGS
from tests.made_rows import crawl_row, edited, grid, memory_row
from tests.present.made_memory_rows import held_row
from tests.swarm.made_swarm_rows import swarm_row


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


def test_listings_of_workloads_that_differ_in_their_site_are_parts_of_their_own() -> None:
    named = {study.name: study for study in LISTINGS}
    for name, row in (("held", held_row()), ("swarm", swarm_row())):
        rows = [row, edited(row, workload={"site": {"links": 7}})]
        first, second = listing.parts(named[name], trials(rows))
        assert first.name != second.name
        assert "7" in f"{first.name} {second.name}"


def test_tables_of_memory_that_differ_in_their_site_have_different_titles() -> None:
    rows = [held_row(n=n) for n in (2000, 4000, 6000, 8000, 10_000)]
    others = [edited(row, workload={"site": {"links": 7}}) for row in rows]

    titles = [table.title for section in memory.sections(trials([*rows, *others])) for table in section.tables]

    assert len(set(titles)) == len(titles) == 2
