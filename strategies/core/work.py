"""CPU work: what the consumer of a page computes, in pure Python, the same amount of the same thing for every model.

A strategy calls ``consume(job)`` once for each response, when it is whole and before ``frontier.finish``, in the place
where a program of its model would look into the page: in the worker thread, in the callback, in the coroutine. It holds
no lock there. What then waits for the computation, and what goes on beside it, is the model's affair.

The amount is a number of units, not a time: a loop that looks at the clock would compute less where it is disturbed.
"""

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strategies.base import Job

BLOCK = bytes(range(256))
_BASE = 65521
_consumed = itertools.count()  # one step of it is one call in C: no thread can come between


def unit() -> int:
    """Compute the Adler-32 checksum (RFC 1950, section 8.2) of 256 bytes, one after another: some 20 µs of Python."""
    low, high = 1, 0
    for byte in BLOCK:
        low = (low + byte) % _BASE
        high = (high + low) % _BASE
    return high << 16 | low


def consume(job: "Job") -> None:
    """Do the CPU work of one page; nothing where the job asks for none."""
    if job.work_units:
        for _ in range(job.work_units):
            unit()
        next(_consumed)


def consumed_pages() -> int:
    """Return how many pages this process has done the CPU work of. Ends the count: ask once."""
    return next(_consumed)


def cost_ns(units: int, times: int = 5) -> int:
    """Return what so many units cost here, in nanoseconds of this thread's CPU time: the median of several times."""
    return sorted(_costs_ns(units, times))[times // 2]


def _costs_ns(units: int, times: int) -> Iterator[int]:
    for _ in range(times):
        before_ns = time.thread_time_ns()
        for _ in range(units):
            unit()
        yield time.thread_time_ns() - before_ns
