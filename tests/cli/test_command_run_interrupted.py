"""``inflight run`` when it is interrupted or killed: what is kept, what is left behind, and how it goes on."""

import signal
from pathlib import Path

import pytest

from inflight.bench.rows import files as rows
from tests.cli.command import await_end, call, running
from tests.patience import FOREVER_S, until

EXPERIMENT = """
strategies = ["callbacks", "./gate.py"]
rounds = 1
seed = 5
deadline_s = 3600
[[crawl]]
pages = 5
in_flight = [5]
"""
GATE = """
import pathlib, signal, time
from inflight.strategies.callbacks import crawl as whole
STACK = "shared"
REQUIRES = ()

def crawl(job, frontier):
    {before}
    pathlib.Path("{folder}/waits").touch()
    while not pathlib.Path("{folder}/open").exists():
        time.sleep({sleep_s})
    whole(job, frontier)
"""
"""A model that crawls when a file says so."""


def write(folder: Path, sleep_s: float, before: str = "") -> None:
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    text = GATE.format(folder=folder, sleep_s=sleep_s, before=before)
    (folder / "gate.py").write_text(text, encoding="utf-8")


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


def test_a_run_goes_on_after_ctrl_c_in_its_terminal_and_after_sigkill(tmp_path: Path) -> None:
    write(tmp_path, sleep_s=0.01)
    words: tuple[object, ...] = ("experiment.toml",)
    for number in (signal.SIGINT, signal.SIGKILL):
        with running("run", *words, folder=tmp_path) as started:
            until((tmp_path / "waits").exists)
            (tmp_path / "waits").unlink()
            family = started.family_when(2)
            if number == signal.SIGINT:
                started.interrupt(whole_group=True)
            else:
                started.process.send_signal(number)
            if number == signal.SIGKILL:  # the worker of a killed runner ends with its crawl, or at its deadline
                (tmp_path / "open").touch()
            done = started.end()
        await_end(family)
        folder = only_run(tmp_path)
        words = ("--resume", folder)
        assert len(rows.read(folder)) == 1
        if number != signal.SIGKILL:
            assert done.code == 130
            assert "callbacks" in done.out, "the rows so far are shown"
            (word,) = (line for line in done.err.splitlines() if "interrupted" in line)
            assert word.startswith("interrupted; rows kept in ")
            assert word.endswith(f"{folder.name}: 1; continue: inflight run --resume results/{folder.name}")
            assert done.err.index(word) < done.err.index("page:  "), "the page comes later"
    with (folder / rows.ROWS_FILE).open("ab") as file:
        file.write(b'{"format":1,"run":"half-writ')

    done = call("run", "--resume", folder)

    found = rows.read(folder)
    assert done.code == (0 if any(row.valid for row in found) else 1)
    assert [(row.strategy, row.status, row.run) for row in found] == [
        (name, "ok", folder.name) for name in ("callbacks", "gate")
    ]
    assert (folder / "rows.csv").read_text(encoding="utf-8").count("\n") == 3


def test_ctrl_c_twice_leaves_nothing_behind_of_a_model_that_ignores_it(tmp_path: Path) -> None:
    write(tmp_path, FOREVER_S, before="signal.signal(signal.SIGINT, signal.SIG_IGN)")
    with running("run", "experiment.toml", "--strategy", "./gate.py", folder=tmp_path) as started:
        until((tmp_path / "waits").exists)
        family = started.family()
        started.interrupt()
        started.interrupt()
        done = started.end()

    assert done.code == 130
    await_end(family)
    assert rows.read(only_run(tmp_path)) == []


def test_where_the_rows_are_is_said_before_anything_is_drawn(tmp_path: Path) -> None:
    write(tmp_path, FOREVER_S)
    with running("run", "experiment.toml", folder=tmp_path) as started:
        until((tmp_path / "waits").exists)
        (only_run(tmp_path) / "plots").write_text("a plot cannot be drawn here", encoding="utf-8")
        started.process.terminate()
        done = started.end()

    words = [line for line in done.err.splitlines() if "rows kept in" in line]
    assert done.code == 2
    assert "cannot write" in done.err.splitlines()[-1]
    assert [f"inflight run --resume results/{only_run(tmp_path).name}" in word for word in words] == [True]


@pytest.mark.ci
def test_rows_that_are_deleted_in_mid_run_are_written_again(tmp_path: Path) -> None:
    write(
        tmp_path, sleep_s=0, before=f"[file.unlink() for file in pathlib.Path('{tmp_path}').glob('results/*/*.jsonl')]"
    )
    (tmp_path / "open").touch()

    done = call("run", "experiment.toml", "--rounds", 2, folder=tmp_path)

    assert done.code == 0
    assert len(rows.read(only_run(tmp_path))) == 4
    assert "rows.jsonl was changed during the run by another program: " in done.err
    assert " written again" in done.err


def test_a_folder_that_is_removed_in_mid_run_is_named(tmp_path: Path) -> None:
    write(tmp_path, sleep_s=0, before=f"__import__('shutil').rmtree(pathlib.Path('{tmp_path}') / 'results')")
    (tmp_path / "open").touch()

    done = call("run", "experiment.toml", folder=tmp_path)

    assert done.code == 2
    assert "was removed during the run, with its rows; start a new run" in done.err
