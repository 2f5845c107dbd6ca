"""The neighbour that tests/busy.py makes: it is there while the command runs, and never longer."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import busy
from tests.patience import HANG_S

BUSY = [sys.executable, str(Path(busy.__file__))]
_SLEEP = [sys.executable, "-c", "import time; time.sleep(1000)"]


def neighbours_of(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """Wait until there is a neighbour for each core, and return them."""
    while True:
        children = psutil.Process(process.pid).children()
        found = [child for child in children if any("spawn_main" in word for word in child.cmdline())]
        if len(found) == len(busy.cores()):
            return found
        time.sleep(0.01)


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_is_that_of_the_command(code: int) -> None:
    command = [sys.executable, "-c", f"raise SystemExit({code})"]

    assert subprocess.run([*BUSY, "--", *command], check=False, timeout=HANG_S).returncode == code


def test_a_neighbour_ends_with_the_program_even_if_that_is_killed() -> None:
    with subprocess.Popen([*BUSY, "--", *_SLEEP]) as process:
        neighbours = neighbours_of(process)
        family = psutil.Process(process.pid).children()
        process.kill()
    try:
        assert psutil.wait_procs(neighbours, timeout=HANG_S)[1] == []
    finally:
        for left in family:
            if left.is_running():
                left.kill()


def test_a_neighbour_computes_on_every_core_and_ends_after_its_time() -> None:
    with subprocess.Popen([*BUSY, "--seconds", "2", "--", *_SLEEP]) as process:
        try:
            neighbours = neighbours_of(process)
            used_s = {neighbour.pid: 0.0 for neighbour in neighbours}
            while left := [neighbour for neighbour in neighbours if neighbour.is_running()]:
                for neighbour in left:
                    try:
                        used_s[neighbour.pid] = sum(neighbour.cpu_times()[:2])
                        finished = neighbour.status() == psutil.STATUS_ZOMBIE
                    except psutil.NoSuchProcess:
                        finished = True
                    if finished:
                        neighbours.remove(neighbour)
                time.sleep(0.02)
        finally:
            for child in psutil.Process(process.pid).children():
                child.kill()

    assert all(used_s.values())


def test_a_share_that_is_none_is_refused() -> None:
    done = subprocess.run([*BUSY, "--share", "0", "--", "true"], check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert "--share must be above 0 and at most 1" in done.stderr
