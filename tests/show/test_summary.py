"""What is said of a whole run: the findings, the trials that do not count, and nothing from noise or invalid trials."""

from collections.abc import Sequence
from typing import Any

import pytest

from inflight.bench.frame import noise
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Check
from inflight.bench.rows.records import changed
from inflight.bench.show import summary, words
from inflight.bench.show.answer import conditions
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import MAX_SENTENCES, not_counted
from tests.made_blocks import flat, series
from tests.made_rows import block_rows, crawl_row, edited, grid, limit_row, memory_rows, open_row


def answer(rows: Sequence[Row]) -> list[str]:
    """Return what is said of a run: the state of the machine, and the findings."""
    studies = Studies(rows)
    return [*conditions(studies), *summary.findings(studies)]


def rounds(strategy: str, rates: Sequence[float], **given: Any) -> list[Row]:
    """Make a cell of so many rounds."""
    return [crawl_row(strategy, number=n, pages_per_s=rate, **given) for n, rate in enumerate(rates, 1)]


# The answer


def test_hostile_names_and_reasons_cannot_move_a_cursor_or_fill_the_page() -> None:
    hostile = "\x1b[31m\n" + "x" * 500
    found = [*rounds(hostile, (900, 910)), *rounds("b", (500, 510))]

    for text in (*answer(found), *answer([crawl_row(hostile, status="failed", reason=hostile)])):
        assert text.isprintable()
        assert "x" * 130 not in text


def test_there_are_never_more_than_the_maximum_sentences_and_each_is_whole() -> None:
    found = [
        *grid(["a", "b"]),
        *memory_rows("a", 1000),
        limit_row(),
        *flat(series(12, 0.2)),
    ]

    sentences = answer(found)

    assert 4 <= len(sentences) <= MAX_SENTENCES + 1
    assert all(one.endswith(".") and not one.endswith("..") for one in sentences)


# Noise


def test_what_others_took_from_a_run_is_the_median_of_its_blocks() -> None:
    rows = [
        edited(row, measured={"others_share": share, "steal_share": 0.01})
        for row, share in zip(block_rows(blocks=3), [0.1, 0.1, 0.1, 0.3, 0.3, 0.3, 0.5, 0.5, 0.5], strict=True)
    ]

    assert noise.taken_share(rows) == pytest.approx(0.31)
    assert noise.taken_share([*grid(), *block_rows()]) is None, "older rows do not know it"
    assert [noise.is_noisy(each) for each in (rows, rows[:3], block_rows(), [])] == [True, False, False, False]


def test_a_lone_client_that_waits_for_its_core_makes_a_run_noisy() -> None:
    waited = {"run_delay_ns": round(0.24e9 * open_row().workload.seconds), "steal_share": 0.01}
    open_loop = edited(open_row(), measured=waited)

    assert noise.taken_share([open_loop]) == pytest.approx(0.25)


def test_a_crawl_during_which_others_used_its_core_makes_a_run_noisy() -> None:
    quiet, noisy = ([edited(row, measured={"others_ns": others_ns}) for row in grid()] for others_ns in (0, 10**12))
    (share,) = {noise.taken_share([row]) for row in noisy[:1]}

    assert share == pytest.approx(10**12 / noisy[0].measured.makespan_ns)
    assert [noise.is_noisy(rows) for rows in (quiet, noisy)] == [False, True]


# What does not count


def test_what_does_not_count_stands_in_one_table_by_reason() -> None:
    rows = [crawl_row(f"s{n}", invalid=True) for n in range(6)]
    rows += [crawl_row("a", status="skipped", reason="too few files"), crawl_row("b", status="timeout", reason="slow")]

    table = not_counted(rows)

    assert table is not None
    assert [line[:3] for line in table.cells] == [
        ('failed "no listen drops"', "6", "s0, s1, s2, s3, 2 more"),
        ("skipped", "1", "a"),
        ("timeout", "1", "b"),
    ]
    assert [line[3] for line in table.cells[1:]] == ["too few files", "slow"]
    assert not_counted([crawl_row()]) is None


def test_reasons_beyond_the_most_frequent_are_counted() -> None:
    many = summary.MAX_REASONS + 3
    rows = [changed(crawl_row(f"s{n}"), checks=(Check(f"check {n}", "failed", ""),)) for n in range(many)]

    table = not_counted(rows)

    assert table is not None
    assert (len(table.lines), table.notes) == (summary.MAX_REASONS, ("More reasons in the rows: 3.",))


# Clients with a limit of their own


def limited(row: Row, reached: int = 100) -> Row:
    return edited(row, measured={"reached_in_flight": reached})


@pytest.mark.parametrize("length", [5, 40, 500])
def test_a_name_is_cut_but_not_what_the_client_reached(length: int) -> None:
    shown = words.name(limited(crawl_row("x" * length, in_flight=1000)).name)

    assert shown.startswith("xxxxx")
    assert shown.endswith(" (100 of 1,000)")
    assert len(shown) <= words.MAX_NAME


def test_of_a_noisy_run_nothing_else_is_said_of_the_machine() -> None:
    quiet, noisy = (Studies(block_rows(others=share, cycles=8)) for share in (0.01, 0.5))

    (first,) = conditions(quiet)
    (warning,) = conditions(noisy)
    assert (first.partition(" now")[0], warning.partition(":")[0]) == ("This machine is steady", "This run is noisy")
