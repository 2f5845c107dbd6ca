"""Workloads that differ in any value do not share a line of a plot, a cell of a table or a sentence."""

from typing import Any

import pytest

from inflight.bench.frame.frame import frame, trials
from inflight.bench.rows.files import Row
from inflight.bench.show.sections import section
from inflight.bench.show.studies import study_of
from inflight.bench.show.study import parts
from tests.made_rows import crawl_row, edited, held_row, memory_row, swarm_row


def sizes(rows: list[Row]) -> list[int]:
    """Return the number of units of each part of the study of throughput."""
    return [int(part.means["n"].sum()) for part in parts(study_of("throughput"), frame(rows))]


@pytest.mark.parametrize(
    "more",
    [{"connection": "per-fetch"}, {"cpu": "1ms", "cpu_ns": 1_000_000}, {"parked": True}],
    ids=lambda more: next(iter(more)),
)
def test_a_workload_that_differs_in_any_value_is_a_part_of_its_own(more: dict[str, Any]) -> None:
    row = crawl_row()

    assert sizes([row, edited(row, workload=more)]) == [1, 1]


def test_the_site_counts_and_the_id_does_not() -> None:
    other, same = crawl_row(site={"links": 3}), crawl_row(number=2)
    same = edited(same, workload={"id": "crawl-7/latency=0/in_flight=100/keep-alive"})

    assert sorted(sizes([crawl_row(), other, same])) == [1, 2]


def test_memory_of_parked_tasks_and_of_fetches_alone_are_two_parts() -> None:
    rows = [memory_row(held=held, connection="per-fetch") for held in (10, 20, 10, 20)]
    rows[2:] = [edited(row, workload={"parked": True}) for row in rows[2:]]

    assert len(parts(study_of("memory"), trials(rows))) == 2


def test_listings_of_workloads_that_differ_in_their_site_are_parts_of_their_own() -> None:
    for name, row in (("held", held_row()), ("swarm", swarm_row())):
        rows = [row, edited(row, workload={"site": {"links": 7}})]
        first, second = parts(study_of(name), trials(rows))
        assert first.name != second.name
        assert "7" in f"{first.name} {second.name}"


def test_tables_of_memory_that_differ_in_their_site_have_different_titles() -> None:
    rows = [held_row(n=n) for n in (2000, 4000, 6000, 8000, 10_000)]
    others = [edited(row, workload={"site": {"links": 7}}) for row in rows]

    tables = section(parts(study_of("memory"), trials([*rows, *others]))).tables
    titles = [table.title for table in tables]

    assert len(set(titles)) == len(titles) == 2
