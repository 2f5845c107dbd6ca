"""``inflight run`` when it is interrupted or killed: what is kept, what is left behind, and how it goes on."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inflight.bench.core import rows
from tests.cli.command import Running, await_end, inflight, running
from tests.measure.workshop import Workshop

TRIALS = 8
LONG = """
strategies = ["callbacks", "thread_pool"]
rounds = 2
[[memory]]
in_flight = [1, 2]
site = { links = 0 }
"""
LATE = "strategies = ['callbacks']\ndeadline_s = 0.001\n[[crawl]]\npages = 5\n"


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "long.toml"
    path.write_text(LONG, encoding="utf-8")
    return path


@pytest.fixture
def begun(long: Path, tmp_path: Path) -> Iterator[Running]:
    """Return a run that has finished one trial and is in the middle of another."""
    with running("run", long, folder=tmp_path) as started:
        while f"1/{TRIALS} " not in (line := started.read_error_line()):
            assert line, "the run ended before its first trial"
        yield started


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


def assert_resumes(folder: Path) -> None:
    done = inflight("run", "--resume", folder, calm=True)

    found = rows.read(folder)
    assert done.code == 0
    assert len(found) == len({row.trial for row in found}) == TRIALS
    assert {row.status for row in found} == {"ok"}
    assert {row.run for row in found} == {folder.name}
    assert (folder / "rows.csv").read_text(encoding="utf-8").count("\n") == TRIALS + 1


@pytest.mark.parametrize("whole_group", [False, True], ids=["the_process", "the_terminal"])
def test_ctrl_c_keeps_rows_and_leaves_nothing_behind(begun: Running, tmp_path: Path, whole_group: bool) -> None:
    family = begun.family_when(2)

    begun.interrupt(whole_group=whole_group)
    done = begun.end()

    folder = only_run(tmp_path)
    finished = rows.read(folder)
    assert done.code == 130
    assert done.out.strip(), "the rows so far are shown, of whatever kind they are"
    await_end(family)
    assert 1 <= len(finished) < TRIALS
    last = done.err.splitlines()[-1]
    assert f"{len(finished)} of {TRIALS} trials" in last
    assert last.endswith(f"inflight run --resume {folder.relative_to(tmp_path)}")
    if whole_group:
        assert_resumes(folder)


def test_ctrl_c_twice_leaves_nothing_behind_either(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.add_strategy("hangs", "def crawl(job, frontier):\n    time.sleep(1000)")
    workshop.write_experiment("strategies = ['hangs']\n[[crawl]]\npages = 5\n")
    with running("run", "experiment.toml", folder=tmp_path) as started:
        family = started.family_when(2)
        started.interrupt()
        time.sleep(0.2)  # in the half second in which the worker may end by itself
        started.interrupt()
        done = started.end()

    assert done.code == 130
    await_end(family)
    assert rows.read(only_run(tmp_path)) == []


def test_sigterm_is_the_same_as_ctrl_c(begun: Running, tmp_path: Path) -> None:
    family = begun.family_when(2)

    begun.process.send_signal(signal.SIGTERM)
    done = begun.end()

    assert done.code == 130
    await_end(family)
    assert len(rows.read(only_run(tmp_path))) >= 1


def test_server_and_worker_end_with_a_killed_runner(begun: Running, tmp_path: Path) -> None:
    family = begun.family_when(2)

    begun.process.kill()

    await_end(family)
    begun.process.wait()
    folder = only_run(tmp_path)
    with (folder / rows.ROWS_FILE).open("ab") as file:
        file.write(b'{"format":1,"run":"half-writ')
    assert_resumes(folder)


def test_resuming_a_finished_run_from_inside_its_folder_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    inflight("run", "late.toml", folder=tmp_path)
    folder = only_run(tmp_path)
    before = (folder / rows.ROWS_FILE).read_bytes()

    done = inflight("run", "--resume", ".", folder=folder)

    assert done.code == 1, "its only row is a timeout"
    assert (folder / rows.ROWS_FILE).read_bytes() == before
    assert "1/1" not in done.err


def test_unreadable_rows_are_named_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    inflight("run", "late.toml", folder=tmp_path)
    path = only_run(tmp_path) / rows.ROWS_FILE
    path.write_bytes(b"rubbish\n" + path.read_bytes())
    before = path.read_bytes()

    done = inflight("run", "--resume", only_run(tmp_path))

    assert f"{path}, line 1: " in done.sentence
    assert path.read_bytes() == before
