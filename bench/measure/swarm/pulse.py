"""Tell whether a process is alive, from kernel counters instead of heartbeats.

A healthy process that waits for a core, for memory or for a disk cannot send a heartbeat. A process that is stopped or
deadlocked gets no more context switches, even on an idle machine.
"""

import time
from collections.abc import Callable

import psutil

LOOK_EVERY_S = 1.0
WAITING_ITS_TURN = frozenset({psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP})
"""It runs or waits for a core; it waits for the kernel (proc(5), stat: R and D)."""


class Pulse:
    """Measure how long a process has been frozen. Call ``stands_still`` at least every LOOK_EVERY_S."""

    def __init__(self, pid: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._process = psutil.Process(pid)
        self._clock = clock
        self._looked_s = clock()
        self._switches = self._context_switches()
        self.still_s = 0.0
        """Seconds without a sign of life. However long the time between two looks, it counts as LOOK_EVERY_S."""

    def stands_still(self, limit_s: float) -> bool:
        """Return whether the process has shown no sign of life for ``limit_s``; False once it has ended."""
        passed_s = self._clock() - self._looked_s
        if passed_s < LOOK_EVERY_S:
            return False
        self._looked_s += passed_s
        before = self._switches
        try:
            self._switches = self._context_switches()
            alive = self._switches != before or self._process.status() in WAITING_ITS_TURN
        except psutil.NoSuchProcess:
            return False
        self.still_s = 0.0 if alive else self.still_s + LOOK_EVERY_S
        return self.still_s >= limit_s

    def _context_switches(self) -> int:
        return sum(self._process.num_ctx_switches())
