"""The neighbour that disturbs on purpose: it runs as long as it should, and no longer."""

import os
import subprocess
import sys
from random import Random
from types import SimpleNamespace

import psutil
import pytest

from inflight.bench.measure.host import usable_cores
from inflight.bench.measure.neighbour import KINDS, disturb, neighbour
from inflight.bench.measure.process import environment
from tests.patience import ended, until
from tests.processes import run_to_end

NEIGHBOUR = [sys.executable, "-m", "tools.neighbour"]
_PAUSE = [sys.executable, "-c", "import signal; signal.pause()"]


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [*NEIGHBOUR, *words]
    return run_to_end(command, env=environment())


def neighbours_of(pid: int, count: int) -> list[psutil.Process]:
    """Wait until a process has this many neighbours, and return them."""

    def look() -> list[psutil.Process]:
        children = [child for child in psutil.Process(pid).children() if not ended(child)]
        found = [child for child in children if "inflight.bench.measure.neighbour" in child.cmdline()]
        return found if len(found) == count else []

    return until(look)


@pytest.mark.parametrize("kind", KINDS)
def test_each_core_has_a_neighbour_that_uses_cpu_time_and_ends_with_the_block(kind: str) -> None:
    with neighbour(kind, usable_cores()):
        found = neighbours_of(os.getpid(), len(usable_cores()))
        until(lambda: all(sum(one.cpu_times()[:2]) > 0.1 for one in found))
        if sys.platform == "linux":
            until(lambda: sorted(one.cpu_affinity() for one in found) == [[core] for core in usable_cores()])

    assert not any(one.is_running() for one in found)


def test_a_neighbour_ends_when_the_block_fails() -> None:
    found: list[psutil.Process] = []

    def fail() -> None:
        with neighbour("spin", usable_cores()[:1]):
            found.extend(neighbours_of(os.getpid(), 1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not any(one.is_running() for one in found)


def test_a_neighbour_ends_with_its_parent_even_if_that_is_killed() -> None:
    with subprocess.Popen([*NEIGHBOUR, "--", *_PAUSE], env=environment()) as process:
        neighbours = neighbours_of(process.pid, len(usable_cores()))
        (command,) = until(lambda: set(psutil.Process(process.pid).children()) - set(neighbours))
        process.kill()
    try:
        assert psutil.wait_procs(neighbours)[1] == []
    finally:
        command.kill()


@pytest.mark.parametrize("share", [0.001, 1.0])
def test_a_neighbour_ends_after_its_time(share: float) -> None:
    before = psutil.Process().children()
    with neighbour("spin", usable_cores()[:1], share, most_s=0.01):
        (found,) = set(psutil.Process().children()) - set(before)  # which may have ended already
        result = os.waitid(os.P_PID, found.pid, os.WEXITED | os.WNOWAIT)
        assert result is not None
        assert result.si_status == 0


def test_work_is_done_in_bursts_for_about_the_requested_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = worked_s = 0.0

    def passing(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def work() -> None:
        nonlocal worked_s
        passing(0.001)
        worked_s += 0.001

    monkeypatch.setattr(
        "inflight.bench.measure.neighbour.time", SimpleNamespace(monotonic=lambda: now_s, sleep=passing)
    )
    disturb(work, 0.25, Random(1), lambda: now_s > 600)

    assert worked_s / now_s == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_is_that_of_the_command(code: int) -> None:
    assert run("--", sys.executable, "-c", f"raise SystemExit({code})").returncode == code


def test_an_invalid_share_is_refused() -> None:
    done = run("--share", "0", "--", "true")

    assert done.returncode == 2
    assert "--share must be above 0 and at most 1" in done.stderr
