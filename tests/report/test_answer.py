"""The answer in sentences: what it may say of which rows, and what it must never say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inflight.bench.report.answer import MAX_SENTENCES
from inflight.bench.report.answer import answer as answer_of
from inflight.bench.report.studies import Studies
from inflight.bench.rows.files import Row
from tests.made_blocks import flat, series
from tests.made_rows import bare_row, crawl_row, grid, memory_rows

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def answer(rows: Sequence[Row]) -> list[str]:
    return answer_of(Studies(rows))


def rounds(strategy: str, rates: Sequence[float], **given: Any) -> list[Row]:
    """Make a cell of so many rounds."""
    return [crawl_row(strategy, number=n, pages_per_s=rate, **given) for n, rate in enumerate(rates, 1)]


def test_it_is_the_findings_of_the_sections_and_how_many_trials_they_rest_on() -> None:
    found = [*grid(["a", "b"]), *memory_rows("a", 1000), *memory_rows("b", 26_000)]

    *findings, last = answer(found)

    assert (
        findings == [sentence for section in Studies(found).sections for sentence in section.found][: MAX_SENTENCES - 1]
    )
    assert len(findings) > 1
    assert last == f"Valid trials: {len(found)} of {len(found)}, rounds: 2."


def test_invalid_rows_never_count_and_are_counted_with_their_reason() -> None:
    found = [*rounds("a", (900, 910)), *rounds("b", (500, 510)), *rounds("hasty", (9000, 9100), invalid=True)]

    text = " ".join(answer(found))

    assert "hasty" not in text
    assert "Valid trials: 4 of 6, rounds: 2." in text


def test_without_a_valid_row_there_is_one_sentence() -> None:
    (sentence,) = answer([crawl_row(invalid=True)] * 3)

    assert "0 of 3, rounds: 0. No valid trial: nothing here supports a conclusion." in sentence
    assert sentence.endswith('failed "server had room": 80 % of its core, limit 70 %.')


def test_no_row_is_said_to_be_none() -> None:
    assert len(answer([])) == 1


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
        bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, {"found": 3}),
        *flat(series(12, 0.2)),
    ]

    sentences = answer(found)

    assert 4 <= len(sentences) <= MAX_SENTENCES
    assert all(one.endswith(".") and not one.endswith("..") for one in sentences)
