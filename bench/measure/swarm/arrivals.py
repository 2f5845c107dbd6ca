"""Run Locust as an open loop: requests start at a constant rate, independent of answers.

It is the worker of ``swarm.open_loop``, a separate process, because importing Locust replaces the blocking calls of the
standard library::

    harness                                 worker
                                            {"event": "ready", "knobs": {...}}    all users are free
    {"do": "go"}
                                            {"event": "begun", "clock_ns"}        warmed up, the window begins
                                            {"event": "ended", "clock_ns"}        the window has ended
                                            {"event": "outcome", ...}

Locust itself has ``constant_throughput``, a rate for each user. A user that waits for an answer skips the requests that
it should have sent meanwhile, so the load falls exactly when the server is slow, and the reported times are what this
project calls uncorrected. Therefore all users share one schedule (``schedule``): each arrival (a request that is due)
goes to a free user. If none is free, the arrival waits and is counted as backlog.
"""

import locust  # isort: skip  (first of all: it patches what the others import)

import ctypes
import os
import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any, ClassVar

import gevent
from gevent.event import AsyncResult
from gevent.socket import wait_read
from locust.env import Environment
from locust.exception import StopUser

from inflight.bench.measure.swarm.page_user import TIMED_OUT, OneTryPool, SiteUser
from inflight.bench.measure.swarm.schedule import NO_ANSWER, Recorder, Schedule
from inflight.bench.measure.worker import Say, WorkerPart, serve

WARM_UP_S = 1.0
"""Time in seconds at the rate before the window begins."""
LEAD_NS = 50_000_000
"""Time from the order to go until the first arrival is due."""
DRAIN_S = 2.0
"""Time after the window in which arrivals of the window may still be sent. After it, the rate counts as lost."""
ANSWER_S = 10.0
"""Timeout of a connect, and of an answer."""
S = 1_000_000_000
"""Nanoseconds of a second."""


class ArrivalUser(SiteUser):
    """Send one arrival after the other."""

    loop: ClassVar["OpenLoopPart"]
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
        loop = self.loop
        number = loop.take()
        if number is None:
            raise StopUser
        path, started_ns = loop.path_of(number), time.perf_counter_ns()
        loop.sent[number] = started_ns
        answer = self.fetch(path)
        finished_ns = time.perf_counter_ns()
        del loop.sent[number]
        fault = NO_ANSWER if answer.fault == TIMED_OUT else answer.fault
        loop.recorder.note(loop.recorder.schedule.due_ns(number), started_ns, finished_ns, fault)
        loop.answers[path, answer.status, len(answer.body), fault] += 1


class Alarm:
    """Wake a greenlet at a given time, precise to some 10 µs where there are timerfds (timerfd_create(2), Linux).

    gevent's own timers are those of epoll_wait(2), rounded up to milliseconds. They would add half a millisecond to the
    mean corrected response time.
    """

    _ABSOLUTE, _NONBLOCK_CLOEXEC = 1, os.O_NONBLOCK | os.O_CLOEXEC
    """TFD_TIMER_ABSTIME, and TFD_NONBLOCK with TFD_CLOEXEC."""

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


class OpenLoopPart(WorkerPart):
    """A schedule, its users, and what they measure in the window.

    An arrival goes to the user that has been idle for the shortest time, so that few connections are needed.
    """

    recorder: Recorder
    """Set when the schedule begins; before that, there are users but no arrivals."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self._order, self._say = order, say
        self.answers: Counter[tuple[str, int, int, str | None]] = Counter()
        """(path, status, bytes, why it is a failure) -> number of answers."""
        self.sent: dict[int, int] = {}
        """Number of an arrival without an answer -> when it was sent."""
        self._waiting: deque[int] = deque()
        """Arrivals that are due and found no free user."""
        self._idle: list[AsyncResult[int | None]] = []
        """Free users: each waits for an arrival, or None at the end; the last one has been idle for the shortest."""
        self._closed = False
        ArrivalUser.host, ArrivalUser.loop = order["base"], self
        self._environment = Environment(user_classes=[ArrivalUser], host=order["base"])
        self._runner = self._environment.create_local_runner()
        self._runner.spawn_users({ArrivalUser.__name__: order["users"]})
        # Starting thousands of users blocks this process for seconds, which would delay requests into the window.
        while len(self._idle) < order["users"]:
            gevent.sleep(0.001)

    def knobs(self) -> dict[str, Any]:
        """Return the knobs of any worker, Locust's version, and the number of users that are free."""
        return {"users": len(self._idle), **super().knobs()}

    def path_of(self, number: int) -> str:
        """Return the path that an arrival requests: that of the target, or all pages of the site in turn."""
        pages = self._order["pages"]
        if pages is None:
            return str(self._order["path"])
        return f"/p/{number % pages}" if number % pages else "/"

    def take(self) -> int | None:
        """Return the next arrival for a free user, waiting for one if needed; None when there are no more."""
        if self._waiting:
            return self._waiting.popleft()
        if self._closed:
            return None
        arrival: AsyncResult[int | None] = AsyncResult()
        self._idle.append(arrival)
        return arrival.get()

    def go(self) -> dict[str, Any]:
        """Warm up, send at the rate, and say when the window begins and ends."""
        order = self._order
        first_ns = time.perf_counter_ns() + LEAD_NS
        begin_ns = first_ns + round(WARM_UP_S * S)
        schedule = Schedule(order["rate_per_s"], first_ns)
        recorder = self.recorder = Recorder(schedule, begin_ns, end_ns=begin_ns + round(order["seconds"] * S))
        cpu_ns = self._send(recorder)
        self._runner.user_greenlets.join(timeout=ANSWER_S + 1)
        for number, started_ns in self.sent.items():  # the requests without an answer are failures
            recorder.note(schedule.due_ns(number), started_ns, None)
            self.answers[self.path_of(number), 0, 0, NO_ANSWER] += 1
        self._runner.quit()
        counted = self._environment.stats.total
        return {
            "event": "outcome",
            "measured": recorder.outcome(),
            "cpu_ns": cpu_ns,
            "window_ns": recorder.end_ns - recorder.begin_ns,
            "answers": [[*key, number] for key, number in self.answers.items()],
            "locust": {"requests": counted.num_requests, "failures": counted.num_failures},
        }

    def _send(self, recorder: Recorder) -> int:
        """Pass on each arrival when it is due; return the CPU time that this process used in the window."""
        alarm, number, cpu_ns = Alarm(), 0, []
        for event, until_ns in (("begun", recorder.begin_ns), ("ended", recorder.end_ns)):
            while (due_ns := recorder.schedule.due_ns(number)) < until_ns:
                alarm.wait_until(due_ns)
                if self._idle:
                    self._idle.pop().set(number)
                else:
                    self._waiting.append(number)
                number += 1
            alarm.wait_until(until_ns)
            if event == "begun":
                self._waiting.clear()  # the window starts without a backlog (``Recorder``)
            cpu_ns.append(time.process_time_ns())
            self._say({"event": event, "clock_ns": time.monotonic_ns()})
        give_up_ns = recorder.end_ns + round(DRAIN_S * S)
        while self._waiting and time.perf_counter_ns() < give_up_ns:
            gevent.sleep(0.005)
        self._closed = True
        self._waiting.clear()
        for arrival in self._idle:
            arrival.set(None)
        return cpu_ns[1] - cpu_ns[0]


if __name__ == "__main__":
    serve(OpenLoopPart)
