"""Timers with a clock of the test: never early, in order, and all of them. Then with real alarms: all of them."""

import asyncio
import sys
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
import uvloop

from inflight.fake_server import timers
from inflight.fake_server.timers import LoopAlarm, MakeAlarm, TimerfdAlarm, Timers

ALARMS: list[MakeAlarm] = [LoopAlarm, TimerfdAlarm] if sys.platform == "linux" else [LoopAlarm]
MS = 1_000_000


class Clock:
    """The time, and an alarm that rings when the test says so."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.set_to_ns: int | None = None

    def make_alarm(self, _loop: object, ring: Callable[[], None]) -> "Clock":
        self.ring = ring
        return self

    def set(self, due_ns: int) -> None:
        self.set_to_ns = due_ns

    def clear(self) -> None:
        self.set_to_ns = None

    close = clear


class Waiter:
    """Notes its due times, and starts again as often as it was told to."""

    def __init__(self, own: Timers, delays_ns: list[int], served: list[int], on_end: Callable[[], None]) -> None:
        self.timers, self.delays_ns, self.served, self.on_end = own, delays_ns, served, on_end
        self.timers.after(self.delays_ns.pop(), self)

    def due(self, due_ns: int) -> None:
        self.served.append(due_ns)
        if self.delays_ns:
            self.timers.after(self.delays_ns.pop(), self)
        else:
            self.on_end()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timers, "time", SimpleNamespace(monotonic_ns=lambda: made.now_ns))
    return made


@pytest.mark.parametrize("most_ms", [0, 1, 30])
@pytest.mark.parametrize("early_ns", [0, 1])
def test_everything_is_served_in_order_and_nothing_early(clock: Clock, most_ms: int, early_ns: int) -> None:
    random, served = Random(1), list[int]()
    own = Timers(cast("asyncio.AbstractEventLoop", None), clock.make_alarm)
    for _ in range(200):
        Waiter(own, [random.randint(0, most_ms * MS) for _ in range(5)], served, lambda: None)

    while clock.set_to_ns is not None:
        clock.now_ns = max(clock.now_ns, clock.set_to_ns - early_ns)
        before, due_ns = len(served), clock.set_to_ns
        clock.ring()  # an early alarm serves nobody, and is set again
        if clock.now_ns < due_ns:
            assert (len(served), clock.set_to_ns) == (before, due_ns)
            clock.now_ns = due_ns
            clock.ring()
        assert served[-1] <= clock.now_ns

    assert len(served) == 1000
    assert served == sorted(served)


def test_those_who_are_overdue_are_served_when_another_begins_to_wait(clock: Clock) -> None:
    served: list[int] = []
    own = Timers(cast("asyncio.AbstractEventLoop", None), clock.make_alarm)
    for delay_ns in (20, 5, 10):
        Waiter(own, [delay_ns], served, lambda: None)
    assert clock.set_to_ns == 5

    clock.now_ns = 30
    Waiter(own, [1], served, lambda: None)

    assert served == [5, 10]
    clock.ring()
    assert (served, clock.set_to_ns) == ([5, 10, 20], 31)
    own.close()
    assert clock.set_to_ns is None


@pytest.mark.parametrize("alarm", ALARMS)
def test_a_real_alarm_rings_until_everything_is_served(alarm: MakeAlarm) -> None:
    random, served = Random(1), list[int]()

    async def serve_all() -> None:
        own, ended, left = Timers(asyncio.get_running_loop(), alarm), asyncio.Event(), list(range(100))

        def end() -> None:
            left.pop()
            if not left:
                ended.set()

        for _ in range(100):
            Waiter(own, [random.randint(0, 3 * MS) for _ in range(3)], served, end)
        await ended.wait()
        own.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_all())

    assert len(served) == 300
