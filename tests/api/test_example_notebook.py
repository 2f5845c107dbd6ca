"""The example notebook runs as it stands, and shows what the reference run says. Jupyter has the same cells."""

import json
import os
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import inflight
from inflight import load, strategies
from inflight.bench.measure.process import ROOT
from inflight.bench.plan.experiment import parse
from tools import notebook

NOTEBOOK = ROOT / "docs" / "examples" / "notebook.py"
QUICK = max((ROOT / "results" / "reference").glob("*-quick"))


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: object) -> None:
    """Run the notebook in a folder as a script."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", [str(NOTEBOOK), *map(str, words)])
    runpy.run_path(str(NOTEBOOK), run_name="__main__")


@pytest.fixture
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the experiment of the notebook be read, and return a stored run for it."""

    def stored(experiment: "str | os.PathLike[str]", **_options: object) -> object:
        content = tomllib.loads(Path(experiment).read_text(encoding="utf-8"))
        parse(content, "notebook", strategies.names(), "notebook.py")
        return load(QUICK)

    monkeypatch.setattr(inflight, "run", stored)


@pytest.mark.ci
@pytest.mark.usefixtures("nothing_measured")
def test_it_shows_tables_a_ratio_with_its_spread_and_saves_its_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, tmp_path, QUICK)

    shown = capsys.readouterr().out
    assert "one after another:" in shown
    assert f"<Results of {QUICK.name}" in shown
    assert "Throughput of callbacks as a multiple of that of thread_pool" in shown
    trials = load(QUICK).trials
    crawls = trials[trials["valid"] & trials["kind"].isin(["arm", "crawl"])]
    with_one, with_other = (
        set(crawls[crawls["strategy"] == name]["workload"]) for name in ("callbacks", "thread_pool")
    )
    both = with_one & with_other
    assert both
    for workload in both:
        assert f"\n{workload} " in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["how-many.png", "two-plots.png"]
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.ci
@pytest.mark.usefixtures("nothing_measured")
def test_without_a_run_it_takes_the_newest_reference_run_of_the_preset_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(ROOT / "results" / "reference")
    (tmp_path / "inside").mkdir()

    run(monkeypatch, tmp_path / "inside", "-f", "kernel.json")  # as a notebook's kernel is started

    assert f"<Results of {QUICK.name}" in capsys.readouterr().out


@pytest.mark.night
def test_it_measures_threads_and_asyncio_with_1_to_50_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, tmp_path, QUICK)

    shown = capsys.readouterr().out
    for name in ("native_asyncio", "thread_pool"):
        for number in (1, 10, 50):
            assert any(line.split()[:2] == [name, str(number)] for line in shown.splitlines())


def test_jupyter_has_the_same_cells_without_output() -> None:
    assert notebook.main(["--check"]) == 0
    cells = json.loads(NOTEBOOK.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]

    assert len(cells) == NOTEBOOK.read_text(encoding="utf-8").count("# %%")
    assert not [cell for cell in cells if cell.get("outputs")]
    order = ["1. Demo", "2. Prediction", "3. Measurement", "4. Plot", "5. A larger run", "6. Exercises"]
    headings = [line.strip() for cell in cells for line in cell["source"] if line.startswith("## ")]
    assert headings == [f"## {title}" for title in order]
