"""The tables of results: their columns are those of docs/api.md, and their lines what the rows say."""

import re

import pandas as pd
import pytest

import inflight
from inflight.bench.api import NotInRunError, Results
from inflight.bench.measure.process import ROOT
from inflight.bench.report import tidy
from inflight.bench.show.studies import STUDIES
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


def test_trials_are_the_frame_with_a_column_for_each_figure(quick: Results) -> None:
    trials, frame = quick.trials, quick.frame

    assert trials["trial"].tolist() == [row.trial for row in quick.rows]
    figures = [name for name in trials.select_dtypes("number") if name not in {*frame.columns, "round"}]
    assert set(figures) == set(frame["figure"])
    melted = trials.melt(["trial"], figures, var_name="figure").dropna()
    joined = melted.merge(frame, on=["trial", "figure"], validate="one_to_one")
    assert len(joined) == len(frame) == len(melted)
    assert (joined["value_x"] == joined["value_y"]).all()


def test_a_table_is_the_callers_own_to_change() -> None:
    results = made([crawl_row()])
    for name in ("frame", "checks"):
        table = getattr(results, name)
        table["mine"] = 1
        table.loc[0, "strategy"] = "other"

        assert set(getattr(results, name)["strategy"]) == {"callbacks"}
        assert "mine" not in getattr(results, name)


def test_a_study_has_the_mean_and_the_interval_of_the_valid_rounds() -> None:
    rates = [(1, 100.0), (2, 130.0), (3, 110.0)]
    rows = [crawl_row(number=number, pages_per_s=rate) for number, rate in rates]
    table = made([*rows, crawl_row(number=4, pages_per_s=900.0, invalid=True)]).table("throughput")
    (line,) = table.to_dict("records")

    assert list(line) == ["part", "line", "latency", "in_flight", "estimate", "low", "high", "n", "valid"]
    assert line["estimate"] == pytest.approx((100 * 130 * 110) ** (1 / 3))
    assert line["low"] < 100
    assert line["high"] > 130
    assert (line["line"], line["latency"], line["in_flight"], line["n"], line["valid"]) == (
        "callbacks", "0", 100, 3, True,
    )  # fmt: skip


def test_a_study_without_a_valid_trial_says_so() -> None:
    table = made([crawl_row("one", invalid=True, pages_per_s=5.0), crawl_row("two", status="timeout")]).table(
        "throughput"
    )

    assert table["valid"].tolist() == [False]
    assert table["estimate"][0] == pytest.approx(5)
    assert table[["low", "high"]].isna().all(axis=None), "one round has no interval"


def test_a_study_with_an_axis_has_ratios_to_its_baseline(quick: Results) -> None:
    found = quick.table("cpu").to_dict("records")
    here = {one["line"]: one for one in found if (one["latency"], one["in_flight"]) == ("0", 100)}
    pool, reference = here["thread_pool"], here["callbacks"]

    assert pool["ratio_baseline"] == "callbacks"
    assert pool["ratio_estimate"] == pytest.approx(pool["estimate"] / reference["estimate"])
    assert pool["ratio_answer"] == "differs"
    assert pd.isna(reference["ratio_estimate"])


@pytest.mark.parametrize("study", [study.name for study in STUDIES])
def test_the_columns_of_a_study_are_those_of_the_documentation_whatever_the_rows(study: str, quick: Results) -> None:
    section = DOCS.partition("\n### `table(study)`\n")[2].partition("\n#")[0]
    tables = [results.table(study) for results in (quick, made([]), inflight.load(reference("scaling")))]

    assert f"| `{study}` |" in section
    assert len({tuple(table.dtypes.items()) for table in tables}) == 1
    columns = documented("table(study)") | tidy.COLUMNS["frame"]
    assert not [name for name, kind in tables[0].dtypes.items() if columns[str(name)] != str(kind)]


def test_an_unknown_study_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(NotInRunError, match="no study 'thruput'; did you mean \"throughput\"\\?"):
        made([crawl_row()]).table("thruput")


def test_cpu_work_is_part_of_every_trial() -> None:
    row = crawl_row()
    worked = edited(row, workload={"id": "w", "cpu": "2ms", "cpu_ns": 2 * MS})
    results = made([row, worked])

    assert sorted(zip(results.trials["cpu"], results.trials["cpu_ns"], strict=True)) == [("0", 0), ("2ms", 2 * MS)]
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


def test_checks_have_a_line_each() -> None:
    table = made([crawl_row(invalid=True)]).checks

    assert table["verdict"].tolist() == ["passed", "failed"]
    assert table["name"][1] == "server had room"
    assert table["valid"].tolist() == [False, False]


@pytest.mark.parametrize("name", ["timeline", "samples"])
def test_an_arm_has_no_line_over_time_whatever_its_row_holds(name: str) -> None:
    row = arm_row()
    strange = edited(row, measured={"timeline": "{x}", "samples": "{x}"})

    assert len(tidy.table(name, [strange])) == 0
