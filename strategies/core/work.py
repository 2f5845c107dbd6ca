"""CPU work of the consumer of a page: the same computation in pure Python, in the same amount, for every model.

A strategy calls ``consume(job)`` once for each response, when it is whole and before ``frontier.finish``, in the place
where a program of its model would look into the page: in the worker thread, in the callback, in the coroutine. It holds
no lock there. What then waits for the computation, and what goes on beside it, is the model's affair.

The amount is a number of units, not a time: a loop that looks at the clock would compute less where it is disturbed.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inflight.strategies.base import Job

BLOCK = bytes(range(256))
TABLE = tuple((167 * n + 13) % 256 for n in range(256))
"""A fixed permutation of the numbers below 256, in an irregular order."""
_consumed = itertools.count()  # one step of it is one call in C: no thread can come between


def own_table() -> list[int]:
    """Return a copy of the table for one thread.

    Without a global lock, threads that count the references of one object wait for each other.
    """
    return list(TABLE)


def unit(table: Sequence[int]) -> int:
    """Hash 256 bytes, one after another (P. K. Pearson, "Fast hashing of variable-length text strings", 1990).

    About 5 µs of Python that allocates nothing: numbers up to 256 exist already. A checksum with larger ones took 17 to
    21 µs, by what else the process had allocated before, and so differed between models that computed the same.
    """
    found = 0
    for byte in BLOCK:
        found = table[found ^ byte]
    return found


def consume(job: "Job") -> None:
    """Do the CPU work of one page, if the job asks for any."""
    if job.work_units:
        table = own_table()
        for _ in range(job.work_units):
            unit(table)
        next(_consumed)


def consumed_elsewhere(job: "Job") -> None:
    """Count a page whose CPU work was done in another process or interpreter, which called ``consume``."""
    if job.work_units:
        next(_consumed)


def consumed_pages() -> int:
    """Return the number of pages with the CPU work done. This ends the count, so it can be called only once."""
    return next(_consumed)


def cost_ns(units: int, times: int = 5) -> int:
    """Return the CPU time of a number of units in this thread in nanoseconds: the median of several measurements."""
    return sorted(_costs_ns(units, times))[times // 2]


def _costs_ns(units: int, times: int) -> Iterator[int]:
    table = own_table()
    for _ in range(times):
        before_ns = time.thread_time_ns()
        for _ in range(units):
            unit(table)
        yield time.thread_time_ns() - before_ns
