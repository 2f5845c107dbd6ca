"""Timers on a real event loop: never early, in order, and all of them."""

import asyncio
import sys
import time
from random import Random

import pytest
import uvloop

from inflight.fake_server.timers import LoopAlarm, MakeAlarm, TimerfdAlarm, Timers

ALARMS: list[MakeAlarm] = [LoopAlarm, TimerfdAlarm] if sys.platform == "linux" else [LoopAlarm]
MS = 1_000_000


class Served:
    """The due times that were served, and an event for when they are all."""

    def __init__(self, expected: int) -> None:
        self.due_ns: list[int] = []
        self.expected = expected
        self.all = asyncio.Event()

    def add(self, due_ns: int) -> None:
        self.due_ns.append(due_ns)
        if len(self.due_ns) == self.expected:
            self.all.set()


class Waiter:
    """Notes when it was called, and starts again as often as it was told to."""

    def __init__(self, timers: Timers, delays_ns: list[int], served: "Served") -> None:
        self.timers = timers
        self.delays_ns = delays_ns
        self.served = served
        self.go_on()

    def go_on(self) -> None:
        self.not_before_ns = time.monotonic_ns() + self.delays_ns[-1]
        self.timers.after(self.delays_ns.pop(), self)

    def due(self, due_ns: int) -> None:
        now_ns = time.monotonic_ns()
        assert now_ns >= due_ns >= self.not_before_ns
        self.served.add(due_ns)
        if self.delays_ns:
            self.go_on()


@pytest.mark.parametrize("alarm", ALARMS)
@pytest.mark.parametrize("most_ms", [0, 1, 30])
def test_everything_is_served_and_nothing_early(alarm: MakeAlarm, most_ms: int) -> None:
    random, served = Random(1), Served(1000)

    async def serve_all() -> None:
        timers = Timers(asyncio.get_running_loop(), alarm)
        for _ in range(200):
            Waiter(timers, [random.randint(0, most_ms * MS) for _ in range(5)], served)
        await served.all.wait()
        timers.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_all())

    assert len(served.due_ns) == 1000


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_earlier_time_overtakes_a_later_one(alarm: MakeAlarm) -> None:
    served = Served(3)

    async def serve_both() -> None:
        timers = Timers(asyncio.get_running_loop(), alarm)
        for delay_ns in (20 * MS, 5 * MS, 10 * MS):
            Waiter(timers, [delay_ns], served)
        await served.all.wait()
        timers.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_both())

    assert served.due_ns == sorted(served.due_ns)
