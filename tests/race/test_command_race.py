"""``inflight race`` as a command, without a terminal."""

import shutil
from pathlib import Path

import pytest

from inflight.bench.rows.files import append, read
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
    some = call("race", folder, "--strategy", "callbacks", "--strategy", "thread_pool")

    lines = done.out.splitlines()
    assert lines[2] == "50 ms latency, 100 in flight: 300 pages"
    assert [line.split()[:2] for line in (lines[6], lines[11])] == [["callbacks", "1"], ["sequential", "6"]]
    assert "\x1b" not in done.out + done.err
    assert (done.code, done.err) == (0, f"race:  {folder / 'race.html'}\n")
    assert [line.split()[:2] for line in some.out.splitlines()[6:8]] == [["callbacks", "1"], ["thread_pool", "2"]]
    assert "aiohttp" not in (folder / "race.html").read_text(encoding="utf-8")


def test_the_page_of_a_stored_run_is_written_where_out_says(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "place" / "race.html"

    done = call("race", folder, "--out", page.parent)

    assert (done.code, done.err) == (0, f"race:  {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not (folder / "race.html").exists()


def test_a_page_that_cannot_be_written_does_not_stop_the_race(tmp_path: Path) -> None:
    append(tmp_path, runner("callbacks"))
    append(tmp_path, runner("generators"))
    (tmp_path / "race.html").mkdir()

    done = call("race", tmp_path)

    assert (done.code, "cannot write" in done.err, "callbacks" in done.out) == (0, True, True)


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
