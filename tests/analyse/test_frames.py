"""Rows as a DataFrame and as CSV: tidy, typed, and every column explained."""

import csv as written
import io
import re
import sys
from pathlib import Path

import pytest

from inflight.bench.report.frames import COLUMNS, csv, frame
from inflight.bench.report.results import Results
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.made_rows import crawl_row, grid, memory_row

RESULTS_README = Path(__file__).parents[2] / "results" / "README.md"


def test_a_frame_has_a_line_per_trial_and_the_documented_columns() -> None:
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
    table = frame([crawl_row(), crawl_row(invalid=True), crawl_row(status="timeout", reason="too slow")])

    assert table["valid"].tolist() == [True, False, False]
    assert table["failed_checks"].tolist() == ["", "server had room", ""]
    assert table["reason"].tolist()[2] == "too slow"


def test_times_are_flat_columns() -> None:
    table = frame([crawl_row(times_ns=[10, 20, 30])])

    assert (table["service_p50_ns"][0], table["response_max_ns"][0], table["queueing_count"][0]) == (20, 60, 3)


def test_no_rows_make_an_empty_frame_with_all_columns() -> None:
    assert frame([]).shape == (0, len(COLUMNS))


def read(text: str) -> list[dict[str, str]]:
    return list(written.DictReader(io.StringIO(text, newline="")))


def test_csv_reads_back_as_it_was_written() -> None:
    hostile = 'a,"b",c'

    first, second = read(csv([crawl_row(hostile, pages_per_s=12.5), crawl_row(status="failed", reason="it, broke")]))

    assert (first["strategy"], first["pages_per_s"], first["valid"]) == (hostile, "12.5", "True")
    assert (second["reason"], second["pages_per_s"]) == ("it, broke", "")


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_text_in_a_csv_is_not_a_formula_and_numbers_stay_numbers(first: str) -> None:
    formula = f"{first}cmd|' /C calc'!A0"
    row = crawl_row(formula, status="failed", reason=formula)
    row = changed(row, measured={"steal_share": 0.25})

    (line,) = read(csv([row]))

    assert line["strategy"] == line["reason"] == f"'{formula}"
    assert not [name for name, cell in line.items() if cell.startswith(first) and cell.endswith("A0")]
    assert line["steal_share"] == "0.25"


@pytest.mark.parametrize("column", COLUMNS)
def test_results_readme_explains_the_column(column: str) -> None:
    text = RESULTS_README.read_text(encoding="utf-8")
    kinds = re.sub(r"^(service|response|queueing|corrected|uncorrected)_", "*_", column)
    stages = re.sub(r"^(base|held|parked)_", "..._", column)

    assert any(f"`{name}`" in text for name in (column, kinds, stages))


def test_numbers_of_a_column_are_written_alike() -> None:
    whole, mixed = ([crawl_row(pages_per_s=value) for value in values] for values in ((5.0, 7.0), (5.0, 7.5)))

    assert [line["pages_per_s"] for line in read(csv(whole))] == ["5", "7"]
    assert [line["pages_per_s"] for line in read(csv(mixed))] == ["5.0", "7.5"]


@pytest.mark.parametrize("rows", [[], [crawl_row(), memory_row(), crawl_row(status="skipped")]])
def test_csv_is_what_pandas_would_write(rows: list[Row]) -> None:
    assert csv(rows) == frame(rows).to_csv(index=False, lineterminator="\n")


def test_without_pandas_a_table_says_what_to_install_and_csv_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    results = Results(Path("run"), [crawl_row()], {})

    for table in ("cells", "trials"):
        with pytest.raises(ModuleNotFoundError, match="pip install 'inflight-bench\\[pandas\\]'"):
            getattr(results, table)
    assert csv(results.rows)
