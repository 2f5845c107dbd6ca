"""The example notebook runs as it stands, and shows what the reference run says."""

import runpy
import sys
from pathlib import Path

import pytest

from inflight import load
from inflight.bench.measure.process import ROOT

NOTEBOOK = ROOT / "docs" / "examples" / "notebook.py"
QUICK = max((ROOT / "results" / "reference").glob("*-quick"))


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: object) -> None:
    """Run the notebook in a folder as a script."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(NOTEBOOK), *map(str, words)])
    runpy.run_path(str(NOTEBOOK), run_name="__main__")


def test_it_shows_tables_a_ratio_with_its_spread_and_saves_two_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, tmp_path, QUICK)

    shown = capsys.readouterr().out
    assert f"<Results of {QUICK.name}" in shown
    assert "Throughput of callbacks as a multiple of that of thread_pool" in shown
    trials = load(QUICK).trials
    both = trials[trials["valid"] & (trials["kind"] == "crawl") & trials["strategy"].isin(["callbacks", "thread_pool"])]
    for workload in both["workload"].unique():
        assert f"\n{workload} " in shown
    assert (tmp_path / "two-plots.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["two-plots.png"]


def test_without_a_run_it_takes_the_newest_reference_run_of_the_preset_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(ROOT / "results" / "reference")
    (tmp_path / "inside").mkdir()

    run(monkeypatch, tmp_path / "inside", "-f", "kernel.json")  # as a notebook's kernel is started

    assert f"<Results of {QUICK.name}" in capsys.readouterr().out


def test_it_is_cells_of_a_notebook() -> None:
    cells = NOTEBOOK.read_text(encoding="utf-8").split("\n# %%")

    prose = [line for cell in cells if cell.startswith(" [markdown]") for line in cell.splitlines()[1:] if line]

    assert len(cells) > 6
    assert not [line for line in prose if not line.startswith("#")]
