"""The tables of results: their columns are those of docs/api.md, and their lines what the rows say."""

import re

import pandas as pd
import pytest

import inflight
from inflight.bench.api import NotInRunError, Results
from inflight.bench.measure.process import ROOT
from inflight.bench.show.studies import STUDIES
from inflight.bench.show.study import Study
from tests.api.made_results import HOSTILE, made, reference
from tests.made_blocks import block
from tests.made_rows import MS, crawl_row, edited, grid, memory_row, memory_rows

DOCS = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def quick() -> Results:
    return inflight.load(reference("quick"))


def documented(table: str) -> dict[str, str]:
    """Return the columns that docs/api.md lists under a table's head, with their types."""
    section = DOCS.partition(f"\n### `{table}`\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^- `(\w+)` \((\w+)\)", section, re.MULTILINE))


def types(results: Results, table: str) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in getattr(results, table).dtypes.items()}


@pytest.mark.parametrize("table", ["frame", "moments", "checks"])
def test_columns_and_types_are_those_of_the_documentation_whatever_the_rows(table: str, quick: Results) -> None:
    of_trial = {"round": "Int64"} | dict.fromkeys(("status", "cause", "started_at", "settings"), "string")
    expected = (documented("frame") | of_trial if table == "moments" else {}) | documented(table)
    for results in (quick, made([]), made([crawl_row(status="skipped"), *block(), memory_row(HOSTILE)])):
        found = types(results, table)
        assert {name: expected[name] for name in found} == found
        assert set(documented(table)) <= set(found)


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


@pytest.mark.parametrize("study", [study.name for study in STUDIES if study.measure == "mean"])
def test_the_columns_of_a_study_are_those_of_the_documentation_whatever_the_rows(study: str, quick: Results) -> None:
    section = DOCS.partition("\n### `table(study)`\n")[2].partition("\n#")[0]
    tables = [results.table(study) for results in (quick, made([]), inflight.load(reference("scaling")))]

    assert f"| `{study}` |" in section
    assert len({tuple(table.dtypes.items()) for table in tables}) == 1
    columns = documented("table(study)") | documented("frame")
    assert not [name for name, kind in tables[0].dtypes.items() if columns[str(name)] != str(kind)]


def test_an_unknown_study_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(NotInRunError, match="no study 'thruput'; did you mean \"throughput\"\\?"):
        made([crawl_row()]).table("thruput")


def test_cpu_work_is_part_of_every_trial() -> None:
    row = crawl_row()
    worked = edited(row, workload={"id": "w", "cpu": "2ms", "cpu_ns": 2 * MS})
    results = made([row, worked])

    assert sorted(zip(results.trials["cpu"], results.trials["cpu_ns"], strict=True)) == [("0", 0), ("2ms", 2 * MS)]
    assert set(results.moments["cpu"]) == {"0", "2ms"}


def test_memory_has_a_line_for_each_layer_and_says_why_there_is_no_slope(quick: Results) -> None:
    table = made([*memory_rows("one", 1000), memory_row("two", 10)]).table("memory")
    one, two = table[table["layer"] == "user"].to_dict("records")

    for results in (quick, made([])):
        assert {str(name): str(kind) for name, kind in results.table("memory").dtypes.items()} == documented("memory")
    assert (one["group"], one["line"], one["points"], one["sizes"], one["is_straight"]) == ("held", "one", 10, 5, True)
    assert one["low"] <= one["estimate"] <= one["high"]
    assert one["estimate"] == pytest.approx(1000, rel=0.05)
    assert (two["reason"], pd.isna(two["estimate"])) == ("needs 5 different numbers in flight, has 1", True)


LISTINGS = [study for study in STUDIES if study.measure == "median"]


@pytest.mark.parametrize("study", LISTINGS, ids=[study.name for study in LISTINGS])
def test_a_listing_has_its_figures_and_is_documented(study: Study) -> None:
    section = DOCS.partition("\n### Listings\n")[2].partition("\n#")[0]

    assert f"| `{study.name}` |" in section
    assert not [name for name in (*study.columns, *study.figures, *study.texts) if f"`{name}`" not in section]
    assert made([]).table(study.name).empty


def test_checks_have_a_line_each() -> None:
    table = made([crawl_row(invalid=True)]).checks

    assert table["verdict"].tolist() == ["passed", "failed"]
    assert table["name"][1] == "no listen drops"
    assert table["valid"].tolist() == [False, False]


def test_json_keys_are_documented() -> None:
    assert [key for key in made(grid()).summary() if f"`{key}`" not in DOCS] == []
