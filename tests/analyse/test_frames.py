"""Rows as a DataFrame and as CSV: tidy, typed, and every column explained."""

import csv
import re
from pathlib import Path

import pytest

from bench.analyse.frames import COLUMNS, frame, write_csv
from tests.made_rows import crawl_row, grid, memory_row

RESULTS_README = Path(__file__).parents[2] / "results" / "README.md"


def test_a_frame_has_a_line_a_trial_and_the_documented_columns() -> None:
    rows = grid(["one"], latencies=["0"], caps=[1], rounds=2)

    table = frame(rows)

    assert list(table.columns) == list(COLUMNS)
    assert list(table["trial"]) == [row.trial for row in rows]


def test_integers_stay_integers_where_some_rows_have_none() -> None:
    table = frame([crawl_row(cpu_per_page_ns=49_999), crawl_row(status="skipped"), memory_row(uss_bytes=10**15 + 1)])

    assert str(table["cpu_per_page_ns"].dtype) == "Int64"
    assert table["cpu_per_page_ns"].isna().tolist() == [False, True, False]
    assert table["held_uss_bytes"].tolist()[2] == 10**15 + 1


def test_validity_and_its_reasons_are_columns() -> None:
    table = frame([crawl_row(), crawl_row(red=True), crawl_row(status="timeout", reason="too slow")])

    assert table["valid"].tolist() == [True, False, False]
    assert table["failed_checks"].tolist() == ["", "server had room", ""]
    assert table["reason"].tolist()[2] == "too slow"


def test_times_are_flat_columns() -> None:
    table = frame([crawl_row(times_ns=[10, 20, 30])])

    assert (table["service_p50_ns"][0], table["response_max_ns"][0], table["queueing_count"][0]) == (20, 60, 3)


def test_no_rows_make_an_empty_frame_with_all_columns() -> None:
    assert frame([]).shape == (0, len(COLUMNS))


def test_csv_reads_back_as_it_was_written(tmp_path: Path) -> None:
    hostile = 'a,"b"\nc'
    write_csv(
        [crawl_row(hostile, pages_per_s=12.5), crawl_row(status="failed", reason="it, broke")], tmp_path / "a.csv"
    )

    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)

    assert (first["strategy"], first["pages_per_s"], first["valid"]) == (hostile, "12.5", "True")
    assert (second["reason"], second["pages_per_s"]) == ("it, broke", "")


@pytest.mark.parametrize("column", COLUMNS)
def test_results_readme_explains_the_column(column: str) -> None:
    text = RESULTS_README.read_text(encoding="utf-8")
    kinds = re.sub(r"^(service|response|queueing|corrected|uncorrected)_", "*_", column)
    stages = re.sub(r"^(base|held|parked)_", "..._", column)

    assert any(f"`{name}`" in text for name in (column, kinds, stages))
