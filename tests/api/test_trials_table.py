"""Trials as a table and as CSV: typed, and with texts that no spreadsheet evaluates."""

import csv as written
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from inflight.bench.frame.frame import KEYS, OF_TRIAL
from inflight.bench.rows.files import SCHEMA_FILE, Row, read
from inflight.bench.rows.records import changed
from tests.api.made_results import made
from tests.made_rows import crawl_row, grid, memory_row

DERIVED = ("held_added_bytes", "held_added_bytes_each", "ps_rss_bytes_each", "predicted_bytes", "found_bytes")
"""Figures that are calculated from others of the same trial: what all layers of memory grew by, and that for each one
held; the resident size for each one; the limit of memory, which is a size. The schema of rows explains all others."""


ROOT = Path(__file__).parents[2]
SCHEMA = SCHEMA_FILE.read_text(encoding="utf-8")


def trials(rows: Iterable[Row]) -> pd.DataFrame:
    return made(list(rows)).trials


def csv(rows: Iterable[Row]) -> str:
    return made(list(rows)).csv()


def test_there_is_a_line_per_trial_with_its_keys_first() -> None:
    rows = grid(["one"], latencies=["0"], caps=[1], rounds=2)

    table = trials(rows)

    assert list(table.columns)[: len(KEYS) + len(OF_TRIAL)] == [*KEYS, *OF_TRIAL]
    assert list(table["trial"]) == [row.trial for row in rows]


def test_integers_stay_integers_where_some_rows_have_none() -> None:
    table = trials([crawl_row(cpu_per_page_ns=49_999), crawl_row(status="skipped"), memory_row(uss_bytes=10**15 + 1)])

    assert str(table["cpu_per_page_ns"].dtype) == "Int64"
    assert table["cpu_per_page_ns"].isna().tolist() == [False, True, True]
    assert table["held_uss_bytes"].tolist()[2] == 10**15 + 1


def test_validity_and_its_reasons_are_columns() -> None:
    table = trials([crawl_row(), crawl_row(invalid=True), crawl_row(status="timeout", reason="too slow")])

    assert table["valid"].tolist() == [True, False, False]
    assert [why.partition(":")[0] for why in table["why"]] == ["", 'failed "no listen drops"', "timeout"]
    assert table["why"].tolist()[2] == "timeout: too slow"


def test_a_part_has_a_column_for_each_number_and_quantiles_if_ten_times_are_beyond_them() -> None:
    table = trials([crawl_row(times_ns=[10, 20, 30] * 10)])

    assert (table["service_p50_ns"][0], table["response_max_ns"][0], table["response_count"][0]) == (20, 60, 30)
    assert "service_p99_ns" not in table


def parsed(text: str) -> list[dict[str, str]]:
    return list(written.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_text_in_a_csv_is_not_a_formula_and_numbers_stay_numbers(first: str) -> None:
    formula = f"{first}cmd|' /C calc'!A0"
    row = changed(crawl_row(formula, status="failed"), measured={"steal_share": 0.25})

    (line,) = parsed(csv([row]))

    assert line["strategy"] == line["arm"] == f"'{formula}"
    assert not [name for name, cell in line.items() if cell.startswith(first) and cell.endswith("A0")]
    assert line["steal_share"] == "0.25"


@pytest.mark.parametrize("experiment", ["claims", "clients", "c100k", "open-loop", "limits", "memory"])
def test_every_figure_is_explained_in_the_schema(experiment: str) -> None:
    rows = read(max((ROOT / "results" / "reference").glob(f"*-{experiment}")))
    found = trials(row for row in rows if row.kind != "probe")
    explained = {*_names(json.loads(SCHEMA))}

    for figure in set(found.columns) - {*KEYS, *OF_TRIAL, *DERIVED}:
        words = figure.split("_")
        assert any("_".join(words[start:]) in explained for start in range(len(words))), figure


def _names(schema: Any) -> Iterator[str]:
    """Yield the names of all keys in a schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _names(part)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [crawl_row('a,"b" c', pages_per_s=12.5), memory_row(), crawl_row(status="skipped"), crawl_row(pages_per_s=5.0)],
    ],
)
def test_csv_is_what_pandas_would_write(rows: list[Row]) -> None:
    assert csv(rows) == trials(rows).to_csv(index=False, lineterminator="\n")


def test_text_that_utf_8_cannot_encode_is_written_all_the_same() -> None:
    (line,) = parsed(csv([crawl_row("\ud800lone")]))

    assert line["strategy"] == "?lone"


def test_a_figure_does_not_take_the_place_of_a_key_of_its_name() -> None:
    table = trials([crawl_row()])

    assert table["in_flight"].tolist() == [100]
    assert table["pages"][0] > 0, "the figure; the key is site_pages"
