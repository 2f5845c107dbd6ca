"""``inflight race`` as a command, without a terminal."""

import json
import re
import shutil
from pathlib import Path

import pytest

from inflight.bench.plan.experiment import load
from inflight.bench.plan.trials import expand
from inflight.bench.rows.files import append, read
from inflight.strategies import describe, models, names
from tests.cli.command import call
from tests.race.made_races import runner

RACE_RUN = next(Path(__file__).parents[2].glob("results/reference/*-race"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the reference run's rows."""
    copy = tmp_path / RACE_RUN.name
    copy.mkdir()
    shutil.copy(RACE_RUN / "rows.jsonl.xz", copy)
    return copy


def test_a_stored_run_gives_the_finish_and_a_page(folder: Path) -> None:
    done = call("race", folder)

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[2] == "50 ms added latency, 100 in flight: 300 pages"
    assert [line.split()[:2] for line in (lines[5], lines[10])] == [["callbacks", "1"], ["sequential", "6"]]
    assert "\x1b" not in done.out + done.err
    assert done.err == f"race:  {folder / 'race.html'}\n"
    text = (folder / "race.html").read_text(encoding="utf-8")
    (block,) = re.findall(r'<script type="application/json" id="race-data">(.*?)</script>', text)
    assert json.loads(block)["races"]


def test_only_some_strategies_may_race(folder: Path) -> None:
    done = call("race", folder, "--strategy", "callbacks", "--strategy", "thread_pool")

    assert [line.split()[:2] for line in done.out.splitlines()[5:7]] == [["callbacks", "1"], ["thread_pool", "2"]]
    assert "aiohttp" not in (folder / "race.html").read_text(encoding="utf-8")


def test_the_page_of_a_stored_run_is_written_where_out_says(folder: Path, tmp_path: Path) -> None:
    before = {path.name for path in folder.iterdir()}

    done = call("race", folder, "--out", tmp_path / "new" / "place")

    page = tmp_path / "new" / "place" / "race.html"
    assert (done.code, done.err) == (0, f"race:  {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in folder.iterdir()} == before


def test_a_page_that_cannot_be_written_does_not_stop_the_race(tmp_path: Path) -> None:
    append(tmp_path, runner("callbacks"))
    append(tmp_path, runner("generators"))
    (tmp_path / "race.html").mkdir()

    done = call("race", tmp_path)

    assert done.code == 0
    assert "cannot write" in done.err
    assert "callbacks" in done.out


def test_the_preset_lets_everyone_crawl_the_same_pages() -> None:
    preset = load("race", names())
    trials = expand(preset, {name: describe(name) for name in preset.strategies})

    assert {trial.strategy for trial in trials} == set(models())
    assert {trial.workload.site.pages for trial in trials if hasattr(trial, "workload")} == {300}
    assert {trial.strategy: trial.workload.in_flight for trial in trials if hasattr(trial, "workload")} == {
        name: 1 if name == "sequential" else 100 for name in models()
    }


@pytest.mark.night
def test_without_a_run_the_preset_is_measured_and_raced(tmp_path: Path) -> None:
    done = call("race", "--strategy", "callbacks", "--strategy", "generators", folder=tmp_path)

    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.endswith("-race")
    found = read(folder)
    assert [row.status for row in found] == ["ok"] * 6
    assert done.code == (0 if any(row.valid for row in found) else 1), "on a busy machine all trials may be invalid"
    assert (folder / "race.html").is_file()
    assert "callbacks" in done.out
