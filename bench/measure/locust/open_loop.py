"""Locust as an open loop: requests begin at a constant rate, whatever has been answered.

A worker of its own, because importing Locust replaces the standard library's blocking calls in the whole process::

    harness                                 worker
                                            {"event": "ready", "knobs": {...}}    all users are free
    {"do": "go"}
                                            {"event": "begun", "clock_ns"}        warmed up, the window begins
                                            {"event": "ended", "clock_ns"}        the window has ended
                                            {"event": "outcome", ...}

Locust's own way to a rate is ``constant_throughput``, a rate for each Locust user. A user that waits for an answer
skips what it should have sent meanwhile and does not catch up, so the load falls just when the server is slow, and what
is reported is what the uncorrected figures are here. Hence one schedule for all users: each arrival goes to a user who
is free, and waits, counted, where none is.
"""

import locust  # isort: skip  (first of all: it patches what the others import)

import ctypes
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import gevent
from gevent.event import AsyncResult
from gevent.socket import wait_read
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import Runner

from inflight.bench.core.arrivals import NO_ANSWER, Recorder, Schedule
from inflight.bench.measure.locust.page_user import TIMED_OUT, OneTryPool, SiteUser
from inflight.bench.measure.worker import Part, Say, serve

WARM_UP_S = 1.0
LEAD_NS = 50_000_000
"""From the order to go until the first arrival is due."""
DRAIN_S = 2.0
"""So long what is due in the window may still be sent after it: behind that the rate is lost, and time is too."""
ANSWER_S = 10.0
S = 1_000_000_000


class Desk:
    """Hands arrivals to users: to the one who has been idle for the shortest time, so that connections are few."""

    recorder: Recorder
    """From when the clock runs: before that there are users, and no arrivals."""

    def __init__(self, paths: Callable[[int], str]) -> None:
        self.path_of = paths
        self.answers: Counter[tuple[str, int, int, str | None]] = Counter()
        """(path, status, bytes, why it is a failure) -> how many."""
        self.sent: dict[int, int] = {}
        """Number -> when it was sent, of those that have no answer yet."""
        self._waiting: deque[int] = deque()
        self._idle: list[AsyncResult[int | None]] = []
        self._closed = False

    def arrive(self, number: int) -> None:
        """Let an arrival be sent, at once or as soon as a user is free."""
        if self._idle:
            self._idle.pop().set(number)
        else:
            self._waiting.append(number)

    def take(self) -> int | None:
        """Wait for an arrival, as a user who is free; None: there will be no more."""
        if self._waiting:
            return self._waiting.popleft()
        if self._closed:
            return None
        hand: AsyncResult[int | None] = AsyncResult()
        self._idle.append(hand)
        return hand.get()

    def forget(self) -> None:
        """Drop what waits to be sent."""
        self._waiting.clear()

    def close(self) -> None:
        """Send nothing more: let the users go."""
        self._closed = True
        self.forget()
        for hand in self._idle:
            hand.set(None)

    @property
    def free(self) -> int:
        """How many users wait for an arrival."""
        return len(self._idle)

    @property
    def is_empty(self) -> bool:
        """Whether all that has arrived was sent."""
        return not self._waiting

    def give_up(self) -> None:
        """Note what was sent and is not answered by now."""
        for number, started_ns in self.sent.items():
            self.recorder.note(self.recorder.schedule.due_ns(number), started_ns, None)
            self.answers[self.path_of(number), 0, 0, NO_ANSWER] += 1


class ArrivalUser(SiteUser):
    """Sends one arrival after the other, as it gets them."""

    desk: ClassVar[Desk]
    network_timeout = connection_timeout = ANSWER_S

    def __init__(self, environment: Any) -> None:
        self.client_pool = OneTryPool(
            concurrency=self.concurrency,
            connection_timeout=self.connection_timeout,
            network_timeout=self.network_timeout,
        )
        super().__init__(environment)

    def wait_time(self) -> float:
        """Return 0: whoever is free takes what is due."""
        return 0

    @locust.task
    def serve(self) -> None:
        """Take an arrival, send it, and note what came of it."""
        desk = self.desk
        number = desk.take()
        if number is None:
            raise StopUser
        path, started_ns = desk.path_of(number), time.perf_counter_ns()
        desk.sent[number] = started_ns
        answer = self.fetch(path)
        finished_ns = time.perf_counter_ns()
        del desk.sent[number]
        fault = NO_ANSWER if answer.fault == TIMED_OUT else answer.fault
        desk.recorder.note(desk.recorder.schedule.due_ns(number), started_ns, finished_ns, fault)
        desk.answers[path, answer.status, len(answer.body), fault] += 1


class Alarm:
    """Wakes a greenlet at a time, to some ten microseconds where there are timerfds (timerfd_create(2), Linux).

    gevent's own timers are those of epoll_wait(2), whole milliseconds rounded up: half a millisecond on top of each
    corrected response time.
    """

    _ABSOLUTE, _NONBLOCK_CLOEXEC = 1, os.O_NONBLOCK | os.O_CLOEXEC

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = getattr(libc, "timerfd_settime", None)
        known = self._settime is not None and time.get_clock_info("perf_counter").implementation.endswith("MONOTONIC)")
        self._timer = libc.timerfd_create(time.CLOCK_MONOTONIC, self._NONBLOCK_CLOEXEC) if known else -1

    def wait_until(self, due_ns: int) -> None:
        """Return at this time of ``perf_counter_ns``, or at once when it is past."""
        while (left_ns := due_ns - time.perf_counter_ns()) > 0:
            if self._timer < 0 or self._settime is None:
                gevent.sleep(left_ns / S)
                continue
            times = (ctypes.c_long * 4)(0, 0, *divmod(due_ns, S))  # struct itimerspec: no interval, then this time
            self._settime(self._timer, self._ABSOLUTE, times, None)
            wait_read(self._timer)
            with suppress(BlockingIOError):
                os.read(self._timer, 8)


class OpenLoop(Part):
    """A schedule, its users, and what they see in the window."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self._order, self._say = order, say
        pages, path = order["pages"], order["path"]
        self._environment = Environment(user_classes=[ArrivalUser], host=order["base"])
        self._runner = self._environment.create_local_runner()
        ArrivalUser.host = order["base"]
        self._desk = ArrivalUser.desk = Desk(lambda number: path if pages is None else page_path(number, pages))
        _spawn(self._runner, self._desk, order["users"])

    def knobs(self) -> dict[str, Any]:
        """Return also which Locust it is, and how many users are free."""
        return {"locust": locust.__version__, "users": self._desk.free, **super().knobs()}

    def go(self) -> dict[str, Any]:
        """Warm up, send at the rate, and say when the window begins and ends."""
        order, desk = self._order, self._desk
        first_ns = time.perf_counter_ns() + LEAD_NS
        begin_ns = first_ns + round(WARM_UP_S * S)
        recorder = desk.recorder = Recorder(
            Schedule(order["rate_per_s"], first_ns), begin_ns, end_ns=begin_ns + round(order["seconds"] * S)
        )
        cpu_ns = _send(desk, self._say)
        self._runner.user_greenlets.join(timeout=ANSWER_S + 1)
        desk.give_up()
        self._runner.quit()
        counted = self._environment.stats.total
        return {
            "event": "outcome",
            "measured": recorder.outcome(),
            "cpu_ns": cpu_ns,
            "window_ns": recorder.end_ns - recorder.begin_ns,
            "answers": [[*key, number] for key, number in desk.answers.items()],
            "locust": {"requests": counted.num_requests, "failures": counted.num_failures},
        }


def page_path(number: int, pages: int) -> str:
    """Return which page of the site an arrival asks for: all of them, one after the other."""
    n = number % pages
    return f"/p/{n}" if n else "/"


def _spawn(runner: Runner, desk: Desk, users: int) -> None:
    """Start all users and wait until each is free.

    Thousands of them take seconds in which nothing else goes on. Within the warm-up, that would end in the window: with
    answers to what was due before it, and more of them than were asked for.
    """
    runner.spawn_users({ArrivalUser.__name__: users})
    while desk.free < users:
        gevent.sleep(0.001)


def _send(desk: Desk, say: Say) -> int:
    """Let all arrivals arrive at their time; return the CPU time that this process used in the window."""
    recorder, alarm = desk.recorder, Alarm()
    schedule, number, cpu_ns = recorder.schedule, 0, []
    for event, until_ns in (("begun", recorder.begin_ns), ("ended", recorder.end_ns)):
        while (due_ns := schedule.due_ns(number)) < until_ns:
            alarm.wait_until(due_ns)
            desk.arrive(number)
            number += 1
        alarm.wait_until(until_ns)
        if event == "begun":
            desk.forget()
        cpu_ns.append(time.process_time_ns())
        say({"event": event, "clock_ns": time.monotonic_ns()})
    give_up_ns = recorder.end_ns + round(DRAIN_S * S)
    while not desk.is_empty and time.perf_counter_ns() < give_up_ns:
        gevent.sleep(0.005)
    desk.close()
    return cpu_ns[1] - cpu_ns[0]


if __name__ == "__main__":
    serve(OpenLoop)
