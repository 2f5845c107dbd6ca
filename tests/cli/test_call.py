"""``call`` leaves this process as it was, so that a second call is as good as a first one, or as a process."""

import logging
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from tests.cli.command import HANDLED, adopts_orphans, call, inflight
from tests.race.made_races import runner
from tests.runs.made_runs import noisy_run, saved

STRATEGY = '"""{0} words."""\nSTACK = "own"\nREQUIRES = ()\n\n\ndef crawl(job, frontier): ...\n'
COMMANDS = [
    "list ./mine.py", "dance", "run nothing", "run smoke --dry-run --strategy ./mine.py",
    "report base --output page.html",
    "report base --format terminal", "compare base head", "race raced --out there",
    "crawl http://127.0.0.1:9/ --max-tries 1",
]  # fmt: skip
"""What sets a signal's handler, adopts orphans, registers a file, draws, starts processes, refuses or fails."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("called")
    (place / "mine.py").write_text(STRATEGY.format("My"), encoding="utf-8")
    saved(place / "base", noisy_run(1))
    saved(place / "head", noisy_run(2))
    saved(place / "raced", [runner("callbacks", [5, 5]), runner("sequential", [1] * 10)])
    return place


def state() -> list[Any]:
    """Return what a command may change in its process."""
    fonts, root = logging.getLogger("matplotlib.font_manager"), logging.getLogger()
    return [
        dict(os.environ), Path.cwd(), list(sys.argv), sys.stdin, sys.stdout, sys.stderr, sys.__stdout__,
        [signal.getsignal(number) for number in HANDLED], list(warnings.filters), adopts_orphans(),
        root.level, list(root.handlers), fonts.level, dict(mpl.rcParams), threading.enumerate(),
        os.sched_getaffinity(0) if sys.platform == "linux" else None,
    ]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_a_call_leaves_no_trace_and_the_next_one_says_the_same(folder: Path, words: str) -> None:
    before = state()

    first = call(*words.split(), folder=folder)
    after = state()
    again = call(*words.split(), folder=folder)

    assert after == before == state()
    if not words.startswith("crawl"):  # which prints times
        assert again == first


def test_a_call_is_as_good_as_a_process(folder: Path) -> None:
    for words in (["compare", "base", "head"], ["run", "nothing"], ["list"]):
        assert call(*words, folder=folder) == inflight(*words, folder=folder)


def test_a_file_of_the_same_name_in_another_folder_is_another_strategy(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(STRATEGY.format(name), encoding="utf-8")

        assert f"{name} words\n" in call("list", "./mine.py", folder=tmp_path / name).out


def test_the_width_of_the_terminal_is_that_of_the_call_alone() -> None:
    narrow, wide, usual, told_none = (call("run", "--help", columns=columns).out for columns in (60, 100, 80, None))

    assert narrow != usual != wide
    assert told_none == usual
