"""``make speed``, shortened: the real server and strategies, and a substitute for wrk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT
from tests.selftest.test_wrk_report import FAST
from tools.speed import TARGETS

FAKE_WRK = f"""#!{sys.executable}
import http.client
import sys
from urllib.parse import urlsplit

url = urlsplit(sys.argv[-1])
connection = http.client.HTTPConnection(url.hostname, url.port)
for _ in range(5):
    connection.request("GET", url.path)
    response = connection.getresponse()
    assert response.status == 200 and response.read()
print('''{FAST}''')
"""
SHORT = ("--rounds", "1", "--pages", "300", "--seconds", "1")


def speed(path: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.speed", *options],
        env=ENVIRONMENT | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.night
def test_every_target_is_measured_and_one_that_is_missed_is_exit_1(tmp_path: Path) -> None:
    program = tmp_path / "wrk"
    program.write_text(FAKE_WRK, encoding="utf-8")
    program.chmod(0o755)

    done = speed(f"{tmp_path}{os.pathsep}{os.environ['PATH']}", *SHORT)

    assert "Traceback" not in done.stderr
    lines = done.stdout.splitlines()[: len(TARGETS)]
    found = {target.what: line[:4].strip() for target in TARGETS.values() for line in lines if target.what in line}
    assert len(found) == len(TARGETS)
    assert found[TARGETS["server"].what] == "MISS", "wrk said the same of both servers"
    assert found[TARGETS["errors"].what] == "ok"
    assert "server requests/s" in done.stdout
    met = sum(mark == "ok" for mark in found.values())
    assert f"{met} of {len(TARGETS)} targets met" in done.stdout
    assert done.returncode == 1


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
