"""Whether a process is alive: real processes, observed with a clock of the test."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from inflight.bench.measure.swarm.crowd import LOOK_EVERY_S, Pulse
from tests.processes import run_to_end

LIMIT_S = 30
READY = "print('ready', flush=True); "
WAITING = READY + "import sys; sys.stdin.readline()"
BUSY = READY + "exec('while True: pass')"
TALKING = READY + "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@contextmanager
def running(code: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def stop(process: "subprocess.Popen[str]") -> None:
    """Stop a process, and wait until it has stopped."""
    process.send_signal(signal.SIGSTOP)
    await_state(process, "T")


def await_state(process: "subprocess.Popen[str]", letter: str) -> None:
    """Wait until ps(1) shows a process in this state: S, it sleeps; T, it is stopped."""
    while not _state(process).startswith(letter):
        pass


def _state(process: "subprocess.Popen[str]") -> str:
    return run_to_end(["ps", "-o", "state=", "-p", str(process.pid)], check=True).stdout


def looked_at(pulse: Pulse, clock: Clock, seconds: int) -> bool:
    """Observe a process once a second for this many seconds; return whether it then counts as stalled."""
    for _ in range(seconds):
        clock.now_s += LOOK_EVERY_S
        still = pulse.stands_still(LIMIT_S)
    return still


def test_a_sleeping_process_counts_as_stalled_at_the_limit_and_not_before() -> None:
    clock = Clock()
    with running(WAITING) as process:
        await_state(process, "S")
        pulse = Pulse(process.pid, clock)

        assert not looked_at(pulse, clock, LIMIT_S - 1)
        assert looked_at(pulse, clock, 1)


def test_a_process_that_waits_for_a_core_is_alive() -> None:
    clock = Clock()
    with running(BUSY) as process:
        pulse = Pulse(process.pid, clock)

        assert not looked_at(pulse, clock, 10 * LIMIT_S)


def test_a_process_that_continues_after_a_stop_is_alive_again() -> None:
    clock = Clock()
    with running(TALKING) as process:
        stop(process)
        pulse = Pulse(process.pid, clock)
        assert not looked_at(pulse, clock, LIMIT_S - 2)
        process.send_signal(signal.SIGCONT)
        assert process.stdin is not None
        assert process.stdout is not None
        print("word", file=process.stdin, flush=True)
        process.stdout.readline()

        assert not looked_at(pulse, clock, LIMIT_S - 2)


def test_time_without_observation_does_not_count() -> None:
    clock = Clock()
    with running(WAITING) as process:
        pulse = Pulse(process.pid, clock)
        clock.now_s += 100 * LIMIT_S

        assert not pulse.stands_still(LIMIT_S)


def test_a_process_that_has_ended_does_not_count_as_stalled() -> None:
    clock = Clock()
    with running(WAITING) as process:
        pulse = Pulse(process.pid, clock)
        process.kill()
        process.wait()

        assert not looked_at(pulse, clock, LIMIT_S + 1)
