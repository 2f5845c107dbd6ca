"""One alarm for all delays: due times in order, never early; requests that are due together are served together.

The event loop's own timers are those of libuv, which count whole milliseconds. On Linux the alarm is a
timerfd (nanoseconds, watched like a socket); elsewhere it is the loop's timer, set again when it rings early.
"""

import asyncio
import ctypes
import heapq
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Protocol

_NEVER = sys.maxsize
# Number of responses before sockets are read again, and after each read when some are overdue. Without these turns,
# a thousand clients whose requests arrived together would stay together: answered in one go, their next requests
# would pile up unread, be read in one go, and be due together again.
_BATCH = 8
_INTERLEAVED = 2


class Due(Protocol):
    """An object that waits for its due time."""

    def due(self, due_ns: int) -> None:
        """Go on: due_ns, on the monotonic clock, is now past."""


class Alarm(Protocol):
    """Calls back once, at or after the time it was last set to."""

    def set(self, due_ns: int) -> None: ...  # noqa: D102
    def clear(self) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class Timers:
    """A priority queue with one alarm."""

    def __init__(self, loop: asyncio.AbstractEventLoop, alarm: "MakeAlarm | None" = None) -> None:
        # Delays are often all equal. What is due at or after everything before it stands in a queue, which
        # costs a tenth of the heap; only what overtakes goes into the heap.
        self._queue: deque[tuple[int, int, Due]] = deque()
        self._heap: list[tuple[int, int, Due]] = []
        self._order = count()
        self._set_to_ns = _NEVER
        self._serving = False
        self._alarm = (alarm or best_alarm())(loop, self._ring)

    def after(self, delay_ns: int, waiter: Due) -> None:
        """Call waiter.due(due_ns) when delay_ns has passed, or a little later."""
        now_ns = time.monotonic_ns()
        due_ns = now_ns + delay_ns
        item = (due_ns, next(self._order), waiter)
        if not self._queue or due_ns >= self._queue[-1][0]:
            self._queue.append(item)
        else:
            heapq.heappush(self._heap, item)
        if self._serving:
            return  # the alarm is set, and is set again when it has rung
        if now_ns > self._set_to_ns:
            self._serve_due(_INTERLEAVED)  # the alarm rings, but waits behind a thousand sockets to be read
        elif due_ns < self._set_to_ns:
            self._set_to_ns = due_ns
            self._alarm.set(due_ns)

    def close(self) -> None:
        """Drop all waiting objects."""
        self._queue.clear()
        self._heap.clear()
        self._alarm.close()

    def _ring(self) -> None:
        self._serve_due(_BATCH)
        self._set_to_ns = self._next_ns()
        if self._set_to_ns == _NEVER:
            self._alarm.clear()
        else:
            self._alarm.set(self._set_to_ns)

    def _serve_due(self, most: int) -> None:
        self._serving = True
        try:
            now_ns = time.monotonic_ns()
            for _ in range(most):
                due_ns = self._next_ns()
                if due_ns > now_ns:
                    now_ns = time.monotonic_ns()  # more may have become due meanwhile
                    if due_ns > now_ns:
                        return
                self._pop().due(due_ns)
        finally:
            self._serving = False

    def _next_ns(self) -> int:
        queued_ns = self._queue[0][0] if self._queue else _NEVER
        return min(queued_ns, self._heap[0][0]) if self._heap else queued_ns

    def _pop(self) -> Due:
        if self._heap and not (self._queue and self._queue[0] < self._heap[0]):
            return heapq.heappop(self._heap)[2]
        return self._queue.popleft()[2]


class LoopAlarm:
    """The loop's own timer: whole milliseconds under uvloop. It may ring early; Timers then sets it again."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, due_ns: int) -> None:
        """Ring at about due_ns."""
        self.clear()
        self._handle = self._loop.call_later(max(0, due_ns - time.monotonic_ns()) / 1e9, self._ring)

    def clear(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def close(self) -> None:
        """Do not ring any more."""
        self.clear()


class TimerfdAlarm:
    """A timerfd on the monotonic clock. Setting it also makes it unreadable again, so it is never read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        # os.timerfd_create exists from 3.13 on; ctypes reaches the same call in every version.
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = libc.timerfd_settime
        self._settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._fd: int = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._spec = (ctypes.c_long * 4)()  # struct itimerspec: interval s, ns; value s, ns
        self._address = ctypes.addressof(self._spec)
        loop.add_reader(self._fd, ring)

    def set(self, due_ns: int) -> None:
        """Ring at due_ns; at once when that is past."""
        self._spec[2], self._spec[3] = divmod(due_ns, 1_000_000_000)
        self._settime(self._fd, _ABSOLUTE, self._address, None)

    def clear(self) -> None:
        """Do not ring: a value of zero disarms."""
        self._spec[2] = self._spec[3] = 0
        self._settime(self._fd, _ABSOLUTE, self._address, None)

    def close(self) -> None:
        """Do not ring any more."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


_ABSOLUTE = 1  # TFD_TIMER_ABSTIME


MakeAlarm = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Alarm]


def best_alarm() -> MakeAlarm:
    """Return the most precise alarm of this system."""
    return TimerfdAlarm if sys.platform == "linux" else LoopAlarm
