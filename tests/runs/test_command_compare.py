"""``inflight compare`` from end to end: verdicts as exit codes, and what is printed and written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import MACHINE_FILE
from tests.cli.command import call
from tests.runs.made_runs import noisy_run, saved, slowed
from tools import series

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with runs that are equal, slower, and noisy."""
    for name, seed in (("base", 1), ("head", 2)):
        saved(tmp_path / name, noisy_run(seed, sd=0.002, rounds=5))
    saved(tmp_path / "slow", slowed(noisy_run(2, sd=0.002, rounds=5), 2.5))
    saved(tmp_path / "noisy", noisy_run(3, sd=0.5))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        ("base head", 0, "Pass"),
        ("base slow", 1, "Regression"),
        ("base slow head", 0, "Pass"),
        ("base noisy", 3, "Inconclusive"),
        ("base base", 0, "Pass"),
        ("base/rows.jsonl slow", 1, "Regression"),
    ],
)
def test_the_exit_code_is_the_verdict(words: str, code: int, verdict: str, place: Path) -> None:
    before = sorted(place.rglob("*"))

    done = call("compare", *words.split(), folder=place)

    assert (done.code, done.out.partition(":")[0], done.err) == (code, verdict, "")
    assert sorted(place.rglob("*")) == before


def test_json_is_one_object_on_standard_output(place: Path) -> None:
    done = call("compare", "base", "slow", "--json", folder=place)

    found = json.loads(done.out)
    worse = [one for one in found["changes"] if one["answer"] == "worse"]
    assert (done.code, found["verdict"]) == (1, "regression")
    assert {one["arm"] for one in worse} == {"generators"}
    assert all(1 < one["low"] < one["estimate"] < one["high"] for one in worse)
    assert done.err == f"{found['headline']}\n"
    assert call("compare", "base", "slow", "--json", "--quiet", folder=place).err == ""


def test_files_are_written_where_they_are_asked_for(place: Path) -> None:
    (place / "all.md").write_text("before\n", encoding="utf-8")
    series.pack(place / "base")

    done = call("compare", "base", "head", "--markdown", "all.md", "--out", "new/out", folder=place)

    assert (place / "all.md").read_text(encoding="utf-8").startswith("before\n# Comparison of stored runs\n\n**Pass: ")
    written = {path.name for path in (place / "new" / "out").iterdir()}
    assert written == {"compare.json", "compare.md", "plots"}
    assert json.loads((place / "new" / "out" / "compare.json").read_text(encoding="utf-8"))["verdict"] == "pass"
    assert done.err.count("written: ") == done.err.count("plot: ") == 1


@pytest.mark.parametrize("words", [("--markdown", "base/missing/report.md"), ("--out", "all.md/out")])
def test_a_file_that_cannot_be_written_is_refused_after_the_comparison(words: tuple[str, str], place: Path) -> None:
    (place / "all.md").touch()

    done = call("compare", "base", "head", *words, folder=place)

    assert done.code == 2
    assert done.refusal.startswith(f"cannot write {words[1]}")
    assert done.out.startswith("Pass: ")


# A real run against an edited copy


def edited(run: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Copy a run, with each row changed in place."""
    folder.mkdir()
    shutil.copy(run / MACHINE_FILE, folder)
    many = [json.loads(line) for line in rows.text(run).splitlines()]
    for row in many:
        change(row)
    (folder / rows.ROWS_FILE).write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    return folder


def test_a_real_run_with_one_strategy_made_slower_is_a_regression_of_that_strategy(tmp_path: Path) -> None:
    def slower(row: dict[str, Any]) -> None:
        row["run"] = "another-quick"
        if row["strategy"] == "generators" and "cpu_per_page_ns" in row["measured"]:
            row["measured"]["cpu_per_page_ns"] *= 2

    quick = max(REFERENCE.glob("*-quick"))
    done = call("compare", quick, edited(quick, tmp_path / "slow", slower), "--json")

    found = json.loads(done.out)
    worse = [one for one in found["changes"] if one["answer"] == "worse"]
    assert done.code == 1
    assert {(one["arm"], one["figure"]) for one in worse} == {("generators", "cpu_per_page_ns")}
    assert all(one["estimate"] == pytest.approx(2, rel=1e-3) for one in worse)
