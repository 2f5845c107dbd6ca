"""Start the timer by which the lag of a model is measured, in the model's own event loop.

The worker of an arm (``arm``) does so where ``lag`` is asked for. The *lag* is how late a timer fires: how long other
work keeps the loop from it. Loops of libraries get the timer when the crawl asks for its roots, which happens within
the loop, so their strategies know nothing of it. A model with a loop of its own fires ``frontier.timer`` itself.
Threads have no loop: their timer is one more thread, which sleeps.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.lag import Timer

Kind = Literal["loop", "thread"]
"""Where the timer fires: in the loop of the model, or in a thread."""


@contextmanager
def timed(frontier: Frontier, kind: Kind) -> Iterator[Timer]:
    """Have a timer fire in the crawl of a ``with`` block, and return it."""
    timer = Timer(time.perf_counter_ns())
    if kind == "thread":
        with _sleeping(timer):
            yield timer
    else:
        frontier.timer = timer
        _start_within(frontier, timer)
        yield timer


def _start_within(frontier: Frontier, timer: Timer) -> None:
    """Start the timer in the loop of a library as soon as the crawl has one."""
    roots = frontier.roots

    def begin() -> Any:
        """Start the timer in each loop that there is, and return the roots."""
        for name, start in _LIBRARIES.items():
            if name in sys.modules:  # the strategy has imported it; the worker itself needs none of them
                start(sys.modules[name], timer)
        return roots()

    frontier.roots = begin  # type: ignore[method-assign]


def _in_asyncio(asyncio: Any, timer: Timer) -> None:
    """Start the timer in the running loop of asyncio or uvloop, whose clock is the same as the timer's."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # imported, but not used
        return

    def fire() -> None:
        """Note how late it is, and fire again at the next due time."""
        loop.call_at(timer.fire(time.perf_counter_ns()) / 1e9, fire)

    loop.call_at(timer.due_ns / 1e9, fire)


def _in_trio(trio: Any, timer: Timer) -> None:
    """Start the timer as a system task, which trio cancels at the end of the crawl."""

    async def tick() -> None:
        """Note at each due time how late it is."""
        offset_s = trio.current_time() - time.perf_counter_ns() / 1e9
        while True:
            await trio.sleep_until(timer.due_ns / 1e9 + offset_s)
            timer.fire(time.perf_counter_ns())

    trio.lowlevel.spawn_system_task(tick)


def _in_gevent(gevent: Any, timer: Timer) -> None:
    """Start the timer as a greenlet that sleeps, and does not keep the hub alive."""

    def tick() -> None:
        """Note at each due time how late it is."""
        while True:
            gevent.sleep(_seconds_left(timer), ref=False)
            timer.fire(time.perf_counter_ns())

    gevent.spawn(tick)


_LIBRARIES: dict[str, Callable[[Any, Timer], None]] = {"asyncio": _in_asyncio, "trio": _in_trio, "gevent": _in_gevent}
"""What starts the timer in the loop of each library."""


@contextmanager
def _sleeping(timer: Timer) -> Iterator[None]:
    """Have a thread sleep until each due time."""
    is_over = False

    def tick() -> None:
        """Note at each due time how late it is, until the crawl is over."""
        while not is_over:
            time.sleep(_seconds_left(timer))
            timer.fire(time.perf_counter_ns())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over = True
        thread.join()


def _seconds_left(timer: Timer) -> float:
    """Return the seconds until the next due time."""
    return max(0, timer.due_ns - time.perf_counter_ns()) / 1e9
