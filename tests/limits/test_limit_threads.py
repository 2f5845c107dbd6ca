"""Threads that really reach a limit, and a child that leaves nothing behind: deadlines, budgets, killed parents."""

import json
import os
import platform
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import psutil
import pytest

from inflight.bench.measure.limits import descriptor_shortage, find, server_shortage, thread_shortage
from inflight.bench.measure.limits.threads import Bounds, probing, ramp
from inflight.bench.measure.process import WorkerError, environment
from tests.cli.command import await_end, inflight
from tests.patience import FOREVER_S

MIB = 1 << 20
MANY = 1 << 50
PARENT = f"""
import sys
from inflight.bench.measure.limits.threads import Bounds, probing, ramp
bounds = Bounds.of({FOREVER_S}, 1 << 40)
with probing(bounds) as child:
    ramp(child, bounds, 10)
    print(child.pid, flush=True)
    sys.stdin.read()
"""
linux = pytest.mark.skipif(platform.system() != "Linux", reason="less is known elsewhere")


def generous() -> Bounds:
    return replace(Bounds.of(FOREVER_S, 0), min_available_bytes=0)


# Limits that are really reached


@linux
def test_threads_end_at_the_address_space_by_name() -> None:
    done = inflight("limits", "threads", "--json", limit=("RLIMIT_AS", 600 * MIB))

    answer = json.loads(done.out)["threads"]
    assert (answer["stopped_by"], answer["bound_by"]) == ("failure", "RLIMIT_AS")
    assert 2 <= answer["found"] < 75, "with 8 MiB each"
    assert "the parent could still start a process" in answer["evidence"]
    assert answer["next"]["name"] != "RLIMIT_AS"
    assert answer["timeline"][-1][1] == answer["found"]


@linux
@pytest.mark.parametrize(
    ("bounds", "stopped_by", "min_found"),
    [({"memory_budget_bytes": 20_000_000}, "memory budget", 1), ({"deadline_s": 0}, "deadline", None)],
)
def test_a_ramp_ends_before_any_limit_at(bounds: dict[str, Any], stopped_by: str, min_found: int | None) -> None:
    answer = find("threads", **bounds)

    assert (answer["stopped_by"], answer["bound_by"]) == (stopped_by, None)
    assert answer["found"] is min_found or min_found <= answer["found"] < answer["predicted"]
    assert stopped_by in answer["evidence"][0]
    assert answer["predicted"] > 0


# Shortages


def test_a_shortage_of_threads_is_one_sentence_with_the_limit_and_what_would_do() -> None:
    sentence = thread_shortage(1 << 40)

    assert sentence is not None
    assert "\n" not in sentence
    assert "use at most" in sentence
    assert "or raise it: " in sentence
    assert thread_shortage(1) is None


def test_a_shortage_of_descriptors_has_the_limit_and_what_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 20_000))

    assert descriptor_shortage(9968, per_fetch=True) is None
    assert descriptor_shortage(9969, per_fetch=True) == (
        "9,969 in flight need 20,002 descriptors, but RLIMIT_NOFILE (ulimit -Hn) is 20,000; "
        "use at most 9,968, or raise the limit"
    )
    assert server_shortage([(4096, False)] * 4) is None
    assert server_shortage([(4096, True)] * 4) is not None
    sentence = server_shortage([(4096, False)] * 5) or ""
    assert sentence.startswith("the 5 arms of a block are alive at once, and their server needs 20,544 descriptors")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 65))
    assert (descriptor_shortage(1, per_fetch=True) or "").endswith("is 65; raise the limit")


# The child and its watchdog


def test_a_child_continues_its_ramp_and_ends_with_the_probe() -> None:
    with probing(generous()) as child:
        process = psutil.Process(child.pid)
        first = ramp(child, generous(), 10)
        second = ramp(child, generous(), 25)
        threads = process.num_threads()

    assert (first.count, first.ended) == (10, "reached")
    assert (second.count, second.ended) == (25, "reached")
    assert threads == 26
    await_end([process])


@pytest.mark.parametrize(
    ("bounds", "ended"), [(Bounds(0, 0), "deadline"), (Bounds(float("inf"), MANY), "memory budget")]
)
def test_a_child_that_exceeds_a_bound_is_killed(bounds: Bounds, ended: str) -> None:
    with probing(generous()) as child:
        end = ramp(child, bounds, MANY)

        assert end.ended == ended
        assert child.process.returncode == -signal.SIGKILL
    with pytest.raises(WorkerError, match=ended), probing(bounds):
        pass


def test_the_error_of_a_dead_child_has_its_last_words() -> None:
    with probing(generous()) as child:
        os.kill(child.pid, signal.SIGKILL)
        end = ramp(child, generous(), 10)

    assert (end.ended, "killed by signal 9" in (end.error or "")) == ("died", True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_parent_leaves_no_child(number: signal.Signals) -> None:
    command = [sys.executable, "-c", PARENT]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    with subprocess.Popen(command, text=True, env=environment(), **pipes) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))

        parent.send_signal(number)

        await_end([child])
        assert parent.wait() != 0
