"""Run Locust as an open loop: requests start at a constant rate, independent of answers.

It is a separate process, because importing Locust replaces the blocking calls of the standard library::

    harness                                 worker
                                            {"event": "ready", "knobs": {...}}    all users are free
    {"do": "go"}
                                            {"event": "begun", "clock_ns"}        warmed up, the window begins
                                            {"event": "ended", "clock_ns"}        the window has ended
                                            {"event": "outcome", ...}

Locust itself has ``constant_throughput``, a rate for each user. A user that waits for an answer skips the requests that
it should have sent meanwhile, so the load falls exactly when the server is slow, and the reported times are what this
project calls uncorrected. Therefore all users share one schedule: each arrival goes to a free user. If none is free,
the arrival waits and is counted as backlog.
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

from inflight.bench.measure.locust.page_user import TIMED_OUT, OneTryPool, SiteUser
from inflight.bench.measure.open_loop.arrivals import NO_ANSWER, Recorder, Schedule
from inflight.bench.measure.worker import Part, Say, serve

WARM_UP_S = 1.0
LEAD_NS = 50_000_000
"""Time from the order to go until the first arrival is due."""
DRAIN_S = 2.0
"""Time after the window in which arrivals of the window may still be sent. After it, the rate counts as lost."""
ANSWER_S = 10.0
"""Timeout of a connect, and of an answer."""
S = 1_000_000_000


class Desk:
    """Hand arrivals to users: to the user idle for the shortest time, so that few connections are needed."""

    recorder: Recorder
    """Set when the schedule begins; before that, there are users but no arrivals."""

    def __init__(self, paths: Callable[[int], str]) -> None:
        self.path_of = paths
        self.answers: Counter[tuple[str, int, int, str | None]] = Counter()
        """(path, status, bytes, why it is a failure) -> number of answers."""
        self.sent: dict[int, int] = {}
        """Number of an arrival without an answer -> when it was sent."""
        self._waiting: deque[int] = deque()
        self._idle: list[AsyncResult[int | None]] = []
        self._closed = False

    def arrive(self, number: int) -> None:
        """Give an arrival to a free user, or queue it until one is free."""
        if self._idle:
            self._idle.pop().set(number)
        else:
            self._waiting.append(number)

    def take(self) -> int | None:
        """Return the next arrival for a free user, waiting for one if needed; None when there are no more."""
        if self._waiting:
            return self._waiting.popleft()
        if self._closed:
            return None
        hand: AsyncResult[int | None] = AsyncResult()
        self._idle.append(hand)
        return hand.get()

    def forget(self) -> None:
        """Drop the queue of arrivals."""
        self._waiting.clear()

    def close(self) -> None:
        """Drop the queue, and tell all free users that there are no more arrivals."""
        self._closed = True
        self.forget()
        for hand in self._idle:
            hand.set(None)

    @property
    def free(self) -> int:
        """Number of users that wait for an arrival."""
        return len(self._idle)

    @property
    def is_empty(self) -> bool:
        """Whether no arrival waits to be sent."""
        return not self._waiting

    def give_up(self) -> None:
        """Note the requests without an answer as failures."""
        for number, started_ns in self.sent.items():
            self.recorder.note(self.recorder.schedule.due_ns(number), started_ns, None)
            self.answers[self.path_of(number), 0, 0, NO_ANSWER] += 1


class ArrivalUser(SiteUser):
    """Send one arrival after the other."""

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
        """Return 0: a free user takes the next arrival at once."""
        return 0

    @locust.task
    def serve(self) -> None:
        """Take an arrival, send it, and note the answer."""
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
    """Wake a greenlet at a given time, precise to some 10 µs where there are timerfds (timerfd_create(2), Linux).

    gevent's own timers are those of epoll_wait(2), rounded up to milliseconds. They would add half a millisecond to the
    mean corrected response time.
    """

    _ABSOLUTE, _NONBLOCK_CLOEXEC = 1, os.O_NONBLOCK | os.O_CLOEXEC

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = getattr(libc, "timerfd_settime", None)
        known = self._settime is not None and time.get_clock_info("perf_counter").implementation.endswith("MONOTONIC)")
        self._timer = libc.timerfd_create(time.CLOCK_MONOTONIC, self._NONBLOCK_CLOEXEC) if known else -1

    def wait_until(self, due_ns: int) -> None:
        """Return at this time of ``perf_counter_ns``, at once if it has passed."""
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
    """A schedule, its users, and what they measure in the window."""

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
        """Return the knobs of any worker, Locust's version, and the number of users that are free."""
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
    """Return the path that an arrival requests: all pages of the site in turn."""
    n = number % pages
    return f"/p/{n}" if n else "/"


def _spawn(runner: Runner, desk: Desk, users: int) -> None:
    """Start all users and wait until each is free.

    Starting thousands of users blocks this process for seconds. During the warm-up, that would delay requests into the
    window.
    """
    runner.spawn_users({ArrivalUser.__name__: users})
    while desk.free < users:
        gevent.sleep(0.001)


def _send(desk: Desk, say: Say) -> int:
    """Pass each arrival to the desk when it is due; return the CPU time that this process used in the window."""
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
