"""``inflight history``: the places that it reads, and what it writes."""

import json
from pathlib import Path

import pytest

from inflight.bench.rows.records import changed
from tests.cli.command import call
from tests.compare.made_runs import noisy_run, saved
from tests.made_rows import MACHINE


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder of four runs, one of them unreadable."""
    folder = tmp_path / "results"
    for number in range(3):
        began = f"2026-01-{number + 1:02}T03:04:05+00:00"
        rows = [changed(row, started_at=began) for row in noisy_run(number)]
        saved(folder / f"run-{number}", rows, MACHINE)
    broken = saved(folder / "reference" / "broken", [], MACHINE)
    (broken / "rows.jsonl").write_text("not a row\n", encoding="utf-8")
    return folder


def test_a_folder_of_runs_becomes_a_table_a_plot_and_files(runs: Path, tmp_path: Path) -> None:
    done = call("history", "--out", "seen", "--markdown", "all.md", folder=tmp_path)

    assert done.code == 0
    assert "generators" in done.out
    assert "unreadable" in done.out
    assert sorted(path.name for path in (tmp_path / "seen").iterdir()) == [
        "history.json", "history.md", "history.png", "history.svg",
    ]  # fmt: skip
    assert (tmp_path / "all.md").read_text(encoding="utf-8").startswith("# History of stored runs")


def test_json_has_the_runs_and_what_was_left_out(runs: Path, tmp_path: Path) -> None:
    done = call("history", runs, runs / "run-1", "--json", "--by", "python", folder=tmp_path)

    told = json.loads(done.out)
    assert [Path(run["name"]).name for run in told["runs"]] == ["run-0", "run-1", "run-2"]
    assert [Path(one["name"]).name for one in told["left_out"]] == ["broken"]
