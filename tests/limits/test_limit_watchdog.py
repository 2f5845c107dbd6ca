"""A probe leaves nothing behind: deadlines, budgets, killed parents, closed pipes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from inflight.bench.measure.limits import find
from inflight.bench.measure.limits.look import available_bytes
from inflight.bench.measure.limits.watch import Guard, ProbeError, probing
from inflight.bench.measure.process import environment
from tests.cli.command import await_end
from tests.patience import FOREVER_S

PLENTY = 1 << 50
"""Bytes: more than can be reserved before the deadline."""
PARENT = f"""
import sys
from inflight.bench.measure.limits.look import available_bytes
from inflight.bench.measure.limits.watch import Guard, probing
with probing("descriptors", Guard.of({FOREVER_S}, 1 << 40)) as probe:
    probe.ramp(10, 10)
    print(probe.pid, flush=True)
    sys.stdin.read()
"""


def generous() -> Guard:
    return replace(Guard.of(FOREVER_S, 0), least_available_bytes=0)


def test_a_child_continues_its_ramp_and_ends_with_the_probe() -> None:
    with probing("descriptors", generous()) as probe:
        child = psutil.Process(probe.pid)
        first = probe.ramp(10, 10)
        second = probe.ramp(25, 25)
        opened = child.num_fds()

    assert (first.count, first.ended) == (10, "reached")
    assert (second.count, second.ended) == (25, "reached")
    assert opened >= 25
    await_end([child])


def test_a_child_is_killed_at_the_deadline() -> None:
    with probing("memory", generous()) as probe:
        probe.guard = Guard(0, 0)
        ramp = probe.ramp(PLENTY, PLENTY)

        assert ramp.ended == "deadline"
        assert probe.worker.process.returncode == -signal.SIGKILL


def test_a_child_that_leaves_too_little_memory_is_killed() -> None:
    with probing("memory", generous()) as probe:
        probe.guard = replace(generous(), least_available_bytes=PLENTY)
        ramp = probe.ramp(PLENTY, PLENTY)

        assert ramp.ended == "memory budget"
        assert probe.worker.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("budget_bytes", [0, 1 << 20, 1 << 60])
def test_a_guard_keeps_a_part_of_the_memory_whatever_the_budget(budget_bytes: int) -> None:
    available = available_bytes()
    assert available is not None

    least = Guard.of(FOREVER_S, budget_bytes).least_available_bytes

    assert 0 < least < available


def test_the_error_of_a_dead_child_has_its_last_words() -> None:
    with probing("descriptors", generous()) as probe:
        os.kill(probe.pid, signal.SIGKILL)
        ramp = probe.ramp(10, 10)

    assert ramp.ended == "died"
    assert "killed by signal 9" in (ramp.error or "")


def test_a_child_that_cannot_start_is_an_error_with_a_reason() -> None:
    with probing("luck", generous()) as probe:
        ramp = probe.ramp(1, 1)
    assert "exited with 1: KeyError: 'luck'" in (ramp.error or "")
    with pytest.raises(ProbeError, match="not ready before its deadline"), probing("ports", Guard(0, 0)):
        pass


def test_an_exception_in_the_parent_ends_the_child() -> None:
    children = []

    def interrupted() -> None:
        with probing("descriptors", generous()) as probe:
            children.append(psutil.Process(probe.pid))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    await_end(children)


def test_a_search_without_time_ends_at_the_deadline() -> None:
    answer = find("descriptors", deadline_s=0)

    assert (answer["stopped_by"], answer["found"], answer["bound_by"]) == ("deadline", None, None)
    assert answer["predicted"] > 0


@pytest.fixture
def parent() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(),
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_parent_leaves_no_child(parent: "subprocess.Popen[str]", number: signal.Signals) -> None:
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))

    parent.send_signal(number)

    await_end([child])
    assert parent.wait() != 0


@pytest.mark.parametrize("order", [{"most": PLENTY, "every": PLENTY}, None], ids=["busy", "idle"])
def test_a_child_ends_at_the_end_of_its_input(order: dict[str, int] | None) -> None:
    child = subprocess.Popen(
        [sys.executable, "-S", "-P", "-m", "inflight.bench.measure.limits.child", str(os.getpid())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps({"resource": "memory", "lifetime_s": FOREVER_S}) + "\n")
    child.stdin.flush()
    assert json.loads(child.stdout.readline()) == {"event": "ready"}
    if order is not None:
        child.stdin.write(json.dumps(order) + "\n")

    child.stdin.close()

    assert child.wait() == 0
    child.stdout.close()


def test_a_child_ends_with_its_lifetime() -> None:
    child = subprocess.Popen(
        [sys.executable, "-S", "-P", "-m", "inflight.bench.measure.limits.child", str(os.getpid())],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment(),
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write(json.dumps({"resource": "memory", "lifetime_s": 0.2}) + "\n")
    child.stdin.flush()

    assert child.wait() == -signal.SIGALRM
    child.stdin.close()
