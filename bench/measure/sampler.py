"""What is seen of the worker from outside while it crawls: threads, resident memory, CPU time, now and then.

From outside, so that it costs the worker nothing; the harness shares the server's core, so that it looks seldom.
"""

import contextlib
import time
from typing import Any

import psutil

from bench.measure.host import since

LEAST_NS = 20_000_000
"""Between two looks, at first; each takes about 40 µs of the harness's core."""
MOST_SAMPLES = 200
"""When there are so many, every other one is dropped, and from then on half as many are taken."""


class Sampler:
    """Look at a process; ``peak_threads`` is the most threads that were seen."""

    def __init__(self, observed: psutil.Process) -> None:
        self.peak_threads = 1
        self._observed = observed
        self._every_ns = LEAST_NS
        self._taken: list[tuple[int, int, int, int | None]] = []
        self.begin()

    def begin(self) -> None:
        """Count time and CPU time from now on."""
        self._begin_ns = self._next_ns = time.monotonic_ns()
        self._begin_cpu_ns = _cpu_ns(self._observed.pid)

    def sample(self) -> None:
        """Take a sample if it is time for one."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_ns:
            return
        with self._observed.oneshot():
            threads, rss_bytes = self._observed.num_threads(), self._observed.memory_info().rss
        cpu_ns = _cpu_ns(self._observed.pid)
        self.peak_threads = max(self.peak_threads, threads)
        self._taken.append((now_ns - self._begin_ns, threads, rss_bytes, since(self._begin_cpu_ns, cpu_ns)))
        if len(self._taken) >= MOST_SAMPLES:
            self._taken = self._taken[::2]
            self._every_ns *= 2
        self._next_ns = now_ns + self._every_ns

    def samples(self) -> dict[str, list[Any]]:
        """Return the samples as a row keeps them: lists of equal length."""
        names = ("at_ns", "threads", "rss_bytes", "cpu_ns")
        return {name: [one[n] for one in self._taken] for n, name in enumerate(names)}


def _cpu_ns(pid: int) -> int | None:
    """Return the CPU time of a process so far, of all its threads, by the kernel's clock for it.

    The number of that clock is made from the process id (clock_getcpuclockid(3); in the kernel CPUCLOCK_SCHED of
    include/linux/posix-timers.h). psutil has ticks of 10 ms only. None where there is no such clock.
    """
    with contextlib.suppress(OSError, AttributeError):
        return time.clock_gettime_ns(~pid << 3 | 2)
    return None
