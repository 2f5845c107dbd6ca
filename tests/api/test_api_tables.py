"""The tables of results: their columns are those of docs/api.md, and their lines what the rows say."""

import json
import re

import pytest

import inflight
from inflight.bench.api import Results
from inflight.bench.measure.process import ROOT
from inflight.bench.report import tidy
from inflight.bench.report.frames import COLUMNS
from tests.api.made_results import HOSTILE, made, reference
from tests.made_blocks import block
from tests.made_rows import MS, arm_row, bare_row, crawl_row, edited, memory_row, memory_rows

DOCS = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def quick() -> Results:
    return inflight.load(reference("quick"))


def documented(table: str) -> dict[str, str]:
    """Return the columns that docs/api.md lists under a table's head, with their types."""
    section = DOCS.partition(f"\n### `{table}`\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE))


def types(results: Results, table: str) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in getattr(results, table).dtypes.items()}


@pytest.mark.parametrize("table", tidy.COLUMNS)
def test_columns_and_types_are_those_of_the_documentation_whatever_the_rows(table: str, quick: Results) -> None:
    assert documented(table) == tidy.COLUMNS[table]
    for results in (quick, made([]), made([crawl_row(status="skipped"), *block(), memory_row(HOSTILE)])):
        assert types(results, table) == documented(table)
        assert list(getattr(results, table).columns) == list(documented(table))


@pytest.mark.parametrize("table", tidy.COLUMNS)
def test_the_docstring_names_every_column(table: str) -> None:
    text = str(getattr(Results, table).__doc__)

    assert not [column for column in tidy.COLUMNS[table] if f"``{column}``" not in text]


def test_everything_public_is_documented_and_explained() -> None:
    public = [name for name in vars(Results) if not name.startswith("_")] + ["folder", "rows", "machine"]

    assert not [name for name in public if not re.search(rf"`{name}\b", DOCS)]
    assert not [name for name in public if name in vars(Results) and not getattr(Results, name).__doc__]


def test_trials_are_the_table_that_a_run_writes(quick: Results) -> None:
    assert list(quick.trials.columns) == list(COLUMNS)
    assert quick.trials["trial"].tolist() == [row.trial for row in quick.rows]


def test_a_table_is_the_callers_own_to_change() -> None:
    results = made([crawl_row()])
    table = results.cells
    table["mine"] = 1
    table.loc[0, "strategy"] = "other"

    assert results.cells["strategy"].tolist() == ["callbacks"]
    assert "mine" not in results.cells


def test_cells_have_the_mean_and_the_interval_of_the_valid_rounds() -> None:
    rates = [(1, 100.0), (2, 130.0), (3, 110.0)]
    rows = [crawl_row(number=number, pages_per_s=rate) for number, rate in rates]
    (cell,) = made([*rows, crawl_row(number=4, pages_per_s=900.0, invalid=True)]).cells.to_dict("records")

    assert cell["pages_per_s"] == pytest.approx((100 * 130 * 110) ** (1 / 3))
    assert cell["pages_per_s_low"] < 100
    assert cell["pages_per_s_high"] > 130
    assert (cell["rounds"], cell["valid"], cell["latency"], cell["cpu"], cell["cpu_ns"]) == (3, True, "0", "0", 0)
    assert 0 <= cell["sensitivity_low"] <= cell["sensitivity_high"] <= 1
    assert json.loads(cell["site"])["links"] == 10


def test_cells_without_a_valid_trial_say_so() -> None:
    table = made([crawl_row("one", invalid=True, pages_per_s=5.0), crawl_row("two", status="timeout")]).cells

    assert table["valid"].tolist() == [False, False]
    assert table["rounds"].tolist() == [1, 0]
    assert table["pages_per_s"][0] == pytest.approx(5)
    assert table["pages_per_s_low"].isna().all(), "one round has no interval"
    assert table["pages_per_s"].isna().tolist() == [False, True]
    assert table["sensitivity_low"].isna().all()


def test_cpu_work_is_part_of_cell_and_trial() -> None:
    row = crawl_row()
    worked = edited(row, workload={"id": "w", "cpu": "2ms", "cpu_ns": 2 * MS})
    results = made([row, worked])

    assert sorted(zip(results.cells["cpu"], results.cells["cpu_ns"], strict=True)) == [("0", 0), ("2ms", 2 * MS)]
    assert set(results.timeline["cpu"]) == {"0", "2ms"}


def test_memory_without_layers_is_user_memory() -> None:
    table = made([*memory_rows("one", 1000), memory_row("two", 10)]).memory
    table = table[table["layer"] == "user"].sort_values("strategy").reset_index()

    assert table["strategy"].tolist() == ["one", "two"]
    assert table["bytes_per_fetch"][0] == pytest.approx(1000, rel=0.05)
    assert table["bytes_per_fetch_low"][0] <= table["bytes_per_fetch"][0] <= table["bytes_per_fetch_high"][0]
    assert (table["sizes"][0], table["points"][0], table["straight"][0]) == (5, 10, True)
    assert table["reason"].tolist()[1] == "needs 5 different numbers in flight, has 1"


def test_memory_in_layers_has_a_line_each() -> None:
    table = inflight.load(reference("memory")).memory

    assert table["layer"].nunique() == 6
    assert set(table["group"]) == {"idle threads and tasks", "parked strategies", "fetches in flight"}
    assert (table["connection"].isna() == (table["stack"] == "none")).all()
    whole = table[table["group"] == "fetches in flight"].pivot_table(
        index="strategy", columns="layer", values="bytes_per_fetch"
    )
    assert (whole["all layers"] >= whole["user"]).all()


def test_the_time_line_has_a_line_per_bin() -> None:
    row = crawl_row(in_flight=7)
    line = {"bin_ns": 10 * MS, "completions": [0, 3, 4], "in_flight": [7, 4, 0]}
    table = made([edited(row, measured={"timeline": line}), crawl_row(status="failed")]).timeline

    assert table["at_ns"].tolist() == [10 * MS, 20 * MS, 30 * MS]
    assert table["completions"].tolist() == [0, 3, 4]
    assert table["in_flight_then"].tolist() == [7, 4, 0]
    assert table["in_flight"].tolist() == [7, 7, 7]


def test_samples_have_a_line_each_and_older_rows_have_none() -> None:
    seen = {"at_ns": [1, 2], "threads": [1, 9], "rss_bytes": [10**10, 3], "cpu_ns": [0, 5]}
    row = crawl_row()
    results = made([row, edited(row, measured={"samples": seen})])

    assert results.samples[list(seen)].to_dict("list") == seen
    assert made([row]).samples.empty


def test_other_measurements_of_the_same_name_are_left_alone() -> None:
    probe = bare_row("probe", "p", {"probe": "p", "arguments": {}}, {"timeline": [[1, 2]], "samples": 3, "service": 4})

    results = made([probe])

    assert results.timeline.empty
    assert results.samples.empty
    assert results.times.empty


def test_checks_have_a_line_each() -> None:
    table = made([crawl_row(invalid=True)]).checks

    assert table["verdict"].tolist() == ["passed", "failed"]
    assert table["name"][1] == "server had room"
    assert table["valid"].tolist() == [False, False]


def test_times_have_their_quantiles() -> None:
    lines = made([crawl_row(times_ns=[10, 20, 30]), crawl_row("none")]).times.to_dict("records")
    found = {(line["strategy"], line["time"]): line for line in lines}

    assert [found["callbacks", "service"][name] for name in ("count", "p50_ns", "max_ns")] == [3, 20, 30]
    assert found["callbacks", "response"]["max_ns"] == 60
    assert found["none", "service"]["count"] == 0


@pytest.mark.parametrize("name", ["timeline", "samples"])
def test_an_arm_has_no_line_over_time_whatever_its_row_holds(name: str) -> None:
    row = arm_row()
    strange = edited(row, measured={"timeline": "{x}", "samples": "{x}"})

    assert len(tidy.table(name, [strange])) == 0
