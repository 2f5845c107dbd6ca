"""The fuzz programs, each on a fixed set of cases; ``make fuzz`` looks for new ones."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def fuzz(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / program), "--seed", "12", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_no_known_response_ends_a_crawl() -> None:
    run = fuzz("client.py", "--cases", "3000")

    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert run.stdout == "client: 3,000 cases with seed 12, nothing found\n"


def test_no_known_client_disturbs_the_server() -> None:
    run = fuzz("server.py", "--cases", "640")

    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert run.stdout == "server: 640 cases with seed 12, nothing found\n"


@pytest.mark.slow
def test_no_known_row_is_read_and_cannot_be_shown() -> None:
    run = fuzz("rows.py", "--cases", "2")

    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert run.stdout == "rows: 2 cases with seed 12, nothing found\n"
