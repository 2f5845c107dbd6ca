"""Whether a process is alive, judged by what the kernel says of it and not by how punctually it speaks.

A process that waits for a core, for memory or for a disk cannot speak, however healthy it is. A process that is stopped
or that nothing wakes up any more does not get another context switch, however idle the machine is.
"""

import time
from collections.abc import Callable

import psutil

LOOK_EVERY_S = 1.0
WAITING_ITS_TURN = frozenset({psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP})
"""It has a core or waits for one; it waits for the kernel (proc(5), stat: R and D)."""


class Pulse:
    """Count for how long a process has stood still. Call ``stands_still`` at least as often as LOOK_EVERY_S."""

    def __init__(self, pid: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._process = psutil.Process(pid)
        self._clock = clock
        self._looked_s = clock()
        self._switches = self._context_switches()
        self.still_s = 0.0
        """Number of seconds without a sign of life. A time in which nobody looked counts as one look."""

    def stands_still(self, limit_s: float) -> bool:
        """Return whether the process has shown no sign of life for ``limit_s``; never true of one that has ended."""
        passed_s = self._clock() - self._looked_s
        if passed_s < LOOK_EVERY_S:
            return False
        self._looked_s += passed_s
        try:
            alive = self._gives_a_sign()
        except psutil.NoSuchProcess:
            return False
        self.still_s = 0.0 if alive else self.still_s + LOOK_EVERY_S
        return self.still_s >= limit_s

    def _gives_a_sign(self) -> bool:
        before, self._switches = self._switches, self._context_switches()
        return self._switches != before or self._process.status() in WAITING_ITS_TURN

    def _context_switches(self) -> int:
        return sum(self._process.num_ctx_switches())
