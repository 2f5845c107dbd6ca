"""Workloads that differ in any value do not share a line of a plot, a cell of a table or a sentence."""

from inflight.bench.frame.frame import trials
from inflight.bench.show.sections import section
from inflight.bench.show.studies import study_of
from inflight.bench.show.study import parts
from tests.made_rows import edited, held_row, memory_row, swarm_row


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
