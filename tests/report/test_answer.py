"""The answer in sentences: what it may say of which rows, and what it must never say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.report import studies
from inflight.bench.report.answer import MOST, answer
from inflight.bench.rows.files import Row
from tests.made_blocks import flat, series
from tests.made_rows import bare_row, crawl_row, grid, memory_rows

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def rounds(strategy: str, rates: Sequence[float], **given: Any) -> list[Row]:
    """Make a cell of so many rounds."""
    return [crawl_row(strategy, number=n, pages_per_s=rate, **given) for n, rate in enumerate(rates, 1)]


def test_it_is_the_findings_of_the_sections_and_how_many_trials_they_rest_on() -> None:
    found = [*grid(["a", "b"]), *memory_rows("a", 1000), *memory_rows("b", 26_000)]

    *findings, last = answer(found)

    assert findings == [sentence for section in studies.sections(found) for sentence in section.found][: MOST - 1]
    assert len(findings) > 1
    assert last == f"{len(found)} of {len(found)} trials are valid, over 2 rounds on one machine."


def test_invalid_rows_never_count_and_are_counted_with_their_reason() -> None:
    found = [*rounds("a", (900, 910)), *rounds("b", (500, 510)), *rounds("hasty", (9000, 9100), invalid=True)]

    text = " ".join(answer(found))

    assert "hasty" not in text
    assert "4 of 6 trials are valid" in text
    assert "server had room" in text


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (crawl_row(invalid=True), "server had room"),
        (crawl_row(status="skipped", reason="no aiohttp"), "skipped: no aiohttp"),
        (crawl_row(status="timeout", reason="too slow"), "timeout: too slow"),
    ],
)
def test_without_a_valid_row_there_is_one_sentence_with_the_reason(row: Row, reason: str) -> None:
    [sentence] = answer([row] * 3)

    assert reason in sentence
    assert "(3 trials)" in sentence


def test_no_row_is_said_to_be_none() -> None:
    assert len(answer([])) == 1


def test_hostile_names_and_reasons_cannot_move_a_cursor_or_fill_the_page() -> None:
    hostile = "\x1b[31m\n" + "x" * 500
    found = [*rounds(hostile, (900, 910)), *rounds("b", (500, 510))]

    for text in (*answer(found), *answer([crawl_row(hostile, status="failed", reason=hostile)])):
        assert text.isprintable()
        assert "x" * 130 not in text


def test_there_are_never_more_than_six_sentences_and_each_is_whole() -> None:
    found = [
        *grid(["a", "b"]),
        *memory_rows("a", 1000),
        bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, {"found": 3}),
        *flat(series(12, 0.2)),
    ]

    sentences = answer(found)

    assert 4 <= len(sentences) <= MOST
    assert all(one.endswith(".") and not one.endswith("..") for one in sentences)
