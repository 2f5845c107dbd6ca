"""The one place of the tests where time passes: waits for what must come, and the end of a test that hangs.

Time is counted in ticks of a thread of this process. A machine that stalls, or stops the process, gives no ticks, so
it makes no test fail. A test or a fixture therefore waits without a limit of its own.
"""

import faulthandler
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import TypeVar

import psutil
import pytest

TICK_S = 0.05
MAX_TICKS = 4_000
"""What has not happened by then never will: 200 seconds on a machine that does not stall."""
MAX_TICKS_MEASURED = 20_000
"""The same for tests that measure for minutes: those of ``make test-night``."""
LOOK_S = 0.01
FOREVER_S = 1_000_000.0
"""A deadline of the product, or a sleep of a process that is killed: no stall is as long."""
Value = TypeVar("Value")


def until(condition: Callable[[], Value]) -> Value:
    """Wait for a condition; return its first true value."""
    while not (value := condition()):
        time.sleep(LOOK_S)
    return value


def soon(condition: Callable[[], object]) -> bool:
    """Wait for a condition, and return True; return False if the ticks of a test pass meanwhile."""
    for _ in range(MAX_TICKS):
        if condition():
            return True
        time.sleep(TICK_S)
    return False


def stopwatch() -> Callable[[], float]:
    """Return a function that returns the seconds since now: to excuse what was slow, never to blame it."""
    began_s = time.monotonic()
    return lambda: time.monotonic() - began_s


def search(first: int, cases: int | None, seconds: float) -> Generator[int, None, None]:
    """Yield the numbers of cases for a program that searches: so many, or else until the time is up."""
    passed_s, number = stopwatch(), first
    while number - first < cases if cases is not None else passed_s() < seconds:
        yield number
        number += 1


def ended(process: psutil.Process) -> bool:
    """Whether a process, which may be nobody's child here, has ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class HangError(Exception):
    """A test did not end within its ticks."""


class Hang:
    """Ends a test that hangs: an exception in the main thread, after the tracebacks of all threads."""

    def __init__(self) -> None:
        self.left: int | None = None
        signal.signal(signal.SIGALRM, self.end)
        threading.Thread(target=self.tick, name="ticks", daemon=True).start()

    def tick(self) -> None:
        """Count down while a test runs."""
        while True:
            time.sleep(TICK_S)
            if self.left is not None:
                self.left -= 1
                if self.left == 0:
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def end(self, *_: object) -> None:
        """Print where all threads are, and raise HangError where the main thread waits."""
        faulthandler.dump_traceback(sys.__stderr__ or 2)
        raise HangError("the test hangs")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Start the countdown of a test, its fixtures included."""
        self.left = MAX_TICKS if item.get_closest_marker("night") is None else MAX_TICKS_MEASURED
        try:
            return (yield)
        finally:
            self.left = None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Hang(), "hang")
