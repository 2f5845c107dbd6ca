"""``make speed``, shortened: the real server and strategies, and a substitute for wrk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT

SHORT = ("--rounds", "1", "--pages", "300", "--seconds", "1")


def speed(path: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.speed", *options],
        env=ENVIRONMENT | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_wrk_it_says_how_to_get_it(tmp_path: Path) -> None:
    assert shutil.which("wrk", path=str(tmp_path)) is None

    done = speed(str(tmp_path), *SHORT)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "speed: wrk is not installed; get it with: apt install wrk (Debian, Ubuntu), brew install wrk (macOS)\n"
    )


@pytest.mark.parametrize("option", ["--rounds", "--pages", "--seconds"])
def test_a_size_of_zero_is_refused(option: str) -> None:
    done = speed(os.environ["PATH"], option, "0")

    assert done.returncode == 2
    assert f"argument {option}: invalid" in done.stderr
